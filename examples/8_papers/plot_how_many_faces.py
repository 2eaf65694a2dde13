"""
Zheng, Achanta and Benjamini (2016): from 20 classes to 400
===========================================================

"How many faces can be recognized?" asks what a test among 20 classes says about 400.
Its table has Telugu characters and three classifiers; here are 400 classes drawn from a
Gaussian population, and three classifiers: one shares nothing between classes, one a
covariance, and one is not generative at all. Published numbers are printed beside ours,
of other data.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from neuroextrap.stats import AccuracyExtrapolator

N_CLASSES, FEW, N_TRAIN, N_TEST, N_FEATURES = 400, 20, 25, 25, 16
METHODS = {"EXP": "exponential", "CON": "monotone_mple", "HD": "gaussian"}
published = {  # accuracy among 20 and 400, then EXP, CON, HD for 400
    "logistic": (0.922, 0.711, 0.844, 0.721, 0.686),
    "SVM": (0.860, 0.545, 0.737, 0.575, 0.546),
    "nearest neighbors": (0.880, 0.591, 0.903, 0.608, 0.839),
}

rng = np.random.default_rng(0)
centers = rng.normal(size=(N_CLASSES, N_FEATURES))


def draw(n_each):
    """Draw responses to every class, and the classes."""
    y = np.repeat(np.arange(N_CLASSES), n_each)
    return centers[y] + 0.9 * rng.normal(size=(len(y), N_FEATURES)), y


(X, y), (X_test, y_test) = draw(N_TRAIN), draw(N_TEST)

# %%
# Scores of three classifiers
# ---------------------------
# Each is trained on the classes at hand only: 20 of them, or all 400. Scores of
# neighbors are proportions of 15, which tie often; ties are guesses.


def centroid_scores(X, y, X_test):
    """Return negative squared distances from the means of the classes."""
    means = NearestCentroid().fit(X, y).centroids_
    return 2 * X_test @ means.T - (means**2).sum(axis=1)


def lda_scores(X, y, X_test):
    """Return logarithms of the posteriors of Gaussian classes with one covariance."""
    return LinearDiscriminantAnalysis().fit(X, y).predict_log_proba(X_test)


def neighbor_scores(X, y, X_test):
    """Return proportions of the classes among the nearest samples."""
    return KNeighborsClassifier(15).fit(X, y).predict_proba(X_test)


classifiers = {
    "nearest centroid": centroid_scores,
    "lda": lda_scores,
    "nearest neighbors": neighbor_scores,
}


def scored(scores, classes):
    """Train on some classes; return scores and codes of their test samples."""
    train, test = np.isin(y, classes), np.isin(y_test, classes)
    codes = np.searchsorted(classes, y_test[test])
    return scores(X[train], y[train], X_test[test]), codes


def accuracy(margins, codes):
    """Return how often the true class scores highest, ties shared."""
    best = margins == margins.max(axis=1, keepdims=True)
    return np.mean(best[np.arange(len(codes)), codes] / best.sum(axis=1))


# %%
# Twenty classes, twenty times, and the truth
# -------------------------------------------
subsets = [np.sort(rng.choice(N_CLASSES, FEW, replace=False)) for _ in range(20)]
rows = {}
for name, scores in classifiers.items():
    found = []
    for classes in subsets:
        margins, codes = scored(scores, classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of ties, and of 20 for 400
            predicted = [
                AccuracyExtrapolator(method).fit(margins, codes).predict(N_CLASSES)
                for method in METHODS.values()
            ]
        found.append([accuracy(margins, codes), *predicted])
    truth = accuracy(*scored(scores, np.arange(N_CLASSES)))
    rows[name] = truth, np.array(found)

print(f"{'':28}among 20  among 400   EXP    CON    HD")
for name, (truth, found) in rows.items():
    few, *predicted = found.mean(axis=0)
    print(
        f"{name:28}  {few:.3f}     {truth:.3f}   "
        + "  ".join(f"{p:.3f}" for p in predicted)
    )
for name, (few, truth, *predicted) in published.items():
    print(
        f"{name + ', published':28}  {few:.3f}     {truth:.3f}   "
        + "  ".join(f"{p:.3f}" for p in predicted)
    )

# %%
# On average all three come within .05 of the truth for nearest centroid and lda, whose
# scores of a class depend on that class (of lda nearly so), and promise too much for
# neighbors, whose proportions among 400 classes are of other neighbors than among 20:
# so do the exponential and the high-dimensional one in the published table. One set of
# 20 classes says much less: the boxes are wide, those of the high-dimensional method,
# which has one parameter, the narrowest.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, (name, (truth, found)) in zip(axes, rows.items(), strict=True):
    ax.boxplot(found[:, 1:], tick_labels=list(METHODS))
    ax.axhline(truth, color="0.3", ls="--", lw=1)
    ax.set_title(name, fontsize="medium")
axes[0].set_ylabel("predicted accuracy among 400 (dashed: true)")
plt.show()
