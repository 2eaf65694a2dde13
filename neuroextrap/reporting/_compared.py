"""What a comparison of two analyses holds, whatever it was returned as."""

from dataclasses import dataclass
from typing import Any

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
class Compared:
    """Numbers of two analyses in the same regions.

    `scores` holds arrays (n_regions,) by name, `maps` images by the same names (empty
    for arrays), which lie in the mask of `masker`, and `values` these images' values
    (n_features,); `places` (n_regions, 3) in mm and `names` are None if unknown;
    `words` is what one region and several are called.
    """

    scores: dict
    maps: dict
    values: dict
    masker: Any
    places: np.ndarray | None
    names: list | None
    words: tuple[str, str]
    two_sided: bool

    @property
    def analyzed(self):
        """Whether each region was analyzed by both."""
        return np.isfinite(self.scores[DIFFERENCE])

    @property
    def finding(self):
        """Which regions' differences survive correction."""
        return decide({P: self.scores[P]})

    def peaks(self, n_peaks, atlas=None):
        """Tabulate the regions that differ most, spheres at least 16 mm apart."""
        strength = self.scores[DIFFERENCE]
        strength = np.abs(strength) if self.two_sided else strength
        found = peaks_of(self.scores, strength, self.names, self.places, n_peaks, atlas)
        return found[1]

    def view(self, names):
        """Return the maps for a page, every feature a region; `names` are two texts."""
        scores = self.scores
        looks: dict[str, tuple] = {}
        for name in ("first_accuracy", "second_accuracy"):
            both = [scores["first_accuracy"], scores["second_accuracy"]]
            looks[name] = color_range(np.concatenate(both)), COLORMAP
        for name in (DIFFERENCE, "information_difference"):
            if name in scores:
                looks[name] = signed_range(scores[name]), SIGNED_COLORMAP
        n_features = len(next(iter(self.values.values()), ()))
        return PageMaps(
            maps=self.maps,
            scores=self.values,
            masker=self.masker,
            choice=features_as_regions(n_features),
            words=self.words,
            finding=decide({P: self.values[P]}) if self.maps else self.finding,
            two_sided=self.two_sided,
            looks={
                name: Look(_title(name, names), *colors)
                for name, colors in looks.items()
            },
        )


def _title(name, names):
    """Describe a map of a comparison of two."""
    (title,) = sentences("comparison_map", name=name, names=names)
    return title


def read_comparison(comparison):
    """Return what `compare_decoders` or `compare_encoding_models` found, or its maps.

    `comparison` is a mapping of maps by name: images, or arrays of regions. Raises
    TypeError if it is no mapping, ValueError if maps are missing.
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
    masker, values = getattr(comparison, "masker_", None), maps
    if are_images:
        masker, values = _values_of_images(maps, masker)
    scores = getattr(comparison, "region_scores_", None)
    places = getattr(comparison, "places_", None)
    words = words_of_regions(masker, has_centers=places is not None)
    if are_images and scores is None:
        from neuroextrap.images import feature_coordinates

        places, words = feature_coordinates(masker), words_of_features(masker)
    parameters = getattr(comparison, "parameters", None) or {}
    return Compared(
        scores=values if scores is None else scores,
        maps=maps if are_images else {},
        values=values,
        masker=masker,
        places=places,
        names=getattr(comparison, "names_", None),
        words=words,
        two_sided=bool(parameters.get("two_sided", True)),
    )


def _values_of_images(maps, masker):
    """Return a masker of the images, and their values at its features."""
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._geometry import feature_values

    if masker is None:
        masker = resolve_masker(_where_finite(maps[DIFFERENCE]))
    values = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in maps.items()
    }
    return masker, values


def _where_finite(img):
    """Return the mask of a map, 1 where it is finite."""
    from neuroextrap.images._opening import open_image, read_image

    opened = read_image(open_image(img, DIFFERENCE))
    if opened.is_surface:
        from nilearn.surface import SurfaceImage

        parts = opened.img.data.parts.items()
        data = {side: np.isfinite(np.ravel(x)).astype(np.int8) for side, x in parts}
        return SurfaceImage(mesh=opened.img.mesh, data=data)
    from neuroextrap.images._space import new_volume, space_code

    finite = np.isfinite(np.asanyarray(opened.img.dataobj)).astype(np.int8)
    return new_volume(finite, opened.img, space_code(opened.img))
