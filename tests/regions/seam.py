"""All private names of the package that the tests of regions use."""

from neuroextrap.regions._coordinates import (
    cached_surface_discs,
    nearest_features,
    surface_discs,
)
from neuroextrap.regions._lattice import lattice_spheres, strided_centers
from neuroextrap.regions._membership import check_regions, label_regions, usable_regions
