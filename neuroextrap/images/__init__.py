"""The only door to nilearn and nibabel: images in, samples x features, images out.

Maskers: ``resolve_masker``. Samples from BOLD series: ``labeled_samples``. Betas of
other programs: ``load_betas``. Back to images: ``to_img``.

Other rooms import the rest from its file: reading and what a masker's features are
(``_loading``), opening, naming and placing images (``_opening``), the regions of an
analysis (``_region_choice``), tables (``_events``), caches and image files.
"""

from neuroextrap.images._event_samples import labeled_samples
from neuroextrap.images._fits import load_betas
from neuroextrap.images._maskers import resolve_masker, to_img

__all__ = [
    "labeled_samples",
    "load_betas",
    "resolve_masker",
    "to_img",
]
