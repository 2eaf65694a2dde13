"""
Which labels to train on depends on how many subjects there are
===============================================================

Simulated scans of four states: two conditions, each early or late. A model with two
labels cannot see early and late; a model with four labels can, but has more to learn.
Both are scored in bits, so their curves can be compared, and the information that the
scans really hold is known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from neuroextrap import learning_curves, plotting

data = learning_curves.simulate_hierarchical_scans(n_subjects=18, random_state=0)
options = {"n_splits": 50, "prior_weight": None}
curves = {
    "two labels": learning_curves.information_learning_curve(
        data.X, data.coarse, data.groups, **options
    ),
    "four labels": learning_curves.information_learning_curve(
        data.X, data.fine, data.groups, **options
    ),
}

# %%
# The two-label model wins with few subjects, the four-label model with many. Neither is
# regularized here (``prior_weight=None``): with few subjects wrong predictions are far
# too confident, and four labels, which leave less to estimate the noise from, suffer
# more from it.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, panel in zip(
    axes, ("information", "error_rate", "reproducibility"), strict=True
):
    plotting.plot_learning_curves(curves, panel=panel, ax=ax)
axes[0].axhline(data.coarse_information, color="C0", ls="-.", lw=1)
axes[0].axhline(data.fine_information, color="C1", ls="-.", lw=1)
axes[0].set_ylim(0, 2.1)

found = learning_curves.compare_learning_curves(curves)
for crossing in found.crossings:
    print(crossing)
print("limited by:", found.limited_by)
print(f"in the scans: {data.coarse_information:.3f}, {data.fine_information:.3f} bits")

# %%
# The four set-ups of Kjems et al. (2002, table 1 and figure 4), here with two scans of
# each state: two labels, four, and a label of its own for every scan of a subject, with
# four canonical components and with as many as there are labels. Labels that tell scans
# of one state apart hold nothing to find, and cost little once subjects are many.
scans = learning_curves.simulate_hierarchical_scans(n_repeats=2, random_state=0)
own = np.tile(np.arange(8), len(scans.groups) // 8)
setups = {
    "1: two labels": (scans.coarse, 4),
    "2: four labels": (scans.fine, 4),
    "3: a label a scan": (own, 4),
    "4: the same, 8 components": (own, 8),
}
agnostic = {
    name: learning_curves.information_learning_curve(
        scans.X,
        labels,
        scans.groups,
        classifier=learning_curves.CanonicalVariates(n_components=n_components),
        n_splits=30,
        prior_weight=None,
    )
    for name, (labels, n_components) in setups.items()
}
_, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
plotting.plot_learning_curves(agnostic, panel="information", ax=ax)
ax.set_ylim(-0.8, 2.1)

# %%
# Predictions of the two-label model, translated to four labels, carry exactly as much
# information.
means = pd.DataFrame(data.X).groupby(data.groups).transform("mean")
X = data.X - means.to_numpy()
train = data.groups < 12
model = learning_curves.CanonicalVariates(n_components=4)
model.fit(X[train], data.coarse[train])
coarse = model.predict_proba(X[~train])
fine = learning_curves.fine_probabilities(coarse, data.fine, data.coarse, [0.25] * 4)
print(
    learning_curves.prediction_information(
        coarse, data.coarse[~train], priors=[0.5, 0.5], classes=["A", "B"]
    ),
    learning_curves.prediction_information(
        fine, data.fine[~train], priors=[0.25] * 4, classes=["A1", "A2", "B1", "B2"]
    ),
)

# %%
# What the four-label model confuses, with few and with many training subjects.
figure, axes = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
curve = curves["four labels"]
for ax, i in zip(axes, (0, -1), strict=True):
    plotting.plot_confusion_matrix(curve.confusion[i], curve.classes, discs=True, ax=ax)
    ax.set_title(f"{curve.train_sizes[i]} training subjects")

# %%
# Information against the reproducibility of the sensitivity maps.
plotting.plot_learning_curves(curves, panel="information_vs_reproducibility")
plt.show()
