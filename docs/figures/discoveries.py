"""Of the spheres above each threshold, how many are informative, and how many truly."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

brain = simulate_brain(resolution=8, radius=16)
light = IdentificationSearchLight(
    brain.masker, radius=16, n_permutations=400, bounds=None
)
light.fit(brain.imgs, brain.y, groups=brain.runs)
places = light.to_dataframe()[["X", "Y", "Z"]].to_numpy()
away = np.linalg.norm(places[:, np.newaxis] - brain.coordinates, axis=2).min(axis=1)
informative = away <= 2 * 16  # spheres that share a voxel with a planted one, at most
accuracy = light.region_scores_["accuracy"]

thresholds, n_spheres, n_true = light.true_discovery_curve()
truly = [(informative & (accuracy >= threshold)).sum() for threshold in thresholds]
figure, ax = plt.subplots(figsize=(7, 3.2))
ax.step(thresholds, n_spheres, "0.6", where="post", label="all of them")
ax.step(thresholds, truly, "#009E73", where="post", label="near planted information")
ax.step(thresholds, n_true, "#D55E00", where="post", label="informative, at least")
survive = light.region_scores_["p_value_fwe"] <= 0.05
ax.axhline(survive.sum(), color="#0072B2", lw=1, ls="--", label="survive one by one")
ax.set(
    xlabel="threshold (accuracy among 8 classes)",
    ylabel="spheres",
    xlim=(0.12, thresholds[0]),
    ylim=(0, 2.5 * n_true.max()),
)
ax.legend(title="spheres above the threshold", fontsize="small")
