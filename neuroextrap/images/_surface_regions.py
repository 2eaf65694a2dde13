"""Regions on the cortical surface: discs among the features of a surface masker."""

import numpy as np

from neuroextrap.images._geometry import surface_mesh
from neuroextrap.regions._membership import check_centers, check_regions
from neuroextrap.regions._surfaces import cached_surface_discs, surface_discs


def surface_regions(masker, radius, *, centers=None, cache_dir=None):
    """Make discs along the surface around features, hemisphere by hemisphere.

    Paths run over the whole mesh; vertices outside the mask carry paths but are not
    members.

    Parameters
    ----------
    masker : nilearn.maskers.SurfaceMasker
        Fitted masker.
    radius : float
        Largest distance from the center in mm along mesh edges.
    centers : array-like of int of shape (n_regions,), or None, default=None
        Feature indices of the centers. If None, every feature is a center.
    cache_dir : path-like or None, default=None
        Folder that caches the discs of each mesh and radius. If None, nothing is
        cached.

    Returns
    -------
    scipy.sparse.csr_array of bool of shape (n_regions, n_features)
        Members of every disc, with sorted int32 indices.

    Raises
    ------
    TypeError
        If the masker is a volume masker.
    ValueError
        If ``radius`` is not positive or ``centers`` are not feature indices.

    Examples
    --------
    >>> import numpy as np
    >>> from nilearn.surface import InMemoryMesh, SurfaceImage
    >>> from neuroextrap.images import resolve_masker, surface_regions
    >>> triangle = InMemoryMesh(np.eye(3), np.array([[0, 1, 2]]))
    >>> sides = {"left": triangle, "right": triangle}
    >>> data = {"left": np.array([1, 1, 0]), "right": np.array([0, 1, 1])}
    >>> masker = resolve_masker(SurfaceImage(sides, data))
    >>> surface_regions(masker, 2.0).toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    from scipy import sparse

    discs = [
        _hemisphere_discs(side, radius, cache_dir)
        for side in surface_mesh(masker)
        if len(side.vertices)  # the mask may lie in one hemisphere
    ]
    discs = sparse.csr_array(sparse.block_diag(discs, format="csr"))
    regions = check_regions(discs, masker.n_elements_)
    if centers is None:
        return regions
    return regions[check_centers(centers, masker.n_elements_)]


def _hemisphere_discs(side, radius, cache_dir):
    """Return discs around a hemisphere's features, among its features."""
    if cache_dir is None:
        discs = surface_discs(
            side.coordinates, side.faces, radius, centers=side.vertices
        )
    else:
        discs = cached_surface_discs(
            side.coordinates, side.faces, radius, cache_dir=cache_dir
        )[side.vertices]
    if len(side.vertices) == len(side.coordinates):
        return discs
    return discs[:, np.asarray(side.vertices)]
