"""Train at one moment, test at every other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._reading import rescaled
from neuroextrap.decoding._time_resolved import (
    moment_regions,
    options_of,
    read_trials,
    time_resolved_identification,
)
from neuroextrap.design._design import Design
from neuroextrap.design._doubts import CROSS_NOTE
from neuroextrap.maps._identification import (
    accuracy_statistics,
    permutation_statistics,
)
from neuroextrap.margins._engine import empty_scores
from neuroextrap.margins._paths import with_path
from neuroextrap.regions._membership import usable_regions
from neuroextrap.stats._shared_options import described_by

# what has no meaning for pairs of moments, or would have to be kept for each of them
_NOT_FOR_PAIRS = {
    "noise_covariance": None,
    "checkpoint": None,
    "save_null": None,
    "per_fold": False,
    "curves": "trained_on_all",
}


class TemporalGeneralization(NamedTuple):
    """Scores of classifiers at other moments: from :func:`temporal_generalization`.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        Time of every moment.
    scores : dict of ndarray of shape (n_times, n_times)
        By name; rows are moments of training, columns those of the test: accuracy and
        pairwise_accuracy (proportions), implied_information (bits), and after
        permutations p_value, p_value_fwe (corrected for all pairs of moments by the
        maximum statistic), p_value_fwe_tail, p_value_fdr, neg_log10_p_fwe and z.
    null_maxima : ndarray of shape (n_permutations,)
        Largest permuted statistic over all pairs of moments.
    notes : tuple of str
        What a reader should know about the validity of the numbers.

    Examples
    --------
    >>> from neuroextrap.decoding._temporal_generalization import TemporalGeneralization
    >>> TemporalGeneralization._fields
    ('times', 'scores', 'null_maxima', 'notes')
    """

    times: np.ndarray
    scores: dict
    null_maxima: np.ndarray
    notes: tuple = ()


@described_by(time_resolved_identification)
def temporal_generalization(
    searchlight: Any,
    trials: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
) -> TemporalGeneralization:
    """Train a classifier at every moment and test it at all moments.

    Stable patterns generalize to other moments, changing patterns do not. Test trials
    are never trained on, at any moment, so the cross-validation is that of
    :func:`time_resolved_identification`.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        A searchlight that is not fitted: its classifier, cross-validation, classes,
        ``statistic``, ``n_permutations``, ``within_runs``, ``n_jobs`` and so on are
        used, and it is never changed. It has no mask and no regions; lower bounds are
        not computed.

    Returns
    -------
    TemporalGeneralization
        Named tuple of ``times``, ``scores``, ``null_maxima`` and ``notes``.

    Raises
    ------
    ValueError
        When trials, times, labels and groups do not match, or the searchlight has a
        mask, regions, a shard, whitening, a checkpoint or saved null maps.

    See Also
    --------
    time_resolved_identification : Training and test at the same moment.
    neuroextrap.plotting.plot_temporal_generalization : The figure.

    Notes
    -----
    Recordings are compared as they are: a response that all classes share and that
    changes over time moves test points away from the training data. Centering within
    runs (``within_runs="center"``) subtracts the mean of every run and moment first.

    With ``shrinkage="auto"``, "lda", "ridge" and "qda" choose their penalty from the
    samples of both moments (without labels), and so the diagonal differs a little from
    :func:`time_resolved_identification`; with other classifiers it is the same.

    A p-value off the diagonal tests whether labels matter for the predictions that a
    classifier of one moment makes at another. It does not test whether both moments
    share a code: with few classes two unrelated codes are never quite orthogonal, and
    strong ones give small p-values off the diagonal, even after correction. Read a
    square as a stable pattern only if accuracy off the diagonal comes close to that on
    the diagonal.

    Every pair of moments is a region of its own. Computing time grows with the square
    of the number of moments; take every second one or fewer if there are hundreds.

    References
    ----------
    King & Dehaene 2014, "Characterizing the dynamics of mental representations: the
    temporal generalization method", Trends in Cognitive Sciences 18.

    Examples
    --------
    A pattern that persists from the first to the second of three moments:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.decoding import temporal_generalization
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile(np.arange(4), 10), np.repeat(np.arange(10), 4)
    >>> trials = rng.normal(size=(40, 3, 3))
    >>> trials[:, :, :2] += 4 * rng.normal(size=(4, 3, 1))[y]
    >>> searchlight = IdentificationSearchLight(n_permutations=99)
    >>> found = temporal_generalization(searchlight, trials, y, runs)
    >>> (found.scores["p_value_fwe"] <= 0.05).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 0]])
    """
    parameters = options_of(searchlight, _NOT_FOR_PAIRS)
    recorded = read_trials(trials, times)
    _, n_channels, n_times = recorded.data.shape
    parameters["regions"] = moment_regions(n_channels, n_times, 1)
    parameters["min_voxels"] = min(parameters["min_voxels"], n_channels)
    plain = with_parameters(searchlight, **parameters | {"bounds": None})
    run = plan_decoding(plain, recorded.samples, y, groups)
    samples = run.rows
    if plain.within_runs is None:  # with the means that moments differ by
        samples = recorded.samples[run.labels.keep]
    rows = [_row(run, samples, moment, n_times) for moment in range(n_times)]
    return _joined(recorded.times, rows, run)


def _row(run, samples, moment, n_times):
    """Score classifiers of one moment at all moments; RegionScores.

    The engine gets every trial twice: at the moment of training, which is only trained
    on, and at all moments, which are only tested.
    """
    n_trials = len(samples)
    by_moment = samples.reshape(n_trials, -1, n_times)
    trained = np.repeat(by_moment[:, :, [moment]], n_times, axis=2)
    copies = trained.reshape(n_trials, -1), samples
    usable = np.all([_can_be_used(copy) for copy in copies], axis=0)
    rows = np.where(usable, np.concatenate(copies), 0)
    if not run.plan.kernel.as_given:
        rows = rescaled((rows - rows.mean(axis=0)).astype(np.float32))
    plan = replace(
        run.plan,
        design=_twice(run.plan.design),
        codes=np.concatenate([run.plan.codes, run.plan.codes], axis=1),
        by_sums=None,
    )
    regions, least = run.choice.regions, run.parameters.min_voxels
    if (regions.astype(int) @ usable.astype(int)).max() < least:
        return empty_scores(regions.shape[0], plan, None)
    left = usable_regions(regions, usable, least)
    plan = with_path(plan, left.regions)
    return replace(run, rows=rows, usable=left, plan=plan).score()[0]


def _can_be_used(samples):
    """Which columns are finite and not constant."""
    return np.isfinite(samples).all(axis=0) & (samples != samples[:1]).any(axis=0)


def _twice(design):
    """Return folds that train on the first and test on the second of two copies."""
    n_samples = design.n_samples
    folds = tuple((train, n_samples + test) for train, test in design.folds)
    return Design(folds, 2 * n_samples, design.n_classes)


def _joined(times, rows, run):
    """Put the rows of a matrix together; the maximum is over all of it."""
    shape = len(times), len(times)
    wins = np.concatenate([row.wins for row in rows])
    scores = accuracy_statistics(
        wins, n_test=len(run.test_codes), set_sizes=run.set_sizes
    )
    maxima = np.max([row.maxima for row in rows], axis=0)
    if run.plan.n_permutations:
        score = np.concatenate([row.score for row in rows])
        reached = np.concatenate([row.n_reached for row in rows])
        scores |= permutation_statistics(score, reached, maxima)
    scores = {name: values.reshape(shape) for name, values in scores.items()}
    notes = *(finding.note for finding in run.findings), *run.notes
    if run.plan.n_permutations:
        notes += (CROSS_NOTE.format(where="off the diagonal"),)
    return TemporalGeneralization(times, scores, maxima, notes)
