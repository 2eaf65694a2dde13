"""The only door to nilearn and nibabel.

Maskers: ``resolve_masker``, ``is_surface_masker``. Images to samples x features:
``load_samples``, ``list_images``, ``open_image``, ``read_image``, ``NamedImage``. Where
features are: ``mask_lattice``, ``surface_mesh``, ``Hemisphere``, ``surface_regions``,
``feature_coordinates``, ``center_features``, ``feature_values``, ``atlas_labels``. Back
to images: ``to_img``. Fingerprints: ``array_hash``.
"""

from neuroextrap.images._atlas import atlas_labels
from neuroextrap.images._geometry import (
    Hemisphere,
    center_features,
    feature_coordinates,
    feature_values,
    mask_lattice,
    surface_mesh,
)
from neuroextrap.images._hashes import array_hash
from neuroextrap.images._loading import load_samples
from neuroextrap.images._maskers import is_surface_masker, resolve_masker
from neuroextrap.images._opening import (
    NamedImage,
    is_surface_image,
    list_images,
    open_image,
    read_image,
)
from neuroextrap.images._surface_regions import surface_regions
from neuroextrap.images._writing import to_img

__all__ = [
    "Hemisphere",
    "NamedImage",
    "array_hash",
    "atlas_labels",
    "center_features",
    "feature_coordinates",
    "feature_values",
    "is_surface_image",
    "is_surface_masker",
    "list_images",
    "load_samples",
    "mask_lattice",
    "open_image",
    "read_image",
    "resolve_masker",
    "surface_mesh",
    "surface_regions",
    "to_img",
]
