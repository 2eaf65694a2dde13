"""Is the mean over subjects above chance? Sign flips, and permuted first-level maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.group._first_levels import (
    BYTE,
    FirstLevelOptions,
    read_first_levels,
)
from neuroextrap.group._group_maps import group_maps
from neuroextrap.group._prevalence import prevalence_test
from neuroextrap.group._second_level import compare, second_level_test
from neuroextrap.group._second_level_design import SecondLevelOptions
from neuroextrap.group._subjects import MapOptions
from neuroextrap.stats import _pvalues
from neuroextrap.stats._null_counts import tie_floor
from neuroextrap.stats._rearrangement_test import find_clusters
from neuroextrap.stats._shared_options import as_options, described_by, takes_options
from neuroextrap.stats._true_discoveries import DiscoveryBounds
from neuroextrap.stats._validation import check_choice, check_level


@described_by(second_level_test)
@takes_options(MapOptions)
def sign_flip_test(
    imgs: Any,
    *,
    baseline: float = 0.0,
    statistic: str = "t",
    n_permutations: int = 1000,
    two_sided: bool = False,
    random_state: int | np.random.Generator | None = 0,
    **options: Any,
) -> RegionMaps:
    """Test the mean over subjects by flipping the signs of whole subjects.

    Under the null hypothesis every subject's map, minus the baseline, is as likely as
    its negative (symmetric about the baseline). A flip changes the sign of all voxels
    of a subject together, so the largest statistic over voxels controls the
    family-wise error whatever the correlation of voxels. Maps of accuracy are not
    symmetric about chance in general, and a mean above chance says nothing about how
    many subjects carry the effect; see :func:`prevalence_test` for that, and
    :func:`second_level_test` for groups, covariates, clusters and more.

    Parameters
    ----------
    statistic : {"t", "mean"}, default="t"
        Statistic that is compared: the one-sample t, or the mean.
    n_permutations : int, default=1000
        Number of random flips. If no more distinct flips exist, each is used once.
    two_sided : bool, default=False
        Whether a mean below the baseline counts as evidence too.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the flips.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``mean`` (minus the baseline), ``t``, ``p_value`` and ``p_value_fwe``
        (family-wise, by the largest statistic over voxels); with at least 37
        permutations ``true_discovery_proportion``, see
        ``maps.true_discoveries(region)``. NaN where a subject has no value or all
        subjects have the same one.

    Raises
    ------
    ValueError
        If there are fewer than two subjects, a file is there twice, images lie in
        different spaces or on different grids, or an option is outside its range.

    Warns
    -----
    UserWarning
        If all distinct flips are used; says how small a p-value can get.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging", Human Brain Mapping 15. Winkler et al. 2014, "Permutation inference
    for the general linear model", NeuroImage 92, section on sign flipping.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.group import sign_flip_test
    >>> subjects = np.random.default_rng(0).normal(size=(14, 3)) + [2.0, 0.0, 0.0]
    >>> maps = sign_flip_test(subjects, n_permutations=999)
    >>> float(maps["p_value_fwe"][0]), bool(maps["p_value_fwe"][1] > 0.05)
    (0.001, True)
    """
    check_choice(statistic, "statistic", ("t", "mean"))
    how = as_options(
        SecondLevelOptions,
        sign_flip_test,
        options,
        baseline=baseline,
        statistic=statistic,
        two_sided=two_sided,
        n_permutations=n_permutations,
        random_state=random_state,
    )
    maps = compare(imgs, how)
    names = "effect", "t", "p_value", "p_value_fwe", "true_discovery_proportion"
    kept = {name: maps[name] for name in names if name in maps}
    maps.clear()
    maps.update({"mean": kept.pop("effect")} | kept)
    return maps


@described_by(prevalence_test, SecondLevelOptions)
@takes_options(FirstLevelOptions)
def group_permutation_test(
    scores: Any,
    null_scores: Any,
    *,
    cluster_threshold: float | None = None,
    adjacency: Any = None,
    **options: Any,
) -> RegionMaps:
    """Test the mean over subjects by combining their permuted first-level maps.

    For each second-level permutation one map of every subject is drawn (the observed
    one is one of them) and the maps are averaged, as in Stelzer et al. 2013. Nothing is
    assumed of the distribution of accuracies, and clusters are formed by a threshold of
    each voxel's own. What is tested is the global null hypothesis: that no subject
    carries information. Where true accuracies cannot lie below chance, its rejection
    shows that some subject does; :func:`prevalence_test` estimates how many.

    Parameters
    ----------
    cluster_threshold : float or None, default=None
        Cluster-forming threshold as a p-value (0.001): voxels whose mean exceeds
        all but this proportion of their own permuted means. If None, none is tested.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``mean`` over subjects, ``p_value`` (each voxel by itself) and ``p_value_fwe``
        (family-wise, by the largest mean, which suits maps of one scale such as
        accuracies); with clusters ``cluster_extent`` (voxels) and
        ``p_value_fwe_cluster_extent`` (by the largest cluster); with at least 37
        permutations ``true_discovery_proportion``, see
        ``maps.true_discoveries(region)``. NaN where a subject has
        no value. Of images, ``maps.generate_report()`` makes a page.

    Raises
    ------
    ValueError
        If subjects, features or options do not fit, permuted scores are NaN where the
        observed ones are not, files show that they are of other runs, subjects or
        statistics than the observed ones, or there are too few permutations for the
        threshold.

    References
    ----------
    Stelzer, Chen & Turner 2013, "Statistical inference and multiple testing correction
    in classification-based multi-voxel pattern analysis", NeuroImage 65. (Clusters are
    corrected there by the false discovery rate, here by the largest one.)

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.group import group_permutation_test
    >>> rng = np.random.default_rng(0)
    >>> null = rng.normal(size=(8, 99, 2))
    >>> scores = rng.normal(size=(8, 2)) + [3.0, 0.0]
    >>> maps = group_permutation_test(scores, null, n_permutations=1000)
    >>> float(maps["p_value_fwe"][0]), bool(maps["p_value_fwe"][1] > 0.05)
    (0.001, True)
    """
    given = as_options(FirstLevelOptions, group_permutation_test, options)
    levels = read_first_levels(scores, null_scores, given)
    n_maps, neighbors = 1 + len(levels.picks), None
    if cluster_threshold is not None:
        _check_threshold(cluster_threshold, n_maps)
        neighbors = levels.subjects.neighbors(adjacency)
    observed = levels.observed()
    mean = observed.sum(axis=0) / len(observed)
    n_marked = 0 if neighbors is None else len(mean)
    marks = np.zeros((n_maps, -(-n_marked // BYTE)), dtype=np.uint8)

    def score(_, batch):
        total = np.zeros((len(levels.picks), len(mean[batch])))
        for picks, maps in levels.by_subject(batch):
            total += maps[picks]
        means = total / len(observed)
        if neighbors is not None:
            bits = _marked(np.vstack([mean[batch], means]), cluster_threshold)
            marks[:, batch.start // BYTE :][:, : bits.shape[1]] = bits
        return means

    counted = levels.permute(score, tie_floor(mean, np.abs(observed).mean(axis=0)))
    maps = {"mean": mean, **counted.p_values()}
    null_maxima = {"mean": counted.counts.maxima}
    discoveries = DiscoveryBounds.of(mean, counted.largest, 1 - _pvalues.LEVEL)
    if neighbors is not None:
        of_clusters, null_maxima["cluster_extent"] = _cluster_maps(
            (np.unpackbits(row, count=n_marked) for row in marks), neighbors
        )
        maps |= of_clusters
    return group_maps(
        "permutation",
        maps,
        levels.subjects,
        null_maxima=null_maxima,
        discoveries=discoveries,
        options={"cluster_threshold": cluster_threshold, **levels.options},
    )


def _marked(means, level):
    """Return which means (n_maps, n) lie above their thresholds, a bit for each."""
    n_above = max(1, int(level * len(means)))
    # a mean is above if fewer than a proportion `level` of all are as large
    cut = np.partition(means, -n_above - 1, axis=0)[-n_above - 1]
    return np.packbits(means > cut, axis=1)


def _cluster_maps(marks, neighbors):
    """Return maps of the observed clusters, and the largest extent of every other.

    `marks` (n_features,) of every combination are 1 above the threshold, observed ones
    first.
    """
    of_marks = (find_clusters(mark.astype(float), neighbors) for mark in marks)
    observed = next(of_marks)
    maxima = [clusters.extent.max(initial=0.0) for clusters in of_marks]
    extent = observed.spread(observed.extent)
    p = _pvalues.max_statistic_p_value(extent, maxima)
    maps = {
        "cluster_extent": extent,
        "p_value_fwe_cluster_extent": np.where(extent > 0, p, 1.0),
    }
    return maps, np.array(maxima)


def _check_threshold(level, n_maps):
    """Check that the threshold can be estimated from `n_maps` second-level maps."""
    check_level(level, "cluster_threshold")
    if level * n_maps < 1:
        raise ValueError(
            f"cluster_threshold={level} needs at least {int(np.ceil(1 / level))} "
            f"second-level permutations, got {n_maps}; raise n_permutations or the "
            "threshold"
        )
