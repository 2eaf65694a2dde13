"""
Predicting new samples, and what a decoder reads
================================================

A searchlight was run on six runs; then a seventh is recorded. What was shown in it,
according to the best sphere? And which voxels does its decoder go by?
"""

# %%
# Seven runs of a small brain
# ---------------------------
# Four classes, in a random order in each run. A ball of voxels in one half tells them
# apart; a fluctuation that both halves share is noise.
import matplotlib.pyplot as plt
import nibabel
import numpy as np

rng = np.random.default_rng(0)
names = np.array(["face", "house", "cat", "shoe"])
shape, affine = (14, 12, 3), np.diag([3.0, 3, 3, 1])
y = names[rng.permuted(np.tile(np.arange(4), (7, 4)), axis=1).ravel()]
runs = np.repeat(np.arange(7), 16)
place = np.moveaxis(np.indices(shape), 0, -1)
ball = (np.linalg.norm(place - [4, 6, 1], axis=-1) < 2.5).astype(float)
shared = np.exp(-(((place[..., 0] - 6) / 3) ** 2))
signal = {name: 0.5 * ball * rng.normal(size=shape) for name in names}
data = np.stack([signal[name] for name in y], axis=-1)
data += shared[..., None] * rng.normal(size=len(y)) + rng.normal(size=data.shape)
img = nibabel.Nifti1Image(data.astype("float32"), affine)
mask = nibabel.Nifti1Image(np.ones(shape, "int8"), affine)

# %%
# Analyze six runs, predict the seventh
# -------------------------------------
from nilearn.image import index_img

from neuroextrap.decoding import IdentificationSearchLight

known, new = runs < 6, runs == 6
light = IdentificationSearchLight(mask, radius=7.0, estimator="lda", bounds=None)
fitted = light.fit(index_img(img, known), y[known], groups=runs[known])
best = int(np.nanargmax(fitted.region_scores_["accuracy"]))
predicted = fitted.predict(best, index_img(img, new))
print("shown    ", *y[new][:8])
print("predicted", *predicted[:8])
score = fitted.score(index_img(img, new), y[new], region=best)
accuracy = fitted.region_scores_["accuracy"][best]
print(f"cross-validated, the best of all spheres: {accuracy:.2f}")
print(f"in the new run: {score:.2f} (guessing: .25)")

# %%
# Patterns
# --------
# Images of the whole mask, NaN outside the sphere. Weights also cancel the shared
# fluctuation; activation patterns show how voxels change with the class.
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
shown = {
    "face minus mean, put in": signal["face"] - np.mean(list(signal.values()), axis=0),
    "activation pattern": fitted.patterns(best)["face"].get_fdata(),
    "weights": fitted.patterns(best, of="weights")["face"].get_fdata(),
}
for ax, (title, values) in zip(axes, shown.items(), strict=True):
    limit = np.nanmax(np.abs(values))
    ax.imshow(values[:, :, 1].T, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# scikit-learn's tools
# --------------------
# Arrays are one region, which needs no name.
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score

X = data[ball > 0].T
how = {"groups": runs, "cv": LeaveOneGroupOut(), "params": {"groups": runs}}
one = IdentificationSearchLight(estimator="lda", bounds=None)
print(cross_val_score(one, X, y, **how).round(2))
