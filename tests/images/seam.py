"""All private names of the package that the tests of images use."""

from neuroextrap.analysis._analysis_files import find_analysis
from neuroextrap.cli._main import build_parser
from neuroextrap.cli._planned_searchlight import Request
from neuroextrap.cli._stimulus_tables import read_table
from neuroextrap.cohorts._cohort_records import read_configuration
from neuroextrap.design._copies import check_series_apart
from neuroextrap.images import _loading
from neuroextrap.images._atlas import REACH, atlas_labels, atlas_names_at
from neuroextrap.images._bids_names import file_entities, loose_entities, pair_by_name
from neuroextrap.images._bids_runs import find_betas, fmriprep_confounds
from neuroextrap.images._event_samples import mean_gray_levels
from neuroextrap.images._events import (
    features_of_volumes,
    read_events,
    read_runs,
)
from neuroextrap.images._feature_files import Photographs, photograph_files
from neuroextrap.images._loading import (
    feature_coordinates,
    feature_values,
    finite_mask,
    load_opened,
    load_samples,
    mask_lattice,
    read_image,
    surface_mesh,
)
from neuroextrap.images._maskers import load_image, mni152_mask, save_image
from neuroextrap.images._opening import (
    NamedImage,
    list_images,
    open_image,
    space_code,
)
from neuroextrap.images._region_choice import center_features, surface_regions
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.images._sample_plans import (
    labels_of_volumes,
    read_tables,
    repetition_times,
)
from neuroextrap.images._tables import (
    load_array,
    numbers,
    read_text_table,
    text_column,
)
from neuroextrap.learning_curves._curve_run import read_scans
from neuroextrap.maps._transaction import finish_interrupted
from neuroextrap.margins.running._null import read_about_null
from neuroextrap.regions._regions import (
    lattice_spheres,
    peak_features,
    surface_discs,
)
