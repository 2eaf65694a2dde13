"""The page of a group: clusters, every subject at the peaks, null distributions."""

import re

import numpy as np
from markupsafe import Markup
from scipy.stats import t as student

from neuroextrap.plotting._axes import COLORS, new_axes
from neuroextrap.reporting._group_results import (
    P_VALUES,
    joined_view,
    of_clusters,
    read_group,
)
from neuroextrap.reporting._maps_section import Pictures, choose_background
from neuroextrap.reporting._page import (
    answer,
    make_page,
    page_title,
    render,
    sections_of,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._peaks import discoveries_section, tables_of_peaks
from neuroextrap.reporting._pictures import embed_figure, null_figure
from neuroextrap.reporting._viewer import draw_viewer, rounded

_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_MOST_NUMBERS = 120_000
_MOST_PLACES = 3000


def make_group_page(
    analyses,
    title=None,
    *,
    labels_img=None,
    names=None,
    bg_img=None,
    left_out=None,
    links=None,
):
    """Make a page of analyses of one group, of which the first decides what survives.

    `names` are those of the labels of `labels_img`, `left_out` reasons and `links`
    addresses of own pages by subject.
    """
    results = read_group(analyses, None if labels_img is None else (labels_img, names))
    first, *others = results
    title = page_title(title, f"Group of {len(first.about.subjects)} subjects")
    view, drawn = joined_view(results), first.shown
    peak = int(first.clusters["feature"].iloc[0])
    background = choose_background(view.masker, bg_img)
    pictures = Pictures(view, view.places[peak], background)
    further = [
        (_HEADINGS[each.about.test], answer(sentences("group_found", **each.known)))
        for each in others
    ]
    many = f"How many {view.words[1]}"
    shown = [
        *further,
        ("Clusters", _clusters_section(first)),
        *((many, discoveries_section(each.view, each.labels)) for each in results),
        ("Subjects at the peaks", _subjects_figure(first)),
        ("Explore the maps", _viewer(view, first, background)),
        ("Maps", pictures.section([n for n in view.overview() if n != drawn])),
    ]
    nulls = [figure for each in results for figure in _null_figures(each)]
    who = {"left_out": left_out or {}, "links": links or {}}
    who |= {"result": first, "peak": peak}
    details = [
        ("Null distributions", Markup("\n").join(nulls)),
        ("Who was analyzed", render("subjects", **who)),
    ]
    about = first.known | {"results": results}
    options = render("group_options", results=results, headings=_HEADINGS)
    how = {"details": details, "requested": [("Options", options)]}
    picture = pictures.figure(drawn)
    return make_page(title, sections_of("group", about, picture, shown, **how))


def _viewer(view, result, background):
    """Return a viewer of all maps, whose click shows the value of every subject."""
    values, labels = result.about.subject_values, result.labels
    kept = _kept_features(result, result.clusters["feature"].to_numpy())
    names = None if labels is None else [labels[each] or "no region" for each in kept]
    baseline, baseline_label = result.baseline
    subjects = {
        "names": list(result.about.subjects),
        "label": result.value_words,
        "values": rounded(values[:, kept].T),
        "baseline": baseline,
        "baseline_label": baseline_label,
    }
    shown = {"set_sizes": [], "subjects": subjects}
    return draw_viewer(view, result.shown, kept, shown, background, names=names)


def _kept_features(result, peaks):
    """Return the features whose subjects' values are kept, the first peak first."""
    strength = np.nan_to_num(result.strength, nan=-np.inf)
    strength = np.where(result.view.finding.survives, np.inf, strength)
    n_subjects = len(result.about.subjects)
    most = min(_MOST_PLACES, max(1, _MOST_NUMBERS // n_subjects))
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.inf][:most]
    return np.append(peaks, np.setdiff1d(order, peaks)).astype(int)


_T_LIKE = ("t", "v", "pseudo_t", "f")
_COLUMNS = {
    "place": "Peak",
    "region": "Region",
    "size_mm3": "Size (mm³)",
    "n_vertices": "Vertices",
    "true_discoveries": "True discoveries, at least",
}


def _clusters_section(result):
    """Show the table of clusters, or of trends; places move the viewer."""
    clusters, view = result.clusters, result.view
    columns: dict = dict(_COLUMNS)
    for name in clusters.columns.intersection(list(view.scores), sort=False):
        label = view.record(name).label.removesuffix(" (all regions at once)")
        how = "bits" if name in _T_LIKE else "bound" if "_bound" in name else "number"
        columns[name] = sentence_case(label), how
    return tables_of_peaks(
        clusters,
        np.full(len(clusters), view.finding.n_surviving > 0),
        columns | P_VALUES,
        captions=(
            f"Clusters of what survives ({view.finding.words})",
            "The strongest places; none survives correction",
        ),
        hint=Markup(" ").join(sentences("group_clusters", result=result)),
        viewer_index="feature",
        file_name="clusters.tsv",
    )


_N_PEAKS = 4
_WITHOUT_SPREAD = 3  # fewer subjects have no interval


def _subjects_figure(result):
    """Draw every subject's value at the first peaks, with mean and interval."""
    about, peaks = result.about, result.clusters["feature"].to_numpy()[:_N_PEAKS]
    ax = new_axes(3.4 + 1.1 * len(peaks), 3.4)
    baseline, name = result.baseline
    if baseline is not None:
        ax.axhline(baseline, ls="--", color="0.4", lw=1, label=name)
    for column, peak in enumerate(peaks):
        _draw_subjects(ax, about, column, peak)
    words = [re.sub(" mm(, )?", " mm\n", result.place_words(peak)) for peak in peaks]
    words = [each.replace(", ", ",\N{NO-BREAK SPACE}", 2) for each in words]
    ax.set_xticks(range(len(peaks)), words, fontsize="x-small")
    ax.set_ylabel(result.value_words)
    ax.set_xlim(-0.6, len(peaks) - 0.2)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
    (caption,) = sentences("group_caption", options=about.options)
    return embed_figure(ax.figure, caption, "subjects.svg")


def _draw_subjects(ax, about, column, peak):
    """Draw the subjects' values at one peak; of a mean, with its interval."""
    own = about.subject_values[:, peak]
    known = np.isfinite(own)
    own, label = own[known], "one subject" if column == 0 else None
    of_mean = about.options.get("of_mean", True)
    across = np.linspace(-0.22, 0.22, len(own))
    if not of_mean:
        tested = about.options["tested"][known]
        across = 0.3 * tested / np.abs(tested).max()
    ax.plot(column + across, own, "o", ms=4, color=COLORS[0], alpha=0.6, label=label)
    if of_mean and len(own) >= _WITHOUT_SPREAD:
        reach = student.isf(0.025, len(own) - 1) * own.std(ddof=1) / len(own) ** 0.5
        label = "mean, 95% interval" if column == 0 else None
        ax.errorbar(
            column + 0.33, own.mean(), reach, fmt="D", color=COLORS[1], label=label
        )


def _null_figures(result):
    """Yield figures of the largest statistic of every permutation, and the observed."""
    maxima, view = result.about.null_maxima, result.view
    for name in sorted(maxima, key=of_clusters):  # the statistic itself comes first
        shown = name if name in view.scores else "mean"
        finite = maxima[name][np.isfinite(maxima[name])]
        if shown not in view.scores or not len(finite):
            continue
        label = view.record(shown).label
        where = "" if "cluster" in name else f" over {view.words[1]}"
        yield null_figure(
            finite,
            float(np.nanmax(view.strength(shown))),
            f"largest {label}{where}",
            f"Largest {label} in each of {len(maxima[name]):,} rearrangements of the "
            "subjects' maps; the family-wise p-values refer to it.",
            f"null_{name}.svg",
            label="rearranged",
        )
