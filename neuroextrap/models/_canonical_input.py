"""What canonical variates may be given."""

import numbers

import numpy as np

_BASES = ("svd", "generalizable")


def check_options(n_components, basis, significance_level):
    """Refuse options outside their allowed values before any work.

    Parameters
    ----------
    n_components : object
        A positive integer or None.
    basis : object
        One of two names.
    significance_level : object
        Between 0 and 1, or None.

    Raises
    ------
    ValueError
        Anything else.
    """
    if basis not in _BASES:
        raise ValueError(
            f"basis={basis!r} is unknown; allowed: 'svd', 'generalizable'."
        )
    if n_components is not None and (
        not isinstance(n_components, numbers.Integral) or n_components < 1
    ):
        raise ValueError(
            f"n_components={n_components!r} must be a positive integer or None."
        )
    if significance_level is not None and not 0 < significance_level < 1:
        raise ValueError(
            f"significance_level={significance_level!r} must lie between 0 and 1, or "
            "be None."
        )


def check_classes(classes, n_samples):
    """Ask for two classes at least, and more samples than classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels found.
    n_samples : int
        Samples they were found in.

    Raises
    ------
    ValueError
        Too few of either.
    """
    if len(classes) < 2:
        raise ValueError(
            f"Canonical variates need samples of at least 2 classes; y holds one "
            f"class, {classes.tolist()[0]!r}."
        )
    if n_samples <= len(classes):
        raise ValueError(
            f"{n_samples} samples of {len(classes)} classes leave no within-class "
            "degree of freedom; train on more samples a class."
        )


def known_priors(priors, codes):
    """Class probabilities, given or counted.

    Parameters
    ----------
    priors : array of shape (n_classes,) or None
        As given.
    codes : ndarray of shape (n_samples,)
        Class numbers.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive, sum one.

    Raises
    ------
    ValueError
        Priors of another shape, or that are no probabilities.
    """
    counts = np.bincount(codes)
    if priors is None:
        return counts / len(codes)
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != counts.shape:
        raise ValueError(
            f"priors of shape {priors.shape} given; {len(counts)} classes in y need "
            f"shape ({len(counts)},), in the order of the sorted labels."
        )
    if not (np.all(priors > 0) and abs(priors.sum() - 1) < 1e-8):
        raise ValueError(
            f"priors must be positive and sum to 1; got {priors.tolist()}."
        )
    return priors


def group_codes(groups, n_samples):
    """Group numbers of every sample, or None.

    Parameters
    ----------
    groups : array of shape (n_samples,) or None
        As given.
    n_samples : int
        Samples there are.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        Numbers from 0.

    Raises
    ------
    ValueError
        Another shape.
    """
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups of shape {groups.shape} given; {n_samples} samples need shape "
            f"({n_samples},)."
        )
    return np.unique(groups, return_inverse=True)[1]
