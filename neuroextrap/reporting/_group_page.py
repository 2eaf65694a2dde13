"""The page about a group: what was found over subjects, and who they are."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._discoveries import (
    discoveries_section,
    viewer_discoveries,
)
from neuroextrap.reporting._group_results import (
    found_in_group,
    group_methods,
    read_group,
)
from neuroextrap.reporting._group_sections import (
    clusters_section,
    group_clusters,
    null_figures,
    subjects_figure,
)
from neuroextrap.reporting._maps_section import Pictures, choose_background
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import (
    answer,
    key_value_table,
    list_of,
    make_page,
    page_title,
)
from neuroextrap.reporting._rendering import (
    format_number,
    render,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._viewer import draw_viewer, or_note
from neuroextrap.reporting._viewer_data import rounded, viewer_data

_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_KNOWN_OTHERWISE = ("of_mean", "tested", "flips", "all", "n_first_level")
_MOST_NUMBERS = 120_000
_MOST_PLACES = 3000


def make_group_page(analyses, records, *, title, atlas, bg_img, left_out, links):
    """Put several analyses (GroupMaps) of one group on a page, a Report.

    The first analysis decides what survives. `records` say what the maps mean; `atlas`
    is a labels image and names, or None; `left_out` are reasons and `links` addresses
    of own pages by subject.
    """
    results = read_group(analyses, records, atlas)
    first = results[0]
    view, drawn = first.view, first.names[first.shown]
    clusters = group_clusters(first)
    peak = int(clusters["feature"].iloc[0])
    background = choose_background(view.masker, bg_img)
    pictures = Pictures(view, first.places[peak], background, bg_img)
    words = found_in_group(first, len(clusters))
    sections = [
        ("What was found", answer(words, pictures.figure(drawn))),
        *((_HEADINGS[each.about.test], _answer(each)) for each in results[1:]),
        ("Clusters", clusters_section(first, clusters)),
        *(
            (f"How many {each.view.words[1]}", _how_many(each))
            for each in results
            if each.bounds is not None
        ),
        ("Subjects at the peaks", subjects_figure(first, clusters)),
        (
            "Explore the maps",
            or_note(viewer_of_subjects, first, clusters, background, bg_img),
        ),
        ("Maps", pictures.section([n for n in view.overview() if n != drawn])),
        (
            "What this does not show",
            list_of(sentences("group_limits", results=results)),
        ),
        ("Null distributions", Markup("\n").join(map(null_figures, results)).strip()),
        ("Who was analyzed", _who(first, peak, left_out, links)),
        ("Methods", methods_section(group_methods(results))),
        ("Options", _options(result.about for result in results)),
    ]
    return make_page(
        page_title(title, f"Group of {len(first.about.subjects)} subjects"), sections
    )


def _answer(result):
    """Say what a further analysis of the group found."""
    return answer(found_in_group(result, len(group_clusters(result))))


def _how_many(result):
    """Say how many features of sets have an effect, or are informative."""
    return discoveries_section(result.counted, result.labels)


def viewer_of_subjects(result, clusters, background, bg_img):
    """Return a viewer whose click shows the value of every subject, as HTML.

    The page keeps these at the strongest features, the peaks of `clusters` first.
    """
    view, about = result.view, result.about
    kept = _kept_features(result, clusters["feature"].to_numpy())
    names = None
    if result.labels is not None:
        names = [result.labels[feature] or "no region" for feature in kept]
    trends = bool(view.finding.criterion and not view.finding.n_surviving)
    shown = result.names[result.shown]
    data = viewer_data(view, shown, kept, names=names, trends=trends)
    baseline, baseline_words = result.baseline
    data |= {
        "set_sizes": [],
        "discoveries": viewer_discoveries(result.counted),
        "subjects": {
            "names": list(about.subjects),
            "label": result.value_words,
            "values": rounded(about.values[:, kept].T),
            "baseline": baseline,
            "baseline_label": baseline_words,
        },
    }
    return draw_viewer(view, shown, data, background, bg_img)


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


def _options(abouts):
    """Tabulate what was requested."""
    tables = []
    for about in abouts:
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
