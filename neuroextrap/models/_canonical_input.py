"""Checks of what canonical variates are given."""

import numbers

import numpy as np

_BASES = ("svd", "generalizable")


def check_options(n_components, basis, significance_level):
    """Raise a ValueError for options outside their allowed values, before any work."""
    if basis not in _BASES:
        raise ValueError(f"basis={basis!r} is unknown; choose one of {_BASES}")
    if n_components is not None and (
        not isinstance(n_components, numbers.Integral) or n_components < 1
    ):
        raise ValueError(
            f"n_components={n_components!r} must be a positive integer or None; None "
            "chooses it from the data"
        )
    if significance_level is not None and not 0 < significance_level < 1:
        raise ValueError(
            f"significance_level={significance_level!r} must lie between 0 and 1, or "
            "be None; None keeps every canonical direction"
        )


def check_classes(classes, n_samples):
    """Ask for at least two sorted `classes`, and for more samples than classes."""
    if len(classes) < 2:
        raise ValueError(
            "Canonical variates need samples of at least 2 classes; y holds one "
            f"class, {classes.tolist()[0]!r}"
        )
    if n_samples <= len(classes):
        raise ValueError(
            f"{n_samples} samples of {len(classes)} classes leave no within-class "
            "degree of freedom; train on more samples per class"
        )


def class_priors(priors, codes):
    """Class probabilities (n_classes,): `priors` if given, else frequencies of `codes`.

    `codes` are class numbers of the samples; given priors must be positive and sum to
    one.
    """
    counts = np.bincount(codes)
    if priors is None:
        return counts / len(codes)
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != counts.shape:
        raise ValueError(
            f"priors of shape {priors.shape} given; {len(counts)} classes in y need "
            f"shape ({len(counts)},), in the order of the sorted labels"
        )
    if not (np.all(priors > 0) and abs(priors.sum() - 1) < 1e-8):
        raise ValueError(
            f"priors={priors.tolist()} must be positive and sum to 1; divide them by "
            "their sum"
        )
    return priors


def group_codes(groups, n_samples):
    """Group numbers from 0 of every sample, (n_samples,), or None without groups."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups of shape {groups.shape} given; {n_samples} samples need shape "
            f"({n_samples},)"
        )
    return np.unique(groups, return_inverse=True)[1]
