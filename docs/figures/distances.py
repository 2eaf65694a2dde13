"""Distances between eight classes on a ring, a model of them, and its test."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import DissimilaritySearchLight

rng = np.random.default_rng(0)
n_classes, n_runs, n_voxels = 8, 8, 60
angle = 2 * np.pi * np.arange(n_classes) / n_classes
shown = rng.permuted(np.tile(np.arange(n_classes), (n_runs, 2)), axis=1).ravel()
runs = np.repeat(np.arange(n_runs), 2 * n_classes)
ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
X = 0.5 * ring[shown] @ rng.normal(size=(2, n_voxels))
X += rng.normal(size=X.shape)
model = np.square(ring[:, None] - ring).sum(axis=2)

light = DissimilaritySearchLight(models={"ring": model}, n_permutations=2000)
fitted = light.fit(X, shown, groups=runs)
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(8, 2.6), layout="constrained"
)
measured = fitted.dissimilarity_table(0).to_numpy()
for ax, values, title in ((left, measured, "measured"), (middle, model, "model")):
    ax.imshow(np.where(np.eye(n_classes, dtype=bool), np.nan, values))
    ax.set(title=title, xticks=[], yticks=[], xlabel="classes")
scores = fitted.region_scores_
right.hist(fitted.null_maxima_["ring"], bins=40, color="0.7")
right.axvline(scores["ring_correlation"][0], color="#D55E00", lw=2)
right.axvline(scores["noise_ceiling"][0], color="#0072B2", lw=2, ls="--")
right.set(title="agreement (Spearman)", xlabel="names exchanged", yticks=[])
right.annotate(
    "as it is",
    (scores["ring_correlation"][0], 0.9),
    (-4, 0),
    xycoords=("data", "axes fraction"),
    textcoords="offset points",
    ha="right",
    color="#D55E00",
)
right.annotate(
    "ceiling",
    (scores["noise_ceiling"][0], 0.7),
    (-4, 0),
    xycoords=("data", "axes fraction"),
    textcoords="offset points",
    ha="right",
    color="#0072B2",
)
