"""Samples x features from whatever a user has: images with a mask, or an array."""

from typing import NamedTuple

import numpy as np

from neuroextrap.images._loading import load_samples
from neuroextrap.images._maskers import resolve_masker


class FeatureData(NamedTuple):
    """Samples ready for analysis.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        Centered per feature (no label enters); 0 where a feature is not usable.
    usable : ndarray of bool, shape (n_features,)
        Finite in every sample, and not constant.
    masker : fitted masker, or None
        None for arrays.
    notes : tuple of str
        What a reader should know of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.analysis._samples import read_features
    >>> data = read_features(None, np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> type(data).__name__, data.usable.tolist()
    ('FeatureData', [True, False])
    """

    X: np.ndarray
    usable: np.ndarray
    masker: object
    notes: tuple


def read_features(
    mask, imgs, *, n_samples=None, keep=None, memory=None, memory_level=1
):
    """Read samples and find the features that can be analyzed.

    Parameters
    ----------
    mask : None, path, image or masker
        Where features are.
    imgs : image, list, path(s) or array of shape (n_samples, n_features)
        One volume (row) a sample.
    n_samples : int or None
        How many samples there should be.
    keep : ndarray of bool, shape (n_samples,), or None
        Samples to use.
    memory, memory_level
        As for ``resolve_masker``.

    Returns
    -------
    FeatureData
        Samples, usable features, masker and notes.

    Raises
    ------
    ValueError
        When the number of samples is another, or no feature is usable.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.analysis._samples import read_features
    >>> data = read_features(None, np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> data.X.tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> data.notes
    ('1 of 2 voxels were left out (NaN or constant)',)
    """
    if isinstance(imgs, np.ndarray):
        data, masker = _check_array(mask, imgs), None
    else:
        masker = resolve_masker(mask, imgs, memory=memory, memory_level=memory_level)
        data = load_samples(imgs, masker)
    if n_samples is not None and len(data) != n_samples:
        raise ValueError(
            f"imgs has {len(data)} samples, y has {n_samples}; give one label for "
            "every image (volume)"
        )
    data = data if keep is None else data[keep]
    usable = np.isfinite(data).all(axis=0) & (data != data[:1]).any(axis=0)
    if not usable.any():
        raise ValueError(
            "imgs has no usable voxel: each has NaN or is constant over samples; check "
            "the images and the mask"
        )
    notes = ()
    if not usable.all():
        notes = (
            f"{int((~usable).sum())} of {len(usable)} voxels were left out (NaN or "
            "constant)",
        )
    return FeatureData(_centered(data, usable), usable, masker, notes)


def _check_array(mask, data):
    """Check samples given as an array."""
    if mask is not None:
        raise ValueError(
            "imgs is an array, so mask must be None; give images or no mask"
        )
    if data.ndim != 2:
        raise ValueError(
            f"imgs has {data.ndim} dimensions as an array; give (n_samples, n_features)"
        )
    return data


def _centered(data, usable):
    """Subtract every usable feature's mean; in float32."""
    X = np.zeros(data.shape, dtype=np.float32)
    step = max(1, 2**24 // max(1, len(data)))
    for start in range(0, data.shape[1], step):
        some = slice(start, start + step)
        block = data[:, some].astype(np.float64)
        mean = block[:, usable[some]].mean(axis=0)
        X[:, some][:, usable[some]] = block[:, usable[some]] - mean
    return X
