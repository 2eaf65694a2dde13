"""All private names of the package that the tests of regions use."""

from neuroextrap.regions import _regions
from neuroextrap.regions._regions import (
    check_regions,
    label_regions,
    lattice_spheres,
    nearest_features,
    strided_centers,
    surface_discs,
    usable_regions,
)
