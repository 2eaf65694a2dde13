"""Problems whose accuracy curve is known: a Gaussian code, and a bivariate normal.

The Gaussian code is the one model of a brain region whose information is known: each
class i has a mean pattern mu_i ~ N(0, tau^2 I_d) over the d voxels of a region, each
response is mu_i + noise, noise ~ N(0, sigma^2 I_d), and snr = tau^2 / sigma^2 is the
signal-to-noise ratio per voxel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._label_checks import plain_types_checked
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    brief,
    check_integer,
    check_number,
    nats_per_unit,
    random_generator,
    real_array,
)


def gaussian_code_information(
    n_features: int, snr: ArrayLike, *, n_train: int | None = None, base: float = 2
) -> np.ndarray:
    """Compute the information that one response of a Gaussian code carries.

    The information is about the stimulus, which is continuous: the class pattern
    itself, drawn from N(0, tau^2 I_d), so that no number of classes limits it. Implied
    information estimates it in the limit of many voxels (if class patterns are known),
    and a lower bound may exceed it only at its stated rate.

    Parameters
    ----------
    n_features : int
        Number of voxels d, at least 1.
    snr : float or array-like
        Signal-to-noise ratio tau^2 / sigma^2 per voxel, of the response as analyzed
        (averaging m responses multiplies it by m).
    n_train : int or None, default=None
        Number of further responses of the same class whose mean the information is
        about; no classifier trained on them can use more. If None, the information is
        about the class pattern itself.
    base : float, default=2
        Base of the logarithm; 2 means bits.

    Returns
    -------
    information : ndarray of the shape of `snr`
        Information d/2 log(1 + snr), or -d/2 log(1 - rho^2) with rho the correlation,
        per voxel, of a response with the training mean.

    Raises
    ------
    ValueError
        If ``n_features`` or ``n_train`` is below 1, or ``snr`` is negative or not
        finite.

    References
    ----------
    Cover & Thomas 2006, "Elements of Information Theory", section 9.4
    (parallel Gaussian channels).

    Examples
    --------
    >>> from neuroextrap.datasets import gaussian_code_information
    >>> float(gaussian_code_information(81, 0.1))
    5.569
    >>> float(gaussian_code_information(81, 0.1, n_train=3))
    1.239
    """
    n_features = check_integer(n_features, "n_features", minimum=1)
    snr = real_array(snr, "snr")
    if not np.all(np.isfinite(snr) & (snr >= 0)):
        raise ValueError(f"snr={brief(snr)} must be finite and not negative")
    if n_train is None:
        return 0.5 * n_features * np.log1p(snr) / nats_per_unit(base)
    n_train = check_integer(n_train, "n_train", minimum=1)
    shared = snr**2 / ((1 + snr) * (snr + 1 / n_train))
    return -0.5 * n_features * np.log1p(-shared) / nats_per_unit(base)


@described_by(gaussian_code_information)
@plain_types_checked
def gaussian_code_accuracy(
    n_features: int,
    snr: float,
    set_sizes: ArrayLike,
    *,
    n_train: int | None = None,
    n_draws: int = 20_000,
    random_state: Any = 0,
) -> np.ndarray:
    """Compute the identification accuracy of a Gaussian code among k random classes.

    Monte Carlo over the target and its response only: given a response y, the squared
    distance to a random distractor is a scaled non-central chi-square, so that the
    probability U of beating one distractor is exact, and A_k = E[U^(k-1)] needs no
    sampling of distractors.

    Parameters
    ----------
    snr : float
        Signal-to-noise ratio tau^2 / sigma^2 per voxel.
    set_sizes : array-like of int of shape (n_sizes,)
        Set sizes k, at least 2.
    n_train : int or None, default=None
        Number of responses per class averaged into the centroids of the
        nearest-centroid classifier. If None, the class means are known: the classifier
        is that of Bayes, and the result the average Bayes accuracy.
    n_draws : int, default=20_000
        Number of simulated responses; the Monte-Carlo standard error is below
        0.5 / sqrt(n_draws).
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the simulation.

    Returns
    -------
    accuracy : ndarray of shape (n_sizes,)
        Expected accuracy A_k over random draws of the classes, as proportions.

    Raises
    ------
    ValueError
        If a count is below 1, a set size below 2, or ``snr`` negative or not finite.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error", the average accuracy as the mean of U^(k-1).

    Examples
    --------
    >>> from neuroextrap.datasets import gaussian_code_accuracy
    >>> gaussian_code_accuracy(81, 0.1, [2, 8, 96]).round(2)
    array([0.98, 0.89, 0.6 ])
    """
    from scipy.stats import ncx2

    n_features = check_integer(n_features, "n_features", minimum=1)
    gaussian_code_information(n_features, snr, n_train=n_train)  # checks both
    snr = float(snr)
    set_sizes = real_array(set_sizes, "set_sizes")
    if set_sizes.ndim != 1 or set_sizes.size == 0 or set_sizes.min() < 2:
        raise ValueError(f"set_sizes={brief(set_sizes)} must be integers >= 2")
    training_noise = 0.0 if n_train is None else 1.0 / n_train
    if snr + training_noise == 0:  # all class means equal and known: a tie of all
        return 1.0 / set_sizes
    rng = random_generator(random_state)
    n_draws = check_integer(n_draws, "n_draws", minimum=1)
    drawn = _draw_distances(n_features, snr, training_noise, n_draws, rng)
    length, distance = drawn / (snr + training_noise)
    beats_one = ncx2.sf(distance, n_features, length)
    return np.mean(beats_one[:, None] ** (set_sizes - 1.0), axis=0)


def _draw_distances(n_features, snr, training_noise, n_draws, rng):
    """Draw responses of noise variance 1; return |y|^2 and |y - own centroid|^2."""
    drawn = np.empty((2, n_draws))
    batch = max(1, 2**21 // n_features)
    for start in range(0, n_draws, batch):
        shape = (min(batch, n_draws - start), n_features)
        mean = np.sqrt(snr) * rng.standard_normal(shape)
        response = mean + rng.standard_normal(shape)
        centroid = mean + np.sqrt(training_noise) * rng.standard_normal(shape)
        rows = slice(start, start + shape[0])
        drawn[0, rows] = np.einsum("ij,ij->i", response, response)
        response -= centroid
        drawn[1, rows] = np.einsum("ij,ij->i", response, response)
    return drawn


_LARGEST_FEATURE = 9.0
_N_FEATURES = 289
_N_PANELS, _N_NODES = 64, 12


class BivariateNormalProblem:
    """Labels and features from a bivariate normal, classified by the Bayes rule.

    A class is a number y ~ N(0, 1); its feature is x ~ N(rho y, 1 - rho^2); the
    rule takes the class whose rho y is nearest to x. The probability that a test point
    (x, y) beats a random other class, the distribution of this probability and the
    accuracy among any number k of random classes are exact, so estimates can be
    compared with them.

    Parameters
    ----------
    correlation : float
        Correlation rho of label and feature, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If `correlation` does not lie strictly between 0 and 1.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", section 4.1; the printed U is one minus the correct one.

    Examples
    --------
    >>> from neuroextrap.datasets import BivariateNormalProblem
    >>> problem = BivariateNormalProblem(0.7)
    >>> problem.average_accuracy([2, 10, 1000]).round(4)
    array([0.6929, 0.2173, 0.0035])
    >>> margins, y_true = problem.sample(n_classes=4, random_state=0)
    >>> margins.shape, y_true
    ((4, 4), array([0, 1, 2, 3]))
    """

    def __init__(self, correlation: float) -> None:
        if not 0 < check_number(correlation, "correlation") < 1:
            raise ValueError(
                f"correlation={correlation!r} must lie strictly between 0 and 1"
            )
        self.correlation = float(correlation)

    def __repr__(self):
        """Write the constructor call."""
        return f"{type(self).__name__}({self.correlation!r})"

    def sample(
        self, n_classes: int, *, n_repeats: int = 1, random_state: Any = 0
    ) -> tuple:
        """Draw classes and test points, and score each point for each class.

        Parameters
        ----------
        n_classes : int
            Number of classes, at least 2.
        n_repeats : int, default=1
            Number of test points per class.
        random_state : int, numpy.random.Generator or None, default=0
            Seed of the draws.

        Returns
        -------
        margins : ndarray of shape (n_classes * n_repeats, n_classes)
            Negative distance of each feature from the mean feature of each class.
        y_true : ndarray of int of shape (n_classes * n_repeats,)
            Column of each test point's true class.

        Raises
        ------
        ValueError
            If there are fewer than two classes or no repeat.
        """
        if n_classes < 2 or n_repeats < 1:
            raise ValueError(
                f"n_classes={n_classes} must be at least 2 and "
                f"n_repeats={n_repeats} at least 1"
            )
        rng = random_generator(random_state)
        rho = self.correlation
        labels = rng.normal(size=n_classes)
        y_true = np.repeat(np.arange(n_classes), n_repeats)
        noise = np.sqrt(1 - rho**2) * rng.normal(size=len(y_true))
        features = rho * labels[y_true] + noise
        return -np.abs(features[:, None] - rho * labels), y_true

    def win_probability(self, feature: ArrayLike, label: ArrayLike) -> np.ndarray:
        """Compute the probability that a test point beats a random other class.

        Parameters
        ----------
        feature : array-like
            Features x of the test points.
        label : array-like
            Their labels y; both broadcast.

        Returns
        -------
        probability : ndarray of the broadcast shape
            1 - Phi((x + d) / rho) + Phi((x - d) / rho), d = abs(rho y - x).
        """
        feature = np.asarray(feature, float)
        gap = np.abs(self.correlation * np.asarray(label, float) - feature)
        return 1 - self._nearer(feature, gap)

    def conditional_accuracy_cdf(self, u: ArrayLike) -> np.ndarray:
        """Compute the distribution of win probabilities over test points, Pr(U <= u).

        Parameters
        ----------
        u : array-like
            Win probabilities in [0, 1].

        Returns
        -------
        probability : ndarray of the shape of `u`
            D(u) = Pr(U <= u); convex, because the rule is the Bayes rule.

        Raises
        ------
        ValueError
            If a win probability lies outside [0, 1].
        """
        u = np.asarray(u, float)
        if not ((u >= 0) & (u <= 1)).all():
            raise ValueError(f"u={u.min()}..{u.max()} must lie in [0, 1]")
        x, weights = self._features()
        inner = np.clip(u, 1e-300, None).reshape(-1, 1)
        low, high = np.zeros((u.size, len(x))), np.full((u.size, len(x)), 40.0)
        for _ in range(80):
            middle = (low + high) / 2
            wins_more = 1 - self._nearer(x, middle) > inner
            low = np.where(wins_more, middle, low)
            high = np.where(wins_more, high, middle)
        center, spread = self._gap_law(x)
        tails = special.ndtr((center - low) / spread)
        tails += special.ndtr((-center - low) / spread)
        return np.where(u <= 0, 0.0, (tails @ weights).reshape(u.shape))

    def average_accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Compute the accuracy of the Bayes rule among k random classes, E U^(k - 1).

        Parameters
        ----------
        set_sizes : array-like
            Numbers of classes k >= 2.

        Returns
        -------
        accuracy : ndarray of the shape of `set_sizes`
            Average accuracies, as proportions.

        Raises
        ------
        ValueError
            If a set size is below 2.
        """
        sizes = np.asarray(set_sizes, float)
        if not (sizes >= 2).all():
            raise ValueError(f"set_sizes={sizes.min():g} must be at least 2")
        x, weights = self._features()
        edges = np.r_[0.0, np.geomspace(1e-18, 12.0, _N_PANELS)]
        node, weight = np.polynomial.legendre.leggauss(_N_NODES)
        half = np.diff(edges)[:, None] / 2
        gap = (edges[:-1, None] + half * (node + 1)).reshape(-1, 1)
        center, spread = self._gap_law(x)
        density = _normal_density((gap - center) / spread)
        density += _normal_density((gap + center) / spread)
        mass = (half * weight).reshape(-1, 1) * density / spread * weights
        log_win = np.log1p(-np.minimum(self._nearer(x, gap), 1 - 1e-16))
        accuracy = [np.sum(mass * np.exp((k - 1) * log_win)) for k in sizes.ravel()]
        return np.array(accuracy).reshape(sizes.shape)

    def _nearer(self, feature, gap):
        """Probability that a random class lies within a gap of a feature."""
        rho, size = self.correlation, np.abs(feature)
        return special.ndtr((gap - size) / rho) - special.ndtr((-gap - size) / rho)

    def _gap_law(self, feature):
        """Mean and standard deviation of rho y - x given x."""
        rest = 1 - self.correlation**2
        return -rest * feature, self.correlation * np.sqrt(rest)

    def _features(self):
        """Trapezoidal nodes and weights of a standard normal x."""
        x = np.linspace(-_LARGEST_FEATURE, _LARGEST_FEATURE, _N_FEATURES)
        return x, _normal_density(x) * (x[1] - x[0])


def _normal_density(z):
    """Density of the standard normal."""
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
