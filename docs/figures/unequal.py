"""Accuracy of named classifiers where one of four classes is shown more often."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight

N_RUNS, N_REGIONS, N_FEATURES = 8, 150, 12
rng = np.random.default_rng(0)
regions = np.kron(np.eye(N_REGIONS), np.ones(N_FEATURES))
patterns = 0.45 * rng.normal(size=(4, regions.shape[1]))
shown = {"1:1": [3, 3, 3, 3], "3:1": [6, 2, 2, 2], "9:1": [9, 1, 1, 1]}

figure, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
for offset, classifier in zip(
    (-0.2, 0, 0.2), ("nearest_centroid", "ridge", "lda"), strict=True
):
    means, errors = [], []
    for counts in shown.values():
        y = np.tile(np.repeat(np.arange(4), counts), N_RUNS)
        X = patterns[y] + rng.normal(size=(len(y), regions.shape[1]))
        light = IdentificationSearchLight(
            regions=regions, estimator=classifier, bounds=None
        )
        light.fit(X, y, groups=np.repeat(np.arange(N_RUNS), sum(counts)))
        accuracy = light.region_scores_["accuracy"]
        means.append(accuracy.mean())
        errors.append(2 * accuracy.std() / np.sqrt(N_REGIONS))
    places = np.arange(3) + offset
    ax.errorbar(places, means, errors, fmt="o", label=classifier.replace("_", " "))
ax.axhline(0.25, color="0.6", lw=1, ls=":")
ax.text(2.4, 0.255, "chance", color="0.4", ha="right")
ax.set_xticks(range(3), shown)
ax.set(xlabel="samples of the first class to those of each other", ylim=(0.2, 0.8))
ax.set_ylabel("accuracy, classes weighted equally")
ax.legend(frameon=False, fontsize="small", ncols=3)
