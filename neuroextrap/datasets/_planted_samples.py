"""Samples of a simulated experiment: noise, with Gaussian codes planted in regions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.datasets._gaussian_code import gaussian_code_snr
from neuroextrap.stats._plain_types import plain_types_checked
from neuroextrap.stats._validation import check_numbers, random_generator, real_array


@dataclass(frozen=True)
class PlantedSamples:
    """A simulated experiment of one response per class and run."""

    # responses, float32, noise of variance 1 in every feature, (n_samples, n_features)
    X: np.ndarray
    # class 0..n_classes-1 and run 0..n_runs-1 of each sample, (n_samples,)
    y: np.ndarray
    runs: np.ndarray
    # feature indices of each planted region
    planted: tuple
    # bits of one response about its stimulus, per region, (n_planted,)
    information: np.ndarray
    # signal-to-noise ratio per feature of each region, (n_planted,)
    snr: np.ndarray


@plain_types_checked
def plant_codes(
    n_features: int,
    planted: Any,
    information: ArrayLike,
    *,
    n_classes: int = 8,
    n_runs: int = 12,
    random_state: Any = 0,
) -> Any:
    """Simulate an experiment in which some regions carry known information.

    Every sample is the response to one class in one run. Outside the planted regions it
    is noise N(0, 1); in a planted region of d features the class mean N(0, snr I_d) is
    added, snr = 2^(2 I / d) - 1, so that one response carries I bits about a stimulus
    drawn from the population of patterns. Regions are independent of each other.

    Parameters
    ----------
    n_features : int
        Number of features (voxels).
    planted : sequence of array-like of int
        Feature indices of each planted region; regions must not overlap.
    information : array-like of shape (n_planted,)
        Bits that one response of each planted region carries about its stimulus.
    n_classes : int, default=8
        Number of classes, at least 2.
    n_runs : int, default=12
        Number of runs; every run shows every class once, in random order.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the simulation.

    Returns
    -------
    samples : PlantedSamples
        Record with responses ``X`` (n_samples, n_features), classes ``y`` and ``runs``
        (n_samples,), and the truth: ``planted`` regions, ``information``, ``snr``.

    Raises
    ------
    ValueError
        If planted regions overlap, are empty or exceed the features, if information is
        not given for every region, or if there are fewer than two classes or no run.

    References
    ----------
    Cover & Thomas 2006, "Elements of Information Theory", section 9.4
    (parallel Gaussian channels).

    Examples
    --------
    >>> from neuroextrap.datasets import plant_codes
    >>> samples = plant_codes(200, [range(80)], [6.0], n_classes=8, n_runs=3)
    >>> samples.X.shape, samples.X.dtype
    ((24, 200), dtype('float32'))
    >>> samples.snr.round(4)
    array([0.1096])
    """
    planted = _check_planted(planted, n_features)
    information = real_array(information, "information")
    if information.shape != (len(planted),):
        raise ValueError(
            f"information must hold one number for each of the {len(planted)} planted "
            f"regions, got shape {information.shape}; pass as many"
        )
    if n_classes < 2 or n_runs < 1:
        raise ValueError(
            f"n_classes={n_classes} must be >= 2 and n_runs={n_runs} must be >= 1"
        )
    rng = random_generator(random_state)
    y = np.concatenate([rng.permutation(n_classes) for _ in range(n_runs)])
    runs = np.repeat(np.arange(n_runs), n_classes)
    X = rng.standard_normal((len(y), n_features), dtype=np.float32)
    snr = np.array(
        [
            gaussian_code_snr(i, len(r))
            for i, r in zip(information, planted, strict=True)
        ]
    )
    for ratio, region in zip(snr, planted, strict=True):
        means = rng.standard_normal((n_classes, len(region)), dtype=np.float32)
        X[:, region] += np.float32(np.sqrt(ratio)) * means[y]
    return PlantedSamples(X, y, runs, planted, information, snr)


def _check_planted(planted, n_features):
    """Return the regions as index arrays, disjoint and within the features."""
    if not isinstance(planted, Iterable) or not getattr(planted, "ndim", 1):
        raise TypeError("planted must be a list of regions, each a list of features")
    planted = tuple(check_numbers(region, "planted") for region in planted)
    planted = tuple(region.astype(np.intp) for region in planted)
    for number, region in enumerate(planted):
        if region.ndim != 1 or region.size == 0:
            raise ValueError(f"planted[{number}] must be a non-empty list of features")
        if region.min() < 0 or region.max() >= n_features:
            raise ValueError(
                f"planted[{number}] reaches from feature {region.min()} to "
                f"{region.max()}, but must lie in 0..{n_features - 1}"
            )
    together = np.concatenate([np.zeros(0, np.intp), *planted])
    if len(np.unique(together)) < len(together):
        raise ValueError(
            "planted regions overlap; put every feature in one region only"
        )
    return planted
