"""Words and numbers of classifiers whose margin for a class depends on the others."""

from collections import Counter

import numpy as np

from neuroextrap import stats
from neuroextrap.stats._warn import warn

OF_CURVES = (
    "pairwise_accuracy",
    "implied_information",
    "implied_information_corrected",
)
"""Maps that rest on accuracy among fewer classes than there are."""

TRAINED_ON_ALL = "of the classifier trained on all {n_classes} classes"
MEASURED = "measured by classifiers trained on as many classes"
DOUBTFUL = "accuracy among more than .* classes is doubtful"  # begins the warning
NO_INTERVAL = (
    "estimator has no interval beyond the classes of the data: its margin for a class "
    "depends on the other classes in training, so that accuracy could rise or fall "
    "with more classes; use a marginal classifier ('nearest_centroid', 'gaussian_nb'), "
    "or leave the interval out"
)


def trained_on_all(n_classes):
    """Return what to say of curves of classifiers that see all classes in training."""
    trained = TRAINED_ON_ALL.format(n_classes=n_classes)
    return (
        "accuracy among fewer classes, pairwise_accuracy, implied_information, and "
        f"extrapolations to more, are {trained}: trained on another number of classes "
        "it may do better or worse, by any amount, because its margin for a class "
        "depends on the other classes; measure accuracy among fewer by "
        "set_sizes=Curves(curves='measured')"
    )


def measured_note(subsets, n_classes, of_statistic):
    """Return what to say of measured curves.

    `subsets` are SubsetTests; `of_statistic` says whether the permutation test, too, is
    about accuracy among fewer classes.
    """
    sizes = Counter()
    for tests in subsets:
        sizes[tests.design.n_classes] += len(tests.rows)
    counts = ", ".join(f"{n} of {k}" for k, n in sizes.items())
    statistic = "; the statistic of the permutation test, however, is "
    trained = statistic + TRAINED_ON_ALL.format(n_classes=n_classes)
    return (
        "accuracy among fewer classes is measured: the mean over classifiers trained "
        f"on random subsets of as many classes ({counts}), the same in all regions"
        f"{trained if of_statistic else ''}"
    )


def doubtful_beyond(n_classes):
    """Return what to say of extrapolations of such a classifier."""
    trained = TRAINED_ON_ALL.format(n_classes=n_classes)
    return (
        f"accuracy among more than {n_classes} classes is doubtful: it is predicted "
        f"{trained}, and more classes in training could raise or lower it by any amount"
    )


class TrainedOnAll(stats.AccuracyExtrapolator):
    """Extrapolate the curve of a classifier that sees all classes in training.

    ``measured`` takes set sizes below K to (sizes, accuracies), if these were measured.
    """

    measured = None

    def _warn_past_range(self, largest):
        """Warn that nothing is known beyond K."""
        if largest > self.n_classes_:
            warn(doubtful_beyond(self.n_classes_))
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
