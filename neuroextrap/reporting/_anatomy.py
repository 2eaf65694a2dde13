"""The anatomy under the maps of a fitted analysis, chosen once for a page."""

import logging

from neuroextrap.plotting._backgrounds import Background, volume_background

_LOGGER = logging.getLogger(__name__)


def fitted_background(fitted, bg_img):
    """Choose what is drawn under the maps of volumes of a fitted analysis.

    Nothing for surfaces, whose vertices have grays of their own, and for arrays. What
    is chosen differently from what a user may expect is logged, and told by ``why``.
    """
    from neuroextrap.images import feature_coordinates
    from neuroextrap.images._maskers import is_surface_masker

    masker = fitted.masker_
    if masker is None or is_surface_masker(masker):
        return Background(None, False, "")
    background = volume_background(
        masker.mask_img_,
        feature_coordinates(masker),
        bg_img,
        own=getattr(fitted, "bg_img_", None),
    )
    if background.why:
        _LOGGER.info("%s", background.why)
    return background
