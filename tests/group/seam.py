"""All private names of the package that the tests of group use."""

from neuroextrap import _parameter_table
from neuroextrap._parameter_table import (
    AS_MADE,
    IDENTITY,
    PARAMETERS,
    RESULT,
    Parameter,
)
from neuroextrap.group import _first_levels
from neuroextrap.group._alike import check_alike
from neuroextrap.group._first_levels import read_columns
from neuroextrap.group._second_level_design import _weights, as_expression
from neuroextrap.reporting._group_page import read_group
from neuroextrap.stats import _rearrangement_test
from neuroextrap.stats._arrangements import flipped, permuted
from neuroextrap.stats._linear_scores import linear_test
from neuroextrap.stats._rearrangement_test import (
    find_clusters,
    threshold_free_enhancement,
)
from neuroextrap.stats._subject_bounds import (
    population_accuracy_lower_bound,
    subjects_accuracy_lower_bound,
)
