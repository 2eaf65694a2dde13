"""Many sets of features of the same samples, scored in one run."""

from typing import NamedTuple

import numpy as np

from neuroextrap.analysis._run_parameters import score_analysis
from neuroextrap.analysis._samples import FeatureData, read_features
from neuroextrap.decoding._experiment import plan_experiment
from neuroextrap.decoding._inputs import code_labels
from neuroextrap.images import load_samples
from neuroextrap.maps._identification import accuracy_statistics

_WHOLE_RUNS = (
    ("n_permutations", 0),
    ("shard", None),
    ("save_null", None),
    ("per_fold", False),
)


class SampleSet(NamedTuple):
    """Samples as a searchlight sees them, and the searchlight on plain arrays.

    Parameters
    ----------
    features : FeatureData
    y : ndarray, shape (n_kept,)
        Class of every sample.
    groups : ndarray, shape (n_kept,), or None
    searchlight : IdentificationSearchLight
        A copy whose regions are to be set.
    """

    features: FeatureData
    y: np.ndarray
    groups: np.ndarray | None
    searchlight: object


def read_sample_set(searchlight, imgs, y, groups, *, permuted=False):
    """Read samples once, and make a searchlight for sets of their features.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        Never changed.
    imgs, y, groups
        As for its ``fit``.
    permuted : bool
        Whether the analysis takes permutations.

    Returns
    -------
    SampleSet

    Raises
    ------
    ValueError
        When the searchlight asks for permutations, a shard, saved null maps or folds,
        which these analyses do not give, or labels do not fit images.
    """
    parameters = searchlight.get_params(deep=False)
    for name, plain in _WHOLE_RUNS:
        if parameters[name] != plain and not (permuted and name == "n_permutations"):
            raise ValueError(
                f"searchlight has {name}={parameters[name]!r}, which this analysis "
                f"does not give; use {name}={plain!r}"
            )
    labels = code_labels(y, searchlight.classes, groups, searchlight.blocks)
    features = read_features(
        searchlight.mask, imgs, n_samples=len(labels.keep), keep=labels.keep
    )
    noise, has_images = searchlight.noise_covariance, features.masker is not None
    if has_images and noise is not None and not isinstance(noise, np.ndarray):
        noise = load_samples(noise, features.masker)
    parameters |= {
        "mask": None,
        "labels_img": None,
        "process_mask_img": None,
        "n_nearest": None,
        "stride": 1,
        "classes": None,
        "blocks": labels.blocks,
        "noise_covariance": noise,
    }
    return SampleSet(
        features,
        labels.classes[labels.codes],
        labels.groups,
        type(searchlight)(**parameters),
    )


def run_sets(samples, members, *, min_voxels):
    """Score sets of features, observed and permuted, by one run of the searchlight.

    Parameters
    ----------
    samples : SampleSet
    members : scipy.sparse.csr_array of bool, shape (n_sets, n_features)
    min_voxels : int
        Sets with fewer are NaN.

    Returns
    -------
    run : Experiment
        Data and plan of the run.
    scores : RegionScores
    """
    searchlight = samples.searchlight.set_params(regions=members, min_voxels=min_voxels)
    run = plan_experiment(searchlight, samples.features.X, samples.y, samples.groups)
    data = run.samples.X, run.usable.regions, run.plan
    return run, score_analysis(searchlight, *data, n_workers=run.n_workers)[0]


def set_statistics(run, scores):
    """Name the numbers of every set.

    Parameters
    ----------
    run : Experiment
    scores : RegionScores

    Returns
    -------
    statistics : dict of ndarray, shape (n_sets,)
        accuracy, pairwise_accuracy, implied_information (bits).
    """
    return accuracy_statistics(
        scores.wins, n_test=len(run.plan.design.test), set_sizes=run.set_sizes
    )


def score_sets(samples, members, *, min_voxels):
    """Score sets of features by one run of the searchlight.

    Parameters
    ----------
    samples : SampleSet
    members : scipy.sparse.csr_array of bool, shape (n_sets, n_features)
    min_voxels : int
        Sets with fewer are NaN.

    Returns
    -------
    scores : dict of ndarray, shape (n_sets,)
        As `set_statistics` returns them.
    """
    return set_statistics(*run_sets(samples, members, min_voxels=min_voxels))
