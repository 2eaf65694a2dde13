"""The accuracy curve of one region, with what is known of its error."""

import warnings

import numpy as np
import pandas as pd
from markupsafe import Markup

from neuroextrap.maps._identification import DOUBTFUL
from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.plotting._accuracy_curves import draw_interval
from neuroextrap.plotting._axes import LINES, add_legend, line_words, log_set_sizes
from neuroextrap.reporting._finding import n_analyzed, named_place, place_words
from neuroextrap.reporting._identification_words import known_interval
from neuroextrap.reporting._page import tsv_uri
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import format_confidence, render

EXTRAPOLATION = "auto"
"""How curves are carried on beyond the classes of the data."""

INTERVAL_LEVEL = 0.9
"""Confidence level of the interval drawn about the extrapolation."""

_FEWEST_CLASSES = 10
_N_CURVES = 4
_ENDS = "accuracy_lower_95", "accuracy_upper_95"
_BOUND = "bayes_accuracy_bound_fwe"


def curves_section(fitted, finding, peaks):
    """Show the accuracy curves of the first peaks that survive, else of one trend."""
    if len(fitted.classes_) < 3:
        return ""
    survives = finding.survives[peaks["region"].to_numpy()]
    shown = peaks[survives].head(_N_CURVES) if survives.any() else peaks.head(1)
    figures = []
    for number, (_, row) in enumerate(shown.iterrows(), start=1):
        caption = named_place(row)
        if finding.criterion and not survives.any():
            caption += ": a trend that does not survive correction"
        axes = curve_axes(fitted, int(row["region"]))
        figures.append(embed_figure(axes.figure, caption, f"curve_{number}.svg"))
    return render(
        "curves",
        figures=Markup("\n").join(figures),
        extrapolated=len(fitted.classes_) >= _FEWEST_CLASSES,
        bounded=np.isfinite(class_bounds(fitted)).any(),
        n_regions=n_analyzed(fitted),
        method=EXTRAPOLATION.replace("_", " "),
        source="win counts" if fitted.test_codes_ is None else "margins",
        level=f"{INTERVAL_LEVEL:.0%}",
        marginal=fitted.results_.marginal,
        measured=len(fitted.results_.measured_sizes) > 0,
        n_classes=len(fitted.classes_),
        lines={name: line_words(name) for name in LINES},
        tsv=tsv_uri(_curve_table(fitted, shown)),
    )


def _curve_table(fitted, rows):
    """Tabulate the curves of peaks: one row per region and set size."""
    tables = []
    for _, row in rows.iterrows():
        region = int(row["region"])
        sizes, accuracy = fitted.accuracy_curve(region)
        columns = {
            "region": region,
            "place": place_words(row).replace("\N{MINUS SIGN}", "-"),
            "set_size": sizes,
            "accuracy": accuracy,
            "standard_error": fitted.standard_error(region),
            **dict(zip(_ENDS, known_interval(fitted, region), strict=True)),
        }
        table = pd.DataFrame(columns)
        if not fitted.results_.marginal:
            table["n_classes_trained"] = fitted.results_.n_classes_trained
        if fitted.results_.n_repeats is not None:
            bounds = dict(zip(*fitted.bound_curve(region), strict=True))
            table["average_bayes_accuracy_bound"] = table["set_size"].map(bounds)
        here = table["set_size"] == len(fitted.classes_)
        table[_BOUND] = np.where(here, class_bounds(fitted)[region], np.nan)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def curve_axes(fitted, region, ax=None):
    """Draw the accuracy curve of one region with band, bound and extrapolation.

    `region` is an index, a name, or a place (x, y, z) in mm. The band is left out where
    no interval is known (results read from a folder), the bound (on the best
    classifier of these classes, for all regions at once) where none holds, the
    extrapolation with fewer than ten classes. Returns the axes.
    """
    import matplotlib.pyplot as plt

    sizes, accuracy = fitted.accuracy_curve(region)
    interval = known_interval(fitted, region)
    if ax is None:
        ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")[1]
    interval = None if np.isnan(interval).any() else interval
    ax = plot_accuracy_curve(sizes, accuracy, interval=interval, ax=ax)
    bound = class_bounds(fitted)[fitted.find_region(region)]
    if np.isfinite(bound):
        level = format_confidence(fitted.results_.confidence_level)
        label = f"best classifier, at least ({level})"
        ax.plot(len(fitted.classes_), bound, label=label, **LINES["bound"])
    if len(fitted.classes_) >= _FEWEST_CLASSES:
        targets, beyond, interval = _extrapolated(fitted, region)
        if interval is not None:
            draw_interval(ax, targets, interval, INTERVAL_LEVEL)
        ax.plot(targets, beyond, label="extrapolated", **LINES["extrapolation"])
        log_set_sizes(ax)
    add_legend(ax)
    return ax


def class_bounds(fitted):
    """Return the lower bounds that pages draw, (n_regions,), NaN where none holds."""
    scores = fitted.region_scores_
    return scores.get(_BOUND, np.full(len(scores["accuracy"]), np.nan))


def _extrapolated(fitted, region):
    """Predict the accuracy of one region up to ten times as many classes.

    Returns set sizes, accuracy, and the ends of the interval as a pair, None for
    classifiers that see all classes in training.
    """
    n_classes = len(fitted.classes_)
    targets = np.unique(np.geomspace(n_classes, 10 * n_classes, 30).astype(int))
    model = fitted.extrapolator(region, EXTRAPOLATION)
    interval = None
    if fitted.results_.marginal:
        interval = model.predict_interval(targets, INTERVAL_LEVEL)
    with warnings.catch_warnings():  # the page says what is doubtful
        warnings.filterwarnings("ignore", message=DOUBTFUL)
        return targets, model.predict(targets), interval
