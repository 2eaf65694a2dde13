"""Equal means over subjects: everybody a little, or a few a lot."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from neuroextrap.group import prevalence_test

n_subjects, n_tests, chance = 16, 96, 1 / 8
true_accuracy = {
    "nobody": np.full(n_subjects, chance),
    "a quarter of them": np.repeat([0.45, chance], [4, 12]),
    "everybody": np.full(n_subjects, chance + (0.45 - chance) / 4),
}
rng = np.random.default_rng(1)
truth = np.stack(list(true_accuracy.values()), axis=1)
scores = binom.rvs(n_tests, truth, random_state=rng) / n_tests
null = binom.rvs(n_tests, chance, size=(n_subjects, 200, 3), random_state=rng) / n_tests
found = prevalence_test(scores, null)

figure, ax = plt.subplots(figsize=(7, 3.4))
for column in range(len(true_accuracy)):
    places = column + np.linspace(-0.25, 0.25, n_subjects)
    ax.plot(places, scores[:, column], "o", color="#0072B2", ms=5, alpha=0.8)
    mean = scores[:, column].mean()
    ax.plot([column - 0.3, column + 0.3], [mean, mean], color="#D55E00", lw=2)
    bound = found["prevalence_bound"][column]
    proven = f"more than {bound:.0%}" if bound else "nothing"
    ax.text(column, 0.62, f"proven of the population:\n{proven}", ha="center")
ax.axhline(chance, color="0.6", lw=1, zorder=0)
ax.text(2.45, chance, "chance", color="0.4", ha="right", va="top")
ax.set_xticks(range(3), list(true_accuracy))
ax.set(
    ylim=(0, 0.72),
    xlim=(-0.5, 2.5),
    xlabel="who carries information (true)",
    ylabel="accuracy of subjects, and mean",
)
