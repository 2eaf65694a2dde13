"""The default: a mean of methods whose errors point different ways."""

from typing import Any

import numpy as np

from neuroextrap.stats._accuracy import average_accuracy
from neuroextrap.stats._extrapolation._gaussian_mixture import (
    SMALL_N_CLASSES,
    GaussianMixture,
)
from neuroextrap.stats._extrapolation._kde import KernelDensity
from neuroextrap.stats._extrapolation._tail import Tail

_LARGEST_LIKELIHOOD = 10_000


class Mean:
    """Mean of several methods, joined to the measured curve.

    Up to K classes the measured curve is unbiased and needs no method. What it
    differs from the mean at K fades, linearly in the logarithm of the set size, and
    is gone at 2 K: so the prediction continues what was seen.

    Parameters
    ----------
    members : sequence of methods
        Each fitted to the same sample.
    """

    needs_scores = False
    reliable_factor = np.inf
    monotone = False

    def __init__(self, members):
        self.members = list(members)

    def fit(self, sample):
        """Fit every member.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier.

        Returns
        -------
        Mean
            Itself.
        """
        for member in self.members:
            member.fit(sample)
        certificates = [getattr(m, "certificate_", None) for m in self.members]
        given = [c["converged"] for c in certificates if c is not None]
        self.certificate_ = {"converged": all(given)}
        self.wins_ = sample.wins
        self.residual_ = sample.wins[-1] - self._mean(np.array([sample.n_classes]))[0]
        return self

    def accuracy(self, set_sizes):
        """Measured average accuracy up to K, predicted beyond."""
        sizes = np.asarray(set_sizes, float)
        n_classes = len(self.wins_)
        share = np.clip(1 - np.log2(sizes / n_classes), 0, 1)
        accuracy = self._mean(sizes) + share * self.residual_
        measured = sizes <= n_classes
        if measured.any():
            accuracy[measured] = self._measured(sizes[measured])
        return accuracy

    def _mean(self, set_sizes):
        """Unweighted mean of the members."""
        return np.mean([m.accuracy(set_sizes) for m in self.members], axis=0)

    def _measured(self, set_sizes):
        """Measured curve, linear between whole set sizes."""
        below = np.floor(set_sizes)
        ends = np.stack([below, np.ceil(set_sizes)]).astype(int)
        low, high = average_accuracy(self.wins_, ends.ravel()).reshape(ends.shape)
        return low + (set_sizes - below) * (high - low)

    def cdf(self, u):
        """Pr(U <= u), the mean of the members': the law behind the curve from 2 K."""
        return np.mean([m.cdf(u) for m in self.members], axis=0)


class Auto:
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

    needs_scores = False
    reliable_factor = np.inf
    monotone = False

    def resolve(self, sample):
        """Return the method that this sample calls for.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier, with scores if there are any.

        Returns
        -------
        method
            Unfitted; the choice itself stays fixed over jackknife refits.
        """
        if sample.margins is None or sample.n_classes <= SMALL_N_CLASSES:
            return GaussianMixture().resolve(sample)
        members: list[Any] = [GaussianMixture(loss="curve")]
        if sample.n_classes <= _LARGEST_LIKELIHOOD:
            members.append(GaussianMixture(loss="likelihood"))
        members.append(Tail(calibrate=_spoils(Tail(calibrate=False), sample, members)))
        if not _spoils(KernelDensity(), sample, members):
            members.append(KernelDensity())
        return Mean(members)

    def fit(self, sample):
        """Fit the method that the sample calls for.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier.

        Returns
        -------
        method
            The fitted method, not `Auto` itself.
        """
        return self.resolve(sample).fit(sample)


def _spoils(method, sample, others):
    """Whether a method moves its mean with others at K by two standard errors.

    The others are taken to predict the observed accuracy at K.
    """
    observed = sample.wins[-1]
    gap = abs(method.fit(sample).accuracy([sample.n_classes])[0] - observed)
    error = np.sqrt(observed * (1 - observed) / sample.n_test)
    return bool(gap > 2 * error * (len(others) + 1))
