"""The page about a group: what was found over subjects, and who they are."""

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._anatomy import fitted_background
from neuroextrap.reporting._group_clusters import clusters_section, group_clusters
from neuroextrap.reporting._group_finding import (
    find_in_group,
    sentences_in_group,
    verdict_in_group,
)
from neuroextrap.reporting._group_methods import group_limits, group_methods
from neuroextrap.reporting._group_pictures import (
    map_picture,
    null_figures,
    subjects_figure,
    value_words,
)
from neuroextrap.reporting._group_view import group_view
from neuroextrap.reporting._group_viewer import group_viewer
from neuroextrap.reporting._page import key_value_table, make_page
from neuroextrap.reporting._rendering import format_number, paragraphs, render
from neuroextrap.reporting._viewer import background_note

_HEADINGS = {
    "second_level": "Mean over subjects",
    "prevalence": "Prevalence",
    "permutation": "Mean against permuted labels",
    "information": "Information over subjects",
}

_KNOWN_OTHERWISE = ("of_mean", "tested", "flips", "all", "n_first_level")


def make_group_page(analyses, records, *, title, atlas, bg_img, left_out, links):
    """Put several analyses (GroupMaps) of one group on a page, a Report.

    The first analysis decides what survives. `records` say what the maps mean; `atlas`
    is a labels image and names, or None; `left_out` are reasons and `links` addresses
    of own pages by subject.
    """
    view = group_view(analyses, records, atlas)
    maps = analyses[0]
    finding = find_in_group(maps, view)
    clusters = group_clusters(maps, finding, view)
    background = fitted_background(view, bg_img)
    draw = _Pictures(maps, finding, view, clusters, background.img, bg_img)
    sections = [
        ("What was found", _answer(maps, finding, view, len(clusters), draw)),
        *_others(analyses[1:], view),
        ("Clusters", clusters_section(maps, finding, view, clusters)),
        ("Subjects at the peaks", subjects_figure(maps.summary, view, clusters)),
        (
            "Explore the maps",
            group_viewer(
                maps, finding, view, background, bg_img, clusters["feature"].to_numpy()
            ),
        ),
        ("Maps", _maps(finding, view, draw, background)),
        ("What this does not show", render("list", items=group_limits(analyses, view))),
        ("Null distributions", _nulls(analyses, view)),
        ("Who was analyzed", _who(maps.summary, view, clusters, left_out, links)),
        ("Methods", group_methods(analyses)),
        ("Options", _options(analyses)),
    ]
    return make_page(
        title or f"Group of {len(maps.summary.subjects)} subjects",
        [(heading, content) for heading, content in sections if content],
    )


class _Pictures:
    """Draw maps of the first analysis's survivors, all cut at its strongest peak."""

    def __init__(self, maps, finding, view, clusters, below, bg_img):
        self._view, self._finding = view, finding
        self._peak = int(clusters["feature"].iloc[0])
        self._below, self._bg_img = below, bg_img
        self._two_sided = bool(maps.summary.options.get("two_sided"))

    def figure(self, name):
        """Return a map as HTML; "" where nothing is to be drawn."""
        return map_picture(
            self._view,
            self._finding,
            name,
            self._peak,
            self._below,
            self._bg_img,
            two_sided=self._two_sided,
        )


def _answer(maps, finding, view, n_clusters, draw):
    """Say what was found, and show where."""
    return render(
        "answer",
        verdict=verdict_in_group(maps, finding, view, n_clusters),
        sentences=sentences_in_group(maps, finding, view),
        picture=draw.figure(finding.shown),
    )


def _others(analyses, view):
    """Say what further analyses of the group found, a section each."""
    sections = []
    for maps in analyses:
        finding = find_in_group(maps, view)
        text = render(
            "answer",
            verdict=verdict_in_group(
                maps, finding, view, len(group_clusters(maps, finding, view))
            ),
            sentences=sentences_in_group(maps, finding, view),
            picture="",
        )
        sections.append((_HEADINGS[maps.summary.test], text))
    return sections


def _maps(finding, view, draw, background):
    """Show the other maps of the overview."""
    names = [name for name in view.overview() if name != finding.shown]
    figures = [draw.figure(name) for name in names]
    empty = [
        view.records[name].label
        for name, figure in zip(names, figures, strict=True)
        if not figure
    ]
    parts = [background_note(background), *figures]
    if empty:
        parts.append(paragraphs(f"Nowhere above 0: {'; '.join(empty)}."))
    return Markup("\n").join(part for part in parts if part)


def _nulls(analyses, view):
    """Show the null distributions of all analyses."""
    figures = [null_figures(maps, view) for maps in analyses]
    return Markup("\n").join(figure for figure in figures if figure)


def _who(about, view, clusters, left_out, links):
    """Tabulate the subjects, with links to their own pages, and who was left out."""
    peak = int(clusters["feature"].iloc[0])
    rows = [
        {
            "name": name,
            "value": format_number(float(value)),
            "link": links.get(name, ""),
        }
        for name, value in zip(about.subjects, about.values[:, peak], strict=True)
    ]
    words = value_words(about)
    heading = f"{words[:1].upper()}{words[1:]} at {view.place_words(peak)}"
    return render(
        "subjects", rows=rows, heading=heading, linked=bool(links), left_out=left_out
    )


def _options(analyses):
    """Tabulate what was asked for."""
    tables = []
    for maps in analyses:
        about = maps.summary
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
