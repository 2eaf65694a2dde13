"""Is the mean over subjects above zero? Sign flips and the largest statistic."""

import warnings

import numpy as np

from neuroextrap.group._subjects import check_count, read_subjects, to_maps
from neuroextrap.stats._null_counts import NullCounts, tie_floor
from neuroextrap.stats._sign_flips import count_sign_flips, sign_flips
from neuroextrap.stats._validation import random_generator

_BATCH_BYTES = 2**24


def sign_flip_test(  # noqa: PLR0913 - the options of one documented call
    imgs,
    *,
    mask=None,
    baseline=0.0,
    statistic="t",
    n_permutations=1000,
    two_sided=False,
    allow_native_space=False,
    random_state=0,
):
    """Test the mean over subjects by flipping the signs of whole subjects.

    Under the null hypothesis every subject's map, minus the baseline, is as likely as
    its negative (symmetric about the baseline). A flip changes the sign of all voxels
    of a subject together, so the largest statistic over voxels controls the
    family-wise error whatever the correlation of voxels. Maps of accuracy are not
    symmetric about chance in general, and a mean above chance says nothing about how
    many subjects carry the effect; see :func:`prevalence_test` for that.

    Parameters
    ----------
    imgs : array-like of shape (n_subjects, n_features), images, or paths
        One map of each subject: 3-D images, surface images, or one 4-D image.
    mask : path, image, NiftiMasker, SurfaceMasker or None, default=None
        Where to test. If None, every voxel that is finite in all subjects is tested;
        zeros are values, so give a mask where they mean "outside the brain".
    baseline : float, default=0.0
        Value subtracted from every map (the chance level of accuracies).
    statistic : {"t", "mean"}, default="t"
        Statistic that is compared: the one-sample t, or the mean.
    n_permutations : int, default=1000
        Number of random flips. If no more distinct flips exist, each is used once.
    two_sided : bool, default=False
        Whether a mean below the baseline counts as evidence too.
    allow_native_space : bool, default=False
        Whether maps in the subjects' own spaces (``space-T1w`` in a name, or different
        grids without a name or header that says MNI) are tested voxel by voxel all the
        same.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the flips.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``mean`` (minus the baseline), ``t``, ``p_value`` and ``p_value_fwe``
        (family-wise, by the largest statistic over voxels); NaN where a subject has no
        value or all subjects have the same one.

    Raises
    ------
    ValueError
        If there are fewer than two subjects, images lie in different spaces or on
        different grids, or an option is outside its range.

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
    check_count(n_permutations, "n_permutations")
    if statistic not in ("t", "mean"):
        raise ValueError(f"statistic={statistic!r} is not known; use 't' or 'mean'")
    if not isinstance(two_sided, (bool, np.bool_)):
        raise TypeError(f"two_sided={two_sided!r} must be True or False")
    if not np.isfinite(baseline):
        raise ValueError(f"baseline={baseline!r} must be a finite number")
    random_generator(random_state)
    subjects = read_subjects(imgs, mask, "imgs", allow_native_space=allow_native_space)
    usable = subjects.usable & (subjects.values != subjects.values[:1]).any(axis=0)
    if not usable.any():
        raise ValueError("imgs are the same in all subjects; check that maps differ")
    subjects = subjects._replace(usable=usable)
    values = subjects.values[:, usable].astype(float) - baseline
    _warn_if_few_flips(len(values), n_permutations, two_sided)
    flips = sign_flips(
        len(values), n_permutations, two_sided=two_sided, random_state=random_state
    )
    return to_maps(_test(values, flips, statistic, two_sided), subjects)


def _warn_if_few_flips(n_subjects, n_permutations, two_sided):
    """Warn if all distinct flips are used, which limits how small p can get."""
    n_flips = count_sign_flips(n_subjects, two_sided=two_sided)
    if n_flips <= n_permutations + 1:
        warnings.warn(
            f"only {n_flips} distinct sign flips of {n_subjects} subjects exist; all "
            f"are used and no p-value can be below {1 / n_flips:.3g}",
            stacklevel=3,
        )


def _test(values, flips, statistic, two_sided):
    """Compute means, t and p-values of all features (n_subjects, n_features).

    Flips leave a feature's sum of squares as it is, so t grows with the mean of the
    feature divided by its root mean square: one matrix product serves both statistics.
    Features are taken a batch at a time; the first row of the product is the observed
    statistic, so both sides of the comparison go through one product.
    """
    n_subjects, n_features = values.shape
    mean = values.mean(axis=0)
    t = mean / (values.std(axis=0, ddof=1) / np.sqrt(n_subjects))
    if statistic == "t":
        values = values / np.sqrt((values**2).mean(axis=0))
    scale = np.abs(values).mean(axis=0)
    signs = np.concatenate([np.ones((1, n_subjects)), flips])
    counts = NullCounts.start(np.empty(n_features), len(flips))
    width = max(1, _BATCH_BYTES // (8 * len(signs)))
    for first in range(0, n_features, width):
        batch = slice(first, first + width)
        compared = signs @ values[:, batch] / n_subjects
        if two_sided:
            np.abs(compared, out=compared)
        counts.score[batch] = tie_floor(compared[0], scale[batch])
        counts.add(compared[1:].T, 0, batch)
    p_values = {"p_value": counts.p_value(), "p_value_fwe": counts.p_value_fwe()}
    return {"mean": mean, "t": t, **p_values}
