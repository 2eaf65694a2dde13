"""Information learning curves and sensitivity maps.

Inside, ``_curve_run`` reads, prepares and checks what all splits share, ``_splits``
draws splits, trains and scores, in parallel.
"""

from neuroextrap.learning_curves._comparison import (
    compare_learning_curves,
    limiting_factor,
)
from neuroextrap.learning_curves._curve import (
    information_learning_curve,
    pattern_reproducibility,
)
from neuroextrap.learning_curves._protocol import (
    fine_probabilities,
    protocol_learning_curves,
    simulate_hierarchical_scans,
)
from neuroextrap.learning_curves._report import learning_curve_report
from neuroextrap.learning_curves._sensitivity import sensitivity_map
from neuroextrap.learning_curves._splits import prediction_information
from neuroextrap.learning_curves._voxelwise_gaussian import VoxelwiseGaussian
from neuroextrap.models._canonical_variates import CanonicalVariates

__all__ = [
    "CanonicalVariates",
    "VoxelwiseGaussian",
    "compare_learning_curves",
    "fine_probabilities",
    "information_learning_curve",
    "learning_curve_report",
    "limiting_factor",
    "pattern_reproducibility",
    "prediction_information",
    "protocol_learning_curves",
    "sensitivity_map",
    "simulate_hierarchical_scans",
]
