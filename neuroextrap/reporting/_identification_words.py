"""What is said of a fitted analysis: values, accuracy curves, parameters, methods."""

import warnings

import numpy as np
import pandas as pd
from markupsafe import Markup

from neuroextrap.design._findings import doubts_about
from neuroextrap.images._loading import mask_lattice
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.maps._identification import DOUBTFUL
from neuroextrap.maps._provenance import versions
from neuroextrap.maps._records import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.margins.running._checkpoint import WITHOUT_EFFECT
from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.plotting._accuracy_curves import draw_interval
from neuroextrap.plotting._axes import (
    LINES,
    add_legend,
    line_words,
    log_set_sizes,
    new_axes,
)
from neuroextrap.reporting._finding import clusters_of, named_place, place_words
from neuroextrap.reporting._page import (
    format_confidence,
    paragraphs,
    render,
    sentences,
    tsv_uri,
)
from neuroextrap.reporting._pictures import embed_figure

_LONGEST = 300


def parameter_tables(fitted):
    """Show the parameters: those that differ from the default first, then the rest."""
    changed, given = changed_parameters(fitted), described_parameters(fitted)
    changed = {n: v for n, v in changed.items() if n not in WITHOUT_EFFECT}
    others = {n: v for n, v in given.items() if n not in changed}
    others["versions"] = ", ".join(f"{name} {v}" for name, v in versions().items())
    first = paragraphs("All parameters have defaults.")
    return render(
        "parameters",
        changed=changed,
        first=parameter_table(changed) if changed else first,
        others=parameter_table(others),
    )


def parameter_table(parameters):
    """Tabulate parameters, long values cut."""
    items = {name: short_words(v) for name, v in sorted(parameters.items())}
    return render("pairs", items=items, caption="Parameters")


def short_words(value):
    """Return a described value as text: its class, file or hash before all else."""
    text = " ".join(str(_plain(value)).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _plain(value):
    """Return the most telling part of a described value."""
    if not isinstance(value, dict):
        return value
    if "class" in value and value.get("parameters"):
        listed = ", ".join(f"{n}={_plain(v)}" for n, v in value["parameters"].items())
        return f"{value['class']}({listed})"
    known = [value[key] for key in ("file", "class", "image") if key in value]
    kind = known[0] if known else None
    shape = value.get("shape")
    if kind is None and shape is not None:
        kind = f"array of {' x '.join(map(str, shape))}"
    sha256 = value.get("sha256")
    first = next(iter(sha256.values())) if isinstance(sha256, dict) else sha256
    first = first[0] if isinstance(first, list) else first
    if kind is None:
        return value
    return f"{kind}, SHA-256 {str(first)[:12]}..." if first else str(kind)


_QUOTED = (
    "accuracy",
    "bayes_accuracy_bound_fwe",
    "class_information_bound_fwe",
    "average_bayes_accuracy_bound_fwe",
    "information_bound_fwe",
)


def found(fitted, view, peaks):
    """Say how many regions are above chance, and what is known of the strongest."""
    peak, clusters = peaks.iloc[0], clusters_of(view, view.finding.survives)
    lower, upper = known_interval(fitted, int(peak["region"]))
    classes = "classes" if described_parameters(fitted).get("estimator") else "stimuli"
    if fitted.results_.scores.correlation is not None:
        classes = "targets"
    return sentences(
        "identification_found",
        fitted=fitted,
        view=view,
        classes=classes,
        n_places=None if clusters is None else int(clusters.max()) + 1,
        peak={name: peak.get(name, np.nan) for name in _QUOTED},
        doubt=doubts_about(fitted.results_.findings, fitted.region_scores_),
        place=named_place(peak),
        in_space="x" in peak,
        interval=None if np.isnan(lower[-1]) else (lower[-1], upper[-1]),
    )


def known_interval(fitted, region):
    """Return the ends of a region's 95% interval of the accuracy, (2, n_set_sizes).

    NaN where it is not known: results read from a folder have no margins.
    """
    unknown = np.isnan(fitted.standard_error(region))
    if unknown.all():
        return np.full((2, len(unknown)), np.nan)
    return fitted.accuracy_interval(region)


def validity_notes(fitted):
    """List when the numbers of a fitted analysis hold: its notes, then its maps'."""
    records = [MAPS[name] for name in MAPS if name in fitted.region_scores_]
    records.sort(key=lambda record: record.simultaneous)
    notes = [record.note for record in records if record.note]
    return [*fitted.notes_, *dict.fromkeys(notes)]


def vacuity_notes(fitted, view):
    """List bounds on average Bayes accuracy that even accuracy 1 would not lift."""
    results = fitted.results_
    if results.n_repeats is None:
        return []
    numbers = {"pointwise": 1, "simultaneous": view.n_known()}
    bounds = [(k, n, results.test_design(n).best_bound()) for k, n in numbers.items()]
    return sentences(
        "identification_vacuity", bounds=bounds, n_classes=len(fitted.classes_)
    )


def methods(fitted, view, samples=None):
    """Describe a fitted analysis for the methods section of a paper, in sentences."""
    estimator = described_parameters(fitted).get("estimator")
    try:
        labels = fitted.run_.labels
    except (AttributeError, ValueError):  # read from a folder, or no labels
        labels = None
    return sentences(
        "identification_methods",
        fitted=fitted,
        view=view,
        voxels=_voxels(fitted),
        statistic=statistic_words(fitted),
        seed=described_parameters(fitted).get("random_state"),
        n_nearest=flat_parameters(fitted).get("n_nearest"),
        estimator="" if estimator is None else short_words(estimator),
        labels=labels,
        counts=None if labels is None else np.bincount(labels.codes),
        folds=_folds(fitted, labels),
        samples=fitted.origin_.samples if samples is None else samples,
        versions=versions(),
        units=_independent_units(fitted, labels),
    )


def statistic_words(fitted):
    """Name the statistic of the permutation test, with its unit."""
    statistic = fitted.statistic
    if isinstance(statistic, str):
        return record_of(statistic).label_with_unit
    return f"accuracy among {statistic}"


def _voxels(fitted):
    """Return how many voxels a mask has, and their sizes in mm; () if it has none."""
    if fitted.masker_ is None or is_surface_masker(fitted.masker_):
        return ()
    mask, affine = mask_lattice(fitted.masker_)
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    return int(np.count_nonzero(mask)), [f"{size:.3g}" for size in sizes]


def _folds(fitted, labels):
    """Return the numbers of folds and runs (0: unknown), and if each leaves one out."""
    folds = () if labels is None else getattr(fitted.run_.plan.design, "folds", ())
    if labels is None or labels.groups is None:
        return len(folds), 0, False
    runs, groups = np.unique(labels.groups), labels.groups
    tested = [np.unique(groups[test]) for _, test in folds]
    left_out = [np.setdiff1d(runs, groups[train]) for train, _ in folds]
    one_out = len(folds) == len(runs) and all(
        len(left) == 1 and np.array_equal(test, left)
        for test, left in zip(tested, left_out, strict=True)
    )
    return len(folds), len(runs), one_out


def _independent_units(fitted, labels):
    """Return what bounds take to be independent: test samples, blocks or runs."""
    options = flat_parameters(fitted)
    if options.get("test_units") == "runs" or options.get("within_runs") is not None:
        return "runs"
    return "samples" if labels is None or labels.blocks is None else "blocks"


_INTERVAL_LEVEL = 0.9  # of the interval about the extrapolation

_FEWEST_CLASSES = 10
_N_CURVES = 4
_CURVE = "set_size", "accuracy"
_ENDS = "accuracy_lower_95", "accuracy_upper_95"
_BOUND = "bayes_accuracy_bound_fwe"


def curves_section(fitted, view, peaks):
    """Show the accuracy curves of the first peaks that survive, else of one trend."""
    if len(fitted.classes_) < 3:
        return ""
    finding = view.finding
    survives = finding.survives[peaks["region"].to_numpy()]
    shown = peaks[survives].head(_N_CURVES) if survives.any() else peaks.head(1)
    figures, tables = [], []
    for number, (_, row) in enumerate(shown.iterrows(), start=1):
        caption = named_place(row)
        if finding.criterion and not survives.any():
            caption += ": a trend that does not survive correction"
        axes = curve_axes(fitted, int(row["region"]))
        figures.append(embed_figure(axes.figure, caption, f"curve_{number}.svg"))
        tables.append(_curve_table(fitted, row))
    return render(
        "curves",
        figures=Markup("\n").join(figures),
        fitted=fitted,
        n_regions=view.n_known(),
        extrapolated=len(fitted.classes_) >= _FEWEST_CLASSES,
        bounded=np.isfinite(class_bounds(fitted)).any(),
        lines={name: line_words(name) for name in LINES},
        tsv=tsv_uri(pd.concat(tables, ignore_index=True)),
    )


def _curve_table(fitted, peak):
    """Tabulate the curve of a row of the peak table: one row per set size."""
    region, results = int(peak["region"]), fitted.results_
    columns = {
        "region": region,
        "place": place_words(peak).replace("\N{MINUS SIGN}", "-"),
        **dict(zip(_CURVE, fitted.accuracy_curve(region), strict=True)),
        "standard_error": fitted.standard_error(region),
        **dict(zip(_ENDS, known_interval(fitted, region), strict=True)),
    }
    table = pd.DataFrame(columns)
    if not results.marginal:
        table["n_classes_trained"] = results.n_classes_trained
    if results.n_repeats is not None:
        bounds = dict(zip(*fitted.bound_curve(region), strict=True))
        table["average_bayes_accuracy_bound"] = table["set_size"].map(bounds)
    bound = {len(fitted.classes_): class_bounds(fitted)[region]}
    table[_BOUND] = table["set_size"].map(bound)
    return table


def curve_axes(fitted, region, ax=None):
    """Draw the accuracy curve of one region with band, bound and extrapolation.

    `region` is an index, a name, or a place (x, y, z) in mm. What is not known (the
    band of results read from a folder, say) is left out. Returns the axes.
    """
    interval = known_interval(fitted, region)
    interval = None if np.isnan(interval).any() else interval
    ax = new_axes(4.5, 3.6) if ax is None else ax
    plot_accuracy_curve(*fitted.accuracy_curve(region), interval=interval, ax=ax)
    bound = class_bounds(fitted)[fitted.find_region(region)]
    if np.isfinite(bound):
        level = format_confidence(fitted.results_.confidence_level)
        label = f"best classifier, at least ({level})"
        ax.plot(len(fitted.classes_), bound, label=label, **LINES["bound"])
    if len(fitted.classes_) >= _FEWEST_CLASSES:
        targets, beyond, interval = _extrapolated(fitted, region)
        if interval is not None:
            draw_interval(ax, targets, interval, _INTERVAL_LEVEL)
        ax.plot(targets, beyond, label="extrapolated", **LINES["extrapolation"])
        log_set_sizes(ax)
    add_legend(ax)
    return ax


def class_bounds(fitted):
    """Return the lower bounds that pages draw, (n_regions,), NaN where none holds."""
    scores = fitted.region_scores_
    return scores.get(_BOUND, np.full(len(scores["accuracy"]), np.nan))


def _extrapolated(fitted, region):
    """Return set sizes up to ten times the classes, accuracy, and its interval."""
    n_classes = len(fitted.classes_)
    targets = np.unique(np.geomspace(n_classes, 10 * n_classes, 30).astype(int))
    model = fitted.extrapolator(region)
    interval = None
    if fitted.results_.marginal:
        interval = model.predict_interval(targets, _INTERVAL_LEVEL)
    with warnings.catch_warnings():  # the page says what is doubtful
        warnings.filterwarnings("ignore", message=DOUBTFUL)
        return targets, model.predict(targets), interval
