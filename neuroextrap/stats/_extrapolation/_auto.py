"""The default: a mean of methods whose errors point different ways."""

import numpy as np

from neuroextrap.stats._extrapolation._gaussian_mixture import (
    SMALL_N_CLASSES,
    GaussianMixture,
)
from neuroextrap.stats._extrapolation._kde import KernelDensity
from neuroextrap.stats._extrapolation._tail import Tail

_LARGEST_LIKELIHOOD = 10_000


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
        certificates = [getattr(m, "certificate_", None) for m in self.members]
        given = [c["converged"] for c in certificates if c is not None]
        self.certificate_ = {"converged": all(given)}
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
    scores: the mean of `gaussian_mixture` by least squares, `gaussian_mixture` by
    ridge likelihood (up to 10,000 classes) and the uncalibrated `tail`, whose errors
    partly cancel. The kernel density `kde_ucv` joins unless it moves the mean's
    accuracy at K by more than two binomial standard errors of the observed one:
    where the scores suit it its smoothing bias offsets the others', elsewhere it
    spoils the mean. The members were chosen on simulations of their own seeds.
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
        if sample.margins is None or sample.n_classes <= SMALL_N_CLASSES:
            return GaussianMixture().resolve(sample)
        members = [GaussianMixture(loss="curve"), Tail(calibrate=False)]
        if sample.n_classes <= _LARGEST_LIKELIHOOD:
            members.append(GaussianMixture(loss="likelihood"))
        density = KernelDensity().fit(sample)
        if _moves(density, sample) <= 2 * (len(members) + 1):
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


def _moves(method, sample):
    """Distance of a method's A_K from the observed one, in standard errors."""
    observed = sample.wins[-1]
    gap = abs(method.accuracy([sample.n_classes])[0] - observed)
    error = np.sqrt(observed * (1 - observed) / sample.n_test)
    return gap / error if error > 0 else np.inf
