"""Checks that images share one grid or mesh, and that a mask is binary."""

import numpy as np

from neuroextrap.images._opening import read_image

GRID_TOLERANCE = 1e-3
"""Grids are one when no voxel moves by more than this fraction of a voxel."""


def check_same_grid(named, reference):
    """Raise if an image lies on another grid or mesh than a reference.

    Both are `NamedImage`. Affines may differ by rounding, as long as no voxel center
    moves by more than a thousandth of a voxel.
    """
    if named.is_surface != reference.is_surface:
        raise TypeError(
            f"{named.name} and {reference.name} are not both volumes or both "
            "surfaces; give images of one kind"
        )
    if named.is_surface:
        _check_same_mesh(named, reference)
        return
    if len(named.img.shape) not in (3, 4):
        raise ValueError(
            f"{named.name} must have 3 or 4 dimensions, got shape {named.img.shape}; "
            "split or squeeze it"
        )
    if tuple(named.img.shape[:3]) != tuple(reference.img.shape[:3]):
        raise ValueError(
            f"{named.name} has shape {named.img.shape[:3]} but {reference.name} has "
            f"{reference.img.shape[:3]}; resample one with "
            "nilearn.image.resample_to_img"
        )
    if not same_affine(named.img.affine, reference.img.affine, named.img.shape[:3]):
        raise ValueError(
            f"{named.name} has another affine than {reference.name}: "
            f"{_flat(named.img.affine)} against {_flat(reference.img.affine)}; "
            "resample one with nilearn.image.resample_to_img"
        )


def same_affine(first, second, shape):
    """Return whether two affines place every voxel of a grid of `shape` alike.

    No corner may move by more than a thousandth of the smallest voxel size.
    """
    from nibabel.affines import apply_affine, voxel_sizes

    corners = np.array(np.meshgrid(*([0, n - 1] for n in shape))).reshape(3, -1).T
    moved = apply_affine(first, corners) - apply_affine(second, corners)
    turned = np.abs(first[:3, :3] - second[:3, :3]).max()
    smallest = voxel_sizes(second).min()
    return max(np.abs(moved).max(), turned) <= GRID_TOLERANCE * smallest


def check_binary(mask):
    """Raise if a mask is empty, not binary, holds NaN, or is not one sample."""
    values = _distinct_values(mask)
    if np.isnan(values).any() or np.count_nonzero(values) > 1:
        shown = ", ".join(f"{value:g}" for value in values[:4])
        raise ValueError(
            f"{mask.name} is not a binary mask: it holds {len(values)} values "
            f"({shown}, ...); binarize it with nilearn.image.binarize_img"
        )
    if not values.any():
        raise ValueError(f"{mask.name} is an empty mask; give one with non-zero voxels")


def _distinct_values(mask):
    """Return the sorted distinct values of a mask of one sample."""
    if mask.is_surface:
        parts = [np.asarray(part) for part in mask.img.data.parts.values()]
        n_samples = max(part.size // len(part) for part in parts)
        data = np.concatenate([part.ravel() for part in parts])
    else:
        data = np.asanyarray(read_image(mask).img.dataobj)
        n_samples = int(np.prod(data.shape[3:]))
    if n_samples != 1:
        raise ValueError(
            f"{mask.name} must be one mask, got {n_samples} samples; give a single one"
        )
    return np.unique(np.asarray(data, dtype=float))


def _check_same_mesh(named, reference):
    """Raise if hemispheres, numbers of vertices or faces differ."""
    parts, expected = named.img.mesh.parts, reference.img.mesh.parts
    same = parts.keys() == expected.keys() and all(
        parts[side].n_vertices == expected[side].n_vertices
        and np.array_equal(parts[side].faces, expected[side].faces)
        for side in parts
    )
    if not same:
        raise ValueError(
            f"{named.name} has another mesh ({_mesh_size(parts)}) than "
            f"{reference.name} ({_mesh_size(expected)}); give images of one mesh"
        )


def _mesh_size(parts):
    """Describe a mesh by its hemispheres' sizes."""
    return ", ".join(
        f"{side} {mesh.n_vertices} vertices" for side, mesh in parts.items()
    )


def _flat(affine):
    """Return the first three rows of an affine on one line."""
    return np.array2string(
        np.asarray(affine)[:3].ravel(), precision=4, separator=" ", max_line_width=10**6
    )
