"""Accuracy of the classifiers with noise of four kinds, by the number of runs."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight

N_CLASSES, N_VOXELS, N_SIMULATIONS = 8, 60, 6
RUNS = (4, 8, 16)
NAMES = ("nearest_centroid", "gaussian_nb", "lda", "ridge", "nearest_neighbor")
rng = np.random.default_rng(0)


def white(shape):
    """Noise of equal variance, independent over voxels."""
    return rng.normal(size=shape)


def unequal(shape):
    """Independent noise; one voxel in four is five times as noisy."""
    return rng.normal(size=shape) * np.where(np.arange(shape[1]) % 4, 0.8, 4.0)


def correlated(shape):
    """Half of the noise is shared by groups of voxels."""
    shared = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1]))
    return rng.normal(size=shape) * 0.7 + shared


noises = {
    "independent noise": (white, 0.3),
    "a quarter of the voxels noisy": (unequal, 0.3),
    "noise shared by voxels": (correlated, 0.35),
}
figure, axes = plt.subplots(1, 3, figsize=(8, 3), sharey=True)
for ax, (title, (noise, signal)) in zip(axes, noises.items(), strict=True):
    accuracy = np.zeros((len(NAMES), len(RUNS)))
    for column, n_runs in enumerate(RUNS):
        y = np.tile(np.arange(N_CLASSES), n_runs)
        runs = np.repeat(np.arange(n_runs), N_CLASSES)
        for _ in range(N_SIMULATIONS):
            patterns = signal * rng.normal(size=(N_CLASSES, N_VOXELS))
            X = patterns[y] + noise((len(y), N_VOXELS))
            for row, name in enumerate(NAMES):
                light = IdentificationSearchLight(estimator=name, bounds=None)
                light.fit(X, y, groups=runs)
                accuracy[row, column] += light.region_scores_["accuracy"][0]
    colors = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73")
    for name, curve, color in zip(NAMES, accuracy / N_SIMULATIONS, colors, strict=True):
        ax.plot(RUNS, curve, "o-", ms=3, color=color, label=name)
    ax.axhline(1 / N_CLASSES, color="0.6", lw=1)
    ax.set(title=title, xlabel="runs (one sample per class)", xticks=RUNS)
    ax.title.set_size("medium")
axes[0].set(ylabel="accuracy among 8", ylim=(0, 1))
axes[0].text(16, 1 / N_CLASSES - 0.06, "chance", color="0.4", ha="right", size="small")
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=5,
    fontsize="small",
)
