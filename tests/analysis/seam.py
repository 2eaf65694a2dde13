"""All private names of the package that the tests of analysis use."""

from neuroextrap._options import Option, read_options
from neuroextrap._parameter_table import (
    KINDS,
    PARAMETERS,
    Parameter,
    command_words,
    parameters,
)
from neuroextrap.analysis import _region_run, _samples
from neuroextrap.analysis._analysis_files import find_analysis
from neuroextrap.analysis._parameters import of_arrays, of_no_places
from neuroextrap.analysis._presentation import find_region
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._results import missing_parts
from neuroextrap.analysis._samples import read_residuals, read_samples
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.maps._identification import bound_set_sizes
from neuroextrap.maps._records import (
    described_parameters,
    flat_parameters,
    nested_parameters,
)
from neuroextrap.margins.classifiers._classifier_names import (
    CLASSIFIERS,
    resolve_classifier,
)
from neuroextrap.margins.running._checkpoint import WITHOUT_EFFECT, differing
from neuroextrap.stats._null_counts import unpacked_largest
