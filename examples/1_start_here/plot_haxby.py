"""
A real brain: eight categories of objects
=========================================

Haxby and colleagues (2001) showed faces, houses, cats, bottles, scissors, shoes, chairs
and scrambled pictures in twelve runs. Here is what a searchlight finds in one slice of
their first subject, at the back of the brain.

The recordings are not part of this project, but the results are: the folder
``haxby_slice`` beside this script was written by

.. code-block:: console

   $ neuroextrap searchlight --imgs bold.nii.gz --events volumes.tsv \
         --mask mask.nii.gz --exclude rest --detrend --standardize --radius 12 \
         --n-permutations 1000 haxby_slice

from the files that :doc:`/first_map` describes. It is licensed as the data are, under
CC BY-SA 3.0.
"""

# %%
# Results are read as they were written
# -------------------------------------
# No image of the experiment is needed; what a folder holds is checked against its
# checksums.
from pathlib import Path

from neuroextrap.decoding import IdentificationSearchLight

try:
    folder = Path(__file__).parent
except NameError:  # in a notebook or a gallery
    folder = Path.cwd()
light = IdentificationSearchLight.from_directory(folder / "haxby_slice")
print(", ".join(light.classes_))

# %%
# Where
# -----
# Spheres of 12 mm radius in which accuracy survives correction for all of them (p at
# most .05), in bits. Both sides of the ventral visual cortex stand out.
import matplotlib.pyplot as plt

table = light.to_dataframe()
print(f"{(table['p_value_fwe'] <= 0.05).sum()} of {len(table)} spheres survive")
light.plot_map(
    "implied_information",
    survives=True,
    display_mode="z",
    cut_coords=[0],
    figure=plt.figure(figsize=(6, 3.6)),
)
plt.show()

# %%
# How well, and how sure
# ----------------------
# The strongest spheres: their accuracies are those of one classifier (and optimistic,
# as the best of many spheres); the bounds hold for the best possible classifier of
# these eight categories, in all spheres at once.
from neuroextrap.reporting import peak_table

table = peak_table(light, n_peaks=2)
columns = ["x", "y", "z", "accuracy", "bayes_accuracy_bound_fwe", "p_value_fwe"]
print(table[columns].round(3).to_string(index=False))

# %%
# Accuracy among fewer categories than eight, in the strongest sphere on each side. With
# eight chosen categories nothing can be said about others: there is no extrapolation.
figure, ax = plt.subplots(figsize=(4.5, 3.3), layout="constrained")
for row, color in zip(table.itertuples(), ("#0072B2", "#D55E00"), strict=True):
    sizes, accuracy = light.accuracy_curve(row.region)
    side = "left" if row.x < 0 else "right"
    ax.plot(sizes, accuracy, "o-", color=color, label=side)
ax.plot(sizes, 1 / sizes, color="0.6", lw=1, label="chance")
ax.set(xlabel="categories to choose from", ylabel="accuracy", ylim=(0, 1.02))
ax.legend(frameon=False)
plt.show()

# %%
# One page with all of it, and a viewer of the maps:
# ``light.generate_report().save_as_html("report.html")``.
