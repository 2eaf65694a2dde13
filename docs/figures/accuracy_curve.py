"""Two regions with equal pairwise accuracy, and what else their wins tell."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta, binom

from neuroextrap.stats import average_accuracy

n_classes = 32
n_wins, sizes = np.arange(n_classes), np.arange(2, n_classes + 1)
chances = (np.arange(400) + 0.5) / 400  # quantiles of the chance to beat a distractor
regions = {
    "fairly good at every response": beta(18, 2).ppf(chances),
    "perfect but for one response in five": np.where(chances < 0.2, 0.5, 1.0),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
for number, (name, beaten) in enumerate(regions.items()):
    wins = binom.pmf(n_wins[:, None], n_classes - 1, beaten).mean(1)
    curve = average_accuracy(wins, sizes)
    color = ("#0072B2", "#D55E00")[number]
    left.bar(n_wins + 0.4 * number - 0.2, wins, width=0.4, color=color)
    right.plot(sizes, curve, "o-", ms=3, color=color)
    offset = (0.24, 0.04)[number]
    right.text(32, curve[-1] + offset, name, color=color, ha="right", fontsize="small")
left.set(
    xlabel="wins (distractors beaten, of 31)",
    ylabel="proportion of responses",
    title="win distribution",
    ylim=(0, 0.5),
)
left.text(30, 0.47, ".80 ↑", color="#D55E00", ha="right", va="center")
right.plot(sizes, 1 / sizes, color="0.6", lw=1)
right.text(32, 0.05, "chance", color="0.4", ha="right", fontsize="small")
right.set(
    xlabel="number of classes to choose from, k",
    ylabel="accuracy $A_k$",
    title="accuracy curve",
    ylim=(0, 1.02),
)
