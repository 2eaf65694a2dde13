"""Predictions that name no distribution of U: a line, Pitman-Yor, and the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, row_product
from neuroextrap.stats._extrapolation._gaussian import (
    Gaussian,
    GaussianMixture,
    clip_to_resolution,
)
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    Fit,
    LeftOut,
    WinMethod,
    WinSample,
    fill_in_measured,
    log_spaced_set_sizes,
)
from neuroextrap.stats._extrapolation._point_methods import Tail
from neuroextrap.stats._validation import (
    check_choice,
    check_integer,
    check_level,
    check_real_set_sizes,
    check_wins,
    real_array,
)

_N_FIT_SIZES = 100
_BOUNDS = np.array([np.log(1e-4), -9.0]), np.array([np.log(1e8), 9.0])


class Logistic(WinMethod):
    """Straight line of logit A_k in log(k - 1), fitted to the upper measured range.

    The naive rival that every other method has to beat. With log(k - 1), the number of
    distractors, in place of log k the line is exact at chance (slope -1) and for win
    probabilities U ~ Beta(a, 1); with many classes the two are the same. Least squares
    with equal weights at no more than 100 log-spaced set sizes from `start` times K to
    K; below, the prediction is the measured curve. The slope is at most zero, and -1
    where only one set size is measured. Accuracies of 0 or 1 are taken to be half a
    test point away. It has no distribution of U.

    Parameters
    ----------
    start : float, default=0.25
        Smallest set size of the fit as a share of K.

    References
    ----------
    Friedman et al. 2019, "Biometric performance as a function of gallery size",
    Applied Sciences 9 (a straight line in the log number of people enrolled).
    """

    name = "logistic"
    has_cdf = False
    monotone_to = 2

    def __init__(self, *, start: float = 0.25):
        self.start = check_level(start, "start")

    def fit_many(self, wins: np.ndarray, n_test: np.ndarray) -> Fit:
        """Return intercepts and slopes."""
        n_classes = wins.shape[1]
        sizes = self._fit_sizes(n_classes)
        curves = row_product(wins, accuracy_weights(n_classes, sizes))
        y = special.logit(clip_to_resolution(curves, n_test[:, None]))
        x = np.log(sizes - 1)
        spread = x - x.mean()
        slope = np.full(len(wins), -1.0)
        if len(sizes) > 1:
            slope = row_product(y, spread[:, None])[:, 0] / (spread @ spread)
            slope = np.minimum(slope, 0)
        return np.stack([y.mean(axis=1) - slope * x.mean(), slope], axis=1), None

    def _fit_sizes(self, n_classes: int) -> np.ndarray:
        """Return log-spaced sizes from `start` times K to K, the last two at least."""
        first = max(2, min(int(np.ceil(self.start * n_classes)), n_classes - 1))
        sizes = np.geomspace(first, n_classes, _N_FIT_SIZES)
        return np.unique(np.rint(sizes).astype(int))

    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        log_distractors = np.log(np.asarray(set_sizes, float) - 1)
        return special.expit(parameters[:, :1] + parameters[:, 1:] * log_distractors)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict, and return the measured curve below the range of the fit."""
        sizes, accuracy = np.asarray(set_sizes, float), super().accuracy(set_sizes)
        below = sizes < self._fit_sizes(self.wins_.shape[-1])[0]
        return fill_in_measured(accuracy, self.wins_, sizes, below)


class PitmanYor(ExtrapolationMethod):
    """A_k = E[D_k] / k with D_k the distinct values among k draws.

    Two parameters, discount d and concentration alpha, fitted to the curve with
    weights log k. It has no distribution of U.

    Parameters
    ----------
    n_fit_sizes : int, default=100
        Largest number of set sizes in the fit, log-spaced in 2..K.

    References
    ----------
    Rocher, Hendrickx & de Montjoye 2025, "A scaling law to model the effectiveness
    of identification techniques", Nature Communications 16.
    """

    name = "pitman_yor"
    has_cdf = False

    def __init__(self, *, n_fit_sizes: int = 100):
        self.n_fit_sizes = check_integer(n_fit_sizes, "n_fit_sizes", minimum=1)

    def fit(self, sample: WinSample) -> Self:
        from scipy.optimize import least_squares

        sizes = log_spaced_set_sizes(sample.n_classes, self.n_fit_sizes)
        curve, root = sample.curve(sizes), np.sqrt(np.log(sizes))

        def residual(point: np.ndarray) -> np.ndarray:
            concentration, discount = _parameters(point)
            return root * (pitman_yor_accuracy(concentration, discount, sizes) - curve)

        starts = [(np.log(12.0), -1.0), (np.log(12.0), 1.0), (np.log(sizes[-1]), -3.0)]
        fits = [
            least_squares(residual, s, bounds=_BOUNDS, max_nfev=2000) for s in starts
        ]
        best = min(fits, key=lambda fit: fit.cost)
        self.concentration_, self.discount_ = _parameters(best.x)
        self.certificate_ = {
            "converged": bool(best.success),
            "message": f"the search for least squares ended: {best.message}",
        }
        return self

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return pitman_yor_accuracy(self.concentration_, self.discount_, set_sizes)


def _parameters(point: np.ndarray) -> tuple[float, float]:
    """Return concentration and discount from the free coordinates (log, logit)."""
    return float(np.exp(point[0])), float(special.expit(point[1]))


def pitman_yor_accuracy(
    concentration: float, discount: float, set_sizes: ArrayLike
) -> np.ndarray:
    """Return E[distinct values among k draws] / k (n_sizes,), alpha > 0, 0 < d < 1.

    It is alpha / (d k) times Gamma(a + d + k) Gamma(a) / (Gamma(a + d) Gamma(a + k)),
    less one.
    """
    k = np.asarray(set_sizes, float)
    if concentration < 10:
        at_once = special.betaln(concentration, discount)
        log_ratio = at_once - special.betaln(concentration + k, discount)
    else:
        # differences of log-gammas lose all digits: the integral of
        # digamma(a + k + t) - digamma(a + t) over t in (0, d) is summed instead
        node, weight = np.polynomial.legendre.leggauss(16)
        t = concentration + discount * (node + 1) / 2
        gain = special.digamma(np.add.outer(k, t)) - special.digamma(t)
        log_ratio = gain @ weight * (discount / 2)
    return concentration / (discount * k) * np.expm1(log_ratio)


FEW_CLASSES = 10  # at which half the weight of `logistic` and `tail` is gone
TAIL_FACTOR = 10  # up to how many times K `tail` has its full weight
_LARGEST_LIKELIHOOD = 10_000


def _opinions_of(sample: WinSample) -> list[list[ExtrapolationMethod]]:
    """Return the methods whose predictions a sample calls for."""
    n_classes = sample.n_classes
    loss = "likelihood" if n_classes <= _LARGEST_LIKELIHOOD else "curve"
    opinions: list[list[ExtrapolationMethod]] = [
        [Gaussian(), GaussianMixture(loss=loss)],
        [Logistic()],
    ]
    if n_classes >= Tail.fewest_classes and sample.has_continuous_scores():
        plain = Tail(calibrate=False).fit(sample).accuracy([n_classes])[0]
        resolved = clip_to_resolution(sample.wins[-1], sample.n_test)
        n_votes = min(sample.n_test, n_classes)
        error = np.sqrt(resolved * (1 - resolved) / n_votes)
        misses = bool(abs(plain - sample.wins[-1]) > 2 * error)
        opinions.append([Tail(calibrate=misses)])
    return opinions


class Auto(ExtrapolationMethod):
    """Mean of three predictions on the logit scale, of which scores give the third.

    They are the Gaussian one (`gaussian` and `gaussian_mixture`, by ridge
    likelihood up to 10,000 classes), `logistic` and, where there are scores of at least
    four classes, `tail`. The weights of the latter two are one third each with many
    classes (without scores, `logistic` has one half), times K / (K + 10) with few;
    beyond 10 K that of the tail is multiplied by sqrt(10 K / k). The Gaussian one
    has the rest. The tail is left as it is where it predicts the
    observed accuracy at K within two binomial standard errors, one vote per class, and
    else calibrated; it is left out where more than one test point in twenty ties with
    a distractor. Up to K the prediction is the measured curve; what the mean misses of
    it at K fades until 2 K. The rule was chosen on simulated populations, and its error
    measured on others. It has no distribution of U.
    """

    name = "auto"
    has_cdf = False
    #: each predicts the mean of one or of several similar methods
    opinions: Sequence[Sequence[ExtrapolationMethod]] = ()
    n_classes: int  # of the whole sample

    @property
    def members(self) -> list[ExtrapolationMethod]:
        """All methods, in the order of the opinions."""
        return [member for members in self.opinions for member in members]

    def fit(self, sample: WinSample) -> Self:
        if not self.opinions:  # parts of a sample keep those of the whole
            self.opinions, self.n_classes = _opinions_of(sample), sample.n_classes
        for member in self.members:
            member.fit(sample)
        certificates = [member.certificate_ for member in self.members]
        given = [c for c in certificates if c is not None]
        self.certificate_ = {
            "converged": all(c["converged"] for c in given),
            "message": "; ".join(c["message"] for c in given),
        }
        return self._join(sample)

    def _join(self, sample: WinSample) -> Self:
        """Keep the measured curve, and the accuracy that it resolves."""
        self.wins_, self.monotone_to = sample.wins, sample.n_classes
        n_test = np.asarray(sample.n_test, float)[..., None]
        self.highest_ = 1 - np.minimum(0.5 / n_test, 0.25)
        return self

    def refits(self, parts: LeftOut) -> Iterator[Self]:
        """Join the members' refits."""
        members = zip(*(member.refits(parts) for member in self.members), strict=True)
        for refitted, sample in zip(members, parts.win_samples, strict=True):
            rest = iter(refitted)
            joined = copy(self)
            joined.opinions = [[next(rest) for _ in each] for each in self.opinions]
            yield joined._join(sample)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the measured curve up to K, the mean beyond, joined until 2 K."""
        sizes, n_classes = np.asarray(set_sizes, float), self.wins_.shape[-1]
        share = np.clip(1 - np.log2(sizes / n_classes), 0, 1)
        mean = self._mean(np.append(sizes, n_classes))
        accuracy = mean[..., :-1] + share * (self.wins_[..., -1:] - mean[..., -1:])
        return fill_in_measured(accuracy, self.wins_, sizes, sizes <= n_classes)

    def logits(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the logit of each prediction, as far as the data resolve it.

        The shape is (n_opinions, n_sizes), or (n_opinions, n_regions, n_sizes) after a
        fit to wins of many regions.
        """
        sizes = np.asarray(set_sizes, float)
        logits = []
        for members in self.opinions:
            accuracies = np.stack([member.accuracy(sizes) for member in members])
            clipped = np.clip(accuracies, 0.5 / sizes, self.highest_)
            logits.append(special.logit(clipped).mean(axis=0))
        return np.stack(logits)

    def _mean(self, set_sizes: np.ndarray) -> np.ndarray:
        """Return the mean of the predictions as an accuracy.

        The first has the weight that others leave: K / (K + 10) by their number, and
        less of the third, `tail`, beyond 10 K.
        """
        logits, n_classes = self.logits(set_sizes), self.n_classes
        share = n_classes / (n_classes + FEW_CLASSES) / len(logits)
        weights = np.full((len(logits), len(set_sizes)), share)
        weights[2:] *= np.sqrt(np.minimum(TAIL_FACTOR * n_classes / set_sizes, 1))
        weights[0] = 1 - weights[1:].sum(axis=0)
        return special.expit(sum(w * x for w, x in zip(weights, logits, strict=True)))


OF_MANY = {method.name: method for method in (Auto, GaussianMixture, Gaussian)}


def extrapolate_wins(
    wins: ArrayLike, n_test: ArrayLike, set_sizes: ArrayLike, *, method: str = "auto"
) -> np.ndarray:
    """Extrapolate the win distributions of many regions.

    Each row is fitted as ``AccuracyExtrapolator(method).fit_wins`` would, all rows
    together: 70,000 regions of 120 classes take well under a minute.

    Parameters
    ----------
    wins : array-like of shape (n_regions, n_classes)
        Win distributions; rows of NaN stay NaN.
    n_test : int or array-like of int of shape (n_regions,)
        Number of test points behind each.
    set_sizes : float or array-like of shape (n_sizes,)
        Numbers of classes k >= 2.
    method : {"auto", "gaussian_mixture", "gaussian"}, default="auto"
        The default of the extrapolator without scores, the model with two parameters,
        or that with the one parameter of the high-dimensional limit.

    Returns
    -------
    accuracy : ndarray of shape (n_regions, n_sizes), or (n_regions,) for one set size
        Predicted average accuracy.

    Raises
    ------
    ValueError
        If the method is another one, the wins are not distributions of at least two
        classes, a set size is below 2, or `n_test` is below one.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems".

    Examples
    --------
    >>> import numpy as np
    >>> chance, perfect = np.full(20, 1 / 20), np.eye(20)[-1]
    >>> extrapolate_wins([chance, perfect], 200, [20, 100], method="gaussian").round(4)
    array([[0.05  , 0.01  ],
           [0.9975, 0.9906]])
    """
    check_choice(method, "method", OF_MANY)
    wins = check_wins(wins)
    sizes = check_real_set_sizes(set_sizes)
    n_test = real_array(n_test, "n_test")
    if wins.ndim != 2 or n_test.shape not in ((), wins.shape[:1]):
        raise ValueError(
            "wins must have shape (n_regions, n_classes) and n_test be one number or "
            f"(n_regions,), got {wins.shape} and {n_test.shape}"
        )
    if not (n_test >= 1).all():
        raise ValueError(f"n_test must be at least 1, got {n_test.min()}")
    valid = np.isfinite(wins).all(1)
    accuracy = np.full((len(wins), sizes.size), np.nan)
    if valid.any():
        sample = WinSample(wins[valid], np.broadcast_to(n_test, len(wins))[valid])
        fitted = OF_MANY[method]().fit(sample)
        accuracy[valid] = fitted.projected_accuracy(np.atleast_1d(sizes))
    return accuracy.reshape(len(wins), *sizes.shape)
