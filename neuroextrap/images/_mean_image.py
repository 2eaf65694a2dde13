"""The mean of the images as gray levels: an anatomy of the subject's own."""

import numpy as np

from neuroextrap.images._opening import is_surface_image, read_image
from neuroextrap.images._space import MNI, new_volume, space_code

_MOST_SINGLE = 20  # single volumes that are averaged
_LEAST_POSITIVE = 0.95
_BRIGHTEST = 98
_LEVELS = 255


def mean_gray_levels(named, mask_img):
    """Average the first series (or the first single volumes) into gray levels 0 to 255.

    `named` lists images of `NamedImage`, `mask_img` is the mask of a fitted masker.
    Returns a 3-D image of whole numbers in float32, small when compressed; zero where
    an image is not finite. None where an anatomy cannot be seen (surfaces; signed
    values, such as those of betas or standardized series) or is not needed (MNI space,
    of which there is a template).
    """
    if is_surface_image(mask_img) or space_code(mask_img) == MNI:
        return None
    mean, img = _mean(named)
    inside = mean[_seen(mean, img, mask_img)]
    if not len(inside) or (inside > 0).mean() < _LEAST_POSITIVE:
        return None
    brightest = np.percentile(inside, _BRIGHTEST)
    if not brightest > inside.min():
        return None
    levels = np.rint(_LEVELS * np.clip(mean / brightest, 0, 1)).astype(np.float32)
    return new_volume(levels, img)


def _mean(named):
    """Return a mean in float64, zero where it is not finite, and an image of it."""
    series = [img for img in named if (img.n_samples or 1) > 1]
    chosen = series[:1] or named[:_MOST_SINGLE]
    total, n_volumes = 0.0, 0
    for member in chosen:
        data = np.asanyarray(read_image(member).img.dataobj)
        if data.ndim == 4:
            total = total + data.sum(axis=3, dtype=np.float64)
            n_volumes += data.shape[3]
        else:
            total, n_volumes = total + data.astype(np.float64), n_volumes + 1
    mean = total / n_volumes
    return np.where(np.isfinite(mean), mean, 0.0), chosen[0].img


def _seen(mean, img, mask_img):
    """Return where the mask is, or all that is not zero if it has another grid."""
    from neuroextrap.images._opening import same_affine

    mask = np.asanyarray(mask_img.dataobj).astype(bool)
    same = mask.shape == mean.shape
    if same and same_affine(mask_img.affine, img.affine, mask.shape):
        return mask
    return mean != 0
