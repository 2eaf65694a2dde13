"""
Features of your own
====================

Any table of numbers, one row for each stimulus, can be the features of an encoding
model: a layer of a network, word vectors, ratings. Here the features are learned from
the training photographs themselves, without labels and without a pretrained network:
patches are clustered, and every photograph is described by how much each quarter of it
resembles each cluster. Rows have the names of the stimuli, which stay with the results.

The brain is simulated: energies of Gabor filters drive it, so that they should win.
"""

# %%
# Extract features, once
# ----------------------
# The recipe is the same for a network: a function from images to a table, whose index
# names the stimuli. Only training photographs are learned from.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import MiniBatchKMeans
from sklearn.feature_extraction.image import extract_patches_2d

from neuroextrap.datasets import simulate_visual_cortex
from neuroextrap.encoding import (
    EncodingIdentification,
    GaborPyramid,
    RidgeEncoder,
    compare_encoding_models_pairwise,
)

cortex = simulate_visual_cortex(n_train=300, n_test=60, resolution=10)
train, test = cortex.is_train, ~cortex.is_train
responses = cortex.masker.transform(cortex.imgs)[:, cortex.responsive]
names = np.array([f"photo{i:03d}" for i in range(len(cortex.stimuli))])
SIDE = 6  # of a patch, in pixels


def patches(image):
    """All patches of an image, with their mean subtracted and of length one."""
    rows = extract_patches_2d(image, (SIDE, SIDE)).reshape(-1, SIDE**2)
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-3)


def extract_features(images, clusters):
    """Resemblance to every cluster, averaged over each quarter of the images."""
    n_places = images.shape[1] - SIDE + 1
    half = n_places // 2
    table = []
    for image in images:
        likeness = np.abs(patches(image) @ clusters.T).reshape(n_places, n_places, -1)
        quarters = [
            likeness[rows, columns].mean(axis=(0, 1))
            for rows in (slice(half), slice(half, None))
            for columns in (slice(half), slice(half, None))
        ]
        table.append(np.concatenate(quarters))
    return np.array(table)


rng = np.random.default_rng(0)
learned = np.concatenate(
    [rng.permutation(patches(image))[:50] for image in cortex.stimuli[train]]
)
clusters = MiniBatchKMeans(32, n_init=1, random_state=0).fit(learned).cluster_centers_
pyramid = GaborPyramid().fit(cortex.stimuli[train])
tables = {
    "patches": extract_features(cortex.stimuli, clusters),
    "gabor": pyramid.transform(cortex.stimuli),
}
tables["both"] = np.hstack([tables["patches"], tables["gabor"]])
tables = {name: pd.DataFrame(values, index=names) for name, values in tables.items()}

# %%
# Identify, and compare
# ---------------------
# The model of both gives each kind of feature a penalty of its own.
models = {}
for name, table in tables.items():
    bands = None
    if name == "both":
        bands = np.repeat(["patches", "gabor"], [128, tables["gabor"].shape[1]])
    encoder = RidgeEncoder(bands=bands, band_weights=10)
    model = EncodingIdentification(encoder=encoder).fit(table[train], responses[train])
    models[name] = model.identify(table[test], responses[test], stimuli=names[test])
    print(f"{name}: {model.region_scores_['accuracy'][0]:.2f} among {test.sum()}")
print("candidates:", ", ".join(model.classes_[:3]), "...")

for name, model in models.items():
    plt.plot(*model.accuracy_curve(0), label=name)
plt.xlabel("set size (number of photographs)")
plt.ylabel("identification accuracy")
plt.legend(title="features", frameon=False)
plt.show()

# %%
# Every pair, corrected over pairs.
found = compare_encoding_models_pairwise(models)
print(found.table_[["first", "second", "accuracy_difference", "p_value_fwe"]])

# %%
# How the weight is shared out among the bands, over voxels.
weights = models["both"].penalty_maps()["weight_of_gabor"]
print(f"median weight of the energies: {np.median(weights):.2f}")
