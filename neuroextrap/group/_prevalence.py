"""In how many of the population is there information? The smallest score decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.group._analyses import SharedRegions
from neuroextrap.group._first_levels import (
    FirstLevelOptions,
    FirstLevels,
    read_first_levels,
)
from neuroextrap.group._group_maps import group_maps
from neuroextrap.images._tables import load_array
from neuroextrap.maps._files import check_results
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._validation import check_level, warn


@dataclass(frozen=True, kw_only=True)
class PrevalenceOptions(FirstLevelOptions):
    """What :func:`prevalence_test` is told beside maps, checked.

    Parameters
    ----------
    gamma : float, default=0.5
        Prevalence of the null hypothesis that ``p_value_prevalence`` tests.
    confidence_level : float, default=0.95
        Confidence level of ``prevalence_bound``.
    n_permutations : int, default=10_000
        Number of second-level permutations behind ``p_value_fwe``, the observed maps
        included, at least 2. All combinations are used if there are no more than that.
        ``p_value`` and prevalence need none of them.
    """

    gamma: float = 0.5
    confidence_level: float = 0.95

    def __post_init__(self):
        """Check the levels, too."""
        super().__post_init__()
        check_level(self.gamma, "gamma")
        check_level(self.confidence_level, "confidence_level")


@takes_options(PrevalenceOptions)
def prevalence_test(scores: Any, null_scores: Any, **options: Any) -> RegionMaps:
    """Infer which fraction of the population carries information.

    An accuracy above chance on average can come from few subjects; and where true
    accuracies cannot lie below chance, a test of the mean only shows that some subject
    carries information. Whether any subject does (the global null) is tested by the
    smallest score over subjects: its distribution if none does comes from combining
    the subjects' own permuted maps, one from each (with the observed map as one of
    them). At one voxel the p-value over all combinations is a product, of every
    subject's proportion of maps that reach the smallest score. The null that at most a
    fraction gamma of the population carries information (gamma = 0.5: not a majority)
    is tested by the largest of the N subjects' own permutation p-values, p: all of them
    are that small with a probability of at most ((1 - gamma) p + gamma)^N.

    Parameters
    ----------
    scores : array-like of shape (n_subjects, n_features), images, or paths
        Every subject's observed map, larger where there is more information.
    null_scores : array-like of shape (n_subjects, n_permutations, n_features), or list
        Permuted maps of the same statistic. A list holds for every subject an
        array (n_permutations, n_features), a .npy file (memory-mapped; what
        ``keep`` of :class:`neuroextrap.decoding.IdentificationSearchLight` wrote,
        one mask for all subjects), or images. Numbers of permutations may differ. If
        they are float32, scores are compared in float32 too.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``minimum``, the smallest score over subjects; ``p_value`` of the global null,
        over all combinations;
        ``p_value_prevalence`` of the null that the prevalence is at most ``gamma``;
        ``prevalence_bound``, the largest prevalence whose null is rejected (0 where
        not even the global null is). ``p_value_fwe``, of the global null too, holds for
        all voxels at once. So do ``p_value_prevalence_fwe`` and
        ``prevalence_bound_fwe``: with the given confidence, no bound in the map is
        above the prevalence at its voxel, whatever the pattern of voxels and subjects.
        NaN where a subject has no value. Of images, ``maps.generate_report()`` makes a
        page.

    Raises
    ------
    ValueError
        If subjects, features or options do not fit, permuted scores are NaN where the
        observed ones are not, or files show that they are of other runs, subjects or
        statistics than the observed ones.

    Warns
    -----
    UserWarning
        If there are so few subjects or permuted maps that the prevalence null cannot be
        rejected, or if nothing says which file of permuted maps belongs to which map.

    Notes
    -----
    With one distribution of permuted scores for all subjects, p is the N-th root of the
    p-value of the smallest score and the formula that of Allefeld et al. 2016. Taking
    every subject's own p-value keeps the level where distributions differ, also between
    those who carry information and those who do not.

    The prevalence is corrected for V voxels by Bonferroni. The correction in Allefeld
    et al. is for voxels in which no subject does, and does not cover many
    voxels in which a minority does, as there are in a brain. Bounds over V voxels need
    subjects: none is larger than (alpha / V)^(1/N), which is 0.35 for 8 subjects and
    200 voxels and 0.55 for 24 subjects and 70,000 voxels at 95% confidence.

    References
    ----------
    Allefeld, Görgen & Haynes 2016, "Valid population inference for information-based
    imaging: from the second-level t-test to prevalence inference", NeuroImage 141:
    minimum statistic, its second-level permutations, and the prevalence nulls.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.group import prevalence_test
    >>> rng = np.random.default_rng(0)
    >>> null = rng.normal(size=(10, 99, 2))
    >>> scores = rng.normal(size=(10, 2)) + [4.0, 0.0]
    >>> maps = prevalence_test(scores, null)
    >>> bool(maps["p_value"][0] < 1e-16), bool(maps["p_value_prevalence"][0] < 0.05)
    (True, True)
    """
    given = as_options(PrevalenceOptions, prevalence_test, options)
    return _tested(read_first_levels(scores, null_scores, given), given)


def _tested(maps, options, *, column=slice(None)):
    """Test FirstLevels; return RegionMaps."""
    alpha, nulls = 1 - options.confidence_level, maps.nulls
    _warn_of_resolution([1 + len(null) for null in nulls], options.gamma, alpha)
    smallest = maps.observed().min(axis=0)
    largest = np.zeros(len(smallest))  # of the subjects' own p-values
    product = np.ones(len(smallest))  # of the shares of maps that reach the smallest
    kind = np.result_type(*[null.dtype for null in nulls])

    def score(_, batch):
        shape = len(maps.picks), len(largest[batch])
        scores = np.full(shape, np.inf, dtype=kind)
        for picks, each in maps.by_subject(batch):
            np.minimum(scores, each[picks], out=scores)
            own_p = (each >= each[0]).mean(axis=0)
            np.maximum(largest[batch], own_p, out=largest[batch])
            product[batch] *= (each >= smallest[batch]).mean(axis=0)
        return scores

    counted = maps.permute(score, smallest)
    statistics = {
        "minimum": smallest,
        "p_value": product,
        "p_value_fwe": np.maximum(counted.p_values()["p_value_fwe"], product),
        **_prevalences(largest, len(nulls), options.gamma, alpha),
    }
    levels = {"gamma": options.gamma, "confidence_level": options.confidence_level}
    return group_maps(
        "prevalence",
        statistics,
        maps.subjects,
        column=column,
        null_maxima={"minimum": counted.counts.maxima},
        options=levels | maps.options,
    )


def _warn_of_resolution(n_maps, gamma, alpha):
    """Warn when the smallest possible p-value is not small enough."""
    n_subjects = len(n_maps)
    smallest = ((1 - gamma) / min(n_maps) + gamma) ** n_subjects
    if smallest > alpha:
        warn(
            f"{n_subjects} subjects, with {min(n_maps) - 1} permuted maps, leave "
            f"p_value_prevalence at or above {smallest:.3g} for gamma={gamma}; analyze "
            "more subjects, raise the number of permuted maps, or test a smaller gamma"
        )


def _prevalences(largest, n_subjects, gamma, alpha):
    """Return p-values and bounds by subjects' largest own p-values, (n_features,)."""
    local = ((1 - gamma) * largest + gamma) ** n_subjects
    return {
        "p_value_prevalence": local,
        "p_value_prevalence_fwe": np.minimum(len(largest) * local, 1.0),
        "prevalence_bound": _bound(largest, alpha, n_subjects),
        "prevalence_bound_fwe": _bound(largest, alpha / len(largest), n_subjects),
    }


def _bound(largest, level, n_subjects):
    """Return the largest prevalence whose null is rejected at a level, else 0."""
    edge = level ** (1 / n_subjects)
    bound = np.zeros(len(largest))
    np.divide(edge - largest, 1 - largest, out=bound, where=largest < edge)
    return bound


def saved_prevalence(subjects, null_files, options):
    """Test prevalence in saved analyses against what ``save_null`` wrote of each."""
    shared = SharedRegions.read(subjects, options)
    analyses = shared.analyses
    tested = {str(subject.about.get("statistic", "")) for subject in analyses}
    if len(tested) > 1:
        raise ValueError(
            f"subjects were tested by different statistics ({', '.join(sorted(tested))}"
            "); analyze all subjects with one"
        )
    scores = shared.gather(lambda results: results.scores.score)
    nulls = _open_nulls(null_files, analyses)
    subjects = shared.maps(scores, tested.pop().replace("_", " "))
    maps = FirstLevels.drawn(subjects, nulls, options, shared.index)
    return _tested(maps, options, column=shared.column_of)


def _open_nulls(null_files, analyses):
    """Return the permuted maps of analyses, mapped, which must have their regions."""
    check_results(null_files)
    nulls = [load_array(file, mmap_mode="r") for file in null_files]
    for file, null, subject in zip(null_files, nulls, analyses, strict=True):
        n_regions = subject.results.choice.n_regions
        if null.shape[1] != n_regions:
            raise ValueError(
                f"{file} has {null.shape[1]} regions and {subject.name} {n_regions}; "
                "analyze the subject again"
            )
    return nulls
