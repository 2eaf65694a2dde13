"""All private names of the package that the tests of wrong calls use."""

from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.cohorts._cohort_records import read_configuration
from neuroextrap.encoding._margins import mahalanobis_margins
from neuroextrap.images._events import read_events
from neuroextrap.images._feature_files import Photographs
from neuroextrap.images._loading import read_image
from neuroextrap.images._opening import open_image
from neuroextrap.regions._regions import nearest_features
from neuroextrap.stats._validation import check_flags
