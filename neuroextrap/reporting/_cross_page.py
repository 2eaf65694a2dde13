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


def cross_page(maps, title=None, *, n_peaks=10, bg_img=None, atlas=None):
    """Make the page of what ``cross_identification`` returned, a Report.

    `bg_img` is drawn under the maps and `atlas` names the places of peaks, as in
    ``comparison_report``.
    """
    import pandas as pd

    scores, places = maps.region_scores_, maps.places_
    view = PageMaps(
        maps=dict(maps) if maps.masker_ is not None else {},
        scores=scores,
        masker=maps.masker_,
        choice=maps.choice_,
        words=words_of_regions(maps.masker_, has_centers=places is not None),
        finding=decide(scores),
        n_classes=len(maps.classes_),
    )
    rows = strongest(scores["accuracy"], places, n_peaks, _DISTANCE)
    columns = place_columns(rows, places, maps.choice_.names, atlas)
    peaks = pd.DataFrame(columns | {name: v[rows] for name, v in scores.items()})
    about = {
        **maps.conditions_,
        "finding": view.finding,
        "n_classes": len(maps.classes_),
        "n_regions": int(np.isfinite(scores["accuracy"]).sum()),
        "many": view.words[1],
        "peak": peaks.iloc[0],
        "place": named_place(peaks.iloc[0]),
        "doubt": doubts_about(maps.findings_, scores),
        "n_exchanges": maps.n_permutations_,
        "version": neuroextrap.__version__,
        "are_images": bool(view.maps),
    }
    background = choose_background(maps.masker_, bg_img, maps.bg_img_)
    place = None if places is None else places[rows[0]]
    pictures = Pictures(view, place, background, bg_img)
    drawn = "train_to_test_accuracy", "test_to_train_accuracy", "neg_log10_p_fwe"
    found = answer(sentences("cross_found", **about), pictures.figure("accuracy"))
    notes = [f"{note[:1].upper()}{note[1:]}." for note in maps.notes_]
    sections = [
        ("What was found", found + paragraphs(*notes, note=True)),
        ("Strongest regions", frame_table(peaks, f"{view.words[1]} by accuracy")),
        ("Maps", pictures.section(drawn)),
        ("What this does not show", list_of(sentences("cross_limits", **about))),
        ("Methods", methods_section(sentences("cross_methods", **about))),
        ("Parameters", key_value_table(maps.parameters, "Parameters")),
    ]
    return make_page(
        title or "From {train} to {test}, and back".format(**about), sections
    )
