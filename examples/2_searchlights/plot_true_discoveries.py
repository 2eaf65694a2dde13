"""
How much of a region is real
============================

A map of p-values says where something survives correction. Often the question is
another one: of these spheres, chosen after looking, *how many* are informative? The
same permutations answer it, for every set of spheres at once: a cluster, a threshold,
an area drawn by hand.

The data are those of :doc:`../1_start_here/plot_haxby`, a slice through the ventral
temporal cortex of a person who saw eight kinds of objects, if the folder that the
environment variable ``NEUROEXTRAP_DATA`` names has them; else a simulated brain stands
in.
"""

# %%
# A map with permutations
# -----------------------
# Nothing more is needed than ``n_permutations``: a run keeps the largest values of
# every permuted map.
import os
from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "haxby2001_subject1"
light = IdentificationSearchLight(n_permutations=1000)
if folder.is_dir():
    table = folder / "attributes_literal.txt"
    events = pd.read_csv(table, sep=r"\s+", names=["trial_type", "run"])
    light.set_params(mask=folder / "mask.nii.gz", radius=12.0)
    light.fit_events(
        folder / "bold.nii.gz", events, exclude="rest", detrend=True, standardize=True
    )
    centers = [(-28, 13, 0), (27, 10, 0)]  # mm
else:
    brain = simulate_brain(resolution=8, radius=16.0)
    light.set_params(mask=brain.masker, radius=16.0)
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    centers = brain.coordinates  # mm
masker = light.masker_
survive = light.region_scores_["p_value_fwe"] <= 0.05
print(f"{survive.sum()} of {len(survive)} spheres survive correction one by one")
print(f"at least {light.true_discoveries()} of them all are informative")

# %%
# An area drawn by hand
# ---------------------
# Two discs of 16 mm on the ventral temporal cortex of both sides. The area may be drawn
# after looking at the map, and as many others as one likes: all bounds hold together,
# with 95% confidence. A sphere belongs to it when its center does.
places = light.to_dataframe()[["X", "Y", "Z"]].to_numpy()
away = np.linalg.norm(places[:, np.newaxis] - centers, axis=2)
ventral_temporal = away.min(axis=1) <= 16
drawn = masker.inverse_transform(ventral_temporal.astype(np.int32))
n_true, n_drawn = light.true_discoveries(drawn), int(ventral_temporal.sum())
print(
    f"At least {n_true} of these {n_drawn} spheres are informative (95% confidence, "
    "simultaneously over all regions anyone may pick)."
)

# %%
# A sphere is informative when any of its voxels are; of single voxels nothing is
# said.
#
# The drawn area and the rest on the page
# ---------------------------------------
# A labels image given as ``atlas`` gets a row for each label in the section "How many
# are informative". The viewer of the page says the bound for every threshold that is
# set, and for the spheres around every place that is clicked.
from sklearn.utils import Bunch

areas = Bunch(
    maps=masker.inverse_transform(np.where(ventral_temporal, 1, 2).astype(np.int32)),
    labels=["ventral temporal, drawn", "elsewhere"],
)
report = light.generate_report(atlas=areas)
print("ventral temporal, drawn" in report.html)

# %%
# Against every threshold
# -----------------------
# Of the spheres above a threshold, how many are informative, at least? A low
# threshold lets spheres in that are so by chance, and the bound stays behind; it
# never falls.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for name, region in (("whole mask", None), ("drawn area", drawn)):
    thresholds, n_spheres, n_true = light.true_discovery_curve(region)
    (line,) = ax.step(thresholds, n_true, where="post", label=name)
    ax.step(thresholds, n_spheres, where="post", color=line.get_color(), ls=":", lw=1)
ax.set(xlabel="threshold (accuracy)", ylabel="spheres above it")
ax.plot([], [], "k-", label="informative, at least")
ax.plot([], [], "k:", lw=1, label="all of them")
ax.legend(frameon=False)
plt.show()
