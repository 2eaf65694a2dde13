"""The figure on the first page: where, how much, and how sure, in one simulated brain.

``python docs/figures/overview.py`` writes ``docs/_static/overview.png`` (a minute).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.plotting import plot_map
from neuroextrap.plotting._brain_maps import COLORMAP

COLORS = ["#0072B2", "#D55E00", "#009E73"]
BEYOND = np.unique(np.geomspace(32, 1000, 25).astype(int))

# 32 stimuli in six runs; three spheres whose responses carry 6, 10 and 14 bits
brain = simulate_brain(
    information=(6.0, 10.0, 14.0), n_classes=32, n_runs=6, resolution=8, radius=16
)
light = IdentificationSearchLight(
    brain.masker, radius=16, n_permutations=39, bounds=None, random_state=0
)
light.fit(brain.imgs, brain.y, groups=brain.runs)

plt.rcParams.update({"font.size": 10, "axes.spines.top": False})
figure, (where, how_much) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1.5, 1], gridspec_kw={"wspace": 0.3}
)
figure.subplots_adjust(left=0.01, right=0.98, top=0.9, bottom=0.15)
where.set_axis_off()
where.set_title("implied information where p ≤ .05, corrected for the whole brain")
plot_map(
    light.masked_map("implied_information"),
    bg_img="mni152",
    display_mode="z",
    cut_coords=sorted({int(z) for z in brain.coordinates[:, 2]}),
    axes=where,
    colorbar=False,
)
colors = plt.cm.ScalarMappable(plt.Normalize(0, 12), COLORMAP)
figure.colorbar(
    colors,
    cax=figure.add_axes((0.55, 0.25, 0.01, 0.5)),
    label="bits",
    ticks=[0, 4, 8, 12],
)
for place, color in zip(brain.coordinates, COLORS, strict=True):
    region = light.find_region(tuple(place))
    sizes, accuracy = light.accuracy_curve(region)
    bits = light.region_scores_["implied_information"][region]
    how_much.plot(sizes, accuracy, color=color, lw=2, label=f"{bits:.1f} bits")
    how_much.fill_between(
        sizes, *light.accuracy_interval(region), color=color, alpha=0.15, lw=0
    )
    model = light.extrapolator(region)
    how_much.plot(BEYOND, model.predict(BEYOND), ":", color=color)
    how_much.fill_between(
        BEYOND, *model.predict_interval(BEYOND, 0.95), color=color, alpha=0.15, lw=0
    )
many = np.geomspace(2, BEYOND[-1], 100)
how_much.plot(many, 1 / many, color="0.6", lw=1, label="chance")
how_much.axvline(32, color="0.8", lw=1, zorder=0)
how_much.set(
    xscale="log",
    ylim=(0, 1.02),
    title="accuracy, measured and beyond, 95% intervals",
    xlabel="number of stimuli to choose from",
    ylabel="accuracy",
)
how_much.set_xticks([2, 10, 32, 100, 1000], labels=[2, 10, 32, 100, 1000])
how_much.minorticks_off()
how_much.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 0.08))
target = Path(__file__).resolve().parents[1] / "_static" / "overview.png"
figure.savefig(target, dpi=150)
