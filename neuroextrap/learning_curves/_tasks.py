"""Evaluation of splits in parallel, a fixed number of them per task."""

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
from neuroextrap.stats._validation import check_n_jobs

# fixed, so that results do not depend on the number of workers
_SPLITS_PER_TASK = 10


def run_tasks(run, sizes, n_splits, *, n_jobs, options):
    """Evaluate all splits; return, for each size, the results of its tasks in order."""
    from joblib import Parallel, delayed

    check_n_jobs(n_jobs)
    starts = range(0, n_splits, _SPLITS_PER_TASK)
    tasks = [
        (int(size), range(start, min(start + _SPLITS_PER_TASK, n_splits)))
        for size in sizes
        for start in starts
    ]
    done = Parallel(n_jobs=n_jobs)(
        delayed(evaluate_task)(run, size, splits, **options) for size, splits in tasks
    )
    n_tasks = len(starts)  # per size
    return [done[n_tasks * i : n_tasks * (i + 1)] for i in range(len(sizes))]


def evaluate_task(run, size, splits, *, prior_weight, pattern, score=True, z=False):
    """Evaluate a range of splits of one size, on one BLAS thread.

    Returns a dict of ``scores``, ``n_components`` and ``reproducibility`` (lists with
    one entry per split) and ``z_sum``, the sum of the reproducible Z maps if `z`. Test
    groups are predicted only if `score`.
    """
    from threadpoolctl import threadpool_limits

    twin = pattern is not None and 2 * size <= len(run.group_names)
    # a training group left out must leave every class to the others
    least = 2 if score and prior_weight == "cross-validated" else 1
    scores, components, factors = [], [], []
    with threadpool_limits(1):
        for split in splits:
            order = draw_split(run.seed, size, split, run.holds, twin=twin, least=least)
            model = train(run, order[:size])
            components.append(components_in_use(model))
            if score:
                scores.append(score_split(run, model, order[:size], prior_weight))
            if twin:
                factors += _twin_factors(run, model, order, size, pattern)
        correlations, z_sum = _agreement(run, factors, pattern, z=z)
    reproducibility = correlations if twin else [np.nan] * len(splits)
    return {
        "scores": scores,
        "n_components": components,
        "reproducibility": reproducibility,
        "z_sum": z_sum,
    }


def _twin_factors(run, model, order, size, pattern):
    """Return the factors of the maps of a model and of its twin on disjoint groups."""
    members, others = order[:size], order[size : 2 * size]
    twin = train(run, others)
    first = pattern_factor(run, model, members, pattern)
    second = pattern_factor(run, twin, others, pattern)
    if pattern == "canonical":
        second = second * align_sign(model, twin)
    return [first, second]


def _agreement(run, factors, pattern, *, z):
    """Return the correlations of pairs of maps, and the sum of their Z maps."""
    if not factors:
        return [], None
    maps = standardize_maps(feature_maps(run, factors, pattern))
    first, second = maps[::2], maps[1::2]
    correlations = np.mean(first * second, axis=1)
    if not z:
        return correlations.tolist(), None
    noise = np.sqrt(np.maximum(1 - correlations, np.finfo(np.float64).eps))
    z_maps = (first + second) / (np.sqrt(2) * noise[:, None])
    return correlations.tolist(), z_maps.sum(axis=0)
