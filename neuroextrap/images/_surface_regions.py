"""Surface discs among the features of a surface masker."""

import numpy as np

from neuroextrap.images._geometry import surface_mesh
from neuroextrap.regions import surface_discs
from neuroextrap.regions._cache import cached_surface_discs
from neuroextrap.regions._membership import check_centers, check_regions


def surface_regions(masker, radius, *, centers=None, cache_dir=None):
    """Find discs along the surface around features, hemisphere by hemisphere.

    Paths run over the whole mesh; vertices outside the mask carry paths but are not
    members.

    Parameters
    ----------
    masker : nilearn.maskers.SurfaceMasker
        Fitted.
    radius : float
        Radius in mm along mesh edges (``<=``).
    centers : array-like of int, shape (n_regions,), or None, default=None
        Feature indices of the centers; None makes every feature a center.
    cache_dir : path-like or None, default=None
        Folder that keeps the discs of each mesh and radius for the next time.

    Returns
    -------
    scipy.sparse.csr_array of bool, shape (n_regions, n_features)
        Members of every disc, int32 indices sorted.

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

    blocks = [_of_hemisphere(side, radius, cache_dir) for side in surface_mesh(masker)]
    discs = sparse.csr_array(sparse.block_diag(blocks, format="csr"))
    regions = check_regions(discs, masker.n_elements_)
    if centers is None:
        return regions
    return regions[check_centers(centers, masker.n_elements_)]


def _of_hemisphere(side, radius, cache_dir):
    """Discs around a hemisphere's features, among its features."""
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
