"""Lower confidence bounds on mutual information."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._bounds import average_bayes_accuracy_lower_bound
from neuroextrap.stats._extremal import min_information
from neuroextrap.stats._validation import FloatArray, check_set_sizes


def information_lower_bound(  # noqa: PLR0913
    accuracy: ArrayLike,
    *,
    n_classes: int,
    n_repeats: ArrayLike,
    set_sizes: ArrayLike,
    confidence_level: float = 0.95,
    method: str = "subgaussian",
    n_models: int = 1,
    n_regions: int = 1,
    n_set_sizes: int = 1,
    fold_weights: ArrayLike | None = None,
) -> FloatArray:
    """Bound the mutual information of stimulus and response from below, in bits.

    :func:`min_information` of :func:`average_bayes_accuracy_lower_bound`, at each
    set size. One size must be fixed in advance (it does best where the accuracy
    is about 0.75 to 0.85); for the best of several see
    :func:`best_information_lower_bound`.

    Parameters
    ----------
    accuracy : array of shape (..., n_sizes), or (...) for one size
        Accuracy curve of the test points; NaN gives NaN.
    n_classes : int
        Number of classes K in the data.
    n_repeats : float, array (n_classes,) or array (n_folds, n_classes)
        Test points per class, see :func:`average_bayes_accuracy_lower_bound`.
    set_sizes : int or array of int, shape (n_sizes,)
        Sizes k of 2..n_classes.
    confidence_level : float, default=0.95
        Confidence of each bound or of all bounds counted below.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        Which bound on the average Bayes accuracy.
    n_models : int, default=1
        Number of models compared on the same test points.
    n_regions : int, default=1
        Number of regions whose bounds shall hold together.
    n_set_sizes : int, default=1
        Number of set sizes whose bounds shall hold together.
    fold_weights : array of shape (n_folds,), default=None
        Weights of the folds.

    Returns
    -------
    bits : array of the shape of `accuracy`
        Not negative; 0 where the accuracy bound is at chance.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_bayes_accuracy_lower_bound`.

    References
    ----------
    Zheng 2017, thesis, theorem 4.3.1, applied to the bounds above.

    Examples
    --------
    >>> information_lower_bound(
    ...     [0.95, 0.8], n_classes=100, n_repeats=1, set_sizes=[20, 100]
    ... )
    array([4.41452417, 4.82335575])
    """
    bound = average_bayes_accuracy_lower_bound(
        accuracy,
        n_classes=n_classes,
        n_repeats=n_repeats,
        set_sizes=set_sizes,
        confidence_level=confidence_level,
        method=method,
        n_models=n_models,
        n_regions=n_regions,
        n_set_sizes=n_set_sizes,
        fold_weights=fold_weights,
    )
    return min_information(bound, set_sizes)


def best_information_lower_bound(  # noqa: PLR0913
    accuracy: ArrayLike,
    *,
    n_classes: int,
    n_repeats: ArrayLike,
    set_sizes: ArrayLike,
    confidence_level: float = 0.95,
    method: str = "subgaussian",
    n_models: int = 1,
    n_regions: int = 1,
    fold_weights: ArrayLike | None = None,
) -> FloatArray:
    """Return the best information bound over set sizes declared in advance.

    The maximum over the last axis of :func:`information_lower_bound`, corrected
    for having looked at all of `set_sizes` (``n_set_sizes=len(set_sizes)``).

    Parameters
    ----------
    accuracy : array of shape (..., n_sizes)
        Accuracy curve of the test points; NaN gives NaN.
    n_classes : int
        Number of classes K in the data.
    n_repeats : float, array (n_classes,) or array (n_folds, n_classes)
        Test points per class, see :func:`average_bayes_accuracy_lower_bound`.
    set_sizes : array of int, shape (n_sizes,)
        Sizes k of 2..n_classes, chosen without looking at the curve.
    confidence_level : float, default=0.95
        Confidence of the best bound.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        Which bound on the average Bayes accuracy.
    n_models : int, default=1
        Number of models compared on the same test points.
    n_regions : int, default=1
        Number of regions whose bounds shall hold together.
    fold_weights : array of shape (n_folds,), default=None
        Weights of the folds.

    Returns
    -------
    bits : array of shape (...)
        Not negative.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_bayes_accuracy_lower_bound`.
    ValueError
        If `set_sizes` is a single number.

    References
    ----------
    Zheng 2017, thesis, theorem 4.3.1; the union over set sizes is ours.

    Examples
    --------
    >>> best_information_lower_bound(
    ...     [0.95, 0.8], n_classes=100, n_repeats=1, set_sizes=[20, 100]
    ... )
    array(4.61922295)
    """
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    if sizes.ndim == 0:
        raise ValueError(
            "set_sizes must be a sequence of sizes; for one size use "
            "information_lower_bound"
        )
    bits = information_lower_bound(
        accuracy,
        n_classes=n_classes,
        n_repeats=n_repeats,
        set_sizes=sizes,
        confidence_level=confidence_level,
        method=method,
        n_models=n_models,
        n_regions=n_regions,
        n_set_sizes=len(sizes),
        fold_weights=fold_weights,
    )
    return np.asarray(bits.max(axis=-1))
