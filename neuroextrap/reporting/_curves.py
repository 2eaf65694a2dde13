"""The accuracy curve of one region, with what is known of its error."""

import numpy as np

from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.plotting._accuracy_curves import draw_interval
from neuroextrap.plotting._axes import add_legend, log_set_sizes

EXTRAPOLATION = "auto"
"""How curves are carried on beyond the classes of the data."""

INTERVAL_LEVEL = 0.9
"""Confidence level of the interval drawn about the extrapolation."""

_FEWEST_CLASSES = 10


def curve_axes(fitted, region):
    """Draw the accuracy curve of one region with band, bound and extrapolation.

    `region` is an index, a name, or a place (x, y, z) in mm. The band is left out where
    there are no standard errors (results read from a folder), the bound where none
    holds, the extrapolation (to ten times the classes) with fewer than ten
    classes; its interval counts the classes drawn and the choice of a model.
    Returns the matplotlib axes, those of a new figure.
    """
    sizes, accuracy = fitted.accuracy_curve(region)
    error = fitted.standard_error(region)
    ax = plot_accuracy_curve(
        sizes, accuracy, standard_error=None if np.isnan(error).all() else error
    )
    if fitted.results_.n_repeats is not None:
        bound_sizes, bound = fitted.bound_curve(region)
        level = fitted.results_.confidence_level
        label = f"average Bayes\naccuracy bound ({level:.0%})"
        ax.plot(bound_sizes, bound, "v--", ms=3, color="#D55E00", label=label)
    if len(fitted.classes_) >= _FEWEST_CLASSES:
        targets, beyond, interval = _extrapolated(fitted, region)
        draw_interval(ax, targets, interval, INTERVAL_LEVEL)
        ax.plot(targets, beyond, ":", color="#0072B2", label="extrapolated")
        log_set_sizes(ax)
    add_legend(ax)
    return ax


def _extrapolated(fitted, region):
    """Predict the accuracy of one region up to ten times as many classes.

    Returns set sizes, accuracy, and the ends of the interval as a pair.
    """
    from neuroextrap.stats import AccuracyExtrapolator

    n_classes = len(fitted.classes_)
    targets = np.unique(np.geomspace(n_classes, 10 * n_classes, 30).astype(int))
    model = AccuracyExtrapolator(EXTRAPOLATION)
    model.fit_wins(fitted.wins_[fitted.find_region(region)], fitted.results_.n_test)
    return (
        targets,
        model.predict(targets),
        model.predict_interval(targets, INTERVAL_LEVEL),
    )
