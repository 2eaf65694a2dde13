"""Simulated scans whose information about coarse and fine labels is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroextrap.stats._plain_types import plain_types_checked
from neuroextrap.stats._validation import check_integer, random_generator


def binary_gaussian_information(separation):
    """Return the bits that one Gaussian measurement tells about a fair binary label.

    `separation` is the distance of the class means in standard deviations of the noise.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    # log odds of the true class are Gaussian with mean d^2 / 2 and variance d^2
    log_odds = 0.5 * separation**2 + separation * nodes
    return float(1 - weights @ np.logaddexp(0, -log_odds) / np.log(2))


@plain_types_checked
def simulate_hierarchical_scans(
    *,
    n_subjects: int = 18,
    n_repeats: int = 1,
    n_features: int = 500,
    coarse_separation: float = 6.0,
    fine_separation: float = 4.0,
    subject_spread: float = 2.0,
    random_state: Any = 0,
) -> Any:
    """Simulate scans of four states: two conditions, each early or late.

    The class means form a rectangle: the conditions lie ``coarse_separation`` noise
    standard deviations apart along a random pattern in the first tenth of the voxels,
    early and late ``fine_separation`` along one in the second tenth. A two-label model
    (conditions) cannot see the second; a four-label model must learn twice as much,
    and needs more subjects to pay off.

    Parameters
    ----------
    n_subjects : int, default=18
        Number of subjects.
    n_repeats : int, default=1
        Scans of each of the four states in each subject.
    n_features : int, default=500
        Number of voxels, at least 2, each with independent noise of unit variance.
    coarse_separation : float, default=6.0
        Distance of the conditions' means in noise standard deviations.
    fine_separation : float, default=4.0
        Distance of the early and late means in noise standard deviations.
    subject_spread : float, default=2.0
        Standard deviation of each subject's own mean scan.
    random_state : None, int or Generator, default=0
        Seed of the simulation.

    Returns
    -------
    sklearn.utils.Bunch
        - ``X``: (n_samples, n_features)
        - ``coarse``, ``fine``: (n_samples,), two and four labels
        - ``groups``: (n_samples,), subjects
        - ``coarse_information``, ``fine_information``: bits that one scan, its
          subject's mean removed, tells about the labels when the true distribution
          is known

    Notes
    -----
    Removing the mean of a subject's m scans leaves the distances of the (balanced)
    class means as they are and the noise variance 1 - 1/m in every direction.

    Examples
    --------
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=3)
    >>> data.X.shape, sorted(set(data.fine.tolist()))
    ((12, 500), ['A1', 'A2', 'B1', 'B2'])
    >>> data.coarse_information, data.fine_information
    (0.999, 1.958)
    """
    from sklearn.utils import Bunch

    sizes = {"n_subjects": n_subjects, "n_repeats": n_repeats, "n_features": n_features}
    for name, value in sizes.items():
        check_integer(value, name, minimum=1)
    rng = random_generator(random_state)
    axes = _two_patterns(n_features, rng)
    states = np.tile(np.repeat(np.arange(4), n_repeats), n_subjects)
    groups = np.repeat(np.arange(n_subjects), 4 * n_repeats)
    signs = np.stack([2 * (states // 2) - 1, 2 * (states % 2) - 1], axis=1)
    offsets = 0.5 * signs * np.array([coarse_separation, fine_separation])
    X = rng.standard_normal((len(states), n_features)) + offsets @ axes.T
    X += subject_spread * rng.standard_normal((n_subjects, n_features))[groups]
    noise = np.sqrt(1 - 1 / (4 * n_repeats))
    coarse = binary_gaussian_information(coarse_separation / noise)
    fine = coarse + binary_gaussian_information(fine_separation / noise)
    return Bunch(
        X=X,
        coarse=np.array(["A", "B"])[states // 2],
        fine=np.array(["A1", "A2", "B1", "B2"])[states],
        groups=groups,
        coarse_information=coarse,
        fine_information=fine,
    )


def _two_patterns(n_features, rng):
    """Return two orthonormal patterns that share no voxel, shape (n_features, 2)."""
    width = max(1, n_features // 10)
    axes = np.zeros((n_features, 2))
    for i in range(2):
        weights = rng.standard_normal(width)
        axes[i * width : (i + 1) * width, i] = weights / np.linalg.norm(weights)
    return axes
