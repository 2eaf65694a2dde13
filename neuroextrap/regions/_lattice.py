"""Spheres on a voxel lattice: one stencil, slid over the mask in blocks."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuroextrap.regions._membership import (
    check_centers,
    check_n_pairs,
    check_radius,
    rows_to_regions,
)

RADIUS_TOLERANCE = 1e-9
"""A feature at distance <= radius * (1 + RADIUS_TOLERANCE) belongs to the sphere."""

_BATCH_PAIRS = 2**20  # (center, offset) pairs looked up together


def lattice_spheres(
    mask: np.ndarray, affine: np.ndarray, radius: float, *, centers: Any = None
) -> csr_array:
    """Return the voxels of a mask within `radius` mm of each center, csr_array of bool.

    Distances are those of voxel centers in world space, of any affine. Offsets within
    the radius are computed once, and gathered per batch of centers in a padded index
    volume (Kriegeskorte, Goebel & Bandettini 2006, PNAS 103).
    """
    radius = check_radius(radius)
    centers = check_centers(centers, int(mask.sum()))
    offsets = _stencil(affine[:3, :3], radius, mask.shape)
    lookup, start, steps = _padded_lookup(mask, offsets)
    return _gather(lookup, start[centers], steps, len(start))


def strided_centers(mask: np.ndarray, stride: Any) -> np.ndarray:
    """Return every `stride`-th feature along each axis, from the mask's first index."""
    steps = np.asarray(stride)
    if steps.dtype.kind not in "iu" or steps.shape not in ((), (3,)) or steps.min() < 1:
        raise ValueError(
            f"stride={stride!r} must be an integer >= 1 or three of them; 1 keeps "
            "every voxel"
        )
    voxels = np.argwhere(mask)
    kept = ((voxels - voxels.min(axis=0)) % steps == 0).all(axis=1)
    if not kept.any():
        raise ValueError(
            f"stride={stride!r} leaves no voxel of the mask as a center; use a "
            "smaller stride"
        )
    return np.flatnonzero(kept)


def _stencil(axes: np.ndarray, radius: float, shape: tuple) -> np.ndarray:
    """Voxel offsets within the radius, in C order; shape (n_offsets, 3)."""
    reach = radius * np.linalg.norm(np.linalg.inv(axes), axis=1)
    most = np.minimum(np.floor(reach * (1 + 1e-6)), np.array(shape) - 1).astype(int)
    grids = np.meshgrid(*(np.arange(-m, m + 1) for m in most), indexing="ij")
    offsets = np.stack([grid.ravel() for grid in grids], axis=1)
    distances = np.linalg.norm(offsets @ axes.T, axis=1)
    return offsets[distances <= radius * (1 + RADIUS_TOLERANCE)]


def _padded_lookup(
    mask: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features of a padded volume (-1: none), places, offset steps."""
    border = np.abs(offsets).max(axis=0)
    padded = np.full(np.array(mask.shape) + 2 * border, -1, dtype=np.int32)
    inner = tuple(
        slice(b, b + n) for b, n in zip(border.tolist(), mask.shape, strict=True)
    )
    padded[inner][mask] = np.arange(int(mask.sum()), dtype=np.int32)
    flat = padded.ravel()
    strides = np.array([padded.shape[1] * padded.shape[2], padded.shape[2], 1])
    return flat, np.flatnonzero(flat >= 0), offsets @ strides


def _gather(
    lookup: np.ndarray, positions: np.ndarray, steps: np.ndarray, n_features: int
) -> csr_array:
    """Collect the members of all spheres, a batch of centers at a time."""
    counts = np.empty(len(positions), dtype=np.int64)
    indices = np.empty(len(positions) * min(len(steps), n_features), dtype=np.int32)
    width, used = max(1, _BATCH_PAIRS // len(steps)), 0
    for first in range(0, len(positions), width):
        rows = slice(first, first + width)
        # -1 where the offset leaves the mask: the border is as wide as the stencil
        neighbors = lookup[positions[rows, None] + steps]
        inside = neighbors >= 0
        counts[rows] = inside.sum(axis=1)
        members = neighbors[inside]
        check_n_pairs(used + len(members))
        indices[used : used + len(members)] = members
        used += len(members)
    indices.resize(used, refcheck=False)
    return rows_to_regions(indices, counts, n_features)
