"""Mutual information learning curves and sensitivity maps.

Curves: ``information_learning_curve``, ``pattern_reproducibility``,
``compare_learning_curves``, ``limiting_factor``, ``learning_curve_table``. Maps:
``sensitivity_map``, ``canonical_images``. Models: ``CanonicalVariates``,
``VoxelwiseGaussian``, ``macroscopic_log_posterior``. Scores:
``prediction_information``, ``label_entropy``, ``shrink_to_prior``, ``prior_weight``.
Labels: ``agnostic_labels``, ``coarse_of_fine``, ``fine_probabilities``. The paper's
protocol: ``as_samples``, ``center_groups``, ``scale_scans``, ``balanced_scans``,
``protocol_setups``, ``protocol_learning_curves``. Known truth:
``simulate_hierarchical_scans``, ``binary_gaussian_information``.
"""

from neuroextrap.learning_curves._comparison import (
    compare_learning_curves,
    limiting_factor,
)
from neuroextrap.learning_curves._curve import information_learning_curve
from neuroextrap.learning_curves._images_in import canonical_images
from neuroextrap.learning_curves._information import (
    label_entropy,
    prediction_information,
    prior_weight,
    shrink_to_prior,
)
from neuroextrap.learning_curves._labels import (
    agnostic_labels,
    coarse_of_fine,
    fine_probabilities,
)
from neuroextrap.learning_curves._microscopic import VoxelwiseGaussian
from neuroextrap.learning_curves._preparation import (
    balanced_scans,
    center_groups,
    scale_scans,
)
from neuroextrap.learning_curves._protocol import protocol_learning_curves
from neuroextrap.learning_curves._reproducibility import pattern_reproducibility
from neuroextrap.learning_curves._sensitivity import sensitivity_map
from neuroextrap.learning_curves._simulation import simulate_hierarchical_scans
from neuroextrap.learning_curves._table import learning_curve_table
from neuroextrap.models._canonical_variates import CanonicalVariates

__all__ = [
    "CanonicalVariates",
    "VoxelwiseGaussian",
    "agnostic_labels",
    "balanced_scans",
    "canonical_images",
    "center_groups",
    "coarse_of_fine",
    "compare_learning_curves",
    "fine_probabilities",
    "information_learning_curve",
    "label_entropy",
    "learning_curve_table",
    "limiting_factor",
    "pattern_reproducibility",
    "prediction_information",
    "prior_weight",
    "protocol_learning_curves",
    "scale_scans",
    "sensitivity_map",
    "shrink_to_prior",
    "simulate_hierarchical_scans",
]
