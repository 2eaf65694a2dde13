"""What bits mean: ideal accuracy curves of regions with more and more information."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.stats import gaussian_identification_accuracy

sizes = np.unique(np.geomspace(2, 10_000, 60).astype(int))
figure, ax = plt.subplots(figsize=(7, 3.4))
shades = plt.get_cmap("viridis")(np.linspace(0, 0.85, 5))
for bits, color in zip((1, 2, 4, 8, 16), shades, strict=True):
    accuracy = gaussian_identification_accuracy(float(bits), sizes)
    ax.plot(sizes, accuracy, color=color, lw=2)
    height = max(accuracy[-1], {2: 0.055, 4: 0.11}.get(bits, 0.0))  # labels apart
    name = f"{bits} bit" if bits == 1 else f"{bits} bits"
    ax.text(11_500, height, name, color=color, va="center")
ax.plot(sizes, 1 / sizes, color="0.6", lw=1)
ax.text(2.1, 0.34, "chance", color="0.4", ha="left", va="top")
ax.set(
    xscale="log",
    xlim=(2, 10_000),
    ylim=(0, 1.02),
    xlabel="number of stimuli to choose from",
    ylabel="accuracy",
)
