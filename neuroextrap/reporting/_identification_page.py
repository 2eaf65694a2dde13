"""The report of an identification analysis, its words, what a notebook shows of it."""

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
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.plotting._accuracy_curves import draw_interval
from neuroextrap.plotting._axes import (
    LINES,
    add_legend,
    line_words,
    log_set_sizes,
    new_axes,
)
from neuroextrap.reporting._maps_section import (
    Pictures,
    choose_background,
    class_bounds,
    named_place,
    page_maps,
    place_words,
)
from neuroextrap.reporting._page import (
    format_confidence,
    make_page,
    page_title,
    paragraphs,
    parameter_tables,
    render,
    sections_of,
    sentences,
    short_words,
)
from neuroextrap.reporting._peaks import (
    area_names,
    clusters_of,
    discoveries_section,
    ranked_peaks,
    short_table,
    tables_of_regions,
)
from neuroextrap.reporting._pictures import embed_figure, null_figure
from neuroextrap.reporting._viewer import viewer_of_curves

_COLUMNS = {
    "atlas_label": "Atlas",
    "n_voxels": "Voxels",
    "accuracy": ("Accuracy", "percent"),
    "implied_information": ("Implied information (bits)", "bits"),
    "bayes_accuracy_bound_fwe": ("Best classifier gets at least", "at_least"),
    "class_information_bound_fwe": ("Bits about these classes, at least", "bound"),
    "p_value_fwe": ("p (family-wise)", "p"),
    "cluster_regions": "Regions of its cluster",
    "cluster_true_discoveries": "Of them informative, at least",
}
"""What the short table of peaks shows: headings, and how values are written."""

# accuracy is drawn with the answer, and p-values, mostly alike, are left to the viewer
_NOT_AMONG_MAPS = "accuracy", "neg_log10_p_fwe"


def identification_report(fitted, title=None, *, bg_img=None, atlas=None, origin=None):
    """Make a page of a fitted identification analysis, and of what it was made of."""
    origin, title = origin or fitted.origin_, page_title(title, "Identification report")
    how = {"bg_img": bg_img, "atlas": atlas, "samples": origin.samples}
    return make_page(title, identification_sections(fitted, **how), origin=origin)


def identification_sections(
    fitted, *, n_peaks=10, bg_img=None, atlas=None, samples=None
):
    """Make the parts of a report, pairs of a heading and HTML, without empty ones."""
    if not np.isfinite(fitted.region_scores_["accuracy"]).any():
        raise ValueError(
            "fitted has no analyzed region; merge its shards or lower min_voxels"
        )
    view, peaks = page_maps(fitted), ranked_peaks(fitted, n_peaks, atlas)
    masker, choice = view.masker, view.choice
    background = choose_background(masker, bg_img, getattr(fitted, "bg_img_", None))
    areas = None if atlas is None or masker is None else area_names(atlas, masker)
    place = None if view.places is None else view.places[peaks["region"].iloc[0]]
    pictures = Pictures(view, place, background)
    viewer = ""
    if masker is not None and choice.has_place:
        viewer = viewer_of_curves(fitted, background, peaks=peaks["region"])
    others = [name for name in view.overview() if name not in _NOT_AMONG_MAPS]
    figures = [
        ("Accuracy curves", curves_section(fitted, view, peaks)),
        ("Peaks", _peaks_section(view, peaks, has_viewer="nx-viewer" in viewer)),
        ("How many are informative", discoveries_section(view, areas)),
        ("Explore the maps", viewer),
        ("Maps", pictures.section(others)),
    ]
    vacuous = sentences("identification_vacuity", results=fitted.results_, view=view)
    vacuous = paragraphs(*vacuous, note=True)
    details = [
        ("Permutation test", _permutations(fitted)),
        ("What was analyzed", _summary(fitted, view)),
        ("What holds when", vacuous + render("list", items=validity_notes(fitted))),
    ]
    sections = sections_of(
        "identification",
        known_places(fitted, view, peaks) | known_methods(fitted, samples),
        pictures.figure("accuracy"),
        figures,
        details=details,
        requested=[("Parameters", parameter_tables(fitted))],
    )
    return [section for section in sections if section[1]]


def summary(fitted, *, n_peaks=5):
    """Summarize a fitted analysis in a few lines of HTML, without pictures."""
    view, words, table = page_maps(fitted), [], ""
    if view.n_known():
        peaks = ranked_peaks(fitted, n_peaks)
        places = known_places(fitted, view, peaks)
        words = sentences("identification_found", **places)
        table = short_table(peaks, _COLUMNS, f"Strongest {view.words[1]}")
    return render(
        "summary",
        kind=type(fitted).__name__,
        fitted=fitted,
        view=view,
        sentences=words,
        table=table,
    )


def _peaks_section(view, peaks, *, has_viewer):
    """Tabulate the peaks; their places move the viewer, if there is one."""
    one, many = view.words
    return tables_of_regions(
        view,
        peaks,
        _COLUMNS,
        f"Strongest {many}",
        hint=Markup(" ").join(sentences("identification_peaks", peaks=peaks, one=one)),
        viewer_index="region" if has_viewer else "",
    )


def _summary(fitted, view):
    """Tabulate what was analyzed and what was left out."""
    results, scores = fitted.results_, view.scores
    analyzed = scores["n_voxels"][np.isfinite(scores["accuracy"])]
    return render(
        "analyzed",
        fitted=fitted,
        view=view,
        sizes=np.nanquantile(analyzed, (0, 0.5, 1)),
        missing=np.diff(results.choice.regions.indptr) - results.n_voxels,
    )


def _permutations(fitted):
    """Show the distribution of the permuted maximum."""
    n_permutations = fitted.n_permutations_
    if not n_permutations:
        return ""
    return null_figure(
        fitted.null_maxima_,
        float(np.nanmax(fitted.results_.scores.score)),
        f"largest {statistic_words(fitted)} over regions",
        f"Largest statistic over regions in each of {n_permutations} permutations of "
        "the labels; the family-wise p-values refer to it. The smallest possible "
        f"p-value is {1 / (n_permutations + 1):.2g}.",
        "permutation_test.svg",
    )


_QUOTED = (
    "accuracy",
    "bayes_accuracy_bound_fwe",
    "class_information_bound_fwe",
    "average_bayes_accuracy_bound_fwe",
    "information_bound_fwe",
)


def known_places(fitted, view, peaks):
    """Return what the answer reads: regions above chance, and the strongest."""
    peak, clusters = peaks.iloc[0], clusters_of(view, view.finding.survives)
    lower, upper = known_interval(fitted, int(peak["region"]))
    classes = "classes" if described_parameters(fitted).get("estimator") else "stimuli"
    if fitted.results_.scores.correlation is not None:
        classes = "targets"
    return {
        "fitted": fitted,
        "view": view,
        "classes": classes,
        "n_places": None if clusters is None else int(clusters.max()) + 1,
        "peak": {name: peak.get(name, np.nan) for name in _QUOTED},
        "doubt": doubts_about(fitted.results_.findings, fitted.region_scores_),
        "place": named_place(peak),
        "in_space": "x" in peak,
        "interval": None if np.isnan(lower[-1]) else (lower[-1], upper[-1]),
    }


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


def known_methods(fitted, samples=None):
    """Return what the methods section of a paper about a fitted analysis reads."""
    estimator = described_parameters(fitted).get("estimator")
    try:
        labels = fitted.run_.labels
    except (AttributeError, ValueError):  # read from a folder, or no labels
        labels = None
    return {
        "voxels": _voxels(fitted),
        "statistic": statistic_words(fitted),
        "seed": described_parameters(fitted).get("random_state"),
        "options": flat_parameters(fitted),
        "estimator": "" if estimator is None else short_words(estimator),
        "labels": labels,
        "counts": None if labels is None else np.bincount(labels.codes),
        "folds": _folds(fitted, labels),
        "samples": fitted.origin_.samples if samples is None else samples,
        "versions": versions(),
    }


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


_INTERVAL_LEVEL = 0.9  # of the interval about the extrapolation
_FEWEST_CLASSES = 10
_N_CURVES = 4


def curves_section(fitted, view, peaks):
    """Show the accuracy curves of the first peaks that survive, else of one trend."""
    if len(fitted.classes_) < 3:
        return ""
    survives = view.finding.survives[peaks["region"].to_numpy()]
    drawn = peaks[survives].head(_N_CURVES) if survives.any() else peaks.head(1)
    figures, tables = [], []
    for number, (_, row) in enumerate(drawn.iterrows(), start=1):
        caption = named_place(row)
        if view.finding.criterion and not survives.any():
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
        bounded=np.isfinite(class_bounds(fitted.region_scores_)).any(),
        lines={name: line_words(name) for name in LINES},
        frame=pd.concat(tables, ignore_index=True),
    )


def _curve_table(fitted, peak):
    """Tabulate the curve of a row of the peak table: one row per set size."""
    region, results = int(peak["region"]), fitted.results_
    sizes, accuracy = fitted.accuracy_curve(region)
    lower, upper = known_interval(fitted, region)
    columns = {
        "region": region,
        "place": place_words(peak).replace("\N{MINUS SIGN}", "-"),
        "set_size": sizes,
        "accuracy": accuracy,
        "standard_error": fitted.standard_error(region),
        "accuracy_lower_95": lower,
        "accuracy_upper_95": upper,
    }
    table = pd.DataFrame(columns)
    if not results.marginal:
        table["n_classes_trained"] = results.n_classes_trained
    if results.n_repeats is not None:
        bounds = dict(zip(*fitted.bound_curve(region), strict=True))
        table["average_bayes_accuracy_bound"] = table["set_size"].map(bounds)
    bound = {len(fitted.classes_): class_bounds(fitted.region_scores_)[region]}
    table["bayes_accuracy_bound_fwe"] = table["set_size"].map(bound)
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
    bound = class_bounds(fitted.region_scores_)[fitted.find_region(region)]
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
