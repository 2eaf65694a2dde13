"""
Implied information inside nilearn's own searchlight
====================================================

A pipeline that is built around :class:`nilearn.decoding.SearchLight` can stay as it is:
:class:`~neuroextrap.decoding.IdentificationScorer` is an estimator for it, and the map
holds bits (or accuracy among k) instead of plain accuracy. nilearn refits every sphere,
so this is the slow way; the last part compares it with the fast one.
"""

# %%
# A small brain
# -------------
import time

import numpy as np
from nilearn.decoding import SearchLight
from nilearn.image import math_img

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationScorer, IdentificationSearchLight

brain = simulate_brain(resolution=8, radius=16, n_classes=6, n_runs=6)
imgs = math_img("np.nan_to_num(img)", img=brain.imgs)  # nilearn wants zeros outside

# %%
# nilearn's searchlight around one planted sphere
# -----------------------------------------------
from nibabel.affines import apply_affine
from nilearn.maskers import NiftiMasker

mask_img = brain.masker.mask_img_
places = apply_affine(mask_img.affine, np.argwhere(mask_img.get_fdata() > 0))
distance = np.linalg.norm(places - brain.coordinates[2], axis=1)
near = brain.masker.inverse_transform((distance < 25).astype(np.int8))
scorer = IdentificationScorer(statistic="implied_information")
slow = SearchLight(
    mask_img=mask_img, process_mask_img=near, radius=16, estimator=scorer
)
start = time.perf_counter()
slow.fit(imgs, brain.y, groups=brain.runs)
slow_seconds = time.perf_counter() - start

# %%
# The whole brain the fast way
# ----------------------------
fast = IdentificationSearchLight(brain.masker, radius=16)
start = time.perf_counter()
fast.fit(imgs, brain.y, groups=brain.runs)
fast_seconds = time.perf_counter() - start

inside = NiftiMasker(near).fit()
first = inside.transform(slow.scores_img_).ravel()
second = inside.transform(fast.maps_["implied_information"]).ravel()
print(
    f"{len(first)} spheres; largest difference {np.abs(first - second).max():.2g} bits"
)
per_sphere = slow_seconds / len(first), fast_seconds / brain.masker.n_elements_
print("milliseconds a sphere: {:.2f} and {:.2f}".format(*(1e3 * s for s in per_sphere)))

# %%
from nilearn.plotting import plot_stat_map, show

plot_stat_map(
    slow.scores_img_,
    cut_coords=tuple(brain.coordinates[2]),
    vmin=0,
    cmap="viridis",
    title="implied information (bits)",
)
show()
