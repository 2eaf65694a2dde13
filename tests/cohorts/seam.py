"""All private names of the package that the tests of cohorts use."""

from neuroextrap import _parameter_table
from neuroextrap._options import Option
from neuroextrap.cli._main import build_parser
from neuroextrap.cohorts import _group_level, _participants
from neuroextrap.cohorts._cohort_design import (
    find_table,
    make_design,
    mean_motion,
    read_participants,
)
from neuroextrap.cohorts._cohort_options import GroupOptions
from neuroextrap.cohorts._cohort_records import _of_analysis, read_configuration
from neuroextrap.group._prevalence import PrevalenceOptions, saved_prevalence
from neuroextrap.group._second_level_design import resolve_test
from neuroextrap.images._bids_names import read_filters
from neuroextrap.images._bids_runs import (
    find_participants,
    find_raw,
    find_runs,
    fmriprep_confounds,
)
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.images._sample_plans import labels_of_samples
from neuroextrap.maps._provenance import file_entities
from neuroextrap.reporting._page import make_page
