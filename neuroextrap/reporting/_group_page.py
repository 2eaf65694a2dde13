"""The page of a group: clusters, every subject at the peaks, null distributions."""

import re

import numpy as np
import pandas as pd
from markupsafe import Markup
from scipy.stats import t as student

from neuroextrap.images._loading import neighbor_pairs
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.plotting._axes import COLORS, new_axes
from neuroextrap.regions._coordinates import peak_features
from neuroextrap.reporting._finding import discoveries_section, viewer_discoveries
from neuroextrap.reporting._group_results import (
    found_in_group,
    group_methods,
    of_clusters,
    read_group,
)
from neuroextrap.reporting._maps_section import Pictures, choose_background
from neuroextrap.reporting._page import (
    answer,
    format_number,
    format_of,
    format_p_value,
    key_value_table,
    make_page,
    page_title,
    render,
    sections_of,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._peaks import tables_of_peaks
from neuroextrap.reporting._pictures import embed_figure, null_figure
from neuroextrap.reporting._viewer import draw_viewer, or_note
from neuroextrap.reporting._viewer_data import rounded, viewer_data
from neuroextrap.stats._rearrangement_test import find_clusters

_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_KNOWN_OTHERWISE = ("of_mean", "tested", "flips", "all", "n_first_level")
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
    """Put analyses of one group, of which the first decides what survives, on a page.

    `left_out` are reasons and `links` addresses of own pages by subject.
    """
    atlas = None if labels_img is None else (labels_img, names)
    results = read_group(analyses, GROUP_MAPS, atlas)
    first, *others = results
    title = page_title(title, f"Group of {len(first.about.subjects)} subjects")
    view, drawn = first.view, first.names[first.shown]
    clusters = group_clusters(first)
    peak = int(clusters["feature"].iloc[0])
    background = choose_background(view.masker, bg_img)
    pictures = Pictures(view, first.places[peak], background)
    further = {
        _HEADINGS[each.about.test]: found_in_group(each, len(group_clusters(each)))
        for each in others
    }
    many = f"How many {view.words[1]}"
    shown = [
        *((heading, answer(words)) for heading, words in further.items()),
        ("Clusters", _clusters_section(first, clusters)),
        *((many, discoveries_section(each.counted, each.labels)) for each in results),
        ("Subjects at the peaks", _subjects_figure(first, clusters)),
        ("Explore the maps", or_note(_viewer, first, clusters, background)),
        ("Maps", pictures.section([n for n in view.overview() if n != drawn])),
    ]
    nulls = [figure for each in results for figure in _null_figures(each)]
    sections = sections_of(
        answer(found_in_group(first, len(clusters)), pictures.figure(drawn)),
        shown,
        sentences("group_limits", results=results),
        [
            ("Null distributions", Markup("\n").join(nulls)),
            ("Who was analyzed", _who(first, peak, left_out or {}, links or {})),
        ],
        group_methods(results),
        [("Options", _options(results))],
    )
    return make_page(title, sections)


def _viewer(result, clusters, background):
    """Return a viewer whose click shows the value of every subject, as HTML."""
    view, labels = result.view, result.labels
    kept = _kept_features(result, clusters["feature"].to_numpy())
    names = None if labels is None else [labels[each] or "no region" for each in kept]
    shown = result.names[result.shown]
    data = viewer_data(view, shown, kept, names=names, only=True)
    data |= {
        "set_sizes": [],
        "discoveries": viewer_discoveries(result.counted),
        "subjects": {
            "names": list(result.about.subjects),
            "label": result.value_words,
            "values": rounded(result.about.values[:, kept].T),
            "baseline": result.baseline[0],
            "baseline_label": result.baseline[1],
        },
    }
    return draw_viewer(view, shown, data, background)


def _kept_features(result, peaks):
    """Return the features whose subjects' values are kept, the first peak first."""
    strength = np.nan_to_num(result.strength, nan=-np.inf)
    strength = np.where(result.view.finding.survives, np.inf, strength)
    n_subjects = len(result.about.subjects)
    most = min(_MOST_PLACES, max(1, _MOST_NUMBERS // n_subjects))
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.inf][:most]
    return np.append(peaks, np.setdiff1d(order, peaks)).astype(int)


def _who(result, peak, left_out, links):
    """Tabulate the subjects, with links to their own pages, and who was left out."""
    about = result.about
    rows = [
        {
            "name": name,
            "value": format_number(float(value)),
            "link": links.get(name, ""),
        }
        for name, value in zip(about.subjects, about.values[:, peak], strict=True)
    ]
    heading = f"{sentence_case(result.value_words)} at {result.place_words(peak)}"
    return render(
        "subjects", rows=rows, heading=heading, linked=bool(links), left_out=left_out
    )


def _options(results):
    """Tabulate what was requested."""
    tables = []
    for about in (result.about for result in results):
        items = {
            name.replace("n_", "number of ").replace("_", " "): _plain(value)
            for name, value in about.options.items()
            if name not in _KNOWN_OTHERWISE
        }
        heading = _HEADINGS[about.test]
        tables.append(Markup("<h3>{}</h3>").format(heading))
        tables.append(key_value_table(items, heading))
    return Markup("\n").join(tables)


def _plain(value):
    """Return an option as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray):
        return value.tolist()
    return "-" if value is None else value


_N_TRENDS = 5
_APART = 16.0
_P_VALUES = {
    "p_value_fwe": "p (family-wise)",
    "p_value_fwe_cluster_extent": "p of the cluster's extent",
    "p_value_fwe_cluster_mass": "p of the cluster's mass",
    "p_value_fwe_tfce": "p (TFCE)",
    "p_value_prevalence": "p (prevalence), uncorrected",
}
_T_LIKE = ("t", "v", "pseudo_t", "f")
_NUMBERS = (
    "effect",
    "mean",
    "accuracy",
    "implied_information",
    "minimum",
    "prevalence_bound_fwe",
    "population_bayes_accuracy_bound_fwe",
)


def group_clusters(result):
    """Tabulate the clusters of what survives, of one sign each, or else the trends."""
    places, sizes = result.places, {}
    if result.view.finding.n_surviving:
        peaks, sizes = _surviving_peaks(result)
    else:
        apart = {"n_peaks": _N_TRENDS, "min_distance": _APART}
        peaks = peak_features(result.strength, places, **apart)
    columns = {"feature": peaks} | dict(zip("xyz", places[peaks].T, strict=True))
    if result.labels is not None:
        columns["region"] = [result.labels[peak] or "-" for peak in peaks]
    columns |= sizes
    names = dict.fromkeys((result.shown, *_NUMBERS, *_P_VALUES))
    scores = {name: result.scores[name] for name in names if name in result.scores}
    return pd.DataFrame(columns | {name: x[peaks] for name, x in scores.items()})


def _surviving_peaks(result):
    """Return the peaks of clusters, strongest first, and columns with their sizes."""
    view, strength = result.view, result.strength
    sign = np.sign(result.scores[result.shown]) if view.two_sided else 1
    pairs, clusters = neighbor_pairs(view.masker), {}
    for inside in (view.finding.survives & (sign == side) for side in (1, -1)):
        number = find_clusters(inside.astype(float), pairs).number
        for members in (number == n for n in range(number.max() + 1)):
            clusters[int(np.argmax(np.where(members, strength, -np.inf)))] = members
    peaks = sorted(clusters, key=strength.__getitem__, reverse=True)
    extent = np.array([clusters[peak].sum() for peak in peaks], dtype=float)
    sizes = {"n_vertices": extent}
    if not view.on_surface:
        volume = float(abs(np.linalg.det(view.masker.mask_img_.affine[:3, :3])))
        sizes = {"size_mm3": extent * volume}
    if result.bounds is not None:
        n_true = [result.bounds.count(clusters[peak]) for peak in peaks]
        sizes["true_discoveries"] = np.array(n_true, dtype=float)
    return np.array(peaks), sizes


def _clusters_section(result, clusters):
    """Show the table of clusters, or of trends; places move the viewer."""
    survive = f"Clusters of what survives ({result.view.finding.words})"
    hint = sentences(
        "group_clusters",
        on_surface=result.view.on_surface,
        has_clusters=result.has_clusters,
        has_atlas=result.labels is not None,
    )
    return tables_of_peaks(
        clusters,
        np.full(len(clusters), result.view.finding.n_surviving > 0),
        _columns(result, clusters),
        captions=(survive, "The strongest places; none survives correction"),
        hint=Markup(" ").join(hint),
        viewer_index="feature",
        file_name="clusters.tsv",
    )


def _columns(result, clusters):
    """Return the headings of the columns, and how their values are written."""
    columns = {
        "place": ("Peak", str),
        "region": ("Region", str),
        "size_mm3": ("Size (mm³)", format_number),
        "n_vertices": ("Vertices", format_number),
        "true_discoveries": ("True discoveries, at least", format_number),
    }
    for name in clusters.columns.intersection(list(result.names), sort=False):
        label = sentence_case(
            result.record(name).label.removesuffix(" (all regions at once)")
        )
        write = "{:.2f}".format if name in _T_LIKE else format_of(name)
        columns[name] = (label, write)
    return columns | {name: (head, format_p_value) for name, head in _P_VALUES.items()}


_N_PEAKS = 4
_WITHOUT_SPREAD = 3  # fewer subjects have no interval


def _subjects_figure(result, clusters):
    """Draw every subject's value at the first peaks, with mean and interval."""
    about, peaks = result.about, clusters["feature"].to_numpy()[:_N_PEAKS]
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
    own = about.values[:, peak]
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
    maxima = result.about.null_maxima
    # the statistic itself comes before clusters
    for name in sorted(maxima, key=of_clusters):
        shown = name if name in result.scores else "mean"
        finite = maxima[name][np.isfinite(maxima[name])]
        values = result.scores.get(shown)
        if values is None or not len(finite):
            continue
        observed = np.nanmax(np.abs(values) if result.view.two_sided else values)
        label = result.record(shown).label
        where = "" if "cluster" in name else f" over {result.view.words[1]}"
        yield null_figure(
            finite,
            float(observed),
            f"largest {label}{where}",
            f"Largest {label} in each of {len(maxima[name]):,} rearrangements of the "
            "subjects' maps; the family-wise p-values refer to it.",
            f"null_{name}.svg",
            label="rearranged",
        )
