"""The report of an identification analysis, and what a notebook shows of it."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._finding import area_names, discoveries_section
from neuroextrap.reporting._identification_words import (
    curves_section,
    found,
    methods,
    parameter_tables,
    statistic_words,
    vacuity_notes,
    validity_notes,
)
from neuroextrap.reporting._maps_section import Pictures, choose_background, page_maps
from neuroextrap.reporting._page import (
    answer,
    bits_at_least,
    format_number,
    format_p_value,
    format_percent,
    make_page,
    page_title,
    paragraphs,
    percent_at_least,
    render,
    sections_of,
    sentences,
)
from neuroextrap.reporting._peaks import ranked_peaks, short_table, tables_of_regions
from neuroextrap.reporting._pictures import null_figure
from neuroextrap.reporting._viewer import viewer_of_curves

_COLUMNS = {
    "atlas_label": ("Atlas", str),
    "n_voxels": ("Voxels", format_number),
    "accuracy": ("Accuracy", format_percent),
    "implied_information": ("Implied information (bits)", "{:.2f}".format),
    "bayes_accuracy_bound_fwe": ("Best classifier gets at least", percent_at_least),
    "class_information_bound_fwe": (
        "Bits about these classes, at least",
        lambda bits: bits_at_least(bits, digits=3),
    ),
    "p_value_fwe": ("p (family-wise)", format_p_value),
    "cluster_regions": ("Regions of its cluster", format_number),
    "cluster_true_discoveries": ("Of them informative, at least", format_number),
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
    own = getattr(fitted, "bg_img_", None)
    background = choose_background(masker, bg_img, own)
    places, areas, viewer = choice.places(masker), None, ""
    if atlas is not None and masker is not None:
        areas = area_names(atlas, masker)
    place = None if places is None else places[peaks["region"].iloc[0]]
    pictures = Pictures(view, place, background)
    if masker is not None and choice.has_place:
        viewer = viewer_of_curves(fitted, background, peaks=peaks["region"])
    others = [name for name in view.overview() if name not in _NOT_AMONG_MAPS]
    shown = [
        ("Accuracy curves", curves_section(fitted, view, peaks)),
        ("Peaks", _peaks_section(view, peaks, has_viewer="nx-viewer" in viewer)),
        ("How many are informative", discoveries_section(view, areas)),
        ("Explore the maps", viewer),
        ("Maps", pictures.section(others)),
    ]
    vacuous = paragraphs(*vacuity_notes(fitted, view), note=True)
    details = [
        ("Permutation test", _permutations(fitted)),
        ("What was analyzed", _summary(fitted)),
        ("What holds when", vacuous + render("list", items=validity_notes(fitted))),
    ]
    sections = sections_of(
        answer(found(fitted, view, peaks), pictures.figure("accuracy")),
        shown,
        sentences("identification_limits", view=view),
        details,
        methods(fitted, view, samples),
        [("Parameters", parameter_tables(fitted))],
    )
    return [section for section in sections if section[1]]


def summary(fitted, *, n_peaks=5):
    """Summarize a fitted analysis in a few lines of HTML, without pictures."""
    view, words, table = page_maps(fitted), [], ""
    if view.n_known():
        peaks = ranked_peaks(fitted, n_peaks)
        words = found(fitted, view, peaks)
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


def _summary(fitted):
    """Tabulate what was analyzed and what was left out."""
    analyzed = np.isfinite(fitted.region_scores_["accuracy"])
    n_voxels = fitted.region_scores_["n_voxels"][analyzed]
    fewest, median, most = np.nanquantile(n_voxels, (0, 0.5, 1))
    names = ", ".join(str(name) for name in fitted.classes_[:12])
    names += ", ..." if len(fitted.classes_) > 12 else ""
    items = {
        "classes": f"{len(fitted.classes_)}: {names}",
        "voxels or features": fitted.n_elements_,
        "regions analyzed": f"{analyzed.sum()} of {len(analyzed)}",
        "voxels per region": f"{fewest:.0f} to {most:.0f}, median {median:.0f}",
        "dropped voxels": _dropped(fitted),
        "test points": fitted.results_.n_test,
        "permutations": fitted.n_permutations_,
        "confidence level": fitted.results_.confidence_level,
        "chance accuracy": f"{1 / len(fitted.classes_):.4g}",
    }
    return render("pairs", items=items, caption="What was analyzed")


def _dropped(fitted):
    """Describe how many voxels of the regions could not be used."""
    results = fitted.results_
    members = np.diff(results.choice.regions.indptr)
    missing = members - results.n_voxels
    if not (missing > 0).any():
        return "none"
    return (
        f"{int((missing > 0).sum())} regions lost voxels that are NaN or constant, at "
        f"most {int(missing.max())}"
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
