"""Compare two decoders of one subject, region by region."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._parameters import ComparisonOptions
from neuroextrap.analysis._region_maps import RegionMaps, exchange_test, maps_of_regions
from neuroextrap.decoding._comparable import Shared, check_searchlight
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.design._findings import TRAINED_ON_TESTS
from neuroextrap.design._folds import class_weights
from neuroextrap.maps._identification import not_marginal_below
from neuroextrap.margins._engine import chances, map_parts
from neuroextrap.reporting._region_page import comparison_page
from neuroextrap.stats._arrangements import two_sample_exchange_test
from neuroextrap.stats._null_counts import round_ties
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._validation import check_choice, check_flags


@takes_options(ComparisonOptions)
def compare_decoders(
    first: Any,
    second: Any,
    *,
    paired: str | None = "samples",
    regions: ArrayLike | None = None,
    unit: str | None = None,
    step_down: bool = False,
    **options: Any,
) -> RegionMaps:
    """Test which of two decoders identifies better, in every region.

    Every test unit has two outcomes (the chance that its true class wins); under the
    null hypothesis they are exchangeable, and they are swapped at random, in the same
    way for all regions. The largest difference over regions gives the family-wise
    p-value.

    =====================================================  ====================
    what is compared                                       ``paired``
    =====================================================  ====================
    two classifiers, two ways of preparing the images, or  "samples"
    two regions (``regions``), on the same samples
    two conditions or tasks that occur in the same runs    "runs"
    two sessions, or conditions in runs of their own       None
    =====================================================  ====================

    Parameters
    ----------
    first, second : IdentificationSearchLight
        Fitted, with the same regions. If ``paired`` is "samples", to the same samples
        in the same order, with the same ``groups``, folds and classes; the same one may
        be given twice, to compare its regions. Otherwise to the samples of one
        condition each, with ``groups``.
    paired : {"samples", "runs", None}, default="samples"
        What both have in common. If "runs", the outcomes of a run are exchanged between
        the two; if None, it is exchanged to which of the two a run belongs.
    statistic : {"accuracy", "pairwise_accuracy"} or int, default="accuracy"
        Statistic that is compared; an integer k is accuracy among k classes. Tasks of
        different numbers of classes are compared at one k.
    regions : array-like of int or str of shape (n_pairs, 2) or None, default=None
        Pairs of regions to compare, one of ``first`` and one of ``second``. If None,
        every region of ``first`` is compared with the same region of ``second``.
    unit : {"sample", "block", "run"} or None, default=None
        What is exchanged as a whole: the outcomes of a sample, of a block (``blocks``
        of the searchlights) or of a run (``groups``). If None, runs where there are at
        least six (fewer cannot give a two-sided p-value of .05), else blocks where the
        searchlights have them, else samples.
    step_down : bool, default=False
        Whether to compute step-down p-values too, which are never larger than the
        family-wise ones.

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
        When the searchlights differ in what they have to share, when one was read from
        a folder (which holds no data), the unit is unknown or not there, or both are
        one object, which a second fit has replaced.

    Notes
    -----
    The two outcomes of a unit must be exchangeable under the null hypothesis, with
    units independent of each other. For one train/test split this is exact: classifiers
    are fixed, and test units independent given them. Under cross-validation every
    sample both tests and trains, which makes the variance of a difference of accuracies
    up to twice that of independent outcomes (twice where there is no signal). The
    differences are corrected for it (``cross_validated`` of
    :func:`neuroextrap.stats.paired_sign_flip_test`), and the p-values are approximate
    (the user guide has measured levels). The result is about these classifiers, as
    trained here, on these samples.

    Between conditions, sessions and tasks codes may differ as they like: it is asked
    where a classifier of one is more accurate than one of the other, not whether the
    code is the same (:func:`cross_identification`). What differs in accuracy may differ
    in noise, or in numbers of samples, which are for the experimenter to keep equal.
    With None it is assumed, too, that runs vary alike in both.

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
    given = as_options(ComparisonOptions, compare_decoders, options)
    check_flags(step_down=step_down)
    recorded = {"paired": paired, "statistic": given.statistic, "unit": unit}
    check_choice(paired, "paired", ("samples", "runs", None))
    check_searchlight(first, "first")
    check_searchlight(second, "second")
    lights = first, second
    shared = Shared.of((first.run_, second.run_), regions=regions, **recorded)
    if first is second and (regions is None or paired != "samples"):
        raise ValueError(
            "first and second are one searchlight, which would be compared with "
            "itself: fit returns the searchlight, and a second fit replaces the first; "
            "fit two, or give regions, to compare two regions on the same samples"
        )
    approximate = any(run.plan.design.tests_what_trains for run in shared.runs)
    how = {"step_down": step_down, "cross_validated": approximate}
    scores, tested, n_units = _tested(lights, shared, given, how)
    recorded |= given.recorded | {"unit": shared.unit, "step_down": step_down}
    recorded |= {"approximate": approximate, "n_units": n_units}
    return _maps(
        lights,
        shared,
        scores,
        of_pairs=regions is not None,
        parameters=recorded,
        random_state=given.random_state,
        findings=_findings(lights, approximate, shared.size),
        n_permutations_=tested.n_permutations,
        n_units_=n_units,
        approximate_=approximate,
    )


def fit_to_compare(lights, data, **shared):
    """Fit two searchlights to (images, labels, runs, order) of each, if comparable.

    `shared` is as in :func:`compare_decoders`.
    """
    runs = tuple(
        plan_decoding(light, *each) for light, each in zip(lights, data, strict=True)
    )
    Shared.of(runs, **shared)
    for light, run, (imgs, *_) in zip(lights, runs, data, strict=True):
        light._complete(run, imgs=imgs)


def _tested(lights, shared, options, how):
    """Return numbers (n_pairs,) by name, the test, and the number of units."""
    analyzed = shared.analyzed
    accuracy, outcomes = _outcomes(shared, analyzed, options.n_jobs)
    test: Any = stats.paired_sign_flip_test
    if not shared.same_units:
        n_first = int(shared.units[0].max()) + 1
        test = partial(two_sample_exchange_test, n_first=n_first)
    information = [
        light.region_scores_["implied_information"][rows]
        for light, rows in zip(lights, shared.pairs, strict=True)
    ]
    given = accuracy, outcomes, information, options
    return *exchange_test(analyzed, *given, test=test, **how), outcomes.shape[1]


def _outcomes(shared, analyzed, n_jobs):
    """Return accuracies (2, n_known) and outcomes (n_known, n_units) of pairs.

    Differences, where units are the same; else those of the first, then the second.
    """
    weights, shares, streams = [], [], []
    runs, pairs, size, units, _, same = shared
    for run, place, rows in zip(runs, units, pairs, strict=True):
        weights.append(class_weights(run.test_codes[:, None], len(run.classes)))
        # what each test point adds to its unit, (n_test, n_units)
        share = np.zeros((len(place), place.max() + 1))
        share[np.arange(len(place)), place] = weights[-1][:, 0]
        shares.append(share if same else share * share.shape[1])
        given = (chances, *run.data, rows[analyzed], size)
        streams.append(map_parts(*given, n_jobs=n_jobs))
    accuracy, outcomes = [], []
    for (_, one), (_, two) in zip(*streams, strict=True):
        accuracy.append(np.hstack([one @ weights[0], two @ weights[1]]))
        added = one @ shares[0], two @ shares[1]
        outcomes.append(np.subtract(*added) if same else np.hstack(added))
    return round_ties(np.concatenate(accuracy)).T, np.concatenate(outcomes)


def _maps(lights, shared, scores, *, of_pairs, parameters, **about):
    """Return numbers of the pairs as maps, of arrays if regions were paired."""
    import pandas as pd

    names = [run.choice.names for run in shared.runs]
    trained = f"trained on all {len(lights[0].classes_)} classes"
    # images without their addresses: equal runs write equal files
    images = re.compile(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>")
    both = zip(("first", "second"), lights, strict=True)
    described = {name: images.sub(r"\1", repr(each)) for name, each in both}
    about |= {
        "parameters": parameters | {"classifiers": trained} | described,
        "page": comparison_page,
        "pairs_": np.stack(shared.pairs, axis=1),
        "table_file": "comparison.tsv",
        "rows": "compared pairs of regions",
    }
    if not of_pairs:
        run = replace(shared.runs[0], bg_img=lights[0].bg_img_)
        return maps_of_regions(run, scores, names_=names[0], **about)
    one, two = shared.pairs
    columns = {"first_region": one, "second_region": two}
    if None not in names:
        pairs = zip(one, two, strict=True)
        columns["name"] = [f"{names[0][i]} / {names[1][j]}" for i, j in pairs]
    table = pd.DataFrame(columns | scores)
    about |= {"names_": columns.get("name"), "choice_": None, "places_": None}
    return RegionMaps(scores, region_scores=scores, table=table, **about)


def _findings(lights, approximate, size):
    """Return what is worth knowing of comparing accuracy among `size` classes."""
    findings, n_classes = [], len(lights[0].classes_)
    if size < n_classes and not all(x.run_.plan.kernel.marginal for x in lights):
        findings.append(not_marginal_below(n_classes, size, ("*accuracy*", "p_value*")))
    for each in lights[0].findings_ + lights[1].findings_:
        if each.touches("p_value_fwe") and each.name != "not_marginal":
            findings.append(each)
        elif each.touches("implied_information"):
            findings.append(each._replace(maps=("information_difference",)))
    findings += [TRAINED_ON_TESTS] if approximate else []
    return list(dict.fromkeys(findings))
