"""All private names of the package that the tests of decoding use."""

from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._design_simulation import _Noise
from neuroextrap.decoding._dissimilarity_run import (
    ceiling_of_halves,
    comparison_features,
    halves,
)
from neuroextrap.design._copies import copies
from neuroextrap.design._course_of_runs import neighbor_correlation, order_agreement
from neuroextrap.design._design import Design, Labelings
from neuroextrap.design._folds import (
    Labels,
    code_labels,
    make_design,
    some_columns,
    without_means,
)
from neuroextrap.design._permutations import folds_follow_labels, permuted_codes
from neuroextrap.design._tests import BoundOptions, forward_tests
from neuroextrap.maps._identification import bound_set_sizes
from neuroextrap.margins import _engine, _plan
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.margins.classifiers._targets import TargetMargins
from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance
from neuroextrap.regions import _regions
from neuroextrap.regions._regions import surface_discs
from neuroextrap.reporting._identification_page import identification_sections
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.reporting._peaks import area_names, discoveries_section
from neuroextrap.stats._arrangements import two_sample_exchange_test


def beyond(X, y, runs):
    """Return the residuals of samples beyond class and run, and their Labels."""
    labels = code_labels(y, None, runs, None)
    return without_means(some_columns(X, 2000), labels), labels
