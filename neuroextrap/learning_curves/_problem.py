"""Everything a split needs to know, checked once and shared by all workers."""

import dataclasses
import numbers

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from neuroextrap.learning_curves._information import check_priors
from neuroextrap.learning_curves._preparation import center_groups, scale_scans
from neuroextrap.models._canonical_variates import CanonicalVariates

PATTERNS = ("sensitivity", "log_sensitivity", "canonical", None)


@dataclasses.dataclass(frozen=True)
class Problem:
    """Samples in the coordinates that classifiers see, and how to score them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_coordinates)
        Samples; coordinates on ``back`` when the classifier allows a rotation.
    back : ndarray of shape (n_coordinates, n_features), or None
        Orthonormal rows that lead from coordinates back to features.
    codes, groups : ndarray of shape (n_samples,)
        Class and group numbers.
    classes, group_names : ndarray
        What the numbers stand for.
    priors : ndarray of shape (n_classes,)
        Known class probabilities.
    classifier : classifier
        Unfitted; cloned for every fit.
    takes_groups : bool
        Whether the classifier's fit wants the groups.
    seed : int
        Root of the streams of random numbers.
    """

    X: np.ndarray
    back: np.ndarray | None
    codes: np.ndarray
    groups: np.ndarray
    classes: np.ndarray
    group_names: np.ndarray
    priors: np.ndarray
    classifier: object
    takes_groups: bool
    seed: int

    @property
    def holds(self):
        """Whether each group has samples of each class, (n_groups, n_classes)."""
        table = np.zeros((len(self.group_names), len(self.classes)), dtype=bool)
        table[self.groups, self.codes] = True
        return table


def build_problem(  # noqa: PLR0913
    X, y, groups, *, classifier, center, scale, priors, rotation_invariant, random_state
):
    """Check the input and choose the coordinates.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y, groups : array of shape (n_samples,)
        Labels and subjects.
    classifier : classifier or None
        None: canonical variates.
    center : {"group", None}
        Whether subject means are removed.
    scale : {"mean", None}
        Whether each scan is divided by its mean.
    priors : array or None
        Known class probabilities.
    rotation_invariant : bool or None
        Whether the classifier may be trained on rotated features; None: canonical
        variates only.
    random_state : None, int or Generator
        Source of the root seed.

    Returns
    -------
    Problem
        Ready for splits.

    Raises
    ------
    ValueError, TypeError
        Anything wrong with the input, before any work.
    """
    X, y, groups = _check_samples(X, y, groups)
    classes, codes = np.unique(y, return_inverse=True)
    group_names, group_codes = np.unique(groups, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one label, {classes.tolist()[0]!r}; at least 2 are needed."
        )
    classifier = _check_classifier(classifier)
    _check_preparation(center, scale, codes, group_codes)
    X = scale_scans(X) if scale == "mean" else X
    X = center_groups(X, group_codes) if center == "group" else X
    priors = _known_priors(priors, classifier, codes, len(classes))
    if rotation_invariant is None:
        rotation_invariant = isinstance(classifier, CanonicalVariates)
    classifier = _resolve(classifier, priors, group_codes)
    X, back = _coordinates(X) if rotation_invariant else (X, None)
    return Problem(
        X=X,
        back=back,
        codes=codes,
        groups=group_codes,
        classes=classes,
        group_names=group_names,
        priors=priors,
        classifier=classifier,
        takes_groups=has_fit_parameter(classifier, "groups"),
        seed=int(np.random.default_rng(random_state).integers(2**63)),
    )


def _check_samples(X, y, groups):
    """Return samples as a finite float64 matrix with one label and one group a row."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; (n_samples, n_features) needed.")
    for name, values in (("y", y), ("groups", groups)):
        if np.shape(values) != (len(X),):
            raise ValueError(
                f"{name} of shape {np.shape(values)} given; {len(X)} samples need "
                f"shape ({len(X)},)."
            )
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"sample {int(np.argmin(finite))} of X holds NaN or infinity; mask such "
            "features out."
        )
    return X, np.asarray(y), np.asarray(groups)


def _check_classifier(classifier):
    """Canonical variates by default; anything else must give probabilities."""
    if classifier is None:
        return CanonicalVariates()
    if not (
        hasattr(classifier, "predict_proba") or hasattr(classifier, "predict_log_proba")
    ):
        raise TypeError(
            f"{type(classifier).__name__} has no predict_proba; information in bits "
            "needs a probabilistic classifier (CanonicalVariates, LogisticRegression, "
            "...)."
        )
    return classifier


def _check_preparation(center, scale, codes, groups):
    """Refuse unknown options, and centering that would remove all labels."""
    if center not in ("group", None):
        raise ValueError(f"center={center!r} is unknown; allowed: 'group', None.")
    if scale not in ("mean", None):
        raise ValueError(f"scale={scale!r} is unknown; allowed: 'mean', None.")
    if center is None:
        return
    spans = [np.unique(codes[groups == g]).size for g in np.unique(groups)]
    if max(spans) < 2:
        raise ValueError(
            "every group has scans of one label only: removing group means "
            "(center='group') would remove all that tells the labels apart; use "
            "center=None."
        )


def _known_priors(priors, classifier, codes, n_classes):
    """p(g): given, else the classifier's, else the frequencies in the design."""
    if priors is None and isinstance(classifier, CanonicalVariates):
        priors = classifier.priors
    if priors is None:
        return np.bincount(codes) / len(codes)
    return check_priors(priors, n_classes)


def _resolve(classifier, priors, groups):
    """Fix what must not change with the training size."""
    from sklearn.base import clone

    if not isinstance(classifier, CanonicalVariates):
        return classifier
    n_components = classifier.n_components
    if n_components is None:
        n_components = int(np.bincount(groups).min())
    elif not isinstance(n_components, numbers.Integral) or n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} must be a positive integer or None."
        )
    return clone(classifier).set_params(n_components=n_components, priors=priors)


def _coordinates(X):
    """One singular value decomposition of all samples, their mean not removed.

    With more features than samples it goes through a QR decomposition, several times
    faster.
    """
    from scipy.linalg import qr

    if X.shape[1] > 2 * X.shape[0]:
        orthonormal, triangle = qr(X.T, mode="economic", check_finite=False)
        left, values, rotation = np.linalg.svd(triangle.T)
        right = rotation @ orthonormal.T
    else:
        left, values, right = np.linalg.svd(X, full_matrices=False)
    tolerance = 10 * max(X.shape) * np.finfo(np.float64).eps
    kept = values > tolerance * values[0]
    if not kept.any():
        raise ValueError("X is zero everywhere once group means are removed.")
    return left[:, kept] * values[kept], np.ascontiguousarray(right[kept])
