"""
A searchlight with bits, bounds and corrected p-values
======================================================

Eight categories in twelve runs, the design of Haxby and colleagues (2001), simulated in
the MNI152 mask with three spheres whose information is known. One run is left out at a
time; labels are permuted within runs.

:doc:`plot_haxby` shows the real experiment.
"""

# %%
# Simulate, and fit
# -----------------
from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

brain = simulate_brain(resolution=6, radius=14, random_state=0)
light = IdentificationSearchLight(brain.masker, radius=14, n_permutations=200)
light.fit(brain.imgs, brain.y, groups=brain.runs)
print(sorted(light.maps_))

# %%
# Where, how much, and how sure
# -----------------------------
# What survives correction for the whole brain (family-wise p at most .05): information
# in bits, and accuracy among all eight.
from nilearn.plotting import show

cut = tuple(brain.coordinates[1])
light.plot_map("implied_information", survives=True, cut_coords=cut)
light.plot_map("accuracy", survives=True, cut_coords=cut)
show()

# %%
# At the planted spheres the responses carry 3, 6 and 12 bits of information about their
# class pattern. A classifier trained on eleven noisy responses can use less of it; and
# where accuracy is near 1, as in the strongest sphere, eight classes resolve
# information poorly: compare the bound.
for place, planted in zip(brain.coordinates, brain.samples.information, strict=True):
    region = light.find_region(tuple(place))
    found = {name: values[region] for name, values in light.region_scores_.items()}
    print(
        f"{planted:4.0f} bits planted: accuracy {found['accuracy']:.2f}, implied "
        f"{found['implied_information']:.1f} bits, p {found['p_value_fwe']:.3f}, Bayes "
        f"accuracy at least {found['bayes_accuracy_bound']:.2f}"
    )

# %%
# The permuted maxima. ``notes_`` says in words what limits the validity of the numbers
# of this run; the HTML report (``light.generate_report()``) repeats it.
from neuroextrap.plotting import plot_null_distribution

plot_null_distribution(light.null_maxima_, light.region_scores_["accuracy"].max())
for note in light.notes_:
    print("-", note)
