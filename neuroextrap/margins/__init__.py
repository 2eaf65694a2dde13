"""Classifiers as batched margin functions, and the one loop over regions."""

from neuroextrap.margins._checkpoint import array_digest, run_identity
from neuroextrap.margins._classifiers import (
    CentroidClassifier,
    NaiveBayesClassifier,
    NearestNeighborClassifier,
)
from neuroextrap.margins._cost import estimate_memory, estimate_seconds
from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._engine import (
    RegionScores,
    observed_margins,
    score_regions,
    with_path,
)
from neuroextrap.margins._estimator_margins import EstimatorMargins
from neuroextrap.margins._folds import check_labelings, fold_weightings, make_design
from neuroextrap.margins._lda import LDAMargins
from neuroextrap.margins._naive_bayes import GaussianNBMargins
from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
from neuroextrap.margins._nearest_neighbor import NearestNeighborMargins
from neuroextrap.margins._null import null_file
from neuroextrap.margins._operators import ridge_penalty
from neuroextrap.margins._outcomes import win_chances
from neuroextrap.margins._progress import Progress
from neuroextrap.margins._qda import QDAMargins
from neuroextrap.margins._registry import CLASSIFIERS, resolve_classifier
from neuroextrap.margins._resources import (
    affordable_workers,
    parse_memory,
    parse_shard,
)
from neuroextrap.margins._ridge import RidgeMargins
from neuroextrap.margins._shrinkage_classifiers import (
    RidgeIndicatorClassifier,
    ShrinkageLDA,
    ShrinkageQDA,
)
from neuroextrap.margins._statistic import (
    DECIMALS,
    accuracy_set_size,
    resolve_statistic,
)
from neuroextrap.margins._task import Plan
from neuroextrap.margins._wins import beaten_and_tied, class_weights, win_histogram

__all__ = [
    # designs and labelings
    "Design",
    "Labelings",
    "check_labelings",
    "fold_weightings",
    "make_design",
    # classifiers
    "CLASSIFIERS",
    "EstimatorMargins",
    "GaussianNBMargins",
    "LDAMargins",
    "NearestCentroidMargins",
    "NearestNeighborMargins",
    "QDAMargins",
    "RidgeMargins",
    "resolve_classifier",
    "ridge_penalty",
    # the same for one region, with the interface of scikit-learn
    "CentroidClassifier",
    "NaiveBayesClassifier",
    "NearestNeighborClassifier",
    "RidgeIndicatorClassifier",
    "ShrinkageLDA",
    "ShrinkageQDA",
    # the loop
    "Plan",
    "Progress",
    "RegionScores",
    "affordable_workers",
    "estimate_memory",
    "estimate_seconds",
    "null_file",
    "observed_margins",
    "parse_memory",
    "parse_shard",
    "DECIMALS",
    "accuracy_set_size",
    "resolve_statistic",
    "run_identity",
    "score_regions",
    "with_path",
    # counting
    "array_digest",
    "beaten_and_tied",
    "class_weights",
    "win_chances",
    "win_histogram",
]
