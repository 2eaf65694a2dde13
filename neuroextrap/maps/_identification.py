"""From win distributions to the named numbers of every region.

The key of every number is the name of a record in ``MAPS``.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
from scipy.stats import false_discovery_control

from neuroextrap import stats
from neuroextrap.design._findings import Finding, tell
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._pvalues import z_from_p

OF_CURVES = (
    "pairwise_accuracy",
    "implied_information",
    "implied_information_corrected",
)
"""Maps that rest on accuracy among fewer classes than there are."""

TRAINED_ON_ALL = "of the classifier trained on all {n_classes} classes"
MEASURED = "measured by classifiers trained on as many classes"
DOUBTFUL = ".*accuracy among more than .* classes is doubtful"  # the warning
NO_INTERVAL = (
    "estimator has no interval beyond the classes of the data: its margin for a class "
    "depends on the other classes in training, so that accuracy could rise or fall "
    "with more classes; use a marginal classifier ('nearest_centroid', 'gaussian_nb'), "
    "or leave the interval out"
)


def not_marginal(plan):
    """Return Findings, 0 or 1, about accuracy among fewer classes than a plan has."""
    n_classes = plan.design.n_classes
    if plan.kernel.marginal or n_classes == 2:
        return ()
    trained = TRAINED_ON_ALL.format(n_classes=n_classes)
    tested = plan.n_permutations > 0 and "accuracy" not in plan.statistic.maps
    effect = (
        "accuracy among fewer classes, pairwise_accuracy, implied_information, and "
        f"extrapolations to more, are {trained}: trained on another number of classes "
        "it may do better or worse, by any amount"
    )
    remedy = "measure accuracy among fewer by set_sizes=Curves(curves='measured')"
    if plan.subsets:
        counts = Counter[int]()
        for tests in plan.subsets:
            counts[tests.design.n_classes] += len(tests.rows)
        listed = ", ".join(f"{n} of {k} classes" for k, n in counts.items())
        effect = (
            "accuracy among fewer classes is measured, the mean over classifiers "
            f"trained on random subsets ({listed}), the same in all regions"
        )
        remedy = f"the statistic of the permutation test is {trained}" if tested else ""
    maps = (*OF_CURVES, "p_value*") if tested else OF_CURVES
    return (_finding("note", n_classes, maps, effect, remedy),)


def not_marginal_below(n_classes, size, maps):
    """Return the Finding about maps that rest on accuracy among fewer classes."""
    effect = (
        f"accuracy among {size} classes is {TRAINED_ON_ALL.format(n_classes=n_classes)}"
        f": trained on {size} it may do better or worse, by any amount"
    )
    remedy = f"fit both to {size} classes (classes=...) to compare them trained on so"
    return _finding("note", n_classes, maps, effect, f"{remedy} many")


def doubtful_beyond(n_classes):
    """Return the Finding about extrapolations of such a classifier."""
    effect = (
        f"accuracy among more than {n_classes} classes is doubtful: predicted "
        f"{TRAINED_ON_ALL.format(n_classes=n_classes)}, it could rise or fall by any "
        "amount with more in training"
    )
    remedy = "use a marginal classifier ('nearest_centroid', 'gaussian_nb')"
    return _finding("doubtful", n_classes, ("accuracy_among_*",), effect, remedy)


def _finding(grade, n_classes, maps, effect, remedy):
    """Return a Finding that a classifier is not marginal."""
    because = "the margin of a class depends on the other classes in training"
    return Finding("not_marginal", grade, n_classes, maps, because, effect, remedy)


class TrainedOnAll(stats.AccuracyExtrapolator):
    """Extrapolate the curve of a classifier that sees all classes in training."""

    measured = None  # takes set sizes below K to (sizes, accuracies)

    def _warn_past_range(self, largest):
        """Warn that nothing is known beyond K."""
        if largest > self.n_classes_:
            tell([doubtful_beyond(self.n_classes_)])
        super()._warn_past_range(largest)

    def predict(self, set_sizes):
        """Predict accuracy; below K, what was measured is returned."""
        predicted, sizes = super().predict(set_sizes), np.asarray(set_sizes)
        below = sizes < self.n_classes_
        if self.measured is not None and below.any():
            predicted[below] = self.measured(sizes[below])[1]
        return predicted

    def predict_interval(self, *args, **options):  # noqa: ARG002
        """Refuse: the interval is calibrated for margins of one class at a time."""
        raise ValueError(NO_INTERVAL)

    set_size_interval = information_interval = predict_interval


_LADDER = np.array([2, 5, 10])
_FEW_CLASSES = 10


def bound_set_sizes(n_classes):
    """Return the set sizes of the information bound: 2, 5, 10, 20, 50, ... and K."""
    decades = 10 ** np.arange(int(np.log10(n_classes)) + 1)
    sizes = np.unique(np.outer(decades, _LADDER))
    return np.append(sizes[sizes < n_classes], n_classes)


def accuracy_statistics(wins, *, n_test, set_sizes, curves=None):
    """Return accuracy, pairwise accuracy and implied information of every region.

    `wins` have shape (n_regions, K). Implied information is at most what `n_test` test
    points resolve. `curves` (n_regions, n_set_sizes) take the place of those by wins.
    """
    n_classes, set_sizes = wins.shape[1], np.asarray(set_sizes)
    by_wins = curves is None
    curves = stats.average_accuracy(wins, set_sizes) if by_wins else curves
    information = stats.implied_information(curves, set_sizes)
    most = stats.resolution_information(n_classes, n_test, set_sizes)
    ends = stats.average_accuracy(wins, [2, n_classes])
    if not by_wins and 2 in set_sizes:
        ends[:, 0] = curves[:, np.flatnonzero(set_sizes == 2)[0]]
    ends = round_ties(ends)
    return {
        "accuracy": ends[:, 1],
        "pairwise_accuracy": ends[:, 0],
        "implied_information": np.minimum(information, most),
    }


# up to this chance of a miss the worst case of Clopper and Pearson is known
_LARGEST_ALPHA = 0.25


def bound_statistics(
    wins, *, n_repeats, confidence_level=0.95, forward=None, n_correct=None, n_best=None
):
    """Return the lower confidence bounds of every region.

    `wins` (n_regions, K) are averaged over folds with fixed weights. `n_repeats` are
    the test points of every class: int, or of shape (K,) or (n_folds, K). The bounds
    for the given classes come from forward tests where there are: a ForwardDesign and
    its outcomes `n_correct` (n_regions, n_sums), with the e-values; `n_repeats` is then
    the number, shape (), that has their noise. In a single split of independent points
    `n_best` (n_regions,) counts those whose class was strictly best.
    """
    n_analyzed = int((~np.isnan(wins[:, 0])).sum())
    sizes = bound_set_sizes(wins.shape[1])
    curves = stats.average_accuracy(wins, sizes)
    design = stats.TestDesign(
        wins.shape[1], n_repeats, confidence_level=confidence_level
    )
    together = replace(design, n_regions=max(1, n_analyzed))
    pointwise, simultaneous = (
        _bounds(curves, sizes, each, forward, n_correct, n_best)
        for each in (design, together)
    )
    values = pointwise | {f"{name}_fwe": value for name, value in simultaneous.items()}
    if forward is not None:
        values["e_value"] = forward.e_value(n_correct, 1 / design.n_classes)
        rate = stats.e_value_false_discovery_rate(values["e_value"])
        values["e_value_fdr"] = rate
    return values


def _bounds(curves, sizes, design, forward, n_correct, n_best):
    """Return the bounds of every region; curves (n_regions, n_sizes) up to K."""
    accuracy = curves[:, -1]
    if forward is None:
        given = _given_classes_bound(accuracy, design, n_best)
    else:
        level, n_regions = design.confidence_level, design.n_regions
        given = forward.bayes_accuracy_bound(
            n_correct, confidence_level=level, n_regions=n_regions
        )
        given = np.maximum(given, 1 / design.n_classes)
    average = design.average_bayes_accuracy_bound(accuracy, sizes[-1])
    return {
        "average_bayes_accuracy_bound": average,
        "bayes_accuracy_bound": given,
        "class_information_bound": design.class_information_bound(given),
        "information_bound": design.best_information_bound(curves, sizes),
    }


def _given_classes_bound(accuracy, design, n_best):
    """Bound the Bayes accuracy by the folds, a method chosen only by the design.

    With one split and equal repeats by Clopper and Pearson, where a tie counts as wrong
    (what is strictly right is right of a classifier that breaks its ties anyhow), or,
    where outcomes are no whole numbers, by Kullback and Leibler; else by Hoeffding.
    """
    repeats = np.atleast_2d(design.n_repeats)
    if len(repeats) > 1 or np.ptp(repeats) > 0:
        return design.bayes_accuracy_bound(accuracy, method="hoeffding")
    n_points = repeats[0, 0] * design.n_classes
    known_worst = design.alpha / design.n_bounds <= _LARGEST_ALPHA
    if n_best is None or not known_worst:
        return design.bayes_accuracy_bound(accuracy, method="kl")
    return design.bayes_accuracy_bound(n_best / n_points, method="clopper_pearson")


_PERMUTATION_MAPS = (
    "p_value",
    "p_value_fwe",
    "p_value_fwe_tail",
    "p_value_fdr",
    "neg_log10_p_fwe",
    "z",
)


def permutation_statistics(scores, names=_PERMUTATION_MAPS):
    """Return p-values of every region from the counts of a permutation run, by name.

    These `scores` are NullCounts, or RegionScores.
    """
    score, maxima, finite = scores.score, scores.maxima, ~np.isnan(scores.score)
    if not finite.any():  # a shard without tasks
        return {name: np.full(finite.shape, np.nan) for name in names}
    counts = NullCounts(score[finite], scores.n_reached[finite], maxima)
    p, p_fwe = counts.p_value(), counts.p_value_fwe()
    p_tail, _ = stats.tail_p_value(score[finite], maxima)
    values = {
        "p_value": p,
        "p_value_fwe": p_fwe,
        "p_value_fwe_tail": p_tail,
        "p_value_fdr": false_discovery_control(p) if len(p) else p,
        "neg_log10_p_fwe": -np.log10(p_fwe),
        "z": z_from_p(p, len(maxima)),
    }
    return spread_known(finite, {name: values[name] for name in names})


def null_statistics(score, null, *, most=None):
    """Return what needs permuted statistics; `most` bits are what the data resolve."""
    values = {
        "p_value_tail": _local_tail_p_values(score, null),
        "p_value_fwe_step_down": stats.step_down_p_value(score, null),
    }
    if most is not None:
        total = np.zeros(len(score))
        for row in null:  # one permutation at a time: the file may be large
            total += np.minimum(row, most)
        values["null_information"] = total / len(null)
    return values


def information_notes(information, *, n_classes, n_test, set_sizes):
    """Return what to say of implied information that the data do not resolve."""
    most, few = (
        float(stats.resolution_information(n_classes, n, set_sizes))
        for n in (n_test, n_classes)
    )
    n_known = int((~np.isnan(information)).sum())
    n_most, n_loose = int((information >= most).sum()), int((information > few).sum())
    notes = []
    if n_most:
        notes.append(
            f"implied_information is cut at {most:.1f} bits, the most that {n_test} "
            f"test points resolve, in {n_most} of {n_known} regions"
        )
    if n_classes < _FEW_CLASSES and n_loose:
        notes.append(
            f"implied_information exceeds {few:.1f} bits in {n_loose} of {n_known} "
            f"regions, above what {n_classes} classes resolve: such values depend more "
            "on which classes were chosen than on the region; read "
            "implied_information_interval(region)"
        )
    return tuple(notes)


def _local_tail_p_values(score, null):
    """Refine every region's small p-values by a tail of its own null distribution.

    `null` (n_permutations, n_regions) may be memory-mapped: it is read in pieces.
    """
    p = np.full(len(score), np.nan)
    width = max(1, 2**23 // len(null))
    for start in range(0, len(score), width):
        regions = start + np.flatnonzero(~np.isnan(score[start : start + width]))
        if len(regions):
            # the file is float32: compare at its precision
            observed = score[regions].astype(np.float32).astype(float)
            p[regions] = stats.tail_p_value(observed, null[:, regions].astype(float))[0]
    return p
