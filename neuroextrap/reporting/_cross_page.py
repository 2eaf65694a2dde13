"""The page about a code that may carry over from one condition to another."""

import numpy as np

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.reporting._finding import decide, named_place, words_of_regions
from neuroextrap.reporting._maps_section import PageMaps, Pictures, choose_background
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import (
    answer,
    frame_table,
    key_value_table,
    list_of,
    make_page,
)
from neuroextrap.reporting._peaks import place_columns, strongest
from neuroextrap.reporting._rendering import paragraphs, sentences

_DISTANCE = 16.0  # mm between peaks


def cross_page(maps, title=None, **options):
    """Make the page of what ``cross_identification`` returned, a Report.

    Of the options, `bg_img` is drawn under the maps and `atlas` names the places of
    `n_peaks` peaks, as in ``comparison_report``.
    """
    about = maps.conditions_ | {"n_exchanges": maps.n_permutations_}
    return page_of_exchanges(
        maps,
        title or "From {train} to {test}, and back".format(**about),
        "cross",
        about,
        ("train_to_test_accuracy", "test_to_train_accuracy", "neg_log10_p_fwe"),
        **options,
    )


def about_exchanges(maps):
    """Return what words on maps say: what survives, of how many, and where."""
    scores, places = maps.region_scores_, maps.places_
    rows = strongest(scores["accuracy"], places, 1, _DISTANCE)
    peak = place_columns(rows, places, maps.choice_.names)
    peak = {name: v[0] for name, v in (peak | _at(scores, rows)).items()}
    return {
        "finding": decide(scores),
        "n_classes": len(maps.classes_),
        "n_regions": int(np.isfinite(scores["accuracy"]).sum()),
        "many": words_of_regions(maps.masker_, has_centers=places is not None)[1],
        "peak": peak,
        "place": named_place(peak),
        "doubt": doubts_about(maps.findings_, "p_value_fwe"),
        "version": neuroextrap.__version__,
        "are_images": maps.masker_ is not None,
    }


def page_of_exchanges(  # noqa: PLR0913
    maps, title, kind, about, drawn, *, n_peaks=10, bg_img=None, atlas=None
):
    """Make the page of maps whose p-values come from exchanges of their own.

    Words are those of the templates of this `kind`, filled in with `about`; of the maps
    accuracy and those `drawn` are drawn.
    """
    import pandas as pd

    scores, places = maps.region_scores_, maps.places_
    about = about_exchanges(maps) | about
    view = PageMaps(
        maps=dict(maps) if maps.masker_ is not None else {},
        scores=scores,
        masker=maps.masker_,
        choice=maps.choice_,
        words=words_of_regions(maps.masker_, has_centers=places is not None),
        finding=about["finding"],
        n_classes=about["n_classes"],
    )
    rows = strongest(scores["accuracy"], places, n_peaks, _DISTANCE)
    columns = place_columns(rows, places, maps.choice_.names, atlas)
    peaks = pd.DataFrame(columns | _at(scores, rows))
    about["place"] = named_place(peaks.iloc[0])
    background = choose_background(maps.masker_, bg_img, maps.bg_img_)
    place = None if places is None else places[rows[0]]
    pictures = Pictures(view, place, background, bg_img)
    found = sentences(f"{kind}_found", **about)
    notes = [f"{note[:1].upper()}{note[1:]}." for note in maps.notes_]
    sections = [
        (
            "What was found",
            answer(found, pictures.figure("accuracy")) + paragraphs(*notes, note=True),
        ),
        ("Strongest regions", frame_table(peaks, f"{view.words[1]} by accuracy")),
        ("Maps", pictures.section(drawn)),
        ("What this does not show", list_of(sentences(f"{kind}_limits", **about))),
        ("Methods", methods_section(sentences(f"{kind}_methods", **about))),
        ("Parameters", key_value_table(maps.parameters, "Parameters")),
    ]
    return make_page(title, sections)


def _at(scores, rows):
    """Return the numbers of some regions, by name."""
    return {name: values[rows] for name, values in scores.items()}
