"""The figure on the first page: where, how much, and how sure, in one simulated brain.

``python docs/figures/overview.py`` writes ``docs/_static/overview.png`` (a minute).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nilearn.image import math_img

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.plotting import plot_accuracy_curve, plot_map

COLORS = ["#0072B2", "#D55E00", "#009E73"]
BEYOND = np.array([32, 100, 300, 1000])

# 32 stimuli in six runs; three spheres whose responses carry 6, 10 and 16 bits
brain = simulate_brain(
    information=(6.0, 10.0, 16.0), n_classes=32, n_runs=6, resolution=6, radius=12
)
light = IdentificationSearchLight(
    brain.masker, radius=12, n_permutations=50, bounds=None, random_state=0
)
light.fit(brain.imgs, brain.y, groups=brain.runs)

plt.rcParams.update({"font.size": 10, "axes.spines.top": False})
figure, (where, how_much) = plt.subplots(
    1, 2, figsize=(10, 3.9), width_ratios=[1.15, 1], layout="constrained"
)
where.set_axis_off()
where.set_title("implied information (bits) where p ≤ .05 in the whole brain")
survives = math_img(
    "np.where(p <= 0.05, bits, np.nan)",
    p=light.maps_["p_value_fwe"],
    bits=light.maps_["implied_information"],
)
plot_map(
    survives,
    display_mode="z",
    cut_coords=sorted({int(z) for z in brain.coordinates[:, 2]}),
    cmap="inferno",
    axes=where,
    annotate=False,
)
for place, color in zip(brain.coordinates, COLORS, strict=True):
    region = light.find_region(tuple(place))
    sizes, accuracy = light.accuracy_curve(region)
    lower, upper = light.accuracy_interval(region)
    bits = light.region_scores_["implied_information"][region]
    plot_accuracy_curve(
        sizes,
        accuracy,
        chance=False,
        label=f"{bits:.1f} bits",
        color=color,
        ax=how_much,
    )
    how_much.fill_between(sizes, lower, upper, color=color, alpha=0.15, lw=0)
    predicted = light.extrapolator(region).predict(BEYOND)
    how_much.plot(BEYOND, predicted, ":", color=color)
many = np.r_[2, 5, 10, 32, BEYOND[1:]]
how_much.plot(many, 1 / many, color="0.6", lw=1, label="chance")
how_much.axvline(32, color="0.8", lw=1, zorder=0)
how_much.set_xscale("log")
how_much.set_title("one curve per region: measured, and beyond (dotted)")
how_much.set_xlabel("number of stimuli to choose from")
how_much.set_ylabel("accuracy")
how_much.legend(frameon=False, title="implied information")
target = Path(__file__).resolve().parents[1] / "_static" / "overview.png"
figure.savefig(target, dpi=150)
