"""Is the mean over subjects above zero? Sign flips and the largest statistic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.group._second_level import second_level_test
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_choice


@described_by(second_level_test)
def sign_flip_test(  # noqa: PLR0913 - the options of one documented call
    imgs: Any,
    *,
    mask: Any = None,
    baseline: float = 0.0,
    statistic: str = "t",
    n_permutations: int = 1000,
    two_sided: bool = False,
    allow_mixed: bool | Sequence[str] = False,
    allow_native_space: bool = False,
    random_state: int | np.random.Generator | None = 0,
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
    maps = second_level_test(
        imgs,
        mask=mask,
        baseline=baseline,
        statistic=statistic,
        two_sided=two_sided,
        n_permutations=n_permutations,
        random_state=random_state,
        allow_mixed=allow_mixed,
        allow_native_space=allow_native_space,
    )
    names = "effect", "t", "p_value", "p_value_fwe", "true_discovery_proportion"
    kept = {name: maps[name] for name in names if name in maps}
    maps.clear()
    maps.update({"mean": kept.pop("effect")} | kept)
    return maps
