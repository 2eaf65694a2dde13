"""What is known of the decoding of targets before the work begins."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold

from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.analysis._samples import read_labeled_samples
from neuroextrap.decoding._decoding_run import check_row_order, planned_run
from neuroextrap.design._course_of_runs import OF_TARGETS, findings_of_series
from neuroextrap.design._findings import EVERYTHING, Finding
from neuroextrap.design._folds import code_targets, row_codes, some_columns
from neuroextrap.design._permutations import EXCHANGES
from neuroextrap.design._tests import BoundOptions, Tests
from neuroextrap.margins._resources import check_labelings_fit
from neuroextrap.margins._wins import CorrelationStatistic, resolve_statistic
from neuroextrap.margins.classifiers._ridge import candidate_penalties
from neuroextrap.margins.classifiers._targets import TargetMargins
from neuroextrap.models._splitters import encoder_splits
from neuroextrap.stats._validation import check_choice, check_numbers, is_integer

_PENALTY = (
    "every region has one ridge penalty, the same for all target columns and folds and "
    "chosen without the targets ({how})"
)
_CHOSEN = (
    "every region and fold has a ridge penalty of its own, the same for all target "
    "columns: the one of {how} times the mean scatter of its features with the least "
    "squared error when every run of the fold's training samples is left out; "
    "permutations choose it again by the permuted targets"
)
_TESTED = (
    "p-values test the correlation of decoded and true targets, not the identification "
    "accuracy; give statistic='accuracy' or 'pairwise_accuracy' to test that"
)
_SORTED = 0.5  # share of the variance of targets between folds, from which it is seen
_LEAK = {
    "name": "neighbors_train",
    "maps": EVERYTHING,
    "effect": "folds train on neighbors of what they test, and correlations and "
    "accuracies may be too large",
    "remedy": "give groups=runs, so that whole runs are left out, or the order of "
    "acquisition (order=...) if rows are listed in another one",
}  # what else findings of series mean without groups
_MAIN_DIRECTIONS, _FEATURES = 8, 1000  # of targets and samples, looked at for series
_CANDIDATES = (
    "the {n} candidates of identification are the distinct targets; where notes speak "
    "of classes, these are meant"
)


@dataclass(frozen=True, kw_only=True)
class TargetRun(RegionRun):
    """A run that decodes targets; `candidates` (K, n_columns) are as they came."""

    candidates: np.ndarray


def plan_targets(light, imgs, targets, groups, order=None):
    """Check everything, then read the samples, choose regions and plan the run."""
    parameters = RunParameters.of(light)
    candidate_penalties(light.shrinkage)
    check_row_order(imgs, targets=targets, groups=groups)
    vectors = check_targets(targets)
    labels, candidates = code_targets(vectors, groups, light.blocks, order)
    n_classes, n_samples = len(candidates), len(vectors)
    set_sizes = parameters.resolve_set_sizes(n_classes)
    requested = light.statistic, n_classes, set_sizes
    statistic = resolve_statistic(*requested, correlates=True)
    by_correlation = isinstance(statistic, CorrelationStatistic)
    of_samples = labels.codes, light.standardize_targets
    location, spread = location_and_spread(candidates, *of_samples)
    kernel = TargetMargins(
        (candidates - location) / spread,
        metric=_metric(light.metric, candidates.shape[1]),
        shrinkage=light.shrinkage,
        tested="correlation" if by_correlation else "wins",
    )
    check_labelings_fit(light.n_permutations, n_samples, light.max_memory)
    parameters.cv = _folds(light, labels)
    options = BoundOptions.of(vars(parameters), kernel)
    tests = Tests.of(labels, options, parameters)
    if kernel.candidate_penalties:
        kernel.units = _inner_units(labels, tests.design)

    samples = read_labeled_samples(light, kernel, imgs, labels, "targets")
    usable = samples.X[:, samples.usable]
    further = _of_series(light, usable, vectors, labels)
    if groups is None:
        further += _of_sorted_folds(vectors, tests.design)
    notes = [_CANDIDATES.format(n=n_classes), _penalty_note(kernel)]
    if light.n_permutations and by_correlation:
        notes.append(_TESTED)
    samples = samples._replace(notes=(*samples.notes, *notes))
    run = planned_run(parameters, samples, tests, kernel, statistic, further=further)
    return TargetRun(**run, set_sizes=set_sizes, candidates=candidates)


def _penalty_note(kernel):
    """Return which penalties regions have."""
    if kernel.candidate_penalties:
        tried = ", ".join(f"{value:g}" for value in kernel.candidate_penalties)
        return _CHOSEN.format(how=tried)
    auto = kernel.shrinkage == "auto"
    return _PENALTY.format(how="Ledoit-Wolf" if auto else f"{kernel.shrinkage:g}")


def _inner_units(labels, design):
    """Return what inner folds leave out together, (n_samples,): runs, or folds."""
    if labels.groups is not None:
        return row_codes(labels.groups)
    if not design.tests_each_once:
        raise ValueError(
            "shrinkage chooses penalties by inner folds, which need the run of every "
            "sample unless the folds of cv test each sample once; give groups=runs"
        )
    units = np.empty(len(labels.codes), dtype=int)
    units[design.test] = design.fold_of_test
    return units


def check_targets(targets):
    """Return targets as float64 (n_samples, n_columns); ValueError if they are not."""
    values = check_numbers(targets, "targets").astype(float)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(
            f"targets has shape {np.shape(targets)}; give one number, or a row of "
            "numbers, for every sample"
        )
    for wrong, seen, kind, out in (
        (~np.isfinite(values).all(axis=1), "has NaN or infinity in", "row", "samples"),
        ((values == values[:1]).all(axis=0), "is constant in", "column", "columns"),
    ):
        if len(where := np.flatnonzero(wrong)):
            raise ValueError(
                f"targets {seen} {kind} {where[0]} ({len(where)} such {kind}s in all); "
                f"leave these {out} out"
            )
    return values


def location_and_spread(candidates, codes, standardize):
    """Return mean and scale of target columns over samples."""
    targets = candidates[codes]
    return targets.mean(axis=0), targets.std(axis=0) if standardize else 1.0


def _metric(metric, n_columns):
    """Return how candidates are compared, for targets of so many columns."""
    if metric == "auto":
        return "euclidean" if n_columns == 1 else "cosine"
    fewest = {"cosine": 2, "correlation": 3, "euclidean": 1}[metric]
    if n_columns < fewest:
        raise ValueError(
            f"metric={metric!r} needs targets of at least {fewest} columns, got "
            f"{n_columns}; use 'euclidean'"
        )
    return metric


def _folds(light, labels):
    """Return cv; of a number without groups the folds, drawn, blocks whole.

    Consecutive ones of a sorted table would test targets beyond those of the training.
    """
    shifts = check_choice(light.exchange, "exchange", EXCHANGES) == "shifts"
    if shifts and light.blocks is not None:
        raise ValueError("exchange='shifts' has no blocks; leave blocks out")
    if not is_integer(light.cv) or labels.groups is not None:
        return light.cv
    if shifts:
        return KFold(light.cv)
    return encoder_splits(light.cv, labels.codes, labels.blocks, light.random_state)


def _of_series(light, X, targets, labels):
    """Return Findings about samples and targets that depend on their neighbors."""
    mixed = labels.groups is None
    if labels.blocks is not None or not (light.n_permutations or mixed):
        return ()
    rows = slice(None)
    if labels.order is not None:
        rows = np.argsort(labels.order, kind="stable")
    groups = None if mixed else labels.groups[rows]
    of_rows = *_explained(X[rows], targets[rows]), groups
    how = {"exchange": light.exchange, "words": OF_TARGETS}
    findings = findings_of_series(*of_rows, **how) if light.n_permutations else ()
    if not mixed:
        return findings
    leaks = findings_of_series(*of_rows, **how | {"exchange": "rows"})
    return *findings, *(leak._replace(**_LEAK) for leak in leaks)


def _of_sorted_folds(targets, design):
    """Return Findings, 0 or 1, about folds that test other targets than they train."""
    about = targets - targets.mean(axis=0)
    means = np.array([about[test].mean(axis=0) for _, test in design.folds])
    sizes = np.array([len(test) for _, test in design.folds])
    between, total = sizes @ np.square(means), np.square(about[design.test]).sum(axis=0)
    share = float(np.mean(between / total))
    by_chance = (len(sizes) - 1) / (sizes.sum() - 1)
    if share < max(_SORTED, 4 * by_chance):
        return ()
    because = (
        f"folds explain {share:.0%} of the variance of targets, as in a table that is "
        "sorted by them, so that training sets lack what is tested"
    )
    effect = "correlations and accuracies may be too low"
    remedy = "let folds hold targets of the whole range, as cv=5 without groups does"
    seen = "sorted_folds", "doubtful", share, EVERYTHING
    return (Finding(*seen, because, effect, remedy),)


def _explained(X, targets):
    """Return some columns of X, and what the main directions of targets explain."""
    left, _, _ = np.linalg.svd(targets - targets.mean(axis=0), full_matrices=False)
    main = left[:, : max(1, min(_MAIN_DIRECTIONS, len(X) // 4))]
    some = some_columns(X, _FEATURES)
    return some, main @ (main.T @ some)
