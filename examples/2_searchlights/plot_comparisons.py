"""
Is one better told apart than the other?
========================================

Two tasks, two sessions, two classifiers, two regions: two maps at different heights are
no test. Here is where faces and houses are told apart better than bottles and scissors,
in the same runs of one person.

The data are those of :doc:`../1_start_here/plot_haxby`, a slice through the ventral
temporal cortex of a person who saw eight kinds of objects, if the folder that the
environment variable ``NEUROEXTRAP_DATA`` names has them; else a simulated brain stands
in, in which no pair of classes is special.
"""

# %%
# A searchlight for each
# ----------------------
import os
from pathlib import Path

import pandas as pd

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight, compare_decoders

folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "haxby2001_subject1"
if folder.is_dir():
    pairs = {"categories": ["face", "house"], "objects": ["bottle", "scissors"]}
    table = folder / "attributes_literal.txt"
    events = pd.read_csv(table, sep=r"\s+", names=["trial_type", "run"])
    series, mask, radius = folder / "bold.nii.gz", folder / "mask.nii.gz", 12.0
else:
    pairs = {"categories": ["s00", "s01"], "objects": ["s02", "s03"]}
    brain = simulate_brain(resolution=8, radius=16.0)
    mask, radius = brain.masker, 16.0


def fitted(classes, estimator="nearest_centroid"):
    """Fit a searchlight to the samples of some classes."""
    light = IdentificationSearchLight(
        mask, radius=radius, classes=classes, estimator=estimator, bounds=None
    )
    if not folder.is_dir():
        return light.fit(brain.imgs, brain.y, groups=brain.runs)
    return light.fit_events(
        series, events, exclude="rest", detrend=True, standardize=True
    )


categories, objects = (fitted(classes) for classes in pairs.values())

# %%
# Two tasks in the same runs
# --------------------------
# The accuracies of each run are exchanged between the two, in all spheres at once, and
# the largest difference gives the family-wise p-value.
found = compare_decoders(categories, objects, paired="runs")
scores = found.region_scores_
survives = scores["p_value_fwe"] <= 0.05
print(f"{survives.sum()} of {len(survives)} spheres differ")

# %%
# Both accuracies of every sphere
# -------------------------------
# Above the line the first is better. The page ``found.generate_report()`` has this
# figure, the maps and a table of the largest differences.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(4, 3.8), layout="constrained")
for chosen, color in ((~survives, "0.7"), (survives, "#D55E00")):
    x, y = (scores[f"{one}_accuracy"][chosen] for one in ("second", "first"))
    ax.plot(x, y, ".", color=color)
ax.axline((0.5, 0.5), slope=1, color="0.4", lw=0.8)
first, second = ("{} or {}".format(*classes) for classes in pairs.values())
ax.set(xlabel=f"accuracy, {second}", ylabel=f"accuracy, {first}")
plt.show()

# %%
# Two classifiers of the same samples
# -----------------------------------
# Both judged the same test samples in the same folds: ``paired="samples"``, which is
# what is meant if nothing is said.
ridge = fitted(pairs["objects"], "ridge")
found = compare_decoders(ridge, objects)
best = found.table_.sort_values("p_value_fwe", kind="stable").head(3)
columns = ["first_accuracy", "second_accuracy", "accuracy_difference", "p_value_fwe"]
print(best[columns].round(3).to_string(index=False))

# %%
# Two regions
# -----------
# The sphere in which faces and houses are told apart best, against its mirror image on
# the other side: how well do they tell bottles from scissors? It was chosen with other
# samples than are tested.
best = int(categories.region_scores_["accuracy"].argmax())
x, y, z = found.table_.loc[best, ["x", "y", "z"]]
places = found.table_[["x", "y", "z"]].to_numpy()
mirrored = int(((places - [-x, y, z]) ** 2).sum(axis=1).argmin())
one = compare_decoders(objects, objects, regions=[[best, mirrored]])
print(one.table_[[*columns[:3], "p_value"]].round(3).to_string(index=False))

# %%
# On the command line both are pipelines in a file, and ``neuroextrap compare both.toml
# --paired runs comparison`` compares them.
