"""The only door to nilearn and nibabel.

Maskers: ``resolve_masker``, ``is_surface_masker``. Images to samples x features:
``load_samples``, ``list_images``, ``open_image``, ``read_image``, ``NamedImage``. Where
features are: ``mask_lattice``, ``surface_mesh``, ``Hemisphere``, ``surface_regions``,
``feature_coordinates``, ``center_features``, ``feature_values``, ``atlas_labels``. Back
to images: ``to_img``. Templates: ``mni152_mask``. Fingerprints: ``array_hash``.
"""

from neuroextrap.images._atlas import atlas_labels
from neuroextrap.images._features import FeatureData, read_features
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
from neuroextrap.images._region_choice import RegionChoice, choose_regions
from neuroextrap.images._surface_regions import surface_regions
from neuroextrap.images._templates import mni152_mask
from neuroextrap.images._writing import to_img

__all__ = [
    "FeatureData",
    "Hemisphere",
    "NamedImage",
    "RegionChoice",
    "array_hash",
    "atlas_labels",
    "center_features",
    "choose_regions",
    "feature_coordinates",
    "feature_values",
    "is_surface_image",
    "is_surface_masker",
    "list_images",
    "load_samples",
    "mask_lattice",
    "mni152_mask",
    "open_image",
    "read_features",
    "read_image",
    "resolve_masker",
    "surface_mesh",
    "surface_regions",
    "to_img",
]
