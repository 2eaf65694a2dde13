"""
Zheng (2017): lesions, ensembles, costs, receptive fields
=========================================================

The thesis asks what the parts of a representation contribute: what is lost without a
region (section 1.4.2), how information grows with the number of cells (5.1.1), and what
errors cost that are not all alike (2.3). Three regions of one array, of which two carry
the same information and the third its own.
"""

import matplotlib.pyplot as plt
import numpy as np

from neuroextrap import plotting, stats
from neuroextrap.decoding import (
    IdentificationSearchLight,
    ensemble_information,
    lesion_identification,
)
from neuroextrap.encoding import GaborPyramid

rng = np.random.default_rng(0)
n_classes, n_runs, n_voxels = 12, 8, 30
y = np.concatenate([rng.permutation(n_classes) for _ in range(n_runs)])
runs = np.repeat(np.arange(n_runs), n_classes)
shared, own = rng.normal(size=(2, n_classes, n_voxels))
X = np.hstack([shared[y], shared[y], own[y]])
X = X + 2.2 * rng.normal(size=X.shape)
regions = np.kron(np.eye(3), np.ones(n_voxels))
light = IdentificationSearchLight(regions=regions, n_permutations=200)

# %%
# Lesions
# -------
# Accuracy of the whole without one region. Alone, all are about equally good; what
# is lost without each depends on what the others tell too.
lesions = lesion_identification(light, X, y, runs)
alone = light.fit(X, y, groups=runs).region_scores_["accuracy"]
print(f"all voxels: {lesions.whole['accuracy']:.3f}")
for region, (one, row) in enumerate(
    zip(alone, lesions.table_.itertuples(), strict=True)
):
    print(
        f"region {region}: alone {one:.3f}, all but it {row.accuracy:.3f}, "
        f"p of the loss {row.loss_p_value:.3f}"
    )

# %%
# Ensembles
# ---------
# Implied information of voxels drawn at random: it grows, and bends where voxels begin
# to repeat one another.
drawn = ensemble_information(
    IdentificationSearchLight(), X, y, runs, n_voxels=[2, 5, 10, 20, 40, 90], n_draws=10
)
plotting.plot_information_vs_size(
    drawn["n_voxels"], drawn["implied_information"], label="mean of ten draws"
)
plt.show()

# %%
# Costs
# -----
# A confusion within the first or the last six classes costs 1, between them 3. The
# average risk of all subsets of k classes, equation (2.5) of the thesis.
half = np.arange(n_classes) < n_classes // 2
cost = np.where(half[:, None] == half, 1.0, 3.0) * (1 - np.eye(n_classes))
sizes = np.arange(2, n_classes + 1)
for name, region in (("a shared region", 0), ("the other", 2)):
    risk = stats.average_risk(
        light.region_margins(region), light.test_codes_, cost, sizes
    )
    plt.plot(sizes, risk, "o-", ms=3, label=name)
plt.gca().set(
    xlabel="set size (number of classes)", ylabel="average cost of a response"
)
plt.legend(frameon=False)
plt.show()

# %%
# Receptive fields
# ----------------
# Gabor filters of several sizes and orientations, figure 1.2: a feature of the encoding
# model of section 1.2 is the energy of an image under a pair of them, of which one is
# shown.
pyramid = GaborPyramid(frequencies=(1, 2, 4), n_orientations=4)
pyramid.fit(rng.random((2, 64, 64)))
figure, axes = plt.subplots(3, 4, figsize=(6.4, 5), layout="constrained")
off_center = np.abs(pyramid.feature_positions_ - 31.5).sum(axis=1)
for row, frequency in zip(axes, pyramid.frequencies_, strict=True):
    for ax, orientation in zip(row, (0, 45, 90, 135), strict=True):
        wanted = pyramid.feature_frequencies_ == frequency
        wanted &= pyramid.feature_orientations_ == orientation
        nearest = np.argmin(np.where(wanted, off_center, np.inf))
        (field,) = pyramid.filters(nearest).real
        ax.imshow(field, cmap="RdBu_r", vmin=-abs(field).max(), vmax=abs(field).max())
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(f"{frequency:g} cycles per image")
plt.show()
