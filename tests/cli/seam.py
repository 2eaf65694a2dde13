"""All private names of the package that the tests of the command line use."""

from neuroextrap import _parameter_table
from neuroextrap._options import Option
from neuroextrap._parameter_table import PARAMETERS, Parameter, parameters
from neuroextrap.analysis._region_run import RegionRun
from neuroextrap.cli import (
    _check_command,
    _console,
    _continuous_command,
    _demo_acts,
    _encoding_command,
    _group_command,
    _merge_command,
    _results,
    _searchlight_command,
)
from neuroextrap.cli._bids_command import (
    COMMAND,
    _read_configuration,
    make_analysis,
)
from neuroextrap.cli._console import console
from neuroextrap.cli._main import SHELLS, build_parser
from neuroextrap.cli._option_files import RaisingParser
from neuroextrap.cli._parser import parameters_of, read_groups
from neuroextrap.cli._results import origin_of_command, text_table
from neuroextrap.cli._searchlight_questions import confound_of_samples
from neuroextrap.cli._stimulus_tables import unique_stimuli
from neuroextrap.datasets._simulated_brains import photo_patches
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.maps import _files
from neuroextrap.maps._provenance import file_entities
from neuroextrap.maps._records import flat_parameters
from neuroextrap.margins.classifiers._classifier_names import CLASSIFIERS, LINEAR
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats._validation import one_line
