"""Words and page about a confound of trials."""

import numpy as np

from neuroextrap.reporting._cross_page import about_exchanges, page_of_exchanges
from neuroextrap.reporting._rendering import sentences
from neuroextrap.stats._pvalues import LEVEL

_DRAWN = "neg_log10_p_fwe", "confound_accuracy", "information_bound_beyond"
_COUNTED = {
    "n_free": "unrestricted_p_value_fwe",
    "n_within": "p_value_fwe",
    "n_confound": "confound_p_value_fwe",
}


def confound_page(maps, title=None, **options):
    """Make the page of what ``trial_confound`` returned, a Report.

    Options are those of ``cross_page``.
    """
    drawn = [name for name in _DRAWN if name in maps.region_scores_]
    title = title or "The class, or its confound"
    about = _about(maps)
    return page_of_exchanges(maps, title, "confound", about, drawn, **options)


def confound_summary(maps):
    """Return what was found, as one paragraph of plain text."""
    words = sentences("confound_found", **about_exchanges(maps) | _about(maps))
    return " ".join(each.unescape() for each in words)


def _about(maps):
    """Return what the words say beside what they say of any maps."""
    scores = maps.region_scores_
    counts = {
        key: int((scores[name] <= LEVEL).sum()) if name in scores else None
        for key, name in _COUNTED.items()
    }
    bits = scores.get("information_bound_beyond_fwe", np.zeros(1))
    return counts | {
        "alone": maps.class_from_confound_,
        "levels": maps.levels_,
        "of_numbers": maps.of_numbers_,
        "n_strata": maps.n_strata_,
        "share": maps.exchangeable_,
        "n_bits": int((bits > 0).sum()),
        "most_bits": float(np.nanmax(bits)),
        "n_permutations": maps.n_permutations_,
    }
