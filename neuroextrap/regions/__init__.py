"""Which features belong together, as sparse (n_regions, n_features) matrices.

Regions are ``scipy.sparse.csr_array`` of bool; row i holds the features (voxels,
vertices) of region i, with sorted int32 indices. Arrays only: no image is read here.

On a voxel lattice: ``_lattice``. Among loose coordinates: ``_coordinates``. On a
surface: ``_surfaces``. Given by labels: ``_labels``. Users ask for regions by the
options of an analysis.
"""

__all__: list[str] = []
