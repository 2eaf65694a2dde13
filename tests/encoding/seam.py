"""All private names of the package that the tests of encoding models use."""

from neuroextrap.analysis._region_run import RegionRun
from neuroextrap.design._course_of_runs import correlation_length
from neuroextrap.design._permutations import exchanged
from neuroextrap.encoding._continuous_maps import (
    cut_segments,
    segment_margins,
    segment_p_values,
    segment_wins,
    shifted_scores,
)
from neuroextrap.encoding._cost import estimate_cost_of_runs
from neuroextrap.encoding._experiment import prediction_scores
from neuroextrap.encoding._margins import (
    COVARIANCES,
    EncodingMargins,
    ResponseRows,
    correlation_margins,
    mahalanobis_margins,
    response_covariance,
    separate_repeats,
)
from neuroextrap.encoding._stimuli import paired_in_blocks
from neuroextrap.encoding._stimulus_features import stimulus_numbers, training_groups
from neuroextrap.encoding._training import fit_encoder, out_of_fold_predictions
from neuroextrap.encoding._training_folds import temperature
from neuroextrap.margins import _plan
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._resources import estimate_memory
from neuroextrap.margins._wins import win_chances
from neuroextrap.margins.running import _checkpoint
from neuroextrap.models._splitters import deal_folds
