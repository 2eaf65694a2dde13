"""A Gaussian code: the one model of a brain region whose information is known.

Each class i has a mean pattern mu_i ~ N(0, tau^2 I_d) over the d voxels of a region,
each response is mu_i + noise, noise ~ N(0, sigma^2 I_d). The signal-to-noise ratio is
snr = tau^2 / sigma^2, per voxel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._label_checks import plain_types_checked
from neuroextrap.stats._validation import (
    brief,
    check_integer,
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
    n_features : int
        Number of voxels d, at least 1.
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
