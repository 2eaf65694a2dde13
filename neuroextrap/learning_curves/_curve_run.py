"""What all splits of a learning curve share, checked once before any work."""

from __future__ import annotations

import dataclasses
import logging
import numbers
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from neuroextrap.design._copies import check_copies_apart
from neuroextrap.design._folds import counts_of, means_of
from neuroextrap.images._caching import check_memory
from neuroextrap.learning_curves._sensitivity import check_pattern
from neuroextrap.models._canonical_space import class_priors
from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_flags,
    check_integer,
    check_numbers,
    random_generator,
)

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Scans:
    """Scans x features, and the way back to images."""

    X: np.ndarray  # (n_scans, n_kept)
    masker: object  # None for arrays
    kept: np.ndarray  # features that are finite in every image, (n_features,)

    def expand(self, maps):
        """Put maps (..., n_kept) back over all features, NaN where one was left out."""
        if self.kept.all():
            return maps
        full = np.full((*np.shape(maps)[:-1], len(self.kept)), np.nan)
        full[..., self.kept] = maps
        return full


def read_scans(X, mask, *, memory=None):
    """Read scans as float64 from an array, or from images through a mask."""
    check_memory(memory)
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    if isinstance(first, list | tuple | np.ndarray) or hasattr(X, "to_numpy"):
        if mask is not None:
            raise ValueError(
                "mask is for images, but X is an array, whose columns are the features"
                "; use mask=None"
            )
        X = check_numbers(X, "X").astype(np.float64, copy=False)
        n_features = X.shape[1] if X.ndim == 2 else 0
        return Scans(X, None, np.ones(n_features, dtype=bool))
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._loading import load_samples
    from neuroextrap.images._opening import list_images

    list_images(X, "X")
    masker = resolve_masker(mask, X, memory=memory)
    X = load_samples(X, masker).astype(np.float64)
    kept = np.isfinite(X).all(axis=0)
    if not kept.any():
        raise ValueError(
            "no voxel of the mask is finite in all images; check that they overlap"
        )
    if not kept.all():
        _LOG.warning(
            "%d of %d voxels of the mask are NaN in some image and left out",
            np.sum(~kept),
            len(kept),
        )
    return Scans(X[:, kept], masker, kept)


def center_groups(X: ArrayLike, groups: ArrayLike) -> np.ndarray:
    """Return scans without the mean scan of their subject, which uses no other one."""
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"group {names.tolist()[np.argmin(counts)]!r} has one scan: removing its "
            "mean leaves nothing; use center=None"
        )
    return X - means_of(X, codes)[codes]


def scale_scans(X):
    """Divide every scan (n_samples, n_features) by its mean, which must be positive."""
    X = np.asarray(X, dtype=np.float64)
    means, sizes = X.mean(axis=1), np.abs(X).mean(axis=1)
    unusable = means <= 1e-2 * sizes
    if unusable.any():
        raise ValueError(
            f"scan {int(np.argmax(unusable))} has mean {means[unusable][0]:.3g}: scans "
            "can be divided by their mean only when it is clearly positive; use "
            "scale=None for contrasts or centered data"
        )
    return X / means[:, None]


def balanced_scans(y, groups, *, per_label=2):
    """Return the rows of the first `per_label` scans of each label and subject."""
    y, groups = np.asarray(y), np.asarray(groups)
    counts = pd.crosstab(groups, y).stack()
    few = counts[counts < per_label]
    if len(few):
        group, label = few.index.tolist()[0]
        raise ValueError(
            f"group {group!r} has {few.iloc[0]} scans labeled {label!r}; "
            f"per_label={per_label} must be at most that; use a smaller one"
        )
    place = pd.Series(y).groupby([groups, y]).cumcount()
    return np.flatnonzero(place < per_label)


@dataclasses.dataclass(frozen=True)
class CurveRun:
    """Scans in the coordinates that classifiers see, and how they are split."""

    X: np.ndarray  # coordinates, or plain features, (n_samples, n_coordinates)
    back: np.ndarray | None  # orthonormal rows of these, (n_coordinates, n_features)
    codes: np.ndarray  # number of each sample's class
    groups: np.ndarray  # and of its group
    classes: np.ndarray
    group_names: np.ndarray
    priors: np.ndarray  # known, (n_classes,)
    classifier: object  # cloned for every fit
    centered: bool  # whether each group's mean was subtracted
    seed: int  # root of all streams of random numbers

    @property
    def is_canonical(self):
        """Whether the classifier is canonical variates."""
        return isinstance(self.classifier, CanonicalVariates)

    @cached_property
    def takes_groups(self):
        """Whether the classifier is fitted with the groups of its samples."""
        return has_fit_parameter(self.classifier, "groups")

    @cached_property
    def holds(self):
        """Whether each group has samples of each class, (n_groups, n_classes)."""
        return counts_of(self.groups, self.codes) > 0


@dataclasses.dataclass(frozen=True)
class CurveOptions:
    """How scans are read and split, and what is trained with them.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), or None, default=None
        Known p(g), in the order of the sorted labels. If None, those of
        ``CanonicalVariates(priors=...)``, else the label frequencies of the whole
        design. Canonical variates without priors of their own train with these.
    prior_weight : float, "cross-validated" or None, default="cross-validated"
        Weight e of the prior in the regularized predictions
        ``(1 - e) p(g|x) + e p(g)``: a number, or chosen inside each training set by
        leaving out one of its subjects at a time, which takes as many more fits as
        there are training subjects. If None, predictions are not regularized, as in
        Kjems et al. 2002.
    pattern : str or None, default="sensitivity"
        Map whose reproducibility is measured by a second model trained on as many
        other subjects, possible up to half of the subjects: "sensitivity",
        "log_sensitivity" or "canonical". If None, no map is made.
    train_sizes : array-like of int or None, default=None
        Numbers of training subjects. If None, all sizes up to all but one at which
        the training scans leave something to estimate the noise from: for canonical
        variates, at least twice as many residual degrees of freedom (scans minus
        labels, minus subject means that were subtracted) as components.
    n_splits : int, default=150
        Random splits at every size. A split whose training subjects lack a class
        is drawn again.
    classifier : classifier or None, default=None
        Any scikit-learn classifier with predict_proba. If None,
        ``CanonicalVariates()`` with as many components as the smallest subject has
        scans, the same at all training sizes.
    center : {"group", None}, default="group"
        "group" subtracts every subject's mean scan, test subjects' too.
    scale : {"mean", None}, default=None
        "mean" first divides each scan by its mean over the voxels.
    mask : path-like, image, masker or None, default=None
        Where the voxels of images are. If None, a mask is computed from the images.
    rotation_invariant : bool or None, default=None
        Whether training on rotated features gives the same predictions (ridge-like
        penalties, Gaussian kernels, nearest neighbors, but no lasso and no per-feature
        scaling); training then happens in as many coordinates as there are scans. If
        None, True for canonical variates and False for all else.
    random_state : None, int or Generator, default=0
        Seed of the splits. Results depend on it, but not on ``n_jobs``. Splits of one
        seed are the same for all label schemes of a balanced design, so that curves can
        be compared split by split.
    memory : path-like, joblib.Memory or None, default=None
        Cache for scans read from image files; a changed file is read again. Does not
        affect results. If None, nothing is cached.
    n_jobs : int, default=1
        Number of processes.
    """

    priors: ArrayLike | None = None
    prior_weight: Any = "cross-validated"
    pattern: str | None = "sensitivity"
    train_sizes: ArrayLike | None = None
    n_splits: int = 150
    classifier: Any = None
    center: str | None = "group"
    scale: str | None = None
    mask: Any = None
    rotation_invariant: bool | None = None
    random_state: Any = 0
    memory: Any = None
    n_jobs: int = 1


def prepare_run(X, y, groups, options):
    """Check scans, labels and `CurveOptions`, and choose the coordinates of the run."""
    X, y, groups = _check_samples(X, y, groups)
    classes, codes = np.unique(y, return_inverse=True)
    group_names, group_codes = np.unique(groups, return_inverse=True)
    check_copies_apart(X, group_codes, "groups")
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least 2 labels, got one, {classes.tolist()[0]!r}; add "
            "scans of another"
        )
    classifier = _check_classifier(options.classifier)
    check_pattern(options.pattern, classifier)
    check_integer(options.n_splits, "n_splits", minimum=1)
    _check_preparation(options.center, options.scale, codes, group_codes)
    X = scale_scans(X) if options.scale == "mean" else X
    X = center_groups(X, groups) if options.center == "group" else X
    rotation_invariant = options.rotation_invariant
    if rotation_invariant is None:
        rotation_invariant = isinstance(classifier, CanonicalVariates)
    check_flags(rotation_invariant=rotation_invariant)
    classifier, priors = _resolve(classifier, options.priors, codes, group_codes)
    X, back = _coordinates(X) if rotation_invariant else (X, None)
    return CurveRun(
        X=X,
        back=back,
        codes=codes,
        groups=group_codes,
        classes=classes,
        group_names=group_names,
        priors=priors,
        classifier=classifier,
        centered=options.center == "group",
        seed=int(random_generator(options.random_state).integers(2**63)),
    )


def _check_samples(X, y, groups):
    """Return finite float64 samples, with one label and one group per row."""
    if X.ndim != 2:
        raise ValueError(
            f"X must have shape (n_samples, n_features), got {X.shape}; give one row "
            "per scan"
        )
    y, groups = (
        checked_entries(values, name, X[:, 0], "a column of X")
        for name, values in (("y", y), ("groups", groups))
    )
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"sample {int(np.argmin(finite))} of X holds NaN or infinity; mask such "
            "features out"
        )
    return X, y, groups


def _check_classifier(classifier):
    """Return canonical variates by default; anything else must give probabilities."""
    if classifier is None:
        return CanonicalVariates()
    if not (
        hasattr(classifier, "predict_proba") or hasattr(classifier, "predict_log_proba")
    ):
        raise TypeError(
            f"classifier={brief(classifier)} has no predict_proba, which information "
            "in bits needs; use CanonicalVariates, LogisticRegression or the like"
        )
    return classifier


def _check_preparation(center, scale, codes, groups):
    """Raise for unknown options, and for centering that would remove all labels."""
    check_choice(center, "center", ("group", None))
    check_choice(scale, "scale", ("mean", None))
    if center is None:
        return
    spans = [np.unique(codes[groups == g]).size for g in np.unique(groups)]
    if max(spans) < 2:
        raise ValueError(
            "every group has scans of one label only: removing group means "
            "(center='group') would remove all that tells the labels apart; use "
            "center=None"
        )


def _resolve(classifier, priors, codes, groups):
    """Fix what of the classifier must not change with training size, and priors."""
    if not isinstance(classifier, CanonicalVariates):
        return classifier, class_priors(priors, codes)
    priors = class_priors(classifier.priors if priors is None else priors, codes)
    n_components = classifier.n_components
    if n_components is None:
        n_components = int(np.bincount(groups).min())
    elif not isinstance(n_components, numbers.Integral) or n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} must be a positive integer or None; use "
            "None for scans per subject"
        )
    fixed = {"n_components": n_components, "priors": priors}
    return clone(classifier).set_params(**fixed), priors


def _coordinates(X):
    """Decompose all samples once (X = coordinates @ rotation), without centering."""
    from scipy.linalg import qr

    if X.shape[1] > 2 * X.shape[0]:  # several times faster by QR first
        orthonormal, triangle = qr(X.T, mode="economic", check_finite=False)
        left, values, rotation = np.linalg.svd(triangle.T)
        right = rotation @ orthonormal.T
    else:
        left, values, right = np.linalg.svd(X, full_matrices=False)
    tolerance = 10 * max(X.shape) * np.finfo(np.float64).eps
    kept = values > tolerance * values[0]
    if not kept.any():
        raise ValueError(
            "X is zero everywhere once group means are removed; check the scans"
        )
    return left[:, kept] * values[kept], np.ascontiguousarray(right[kept])
