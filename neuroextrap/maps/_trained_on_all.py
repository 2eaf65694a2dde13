"""Words and numbers of classifiers whose margin for a class depends on the others."""

from collections import Counter

import numpy as np

from neuroextrap import stats
from neuroextrap.design._findings import Finding, tell

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


def is_measured(curves, kernel):
    """Return whether to train on subsets of the classes; marginal ones need it not."""
    if curves not in ("trained_on_all", "measured"):
        raise ValueError(f"curves={curves!r} must be 'trained_on_all' or 'measured'")
    return curves == "measured" and not kernel.marginal


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
    """Extrapolate the curve of a classifier that sees all classes in training.

    ``measured`` takes set sizes below K to (sizes, accuracies), if these were measured.
    """

    measured = None

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
