"""
Among how many characters could this classifier still choose?
=============================================================

A classifier is tested among 20, 50 or 100 handwritten characters; how accurate will
it be among all 242? Omniglot holds enough characters to look up the answer. Every
extrapolation method predicts it from a random subset of the characters, and the
truth is printed beside.

Three of the classifiers are *marginal*: their score of a character depends only on the
training drawings of that character (apart from a number added to all variances of naive
Bayes), and the theory is exact. The fourth shares one covariance between all
characters, so it must be trained again for every subset, and the theory is an
approximation.

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

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

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
    centers = 0.5 * rng.normal(size=(n_characters, 1, n_features))
    return scale * (centers + rng.normal(size=(n_characters, N_DRAWERS, n_features)))


folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "omniglot_small"
real = bool(os.environ.get("NEUROEXTRAP_DATA")) and folder.is_dir()
drawings = read_drawings(folder) if real else simulate_drawings()
print("real drawings" if real else "simulated drawings", drawings.shape)


# %%
# Four classifiers: rows are test drawings (5 for each character), columns characters
# -----------------------------------------------------------------------------------
def nearest_neighbor(train, _, test):
    """Minus the distance to the nearest training drawing of each character."""
    distances = cdist(test, train).reshape(len(test), -1, N_TRAIN)
    return -distances.min(axis=2)


def nearest_mean(train, _, test):
    """Minus the distance to the mean training drawing of each character."""
    return -cdist(test, train.reshape(-1, N_TRAIN, train.shape[1]).mean(axis=1))


def naive_bayes(train, y, test):
    """Log densities of independent pixels."""
    return GaussianNB(var_smoothing=0.2).fit(train, y).predict_joint_log_proba(test)


def discriminant(train, y, test):
    """Linear discriminants with one shrunk covariance."""
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.4)
    return model.fit(train, y).decision_function(test)


CLASSIFIERS = {
    "1-nearest neighbor": nearest_neighbor,
    "nearest mean": nearest_mean,
    "naive Bayes": naive_bayes,
    "LDA (not marginal)": discriminant,
}


def score(classifier, drawings):
    """Margins of the test drawings, and their characters."""
    n_characters, _, n_pixels = drawings.shape
    train, test = drawings[:, :N_TRAIN], drawings[:, N_TRAIN:]
    labels = np.arange(n_characters)
    margins = classifier(
        train.reshape(-1, n_pixels),
        labels.repeat(N_TRAIN),
        test.reshape(-1, n_pixels),
    )
    return margins, labels.repeat(N_DRAWERS - N_TRAIN)


# %%
# Predict 242 from 20, 50 and 100 characters, each from five random subsets
# -------------------------------------------------------------------------
n_all, sizes_from, methods = len(drawings), (20, 50, 100), sorted(EXTRAPOLATION_METHODS)
rng = np.random.default_rng(1)
subsets = [[rng.permutation(n_all)[:k] for _ in range(5)] for k in sizes_from]
# several methods warn, rightly, that 242 is past what they identify
warnings.simplefilter("ignore", UserWarning)
errors = np.empty((len(CLASSIFIERS), len(methods), len(sizes_from), 5))
for c, (label, classifier) in enumerate(CLASSIFIERS.items()):
    margins, y = score(classifier, drawings)
    truth = np.mean(margins.argmax(axis=1) == y)
    for s, draws in enumerate(subsets):
        samples = [score(classifier, drawings[draw]) for draw in draws]
        for m, method in enumerate(methods):
            fits = [AccuracyExtrapolator(method).fit(*sample) for sample in samples]
            errors[c, m, s] = [fit.predict(n_all) - truth for fit in fits]
    print(f"{label}: truth among {n_all} {truth:.3f}; default from {sizes_from}:")
    print("  ", (truth + errors[c, methods.index("auto")].mean(axis=-1)).round(3))

# %%
# The error of each method over all classifiers
# ---------------------------------------------
rmse = np.sqrt((errors**2).mean(axis=(0, 3)))
order = np.argsort(rmse.mean(axis=1))
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(rmse[order], np.arange(len(methods)), "o")
axis.set_yticks(np.arange(len(methods)), [methods[i] for i in order])
axis.set_xlabel(f"root mean squared error of the accuracy among {n_all}")
axis.legend([f"from {k}" for k in sizes_from], frameon=False)
print("root mean squared error over classifiers, best first")
for i in order:
    print(f"  {methods[i]:17s}", rmse[i].round(3))
plt.show()
