"""All private names of the package that the tests of learning curves use."""

from neuroextrap.learning_curves._comparison import learning_curve_table
from neuroextrap.learning_curves._curve import _signal_to_noise
from neuroextrap.learning_curves._curve_run import (
    CurveOptions,
    balanced_scans,
    center_groups,
    prepare_run,
    read_scans,
    scale_scans,
)
from neuroextrap.learning_curves._protocol import (
    agnostic_labels,
    binary_gaussian_information,
    protocol_setups,
)
from neuroextrap.learning_curves._sensitivity import sensitivity_factor
from neuroextrap.learning_curves._splits import (
    best_prior_weight,
    check_train_sizes,
    draw_split,
    label_entropy,
    residual_freedom,
)
from neuroextrap.models._canonical_space import check_priors
