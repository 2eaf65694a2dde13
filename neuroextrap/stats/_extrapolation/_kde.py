"""One kernel density of the wrong classes' scores for each test point."""

import numpy as np
from scipy import special

from neuroextrap.stats._extrapolation._bandwidth import cross_validated_bandwidth
from neuroextrap.stats._extrapolation._point_wins import PointWins, split_ties

_BLOCK = 4_000_000


class KernelDensity:
    """Win probability of every test point from a kernel density of its distractors.

    Two opposing biases: smoothing the density lowers the curve, powering a noisy
    probability raises it.

    The bandwidth of each is chosen by unbiased cross-validation.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, supplementary methods (set-size
    extrapolation); Zheng, Achanta & Benjamini 2018, section 5, with the accuracy
    a^(k-1) in place of the printed 1 - (1 - a)^(k-1).
    """

    needs_scores = True
    reliable_factor = np.inf
    monotone = True
    bandwidth = "ucv"

    def fit(self, sample):
        """Estimate each test point's win probability.

        Parameters
        ----------
        sample : WinSample
            Scores of one classifier, at least three classes.

        Returns
        -------
        KernelDensity
            Itself, with `points_`.
        """
        if sample.n_classes < 3:
            raise ValueError(
                f"a kernel density needs at least 3 classes, got {sample.n_classes}; "
                "use method='gaussian_mixture'."
            )
        own = sample.own_scores()
        step = max(1, _BLOCK // sample.n_classes)
        parts = [
            kernel_log_win(
                own[i : i + step],
                sample.distractor_scores(slice(i, i + step)),
                self.bandwidth,
            )
            for i in range(0, len(own), step)
        ]
        log_win = np.concatenate(parts)
        rows, share, weight = split_ties(np.isnan(log_win))
        log_win = np.where(share > 0, np.log(np.maximum(share, 1e-300)), log_win[rows])
        self.points_ = PointWins(log_win, sample.point_weights()[rows] * weight)
        return self

    def accuracy(self, set_sizes):
        """Predict average accuracy at `set_sizes`."""
        return self.points_.accuracy(set_sizes)

    def cdf(self, u):
        """Pr(U <= u): the weighted share of test points."""
        return self.points_.cdf(u)


class BiasedKernelDensity(KernelDensity):
    """As `KernelDensity`, with bandwidths by biased cross-validation."""

    bandwidth = "bcv"


def kernel_log_win(own, others, bandwidth):
    """Log probability of beating a random distractor under a kernel density.

    Parameters
    ----------
    own : ndarray of shape (n_test,)
        Score of the true class.
    others : ndarray of shape (n_test, n_others)
        Scores of the other classes.
    bandwidth : {"ucv", "bcv"}
        How the bandwidth of each row is chosen.

    Returns
    -------
    ndarray of shape (n_test,)
        log U; a row of equal scores is compared as it stands, NaN where its own
        score is equal too.
    """
    width = cross_validated_bandwidth(others, bandwidth)
    smooth = width > 0
    lead = own[:, None] - others
    lose = np.empty(len(own))
    scaled = lead[smooth] / width[smooth, None]
    lose[smooth] = special.ndtr(-scaled).mean(1)
    behind = lead[~smooth, 0]
    lose[~smooth] = np.where(behind == 0, np.nan, behind < 0)
    with np.errstate(divide="ignore"):
        return np.log1p(-lose)
