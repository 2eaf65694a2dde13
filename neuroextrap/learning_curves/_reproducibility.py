"""Reproducibility of maps over disjoint halves of the subjects (NPAIRS)."""

import numpy as np

from neuroextrap.learning_curves._curve_run import prepare_run
from neuroextrap.learning_curves._patterns import check_pattern
from neuroextrap.learning_curves._scans import read_scans
from neuroextrap.learning_curves._splits import check_train_sizes
from neuroextrap.learning_curves._tasks import run_tasks


def pattern_reproducibility(  # noqa: PLR0913
    X,
    y,
    groups,
    *,
    classifier=None,
    center="group",
    scale=None,
    mask=None,
    pattern="sensitivity",
    rotation_invariant=None,
    train_sizes=None,
    n_splits=150,
    random_state=0,
    memory=None,
    n_jobs=1,
):
    """Measure the agreement of maps of models trained on disjoint sets of subjects.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or images
        Scans; images (4-D, list of 3-D, paths) are read through ``mask``.
    y : array-like of shape (n_samples,)
        Label of every scan.
    groups : array-like of shape (n_samples,)
        Subject of every scan.
    classifier : classifier or None, default=None
        Any classifier that has a sensitivity map. If None, ``CanonicalVariates()`` with
        as many components as the smallest subject has scans.
    center : {"group", None}, default="group"
        "group" subtracts every subject's mean scan.
    scale : {"mean", None}, default=None
        "mean" first divides each scan by its mean over the voxels.
    mask : path-like, image, masker or None, default=None
        Where the voxels of images are. If None, a mask is computed from the images.
    pattern : {"sensitivity", "log_sensitivity", "canonical"}, default="sensitivity"
        Map compared: the sensitivity of p(g|x) or of log p(g|x) on the training
        scans, or the first canonical map, its sign set by the class means.
    rotation_invariant : bool or None, default=None
        Whether training on rotated features gives the same predictions. If None, True
        for canonical variates and False for all else.
    train_sizes : array-like of int or None, default=None
        Subjects in each of the two sets. If None, half of all.
    n_splits : int, default=150
        Random pairs of sets at every size.
    random_state : None, int or Generator, default=0
        Seed of the splits, which are those of :func:`information_learning_curve` with
        the same seed. Results do not depend on ``n_jobs``.
    memory : path-like, joblib.Memory or None, default=None
        Cache for scans read from image files; a changed file is read anew. Does not
        affect results. If None, nothing is cached.
    n_jobs : int, default=1
        Number of processes.

    Returns
    -------
    sklearn.utils.Bunch
        - ``train_sizes``: (n_sizes,)
        - ``reproducibility``: (n_sizes, n_splits), correlation over the voxels
        - ``mean``, ``spread``: (n_sizes,), its mean and standard deviation
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
        For a classifier without the pattern asked for.

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

    scans = read_scans(X, mask, memory=memory)
    run = prepare_run(
        scans.X,
        y,
        groups,
        classifier=classifier,
        center=center,
        scale=scale,
        priors=None,
        rotation_invariant=rotation_invariant,
        random_state=random_state,
    )
    check_pattern(pattern, run.classifier)
    sizes = _half_sizes(train_sizes, len(run.group_names), pattern)
    tasks = run_tasks(
        run,
        sizes,
        n_splits,
        n_jobs=n_jobs,
        options={"prior_weight": None, "pattern": pattern, "score": False, "z": True},
    )
    correlations = np.array(
        [[r for task in size for r in task["reproducibility"]] for size in tasks]
    )
    z_sums = np.array([np.sum([t["z_sum"] for t in size], axis=0) for size in tasks])
    spread = np.full(len(sizes), np.nan)
    if n_splits > 1:
        spread = correlations.std(axis=1, ddof=1)
    return Bunch(
        train_sizes=sizes,
        reproducibility=correlations,
        mean=correlations.mean(axis=1),
        spread=spread,
        z_map=scans.expand(z_sums / n_splits),
        masker=scans.masker,
    )


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
