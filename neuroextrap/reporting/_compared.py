"""What a comparison of two analyses holds, whatever it was returned as."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.plotting._brain_maps import COLORMAP, SIGNED_COLORMAP
from neuroextrap.reporting._finding import decide, words_of_features, words_of_regions
from neuroextrap.reporting._maps_section import Look, PageMaps, features_as_regions
from neuroextrap.reporting._peaks import peaks_of
from neuroextrap.reporting._pictures import color_range, signed_range
from neuroextrap.reporting._rendering import sentences

DIFFERENCE, P = "accuracy_difference", "p_value_fwe"
NEEDED = ("first_accuracy", "second_accuracy", DIFFERENCE, P)
"""Names of the maps without which there is nothing to report."""


@dataclass(frozen=True, kw_only=True)
class Compared(PageMaps):
    """Maps of two analyses in the same regions.

    `places` (n_regions, 3) in mm and `names` of the regions are None if unknown.
    """

    places: np.ndarray | None
    names: list | None

    @property
    def analyzed(self):
        """Whether each region was analyzed by both."""
        return np.isfinite(self.scores[DIFFERENCE])

    def peaks(self, n_peaks, atlas=None):
        """Tabulate the regions that differ most, spheres at least 16 mm apart."""
        strength = self.strength(DIFFERENCE)
        found = peaks_of(self.scores, strength, self.names, self.places, n_peaks, atlas)
        return found[1]


def read_comparison(comparison, names=("first", "second")):
    """Return what `compare_decoders` or `compare_encoding_models` found, or its maps.

    `comparison` is a mapping of maps by name: images, or arrays of regions; `names` are
    those of the two. Raises TypeError if it is no mapping, ValueError if maps are
    missing or empty.
    """
    try:
        maps = dict(comparison)
    except (TypeError, ValueError):
        raise TypeError(
            "comparison must be what compare_decoders or compare_encoding_models "
            f"returned, got {type(comparison).__name__}"
        ) from None
    missing = [name for name in NEEDED if name not in maps]
    if missing:
        raise ValueError(
            f"comparison lacks the maps {missing}; give what compare_decoders or "
            "compare_encoding_models returned"
        )
    are_images = not all(isinstance(value, np.ndarray) for value in maps.values())
    masker = getattr(comparison, "masker_", None)
    scores = getattr(comparison, "region_scores_", None)
    choice = getattr(comparison, "choice_", None)
    places = getattr(comparison, "places_", None)
    words = words_of_regions(masker, has_centers=places is not None)
    if are_images and scores is None:
        from neuroextrap.images import feature_coordinates

        masker, scores = _values_of_images(maps, masker)
        places, words = feature_coordinates(masker), words_of_features(masker)
    scores = maps if scores is None else scores
    if not np.isfinite(scores[DIFFERENCE]).any():
        raise ValueError(
            "comparison has no region that both analyzed; compare analyses of the same "
            "mask"
        )
    parameters = getattr(comparison, "parameters", None) or {}
    return Compared(
        maps=maps if are_images else {},
        scores=scores,
        masker=masker,
        choice=choice or features_as_regions(len(scores[DIFFERENCE])),
        words=words,
        finding=decide({P: scores[P]}),
        two_sided=bool(parameters.get("two_sided", True)),
        looks=_looks(scores, names),
        places=places,
        names=getattr(comparison, "names_", None),
    )


def _looks(scores, names):
    """Return how to draw the maps of a comparison of two with names, by map."""
    both = [scores["first_accuracy"], scores["second_accuracy"]]
    accuracies = color_range(np.concatenate(both)), COLORMAP
    colors = dict.fromkeys(("first_accuracy", "second_accuracy"), accuracies)
    for name in (DIFFERENCE, "information_difference"):
        if name in scores:
            colors[name] = signed_range(scores[name]), SIGNED_COLORMAP
    titles = {n: sentences("comparison_map", name=n, names=names)[0] for n in colors}
    return {name: Look(titles[name], *look) for name, look in colors.items()}


def _values_of_images(maps, masker):
    """Return a masker of the images, and their values at its features."""
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._geometry import feature_values
    from neuroextrap.images._maskers import finite_mask
    from neuroextrap.images._opening import open_image, read_image

    if masker is None:
        known = read_image(open_image(maps[DIFFERENCE], DIFFERENCE))
        masker = resolve_masker(finite_mask(known.img))
    values = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in maps.items()
    }
    return masker, values
