"""All private names of the package that the tests of models use."""

from neuroextrap.encoding._stimulus_features import IMAGE_MODELS, image_features
from neuroextrap.models import _ridge
from neuroextrap.models._canonical_space import leading_svd
from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._noise_covariance import (
    SchaeferStrimmerCovariance,
    schaefer_strimmer_covariance,
)
from neuroextrap.models._receptive_fields import mirrored_energies, separable_sums
from neuroextrap.models._retinotopic import RetinotopicFeatures
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models._ridge_folds import BandGradient
from neuroextrap.models._splitters import encoder_splits
from neuroextrap.models.elastic_net._acceleration import (
    anderson_weights,
    conjugate_gradients,
    newton_target,
    objective,
    polish,
    relative_gap,
)
from neuroextrap.models.elastic_net._estimator import (
    SOLVERS,
    ElasticNetEncoder,
    choose_solver,
    cross_validated_elastic_net,
)
from neuroextrap.models.elastic_net._solver_kinds import (
    Columns,
    WorkingSetSolver,
    solve_columns,
)
from neuroextrap.models.elastic_net._solvers import (
    Solver,
    all_samples,
    fold_grams,
    grid_walk,
    predict_fold,
    prepare_targets,
)
