"""Sensitivities of classifiers without linear scores: Gaussian classes, any others."""

from typing import Any

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from neuroextrap.learning_curves._voxelwise_gaussian import VoxelwiseGaussian

_STEP = 1e-4  # standard deviations of a feature, on either side


def mean_squared_slopes(
    classifier: Any, X: np.ndarray, codes: np.ndarray, of: str
) -> np.ndarray:
    """Average over samples the squared derivative of the true label's posterior.

    `codes` (n_samples,) are places in ``classifier.classes_``; `of` is "posterior" or
    "log_posterior". Gaussian classes have derivatives in closed form; of other
    classifiers every feature is moved to both sides (2 p predictions of all samples).
    Returns shape (p,).
    """
    if not hasattr(classifier, "predict_proba"):
        raise TypeError(
            f"{type(classifier).__name__} has no predict_proba: sensitivity maps need "
            "posteriors; calibrate it (CalibratedClassifierCV), or use pattern=None "
            "for learning curves without maps"
        )
    density_slopes = _slopes_of_densities(classifier, X)
    if density_slopes is None:
        return _numerical(classifier, X, codes, of)
    posterior = np.asarray(classifier.predict_proba(X))
    rows = np.arange(len(codes))
    # d log p(g|x) = d log p(x|g) - sum over h of p(h|x) d log p(x|h)
    slopes = density_slopes[codes, rows] - np.einsum(
        "nk,knp->np", posterior, density_slopes
    )
    if of == "posterior":
        slopes *= posterior[rows, codes][:, np.newaxis]
    return np.mean(slopes**2, axis=0)


def _slopes_of_densities(classifier: Any, X: np.ndarray) -> np.ndarray | None:
    """Return derivatives of the log densities, (n_classes, n_samples, p), if known."""
    if isinstance(classifier, GaussianNB):
        means, variances = classifier.theta_, classifier.var_
    elif isinstance(classifier, VoxelwiseGaussian):
        means = classifier.means_
        variances = np.broadcast_to(classifier.variances_, means.shape)
        variances = np.where(variances > 0, variances, np.inf)
    elif isinstance(classifier, QuadraticDiscriminantAnalysis):
        return _of_covariances(classifier, X)
    else:
        return None
    return -(X - means[:, np.newaxis]) / variances[:, np.newaxis]


def _of_covariances(classifier: Any, X: np.ndarray) -> np.ndarray | None:
    """Return -S_g^{-1} (x - m_g) from the rotations and scalings of each class."""
    if not hasattr(classifier, "rotations_"):  # of its other solver
        return None
    parts = zip(
        classifier.means_, classifier.rotations_, classifier.scalings_, strict=True
    )
    return np.stack(
        [-((X - mean) @ axes / scales) @ axes.T for mean, axes, scales in parts]
    )


def _numerical(classifier: Any, X: np.ndarray, codes: np.ndarray, of: str) -> Any:
    """Return the same by central differences, one feature after the other."""
    steps = _STEP * np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    rows, moved = np.arange(len(codes)), X.copy()

    def truth(column, step):
        moved[:, column] = X[:, column] + step
        posterior = np.asarray(classifier.predict_proba(moved))[rows, codes]
        moved[:, column] = X[:, column]
        with np.errstate(divide="ignore"):
            return posterior if of == "posterior" else np.log(posterior)

    return np.array(
        [
            np.mean(((truth(i, step) - truth(i, -step)) / (2 * step)) ** 2)
            for i, step in enumerate(steps)
        ]
    )
