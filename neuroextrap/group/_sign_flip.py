"""Is the mean over subjects above zero? Sign flips and the largest statistic."""

import warnings

import numpy as np

from neuroextrap.group._subjects import check_count, read_subjects, to_maps

# statistics that differ by rounding only are ties, as they are for exact numbers
_FLOAT_SLACK = 1e-9
_BLOCK_BYTES = 2**24


def sign_flip_test(
    imgs,
    *,
    mask=None,
    baseline=0.0,
    statistic="t",
    n_permutations=1000,
    two_sided=False,
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
    imgs : array of shape (n_subjects, n_features), images, or paths
        One map of each subject: 3-D images, surface images, or one 4-D image.
    mask : None, path, image, NiftiMasker or SurfaceMasker, default=None
        None takes every voxel that is finite in all subjects; zeros are values, so
        give a mask where they stand for "outside".
    baseline : float, default=0.0
        Subtracted from every map (the chance level of accuracies).
    statistic : {"t", "mean"}, default="t"
        What is compared: one-sample t, or the mean.
    n_permutations : int, default=1000
        Random flips; all distinct ones are used where there are no more than that,
        the observed one included.
    two_sided : bool, default=False
        Compare absolute values.
    random_state : None, int or numpy.random.Generator, default=0
        Of the flips.

    Returns
    -------
    maps : dict of ndarray, shape (n_features,), or of images
        ``mean`` (minus the baseline), ``t``, ``p_value`` and ``p_value_fwe``; NaN
        where a subject has no value or all subjects have the same one.

    Raises
    ------
    ValueError
        When there are fewer than two subjects, images lie on different grids, or an
        option is outside its range.

    Warns
    -----
    UserWarning
        When all flips are enumerated; says how small p can get.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging", Human Brain Mapping 15. Winkler et al. 2014, "Permutation inference
    for the general linear model", NeuroImage 92, section on sign flipping.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.group import sign_flip_test
    >>> maps = np.random.default_rng(0).normal(size=(14, 3)) + [2.0, 0.0, 0.0]
    >>> found = sign_flip_test(maps, n_permutations=999)
    >>> float(found["p_value_fwe"][0]), bool(found["p_value_fwe"][1] > 0.05)
    (0.001, True)
    """
    check_count(n_permutations, "n_permutations")
    if statistic not in ("t", "mean"):
        raise ValueError(f"statistic={statistic!r} is not known; use 't' or 'mean'")
    if not np.isfinite(baseline):
        raise ValueError(f"baseline={baseline!r} must be a finite number")
    subjects = read_subjects(imgs, mask, "imgs")
    usable = subjects.usable & (subjects.values != subjects.values[:1]).any(axis=0)
    if not usable.any():
        raise ValueError("imgs are the same in all subjects; check that maps differ")
    subjects = subjects._replace(usable=usable)
    values = subjects.values[:, usable].astype(float) - baseline
    flips = _flips(len(values), n_permutations, two_sided, random_state)
    return to_maps(_test(values, flips, statistic, two_sided), subjects)


def _flips(n_subjects, n_permutations, two_sided, random_state):
    """Return signs, shape (n_flips, n_subjects); the first row flips nothing."""
    # two-sided, a flip and its opposite are one: the first subject keeps its sign
    free = n_subjects - bool(two_sided)
    if free < 60 and 2**free <= n_permutations + 1:
        warnings.warn(
            f"only {2**free} distinct sign flips of {n_subjects} subjects exist; all "
            f"are used and no p-value can be below {1 / 2**free:.3g}",
            stacklevel=3,
        )
        bits = np.arange(2**free)[:, None] >> np.arange(free) & 1
    else:
        rng = np.random.default_rng(random_state)
        bits = rng.integers(0, 2, size=(n_permutations + 1, free))
        bits[0] = 0
    signs = np.ones((len(bits), n_subjects))
    signs[:, n_subjects - free :] -= 2.0 * bits
    return signs


def _test(values, flips, statistic, two_sided):
    """Compute means, t and p-values of all features, a block at a time.

    Flips leave a feature's sum of squares as it is, so t grows with the mean of the
    feature divided by its root mean square: one matrix product serves both statistics.
    """
    n_subjects, n_features = values.shape
    mean = values.mean(axis=0)
    t = mean / (values.std(axis=0, ddof=1) / np.sqrt(n_subjects))
    if statistic == "t":
        values = values / np.sqrt((values**2).mean(axis=0))
    slack = _FLOAT_SLACK * np.abs(values).mean(axis=0)
    p, least = np.empty(n_features), np.empty(n_features)
    maxima = np.full(len(flips), -np.inf)
    step = max(1, _BLOCK_BYTES // (8 * len(flips)))
    for start in range(0, n_features, step):
        here = slice(start, start + step)
        compared = flips @ values[:, here] / n_subjects
        if two_sided:
            np.abs(compared, out=compared)
        least[here] = compared[0] - slack[here]
        p[here] = np.count_nonzero(compared >= least[here], axis=0) / len(flips)
        np.maximum(maxima, compared.max(axis=1), out=maxima)
    below = np.searchsorted(np.sort(maxima), least, side="left")
    p_fwe = (len(maxima) - below) / len(maxima)
    return {"mean": mean, "t": t, "p_value": p, "p_value_fwe": p_fwe}
