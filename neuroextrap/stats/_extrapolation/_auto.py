"""The default: a mean of methods whose errors point different ways."""

import numpy as np

from neuroextrap.stats._extrapolation._gaussian_mixture import (
    SMALL_N_CLASSES,
    GaussianMixture,
)
from neuroextrap.stats._extrapolation._kde import KernelDensity
from neuroextrap.stats._extrapolation._tail import Tail


class Mean:
    """Unweighted mean of the predictions of several methods.

    Parameters
    ----------
    members : sequence of methods
        Each fitted to the same sample.
    """

    needs_scores = False
    reliable_factor = np.inf
    monotone = True

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
        return self

    def accuracy(self, set_sizes):
        """Predict average accuracy at `set_sizes`."""
        return np.mean([m.accuracy(set_sizes) for m in self.members], axis=0)

    def cdf(self, u):
        """Pr(U <= u), the mean of the members'."""
        return np.mean([m.cdf(u) for m in self.members], axis=0)


class Auto:
    """Choose by what there is: scores or wins only, few classes or many.

    Up to 50 classes, or without scores: `gaussian_mixture`. With more classes and
    scores: the mean of `gaussian_mixture` and the calibrated `tail`; a kernel
    density joins where the accuracy it predicts at K agrees with the observed one
    within a standard error.
    """

    needs_scores = False
    reliable_factor = np.inf
    monotone = True

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
        mixture = GaussianMixture().resolve(sample)
        if sample.margins is None or sample.n_classes <= SMALL_N_CLASSES:
            return mixture
        members = [mixture, Tail()]
        density = KernelDensity().fit(sample)
        if _agrees(density, sample):
            members.append(density)
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


def _agrees(method, sample):
    """Whether a method's A_K is within a binomial standard error of the observed."""
    observed = sample.wins[-1]
    error = np.sqrt(observed * (1 - observed) / sample.n_classes)
    return bool(abs(method.accuracy([sample.n_classes])[0] - observed) <= error)
