"""All private names of the package that the tests of datasets use."""

from neuroextrap.datasets._natural_images import photo_patches
