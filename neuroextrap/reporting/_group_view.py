"""Maps over subjects, with the attributes by which pictures read a fitted analysis."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap.images._geometry import feature_coordinates, feature_values
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._region_choice import RegionChoice


@dataclass(frozen=True)
class GroupView:
    """Maps of several analyses over one set of subjects, on one masker.

    `maps_` are images and `region_scores_` their values (n_features,) by name,
    `records` what they mean; every feature is a region of its own. `places`
    (n_features, 3) are in mm. `labels` (n_features,) names the atlas region of every
    feature, None without an atlas.
    """

    maps_: dict
    region_scores_: dict
    records: dict
    masker_: Any
    places: np.ndarray
    labels: np.ndarray | None = None

    @property
    def on_surface(self):
        """Whether features are vertices."""
        return is_surface_masker(self.masker_)

    @property
    def element(self):
        """What a feature is, in a word."""
        return "vertex" if self.on_surface else "voxel"

    @property
    def elements(self):
        """What features are, in a word."""
        return "vertices" if self.on_surface else "voxels"

    @property
    def choice(self):
        """Every feature as a region, for what draws regions."""
        n = len(self.places)
        identity = scipy.sparse.eye_array(n, dtype=bool, format="csr")
        return RegionChoice(identity, centers=np.arange(n))

    @property
    def results_(self):
        """The attributes of results that pictures read, `choice` alone."""
        return self

    def overview(self):
        """Return the names of the maps that pages draw."""
        return [name for name in self.maps_ if self.records[name].overview]

    def place_words(self, feature):
        """Name the place of a feature: mm, and the atlas region if there is one."""
        xyz = ", ".join(str(round(x)) for x in self.places[feature])
        words = f"({xyz}) mm".replace("-", "\N{MINUS SIGN}")
        name = "" if self.labels is None else self.labels[feature]
        return f"{words}, {name}" if name else words


def group_view(analyses, records, atlas):
    """Join the maps of several analyses; a name that is taken gets its test's in front.

    `atlas` is a pair of labels image and names, or None.
    """
    masker = analyses[0].summary.masker
    if masker is None:
        raise ValueError(
            "maps of arrays have no images to show on a page; give images instead of "
            "arrays, or read the p-values"
        )
    images, known = {}, {}
    for maps in analyses:
        for name, img in maps.items():
            shown = name
            if name in images:
                shown = f"{maps.summary.test}_{name}"
            images[shown] = img
            known[shown] = replace(records[name], name=shown)
    values = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in images.items()
    }
    labels = None if atlas is None else _region_names(atlas, masker)
    return GroupView(images, values, known, masker, feature_coordinates(masker), labels)


def _region_names(atlas, masker):
    """Return the name of the atlas region of every feature, "" for none."""
    from neuroextrap.images._atlas import atlas_labels

    labels_img, names = atlas
    labels, table = atlas_labels(labels_img, masker, names)
    return np.array([table.get(label, "") for label in labels.tolist()], dtype=object)
