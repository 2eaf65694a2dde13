"""All private names of the package that the tests of design use."""

from html import unescape

from neuroextrap._parameter_table import command_words
from neuroextrap.design import _course_of_runs
from neuroextrap.design._copies import (
    _in_another_order,
    _pairs_of_runs,
    matched_runs,
    near_copies,
)
from neuroextrap.design._course_of_runs import (
    classes_follow_time,
    drifts,
    findings_of_series,
    neighbor_inflation,
    position_in_run,
    time_test,
)
from neuroextrap.design._design import Design, Labelings
from neuroextrap.design._doubts import run_dispersion, shared_classifiers
from neuroextrap.design._folds import (
    class_weights,
    code_labels,
    code_targets,
    counts_of,
    make_design,
    members,
    some_columns,
    without_means,
)
from neuroextrap.design._forward_tests import (
    chronological_order,
    cyclic_folds,
    forward_parts,
)
from neuroextrap.design._permutations import (
    Balance,
    _sorted_folds,
    check_labelings,
    exchanged,
    few_exchanges,
    few_permutations,
    fold_balance,
    folds_follow_labels,
    permuted_codes,
)
from neuroextrap.design._tests import (
    BoundOptions,
    forward_folds,
    forward_tests,
    point_weights,
)
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.reporting._identification_page import (
    identification_sections,
    known_places,
)
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.reporting._page import sentences
from neuroextrap.reporting._peaks import ranked_peaks
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._true_discoveries import fewest_permutations


def beyond(X, y, runs):
    """Return the residuals of samples beyond class and run, and their Labels."""
    labels = code_labels(y, None, runs, None)
    return without_means(some_columns(X, 2000), labels), labels


def first_sentence(fitted):
    """Return what a page about a fitted analysis begins with, no picture drawn."""
    places = known_places(fitted, page_maps(fitted), ranked_peaks(fitted, 10))
    return unescape(sentences("identification_found", **places)[0])
