"""The run over regions that every analysis makes, and the checks before it."""

import numpy as np

from neuroextrap.maps._identification import local_tail_p_values
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._null import null_file
from neuroextrap.margins._progress import Progress
from neuroextrap.margins._resources import parse_memory, parse_shard


def check_run_parameters(estimator):
    """Check the parameters that every analysis of regions has; no data are needed.

    Parameters
    ----------
    estimator : RegionAnalysis
        With radius, confidence_level, min_voxels, stride, n_permutations, save_null,
        max_memory and shard.

    Raises
    ------
    ValueError
        When a parameter is outside its range, or two exclude one another.

    Examples
    --------
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.analysis._run_parameters import check_run_parameters
    >>> check_run_parameters(IdentificationSearchLight(radius=-1))
    Traceback (most recent call last):
    ...
    ValueError: radius=-1 must be a length in mm above 0
    """
    _check_range(estimator, "radius", np.inf, "a length in mm above 0")
    _check_range(estimator, "confidence_level", 1, "a number between 0 and 1")
    for name, least in (("min_voxels", 1), ("stride", 1), ("n_permutations", 0)):
        value = getattr(estimator, name)
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name}={value!r} must be an integer of at least {least}")
    parse_shard(estimator.shard)
    parse_memory(estimator.max_memory)
    if estimator.save_null is not None and estimator.n_permutations == 0:
        raise ValueError("save_null needs permutations; set n_permutations")
    if estimator.save_null is not None and estimator.shard is not None:
        raise ValueError("save_null and shard do not go together; save in one run")


def _check_range(estimator, name, high, allowed):
    """Raise unless a parameter is a number above 0 and below another."""
    value = getattr(estimator, name)
    if not isinstance(value, (int, float, np.number)) or not 0 < value < high:
        raise ValueError(f"{name}={value!r} must be {allowed}")


def score_analysis(estimator, X, regions, plan, *, n_workers):
    """Score regions with the checkpoint, shard and null file that are asked for.

    Parameters
    ----------
    estimator : RegionAnalysis
        With checkpoint, shard, save_null and verbose.
    X : ndarray of float32, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.
    n_workers : int
        Number of joblib workers.

    Returns
    -------
    scores : RegionScores
        Wins and counts of every region.
    p_value_tail : ndarray, shape (n_regions,), or None
        Local p-values with a generalized Pareto tail, when null maps are saved.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.analysis._run_parameters import score_analysis
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> options = IdentificationSearchLight()
    >>> scores, tail = score_analysis(options, X, regions, plan, n_workers=1)
    >>> scores.score, tail
    (array([1.]), None)
    """
    shape = plan.n_permutations, regions.shape[0]
    with null_file(estimator.save_null, *shape) as null:
        scores = score_regions(
            X,
            regions,
            plan,
            n_jobs=n_workers,
            checkpoint=estimator.checkpoint,
            shard=parse_shard(estimator.shard),
            null=null,
            progress=Progress(estimator.verbose),
        )
        if null is None:
            return scores, None
        return scores, local_tail_p_values(scores.score, null)
