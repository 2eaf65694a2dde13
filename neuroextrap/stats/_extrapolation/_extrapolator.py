"""The one entrance: fit wins or margins, predict accuracy among more classes."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._accuracy import warn_if_reversed
from neuroextrap.stats._extrapolation._auto import Auto, Logistic, PitmanYor
from neuroextrap.stats._extrapolation._gaussian import Gaussian, GaussianMixture
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    LeftOut,
    WinSample,
    first_crossing,
)
from neuroextrap.stats._extrapolation._mixtures import Exponential, Spline
from neuroextrap.stats._extrapolation._mple import (
    MonotonePseudoLikelihood,
    PseudoLikelihood,
)
from neuroextrap.stats._extrapolation._point_methods import (
    BiasedKernelDensity,
    KernelDensity,
    Tail,
)
from neuroextrap.stats._extrapolation._prediction_intervals import PredictionIntervals
from neuroextrap.stats._extrapolation._regressions import Moment, RadialBasis
from neuroextrap.stats._jackknife import jackknife_error, lost_point_error
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    check_choice,
    check_integer,
    check_level,
    check_real_set_sizes,
    check_wins,
    real_array,
    warn,
)

# a new method needs a line here
_METHODS: tuple[type[ExtrapolationMethod], ...] = (
    Auto,
    Exponential,
    Gaussian,
    GaussianMixture,
    BiasedKernelDensity,
    KernelDensity,
    Logistic,
    Moment,
    MonotonePseudoLikelihood,
    PseudoLikelihood,
    PitmanYor,
    RadialBasis,
    Spline,
    Tail,
)
EXTRAPOLATION_METHODS = {method.name: method for method in _METHODS}


class AccuracyExtrapolator(PredictionIntervals):
    """Predict the average accuracy among more classes than the data hold.

    The win probability U of a test point, Pr(its class beats a random other class),
    carries the whole curve, A_k = E U^(k-1); the methods differ in what they take
    the distribution of U to be. All assume that the classes of the data are an
    exchangeable sample of those extrapolated to: fifty hand-picked easy stimuli say
    nothing about a thousand others.

    Parameters
    ----------
    method : str, default="auto"
        Name of the method, a key of `EXTRAPOLATION_METHODS`:
        NAMES
    **options
        Options of that method; ``help(EXTRAPOLATION_METHODS[method])`` lists them.

    Attributes
    ----------
    n_classes_ : int
        Number of classes K of the data.
    method_ : ExtrapolationMethod
        The fitted method.
    certificate_ : dict or None
        How far an iterative method is from its optimum: "converged"; "message", the
        same in words; and, where the problem is convex, "duality_gap", an upper bound
        on what more steps could gain. None for methods without iterations.

    Raises
    ------
    TypeError, ValueError
        If the method is not known, has no such option, or one is out of range.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", JMLR 19; Zheng, Achanta & Benjamini 2016, "How many faces
    can be recognized? Performance extrapolation for multi-class classification".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> centers = rng.normal(size=(100, 5))
    >>> responses = centers + 0.4 * rng.normal(size=(100, 5))
    >>> distances = np.linalg.norm(responses[:, None] - centers, axis=2)
    >>> model = AccuracyExtrapolator(method="gaussian_mixture")
    >>> model.fit(-distances, np.arange(100)).predict([100, 1000]).round(2)
    array([0.79, 0.5 ])
    """

    def __init__(self, method: str = "auto", **options: Any) -> None:
        check_choice(method, "method", EXTRAPOLATION_METHODS)
        parameters = list(inspect.signature(EXTRAPOLATION_METHODS[method]).parameters)
        unknown = sorted(set(options) - set(parameters))
        if unknown:
            raise TypeError(
                f"method={method!r} has no option {unknown[0]!r}; its options are: "
                f"{', '.join(parameters) or 'none'}"
            )
        self.method = method
        self.options = options
        EXTRAPOLATION_METHODS[method](**options)

    def __repr__(self) -> str:
        """Write the constructor call."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}(method={self.method!r}{options})"

    def fit(self, margins: ArrayLike, y_true: ArrayLike) -> AccuracyExtrapolator:
        """Fit to the scores of every test point for every class.

        Parameters
        ----------
        margins : array-like of shape (n_test, n_classes)
            Scores, larger for more likely classes.
        y_true : array-like of int of shape (n_test,)
            Column of each test point's true class.

        Returns
        -------
        self : AccuracyExtrapolator

        Raises
        ------
        ValueError
            If `margins` is not two-dimensional, has fewer than two classes, holds
            NaN or infinity, or the method needs more classes.
        """
        margins = real_array(margins, "margins")
        if margins.ndim != 2:
            raise ValueError(
                "margins must have shape (n_test, n_classes), got "
                f"{margins.ndim} dimension(s); fit one region at a time or use "
                "extrapolate_wins"
            )
        return self._fit(WinSample.from_margins(margins, y_true))

    def fit_wins(self, wins: ArrayLike, n_test: int) -> AccuracyExtrapolator:
        """Fit to only a win distribution.

        Parameters
        ----------
        wins : array-like of shape (n_classes,)
            Win distribution.
        n_test : int
            Number of test points behind it.

        Returns
        -------
        self : AccuracyExtrapolator

        Raises
        ------
        TypeError, ValueError
            If the method needs the scores, `wins` is not one distribution of at least
            two classes, or `n_test` is not an integer of at least one.
        """
        if EXTRAPOLATION_METHODS[self.method].needs_scores:
            raise ValueError(
                f"method={self.method!r} needs the scores, got wins only; use "
                "fit(margins, y_true) or method='gaussian_mixture'"
            )
        wins = check_wins(wins)
        if wins.ndim != 1 or not np.isfinite(wins).all():
            raise ValueError(
                "wins must be one win distribution of shape (n_classes,) without NaN, "
                f"got shape {wins.shape}; use extrapolate_wins for many regions"
            )
        n_test = check_integer(n_test, "n_test", minimum=1)
        return self._fit(WinSample(wins, n_test))

    def _fit(self, sample: WinSample) -> AccuracyExtrapolator:
        """Resolve what depends on the data, fit, and warn if that did not converge."""
        warn_if_reversed(sample.wins, sample.n_test)
        method = EXTRAPOLATION_METHODS[self.method](**self.options)
        if method.continuous_scores and not sample.has_continuous_scores():
            warn(
                f"method={self.method!r} takes scores to be continuous, but more than "
                "one test point in twenty ties with a distractor; use method='auto'"
            )
        self.sample_ = sample
        self.n_classes_ = sample.n_classes
        self.method_ = method.fit(sample)
        self.certificate_ = self.method_.certificate_
        if self.certificate_ is not None and not self.certificate_["converged"]:
            warn(
                f"method={self.method!r} did not converge: "
                f"{self.certificate_['message']}"
            )
        return self

    def predict(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy, projected to [0, 1] and non-increasing in k.

        Parameters
        ----------
        set_sizes : float or array-like of shape (n_sizes,)
            Numbers of classes k >= 2; they need not be integers.

        Returns
        -------
        accuracy : ndarray of shape (n_sizes,), or () for one size
            Predicted average accuracy.

        Raises
        ------
        ValueError
            If a set size is below 2, or nothing was fitted.

        Warns
        -----
        UserWarning
            If a set size lies past the range that the method identifies.
        """
        sizes = check_real_set_sizes(set_sizes)
        self._check_fitted()
        self._warn_past_range(sizes.max())
        accuracy = self.method_.projected_accuracy(np.atleast_1d(sizes))
        return accuracy.reshape(sizes.shape)

    @described_by(predict)
    def standard_error(
        self,
        set_sizes: ArrayLike,
        *,
        max_refits: int = 100,
        progress: Callable[[int, int], object] | None = None,
    ) -> np.ndarray:
        """Compute how much the prediction would scatter over draws of the classes.

        It does not count that the method may be wrong, which matters more the further
        out: :meth:`predict_interval` counts both. Classes are left out as targets and
        as distractors, and the method is refitted (the jackknife). A perfect sample is
        taken to lack half a test point, which one class loses to one distractor.

        Parameters
        ----------
        max_refits : int, default=100
            With more classes than this, that many interleaved groups of classes
            are left out in turn instead of single classes.
        progress : callable or None, default=None
            Called as ``progress(n_done, n_refits)`` after every refit. If None, nothing
            is reported.

        Returns
        -------
        standard_error : ndarray of shape (n_sizes,), or () for one size
            Standard errors of the predicted accuracy.

        Raises
        ------
        ValueError
            If only wins were fitted, there are fewer than four classes with test
            points, or `max_refits` is below two or leaves fewer than two refits.
        """
        sizes = check_real_set_sizes(set_sizes)
        self._check_fitted()
        max_refits = check_integer(max_refits, "max_refits", minimum=2)
        if self.sample_.margins is None:
            raise ValueError(
                "standard errors leave out classes and need the scores, got wins "
                "only; use fit(margins, y_true)"
            )
        self._warn_past_range(sizes.max())
        flat = np.atleast_1d(sizes)
        parts = LeftOut(self.sample_, max_refits)
        curves = []
        for refit in self.method_.refits(parts):
            curves.append(refit.projected_accuracy(flat))
            if progress is not None:
                progress(len(curves), len(parts))
        error = jackknife_error(curves)
        if not 0 < self.sample_.wins[-1] < 1:
            # of half a point lost, beyond K that at K
            measured = np.minimum(np.rint(flat), self.n_classes_).astype(int)
            lost = lost_point_error(measured, self.n_classes_, self.sample_.n_test)
            error = np.maximum(error, lost)
        return error.reshape(sizes.shape)

    def conditional_accuracy_cdf(self, u: ArrayLike) -> np.ndarray:
        """Evaluate D(u) = Pr(U <= u), the fitted distribution of the win probability.

        Parameters
        ----------
        u : float or array-like of shape (...)
            Win probabilities in [0, 1].

        Returns
        -------
        cdf : ndarray of shape (...)
            D(u), as fitted: "moment" and "radial_basis" do not constrain it to be a
            distribution.

        Raises
        ------
        ValueError
            If a `u` lies outside [0, 1], or the method has no distribution of U.
        """
        u = np.asarray(u, float)
        self._check_fitted()
        if not ((u >= 0) & (u <= 1)).all():
            raise ValueError(f"u must lie in [0, 1], got {u.min()} to {u.max()}")
        return np.asarray(self.method_.cdf(u))

    def set_size_at(self, accuracy: float = 0.10) -> float:
        """Find the set size at which the predicted accuracy falls to a level.

        Parameters
        ----------
        accuracy : float, default=0.10
            Level between 0 and 1.

        Returns
        -------
        set_size : float
            Set size, found on a log scale between 2 and 1e15; 2 if the accuracy is
            at or below the level there, infinity if it still exceeds it at 1e15.

        Raises
        ------
        ValueError
            If `accuracy` is not strictly between 0 and 1.

        Warns
        -----
        UserWarning
            If the answer lies past the range that the method identifies.

        References
        ----------
        Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from
        human brain activity", who report the set size at accuracy 0.10.
        """
        accuracy = check_level(accuracy, "accuracy")
        self._check_fitted()
        size = first_crossing(self.method_.accuracy, accuracy)
        self._warn_past_range(size)
        return size

    def _warn_past_range(self, largest: float) -> None:
        """Warn about set sizes at which the method is not identified."""
        limit = self.method_.reliable_factor * self.n_classes_
        if largest > limit:
            warn(
                f"method={self.method!r} is not identified beyond about {limit:g} "
                f"classes ({self.method_.reliable_factor:g} times K), asked for "
                f"{largest:g}; use method='auto'"
            )


if AccuracyExtrapolator.__doc__:  # pragma: no branch (python -OO has none)
    names = ", ".join(f'"{name}"' for name in EXTRAPOLATION_METHODS)
    lines = textwrap.fill(f"{names}.", 76).replace("\n", "\n        ")
    AccuracyExtrapolator.__doc__ = AccuracyExtrapolator.__doc__.replace("NAMES", lines)
