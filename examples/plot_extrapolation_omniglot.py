"""
Among how many characters could this classifier still choose?
=============================================================

A classifier is tested among 20, 50 or 100 handwritten characters; how accurate will
it be among all 242? Omniglot holds enough characters to look up the answer. Every
extrapolation method predicts it from a random subset of the characters, and the
truth is printed beside.

Three of the classifiers are *marginal*: what they think of a character depends on the
training drawings of that character alone, and the theory is exact. The fourth shares
one covariance between all characters, so it must be trained again for every subset,
and the theory is an approximation.

The drawings are read from the folder ``omniglot_small`` under the environment
variable ``NEUROEXTRAP_DATA``. Without it, simulated characters take their place.
"""

# %%
# Drawings: 28 x 28, blurred, 15 drawers to train on and 5 to test
# ----------------------------------------------------------------
import io
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from neuroextrap.stats import EXTRAPOLATION_METHODS, AccuracyExtrapolator

N_DRAWERS, N_TRAIN, SIZE = 20, 15, 28


def shrink(image):
    """Average 105 x 105 pixels down to 28 x 28, then blur."""
    edges = np.linspace(0, image.shape[0], SIZE + 1)
    pixels = np.arange(image.shape[0])
    low, high = edges[:-1, None], edges[1:, None]
    share = np.clip(np.minimum(pixels + 1, high) - np.maximum(pixels, low), 0, None)
    share /= share.sum(axis=1, keepdims=True)
    return gaussian_filter(share @ image @ share.T, 1.0)


def read_drawings(folder):
    """Read all drawings, shape (n_characters, 20, 784)."""
    from matplotlib.image import imread

    drawings = {}
    for path in sorted(Path(folder).glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                parts = Path(name).parts
                if name.endswith(".png") and "__MACOSX" not in parts:
                    character = parts[-3:-1]
                    drawer = int(name[-6:-4]) - 1
                    ink = 1.0 - imread(io.BytesIO(archive.read(name)))
                    pixels = shrink(ink.reshape(105, 105)).ravel()
                    drawings.setdefault(character, {})[drawer] = pixels
    return np.array(
        [[d[i] for i in range(N_DRAWERS)] for _, d in sorted(drawings.items())]
    )


def simulate_drawings(n_characters=242, n_features=60):
    """Draw characters and drawings from nested normal distributions."""
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(1 + np.arange(n_features))
    centres = 0.5 * rng.normal(size=(n_characters, 1, n_features))
    return scale * (centres + rng.normal(size=(n_characters, N_DRAWERS, n_features)))


folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "omniglot_small"
real = bool(os.environ.get("NEUROEXTRAP_DATA")) and folder.is_dir()
drawings = read_drawings(folder) if real else simulate_drawings()
print("real drawings" if real else "simulated drawings", drawings.shape)

# %%
# Four classifiers, each a matrix of margins
# ------------------------------------------
# Rows are test drawings (5 for each character), columns are characters.


def split(drawings):
    """Training drawings (K, 15, p) and test drawings (5 K, p)."""
    test = drawings[:, N_TRAIN:]
    return drawings[:, :N_TRAIN], test.reshape(-1, test.shape[-1])


def nearest_neighbour(drawings):
    """Minus the squared distance to a character's nearest training drawing."""
    train, test = split(drawings)
    squares = (test**2).sum(1)
    return np.stack(
        [
            -(squares[:, None] + (t**2).sum(1) - 2 * test @ t.T).min(axis=1)
            for t in train
        ],
        axis=1,
    )


def naive_bayes(drawings):
    """Independent normal pixels, a mean and a variance for each character."""
    train, test = split(drawings)
    floor = 0.05 * drawings[0].var()
    margins = []
    for t in train:
        variance = t.var(axis=0) + floor
        z2 = (test - t.mean(axis=0)) ** 2 / variance
        margins.append(-0.5 * (z2 + np.log(variance)).sum(axis=1))
    return np.stack(margins, axis=1)


def shrinkage_qda(drawings, shrinkage=0.5):
    """One covariance for each character, shrunk towards a multiple of identity."""
    train, test = split(drawings)
    margins = []
    for t in train:
        centred = t - t.mean(axis=0)
        _, s, axes = np.linalg.svd(centred / np.sqrt(len(t) - 1), full_matrices=False)
        ridge = shrinkage * (s**2).sum() / t.shape[1]
        variance = (1 - shrinkage) * s**2 + ridge
        gap = test - t.mean(axis=0)
        along = gap @ axes.T
        rest = (gap**2).sum(axis=1) - (along**2).sum(axis=1)
        log_det = np.log(variance).sum() + (t.shape[1] - len(s)) * np.log(ridge)
        margins.append(
            -0.5 * ((along**2 / variance).sum(axis=1) + rest / ridge + log_det)
        )
    return np.stack(margins, axis=1)


def shared_lda(drawings, shrinkage=0.3):
    """One covariance for all characters: not a marginal classifier."""
    train, test = split(drawings)
    means = train.mean(axis=1)
    residuals = (train - means[:, None]).reshape(-1, train.shape[-1])
    covariance = residuals.T @ residuals / (len(residuals) - len(means))
    ridge = shrinkage * np.trace(covariance) / len(covariance)
    covariance = (1 - shrinkage) * covariance + ridge * np.eye(len(covariance))
    directions = np.linalg.solve(covariance, means.T)
    return test @ directions - 0.5 * (means.T * directions).sum(axis=0)


CLASSIFIERS = {
    "1-nearest neighbour": nearest_neighbour,
    "naive Bayes": naive_bayes,
    "shrinkage QDA": shrinkage_qda,
    "LDA (not marginal)": shared_lda,
}

# %%
# Predict 242 from 20, 50 and 100 characters, each from five random subsets
# -------------------------------------------------------------------------
n_all = len(drawings)
sizes_from, n_draws = (20, 50, 100), 5
rng = np.random.default_rng(1)
subsets = {
    k: [np.sort(rng.permutation(n_all)[:k]) for _ in range(n_draws)] for k in sizes_from
}


def accuracy(margins, y):
    """Share of test drawings whose own character scores highest."""
    return np.mean(margins.argmax(axis=1) == y)


def predict_all(margins, y):
    """Every method's prediction of the accuracy among all characters."""
    found = {}
    for method in sorted(EXTRAPOLATION_METHODS):
        with warnings.catch_warnings():
            # several methods warn, rightly, that 242 is past what they identify
            warnings.simplefilter("ignore", UserWarning)
            found[method] = float(
                AccuracyExtrapolator(method).fit(margins, y).predict(n_all)
            )
    return found


results, truths = {}, {}
for label, classify in CLASSIFIERS.items():
    everything = classify(drawings)
    truths[label] = accuracy(everything, np.repeat(np.arange(n_all), 5))
    for k in sizes_from:
        y = np.repeat(np.arange(k), N_DRAWERS - N_TRAIN)
        found = [predict_all(classify(drawings[s]), y) for s in subsets[k]]
        results[label, k] = {m: np.array([f[m] for f in found]) for m in found[0]}

# %%
# Truth beside every method: mean prediction, and root mean squared error
# -----------------------------------------------------------------------
for label in CLASSIFIERS:
    print(f"\n{label}: truth among {n_all} = {truths[label]:.3f}")
    print(f"  {'from':17s}" + "".join(f"{k:>16d}" for k in sizes_from))
    for method in sorted(EXTRAPOLATION_METHODS):
        cells = ""
        for k in sizes_from:
            p = results[label, k][method]
            rmse = np.sqrt(np.mean((p - truths[label]) ** 2))
            cells += f"   {p.mean():.3f} ({rmse:.3f})"
        print(f"  {method:17s}{cells}")

# %%
# The error of each method over all classifiers
# ---------------------------------------------
import matplotlib.pyplot as plt

methods = sorted(EXTRAPOLATION_METHODS)
errors = np.array(
    [
        [
            np.sqrt(np.mean([(results[c, k][m] - truths[c]) ** 2 for c in CLASSIFIERS]))
            for k in sizes_from
        ]
        for m in methods
    ]
)
order = np.argsort(errors.mean(axis=1))
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for j, k in enumerate(sizes_from):
    axis.plot(errors[order, j], np.arange(len(methods)), "o", label=f"from {k}")
axis.set_yticks(np.arange(len(methods)), [methods[i] for i in order])
axis.set_xlabel(f"root mean squared error of the accuracy among {n_all}")
axis.legend(frameon=False)
print("\nRMSE over classifiers, best first")
for i in order:
    print(f"  {methods[i]:17s}", errors[i].round(3))
plt.show()
