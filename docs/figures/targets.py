"""A decoded rating, and vectors identified among pools of three sizes."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import TargetSearchLight
from neuroextrap.stats import (
    average_accuracy,
    implied_information,
    win_distribution,
)

rng = np.random.default_rng(0)
N_RUNS, N_VOXELS, N_FEATURES = 8, 60, 8
COLORS = ("#0072B2", "#D55E00", "#009E73")
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")

runs = np.repeat(np.arange(N_RUNS), 20)
rating = rng.integers(1, 8, size=len(runs)).astype(float)
X = 0.1 * np.outer(rating, rng.normal(size=N_VOXELS))
X += rng.normal(size=X.shape)
fitted = TargetSearchLight(shrinkage=0.1).fit(X, rating, groups=runs)
true = fitted.candidates_[fitted.test_codes_, 0]
decoded = fitted.decoded_targets(0)[:, 0]
left.plot(true + rng.uniform(-0.2, 0.2, len(true)), decoded, ".", color=COLORS[0], ms=4)
left.plot([1, 7], [1, 7], color="0.6", lw=1)
r = float(fitted.region_scores_["correlation"][0])
left.set(xlabel="true rating", ylabel="decoded rating", title=f"r = {r:.2f}")

weights = 0.15 * rng.normal(size=(N_FEATURES, N_VOXELS))
for n_candidates, color in zip((20, 50, 200), COLORS, strict=True):
    targets = rng.normal(size=(200, N_FEATURES))
    X = targets @ weights + rng.normal(size=(200, N_VOXELS))
    runs = np.arange(200) % N_RUNS
    fitted = TargetSearchLight(shrinkage=0.1).fit(X, targets, groups=runs)
    pools = np.array_split(rng.permutation(200), 200 // n_candidates)
    margins = fitted.region_margins(0)
    wins = np.zeros(n_candidates)
    for pool in pools:
        rows = np.isin(fitted.test_codes_, pool)
        own = np.searchsorted(np.sort(pool), fitted.test_codes_[rows])
        wins += win_distribution(margins[rows][:, np.sort(pool)], own) / len(pools)
    sizes = np.unique(np.geomspace(2, n_candidates, 32).round().astype(int))
    accuracy = average_accuracy(wins, sizes)
    bits = float(implied_information(accuracy, sizes))
    label = f"{n_candidates} candidates: {bits:.1f} bits"
    right.plot(sizes, accuracy, "o-", ms=3, color=color, label=label)
right.set(xlabel="candidates to choose from", ylabel="accuracy", xscale="log")
right.set(
    ylim=(0, 1), xticks=(2, 5, 10, 20, 50, 200), xticklabels=(2, 5, 10, 20, 50, 200)
)
right.minorticks_off()
right.legend(fontsize="small")
