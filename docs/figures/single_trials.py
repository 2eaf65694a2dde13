"""Betas of single trials in the order shown, and what the table says of each trial."""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(3)
conditions = ["face", "house", "chair"]
runs = np.repeat([1, 2], 12)
y = np.concatenate([rng.permutation(np.repeat(np.arange(3), 4)) for _ in range(2)])
patterns = rng.normal(size=(3, 20))
betas = patterns[y] + rng.normal(size=(len(y), 20))

figure, (top, ax) = plt.subplots(
    2,
    1,
    figsize=(6.4, 3.6),
    layout="constrained",
    sharex=True,
    gridspec_kw={"height_ratios": [1, 5]},
)
top.imshow(y[None], aspect="auto", cmap="Set2", vmin=0, vmax=7, interpolation="none")
for trial, name in enumerate(y):
    top.text(trial, 0, conditions[name][0], ha="center", va="center")
top.set_yticks([0], ["trials.tsv"])
top.set(title="one row of the table for each volume of betas (f, h, c: conditions)")
ax.imshow(betas.T, aspect="auto", cmap="gray", interpolation="none")
ax.axvline(np.flatnonzero(np.diff(runs))[0] + 0.5, color="C1", linewidth=2)
for run in (1, 2):
    middle = np.flatnonzero(runs == run).mean()
    ax.text(middle, 20.4, f"run {run}", ha="center", va="center")
ax.set(xticks=[], yticks=[], ylabel="voxels")
ax.set_xlabel("trial, in the order shown", labelpad=16)
