"""All private names of the package that the tests of datasets use."""

from neuroextrap.datasets._simulated_brains import photo_patches
