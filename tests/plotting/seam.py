"""All private names of the package that the tests of figures use."""

from neuroextrap.images._maskers import mni152_mask
from neuroextrap.plotting._brain_maps import (
    mni152_template,
    share_in_mni152,
    surface_grays,
    volume_background,
)
from neuroextrap.plotting._information_plots import critical_value
