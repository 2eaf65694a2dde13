"""Many sets of features of the same samples, scored in one run."""

from typing import NamedTuple

import numpy as np

from neuroextrap.analysis._parameters import of_no_places, plain_maps, with_parameters
from neuroextrap.analysis._samples import Samples
from neuroextrap.decoding._comparable import taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._reading import read_labeled_samples
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._labels import code_labels
from neuroextrap.images._loading import load_samples
from neuroextrap.maps._identification import accuracy_statistics
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier


class SampleSet(NamedTuple):
    """Samples as a searchlight sees them, and the searchlight on plain arrays."""

    samples: Samples
    y: np.ndarray  # class of every sample
    groups: np.ndarray | None  # run of every sample
    searchlight: object  # a copy, whose regions are to be set


def read_sample_set(searchlight, imgs, y, groups, *, permuted=False):
    """Read samples once, and make a searchlight for sets of their features.

    The searchlight given is never changed. ValueError when it asks for a shard, saved
    null maps, folds, or (unless `permuted`) permutations, which these analyses do not
    give, or when labels do not fit images.
    """
    unused = plain_maps(IdentificationSearchLight())
    if permuted:
        del unused["n_permutations"]
    parameters = taken_options(searchlight, "this analysis", unused, "searchlight")
    labels = code_labels(y, searchlight.classes, groups, searchlight.blocks)
    kernel = resolve_classifier(searchlight.estimator, shrinkage=searchlight.shrinkage)
    samples = read_labeled_samples(searchlight, kernel, imgs, labels)
    noise, has_images = searchlight.noise_covariance, samples.masker is not None
    if has_images and noise is not None and not isinstance(noise, np.ndarray):
        noise = load_samples(noise, samples.masker)
    parameters |= of_no_places(searchlight) | {
        "classes": None,
        "within_runs": None,
        "bounds": None,
        "blocks": labels.blocks,
        "noise_covariance": noise,
    }
    return SampleSet(
        samples,
        labels.classes[labels.codes],
        labels.groups,
        with_parameters(searchlight, **parameters),
    )


def score_sets(sample_set, members, *, min_voxels):
    """Score sets of features, observed and permuted, by one run of the searchlight.

    `members` are boolean rows, csr_array of shape (n_sets, n_features); sets with fewer
    than `min_voxels` are NaN. Returns DecodingRun, RegionScores, and accuracy,
    pairwise_accuracy and implied_information (bits) of the sets, each of shape
    (n_sets,).
    """
    searchlight = sample_set.searchlight
    searchlight = with_parameters(searchlight, regions=members, min_voxels=min_voxels)
    run = plan_decoding(
        searchlight, sample_set.samples.X, sample_set.y, sample_set.groups
    )
    scores, _ = run.score()
    statistics = accuracy_statistics(
        scores.wins, n_test=len(run.test_codes), set_sizes=run.set_sizes
    )
    return run, scores, statistics
