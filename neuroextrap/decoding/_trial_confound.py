"""Is it the class, or what goes along with it? Confounds of trials, in three ways."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.analysis._samples import read_labeled_samples
from neuroextrap.decoding._comparable import OF_FILES, taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._findings import P_VALUES, TOO_SMALL, Finding, tell
from neuroextrap.design._folds import code_labels, counts_of, make_design
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.design._permutations import confound_strata, permuted_codes
from neuroextrap.design._tests import BoundOptions, forward_tests
from neuroextrap.maps._identification import permutation_statistics
from neuroextrap.maps._records import described_parameters, flat_parameters
from neuroextrap.margins._engine import score_regions, why_untrainable
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.running._execution import Progress
from neuroextrap.margins.running._null import null_file
from neuroextrap.reporting._region_page import confound_page, confound_summary
from neuroextrap.stats._null_counts import round_ties, standardized_by_region
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_integer

_CLOSE = 0.9  # accuracy from numbers; pairs keep the level up to .84 (2 SD apart)
_P_VALUES = "p_value", "p_value_fwe"


@described_by(IdentificationSearchLight.fit)
def trial_confound(
    light: Any,
    imgs: Any,
    y: ArrayLike,
    groups: ArrayLike,
    confound: ArrayLike,
    *,
    stratum_size: int = 2,
    order: ArrayLike | None = None,
) -> RegionMaps:
    """Ask three ways whether a confound of the trials explains what is decoded.

    Reaction time, difficulty, position in the run or head motion may go along with the
    class, and whatever they do to a region then looks like information about the class.

    ======================  =========================================================
    question                answer
    ======================  =========================================================
    can it explain?         the same analysis with the confound in place of the brain
                            (``class_from_confound_``), and with the confound in place
                            of the class (``confound_accuracy`` and its p-values)
    is there more?          ``p_value`` and ``p_value_fwe``: labels are exchanged only
                            among samples of one run that are alike in the confound
    how much more, surely?  ``information_bound_beyond``: bits about the class among
                            samples with the same level of the confound
    ======================  =========================================================

    Parameters
    ----------
    light : IdentificationSearchLight
        A searchlight that is not fitted, and never changed, with ``n_permutations`` of
        at least 1; ``bounds=None`` leaves the bound out.
    groups : array-like of shape (n_samples,)
        Run of every sample.
    confound : array-like of shape (n_samples,)
        The confound of every sample. Categories, and numbers that occur
        ``stratum_size`` times or more in a run, on average, are compared level by
        level. Other numbers are ranked within each run; neighbors in rank are a stratum
        to exchange labels within, and three equally filled levels (low, middle, high)
        of each run are what is decoded from the brain.
    stratum_size : int, default=2
        Samples in a stratum of such numbers, at least 2. Larger strata give more
        power, and less protection: within them the confound still differs.

    Returns
    -------
    maps : dict of images, or of ndarray
        Its maps (arrays of regions for array input) are ``accuracy``, of the class;
        ``p_value``, ``p_value_fwe`` and ``neg_log10_p_fwe`` of the searchlight's
        ``statistic``, with labels exchanged within strata; ``unrestricted_p_value`` and
        ``unrestricted_p_value_fwe``, with labels exchanged within runs, as if there
        were no confound; ``confound_accuracy``, ``confound_p_value`` and
        ``confound_p_value_fwe`` of the levels of the confound; ``n_voxels``; and, of
        levels, ``information_bound_beyond`` (bits) and
        ``information_bound_beyond_fwe``, of all regions at once. What could not be
        computed is left out, and ``notes_`` says why. ``table_`` holds all of it, one
        row per region, and ``summary_`` says it in words. ``class_from_confound_`` is a
        dict of accuracy and p_value, ``levels_`` are those that were decoded and
        ``strata_`` the stratum of every sample that was analyzed. It makes files and a
        page.

    Raises
    ------
    TypeError
        When ``light`` is no IdentificationSearchLight.
    ValueError
        When the confound is missing somewhere, is the same in all samples or differs
        within a block, when no two classes share a stratum (class and confound cannot
        be told apart), or the searchlight asks for what this analysis does not give.

    Notes
    -----
    *Exchange within strata* assumes that among samples of a stratum the class says
    nothing about the confound. For levels that is so, and the test is exact; for
    numbers it is nearly so, the less the larger the strata, and the further apart the
    classes (the user guide has measured levels). Every permuted labeling goes along
    with the confound, too, so that permuted statistics are large in some regions and
    small in others; for the family-wise p-value each region's are standardized by
    their mean and spread.

    *The bound* is about an experiment in which every class is equally frequent at every
    level, and every level equally frequent, where a class cannot be guessed from the
    level: I(class; response | level) is then I(class; response, level), at least
    log K - h(e) - e log(K - 1) for an error rate e (Fano). The error rate is bounded by
    forward testing as in any searchlight. Of numbers that were cut there is no bound,
    because they differ within a stratum.

    References
    ----------
    Todd, Nystrom & Cohen 2013, "Confounds in multivariate pattern analysis: theory and
    rule representation case study", NeuroImage 77. Gorgen, Hebart, Allefeld & Haynes
    2018, "The same analysis approach", NeuroImage 180. Snoek, Miletic & Scholte 2019,
    "How to control for confounds in decoding analyses of neuroimaging data",
    NeuroImage 184. Winkler et al. 2015, "Multi-level block permutation", NeuroImage
    123.

    Examples
    --------
    Trials of the second class are slower. The first region follows reaction time, the
    second the class itself:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight, trial_confound
    >>> rng = np.random.default_rng(0)
    >>> y = np.concatenate([rng.permutation([0, 1] * 8) for _ in range(8)])
    >>> runs = np.repeat(np.arange(8), 16)
    >>> reaction_time = 0.8 + 0.1 * y + 0.1 * rng.normal(size=128)
    >>> X = rng.normal(size=(128, 20))
    >>> X[:, :10] += 5 * reaction_time[:, None]
    >>> X[:, 10:] += rng.normal(size=(2, 10))[y]
    >>> light = IdentificationSearchLight(
    ...     regions=np.kron(np.eye(2), np.ones(10)), n_permutations=199, bounds=None
    ... )
    >>> maps = trial_confound(light, X, y, runs, reaction_time)
    >>> (maps["unrestricted_p_value"] <= 0.05).tolist()
    [True, True]
    >>> (maps["p_value"] <= 0.05).tolist()
    [False, True]
    """
    stratum_size = check_integer(stratum_size, "stratum_size", minimum=2)
    taken_options(light, "trial_confound", OF_FILES)
    if not light.n_permutations:
        raise ValueError(
            "light has n_permutations=0, but labels are exchanged within strata of the "
            "confound; give n_permutations=1000, say"
        )
    labels = code_labels(y, light.classes, groups, light.blocks, order)
    strata = confound_strata(confound, labels, stratum_size)
    plain = copy(light).set_params(bounds=None)
    run = plan_decoding(plain, imgs, y, groups, order, strata=strata.codes)
    scores, findings, about = _answers(light, _changed(run, subsets=()), strata)
    tell(findings)
    of_run = (each for each in run.findings if any(map(each.touches, scores)))
    maps = maps_of_regions(
        run,
        scores,
        parameters=described_parameters(light) | {"stratum_size": stratum_size},
        random_state=light.random_state,
        findings=(*of_run, *findings),
        page=confound_page,
        classes_=run.classes,
        levels_=np.unique(strata.levels),
        of_numbers_=strata.of_numbers,
        **about,
    )
    vars(maps).update(summary_=confound_summary(maps))
    return maps


def _answers(light, run, strata):
    """Return maps, Findings and further attributes, by name, that answer all three."""
    within = run.labels._replace(strata=strata.codes)
    cells, restricted = within.exchanged, _permuted(light, within, run.plan.design)
    tests, not_bounded = _tests_of_levels(light, run, within, strata)
    from_confound, close = _class_from(light, run, strata)
    own = _changed(run, codes=restricted.codes, forward=tests)
    tested, maxima, bounds = _within_strata(own)
    free = permutation_statistics(run.score()[0], _P_VALUES)
    of_levels, not_decoded = _levels(light, run, strata)
    scores = tested | {f"unrestricted_{name}": p for name, p in free.items()}
    scores |= of_levels | bounds
    scores["n_voxels"] = run.usable.n_features.astype(float)
    several = (counts_of(cells, within.codes) > 0).sum(axis=1) > 1
    about = {
        "class_from_confound_": from_confound,
        "strata_": cells,
        "n_strata_": int(cells.max()) + 1,
        "exchangeable_": float(several[cells].mean()),
        "n_permutations_": len(maxima),
        "null_maxima_": maxima,
    }
    findings = *restricted.findings, *close, *not_bounded, *not_decoded
    return scores, findings, about


def _changed(run, **changed):
    """Return a run whose plan is changed."""
    return replace(run, plan=replace(run.plan, **changed))


def _permuted(light, labels, design):
    """Return the labelings of a test, Permuted, with the seed of the searchlight."""
    seed = light.random_state
    return permuted_codes(labels, design, light.n_permutations, seed, cv=light.cv)


def _tested(scores):
    """Return accuracy among all classes and p-values, (n_regions,), of RegionScores."""
    accuracy = stats.average_accuracy(scores.wins, scores.wins.shape[1])
    return {
        "accuracy": round_ties(accuracy),
        **permutation_statistics(scores, _P_VALUES),
    }


def _within_strata(run):
    """Score all regions; return maps, standardized maxima, and lower bounds (bits)."""
    shape = run.plan.n_permutations, run.choice.n_regions
    null: Any
    with (
        TemporaryDirectory() as folder,
        null_file(Path(folder, "null.npy"), *shape) as null,
    ):
        how = {"progress": Progress(run.parameters.verbose), "n_jobs": run.n_workers}
        scores = score_regions(*run.data, null=null, **how)
        standard, maxima = standardized_by_region(scores.score, null)
    p_fwe = stats.max_statistic_p_value(standard, maxima)
    corrected = {"p_value_fwe": p_fwe, "neg_log10_p_fwe": -np.log10(p_fwe)}
    return _tested(scores) | corrected, maxima, _bounds(run, scores.n_correct)


def _bounds(run, n_correct):
    """Return lower bounds (bits) on information beyond the confound, by name."""
    if run.plan.forward is None:
        return {}
    bound = run.plan.forward.outcomes.bayes_accuracy_bound
    level = run.parameters.confidence_level
    return {
        f"information_bound_beyond{end}": stats.fano_information(
            bound(n_correct, confidence_level=level, n_regions=n_regions),
            len(run.classes),
        )
        for end, n_regions in (("", 1), ("_fwe", max(1, len(run.analyzed))))
    }


def _levels(light, run, strata):
    """Return maps of how well levels of the confound are identified; or Findings."""
    names, codes = np.unique(strata.levels, return_inverse=True)
    labels = run.labels._replace(codes=codes, classes=names)
    try:
        design = make_design(codes, len(names), cv=light.cv, groups=labels.groups)
        permuted = _permuted(light, labels, design)
    except ValueError as error:
        return {}, _left_out("confound_*", "the confound is not decoded", error)
    statistic = resolve_statistic("accuracy", len(names), None)
    drawn = {"codes": permuted.codes, "pairing": permuted.pairing}
    scores, _ = _changed(run, design=design, statistic=statistic, **drawn).score()
    return {f"confound_{name}": each for name, each in _tested(scores).items()}, ()


def _class_from(light, run, strata):
    """Return accuracy and p-value of the class from the confound; 0 or 1 Findings."""
    columns = strata.columns
    if not strata.of_numbers and (columns.shape[1] == 2 or light.shrinkage == 0):
        columns = columns[:, 1:]  # what the others say, which classifiers refuse
    plain = copy(light).set_params(mask=None)
    labels = run.labels._replace(keep=np.ones(len(columns), dtype=bool))
    read = read_labeled_samples(plain, run.plan.kernel, columns, labels, "confound")
    one_region = scipy.sparse.csr_array(read.usable[None].astype(np.float64))
    plan = replace(run.plan, whitener=None, by_sums=None)
    tested = _tested(score_regions(read.X, one_region, plan))
    maps = {name: float(tested[name][0]) for name in ("accuracy", "p_value")}
    accuracy = maps["accuracy"]
    if accuracy < _CLOSE or not strata.of_numbers:
        return maps, ()
    because = (
        f"the confound alone identifies the class with an accuracy of {accuracy:.2f}"
    )
    effect = f"{TOO_SMALL}, because even neighbors in the confound differ"
    remedy = "leave out trials until the classes overlap more"
    seen = "confound", "doubtful", accuracy, P_VALUES
    return maps, (Finding(*seen, because, effect, remedy),)


def _tests_of_levels(light, run, labels, strata):
    """Return forward tests that weigh classes and levels equally, or None; Findings."""
    if light.bounds is None:
        return None, ()
    options = BoundOptions.of(flat_parameters(light), run.plan.kernel)
    options = options._replace(bounds="forward", e_value_order="cyclic")
    tests = forward_tests(labels, run.plan.design, options)
    reason: Any = tests
    if strata.of_numbers:
        reason = (
            "a number is not held constant by strata; give levels (categories), if it "
            "is these that matter"
        )
    elif isinstance(tests, ForwardFolds):
        reason = why_untrainable(*_changed(run, forward=tests).data)
        if reason is None:
            return tests, ()
    what = "information beyond the confound is not bounded"
    return None, _left_out("information_bound_beyond*", what, reason)


def _left_out(maps, what, reason):
    """Return a Finding about maps that are left out, in a tuple."""
    return (Finding("not_computed", "note", 0.0, (maps,), f"{reason}", what, ""),)
