"""Scans read from arrays or images, and maps back to images."""

import dataclasses
import logging

import numpy as np

from neuroextrap.images._caching import check_memory
from neuroextrap.stats._validation import check_numbers

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Scans:
    """Scans x features, and the way back to images.

    `X` has shape (n_scans, n_kept), `masker` is None for arrays, and `kept`
    (n_features,) marks the features of `X`: those that are NaN in some image are left
    out.
    """

    X: np.ndarray
    masker: object
    kept: np.ndarray

    def expand(self, maps):
        """Put maps (..., n_kept) back over all features, NaN where one was left out."""
        if self.kept.all():
            return maps
        full = np.full((*np.shape(maps)[:-1], len(self.kept)), np.nan)
        full[..., self.kept] = maps
        return full


def read_scans(X, mask, *, memory=None):
    """Read scans as float64 from an array, or from images through a mask.

    Images may be 4-D, a list of 3-D, paths, a glob pattern or on a surface; `mask` and
    `memory` (a cache for what is read from files) concern images only.
    """
    check_memory(memory)
    if _is_array(X):
        if mask is not None:
            raise ValueError(
                "mask is for images, but X is an array, whose columns are the features"
                "; use mask=None"
            )
        X = check_numbers(X, "X").astype(np.float64, copy=False)
        n_features = X.shape[1] if X.ndim == 2 else 0
        return Scans(X, None, np.ones(n_features, dtype=bool))
    from neuroextrap.images import load_samples, resolve_masker

    masker = resolve_masker(mask, X, memory=memory)
    X = load_samples(X, masker).astype(np.float64)
    kept = np.isfinite(X).all(axis=0)
    if not kept.any():
        raise ValueError(
            "no voxel of the mask is finite in all images; check that they overlap"
        )
    if not kept.all():
        _LOG.warning(
            "%d of %d voxels of the mask are NaN in some image and left out",
            np.sum(~kept),
            len(kept),
        )
    return Scans(X[:, kept], masker, kept)


def _is_array(X):
    """Return whether X is numbers in rows rather than images or their names."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], list | tuple | np.ndarray)
    return isinstance(X, np.ndarray) or hasattr(X, "to_numpy")


def canonical_images(classifier, masker):
    """Make images of the canonical maps (eigenimages) of a classifier.

    Parameters
    ----------
    classifier : CanonicalVariates
        Classifier fitted on samples that ``masker`` extracted.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        One volume (or surface map) per canonical direction.

    Raises
    ------
    ValueError
        If the features are not those of the masker.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eq. 19.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker
    >>> from neuroextrap.learning_curves import CanonicalVariates, canonical_images
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((2, 3, 2)), np.eye(4)))
    >>> X = np.random.default_rng(0).standard_normal((20, 12))
    >>> model = CanonicalVariates(n_components=3).fit(X, np.tile([0, 1, 2, 3], 5))
    >>> canonical_images(model, masker).shape
    (2, 3, 2, 3)
    """
    from neuroextrap.images import to_img

    return to_img(classifier.canonical_maps_, masker)
