"""Which features belong together, as sparse (n_regions, n_features) matrices.

Regions are ``scipy.sparse.csr_array`` of bool; row i holds the features (voxels,
vertices) of region i, with sorted int32 indices. Arrays only: no image is read here.

On a voxel lattice: ``lattice_spheres``. Among loose coordinates:
``coordinate_spheres``, ``nearest_features``. On a surface: ``surface_discs``. Given by
labels: ``label_regions``.
"""

from neuroextrap.regions._coordinates import coordinate_spheres, nearest_features
from neuroextrap.regions._labels import label_regions
from neuroextrap.regions._lattice import lattice_spheres
from neuroextrap.regions._surfaces import surface_discs

__all__ = [
    "coordinate_spheres",
    "label_regions",
    "lattice_spheres",
    "nearest_features",
    "surface_discs",
]
