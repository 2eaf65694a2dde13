"""Train at one moment, test at every other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.analysis._samples import can_be_used, rescaled
from neuroextrap.decoding._comparable import EXTRA
from neuroextrap.decoding._cross_identification import (
    UNUSED_ACROSS,
    NamedCounts,
    few_names,
)
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._time_resolved import (
    read_moments,
    time_resolved_identification,
)
from neuroextrap.design._design import Design
from neuroextrap.design._folds import class_weights
from neuroextrap.design._further_tests import cross_samples
from neuroextrap.maps._identification import accuracy_statistics, permutation_statistics
from neuroextrap.margins._engine import choice_tables
from neuroextrap.margins._paths import with_path
from neuroextrap.regions._regions import usable_regions
from neuroextrap.stats._arrangements import NameExchanges
from neuroextrap.stats._null_counts import NullCounts
from neuroextrap.stats._shared_options import described_by

_UNUSED = *EXTRA, "noise_covariance"  # which has no meaning for pairs of moments
_TESTED = "p_value", "p_value_fwe", "neg_log10_p_fwe", "z"
_QUESTIONS = (
    "p-values answer two questions: on the diagonal, by permuted labels, whether "
    "classes can be told apart at that moment; off the diagonal, by class names "
    "exchanged between the two moments, whether the classes of one moment correspond "
    "to those of the other; p_value_fwe is corrected for each question by itself"
)


class TemporalGeneralization(NamedTuple):
    """Scores of classifiers at other moments, by :func:`temporal_generalization`."""

    times: np.ndarray
    scores: dict
    null_maxima: np.ndarray
    notes: tuple = ()
    names_maxima: np.ndarray = np.empty(0)


@described_by(time_resolved_identification)
def temporal_generalization(  # noqa: PLR0913
    searchlight: Any,
    trials: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    conditions: ArrayLike | None = None,
    train: Any = None,
    test: Any = None,
) -> TemporalGeneralization:
    """Train a classifier at every moment and test it at all moments.

    Stable patterns generalize to other moments, changing patterns do not. Test trials
    are never trained on, at any moment, so the cross-validation is that of
    :func:`time_resolved_identification`. Lower bounds are not computed.

    Parameters
    ----------
    conditions : array-like of shape (n_trials,) or None, default=None
        Condition of every trial, to train in one and test in the other, and vice versa,
        as :func:`cross_identification` does. Rows of the scores are then moments in
        condition ``train``, columns moments in ``test``; ``accuracy`` is the mean of
        both directions, beside ``train_to_test_accuracy`` and
        ``test_to_train_accuracy``.
    train, test : scalar, default=None
        Names of the two conditions.

    Returns
    -------
    TemporalGeneralization
        Named tuple of ``times``; ``scores``, a dict of (n_times, n_times), rows moments
        of training, columns those of the test: accuracy and pairwise_accuracy,
        implied_information (bits), and after permutations p_value, p_value_fwe,
        neg_log10_p_fwe and z; ``null_maxima``, the largest statistic on the diagonal
        under each permutation of labels; ``notes``; and ``names_maxima``, the largest
        standardized statistic off the diagonal under each exchange of names.

    Raises
    ------
    ValueError
        When trials, times, labels and groups do not match, or the searchlight has a
        mask, regions, a shard, whitening, a checkpoint or saved null maps (of two
        conditions also folds or a statistic), or conditions are given without ``train``
        and ``test``.

    See Also
    --------
    time_resolved_identification : Training and test at the same moment.
    cross_identification : Training in one condition, test in another.
    neuroextrap.plotting.plot_temporal_generalization : The figure.

    Notes
    -----
    Recordings are compared as they are: a response that all classes share and that
    changes over time moves test points away from the training data. Centering within
    runs (``within_runs="center"``) subtracts the mean of every run and moment first.

    P-values answer one question on the diagonal and another off it. *On the diagonal*
    labels are permuted, as in :func:`time_resolved_identification` (whose numbers these
    are): can the classes be told apart at this moment? *Off the diagonal* class names
    are exchanged between the moment of training and that of the test, as in
    :func:`cross_identification`: do the classes of one moment correspond to those of
    the other? The statistic off the diagonal is pairwise accuracy, standardized over
    all exchanges of names. Each family of cells has its own correction by the maximum.

    One exchange of names is used for all pairs of moments, for those tested before they
    are trained the other way round. Every pair by itself is tested exactly, and so is
    the maximum where there are two codes, each over any length of time. With more codes
    the maximum is approximate (see the table of guarantees). Names exchanged at every
    moment by itself would be exact there, but blind to a lasting code of a few classes.

    With two to four classes no p-value off the diagonal can be below 1 / K!; test
    several subjects together, by giving ``scores["accuracy"]`` to
    ``neuroextrap.group.sign_flip_test`` with the baseline 1 / K.

    *Between conditions* names are exchanged between them, on the diagonal as well, in
    the same way in all cells: the test of all pairs of moments is exact. Names of the
    trials of one condition belong together, whatever their codes at its moments.

    With ``shrinkage="auto"``, "lda", "ridge" and "qda" choose their penalty off the
    diagonal from the samples of both moments (without labels). Computing time grows
    with the square of the number of moments.

    References
    ----------
    King & Dehaene 2014, "Characterizing the dynamics of mental representations: the
    temporal generalization method", Trends in Cognitive Sciences 18.

    Examples
    --------
    A pattern of five classes persists from the first to the second of three moments:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.decoding import temporal_generalization
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile(np.arange(5), 10), np.repeat(np.arange(10), 5)
    >>> trials = rng.normal(size=(50, 4, 3))
    >>> trials[:, :, :2] += 4 * rng.normal(size=(5, 4, 1))[y]
    >>> searchlight = IdentificationSearchLight(n_permutations=99)
    >>> found = temporal_generalization(searchlight, trials, y, runs)
    >>> (found.scores["p_value_fwe"] <= 0.05).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 0]])
    """
    unused = _UNUSED if conditions is None else (*_UNUSED, *UNUSED_ACROSS)
    samples, times, light = read_moments(searchlight, trials, times, unused=unused)
    plain = with_parameters(light, bounds=None)
    pair = {"train": train, "test": test}
    if conditions is not None:
        crossed = cross_samples(y, groups, conditions, plain.classes, pair)
        return _between(plain, samples, times, crossed)
    if set(pair.values()) != {None}:
        raise ValueError(
            f"train={train!r} and test={test!r} name conditions; give conditions=, one "
            "for every trial"
        )
    run = plan_decoding(plain, samples, y, groups)
    n_times, n_classes = len(times), len(run.classes)
    n_exchanges = run.plan.n_permutations and searchlight.n_permutations
    exchanges = NameExchanges.of(n_classes, n_exchanges, searchlight.random_state)
    wins = np.full((n_times, n_times, n_classes), np.nan)
    off = ~np.eye(n_times, dtype=bool).ravel()
    counts = NullCounts.start(np.full(n_times**2, np.nan), len(exchanges))
    for moment, tested in _trained_at_each(run, samples, plain):
        wins[moment] = tested.score()[0].wins
        _count_names(counts, exchanges, tested, moment, off)
    diagonal = run.score()[0]
    wins[np.arange(n_times), np.arange(n_times)] = diagonal.wins
    return _joined(times, run, wins, diagonal, counts)


def _between(plain, samples, times, crossed):
    """Train in one of two conditions (CrossSamples) and test in the other, and back."""
    n_times, n_classes = len(times), len(crossed.classes)
    exchanges = NameExchanges.of(n_classes, plain.n_permutations, plain.random_state)
    single = {"cv": crossed.folds, "classes": range(n_classes), "n_permutations": 0}
    plain = with_parameters(plain, **single)
    run = plan_decoding(plain, samples, crossed.codes, crossed.parts)
    # both kinds of tables, in both directions, at moments of training and of the test
    tables = np.full((2, 2, n_times, n_times, n_classes, n_classes), np.nan)
    for moment, tested in _trained_at_each(run, samples, plain):
        given = (*tested.data, tested.analyzed, crossed.weights)
        for part, wins in choice_tables(*given):
            tables[:, :, moment, part] = np.moveaxis(wins, 0, 2)
    counted = _counted_between(tables, exchanges)
    scores = counted.scores().items()
    scores = {name: values.reshape(n_times, n_times) for name, values in scores}
    none, maxima = np.empty(0), counted.counts.maxima
    notes = run.all_notes(few_names(n_classes) if len(exchanges) else ())
    return TemporalGeneralization(times, scores, none, notes, maxima)


def _counted_between(tables, exchanges):
    """Count all pairs of moments of two conditions, from tables in both directions."""
    n_times = tables.shape[2]
    counted = NamedCounts(n_times**2, exchanges)
    for moment in range(n_times):  # of the first condition; below all of the second
        there, back = tables[:, 0, moment], tables[:, 1, :, moment]
        finite = np.flatnonzero(~np.isnan(there + back).any(axis=(0, 2, 3)))
        there, back = (each[:, finite].swapaxes(0, 1) for each in (there, back))
        counted.add(there, back, moment * n_times + finite)
    return counted


def _trained_at_each(run, samples, plain):
    """Yield moments with the run of their classifiers, whose regions are moments."""
    n_times = run.choice.n_regions
    # unless centered, with the means that moments differ by
    samples = samples[run.labels.keep] if plain.within_runs is None else run.rows
    regions, least = run.choice.regions, run.parameters.min_voxels
    plan, by_moment = _of_copies(run.plan), samples.reshape(len(samples), -1, n_times)
    for moment in range(n_times):
        trained = np.repeat(by_moment[:, :, [moment]], n_times, axis=2)
        copies = trained.reshape(samples.shape), samples
        usable = np.all([can_be_used(copy) for copy in copies], axis=0)
        rows = np.where(usable, np.concatenate(copies), 0)
        if not plan.kernel.as_given:
            rows = rescaled((rows - rows.mean(axis=0)).astype(np.float32))[0]
        if (regions.astype(int) @ usable.astype(int)).max() >= least:
            left = usable_regions(regions, usable, least)
            own = with_path(plan, left.regions)
            yield moment, replace(run, rows=rows, usable=left, plan=own)


def _of_copies(plan):
    """Return the plan of twice the trials: those trained on, then those tested."""
    old, codes = plan.design, plan.codes[:1]
    folds = tuple((train, old.n_samples + test) for train, test in old.folds)
    design = Design(folds, 2 * old.n_samples, old.n_classes)
    twice = {"design": design, "codes": np.tile(codes, 2), "pairing": False}
    return replace(plan, **twice, by_sums=None)


def _count_names(counts, exchanges, run, moment, off):
    """Count what exchanged names give where one classifier is tested."""
    weights = class_weights(run.test_codes[:, np.newaxis], len(run.classes)).T
    given = (*run.data, run.analyzed, weights)
    for part, tables in choice_tables(*given):
        cells = len(run.usable.n_features) * moment + part
        earlier = (part < moment)[:, np.newaxis, np.newaxis]
        beaten = tables[:, 1, 0]
        later = np.where(earlier, beaten.swapaxes(1, 2), beaten)[off[cells]]
        counts.score[cells[off[cells]]], permuted = exchanges.compared(later)
        counts.add(permuted, 0, cells[off[cells]])


def _joined(times, run, wins, diagonal, counts):
    """Put the scores of all pairs of moments together, and both tests."""
    shape = wins.shape[:2]
    flat, n_test = wins.reshape(-1, wins.shape[2]), len(run.test_codes)
    scores = accuracy_statistics(flat, n_test=n_test, set_sizes=run.set_sizes)
    notes = run.all_notes()
    if run.plan.n_permutations:
        own = permutation_statistics(diagonal, _TESTED)
        for name, values in permutation_statistics(counts, _TESTED).items():
            scores[name] = values.reshape(shape)
            np.fill_diagonal(scores[name], own[name])
        notes += (_QUESTIONS, *(few.note for few in few_names(len(run.classes))))
    scores = {name: values.reshape(shape) for name, values in scores.items()}
    of_names = counts.maxima if len(times) > 1 else np.empty(0)
    return TemporalGeneralization(times, scores, diagonal.maxima, notes, of_names)
