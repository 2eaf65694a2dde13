"""What was found: one rule by which every page decides what survives correction."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.reporting._rendering import format_confidence, format_p_value
from neuroextrap.stats._pvalues import LEVEL

_FWE = f"family-wise p ≤ {format_p_value(LEVEL)}"
CRITERIA = {
    "p_value_fwe_tfce": f"{_FWE} by threshold-free cluster enhancement",
    "p_value_fwe_cluster_extent": f"{_FWE} by the extent of clusters",
    "p_value_fwe": _FWE,
    "population_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over the population that they were drawn from, for everywhere at once",
    "subjects_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over exactly these subjects, for everywhere at once",
    "bayes_accuracy_bound_fwe": "{level} lower bound on Bayes accuracy, for all "
    "regions at once",
}
"""Maps that decide, the first of them that was made, and what surviving means."""

_OF_REGIONS, _AT_ONCE = "bayes_accuracy_bound_fwe", ", for all regions at once"


@dataclass(frozen=True)
class Verdict:
    """Which regions survive correction for looking at all of them.

    `criterion` is the map that decides and `words` what it means, both "" where nothing
    was tested; `survives` is a bool for every region, `smallest` the least value of the
    map that decides.
    """

    criterion: str
    words: str
    survives: np.ndarray
    smallest: float = np.nan

    @property
    def n_surviving(self):
        """Number of regions that survive."""
        return int(self.survives.sum())

    @property
    def by_p_value(self):
        """Whether p-values decide, and not a lower bound."""
        return self.criterion.startswith("p_value")


def decide(scores, *, n_classes=None, confidence_level=None):
    """Decide which regions survive by values (n_regions,) of maps by name.

    Bounds are compared with the chance of guessing among `n_classes`, and hold at
    `confidence_level`; p-values need neither.
    """
    known = (name for name in CRITERIA if np.isfinite(scores.get(name, np.nan)).any())
    criterion = next(known, "")
    if not criterion:
        n_regions = len(next(iter(scores.values())))
        return Verdict("", "", np.zeros(n_regions, dtype=bool))
    values, words = scores[criterion], CRITERIA[criterion]
    if criterion.startswith("p_value"):
        survives = values <= LEVEL  # NaN: False
        return Verdict(criterion, words, survives, np.nanmin(values))
    if criterion == _OF_REGIONS and np.isfinite(values).sum() == 1:
        words = words.removesuffix(_AT_ONCE)
    words = words.format(level=format_confidence(confidence_level))
    return Verdict(criterion, words, values > 1 / n_classes)


def find(fitted):
    """Decide which regions of a fitted analysis survive correction."""
    return decide(
        fitted.region_scores_,
        n_classes=len(fitted.classes_),
        confidence_level=fitted.results_.confidence_level,
    )


def n_analyzed(fitted):
    """Return the number of regions that were analyzed."""
    return int(np.isfinite(fitted.region_scores_["accuracy"]).sum())


def region_words(fitted):
    """Name the regions of a fitted analysis: one, and several."""
    choice = fitted.results_.choice
    if fitted.masker_ is None and choice.names is None:
        return "set of features", "sets of features"
    return words_of_regions(fitted.masker_, has_centers=choice.centers is not None)


def words_of_regions(masker, *, has_centers):
    """Name one region and several; those with centers are spheres or discs."""
    if masker is None or not has_centers:
        return "region", "regions"
    from neuroextrap.images._maskers import is_surface_masker

    return ("disc", "discs") if is_surface_masker(masker) else ("sphere", "spheres")


def words_of_features(masker):
    """Name one feature of a masker and several."""
    from neuroextrap.images._maskers import is_surface_masker

    return ("vertex", "vertices") if is_surface_masker(masker) else ("voxel", "voxels")


def mm_words(place):
    """Name a place (x, y, z) in mm."""
    xyz = ", ".join(str(round(x)) for x in place)
    return f"({xyz}) mm".replace("-", "\N{MINUS SIGN}")


def place_words(row):
    """Name one row of a peak table."""
    if "name" in row:
        return f"{row['name']}"
    if "x" in row:
        return mm_words(row[axis] for axis in "xyz")
    return f"region {row['region']:.0f}"


def named_place(row):
    """Name one row of a peak table, with the label of an atlas if there is one."""
    label = row.get("atlas_label", "")
    return f"{place_words(row)}, {label}" if label else place_words(row)
