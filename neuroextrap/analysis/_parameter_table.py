"""The table of parameters: every one is declared here, once, with its option.

A key has the section of help, the kinds of analysis (or of making data) that have the
parameters, and their role, with the marks "own" and "extra"; ``_parameters`` says what
these mean. None stands for parameters that only Python has, and for those whose option
another row declares.
"""

from neuroextrap.analysis._options import (
    number_or_auto,
    one_of,
    path,
    real,
    set_size_or_name,
    text,
    texts,
    whole,
)


def _permutations(of):
    """Return the option of a number of permutations."""
    return whole(f"number of {of}", 0, said="0, no p-values", least=0, first=True)


def _statistic(default):
    """Return the option of the tested statistic, the default first."""
    known = dict.fromkeys((default, "accuracy", "pairwise_accuracy", _INFORMATION))
    sentence = f"statistic of the permutation test: {', '.join(known)}, or a set size"
    return text(sentence, default, kind=set_size_or_name)


_INFORMATION = "implied_information"

ANALYSES = {
    ("voxels", "searchlight encoding targets group continuous", "identity"): {
        "mask": path("brain mask", said="computed from the images", first=True)
    },
    ("regions", "searchlight encoding targets continuous", "result"): {
        "radius": real(
            "radius of the spheres in mm",
            8.0,
            "MM",
            within=(0, float("inf")),
            allowed="a length in mm above 0",
            first=True,
        )
    },
    ("regions", "searchlight encoding targets", "result"): {
        "n_nearest": whole(
            "take the N voxels nearest to each center instead of a radius", least=1
        ),
        "stride": whole(
            "use every N-th voxel in each direction as a center", 1, least=1
        ),
    },
    ("regions", "searchlight encoding targets continuous", "result own"): {
        "labels_img": path(
            "atlas whose regions are analyzed instead of spheres", first=True
        ),
        "regions": None,
        "process_mask_img": path(
            "mask of the voxels that may be centers of spheres",
            said="the brain mask",
            word="process_mask",
        ),
    },
    ("voxels", "searchlight encoding targets", "result"): {
        "min_voxels": whole("leave out regions with fewer usable voxels", 2, least=1)
    },
    ("analysis", "searchlight", "result"): {
        "estimator": text(
            "classifier: nearest_centroid, gaussian_nb, lda, ridge, qda, "
            "nearest_neighbor, svc or logistic",
            "nearest_centroid",
            first=True,
        ),
        "classes": texts("analyze these conditions only", said="all"),
        "statistic": _statistic("accuracy"),
    },
    ("analysis", "searchlight targets", "result"): {
        "shrinkage": text(
            "shrinkage of the covariance in lda, ridge and qda: a number, or auto; "
            "of targets inner_folds too, by which every fold chooses one",
            "auto",
            "X",
            kind=number_or_auto,
        ),
        "within_runs": one_of(
            "center every voxel within each run (or subject), or divide it by its "
            "standard deviation too; for betas, whose baseline differs between runs",
            "none center zscore",
            said="none",
        ),
        "bounds": one_of(
            "where lower bounds come from: forward (train on the earlier runs, test "
            "on the next), folds, none, or auto (forward if the design allows it)",
            "auto forward folds none",
            "auto",
        ),
        "test_units": one_of(
            "units that the bounds treat as independent (given the condition)",
            "samples runs",
            "samples",
        ),
        "e_value_order": one_of(
            "orders of the runs behind e-values; with the chronological one (every run "
            "is tested after the earlier ones) and --first-tested-run fixed beforehand "
            "runs may be added after looking",
            "cyclic chronological",
            "cyclic",
        ),
        "first_tested_run": whole(
            "first run that chronological e-values test, counted from 1; the earlier "
            "ones only train",
            2,
            least=2,
        ),
    },
    ("analysis", "searchlight targets", "result own"): {"blocks": None},
    ("analysis", "searchlight", "result extra"): {
        "curves": one_of(
            "classifiers behind accuracy among fewer conditions than all: trained on "
            "all, or trained on random subsets of as many (measured)",
            "trained_on_all measured",
            "trained_on_all",
        )
    },
    ("analysis", "searchlight encoding targets", "result extra"): {"per_fold": None},
    ("analysis", "encoding", "result"): {
        "encoder": one_of(
            "encoding model; each voxel has its own cross-validated penalty, and "
            "repeats of a stimulus stay together; auto is elastic-net, and ridge where "
            "fewer than 100 stimuli are trained on",
            "auto elastic-net ridge",
            "auto",
        ),
        "repeats": one_of(
            "average the repeats of a test stimulus, or keep each as a sample",
            "average keep",
            "average",
        ),
        "rule": one_of(
            "how a response is compared with predictions: by a distance with this "
            "noise covariance, or by correlation; auto lets the training data choose "
            "mahalanobis or correlation",
            "mahalanobis ledoit_wolf oas diagonal euclidean correlation auto",
            "mahalanobis",
        ),
        "standardize": None,
        "statistic": _statistic("implied_information"),
    },
    ("analysis", "searchlight encoding targets", "result own"): {
        "noise_covariance": None
    },
    ("analysis", "searchlight encoding targets", "result"): {
        "cv": None,
        "set_sizes": None,
    },
    ("analysis", "searchlight encoding targets group", "result"): {
        "confidence_level": real(
            "confidence level of the lower bounds",
            0.95,
            "P",
            within=(0, 1),
            allowed="a number between 0 and 1",
        )
    },
    ("cross", "cross", "result"): {
        "train": text(
            "train classifiers in this condition, test them in that of --test, then "
            "the other way round; p-values exchange class names between the two",
            said="all conditions are analyzed together",
        ),
        "test": text("the other condition"),
    },
    ("cross", "cross", "identity"): {
        "conditions_column": text(
            "column of the events that holds the conditions of --train and --test",
            "condition",
            "COLUMN",
        )
    },
    ("confound", "confound", "result"): {
        "trial_confound": text(
            "column of the events with a confound of the trials, such as the reaction "
            "time: it is analyzed itself, and labels are exchanged within its levels",
            None,
            "COLUMN",
            said="none",
        ),
        "stratum_size": whole(
            "trials that are neighbors in a confound of numbers and exchange labels",
            2,
            least=2,
        ),
    },
    ("analysis", "searchlight", "identity"): {
        "n_partitions": whole(
            "how often measured curves divide the conditions into random subsets",
            2,
            least=1,
            word="curve_partitions",
        )
    },
    ("analysis", "searchlight targets group", "identity extra"): {
        "n_permutations": _permutations("permutations of the labels")
    },
    ("analysis", "encoding", "identity extra"): {
        "n_permutations": _permutations("permuted pairings of stimuli and responses")
    },
    ("analysis", "encoding targets", "identity extra"): {
        "exchange": text(
            "how pairings are permuted: rows, or, for films, stories and other series "
            "of responses in time, shifts (of whole runs, circular), or the number of "
            "responses in a block",
            "rows",
            kind=set_size_or_name,
        )
    },
    ("analysis", "targets", "result"): {
        "metric": one_of(
            "how decoded targets are compared with candidates; auto is cosine, of one "
            "number euclidean",
            "auto cosine correlation euclidean",
            "auto",
        ),
        "standardize_targets": None,
        "statistic": _statistic("correlation"),
    },
    ("analysis", "continuous", "result"): {
        "delays": whole(
            "delays of the features, in volumes, from about 2 to 8 seconds",
            (1, 2, 3, 4),
            many=True,
            said="1 2 3 4",
            first=True,
        ),
        "within_runs": one_of(
            "whether responses of each run are centered, or scaled as well",
            "none center zscore",
            "zscore",
        ),
        "encoder": None,
        "standardize": None,
        "cv": None,
    },
    ("analysis", "continuous", "identity"): {
        "n_permutations": _permutations("circular shifts of whole runs")
    },
    ("resources", "continuous", "resource"): {"memory": None},
    ("analysis", "searchlight encoding targets group continuous", "identity"): {
        "random_state": whole("seed of the permutations", 0, "SEED")
    },
    ("resources", "searchlight encoding targets", "resource extra"): {
        "save_null": path(
            "file for the permuted maps, which neuroextrap group --null reads",
            "NPY",
            said="not kept",
        ),
        "shard": text(
            "do part i of N only; neuroextrap merge joins the parts", None, "i/N"
        ),
    },
    ("resources", "searchlight encoding targets", "resource"): {
        "n_jobs": whole("number of workers", 1, first=True),
        "max_memory": text("memory budget", "2G", "SIZE"),
        "checkpoint": path(
            "folder of finished work, from which an interrupted run resumes", "DIR"
        ),
        "memory": None,
        "verbose": None,
    },
}
