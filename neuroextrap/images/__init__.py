"""The only door to nilearn and nibabel.

Maskers: ``resolve_masker``, ``is_surface_masker``. Images to samples x features:
``load_samples``, ``list_images``, ``image_files``, ``open_image``, ``read_image``,
``NamedImage``. Where features are: ``mask_lattice``, ``surface_mesh``, ``Hemisphere``,
``surface_regions``, ``feature_coordinates``, ``center_features``, ``feature_values``,
``atlas_labels``. Back to images: ``to_img``, ``save_image``, ``load_image``; where they
are high: ``cluster_table``, ``peaks``, ``peak_features``. Samples from BOLD:
``Samples``, ``block_averages``, ``volume_samples``, ``single_trial_betas``,
``read_events``, ``labels_of_volumes``. Templates: ``mni152_mask``. Fingerprints:
``array_hash``.
"""

from neuroextrap.images._atlas import atlas_labels
from neuroextrap.images._betas import single_trial_betas
from neuroextrap.images._clusters import cluster_table, peak_features, peaks
from neuroextrap.images._events import labels_of_volumes, read_events
from neuroextrap.images._features import FeatureData, read_features
from neuroextrap.images._files import load_image, save_image
from neuroextrap.images._finite_mask import finite_mask
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
    image_files,
    is_surface_image,
    list_images,
    open_image,
    read_image,
)
from neuroextrap.images._region_choice import RegionChoice, choose_regions
from neuroextrap.images._samples import Samples, block_averages, volume_samples
from neuroextrap.images._surface_regions import surface_regions
from neuroextrap.images._templates import mni152_mask
from neuroextrap.images._writing import to_img

__all__ = [
    "FeatureData",
    "Hemisphere",
    "NamedImage",
    "RegionChoice",
    "Samples",
    "array_hash",
    "atlas_labels",
    "block_averages",
    "center_features",
    "choose_regions",
    "cluster_table",
    "feature_coordinates",
    "feature_values",
    "finite_mask",
    "image_files",
    "is_surface_image",
    "is_surface_masker",
    "labels_of_volumes",
    "list_images",
    "load_image",
    "load_samples",
    "mask_lattice",
    "mni152_mask",
    "open_image",
    "peak_features",
    "peaks",
    "read_events",
    "read_features",
    "read_image",
    "resolve_masker",
    "save_image",
    "single_trial_betas",
    "surface_mesh",
    "surface_regions",
    "to_img",
    "volume_samples",
]
