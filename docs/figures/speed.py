"""Time for 1,000 permutations of a whole brain, of the table ``speed.csv``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

N_REGIONS, N_LABELINGS, N_CORES = 69_765, 1001, 2

folder = Path(__file__).parent if "__file__" in globals() else Path()
table = pd.read_csv(folder / "speed.csv")
ours = table["1,000 permutations, whole brain: minutes"]
theirs = table["nilearn, one map: ms per sphere"] * N_REGIONS * N_LABELINGS
theirs = theirs / N_CORES / 60_000  # minutes

figure, ax = plt.subplots(figsize=(7, 2.6))
rows = np.arange(len(table))
for shift, minutes, color, name in (
    (-0.2, theirs, "#999999", "nilearn (projected)"),
    (0.2, ours, "#0072B2", "neuroextrap"),
):
    ax.barh(rows + shift, minutes, height=0.36, color=color, label=name)
    for row, value in zip(rows, minutes, strict=True):
        said = f"{value:.1f} min" if value < 60 else f"{value / 1440:,.0f} days"
        ax.text(value * 1.1, row + shift, said, va="center", fontsize="small")
ax.set_yticks(rows, table["classifier"])
ax.set(xscale="log", xlim=(0.3, 1_000_000), ylim=(2.5, -0.5))
ax.set_xticks([1, 60, 1440, 43_200], ["a minute", "an hour", "a day", "a month"])
ax.minorticks_off()
ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
