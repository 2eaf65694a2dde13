"""Samples from arrays or images, and maps back to images."""

import dataclasses
import logging

import numpy as np

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Samples:
    """Samples x features, and the way back.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_kept)
        Samples; features that are NaN in some image are left out.
    masker : fitted masker, or None for arrays
        Leads from features to images.
    kept : ndarray of bool, shape (n_features,)
        Features in X.
    """

    X: np.ndarray
    masker: object
    kept: np.ndarray

    def expand(self, maps):
        """Put maps back over all features, NaN where one was left out.

        Parameters
        ----------
        maps : ndarray of shape (..., n_kept)
            Maps over the features in X.

        Returns
        -------
        ndarray of shape (..., n_features)
            Maps over all features of the masker.
        """
        if self.kept.all():
            return maps
        full = np.full((*np.shape(maps)[:-1], len(self.kept)), np.nan)
        full[..., self.kept] = maps
        return full


def as_samples(X, mask, *, memory=None):
    """Read samples from an array, or from images through a mask.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or images
        Images: 4-D, list of 3-D, paths, glob pattern, surface image.
    mask : image, path, masker or None
        For images only.
    memory : None, path or joblib.Memory, optional
        Where what is read from image files is remembered between calls.

    Returns
    -------
    Samples
        In float64.

    Raises
    ------
    ValueError
        A mask given with an array; images on several grids (the message says how to
        resample); no voxel that is finite in all images.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.learning_curves._images_in import as_samples
    >>> as_samples(np.zeros((4, 3)), None).X.shape
    (4, 3)
    """
    if _is_array(X):
        if mask is not None:
            raise ValueError(
                "mask is for images; X is an array, whose columns are the features."
            )
        X = np.asarray(X, dtype=np.float64)
        n_features = X.shape[1] if X.ndim == 2 else 0
        return Samples(X, None, np.ones(n_features, dtype=bool))
    from neuroextrap.images import load_samples, resolve_masker

    masker = resolve_masker(mask, X, memory=memory)
    X = load_samples(X, masker).astype(np.float64)
    kept = np.isfinite(X).all(axis=0)
    if not kept.any():
        raise ValueError("no voxel of the mask is finite in all images.")
    if not kept.all():
        _LOG.warning(
            "%d of %d voxels of the mask are NaN in some image and left out",
            np.sum(~kept),
            len(kept),
        )
    return Samples(X[:, kept], masker, kept)


def _is_array(X):
    """Whether X is numbers in rows rather than images or their names."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], list | tuple | np.ndarray)
    return isinstance(X, np.ndarray) or hasattr(X, "to_numpy")


def canonical_images(classifier, masker):
    """Canonical maps (eigenimages) of a classifier as images.

    Parameters
    ----------
    classifier : CanonicalVariates
        Fitted on samples that ``masker`` extracted.
    masker : fitted masker
        Of nilearn.

    Returns
    -------
    image
        One volume (or surface map) a canonical direction.

    Raises
    ------
    ValueError
        Features that are not those of the masker.

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
