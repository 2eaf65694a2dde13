"""What a comparison of two analyses holds, whatever it was returned as."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.images._atlas import atlas_names_at
from neuroextrap.maps._registry import MAPS

DIFFERENCE, P = "accuracy_difference", "p_value_fwe"
NEEDED = ("first_accuracy", "second_accuracy", DIFFERENCE, P)
"""Names of the maps without which there is nothing to report."""

LEVEL = MAPS[P].threshold
_DISTANCE = 16.0


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Numbers of two analyses in the same regions.

    `scores` holds arrays (n_regions,) by name, `maps` images by the same names (empty
    for arrays), which lie in the mask of `masker`; `places` (n_regions, 3) in mm and
    `names` are None where unknown; `words` is what one region and several are called.
    """

    scores: dict
    maps: dict
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
    def survives(self):
        """Whether the difference in each region survives correction."""
        return self.scores[P] <= LEVEL  # NaN: False

    def peaks(self, n_peaks, atlas=None):
        """Tabulate the regions that differ most, spheres at least 16 mm apart."""
        import pandas as pd

        from neuroextrap.images._clusters import peak_features

        strength = self.scores[DIFFERENCE]
        strength = np.abs(strength) if self.two_sided else strength
        if self.places is None:
            rows = np.argsort(-strength, kind="stable")[:n_peaks]
            rows = rows[np.isfinite(strength[rows])]
        else:
            rows = peak_features(
                strength, self.places, n_peaks=n_peaks, min_distance=_DISTANCE
            )
        columns = {"region": rows}
        if self.places is not None:
            columns |= dict(zip("xyz", self.places[rows].T, strict=True))
            if atlas is not None:
                columns["atlas_label"] = atlas_names_at(atlas, self.places[rows])
        elif atlas is not None:
            raise ValueError(
                "atlas names the centers of spheres and discs, but these regions have "
                "none; leave it out"
            )
        if self.names is not None:
            columns["name"] = [self.names[row] for row in rows]
        return pd.DataFrame(columns | {n: v[rows] for n, v in self.scores.items()})


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
    parameters = getattr(comparison, "parameters", None) or {}
    by_element = are_images and scores is None
    places = getattr(comparison, "places_", None)
    names = getattr(comparison, "names_", None)
    if by_element:
        from neuroextrap.images import feature_coordinates

        places = feature_coordinates(masker)
    return Compared(
        scores=values if scores is None else scores,
        maps=maps if are_images else {},
        masker=masker,
        places=places,
        names=names,
        words=_words(masker, places, by_element),
        two_sided=bool(parameters.get("two_sided", True)),
    )


def _values_of_images(maps, masker):
    """Return a masker of the images, and their values at its features."""
    from neuroextrap.images import feature_values, resolve_masker

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


def _words(masker, places, by_element):
    """Name one region and several."""
    if masker is None or places is None:
        return "region", "regions"
    from neuroextrap.images._maskers import is_surface_masker

    on_surface = is_surface_masker(masker)
    if by_element:
        return ("vertex", "vertices") if on_surface else ("voxel", "voxels")
    return ("disc", "discs") if on_surface else ("sphere", "spheres")
