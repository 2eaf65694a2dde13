"""Compare two decoders of one subject, region by region, on the same samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._presentation import region_images
from neuroextrap.analysis._region_maps import (
    RegionMaps,
    comparison_page,
    exchange_test,
)
from neuroextrap.design._findings import TRAINED_ON_TESTS
from neuroextrap.design._folds import class_weights
from neuroextrap.design._labels import row_codes
from neuroextrap.maps._trained_on_all import not_marginal_below
from neuroextrap.margins._engine import region_outcomes
from neuroextrap.margins._statistic import accuracy_set_size
from neuroextrap.reporting._peaks import region_places
from neuroextrap.stats._null_counts import round_ties
from neuroextrap.stats._validation import check_flags, check_integer

_UNITS = ("sample", "block", "run")
_ENOUGH_RUNS = 6


def compare_decoders(  # noqa: PLR0913
    first: Any,
    second: Any,
    *,
    statistic: str | int = "accuracy",
    regions: ArrayLike | None = None,
    unit: str | None = None,
    n_permutations: int = 1000,
    two_sided: bool = True,
    step_down: bool = False,
    n_jobs: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> RegionMaps:
    """Test which of two decoders identifies better, in every region.

    Both searchlights were fitted to the same samples with the same folds: two
    classifiers, two ways of preparing the images, or two regions (``regions``). Every
    test unit has two outcomes (the chance that its true class wins); under the null
    hypothesis they are exchangeable, and they are swapped at random, in the same way
    for all regions. The largest difference over regions gives the family-wise p-value.

    Parameters
    ----------
    first, second : IdentificationSearchLight
        Fitted to the same samples in the same order, with the same ``groups``, folds
        and classes. The same one may be given twice, to compare its regions.
    statistic : {"accuracy", "pairwise_accuracy"} or int, default="accuracy"
        Statistic that is compared; an integer k is accuracy among k classes.
    regions : array-like of int of shape (n_pairs, 2) or None, default=None
        Pairs of regions to compare, one of ``first`` and one of ``second``. If None,
        every region of ``first`` is compared with the same region of ``second``.
    unit : {"sample", "block", "run"} or None, default=None
        What is exchanged as a whole: the outcomes of a sample, of a block (``blocks``
        of the searchlights) or of a run (``groups``). If None, runs where there are at
        least six (fewer cannot give a two-sided p-value of .05), else blocks where the
        searchlights have them, else samples.
    n_permutations : int, default=1000
        Number of random exchanges; all of them where there are no more.
    two_sided : bool, default=True
        Whether a difference in either direction counts; False asks whether ``first`` is
        better.
    step_down : bool, default=False
        Whether to compute step-down p-values too, which are never larger than the
        family-wise ones.
    n_jobs : int, default=1
        Number of joblib threads over regions. Does not affect results.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the exchanges.

    Returns
    -------
    comparison : dict of images, or of ndarray
        Its maps (arrays of regions for arrays and for pairs of ``regions``) are
        ``first_accuracy`` and ``second_accuracy``, ``accuracy_difference`` (first minus
        second, of the statistic), ``information_difference`` (implied, bits),
        ``p_value``, ``p_value_fwe`` and, if requested, ``p_value_fwe_step_down``.
        ``region_scores_`` are the same by region, ``table_`` has a row for every
        compared pair, ``pairs_`` (n_regions, 2) are their numbers, ``n_units_`` units
        were exchanged ``n_permutations_`` times, and ``approximate_`` says whether
        p-values are approximate (cross-validation). It makes files and a page.

    Raises
    ------
    TypeError
        When an argument is no `IdentificationSearchLight`.
    ValueError
        When the searchlights differ in samples, labels, groups, folds or regions, when
        one was read from a folder (which holds no data), or the unit is unknown or not
        there.

    Notes
    -----
    The two outcomes of a unit must be exchangeable under the null hypothesis, with
    units independent of each other. For one train/test split this is exact: classifiers
    are fixed, and test units independent given them. Under cross-validation every
    sample both tests and trains, which makes the variance of a difference of accuracies
    up to twice that of independent outcomes (twice where there is no signal). The
    differences are corrected for it (``cross_validated`` of
    :func:`neuroextrap.stats.paired_sign_flip_test`), and the p-values are approximate:
    ``approximate_`` says so. In 120 simulated data sets a design of equally good
    regions, at a nominal .05, .01 to .04 of single pairs differed, and any of 20 pairs
    in .01 to .03 of the sets: 2 to 6 runs of 20 to 400 samples, with and without
    signal, samples or (6 runs) runs as units. The result is about these classifiers, as
    trained here, on these samples.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic). Westfall & Young 1993,
    "Resampling-based multiple testing" (step-down). Nadeau & Bengio 2003, "Inference
    for the generalization error" (variance under cross-validation).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2, 3], 10), np.repeat(np.arange(10), 4)
    >>> noise = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 10)) * 3
    >>> X = rng.normal(size=(4, 10))[y] + noise + 0.3 * rng.normal(size=(40, 10))
    >>> lda, centroid = (
    ...     IdentificationSearchLight(estimator=name).fit(X, y, groups=runs)
    ...     for name in ("lda", "nearest_centroid")
    ... )
    >>> found = compare_decoders(lda, centroid, n_permutations=199)
    >>> bool(found["accuracy_difference"][0] > 0.3)
    True
    >>> float(found["p_value_fwe"][0])
    0.025
    """
    n_permutations = check_integer(n_permutations, "n_permutations", minimum=1)
    check_flags(two_sided=two_sided, step_down=step_down)
    runs = _check_pair(first, second)
    size = accuracy_set_size(statistic, len(first.classes_))
    pairs = _region_pairs(first, second, regions)
    place, what = _units(runs[0], unit)
    known = ~np.isnan(first.wins_[pairs[0], 0]) & ~np.isnan(second.wins_[pairs[1], 0])
    if not known.any():
        raise ValueError("no region was analyzed by both searchlights")
    accuracy, differences = _outcomes(
        runs, [rows[known] for rows in pairs], size, place, n_jobs
    )
    information = [
        light.region_scores_["implied_information"][rows]
        for light, rows in zip((first, second), pairs, strict=True)
    ]
    approximate = _tests_what_trains(runs[0].plan.design)
    scores, tested = exchange_test(
        known,
        accuracy,
        differences,
        information,
        n_permutations=n_permutations,
        two_sided=two_sided,
        step_down=step_down,
        cross_validated=approximate,
        random_state=random_state,
    )
    paired = regions is not None
    masker = None if paired else first.masker_
    maps = region_images(scores, first.results_.choice, masker)
    places = None if paired else region_places(first)
    names, n_units = _names(first, second, pairs, paired=paired), differences.shape[1]
    return RegionMaps(
        maps or scores,
        masker=masker if maps else None,
        region_scores=scores,
        table=_table(pairs, names, places, scores),
        parameters={
            "statistic": statistic,
            "classifiers": f"trained on all {len(first.classes_)} classes",
            "unit": what,
            "n_permutations": n_permutations,
            "two_sided": two_sided,
            "step_down": step_down,
            "approximate": approximate,
            "first": repr(first),
            "second": repr(second),
            "n_units": n_units,
        },
        random_state=random_state if isinstance(random_state, int) else None,
        findings=_findings((first, second), approximate, size),
        page=comparison_page,
        pairs_=np.stack(pairs, axis=1),
        n_permutations_=tested.n_permutations,
        n_units_=n_units,
        approximate_=approximate,
        names_=names,
        places_=places,
        table_file="comparison.tsv",
        rows="compared pairs of regions",
    )


def _tests_what_trains(design):
    """Return whether samples are tested that train in other folds."""
    trained = np.concatenate([train for train, _ in design.folds])
    return bool(np.isin(design.test, trained).any())


def _findings(lights, approximate, size):
    """Return what is worth knowing of comparing accuracy among `size` classes."""
    found, n_classes = [], len(lights[0].classes_)
    if size < n_classes and not all(x.run_.plan.kernel.marginal for x in lights):
        found.append(not_marginal_below(n_classes, size, ("*accuracy*", "p_value*")))
    for each in lights[0].findings_ + lights[1].findings_:
        if each.touches("p_value_fwe") and each.name != "not_marginal":
            found.append(each)
        elif each.touches("implied_information"):
            found.append(each._replace(maps=("information_difference",)))
    return list(dict.fromkeys([*found, *([TRAINED_ON_TESTS] if approximate else [])]))


def _table(pairs, names, places, scores):
    """Return the numbers as a table, one row for every compared pair of regions."""
    import pandas as pd

    columns = {"first_region": pairs[0], "second_region": pairs[1]}
    if names is not None:
        columns["name"] = names
    if places is not None:
        columns |= dict(zip("xyz", places.T, strict=True))
    return pd.DataFrame(columns | scores)


def _check_pair(first, second):
    """Return the runs of both searchlights; raise unless they tested the same."""
    from neuroextrap.decoding._searchlight import IdentificationSearchLight

    for name, light in (("first", first), ("second", second)):
        if not isinstance(light, IdentificationSearchLight):
            raise TypeError(
                f"{name} must be an IdentificationSearchLight, got "
                f"{type(light).__name__}"
            )
    one, two = first.run_, second.run_
    if not np.array_equal(first.classes_, second.classes_):
        raise ValueError(
            f"first has the classes {first.classes_.tolist()[:5]} and second "
            f"{second.classes_.tolist()[:5]}; fit both to the same labels"
        )
    if not np.array_equal(one.labels.codes, two.labels.codes):
        raise ValueError(
            "first and second were fitted to other labels; fit both to the same "
            "samples in the same order"
        )
    for name in ("groups", "blocks"):
        mine, theirs = getattr(one.labels, name), getattr(two.labels, name)
        both = mine is not None and theirs is not None
        if (mine is None) != (theirs is None) or (
            both and not np.array_equal(mine, theirs)
        ):
            raise ValueError(f"first and second have other {name}; give both the same")
    folds = [run.plan.design.arrays for run in (one, two)]
    if len(folds[0]) != len(folds[1]) or not all(
        np.array_equal(a, b) for a, b in zip(*folds, strict=True)
    ):
        raise ValueError(
            "first and second have other folds; give both the same cv, with a fixed "
            "random_state where it shuffles"
        )
    return one, two


def _region_pairs(first, second, regions):
    """Return the regions of the first and of the second that are compared."""
    n_regions = [len(light.wins_) for light in (first, second)]
    if regions is not None:
        pairs = np.asarray(regions)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(
                "regions must be pairs of indices of shape (n_pairs, 2), got "
                f"{pairs.dtype} of shape {pairs.shape}; give one of first and one of "
                "second each"
            )
        if (pairs < 0).any() or (pairs >= n_regions).any():
            raise ValueError(
                f"regions must lie below {n_regions[0]} (first) and {n_regions[1]} "
                f"(second), got {pairs.min(axis=0).tolist()} to "
                f"{pairs.max(axis=0).tolist()}"
            )
        return pairs[:, 0], pairs[:, 1]
    members = [light.results_.choice.regions for light in (first, second)]
    if members[0].shape != members[1].shape or (members[0] != members[1]).nnz:
        raise ValueError(
            f"first has {n_regions[0]} regions and second {n_regions[1]}, with other "
            "voxels; use the same mask and radius, or give pairs as regions"
        )
    return np.arange(n_regions[0]), np.arange(n_regions[0])


def _names(first, second, pairs, *, paired):
    """Return the names of regions of an atlas; of pairs both; None without names."""
    names = [light.results_.choice.names for light in (first, second)]
    if None in names:
        return None
    if not paired:
        return [str(name) for name in names[0]]
    return [f"{names[0][i]} / {names[1][j]}" for i, j in zip(*pairs, strict=True)]


def _units(run, unit):
    """Return the unit of every test point as a number, and what a unit is."""
    labels, test = run.labels, run.plan.design.test
    if unit not in (None, *_UNITS):
        raise ValueError(f"unit={unit!r} must be one of {_UNITS}, or None")
    what = unit or _default_unit(labels)
    if what == "sample":
        codes = test
    elif what == "block":
        codes = labels.units
    else:
        codes = None if labels.groups is None else row_codes(labels.groups)
    if codes is None:
        raise ValueError(
            f"unit={unit!r} needs the {what} of every sample; fit with "
            f"{'blocks' if what == 'block' else 'groups'}"
        )
    codes = codes if what == "sample" else codes[test]
    place = np.unique(codes, return_inverse=True)[1]
    if place.max() == 0:
        raise ValueError(
            f"all test points are one {what}, which leaves nothing to exchange; use a "
            "smaller unit"
        )
    return place, what


def _default_unit(labels):
    """Return the coarsest unit of which there are enough."""
    if labels.groups is not None and len(np.unique(labels.groups)) >= _ENOUGH_RUNS:
        return "run"
    return "sample" if labels.blocks is None else "block"


def _outcomes(runs, pairs, size, place, n_jobs):
    """Return both accuracies (2, n_pairs), and differences (n_pairs, n_units)."""
    codes = runs[0].test_codes
    weights = class_weights(codes[:, None], len(runs[0].classes))[:, 0]
    # what each test point adds to its unit, (n_test, n_units)
    share = np.zeros((len(place), place.max() + 1))
    share[np.arange(len(place)), place] = weights
    streams = [
        region_outcomes(
            run.rows, run.usable.regions, run.plan, rows, size, n_jobs=n_jobs
        )
        for run, rows in zip(runs, pairs, strict=True)
    ]
    accuracy = np.empty((2, len(pairs[0])))
    differences = np.empty((len(pairs[0]), share.shape[1]))
    for (part, one), (_, two) in zip(*streams, strict=True):
        accuracy[:, part] = round_ties(np.stack([one @ weights, two @ weights]))
        differences[part] = (one - two) @ share
    return accuracy, differences
