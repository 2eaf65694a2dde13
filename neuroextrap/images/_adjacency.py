"""Which features of a masker are neighbors: voxels by faces, vertices by edges."""

import numpy as np

from neuroextrap.images._geometry import mask_lattice, surface_mesh
from neuroextrap.images._maskers import is_surface_masker


def neighbor_pairs(masker):
    """Return the pairs of neighboring features, shape (n_pairs, 2), each pair once.

    Voxels are neighbors when they share a face, vertices when an edge of the mesh joins
    them; hemispheres have no neighbors in one another.
    """
    if is_surface_masker(masker):
        return np.concatenate([_edges(h) for h in surface_mesh(masker)])
    mask, _ = mask_lattice(masker)
    number = np.full(mask.shape, -1, dtype=np.intp)
    number[mask] = np.arange(mask.sum())
    pairs = []
    for axis in range(3):
        along = np.moveaxis(number, axis, 0)
        pairs.append(np.stack([along[:-1].ravel(), along[1:].ravel()], axis=1))
    return _known(np.concatenate(pairs))


def _edges(hemisphere):
    """Return the edges of one hemisphere between vertices that are features."""
    number = np.full(len(hemisphere.coordinates), -1, dtype=np.intp)
    number[hemisphere.vertices] = hemisphere.offset + np.arange(
        len(hemisphere.vertices)
    )
    faces = hemisphere.faces
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return _known(number[np.unique(np.sort(edges, axis=1), axis=0)])


def _known(pairs):
    """Return the pairs both of which are features."""
    return pairs[(pairs >= 0).all(axis=1)]
