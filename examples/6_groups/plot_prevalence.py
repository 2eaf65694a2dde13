"""
In how many people? Prevalence instead of a mean
================================================

Six subjects are simulated on one grid. Everybody carries information at one place;
at another place a third of them do. Both places stand out in the mean, but only the
first is a finding about most people.
"""

# %%
# One searchlight per subject
# ---------------------------
# ``keep`` writes the accuracies of every sphere with permuted labels: the group
# analysis needs them.
import tempfile
from pathlib import Path

import numpy as np

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

places = [(33, -51, -18), (-42, -72, -6)]
folder = Path(tempfile.mkdtemp())
maps, nulls = [], []
for subject in range(6):
    brain = simulate_brain(
        information=(5.0, 8.0 if subject < 2 else 0.0),
        coordinates=places,
        resolution=10,
        radius=20,
        random_state=subject,
    )
    null = folder / f"sub-{subject + 1:02}.npy"
    light = IdentificationSearchLight(
        brain.masker, radius=20, n_permutations=50, bounds=None, keep=null
    )
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    maps.append(light.maps_["accuracy"])
    nulls.append(null)

# %%
# The group
# ---------
# ``prevalence_bound`` is the fraction of the population that is certain (95%) to carry
# information; ``p_value`` tests whether anybody does.
from neuroextrap.group import prevalence_test

found = prevalence_test(maps, nulls, mask=brain.masker, n_permutations=20_000)


def at_region(img, region):
    """Value of a map at the center of a sphere."""
    return brain.masker.transform(img).ravel()[light.results_.choice.centers[region]]


regions = [light.find_region(place) for place in places]
for name, region in zip(("everybody", "two of six"), regions, strict=True):
    values = {key: at_region(img, region) for key, img in found.items()}
    scores = [at_region(img, region) for img in maps]
    print(
        f"{name:>12}: mean accuracy {np.mean(scores):.2f}, smallest "
        f"{values['minimum']:.2f}, p (anybody) {values['p_value']:.4f}, "
        f"in more than {values['prevalence_bound']:.0%} of people"
    )

# %%
# The mean over subjects, and what is proven of the population.
from nilearn.image import mean_img
from nilearn.plotting import show

from neuroextrap.plotting import plot_map

plot_map(mean_img(maps), threshold=0.2, cut_coords=(33, -60, -12))
plot_map(found["prevalence_bound"], cut_coords=(33, -60, -12))
show()
