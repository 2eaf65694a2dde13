"""All private names of the package that the tests of margins use."""

from neuroextrap._parameter_table import parameters
from neuroextrap.design._design import Design, Labelings
from neuroextrap.design._folds import class_weights, make_design
from neuroextrap.margins import _engine, _paths, _plan, _resources, _task
from neuroextrap.margins._engine import observed_margins, score_regions
from neuroextrap.margins._kernel import AdditiveKernel, MarginKernel, RegionSamples
from neuroextrap.margins._paths import describe_paths, path_of, with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import (
    estimate_memory,
    estimate_seconds,
    parse_memory,
)
from neuroextrap.margins._task import run_task
from neuroextrap.margins._wins import (
    AccuracyStatistic,
    beaten_and_tied,
    rank_tables,
    resolve_statistic,
    win_histogram,
)
from neuroextrap.margins.algebra import _grams, _linear, _sums
from neuroextrap.margins.algebra._grams import (
    centered_gram,
    ledoit_wolf_intensity,
    ridge_penalty,
    round_terms,
    scatter_penalty,
)
from neuroextrap.margins.algebra._linear import class_sums, sorted_samples
from neuroextrap.margins.algebra._operators import penalized_grams
from neuroextrap.margins.classifiers import _lda, _nearest_centroid, _qda, _ridge
from neuroextrap.margins.classifiers._classifier_names import (
    CLASSIFIERS,
    resolve_classifier,
)
from neuroextrap.margins.classifiers._lda import LDAMargins
from neuroextrap.margins.classifiers._naive_bayes import GaussianNBMargins
from neuroextrap.margins.classifiers._nearest_centroid import (
    NearestCentroidMargins,
    NearestNeighborMargins,
)
from neuroextrap.margins.classifiers._qda import QDAMargins, qda_shrinkage
from neuroextrap.margins.classifiers._ridge import RidgeMargins
from neuroextrap.margins.compiled import _class_sums
from neuroextrap.margins.running import _checkpoint, _execution, _null
from neuroextrap.margins.running._checkpoint import Checkpoint, Lock, array_hash
from neuroextrap.margins.running._execution import (
    MAX_LOSSES,
    Progress,
    Work,
    run_tasks,
    use_executor,
)
from neuroextrap.margins.running._null import null_file, read_about_null
from neuroextrap.margins.running._pools import DaskPool
from neuroextrap.regions._regions import lattice_spheres
from neuroextrap.stats._null_counts import unpacked_largest
