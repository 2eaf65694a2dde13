"""All private names of the package that the tests of regions use."""

from neuroextrap.regions._coordinates import nearest_features
from neuroextrap.regions._lattice import lattice_spheres, strided_centers
from neuroextrap.regions._membership import check_regions, label_regions, usable_regions
from neuroextrap.regions._surfaces import cached_surface_discs, surface_discs
