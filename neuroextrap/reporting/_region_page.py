"""Pages about one number of every region: its best places, maps and words."""

from dataclasses import replace

import numpy as np
from markupsafe import Markup

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._named_records import band_names, dissimilarity_names
from neuroextrap.maps._registry import MAPS
from neuroextrap.plotting._confusion import draw_distances
from neuroextrap.plotting._information_plots import draw_specification_curve
from neuroextrap.reporting._finding import decide, named_place, words_of_regions
from neuroextrap.reporting._identification_words import methods_section, parameter_table
from neuroextrap.reporting._maps_section import (
    PageMaps,
    Pictures,
    background_note,
    choose_background,
)
from neuroextrap.reporting._page import (
    answer,
    frame_table,
    list_of,
    make_page,
    page_title,
)
from neuroextrap.reporting._peaks import peaks_of
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import (
    format_p_value,
    paragraphs,
    sentence_case,
    sentences,
)
from neuroextrap.stats._pvalues import LEVEL

_OF_PIPELINES = {
    "n_regions": "regions",
    "largest_standardized": "in units of maxima",
    "p_value_fwe": "p over all",
    "p_value_fwe_alone": "p alone",
    "n_surviving": "survive",
    "n_surviving_alone": "survive alone",
}
_TIE = 1e-6  # by which p-values order regions with equal numbers
_OF_CONFOUND = "neg_log10_p_fwe", "information_bound_beyond"


def cross_page(maps, title=None, **options):
    """Make the page of what ``cross_identification`` returned, a Report.

    Of the options `bg_img` is drawn under the maps and `atlas` names the places of
    peaks, as on pages of comparisons.
    """
    drawn = "train_to_test_accuracy", "test_to_train_accuracy", "neg_log10_p_fwe"
    title = page_title(
        title, "From {train} to {test}, and back".format(**maps.conditions_)
    )
    shown = {"by": "accuracy", "tested": "p_value_fwe", "drawn": drawn}
    return region_page(maps, title, "cross", maps.conditions_, **shown, **options)


def dissimilarity_page(maps, title=None, **options):
    """Make the page of distances between classes, and of the first of their models.

    The options are those of :func:`cross_page`.
    """
    by, tested, models = "mean_dissimilarity", "", [*maps.models_]
    drawn = ["noise_ceiling"]
    if models:
        by, _, tested = dissimilarity_names(models[0])
        further = [dissimilarity_names(model)[0] for model in models[1:]]
        drawn = ["mean_dissimilarity", *further, *drawn]
    about = {"models": models, "agreement": maps.agreement_, "runs": maps.n_runs_}

    def draw(_, peaks):
        figure = draw_distances(maps, int(peaks["region"].iloc[0]))
        caption = sentences("dissimilarity_caption", place=named_place(peaks.iloc[0]))
        return [("Distances", embed_figure(figure, caption[0], "distances.svg"))]

    shown = {"by": by, "tested": tested, "drawn": drawn, "more": draw}
    title = page_title(title, "Distances between classes")
    return region_page(maps, title, "dissimilarity", about, **shown, **options)


def multiverse_page(maps, title=None, **options):
    """Make the page of what ``multiverse`` returned, a Report.

    The options are those of :func:`cross_page`.
    """
    table = maps.table_
    about = {
        "n_pipelines": len(table),
        "n_all": int((maps.region_scores_["p_value_fwe_all"] <= LEVEL).sum()),
        "unusual": table.loc[table["largest_standardized"].idxmax()],
    }

    def draw(*_):
        differ = list(next(iter(maps.parameters["pipelines"].values())))
        curve = draw_specification_curve(table, differ, maps.null_maxima_)
        caption = sentences("multiverse_caption", many=maps.words_[1])[0]
        formats = dict.fromkeys(("p_value_fwe", "p_value_fwe_alone"), format_p_value)
        title = "Every pipeline, in its own right and among all"
        rows = frame_table(table, title, headings=_OF_PIPELINES, formats=formats)
        figure = embed_figure(curve, caption, "specification_curve.svg")
        return [("Pipelines", figure), ("Table of pipelines", rows)]

    shown = {"by": "n_pipelines", "tested": "p_value_fwe_any", "drawn": ()}
    title = page_title(title, f"{len(table)} pipelines, one test")
    return region_page(maps, title, "multiverse", about, **shown, more=draw, **options)


def confound_page(maps, title=None, **options):
    """Make the page of what ``trial_confound`` returned, a Report.

    The options are those of :func:`cross_page`.
    """
    drawn = [name for name in _OF_CONFOUND if name in maps.region_scores_]
    own = {}
    if "confound_accuracy" in maps.region_scores_:
        own = {"confound_accuracy": ("confound_p_value", "confound_p_value_fwe")}
    title = page_title(title, "The class, or its confound")
    shown = {"by": "accuracy", "tested": "p_value_fwe", "drawn": drawn, "own": own}
    about = _about_confound(maps)
    return region_page(maps, title, "confound", about, **shown, **options)


def continuous_page(maps, title=None, **options):
    """Make the page of how well responses to a film or a story are predicted.

    The options are those of :func:`cross_page`.
    """
    bands = np.unique([] if maps.bands_ is None else maps.bands_)
    about = {
        "runs": maps.n_runs_,
        "model": maps.parameters,
        "bands": _about_bands(maps, bands),
        "segments": _about_segments(maps.segments_),
    }
    named = [n for n in map(band_names, bands) if n[1] in maps.region_scores_]
    own = {unique: p_values for _, unique, *p_values in named}
    drawn = [n for n in ("r2", "noise_ceiling") if n in maps.region_scores_]
    shown = {"by": "correlation", "tested": "p_value_fwe", "drawn": drawn, "own": own}
    title = page_title(title, "Responses to films and stories, predicted")
    return region_page(maps, title, "continuous", about, **shown, **options)


def _about_bands(maps, bands):
    """Return what words say of every band that was told apart, a list of dicts."""
    scores = maps.region_scores_
    names = {band: band_names(band) for band in bands}
    return [
        {
            "name": band,
            "most": float(np.nanmax(scores[unique])),
            "n": int((scores[p_value] <= LEVEL).sum()) if p_value in scores else None,
        }
        for band, (_, unique, _, p_value) in names.items()
        if unique in scores
    ]


def _about_segments(maps):
    """Return what words say of segments, None if none were identified."""
    if maps is None:
        return None
    scores = maps.region_scores_
    p_value = scores.get("p_value_fwe")
    return {
        "seconds": maps.seconds_,
        "n": len(scores["accuracy"]),
        "n_candidates": maps.n_candidates_,
        "pairwise": float(np.nanmax(scores["pairwise_accuracy"])),
        "accuracy": float(np.nanmax(scores["accuracy"])),
        "notes": maps.notes_,
        "n_found": None if p_value is None else int((p_value <= LEVEL).sum()),
    }


def confound_summary(maps):
    """Return what ``trial_confound`` found, as one paragraph of plain text."""
    about, *_ = _known(maps, _about_confound(maps), "accuracy", "p_value_fwe")
    return " ".join(each.unescape() for each in sentences("confound_found", **about))


def _about_confound(maps):
    """Return what only the words on a confound say."""
    scores = maps.region_scores_

    def n_below(name):
        return int((scores[name] <= LEVEL).sum()) if name in scores else None

    bits = scores.get("information_bound_beyond_fwe", np.zeros(1))
    return {
        "alone": maps.class_from_confound_,
        "n_levels": len(maps.levels_),
        "of_numbers": maps.of_numbers_,
        "n_strata": maps.n_strata_,
        "share": maps.exchangeable_,
        "n_free": n_below("unrestricted_p_value_fwe"),
        "n_within": n_below("p_value_fwe"),
        "n_confound": n_below("confound_p_value_fwe"),
        "n_bits": int((bits > 0).sum()),
        "most_bits": float(np.nanmax(bits)),
    }


def region_page(  # noqa: PLR0913 - each is one thing that pages have
    maps,
    title,
    kind,
    about,
    *,
    by,
    tested,
    drawn,
    own=(),
    more=None,
    table=True,
    looks=(),
    n_peaks=10,
    bg_img=None,
    atlas=None,
):
    """Make a page with the templates of a `kind`, of regions ordered `by` a map.

    `tested` is the name of its p-values, `drawn` are further maps, `own` are maps with
    the names of p-values of their own (plain and family-wise), and `more` makes
    sections of the PageMaps and the table of peaks, which is not shown without `table`.
    `looks` are those of a comparison, by map.
    """
    known = _known(maps, about, by, tested, n_peaks, atlas, looks=looks)
    about, view, rows, peaks = known
    background = choose_background(maps.masker_, bg_img, maps.bg_img_)
    place = None if maps.places_ is None else maps.places_[rows[0]]
    pictures = Pictures(view, place, background, bg_img)
    found = answer(sentences(f"{kind}_found", **about), pictures.figure(by))
    found += "" if drawn else background_note(background)
    figures = [
        Pictures(_tested_by(view, *own[name]), place, background, bg_img).figure(name)
        for name in own
    ]
    plain = {k: v for k, v in maps.parameters.items() if k != "pipelines"}
    notes = [f"{note[:1].upper()}{note[1:]}." for note in maps.notes_]
    sections = [
        ("What was found", found + paragraphs(*notes, note=True)),
        *(more(view, peaks) if more else ()),
        ("Strongest regions", _peaks_table(view, peaks, by) if table else ""),
        (
            "Maps",
            Markup("\n").join([pictures.section(drawn), *figures]) if drawn else "",
        ),
        ("What this does not show", list_of(sentences(f"{kind}_limits", **about))),
        ("Methods", methods_section(sentences(f"{kind}_methods", **about))),
        ("Parameters", parameter_table(plain) if plain else ""),
    ]
    return make_page(title, sections)


def _tested_by(view, p_value, p_value_fwe):
    """Return PageMaps whose regions survive by other p-values, if there are any."""
    if p_value_fwe not in view.scores:
        return view
    finding = decide({"p_value_fwe": view.scores[p_value_fwe]})
    scores = view.scores | {"p_value": view.scores[p_value]}
    return replace(view, finding=finding, scores=scores)


def _known(maps, about, by, tested, n_peaks=1, atlas=None, **shown):
    """Return what words say, PageMaps, the regions with most `by`, and their table.

    What `about` says goes before what all pages say; `shown` is more of PageMaps.
    """
    scores, places = maps.region_scores_, maps.places_
    n_classes = len(getattr(maps, "classes_", ())) or None
    known = {"p_value_fwe": scores[tested]} if tested in scores else {by: scores[by]}
    view = PageMaps(
        maps=dict(maps) if maps.masker_ is not None else {},
        scores=scores,
        masker=maps.masker_,
        choice=maps.choice_,
        words=getattr(maps, "words_", None)
        or words_of_regions(maps.masker_, has_centers=places is not None),
        finding=decide(known),
        records=maps.records or MAPS,
        n_classes=n_classes,
        two_sided=about.get("two_sided", False),
        **shown,
    )
    names = maps.names_ if hasattr(maps, "names_") else maps.choice_.names
    strength = view.strength(by) - _TIE * scores.get(tested, 0)
    rows, peaks = peaks_of(scores, strength, names, places, n_peaks, atlas)
    about = {
        "finding": view.finding,
        "n_classes": n_classes,
        "n_regions": int(np.isfinite(scores[by]).sum()),
        "one": view.words[0],
        "many": view.words[1],
        "peak": peaks.iloc[0],
        "best": peaks[by].iloc[0],
        "place": named_place(peaks.iloc[0]),
        "doubt": doubts_about(maps.findings_, maps.region_scores_),
        "n_exchanges": maps.n_permutations_,
        "version": neuroextrap.__version__,
        "are_images": bool(view.maps),
    } | about
    return about, view, rows, peaks


def _peaks_table(view, peaks, by):
    """Tabulate the strongest regions, each map under its label."""
    records = {name: view.record(name) for name in peaks if name in view.scores}
    return frame_table(
        peaks,
        f"{sentence_case(view.words[1])} by {view.record(by).label}",
        headings={name: each.label for name, each in records.items()},
        formats={n: format_p_value for n, each in records.items() if each.unit == "p"},
    )
