"""Pages about one number of every region: its best places, maps and words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._named_records import band_names, dissimilarity_names
from neuroextrap.maps._registry import MAPS
from neuroextrap.plotting._brain_maps import COLORMAP, SIGNED_COLORMAP
from neuroextrap.plotting._information_plots import (
    draw_both_accuracies,
    draw_distances,
    draw_specification_curve,
)
from neuroextrap.reporting._maps_section import (
    Look,
    PageMaps,
    Pictures,
    choose_background,
    decide,
    named_place,
    words_of_regions,
)
from neuroextrap.reporting._page import (
    capitalized,
    frame_table,
    make_page,
    page_title,
    paragraphs,
    parameter_table,
    sections_of,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._peaks import peaks_of, tables_of_regions
from neuroextrap.reporting._pictures import color_range, embed_figure, signed_range

_OF_PIPELINES = {
    "n_regions": "regions",
    "largest_standardized": "in units of maxima",
    "p_value_fwe": ("p over all", "p"),
    "p_value_fwe_alone": ("p alone", "p"),
    "n_surviving": "survive",
    "n_surviving_alone": "survive alone",
}
_TIE = 1e-6  # by which p-values order regions with equal numbers
_OF_CONFOUND = "neg_log10_p_fwe", "information_bound_beyond"


def cross_page(maps, title=None, **options):
    """Make the page of what ``cross_identification`` returned, a Report."""
    drawn = "train_to_test_accuracy", "test_to_train_accuracy", "neg_log10_p_fwe"
    content = _Shown("cross", maps.conditions_, drawn=drawn)
    return _region_page(maps, title, content, **options)


def dissimilarity_page(maps, title=None, **options):
    """Make the page of distances between classes, and of the first of their models."""
    models, drawn = [*maps.models_], ["noise_ceiling"]
    by, tested = "mean_dissimilarity", ""
    if models:
        by, _, tested = dissimilarity_names(models[0])
        further = [dissimilarity_names(model)[0] for model in models[1:]]
        drawn = ["mean_dissimilarity", *further, *drawn]

    def draw(_, peaks):
        figure = draw_distances(maps, int(peaks["region"].iloc[0]))
        caption = sentences("dissimilarity_caption", place=named_place(peaks.iloc[0]))
        return [("Distances", embed_figure(figure, caption[0], "distances.svg"))]

    about = {"models": models}
    content = _Shown("dissimilarity", about, by, tested, drawn=drawn, more=draw)
    return _region_page(maps, title, content, **options)


def multiverse_page(maps, title=None, **options):
    """Make the page of what ``multiverse`` returned, a Report."""
    table = maps.table_

    def draw(view, _):
        differ = list(next(iter(maps.parameters["pipelines"].values())))
        curve = draw_specification_curve(table, differ, maps.null_maxima_)
        caption = sentences("multiverse_caption", many=view.words[1])[0]
        title = "Every pipeline, in its own right and among all"
        rows = frame_table(table, title, _OF_PIPELINES)
        figure = embed_figure(curve, caption, "specification_curve.svg")
        return [("Pipelines", figure), ("Table of pipelines", rows)]

    unusual = table.loc[table["largest_standardized"].idxmax()]
    about = {"n_pipelines": len(table), "unusual": unusual}
    by, tested = "n_pipelines", "p_value_fwe_any"
    content = _Shown("multiverse", about, by, tested, more=draw)
    return _region_page(maps, title, content, **options)


def confound_page(maps, title=None, **options):
    """Make the page of what ``trial_confound`` returned, a Report."""
    drawn = [name for name in _OF_CONFOUND if name in maps.region_scores_]
    own = {}
    if "confound_accuracy" in maps.region_scores_:
        own = {"confound_accuracy": ("confound_p_value", "confound_p_value_fwe")}
    content = _Shown("confound", drawn=drawn, own=own)
    return _region_page(maps, title, content, **options)


def continuous_page(maps, title=None, **options):
    """Make the page of how well responses to a film or a story are predicted."""
    scores, bands = maps.region_scores_, () if maps.bands_ is None else maps.bands_
    names = {band: band_names(band)[1:] for band in np.unique(bands)}
    names = {band: each for band, each in names.items() if each[0] in scores}
    content = _Shown(
        "continuous",
        {"bands": names},
        "correlation",
        drawn=[name for name in ("r2", "noise_ceiling") if name in scores],
        own={unique: p_values for unique, *p_values in names.values()},
    )
    return _region_page(maps, title, content, **options)


def confound_summary(maps):
    """Return what ``trial_confound`` found, as one paragraph of plain text."""
    content = _Shown("confound")
    about, *_ = _content_of(maps, _view_of(maps, content), content)
    return " ".join(each.unescape() for each in sentences("confound_found", **about))


class _Shown(NamedTuple):
    """What a page shows, with the templates of a `kind`, of regions ordered `by` a map.

    `drawn` are further maps, `own` those with p-values of their own (their names), and
    `more` makes sections of the PageMaps and the table of peaks.
    """

    kind: str
    about: Mapping = MappingProxyType({})
    by: str = "accuracy"
    tested: str = "p_value_fwe"
    drawn: Sequence[str] = ()
    own: Mapping = MappingProxyType({})
    more: Callable | None = None
    table: bool = True
    looks: Any = ()
    two_sided: bool = False


def _region_page(maps, title, content, *, n_peaks=10, bg_img=None, atlas=None):
    """Make the page that shows maps of regions as _Shown says."""
    view = _view_of(maps, content)
    about, rows, peaks = _content_of(maps, view, content, n_peaks, atlas)
    background = choose_background(maps.masker_, bg_img, maps.bg_img_)
    place = None if maps.places_ is None else maps.places_[rows[0]]
    pictures = Pictures(view, place, background)
    notes = [f"{capitalized(note)}." for note in maps.notes_]
    title = page_title(title, sentences(f"{content.kind}_title", **about)[0])
    notes = ("" if content.drawn else pictures.note) + paragraphs(*notes, note=True)
    images = ""
    if content.drawn:
        figures = [_figure_of(pictures, name, *p) for name, p in content.own.items()]
        images = Markup("\n").join([pictures.section(content.drawn), *figures])
    parts = [
        *(content.more(view, peaks) if content.more else ()),
        ("Strongest regions", _peaks_table(view, peaks, content)),
        ("Maps", images),
    ]
    plain = {k: v for k, v in maps.parameters.items() if k != "pipelines"}
    how = {"notes": notes, "requested": [("Parameters", parameter_table(plain))]}
    picture = pictures.figure(content.by)
    return make_page(title, sections_of(content.kind, about, picture, parts, **how))


def _figure_of(pictures, name, p_value, p_value_fwe):
    """Return a map whose regions survive by p-values of its own, if there are any."""
    view = pictures.view
    if p_value_fwe in view.scores:
        finding = decide({"p_value_fwe": view.scores[p_value_fwe]})
        scores = view.scores | {"p_value": view.scores[p_value]}
        view = replace(view, finding=finding, scores=scores)
    return replace(pictures, view=view).figure(name)


def _content_of(maps, view, content, n_peaks=1, atlas=None):
    """Return what words say, the strongest regions, and a table of them."""
    scores, places, by = view.scores, maps.places_, content.by
    names = maps.names_ if hasattr(maps, "names_") else maps.choice_.names
    strength = view.strength(by) - _TIE * scores.get(content.tested, 0)
    rows, peaks = peaks_of(scores, strength, names, places, n_peaks, atlas)
    about = {
        "maps": maps,
        "scores": scores,
        "finding": view.finding,
        "n_classes": view.n_classes,
        "n_regions": view.n_known(by),
        "one": view.words[0],
        "many": view.words[1],
        "peak": peaks.iloc[0],
        "best": peaks[by].iloc[0],
        "place": named_place(peaks.iloc[0]),
        "doubt": doubts_about(maps.findings_, maps.region_scores_),
        "n_exchanges": maps.n_permutations_,
        "are_images": bool(view.maps),
    }
    return about | dict(content.about), rows, peaks


def _view_of(maps, content):
    """Return the PageMaps of maps of which one is tested by p-values, if there are."""
    scores, masker, tested = maps.region_scores_, maps.masker_, content.tested
    words = getattr(maps, "words_", None)
    deciding = {content.by: scores[content.by]}
    if tested in scores:
        deciding = {"p_value_fwe": scores[tested]}
    return PageMaps(
        maps=dict(maps) if masker is not None else {},
        scores=scores,
        masker=masker,
        choice=maps.choice_,
        words=words or words_of_regions(masker, centered=maps.places_ is not None),
        finding=decide(deciding),
        records=maps.records or MAPS,
        n_classes=len(getattr(maps, "classes_", ())) or None,
        looks=content.looks,
        two_sided=content.two_sided,
    )


def _peaks_table(view, peaks, content):
    """Tabulate the strongest regions, each map under its label, if that is shown."""
    if not content.table:
        return ""
    records = {name: view.record(name) for name in peaks if name in view.scores}
    return frame_table(
        peaks,
        f"{sentence_case(view.words[1])} by {view.record(content.by).label}",
        {n: (r.label, "p" if r.unit == "p" else "number") for n, r in records.items()},
    )


_DIFFERENCE = "accuracy_difference"
_BOTH = "first_accuracy", "second_accuracy"
_OF_DIFFERENCES = {
    _DIFFERENCE: ("Difference (percentage points)", "points"),
    "information_difference": ("Difference of implied information (bits)", "change"),
    "p_value_fwe_step_down": ("p (step-down)", "p"),
    "p_value_fwe": ("p (family-wise)", "p"),
}


def comparison_page(maps, title=None, *, names=("first", "second"), **options):
    """Make the page of two decoders or encoding models compared, called `names`."""
    names = tuple(names)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"names={names!r} must be two texts; name the first and the second"
        )

    def more(view, peaks):
        one, (first, second) = view.words[0], (view.scores[name] for name in _BOTH)
        figure = draw_both_accuracies(first, second, view.finding.survives, names)
        caption = f"Every dot is one {one}; above the line {names[0]} is better."
        yield "Both accuracies", embed_figure(figure, caption, "both_accuracies.svg")
        yield "Largest differences", _table(view, names, peaks)

    about = dict(zip(("first", "second"), names, strict=True))
    looks = _looks(maps.region_scores_, about)
    of_verdict = *_BOTH, _DIFFERENCE, "p_value_fwe"
    content = _Shown(
        "comparison",
        about | {"doubt": doubts_about(maps.findings_, of_verdict)},
        _DIFFERENCE,
        drawn=("information_difference", *_BOTH),
        more=more,
        table=False,
        looks=looks,
        two_sided=bool(maps.parameters.get("two_sided", True)),
    )
    return _region_page(maps, title, content, **options)


def _looks(scores, about):
    """Return how to draw the maps of a comparison of a first and a second, by map."""
    both = np.concatenate([scores[name] for name in _BOTH])
    colors = dict.fromkeys(_BOTH, (color_range(both), COLORMAP))
    for name in (_DIFFERENCE, "information_difference"):
        if name in scores:
            colors[name] = signed_range(scores[name]), SIGNED_COLORMAP
    titles = {n: sentences("comparison_map", name=n, **about)[0] for n in colors}
    return {name: Look(titles[name], *look) for name, look in colors.items()}


def _table(view, names, peaks):
    """Tabulate the largest differences, those that survive apart."""
    accuracies = {
        name: (f"Accuracy of {each}", "percent")
        for name, each in zip(_BOTH, names, strict=True)
    }
    return tables_of_regions(
        view,
        peaks,
        {"atlas_label": "Atlas"} | accuracies | _OF_DIFFERENCES,
        f"Largest differences of {view.words[1]}",
        hint="The largest differences were found by looking, so that they are too "
        "large on average; the family-wise p-values allow for that.",
        file_name="differences.tsv",
    )
