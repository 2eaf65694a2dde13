"""What an accuracy of .8 proves, by design and by what the claim is about."""

import matplotlib.pyplot as plt

from neuroextrap import stats

designs = {
    "8 classes,\n12 tests each": (8, 12),
    "96 classes,\n4 tests each": (96, 4),
    "1,000 classes,\n1 test each": (1000, 1),
}
figure, ax = plt.subplots(figsize=(7, 3.4))
for row, (n_classes, n_repeats) in enumerate(designs.values()):
    design = {"n_classes": n_classes, "n_repeats": n_repeats}
    these = stats.bayes_accuracy_lower_bound(0.8, **design)
    others = stats.average_bayes_accuracy_lower_bound(
        [0.8], set_sizes=[n_classes], **design
    )[0]
    first = row == 0
    ax.plot([others, 0.8], [row, row], color="0.85", lw=6, zorder=0)
    for value, marker, color, label in (
        (0.8, "o", "#0072B2", "measured accuracy"),
        (these, "s", "#009E73", "best classifier of these classes: at least"),
        (others, "D", "#D55E00", "… of other classes of the population: at least"),
        (1 / n_classes, "|", "0.3", "chance"),
    ):
        ax.plot(value, row, marker, color=color, ms=8, label=label if first else None)
ax.set_yticks(range(3), designs)
ax.set(xlim=(0, 1), ylim=(2.5, -0.5), xlabel="accuracy among all classes")
figure.legend(loc="outside upper center", ncols=2, fontsize="small")
