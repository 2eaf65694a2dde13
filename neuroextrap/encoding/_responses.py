"""Responses as samples x voxels, from images or arrays."""

from typing import NamedTuple

import numpy as np

from neuroextrap.images import load_samples, resolve_masker


class Responses(NamedTuple):
    """Responses read for training or test.

    Attributes
    ----------
    data : ndarray, shape (n_rows, n_features)
        Minus `location`; zero where a voxel is not finite.
    location : ndarray, shape (n_features,)
        Means of the finite voxels.
    finite : ndarray of bool, shape (n_features,)
        Voxels that are finite in every row.
    usable : ndarray of bool, shape (n_features,)
        Finite, and not constant.
    masker : fitted masker, or None
        None for arrays.
    notes : tuple of str
        Voxels left out.
    """

    data: np.ndarray
    location: np.ndarray
    finite: np.ndarray
    usable: np.ndarray
    masker: object
    notes: tuple


def read_responses(
    mask, imgs, *, n_rows=None, n_features=None, memory=None, memory_level=1
):
    """Read responses and find the voxels that can be analyzed.

    Parameters
    ----------
    mask : None, path, image or masker
        As in `EncodingIdentification`; a fitted masker for test images.
    imgs : image, list, path(s) or array of shape (n_rows, n_features)
        Responses.
    n_rows : int or None
        How many rows there should be.
    n_features : int or None
        How many features there should be.
    memory, memory_level
        As for `EncodingIdentification`.

    Returns
    -------
    responses : Responses
        Centered on their means, in the precision read.

    Raises
    ------
    TypeError
        If an array is complex or not numbers.
    ValueError
        If the number of rows or features is another, or no voxel can be used.
    """
    if isinstance(imgs, np.ndarray):
        data, masker = _check_array(mask, imgs), None
    else:
        masker = resolve_masker(mask, imgs, memory=memory, memory_level=memory_level)
        data = load_samples(imgs, masker)
    if n_rows is not None and len(data) != n_rows:
        raise ValueError(
            f"imgs have {len(data)} rows, features {n_rows}; give one row of features "
            "for every response"
        )
    if n_features is not None and data.shape[1] != n_features:
        raise ValueError(
            f"imgs have {data.shape[1]} voxels, the model was trained on {n_features}"
        )
    finite = np.isfinite(data).all(axis=0)
    usable = finite & (data != data[:1]).any(axis=0)
    if n_rows is not None and not usable.any():
        raise ValueError(
            "imgs have no usable voxel: each holds NaN or is constant over stimuli"
        )
    notes = ()
    if not usable.all():
        left_out = f"{int((~usable).sum())} of {len(usable)} voxels were left out"
        notes = (f"{left_out} (NaN or constant)",)
    data = np.where(finite, data, 0)
    location = data.mean(axis=0, dtype=np.float64)
    return Responses(
        (data - location).astype(data.dtype), location, finite, usable, masker, notes
    )


def noise_rows(given, residuals, usable, masker):
    """Residuals of all voxels, from the model or from the user.

    Parameters
    ----------
    given : None, array or images
        The user's residuals.
    residuals : ndarray of float32, shape (n_samples, n_usable)
        The model's residuals.
    usable : ndarray of bool, shape (n_features,)
        Voxels the model was trained on.
    masker : fitted masker, or None
        None for arrays.

    Returns
    -------
    rows : ndarray of float32, shape (n_observations, n_features)
        Zero where a voxel is not usable.

    Raises
    ------
    ValueError
        If the user's residuals have another number of voxels, fewer than three rows,
        or NaN in usable voxels.
    """
    if given is None:
        rows = np.zeros((len(residuals), len(usable)), dtype=np.float32)
        rows[:, usable] = residuals
        return rows
    rows = given
    if not isinstance(given, np.ndarray):
        rows = load_samples(given, masker)
    if rows.ndim != 2 or rows.shape[1] != len(usable) or len(rows) < 3:
        raise ValueError(
            f"noise_covariance has shape {rows.shape}; give residuals of shape "
            f"(n_observations, {len(usable)}), at least three observations"
        )
    if not np.isfinite(rows[:, usable]).all():
        raise ValueError("noise_covariance holds NaN or infinity in usable voxels")
    rows = np.where(usable, rows, 0)
    return (rows - rows.mean(axis=0)).astype(np.float32)


def _check_array(mask, data):
    """Check responses given as an array; 'mask' must not be anything."""
    if mask is not None:
        raise ValueError("imgs are an array, so mask must be None; give images instead")
    if data.dtype.kind not in "buif":
        raise TypeError(f"imgs must be real numbers, got dtype {data.dtype}")
    if data.ndim != 2:
        raise ValueError(f"imgs must have shape (n_rows, n_features), got {data.shape}")
    return data if data.dtype == np.float32 else data.astype(np.float64)
