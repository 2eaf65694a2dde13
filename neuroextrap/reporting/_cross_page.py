"""The page about a code that may carry over from one condition to another."""

import numpy as np

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._registry import MAPS
from neuroextrap.reporting._finding import decide, named_place, words_of_regions
from neuroextrap.reporting._maps_section import PageMaps, Pictures, choose_background
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import answer, key_value_table, list_of, make_page
from neuroextrap.reporting._peaks import place_columns, strongest, tables_of_peaks
from neuroextrap.reporting._rendering import (
    format_p_value,
    format_percent,
    paragraphs,
    sentences,
)

_DISTANCE = 16.0  # mm between peaks
_DIRECTIONS = "train_to_test_accuracy", "test_to_train_accuracy"


def cross_page(maps, title=None, *, n_peaks=10, bg_img=None, atlas=None):
    """Make the page of what ``cross_identification`` returned, a Report.

    `bg_img` is drawn under the maps and `atlas` names the places of peaks, as in
    ``comparison_report``.
    """
    scores, (train, test) = maps.region_scores_, maps.conditions_
    view = PageMaps(
        maps=dict(maps) if maps.masker_ is not None else {},
        scores=scores,
        masker=maps.masker_,
        choice=maps.choice_,
        words=words_of_regions(maps.masker_, has_centers=maps.places_ is not None),
        finding=decide(scores),
        n_classes=len(maps.classes_),
    )
    peaks = _peaks(maps, n_peaks, atlas)
    place = None
    if maps.places_ is not None:
        place = peaks.loc[0, ["x", "y", "z"]].to_numpy(dtype=float)
    background = choose_background(maps.masker_, bg_img, maps.bg_img_)
    pictures = Pictures(view, place, background, bg_img)
    about = {
        "train": train,
        "test": test,
        "finding": view.finding,
        "n_classes": len(maps.classes_),
        "n_regions": int(np.isfinite(scores["accuracy"]).sum()),
        "many": view.words[1],
        "peak": peaks.iloc[0],
        "place": named_place(peaks.iloc[0]),
        "doubt": doubts_about(maps.findings_, "p_value_fwe"),
        "n_exchanges": maps.n_permutations_,
        "version": neuroextrap.__version__,
        "are_images": bool(view.maps),
    }
    notes = [f"{note[:1].upper()}{note[1:]}." for note in maps.notes_]
    found = answer(sentences("cross_found", **about), pictures.figure("accuracy"))
    sections = [
        ("What was found", found + paragraphs(*notes, note=True)),
        ("Strongest regions", _table(peaks, view)),
        ("Maps", pictures.section([*_DIRECTIONS, "neg_log10_p_fwe"])),
        ("What this does not show", list_of(sentences("cross_limits", **about))),
        ("Methods", methods_section(sentences("cross_methods", **about))),
        ("Parameters", key_value_table(maps.parameters, "Parameters")),
    ]
    return make_page(title or f"From {train} to {test}, and back", sections)


def _peaks(maps, n_peaks, atlas):
    """Tabulate the regions of highest accuracy, centers at least 16 mm apart."""
    import pandas as pd

    scores = maps.region_scores_
    rows = strongest(scores["accuracy"], maps.places_, n_peaks, _DISTANCE)
    columns = place_columns(rows, maps.places_, maps.choice_.names, atlas)
    return pd.DataFrame(columns | {name: v[rows] for name, v in scores.items()})


def _table(peaks, view):
    """Tabulate the strongest regions, those that survive apart."""
    percent = {
        name: (MAPS[name].label.capitalize(), format_percent)
        for name in ("accuracy", *_DIRECTIONS)
    }
    p_values = {
        "p_value": ("p (uncorrected)", format_p_value),
        "p_value_fwe": ("p (family-wise)", format_p_value),
    }
    return tables_of_peaks(
        peaks,
        view.finding.survives[peaks["region"].to_numpy()],
        {"atlas_label": ("Atlas", str)} | percent | p_values,
        captions=(
            f"Strongest {view.words[1]} that survive correction",
            f"Strongest {view.words[1]} that do not survive correction: trends",
        ),
        hint="They were found by looking, so that their accuracies are too high on "
        "average; the family-wise p-values allow for that.",
    )
