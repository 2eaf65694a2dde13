"""Splits evaluated in parallel, a fixed number of them a task."""

import numpy as np

from neuroextrap.learning_curves._one_split import (
    components_in_use,
    score_split,
    train,
)
from neuroextrap.learning_curves._patterns import (
    align_sign,
    feature_maps,
    pattern_factor,
    standardize_maps,
)
from neuroextrap.learning_curves._splits import draw_split

# fixed, so that results do not depend on the number of workers
_SPLITS_PER_TASK = 10


def run_tasks(problem, sizes, n_splits, *, n_jobs, options):
    """Evaluate all splits, a fixed number of them a task.

    Parameters
    ----------
    problem : Problem
        Samples and classifier.
    sizes : ndarray of int
        Training sizes.
    n_splits : int
        Splits a size.
    n_jobs : int
        Number of processes.
    options : dict
        Passed on to every task.

    Returns
    -------
    list of list of dict
        For each size, its chunks in order.
    """
    from joblib import Parallel, delayed

    starts = range(0, n_splits, _SPLITS_PER_TASK)
    tasks = [
        (int(size), range(start, min(start + _SPLITS_PER_TASK, n_splits)))
        for size in sizes
        for start in starts
    ]
    done = Parallel(n_jobs=n_jobs)(
        delayed(evaluate_chunk)(problem, size, splits, **options)
        for size, splits in tasks
    )
    step = len(starts)
    return [done[step * i : step * (i + 1)] for i in range(len(sizes))]


def evaluate_chunk(
    problem, size, splits, *, prior_weight, pattern, score=True, z=False
):
    """Evaluate some splits of one size on one BLAS thread.

    Parameters
    ----------
    problem : Problem
        Samples and classifier.
    size : int
        Number of training groups.
    splits : range
        Numbers of the splits.
    prior_weight : None, float or "cross-validated"
        Regularization of the predictions.
    pattern : str or None
        Kind of map.
    score : bool
        Whether test groups are predicted.
    z : bool
        Whether the sum of the reproducible Z maps is wanted.

    Returns
    -------
    dict
        ``scores``, ``n_components``, ``reproducibility`` (a list entry a split) and
        ``z_sum``.
    """
    from threadpoolctl import threadpool_limits

    twin = pattern is not None and 2 * size <= len(problem.group_names)
    scores, components, factors = [], [], []
    with threadpool_limits(1):
        for split in splits:
            order = draw_split(problem.seed, size, split, problem.holds, twin=twin)
            model = train(problem, order[:size])
            components.append(components_in_use(model))
            if score:
                scores.append(score_split(problem, model, order[:size], prior_weight))
            if twin:
                factors += _twin_factors(problem, model, order, size, pattern)
        found, z_sum = _agreement(problem, factors, pattern, z=z)
    reproducibility = found if twin else [np.nan] * len(splits)
    return {
        "scores": scores,
        "n_components": components,
        "reproducibility": reproducibility,
        "z_sum": z_sum,
    }


def _twin_factors(problem, model, order, size, pattern):
    """Factors of the map of a model and of its twin on disjoint groups."""
    members, others = order[:size], order[size : 2 * size]
    twin = train(problem, others)
    first = pattern_factor(problem, model, members, pattern)
    second = pattern_factor(problem, twin, others, pattern)
    if pattern == "canonical":
        second = second * align_sign(model, twin)
    return [first, second]


def _agreement(problem, factors, pattern, *, z):
    """Correlations of pairs of maps, and the sum of their reproducible Z maps."""
    if not factors:
        return [], None
    maps = standardize_maps(feature_maps(problem, factors, pattern))
    first, second = maps[::2], maps[1::2]
    correlations = np.mean(first * second, axis=1)
    if not z:
        return correlations.tolist(), None
    noise = np.sqrt(np.maximum(1 - correlations, np.finfo(np.float64).eps))
    z_maps = (first + second) / (np.sqrt(2) * noise[:, None])
    return correlations.tolist(), z_maps.sum(axis=0)
