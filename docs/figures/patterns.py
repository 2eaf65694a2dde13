"""What a classifier multiplies voxels by, and how voxels change with the classes."""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap.decoding import IdentificationSearchLight

rng = np.random.default_rng(0)
n_runs, n_voxels = 12, 40
y = rng.permuted(np.tile([0, 1], (n_runs, 10)), axis=1).ravel()
runs = np.repeat(np.arange(n_runs), 20)
signal = np.zeros(n_voxels)
signal[:20] = 0.5 * np.sin(np.linspace(0, np.pi, 20))  # the right half tells nothing
X = np.outer(2 * y - 1, signal) + 0.7 * rng.normal(size=(len(y), n_voxels))
shared = np.exp(-0.5 * ((np.arange(n_voxels) - 20) / 5) ** 2)
X += 2 * np.outer(rng.normal(size=len(y)), shared)  # noise on both sides of the middle

light = IdentificationSearchLight(estimator="lda", bounds=None)
fitted = light.fit(X, y, groups=runs)
figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained", sharex=True)
for ax, values, title in zip(
    axes,
    (signal, fitted.patterns(0, of="weights")[1], fitted.patterns(0)[1]),
    ("signal put in", 'of="weights"', 'of="activation"'),
    strict=True,
):
    ax.bar(range(n_voxels), values, width=1.0, color="#0072B2")
    ax.axhline(0, color="0.5", lw=0.8)
    ax.axvline(19.5, color="0.5", lw=0.8, ls=":")
    ax.set(title=title, xlabel="voxel", yticks=[0])
axes[0].text(30, signal.max() / 2, "tells\nnothing", ha="center", va="center")
