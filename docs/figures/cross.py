"""Unrelated codes of two conditions: p-values by permuted labels, exchanged names."""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight, cross_identification

warnings.simplefilter("ignore", UserWarning)  # classes are listed in one order
rng = np.random.default_rng(1)
n_classes, n_runs, n_regions, n_voxels = 8, 8, 400, 30
y = np.tile(np.arange(n_classes), 2 * n_runs)
runs = np.repeat(np.arange(n_runs), 2 * n_classes)
task = np.tile(np.repeat([0, 1], n_classes), n_runs)
codes = rng.normal(size=(2, n_classes, n_regions * n_voxels))
x = codes[task, y] + rng.normal(size=(len(y), n_regions * n_voxels))
regions = np.kron(np.eye(n_regions), np.ones(n_voxels))

light = IdentificationSearchLight(regions=regions, n_permutations=999, bounds=None)
names = cross_identification(light, x, y, runs, task, train=0, test=1)
folds = [
    (
        np.flatnonzero((runs != run) & (task == a)),
        np.flatnonzero((runs == run) & (task != a)),
    )
    for a in (0, 1)
    for run in range(n_runs)
]
light.set_params(cv=folds, n_permutations=199)
labels = light.fit(x, y, groups=2 * runs + task).region_scores_

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for p, color, label in (
    (labels["p_value"], "#D55E00", "labels permuted"),
    (names["p_value"], "#0072B2", "names exchanged"),
):
    ax.ecdf(p, color=color, lw=2, label=f"{label}: {np.mean(p <= 0.05):.2f} at .05")
ax.plot([0, 0.2], [0, 0.2], color="0.5", lw=1, label="as it should be")
ax.set(
    xlim=(0, 0.2),
    ylim=(0, 0.4),
    xlabel="p-value",
    ylabel="regions with a p-value\nat most this large",
)
ax.legend(loc="upper left", frameon=False)
