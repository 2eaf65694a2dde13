"""What labels permuted within runs give in one region, and in the best of all."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight

brain = simulate_brain(resolution=8, radius=16)
with tempfile.TemporaryDirectory() as folder:
    light = IdentificationSearchLight(
        brain.masker,
        radius=16,
        n_permutations=400,
        bounds=None,
        keep=Path(folder) / "null.npy",
    )
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    region = light.find_region(tuple(brain.coordinates[0]))
    null = np.load(Path(folder) / "null.npy")[:, region]

figure, ax = plt.subplots(figsize=(7, 3.2))
bins = (np.arange(-1, 60) + 0.5) / brain.y.size  # accuracies are multiples of 1/96
ax.hist(null, bins, color="#56B4E9", label="this region")
n_regions = np.isfinite(light.region_scores_["accuracy"]).sum()
ax.hist(
    light.null_maxima_, bins, color="#E69F00", alpha=0.8, label=f"best of {n_regions:,}"
)
observed = light.region_scores_["accuracy"][region]
ax.axvline(observed, color="#D55E00", lw=2)
ax.text(observed, 1.0, " observed", color="#D55E00", transform=ax.get_xaxis_transform())
ax.axvline(1 / 8, color="0.5", lw=1)
ax.text(1 / 8, 1.0, "chance ", color="0.4", transform=ax.get_xaxis_transform())
ax.set(xlabel="accuracy among 8 classes", ylabel="labelings (of 400)", xlim=(0, 0.6))
ax.legend(title="accuracy with permuted labels", loc="center right")
