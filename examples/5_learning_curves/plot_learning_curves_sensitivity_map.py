"""
A map of what the classifier looks at
=====================================

Simulated images of twelve subjects, three conditions that differ in two patches.
Canonical variates give coordinates to look at, a posterior for every scan, signed
canonical maps, and one unsigned sensitivity map.
"""

import matplotlib.pyplot as plt
import nibabel
import numpy as np
import pandas as pd
from nilearn.image import mean_img

from neuroextrap import learning_curves, plotting
from neuroextrap.images import resolve_masker, to_img

rng = np.random.default_rng(0)
affine = np.diag([4.0, 4.0, 4.0, 1.0])
masker = resolve_masker(nibabel.Nifti1Image(np.ones((16, 18, 14), "uint8"), affine))
y = np.tile(["left", "right", "none"], 12 * 3)
groups = np.repeat(np.arange(12), 9)
volumes = rng.standard_normal((16, 18, 14, len(y))) + 10
volumes[3:6, 8:11, 6:9, y == "left"] += 1.6
volumes[10:13, 8:11, 6:9, y == "right"] += 1.6
imgs = nibabel.Nifti1Image(volumes, affine)

# %%
# Scans in canonical space, in units of the within-class standard deviation.
X = masker.transform(imgs)
X = X - pd.DataFrame(X).groupby(groups).transform("mean").to_numpy()
model = learning_curves.CanonicalVariates(n_components=6).fit(X, y, groups)
plotting.plot_canonical_coordinates(model.transform(X), y)

# %%
# The sensitivity map: where a change of the scan changes the predictions.
sensitivity = to_img(learning_curves.sensitivity_map(model, X, y), masker)
how = {"bg_img": mean_img(imgs), "cut_coords": (16, 36, 28), "cmap": "inferno"}
plotting.plot_map(sensitivity, threshold="95%", vmin=0, title="sensitivity", **how)

# %%
# Does the map reproduce in other subjects? Correlation of the maps of disjoint halves,
# and the reproducible Z map.
found = learning_curves.pattern_reproducibility(
    imgs, y, groups, mask=masker, n_splits=50
)
print(f"reproducibility {found.mean[0]:.2f} +- {found.spread[0]:.2f}")
z_map = to_img(found.z_map[0], found.masker)
plotting.plot_map(z_map, threshold=3, vmin=0, title="Z", **how)
plt.show()
