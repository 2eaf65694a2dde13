"""What a lower confidence bound needs to know about an experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._bound_methods import BOUND_METHODS, CLASS_BOUND_METHODS
from neuroextrap.stats._classical import fano_information
from neuroextrap.stats._extremal import min_information
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    FloatArray,
    check_accuracy,
    check_choice,
    check_curves,
    check_integer,
    check_level,
    check_set_sizes,
    real_array,
)


@dataclass(frozen=True, eq=False)
class TestDesign:
    """Describe the test set and the confidence behind lower bounds.

    One value holds everything but the accuracies, so that several bounds of one
    experiment are computed from one description. Its methods never warn; the functions
    :func:`average_bayes_accuracy_lower_bound`, :func:`bayes_accuracy_lower_bound` and
    :func:`information_lower_bound` do the same in one call.

    Parameters
    ----------
    n_classes : int
        Number of classes K in the data.
    n_repeats : float or array-like of shape (n_classes,) or (n_folds, n_classes)
        Test points per class r. Unequal repeats enter as the mean of 1/r_i. A single
        number may be the effective one of dependent test points, even below 1. Under
        cross-validation whose every fold tests every class, give the test points per
        fold and class: s = sum_f p_f sqrt(mean_i 1/r_if).
    fold_weights : array-like of shape (n_folds,) or None, default=None
        Weights p_f of the folds, summing to one. If None, they are proportional to the
        test sizes of the folds.
    confidence_level : float, default=0.95
        Confidence level 1 - alpha, of each bound or of all bounds counted below.
    n_models : int, default=1
        Number of models compared on the same test points. The largest of their bounds
        then holds too.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.
    n_set_sizes : int, default=1
        Number of set sizes, declared in advance, whose bounds hold simultaneously.

    Attributes
    ----------
    noise : float
        Test noise s**2, the mean of 1/r_i where there are no folds.
    smallest : float
        Smallest number of repeats of a class (in a fold).

    Raises
    ------
    TypeError, ValueError
        If a count is not an integer, or too small, shapes disagree, a fold lacks a
        class, or a weight or the confidence level is out of range.

    References
    ----------
    Zheng 2017, thesis, section 2.5, for one fold and equal repeats.

    Examples
    --------
    >>> design = TestDesign(100, 1)
    >>> design.average_bayes_accuracy_bound([0.95, 0.8], [20, 100]).round(2)
    array([0.78, 0.63])
    >>> TestDesign(96, 1).best_bound(), TestDesign(3, 1).is_vacuous
    (0.823..., True)
    """

    __test__: ClassVar[bool] = False  # the name is not that of a pytest class

    n_classes: int
    n_repeats: ArrayLike
    fold_weights: ArrayLike | None = field(default=None, kw_only=True)
    confidence_level: float = field(default=0.95, kw_only=True)
    n_models: int = field(default=1, kw_only=True)
    n_regions: int = field(default=1, kw_only=True)
    n_set_sizes: int = field(default=1, kw_only=True)
    noise: float = field(init=False)
    smallest: float = field(init=False)

    def __post_init__(self) -> None:
        """Check all fields and work out the noise."""
        check_integer(self.n_classes, "n_classes", minimum=2)
        check_level(self.confidence_level, "confidence_level")
        for name in ("n_models", "n_regions", "n_set_sizes"):
            check_integer(getattr(self, name), name, minimum=1)
        noise, smallest = _test_noise(self.n_repeats, self.n_classes, self.fold_weights)
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "smallest", smallest)

    @property
    def alpha(self) -> float:
        """Error level, 1 - confidence_level."""
        return 1 - self.confidence_level

    @property
    def n_bounds(self) -> int:
        """Number of bounds that hold simultaneously."""
        return self.n_models * self.n_regions * self.n_set_sizes

    @property
    def log_term(self) -> float:
        """Logarithm of n_bounds / alpha, which exponential inequalities use."""
        return math.log(self.n_bounds / self.alpha)

    def bayes_accuracy_bound(
        self, accuracy: ArrayLike, *, method: str = "hoeffding"
    ) -> FloatArray:
        r"""Bound the Bayes accuracy among the given K classes from below.

        Parameters
        ----------
        accuracy : array-like of shape (...)
            Class-averaged accuracy among all K classes; NaN gives NaN.
        method : {"hoeffding", "clopper_pearson", "kl"}, default="hoeffding"
            Inequality behind the bound. "hoeffding" is :math:`A_K - \sqrt{s^2
            \log(n_{bounds} / \alpha) / (2 K)}`, s**2 being 1/r for r test repeats per
            class, and covers folds. The others need a single split into training and
            test set: "clopper_pearson" is the tightest, for equally many test points
            per class and no ties; "kl" solves :math:`n\, \mathrm{KL}(A_K, L) =
            \log(n_{bounds} / \alpha)` for n test points, allows ties and unequal
            repeats, and is never wider than "hoeffding" where repeats are equal.

        Returns
        -------
        bound : ndarray of shape (...)
            Never below 1/K.
        """
        values = check_accuracy(accuracy)
        check_choice(method, "method", CLASS_BOUND_METHODS)
        bound = CLASS_BOUND_METHODS[method](values, self)
        return np.asarray(np.maximum(bound, 1 / self.n_classes))

    def class_information_bound(self, bayes_bound: ArrayLike) -> FloatArray:
        """Bound the information about the given K classes from below, in bits.

        This is :func:`fano_information` at a lower bound on the Bayes accuracy: what
        the response tells about which of these classes was shown, all equally often.
        The classes need not be a sample of others.

        Parameters
        ----------
        bayes_bound : array-like of shape (...)
            Lower bound on the Bayes accuracy of the K classes, for example of
            :meth:`bayes_accuracy_bound` or of
            :func:`forward_bayes_accuracy_lower_bound`; NaN gives NaN.

        Returns
        -------
        bits : ndarray of shape (...)
            0 at chance, at most log2(K).
        """
        return fano_information(bayes_bound, self.n_classes)

    def average_bayes_accuracy_bound(
        self, accuracy: ArrayLike, set_sizes: ArrayLike, *, method: str = "subgaussian"
    ) -> FloatArray:
        """Bound the average Bayes accuracy of k random classes from below.

        Parameters
        ----------
        accuracy : array-like of shape (..., n_sizes), or (...) for one size
            Accuracy curve of the test points (per fold first, then averaged with
            `fold_weights`, under cross-validation); NaN gives NaN.
        set_sizes : int or array-like of int of shape (n_sizes,)
            Set sizes k of 2..n_classes; "chebyshev" needs k = n_classes.
        method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
            Inequality behind the bound. "hybrid" is tighter near 0 and 1 (and with one
            or two repeats; it takes the smallest number of repeats for all);
            "chebyshev" is the older bound, wider than both.

        Returns
        -------
        bound : ndarray of the shape of `accuracy`
            Never below 1/k.
        """
        sizes = check_set_sizes(set_sizes, n_classes=self.n_classes)
        curve = check_curves(accuracy, sizes)
        check_choice(method, "method", BOUND_METHODS)
        bound = BOUND_METHODS[method](curve, sizes, self)
        return np.asarray(np.maximum(bound, 1 / sizes))

    @described_by(average_bayes_accuracy_bound)
    def information_bound(
        self, accuracy: ArrayLike, set_sizes: ArrayLike, *, method: str = "subgaussian"
    ) -> FloatArray:
        """Bound the mutual information of stimulus and response from below, in bits.

        The stimulus is drawn at random from the population of the classes; see
        :meth:`class_information_bound` for the classes at hand.

        Returns
        -------
        bits : ndarray of the shape of `accuracy`
            Not negative; the bound of each set size by itself.
        """
        bound = self.average_bayes_accuracy_bound(accuracy, set_sizes, method=method)
        return min_information(bound, set_sizes)

    @described_by(average_bayes_accuracy_bound)
    def best_information_bound(
        self, accuracy: ArrayLike, set_sizes: ArrayLike, *, method: str = "subgaussian"
    ) -> FloatArray:
        """Return the best information bound over pre-declared set sizes, in bits.

        The design's own `n_set_sizes` is replaced by the number of sizes given.

        Parameters
        ----------
        accuracy : array-like of shape (..., n_sizes)
            Accuracy curve of the test points; NaN gives NaN.
        set_sizes : array-like of int of shape (n_sizes,)
            Set sizes k of 2..n_classes, chosen without looking at the curve.

        Returns
        -------
        bits : ndarray of shape (...)
            Not negative.
        """
        sizes = check_set_sizes(set_sizes, n_classes=self.n_classes)
        if sizes.ndim == 0:
            raise ValueError(
                f"set_sizes={sizes} must be a sequence of sizes; for one size use "
                "information_bound"
            )
        together = replace(self, n_set_sizes=len(sizes))
        bits = together.information_bound(accuracy, sizes, method=method)
        return np.asarray(bits.max(axis=-1))

    def best_bound(self, set_size: int | None = None) -> float:
        """Bound the average Bayes accuracy of a classifier that makes no error.

        Parameters
        ----------
        set_size : int or None, default=None
            Set size k of 2..n_classes. If None, all classes.

        Returns
        -------
        bound : float
            The most that the design could show; 1/k if the bound is vacuous.
        """
        size = self.n_classes if set_size is None else set_size
        return float(self.average_bayes_accuracy_bound(1.0, size))

    @property
    def is_vacuous(self) -> bool:
        """Whether even perfect accuracy among all classes bounds nothing above 1/K."""
        return self.best_bound() <= 1 / self.n_classes


def _test_noise(
    n_repeats: ArrayLike, n_classes: int, fold_weights: ArrayLike | None
) -> tuple[float, float]:
    """Return s**2 (mean of 1/r_i without folds) and the least repeats."""
    repeats = real_array(n_repeats, "n_repeats")
    if repeats.ndim > 2 or (repeats.ndim and repeats.shape[-1] != n_classes):
        raise ValueError(
            "n_repeats must be a number, one number per class, or one row per fold "
            f"(n_folds, {n_classes}); got shape {repeats.shape}"
        )
    # one number may be an effective one, of test points that depend on one another
    fewest = 1 if repeats.ndim else np.finfo(float).tiny
    if not np.isfinite(repeats).all() or (repeats < fewest).any():
        raise ValueError(
            "n_repeats must be at least 1 for every class (in every fold); got "
            f"{repeats.min()}: no bound holds when a fold lacks a class, use folds "
            "that test every class"
        )
    if repeats.ndim < 2:
        if fold_weights is not None:
            raise ValueError(
                "fold_weights needs n_repeats of shape (n_folds, n_classes); "
                f"got shape {repeats.shape}"
            )
        return float(np.mean(1 / repeats)), float(repeats.min())
    weights = _check_fold_weights(fold_weights, repeats)
    noise = weights @ np.sqrt((1 / repeats).mean(axis=-1))
    return float(noise**2), float(repeats.min())


def _check_fold_weights(
    fold_weights: ArrayLike | None, repeats: FloatArray
) -> FloatArray:
    """Return weights of the folds (n_folds,); proportional to their sizes if None."""
    if fold_weights is None:
        return repeats.sum(axis=-1) / repeats.sum()
    weights = real_array(fold_weights, "fold_weights")
    if weights.shape != repeats.shape[:1]:
        raise ValueError(
            f"fold_weights must have one weight per fold ({len(repeats)}); "
            f"got shape {weights.shape}"
        )
    if not (weights >= 0).all() or not math.isclose(weights.sum(), 1):
        raise ValueError(f"fold_weights must be >= 0 and sum to 1; got {weights}")
    return weights
