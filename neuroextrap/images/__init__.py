"""The only door to nilearn and nibabel: images in, samples x features, images out.

Maskers: ``resolve_masker``, ``mni152_mask``. Images to samples x features:
``load_samples``. Samples from BOLD series: ``labeled_samples``.
Betas of other programs: ``load_betas``. Where features are:
``feature_coordinates``, ``atlas_labels``, ``surface_regions``. Back to
images: ``to_img``.

Other rooms import the rest from its file: opening and naming images (``_opening``),
grids and binary masks (``_opening``), lattices, meshes and centers (``_geometry``),
the regions of an analysis (``_region_choice``), peaks and clusters (``_clusters``),
event tables (``_events``), caching (``_caching``) and image files (``_saving``).
"""

from neuroextrap.images._event_samples import labeled_samples
from neuroextrap.images._fits import load_betas
from neuroextrap.images._geometry import feature_coordinates
from neuroextrap.images._loading import load_samples
from neuroextrap.images._maskers import resolve_masker
from neuroextrap.images._region_choice import surface_regions
from neuroextrap.images._writing import to_img

__all__ = [
    "feature_coordinates",
    "labeled_samples",
    "load_betas",
    "load_samples",
    "resolve_masker",
    "surface_regions",
    "to_img",
]
