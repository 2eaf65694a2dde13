"""Reproducibility of maps over disjoint halves of the subjects (NPAIRS)."""

import numpy as np

from neuroextrap.learning_curves._images_in import as_samples
from neuroextrap.learning_curves._patterns import check_pattern
from neuroextrap.learning_curves._problem import build_problem
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
    """Agreement of the maps of models trained on disjoint sets of subjects.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or images
        Scans.
    y : array of shape (n_samples,)
        Labels.
    groups : array of shape (n_samples,)
        Subject of every scan.
    classifier : classifier, optional
        As in :func:`information_learning_curve`; it must have a sensitivity map.
    center : {"group", None}
        "group" subtracts every subject's mean scan.
    scale : {"mean", None}
        "mean" first divides each scan by its mean over the voxels.
    mask : image, path or masker, optional
        For images.
    pattern : {"sensitivity", "log_sensitivity", "canonical"}
        Map compared: the sensitivity of p(g|x) or of log p(g|x) on the training
        scans, or the first canonical map, its sign set by the class means.
    rotation_invariant : bool, optional
        As in :func:`information_learning_curve`.
    train_sizes : array of int, optional
        Subjects in each of the two sets; None: half of all.
    n_splits : int
        Random pairs of sets at every size.
    random_state : None, int or Generator
        Results depend on it, but not on ``n_jobs``; splits are those of
        :func:`information_learning_curve` with the same seed.
    memory : None, path or joblib.Memory, optional
        Folder where what is read from image files is remembered between calls; a
        changed file is read anew. Does not affect results.
    n_jobs : int
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
        As :func:`information_learning_curve`; a size above half of the groups.
    TypeError
        A classifier without the pattern asked for.

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
    >>> found = pattern_reproducibility(
    ...     data.X, data.coarse, data.groups, n_splits=10, pattern="canonical"
    ... )
    >>> found.reproducibility.shape, found.z_map.shape
    ((1, 10), (1, 500))
    """
    from sklearn.utils import Bunch

    samples = as_samples(X, mask, memory=memory)
    problem = build_problem(
        samples.X,
        y,
        groups,
        classifier=classifier,
        center=center,
        scale=scale,
        priors=None,
        rotation_invariant=rotation_invariant,
        random_state=random_state,
    )
    check_pattern(pattern, problem.classifier)
    sizes = _half_sizes(train_sizes, len(problem.group_names), pattern)
    chunks = run_tasks(
        problem,
        sizes,
        n_splits,
        n_jobs=n_jobs,
        options={"prior_weight": None, "pattern": pattern, "score": False, "z": True},
    )
    found = np.array(
        [[r for c in size for r in c["reproducibility"]] for size in chunks]
    )
    z_sums = np.array([np.sum([c["z_sum"] for c in size], axis=0) for size in chunks])
    return Bunch(
        train_sizes=sizes,
        reproducibility=found,
        mean=found.mean(axis=1),
        spread=found.std(axis=1, ddof=1)
        if n_splits > 1
        else np.full(len(sizes), np.nan),
        z_map=samples.expand(z_sums / n_splits),
        masker=samples.masker,
    )


def _half_sizes(train_sizes, n_groups, pattern):
    """Sizes of the two sets, at most half of the groups."""
    if pattern is None:
        raise ValueError(
            "pattern=None leaves no map to reproduce; allowed: 'sensitivity', "
            "'log_sensitivity', 'canonical'."
        )
    if n_groups < 2:
        raise ValueError(f"{n_groups} group given; disjoint halves need at least 2.")
    if train_sizes is None:
        return np.array([n_groups // 2])
    sizes = check_train_sizes(train_sizes, n_groups)
    if 2 * sizes[-1] > n_groups:
        raise ValueError(
            f"train_sizes={sizes.tolist()}: two disjoint sets of {sizes[-1]} do not "
            f"fit into {n_groups} groups; use at most {n_groups // 2}."
        )
    return sizes
