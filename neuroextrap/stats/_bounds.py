"""Lower confidence bounds on Bayes accuracy and information, each in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._bound_methods import (
    BOUND_METHODS,
    clopper_pearson_lower,
    count_correct,
    kl_of_design,
)
from neuroextrap.stats._shared_options import as_options, described_by, takes_options
from neuroextrap.stats._test_design import TestDesign
from neuroextrap.stats._validation import (
    FloatArray,
    check_accuracy,
    check_choice,
    check_set_sizes,
    warn,
)


@described_by(TestDesign.average_bayes_accuracy_bound)
@takes_options(TestDesign)
def average_bayes_accuracy_lower_bound(
    accuracy: ArrayLike,
    *,
    set_sizes: ArrayLike,
    method: str = "subgaussian",
    **design: Any,
) -> FloatArray:
    r"""Bound the average Bayes accuracy of k random classes from below.

    The average Bayes accuracy is the expectation, over the draw of k classes, of
    the best possible accuracy among them. It is about the population from which the
    classes were drawn at random, and is false for hand-picked classes (see
    :func:`bayes_accuracy_lower_bound` for those). For each set size fixed in advance,

    .. math:: A_k - \sqrt{(1 + s^2) \log(n_{bounds} / \alpha) / (2 K)}

    is a lower bound with the stated confidence ("subgaussian"), s**2 being 1/r for r
    test repeats per class. It holds for any score-based classifier, if test points are
    independent of the training data and of each other given the classes, the classes
    are an independent sample of their population, and the regularization was fixed
    without the test points. Leave-one-out, and folds that lack a class, are not
    covered: a rule that predicts the class rarest in training would score 1.

    Returns
    -------
    bound : ndarray of the shape of `accuracy`
        Never below 1/k, which the average Bayes accuracy always reaches.

    Raises
    ------
    TypeError, ValueError
        If the design is refused by :class:`TestDesign`, accuracies lie outside [0, 1],
        or the method is unknown or does not cover a set size.

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
    described = as_options(TestDesign, average_bayes_accuracy_lower_bound, design)
    _warn_if_vacuous(described, set_sizes, method)
    return described.average_bayes_accuracy_bound(accuracy, set_sizes, method=method)


@described_by(average_bayes_accuracy_lower_bound)
@takes_options(TestDesign)
def information_lower_bound(
    accuracy: ArrayLike,
    *,
    set_sizes: ArrayLike,
    method: str = "subgaussian",
    **design: Any,
) -> FloatArray:
    """Bound the mutual information of stimulus and response from below, in bits.

    This is :func:`min_information` of :func:`average_bayes_accuracy_lower_bound`, at
    each set size. It is about stimuli drawn at random from their population, may
    exceed log2 K, and is false for hand-picked stimuli:
    :meth:`TestDesign.class_information_bound` is about the classes at hand. One size
    must be fixed in advance (it does best where the accuracy is about 0.75 to 0.85);
    :meth:`TestDesign.best_information_bound` gives the best of several.

    Returns
    -------
    bits : ndarray of the shape of `accuracy`
        Not negative; 0 where the accuracy bound is at chance.

    Raises
    ------
    TypeError, ValueError
        If an argument is not one that :func:`average_bayes_accuracy_lower_bound`
        accepts.

    Warns
    -----
    UserWarning
        If not even perfect accuracy would give a bound above chance.

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
    described = as_options(TestDesign, information_lower_bound, design)
    _warn_if_vacuous(described, set_sizes, method)
    return described.information_bound(accuracy, set_sizes, method=method)


@described_by(TestDesign.bayes_accuracy_bound)
@takes_options(TestDesign, without="n_set_sizes")
def bayes_accuracy_lower_bound(
    accuracy: ArrayLike, *, method: str = "hoeffding", **design: Any
) -> FloatArray:
    """Bound the Bayes accuracy among the given K classes from below.

    The classes are taken as they are, not as a sample of others: it is the bound for
    designs with few or fixed categories. Test points must be independent of the
    training data and of each other, given the classes. Under cross-validation the
    folds share their training data and count as one;
    :func:`forward_bayes_accuracy_lower_bound` counts every run.

    Returns
    -------
    bound : ndarray of the shape of `accuracy`
        Never below 1/K.

    Raises
    ------
    TypeError, ValueError
        If the design is refused by :class:`TestDesign`, accuracies lie outside [0, 1],
        or the method is unknown or does not cover the folds, the repeats or the ties.

    References
    ----------
    "hoeffding" and "kl": Hoeffding 1963, "Probability inequalities for sums of bounded
    random variables", theorem 1 (one-sided, hence log(1/alpha)). "clopper_pearson":
    Clopper & Pearson 1934; valid although classes differ in accuracy by Hoeffding 1956,
    "On the distribution of the number of successes in independent trials".

    Examples
    --------
    Eight classes twelve times each, 91 of 96 test points right:

    >>> design = {"n_classes": 8, "n_repeats": 12}
    >>> bayes_accuracy_lower_bound(91 / 96, **design)
    array(0.823...)
    >>> bayes_accuracy_lower_bound(91 / 96, **design, method="clopper_pearson")
    array(0.894...)
    """
    described = as_options(TestDesign, bayes_accuracy_lower_bound, design)
    return described.bayes_accuracy_bound(accuracy, method=method)


@described_by(TestDesign.bayes_accuracy_bound)
@takes_options(TestDesign, without="n_models n_set_sizes fold_weights")
def accuracy_upper_bound(
    accuracy: ArrayLike, *, method: str = "clopper_pearson", **design: Any
) -> FloatArray:
    """Bound the accuracy of this classifier among the given K classes from above.

    It says how little a classifier can be shown to tell: "at most .2 among 8 classes".
    Another classifier may do better; no data bound the Bayes accuracy or information
    from above without assumptions.

    Parameters
    ----------
    n_repeats : int or array-like of int of shape (n_classes,)
        Test points per class in a single split into training and test set.
    method : {"clopper_pearson", "kl"}, default="clopper_pearson"
        How the noise of the test points is bounded, see
        :func:`bayes_accuracy_lower_bound`; "kl" allows ties and unequal repeats.

    Returns
    -------
    bound : ndarray of shape (...)
        At most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not one that :func:`bayes_accuracy_lower_bound` accepts.

    References
    ----------
    Clopper & Pearson 1934, "The use of confidence or fiducial limits illustrated in
    the case of the binomial".

    Examples
    --------
    >>> accuracy_upper_bound(12 / 96, n_classes=8, n_repeats=12)
    array(0.194...)
    """
    described = as_options(TestDesign, accuracy_upper_bound, design)
    values = check_accuracy(accuracy)
    if check_choice(method, "method", ("clopper_pearson", "kl")) == "kl":
        return np.asarray(1 - kl_of_design(1 - values, described))
    n_correct, n_test = count_correct(values, described)
    alpha = described.alpha / described.n_bounds
    lowest_error = clopper_pearson_lower(n_test - n_correct, n_test, alpha)
    # less than one error may have been expected: then only the union bound holds
    single = n_test - n_correct == 1
    lowest_error[single] = np.minimum(lowest_error[single], alpha / n_test)
    return np.asarray(1 - lowest_error)


def _warn_if_vacuous(design: TestDesign, set_sizes: ArrayLike, method: str) -> None:
    """Warn at which set sizes not even perfect accuracy would be above chance."""
    sizes = np.atleast_1d(check_set_sizes(set_sizes, n_classes=design.n_classes))
    check_choice(method, "method", BOUND_METHODS)
    margin = 1 - BOUND_METHODS[method](np.ones(len(sizes)), sizes, design)
    vacuous = margin >= 1 - 1 / sizes
    if vacuous.any():
        warn(
            f"the bound's margin {margin[0]:.2f} leaves nothing above chance at set "
            f"sizes {sizes[vacuous].tolist()}: more classes are needed, or the bound "
            "for the given classes (bayes_accuracy_lower_bound)"
        )
