"""
Decoding numbers and vectors, and comparing distances with models
=================================================================

Sixty images are shown in six runs. Each has a size, and a vector of features as neural
networks give them. Which parts of a small brain follow the size, which the features?
And where do kinds of images lie as far apart as a model expects?
"""

# %%
# A brain of three parts
# ----------------------
# The first part codes the size of the image, the second its features, the third none.
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

rng = np.random.default_rng(0)
n_runs, n_voxels = 6, 60
runs = np.repeat(np.arange(n_runs), 10)
size = rng.uniform(1, 9, size=60)
features = rng.normal(size=(60, 12))
X = rng.normal(size=(60, 3 * n_voxels))
X[:, :n_voxels] += 0.2 * np.outer(size, rng.normal(size=n_voxels))
X[:, n_voxels:-n_voxels] += 0.25 * features @ rng.normal(size=(12, n_voxels))
parts = scipy.sparse.kron(np.eye(3), np.ones((1, n_voxels))).tocsr()

# %%
# Decode a number
# ---------------
# Ridge regression, one run left out at a time. Correlations are tested against those of
# sizes that are exchanged within runs, the largest over regions.
from neuroextrap.decoding import TargetSearchLight

light = TargetSearchLight(regions=parts, n_permutations=199)
of_size = light.fit(X, size, groups=runs)
print("size: correlation", of_size.region_scores_["correlation"].round(2))
print("      p (fwe)    ", of_size.region_scores_["p_value_fwe"])

# %%
# Decode vectors, and identify the image among all
# ------------------------------------------------
# Chance is 1 in 60. Implied information hardly depends on how many images there are.
of_features = light.fit(X, features, groups=runs)
for name in ("correlation", "accuracy", "implied_information", "p_value_fwe"):
    print(f"features: {name:20s}", of_features.region_scores_[name].round(3))

# %%
from neuroextrap.plotting import plot_accuracy_curve

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
true = of_size.candidates_[of_size.test_codes_, 0]
left.plot(true, of_size.decoded_targets(0)[:, 0], "o", ms=3, color="#0072B2")
left.set(xlabel="size", ylabel="decoded size, first part")
colors = ("#0072B2", "#D55E00", "0.6")
for part, color in enumerate(colors):
    sizes, accuracy = of_features.accuracy_curve(part)
    label = f"part {part + 1}"
    plot_accuracy_curve(
        sizes, accuracy, label=label, color=color, chance=part == 2, ax=right
    )
right.set_xlabel("images to choose from")

# %%
# Distances between classes, and a model of them
# ----------------------------------------------
# Six kinds of images in six runs; in the second part kinds lie on a line.
from neuroextrap.decoding import DissimilaritySearchLight

kinds = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
shown = rng.permuted(np.tile(np.arange(6), (n_runs, 2)), axis=1).ravel()
line = np.array([0.0, 0.2, 2.0, 2.4, 0.9, 3.0])
X = rng.normal(size=(len(shown), 3 * n_voxels))
X[:, n_voxels:-n_voxels] += 0.5 * np.outer(line[shown], rng.normal(size=n_voxels))
models = {"line": np.abs(np.subtract.outer(line, line))}
light = DissimilaritySearchLight(regions=parts, models=models, n_permutations=719)
fitted = light.fit(X, kinds[shown], groups=np.repeat(np.arange(n_runs), 12))
for name in ("mean_dissimilarity", "line_correlation", "line_p_value_fwe"):
    print(f"{name:20s}", fitted.region_scores_[name].round(3))

# %%
# The distances in the second part are those of the line; squared, so that large ones
# stand out.
table = fitted.dissimilarity_table(1)
figure, ax = plt.subplots(figsize=(3.6, 3), layout="constrained")
image = ax.imshow(table, cmap="viridis")
ax.set_xticks(range(6), table.columns)
ax.set_yticks(range(6), table.index)
figure.colorbar(image, label="squared distance per voxel")
