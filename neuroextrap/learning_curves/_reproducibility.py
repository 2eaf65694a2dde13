"""Reproducibility of maps over disjoint halves of the subjects (NPAIRS)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.learning_curves._curve import information_learning_curve
from neuroextrap.learning_curves._curve_run import CurveOptions, prepare_run
from neuroextrap.learning_curves._splits import check_train_sizes, evaluate_splits
from neuroextrap.stats._shared_options import as_options, described_by, takes_options


@described_by(information_learning_curve)
@takes_options(CurveOptions, without="priors prior_weight")
def pattern_reproducibility(
    X: Any, y: ArrayLike, groups: ArrayLike, **options: Any
) -> Any:
    """Measure the agreement of maps of models trained on disjoint sets of subjects.

    Splits are those of :func:`information_learning_curve` with the same seed. Any
    classifier that has a sensitivity map will do.

    Parameters
    ----------
    pattern : {"sensitivity", "log_sensitivity", "canonical"}, default="sensitivity"
        Map compared: the sensitivity of p(g|x) or of log p(g|x) on the training
        scans, or the first canonical map, its sign set by the class means.
    train_sizes : array-like of int or None, default=None
        Subjects in each of the two sets. If None, half of all.
    n_splits : int, default=150
        Random pairs of sets at every size.

    Returns
    -------
    sklearn.utils.Bunch
        - ``train_sizes``: (n_sizes,)
        - ``reproducibility``: (n_sizes, n_splits), correlation over the voxels
        - ``mean``, ``spread``: (n_sizes,), its mean and standard deviation
        - ``signal_to_noise``: (n_sizes,), the global ratio sqrt(2 r / (1 - r)) that
          the mean r stands for, 0 where it is negative
        - ``z_map``: (n_sizes, n_features), reproducible Z map: the mean over splits
          of the average of both standardized maps divided by the standard deviation
          of their difference; NaN where a voxel was left out
        - ``masker``: for images, leads ``z_map`` back to them; None for arrays

    Raises
    ------
    ValueError
        For a size above half of the groups, and for input that
        :func:`information_learning_curve` refuses.
    TypeError
        For a classifier without the requested pattern.

    Notes
    -----
    Reproducibility measures the variance of a map and not its bias: a wrong model
    can reproduce perfectly. A map without direction (constant) agrees with nothing:
    NaN. Sensitivity maps have no sign, so their voxelwise values correlate less
    than canonical maps, and their Z map says where sensitivity is above its average
    over voxels.

    References
    ----------
    Strother et al. 2002, NeuroImage 15, 747-771 (NPAIRS); Kjems et al. 2002,
    NeuroImage 15, "Pattern reproducibility".

    Examples
    --------
    >>> from neuroextrap.learning_curves import (
    ...     pattern_reproducibility,
    ...     simulate_hierarchical_scans,
    ... )
    >>> data = simulate_hierarchical_scans(n_subjects=12)
    >>> agreement = pattern_reproducibility(
    ...     data.X, data.coarse, data.groups, n_splits=10, pattern="canonical"
    ... )
    >>> agreement.reproducibility.shape, agreement.z_map.shape
    ((1, 10), (1, 500))
    """
    from sklearn.utils import Bunch

    plain: Any = {"priors": None, "prior_weight": None}
    asked = as_options(CurveOptions, pattern_reproducibility, options, **plain)
    scans = asked.read(X)
    run = prepare_run(scans.X, y, groups, asked)
    sizes = _half_sizes(asked.train_sizes, len(run.group_names), asked.pattern)
    found = evaluate_splits(run, sizes, asked, z=True)
    correlations = found["reproducibility"]
    spread = np.full(len(sizes), np.nan)
    if asked.n_splits > 1:
        spread = correlations.std(axis=1, ddof=1)
    return Bunch(
        train_sizes=sizes,
        reproducibility=correlations,
        mean=correlations.mean(axis=1),
        spread=spread,
        signal_to_noise=_signal_to_noise(correlations.mean(axis=1)),
        z_map=scans.expand(found["z_sum"].sum(axis=1) / asked.n_splits),
        masker=scans.masker,
    )


def _signal_to_noise(correlation):
    """Return the ratio sqrt(S / (N / 2)) of two maps that correlate by S / (S + N)."""
    signal = np.clip(correlation, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * signal / (1 - signal))


def _half_sizes(train_sizes, n_groups, pattern):
    """Return the sizes of the two sets, at most half of the groups."""
    if pattern is None:
        raise ValueError(
            "pattern=None leaves no map to reproduce; use 'sensitivity', "
            "'log_sensitivity' or 'canonical'"
        )
    if n_groups < 2:
        raise ValueError(
            f"groups must name at least 2 subjects for disjoint halves, got {n_groups}"
            "; add subjects"
        )
    if train_sizes is None:
        return np.array([n_groups // 2])
    sizes = check_train_sizes(train_sizes, n_groups)
    if 2 * sizes[-1] > n_groups:
        raise ValueError(
            f"train_sizes={sizes.tolist()}: two disjoint sets of {sizes[-1]} do not "
            f"fit into {n_groups} groups; use at most {n_groups // 2}"
        )
    return sizes
