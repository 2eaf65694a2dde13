"""All private names of the package that the tests of regions use."""

from neuroextrap.regions import _coordinates
from neuroextrap.regions._coordinates import (
    lattice_spheres,
    nearest_features,
    strided_centers,
    surface_discs,
)
from neuroextrap.regions._membership import check_regions, label_regions, usable_regions
