"""Lower confidence bounds on Bayes accuracy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._bound_methods import bound_method
from neuroextrap.stats._repeats import check_design
from neuroextrap.stats._validation import (
    FloatArray,
    check_probabilities,
    check_set_sizes,
)


def average_bayes_accuracy_lower_bound(  # noqa: PLR0913
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
    r"""Bound the average Bayes accuracy of k random classes from below.

    The average Bayes accuracy is the expectation, over the draw of k classes, of
    the best possible accuracy among them. For each set size fixed in advance,

    .. math:: A_k - \sqrt{(1 + s^2) \log(n_{bounds} / \alpha) / (2 K)}

    is a lower bound with the stated confidence ("subgaussian"), s**2 being 1/r
    for r test repeats per class. It holds for any score-based classifier, if
    test points are independent of the training data and of each other given the
    classes, the classes are an independent sample of their population, and the
    regularization was fixed without the test points. Leave-one-out, and folds
    that lack a class, are outside of it: a rule that predicts the class rarest in
    training would score 1.

    Parameters
    ----------
    accuracy : array of shape (..., n_sizes), or (...) for one size
        Accuracy curve of the test points (per fold first, then averaged with
        `fold_weights`, under cross-validation); NaN gives NaN.
    n_classes : int
        Number of classes K in the data.
    n_repeats : float, array (n_classes,) or array (n_folds, n_classes)
        Test points per class r. Unequal repeats enter as the mean of 1/r_i.
        Under cross-validation whose every fold tests every class, the test
        points per fold and class: s = sum_f p_f sqrt(mean_i 1/r_if).
    set_sizes : int or array of int, shape (n_sizes,)
        Sizes k of 2..n_classes; "chebyshev" needs k = n_classes.
    confidence_level : float, default=0.95
        Confidence 1 - alpha, of each bound or of all bounds counted below.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        "hybrid" is tighter near 0 and 1 (and with one or two repeats; it takes
        the smallest number of repeats for all); "chebyshev" is the older bound,
        wider than both.
    n_models : int, default=1
        Number of models compared on the same test points.
    n_regions : int, default=1
        Number of regions whose bounds shall hold together.
    n_set_sizes : int, default=1
        Number of set sizes, declared in advance, whose bounds shall hold together.
    fold_weights : array of shape (n_folds,), default=None
        Weights p_f of the folds, summing to one; proportional to the folds' test
        sizes by default.

    Returns
    -------
    bound : array of the shape of `accuracy`
        Never below 1/k, which the average Bayes accuracy always reaches.

    Raises
    ------
    TypeError, ValueError
        If a count is not an integer, or too small.
    ValueError
        If accuracies lie outside [0, 1], the shapes disagree, a fold lacks a
        class, or the method is unknown or does not cover a set size.

    Warns
    -----
    UserWarning
        If not even perfect accuracy would give a bound above chance.

    References
    ----------
    "chebyshev": Zheng 2017, thesis, theorem 2.5.2. "subgaussian": ours, by
    McDiarmid's inequality for the classes and independent test noise, the two
    moment generating functions multiplied. "hybrid": ours, the number of
    identified classes being self-bounding (Boucheron, Lugosi & Massart 2009, "On
    concentration of self-bounding functions").

    Examples
    --------
    >>> average_bayes_accuracy_lower_bound(
    ...     [0.95, 0.8], n_classes=100, n_repeats=1, set_sizes=[20, 100]
    ... )
    array([0.776..., 0.626...])
    """
    curve = check_probabilities(accuracy, "accuracy")
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    if sizes.ndim and (not curve.ndim or curve.shape[-1] != sizes.size):
        raise ValueError(
            f"accuracy must have one value per set size ({sizes.size}) on its last "
            f"axis; got shape {curve.shape}"
        )
    bound = bound_method(method)
    design = check_design(
        n_classes,
        n_repeats,
        fold_weights,
        confidence_level,
        n_models=n_models,
        n_regions=n_regions,
        n_set_sizes=n_set_sizes,
    )
    return np.asarray(np.maximum(bound(curve, sizes, design), 1 / sizes))


def bayes_accuracy_lower_bound(
    accuracy: ArrayLike,
    *,
    n_classes: int,
    n_repeats: ArrayLike,
    confidence_level: float = 0.95,
    n_models: int = 1,
    n_regions: int = 1,
    fold_weights: ArrayLike | None = None,
) -> FloatArray:
    r"""Bound the Bayes accuracy among the given K classes from below.

    :math:`A_K - \sqrt{s^2 \log(n_{bounds} / \alpha) / (2 K)}`, s**2 being 1/r for
    r test repeats per class. The classes are taken as they are, no sample of
    others: the bound for designs with few or fixed categories. Test points must
    be independent of the training data and of each other, given the classes.

    Parameters
    ----------
    accuracy : array of shape (...)
        Class-averaged accuracy among all K classes; NaN gives NaN.
    n_classes : int
        Number of classes K.
    n_repeats : float, array (n_classes,) or array (n_folds, n_classes)
        Test points per class, see :func:`average_bayes_accuracy_lower_bound`.
    confidence_level : float, default=0.95
        Confidence of each bound or of all bounds counted below.
    n_models : int, default=1
        Number of models compared on the same test points.
    n_regions : int, default=1
        Number of regions whose bounds shall hold together.
    fold_weights : array of shape (n_folds,), default=None
        Weights of the folds.

    Returns
    -------
    bound : array of the shape of `accuracy`
        Never below 1/K.

    Raises
    ------
    TypeError, ValueError
        If a count is not an integer, or too small.
    ValueError
        If accuracies lie outside [0, 1] or a fold lacks a class.

    References
    ----------
    Hoeffding 1963, "Probability inequalities for sums of bounded random
    variables", theorem 1 (one-sided, hence log(1/alpha)).

    Examples
    --------
    >>> bayes_accuracy_lower_bound(0.75, n_classes=8, n_repeats=12)
    array(0.625...)
    """
    values = check_probabilities(accuracy, "accuracy")
    design = check_design(
        n_classes,
        n_repeats,
        fold_weights,
        confidence_level,
        n_models=n_models,
        n_regions=n_regions,
    )
    log_term = math.log(design.n_bounds / design.alpha)
    margin = math.sqrt(design.noise * log_term / (2 * design.n_classes))
    return np.asarray(np.maximum(values - margin, 1 / design.n_classes))
