"""The only door to nilearn and nibabel.

Maskers: ``resolve_masker``, ``is_surface_masker``. Images to samples x features:
``load_samples``, ``list_images``, ``image_files``, ``open_image``, ``read_image``,
``NamedImage``. Where features are: ``mask_lattice``, ``surface_mesh``, ``Hemisphere``,
``surface_regions``, ``feature_coordinates``, ``center_features``, ``feature_values``,
``atlas_labels``. Back to images: ``to_img``, ``save_image``, ``load_image``; where they
are high: ``cluster_table``, ``peaks``, ``peak_features``. Samples from BOLD:
``Samples``, ``block_averages``, ``volume_samples``, ``single_trial_betas``,
``read_events``, ``labels_of_volumes``. Templates: ``mni152_mask``.
"""

from neuroextrap.images._atlas import atlas_labels
from neuroextrap.images._betas import single_trial_betas
from neuroextrap.images._events import read_events
from neuroextrap.images._geometry import feature_coordinates, feature_values
from neuroextrap.images._loading import load_samples
from neuroextrap.images._maskers import resolve_masker
from neuroextrap.images._samples import block_averages, volume_samples
from neuroextrap.images._surface_regions import surface_regions
from neuroextrap.images._templates import mni152_mask
from neuroextrap.images._writing import to_img

__all__ = [
    "atlas_labels",
    "block_averages",
    "feature_coordinates",
    "feature_values",
    "load_samples",
    "mni152_mask",
    "read_events",
    "resolve_masker",
    "single_trial_betas",
    "surface_regions",
    "to_img",
    "volume_samples",
]
