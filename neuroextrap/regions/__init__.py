"""Which features belong together, as sparse (n_regions, n_features) matrices.

Regions are ``scipy.sparse.csr_array`` of bool; row i holds the features (voxels,
vertices) of region i, with sorted int32 indices. Arrays only: no image is read here.

Among loose coordinates, such as those of sensors: ``coordinate_spheres``. Options of an
analysis stand for the others: on a voxel lattice, nearest features, on surfaces, and
given by labels.
"""

from neuroextrap.regions._regions import coordinate_spheres

__all__ = ["coordinate_spheres"]
