"""The page about several pipelines that were tested together."""

import numpy as np

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.plotting._specification_curve import draw_specification_curve
from neuroextrap.reporting._finding import decide, words_of_features
from neuroextrap.reporting._maps_section import (
    PageMaps,
    Pictures,
    background_note,
    choose_background,
    features_as_regions,
)
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import answer, frame_table, list_of, make_page
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import format_p_value, sentences
from neuroextrap.stats._pvalues import LEVEL

_HEADINGS = {
    "n_regions": "regions",
    "largest_standardized": "in units of maxima",
    "p_value_fwe": "p over all",
    "p_value_fwe_alone": "p alone",
    "n_surviving": "survive",
    "n_surviving_alone": "survive alone",
}
_ANY, _ALL, _COUNT = "p_value_fwe_any", "p_value_fwe_all", "n_pipelines"


def multiverse_page(maps, title=None, *, bg_img=None):
    """Make the page of what ``multiverse`` returned, a Report.

    `bg_img` is drawn under the maps.
    """
    scores, table, masker = maps.region_scores_, maps.table_, maps.masker_
    words = ("region", "regions") if masker is None else words_of_features(masker)
    finding = decide({"p_value_fwe": scores[_ANY]})
    view = PageMaps(
        maps=dict(maps) if masker is not None else {},
        scores=scores,
        masker=masker,
        choice=features_as_regions(len(scores[_ANY])),
        words=words,
        finding=finding,
    )
    about = {
        "n_pipelines": len(table),
        "n_places": int(np.isfinite(scores[_ANY]).sum()),
        "many": words[1],
        "n_any": finding.n_surviving,
        "n_all": int((scores[_ALL] <= LEVEL).sum()),
        "smallest": finding.smallest,
        "best": table.loc[table["largest_standardized"].idxmax()],
        "doubt": doubts_about(maps.findings_, scores),
        "n_permutations": maps.n_permutations_,
        "version": neuroextrap.__version__,
    }
    background = choose_background(masker, bg_img, maps.bg_img_)
    strength = np.nan_to_num(scores[_COUNT]) - scores[_ANY]
    place = None
    if masker is not None:
        from neuroextrap.images import feature_coordinates

        place = feature_coordinates(masker)[np.nanargmax(strength)]
    pictures = Pictures(view, place, background, bg_img)
    options = list(next(iter(maps.parameters["pipelines"].values())))
    curve = draw_specification_curve(table, options, threshold_of(maps.null_maxima_))
    caption = sentences("multiverse_caption", **about)[0]
    p_values = ("p_value_fwe", "p_value_fwe_alone")
    found = answer(sentences("multiverse_found", **about), pictures.figure(_COUNT))
    sections = [
        ("What was found", found + background_note(background)),
        ("Pipelines", embed_figure(curve, caption, "specification_curve.svg")),
        (
            "Table of pipelines",
            frame_table(
                table,
                "Every pipeline, in its own right and among all",
                headings=_HEADINGS,
                formats=dict.fromkeys(p_values, format_p_value),
            ),
        ),
        ("What this does not show", list_of(sentences("multiverse_limits", **about))),
        ("Methods", methods_section(sentences("multiverse_methods", **about))),
    ]
    return make_page(title or f"{len(table)} pipelines, one test", sections)


def threshold_of(maxima):
    """Return what a statistic must exceed to have p <= .05, inf if nothing has.

    >>> float(threshold_of(np.arange(99.0)))
    94.0
    """
    n_above = int(LEVEL * (len(maxima) + 1)) - 1  # that may be as large
    return np.sort(maxima)[::-1][n_above] if n_above >= 0 else np.inf
