"""
Several pipelines, one p-value
==============================

Which radius, which classifier? Whoever tries several and reports the best finds too
much; whoever fixes one beforehand may miss what others would see. All can be run under
the same permuted labels, and corrected together.

The data are those of :doc:`../1_start_here/plot_haxby`, a slice through the ventral
temporal cortex of a person who saw eight kinds of objects, if the folder that the
environment variable ``NEUROEXTRAP_DATA`` names has them; else a simulated brain stands
in.
"""

# %%
# Blocks, labels and runs
# -----------------------
import os
from pathlib import Path

import pandas as pd

from neuroextrap.datasets import simulate_brain
from neuroextrap.images import labeled_samples, resolve_masker, to_img

folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "haxby2001_subject1"
if folder.is_dir():
    masker = resolve_masker(folder / "mask.nii.gz")
    events = pd.read_csv(
        folder / "attributes_literal.txt", sep=r"\s+", names=["trial_type", "run"]
    )
    blocks = labeled_samples(
        folder / "bold.nii.gz",
        events,
        masker=masker,
        exclude="rest",
        detrend=True,
        standardize=True,
    )
    imgs, y, runs = to_img(blocks.data, masker), blocks.y, blocks.runs
    radii, order = (6.0, 9.0, 12.0), blocks.order  # mm, and order of acquisition
else:
    brain = simulate_brain(resolution=8, radius=16.0, information=(1.0, 2.0, 4.0))
    masker, imgs, y, runs = brain.masker, brain.imgs, brain.y, brain.runs
    radii, order = (12.0, 16.0), None

# %%
# Declare all pipelines first
# ---------------------------
# They share the number of permutations and the seed, so that labels are permuted alike.
from neuroextrap.decoding import IdentificationSearchLight, multiverse

pipelines = {
    f"{name}, {radius:g} mm": IdentificationSearchLight(
        masker, estimator=name, radius=radius, n_permutations=200
    )
    for name in ("nearest_centroid", "ridge")
    for radius in radii
}
found = multiverse(pipelines, imgs, y, runs, order=order)

# %%
# Where any pipeline finds information, and where all do
# ------------------------------------------------------
# Both maps are corrected for all voxels and all pipelines.
for name, words in (("any", "at least one pipeline"), ("all", "every pipeline")):
    survives = found.region_scores_[f"p_value_fwe_{name}"] <= 0.05
    print(f"{words}: {survives.sum()} of {len(survives)} voxels")

# %%
# What a pipeline pays
# --------------------
# Having looked at all costs each pipeline a few of the voxels that it finds alone.
columns = ["pipeline", "largest_standardized", "n_surviving_alone", "n_surviving"]
print(found.table_[columns].round(2).to_string(index=False))

# %%
# The page has the maps, the table, and the specification curve: pipelines by their
# largest statistic, in units of the largest permuted ones, above their options.
report = found.generate_report()
print("specification_curve.svg" in report.html)

# %%
# How many pipelines agree at a voxel
# -----------------------------------
import matplotlib.pyplot as plt

from neuroextrap.plotting import plot_map

plot_map(
    found["n_pipelines"],
    bg_img=False,
    display_mode="z",
    cut_coords=1,
    figure=plt.figure(figsize=(5, 3.6)),
)
plt.show()
