"""The default: a mean of methods whose errors point different ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._accuracy import average_accuracy
from neuroextrap.stats._extrapolation._gaussian_mixture import (
    SMALL_N_CLASSES,
    GaussianMixture,
)
from neuroextrap.stats._extrapolation._kde import KernelDensity
from neuroextrap.stats._extrapolation._leave_out import LeftOut
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._extrapolation._tail import Tail

_LARGEST_LIKELIHOOD = 10_000


class Mean(ExtrapolationMethod):
    """Mean of several methods, joined to the measured curve.

    Up to K classes the measured curve is unbiased and needs no method. What it
    differs from the mean at K fades, linearly in the logarithm of the set size, and
    is gone at 2 K: so the prediction continues what was seen.
    """

    name = "mean"
    monotone = False

    def __init__(self, members: Sequence[ExtrapolationMethod]):
        self.members = list(members)

    def fit(self, sample: WinSample) -> Self:
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
        """Keep the measured curve, and what the fitted members miss of it at K."""
        self.wins_ = sample.wins
        self.residual_ = sample.wins[-1] - self._mean(np.array([sample.n_classes]))[0]
        return self

    def refits(self, parts: LeftOut) -> Iterator[Mean]:
        """Join the members' refits."""
        members = zip(*(member.refits(parts) for member in self.members), strict=True)
        samples = parts.samples(scores=False)
        for refitted, sample in zip(members, samples, strict=True):
            yield Mean(refitted)._join(sample)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the measured curve up to K, the predicted one beyond."""
        sizes = np.asarray(set_sizes, float)
        n_classes = len(self.wins_)
        share = np.clip(1 - np.log2(sizes / n_classes), 0, 1)
        accuracy = self._mean(sizes) + share * self.residual_
        measured = sizes <= n_classes
        if measured.any():
            accuracy[measured] = self._measured(sizes[measured])
        return accuracy

    def _mean(self, set_sizes: np.ndarray) -> np.ndarray:
        """Return the unweighted mean of the members."""
        return np.mean([m.accuracy(set_sizes) for m in self.members], axis=0)

    def _measured(self, set_sizes: np.ndarray) -> np.ndarray:
        """Return the measured curve, linear between whole set sizes."""
        below = np.floor(set_sizes)
        ends = np.stack([below, np.ceil(set_sizes)]).astype(int)
        low, high = average_accuracy(self.wins_, ends.ravel()).reshape(ends.shape)
        return low + (set_sizes - below) * (high - low)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the members' mean: the law behind the curve from 2 K on."""
        return np.mean([m.cdf(u) for m in self.members], axis=0)


class Auto(ExtrapolationMethod):
    """Choose by what there is: scores or wins only, few classes or many.

    Up to 50 classes, or without scores: `gaussian_mixture`. With more classes and
    scores: the mean of `gaussian_mixture` by least squares, `gaussian_mixture` by
    ridge likelihood (up to 10,000 classes), the `tail`, uncalibrated, and the kernel
    density `kde_ucv`, whose errors partly cancel. A member that would move the
    mean's accuracy at K by more than two binomial standard errors of the observed
    one is calibrated (`tail`) or left out (`kde_ucv`). Up to K it is the measured
    curve; what the mean misses of it at K fades until 2 K. The members were chosen
    on simulations of their own seeds.
    """

    name = "auto"
    monotone = False

    def resolve(self, sample: WinSample) -> ExtrapolationMethod:
        if sample.margins is None or sample.n_classes <= SMALL_N_CLASSES:
            return GaussianMixture().resolve(sample)
        members: list[ExtrapolationMethod] = [GaussianMixture(loss="curve")]
        if sample.n_classes <= _LARGEST_LIKELIHOOD:
            members.append(GaussianMixture(loss="likelihood"))
        members.append(Tail(calibrate=_spoils(Tail(calibrate=False), sample, members)))
        if not _spoils(KernelDensity(), sample, members):
            members.append(KernelDensity())
        return Mean(members)

    def fit(self, sample: WinSample) -> Self:
        self.chosen_ = self.resolve(sample).fit(sample)
        self.certificate_ = self.chosen_.certificate_
        return self

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return self.chosen_.accuracy(set_sizes)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return self.chosen_.cdf(u)


def _spoils(
    method: ExtrapolationMethod,
    sample: WinSample,
    others: Sequence[ExtrapolationMethod],
) -> bool:
    """Check whether a method moves its mean with others at K by two standard errors.

    The others are taken to predict the observed accuracy at K.
    """
    observed = sample.wins[-1]
    gap = abs(method.fit(sample).accuracy([sample.n_classes])[0] - observed)
    error = np.sqrt(observed * (1 - observed) / sample.n_test)
    return bool(gap > 2 * error * (len(others) + 1))
