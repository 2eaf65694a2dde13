"""Compare two encoding models on the same test responses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import ComparisonOptions
from neuroextrap.analysis._region_maps import (
    RegionMaps,
    exchange_test,
    maps_of_regions,
)
from neuroextrap.design._findings import P_VALUES, TRAINED_ON_TESTS, Finding, tell
from neuroextrap.design._folds import means_of, members, row_codes
from neuroextrap.encoding._experiment import findings_of_rows
from neuroextrap.margins._engine import chances, map_parts
from neuroextrap.margins._wins import accuracy_set_size
from neuroextrap.reporting._region_page import comparison_page
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._shared_options import as_options, takes_options

_MANY = 10  # times the inflation by neighbors: stimuli of a block of a film


@takes_options(ComparisonOptions)
def compare_encoding_models(
    first: Any, second: Any, *, blocks: ArrayLike | None = None, **options: Any
) -> RegionMaps:
    """Test which of two fitted models identifies stimuli better, region by region.

    Both models have identified the same test stimuli among the same candidates. For
    every stimulus the two outcomes (the chance that it wins against k - 1 random
    candidates) are exchanged at random, the same stimuli in every region; the
    largest difference over regions gives the family-wise p-value. The test is exact
    when each stimulus's pair of outcomes is exchangeable under the null. Where the
    models are equally good on average but favor different stimuli, it is
    conservative: what a stimulus gains and another loses widens the null
    distribution. It compares two *fitted* models on a fixed set of candidates:
    training sets are not redrawn. Moments of a film or a story are not exchangeable
    one by one: the outcomes of neighbors resemble each other, so that p-values are too
    small, which a warning says; exchange whole runs as `blocks`.

    Models that were tested in the same folds (``identify_folds``) are compared
    likewise. Stimuli then train as well as test, so that outcomes depend on each
    other; differences are corrected for it (``cross_validated`` of
    :func:`neuroextrap.stats.paired_sign_flip_test`), and the p-values are approximate,
    as a note says. A warning and the page say where the two models differ in the rule
    of their margins, in the kind of covariance or in their training responses: a
    difference may come from these.

    Parameters
    ----------
    first, second : EncodingIdentification
        Models that have identified (``identify``) the same responses among the same
        candidates in the same regions, or that were read from their folders.
    blocks : array-like of shape (n_stimuli,) or None, default=None
        Block, such as a run, of each test stimulus, in the order of their features.
        The outcomes of a block are exchanged together. If None, each stimulus by
        itself.

    Returns
    -------
    maps : dict of images, or of ndarray
        A dict of images (of ndarray of shape (n_regions,) for array input) named
        accuracy_difference (first minus second, of the statistic),
        information_difference (implied, bits), first_accuracy, second_accuracy,
        p_value and p_value_fwe of the accuracy difference, which makes files and a
        page. ``findings_`` is what is approximate or doubtful about it.

    Raises
    ------
    TypeError
        When a model is not an `EncodingIdentification`.
    ValueError
        When the models differ in test points, folds, candidates or regions, the
        statistic is not an accuracy, or `blocks` do not match the stimuli.

    See Also
    --------
    compare_encoding_models_pairwise : Several models, corrected over their pairs.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic). Kay et al. 2008 (Gabor
    against retinotopy-only model).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from neuroextrap.encoding import EncodingIdentification
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(120, 6)), rng.normal(size=(6, 20))
    >>> Y = X @ W + 3 * rng.normal(size=(120, 20))
    >>> full, poor = (
    ...     EncodingIdentification(encoder=Ridge())
    ...     .fit(X[:80, :n], Y[:80])
    ...     .identify(X[80:, :n], Y[80:])
    ...     for n in (6, 2)
    ... )
    >>> maps = compare_encoding_models(full, poor, n_permutations=99)
    >>> bool(maps["accuracy_difference"][0] > 0), float(maps["p_value"][0])
    (True, 0.01)
    """
    given = as_options(ComparisonOptions, compare_encoding_models, options)
    models = {"first": first, "second": second}
    return compare_pairs(models, list(models), given, {}, blocks)["first", "second"]


def compare_pairs(models, names, options, about, blocks=None):
    """Compare every pair of models, called by `names` in errors; RegionMaps by pair."""
    first, *others = models.values()
    for other, name in zip(others, names[1:], strict=True):
        _check_pair(first, other, (names[0], name))
    size = accuracy_set_size(options.statistic, first.wins_.shape[1])
    each = np.arange(len(np.unique(first.run_.test.stimuli)))
    blocks = checked_entries(blocks, "blocks", each, "features")
    blocks = each if blocks is None else row_codes(blocks)
    outcomes = {n: _outcomes(m, size, options.n_jobs) for n, m in models.items()}
    pairs = list(itertools.combinations(models, 2))
    about, compared = about | options.recorded, {}
    for pair in pairs:
        of_pair = [models[name] for name in pair], [outcomes[name] for name in pair]
        compared[pair] = _compare_outcomes(*of_pair, options, blocks, len(pairs), about)
    return compared


def _compare_outcomes(models, outcomes, options, blocks, n_pairs, about):
    """Exchange outcomes of stimuli, two arrays (n_regions, n_stimuli); RegionMaps."""
    shortest = np.bincount(blocks).min()
    findings = (*_findings_of_neighbors(models, shortest), *_findings(models))
    tell(findings)
    usable = ~np.isnan(outcomes[0] + outcomes[1]).any(axis=1)
    differences = (outcomes[0] - outcomes[1])[usable]
    scores, tested = exchange_test(
        usable,
        [values[usable].mean(axis=1) for values in outcomes],
        means_of(differences.T, blocks).T * (np.bincount(blocks) / len(blocks)),
        [model.region_scores_["implied_information"] for model in models],
        options,
        cross_validated=TRAINED_ON_TESTS in findings,
    )
    scores["p_value_fwe"] = np.minimum(scores["p_value_fwe"] * n_pairs, 1)  # Bonferroni
    return maps_of_regions(
        models[0].run_,
        scores,
        parameters=about,
        random_state=options.random_state,
        findings=findings,
        page=comparison_page,
        n_permutations_=tested.n_permutations,
        n_pairs_=n_pairs,
        names_=models[0].results_.choice.names,
        table_file="comparison.tsv",
    )


def _findings_of_neighbors(models, shortest):
    """Return Findings, 0 or 1, about blocks that are short for a film or a story."""
    findings = [f for m in models for f in findings_of_rows(m.run_.test, "rows")]
    findings = [f for f in findings if shortest < _MANY * f.seen]
    if not findings:
        return ()
    remedy = "give whole runs, or parts of them that are as long as possible, as blocks"
    return (max(findings, key=lambda f: f.seen)._replace(remedy=remedy),)


def _findings(models):
    """Return Findings about two models that are compared."""
    findings = [] if models[0].run_.test.folds is None else [TRAINED_ON_TESTS]
    rules = [model.rule_ for model in models]
    differing = [] if rules[0] == rules[1] else [f"rule ({' and '.join(rules)})"]
    if not _nearly_equal(*(model.run_.location for model in models)):
        differing.append("training responses (their means)")
    if not differing:
        return findings
    other = Finding(
        "other_methods",
        "doubtful",
        float(len(differing)),
        ("*_difference", *P_VALUES),
        f"the two models differ in {' and in '.join(differing)}",
        "the difference may come from this instead of the features",
        "give both models the same",
    )
    return [*findings, other]


def _nearly_equal(one, two):
    """Say whether responses are equal up to the rounding of files."""
    scale = max(np.abs(values).max(initial=0.0) for values in (one, two))
    return np.allclose(one, two, rtol=1e-4, atol=1e-6 * scale)


def _check_pair(first, second, names):
    """Raise unless both models judged the same things; `names` are what they are."""
    from neuroextrap.encoding._identification import EncodingIdentification

    both = " and ".join(names)
    for name, model in zip(names, (first, second), strict=True):
        if not isinstance(model, EncodingIdentification):
            raise TypeError(
                f"{name} must be an EncodingIdentification, got {type(model).__name__}"
            )
        if not hasattr(model, "region_scores_"):
            raise ValueError(f"{name} has identified nothing yet; call identify first")
    if first is second:
        raise ValueError(
            f"{both} are one model, compared with itself: fit and identify return the "
            "model; make one for each"
        )
    for differs, text in _differences(first, second):
        if differs:
            raise ValueError(f"{both} {text}")


def _differences(first, second):
    """Yield whether models judged other things, one after the other, and a text."""
    one, two = runs = first.run_, second.run_
    other_points = not np.array_equal(one.test.stimuli, two.test.stimuli)
    yield other_points, "identified other test points; use the same"
    in_folds = [run.test.folds is not None for run in runs]
    same = in_folds[0] == in_folds[1]
    if all(in_folds):
        same = np.array_equal(one.test_stimuli, two.test_stimuli)
    text = "use the same stimuli, n_folds and random_state, or identify for both"
    yield not same, f"were tested in other folds; {text}"
    shapes = [model.wins_.shape for model in (first, second)]
    text = f"wins of shapes {shapes[0]} and {shapes[1]}"
    yield shapes[0] != shapes[1], f"have other regions or candidates: {text}"
    named = [model.classes_ for model in (first, second)]
    in_words = all(classes.dtype.kind in "US" for classes in named)
    other_names = in_words and not np.array_equal(*named)
    yield other_names, "have candidates of other names; use the same"
    members = [run.choice.regions for run in runs]
    same = members[0].shape == members[1].shape and not (members[0] != members[1]).nnz
    yield not same, "have other regions; use the same radius"
    usable = one.test.usable & two.test.usable
    same = _nearly_equal(*(run.responses()[:, usable] for run in runs))
    yield not same, "identified other responses; use the same"


def _outcomes(model, size, n_jobs):
    """Chance that each stimulus wins in each region, shape (n_regions, n_stimuli)."""
    run = model.run_
    of_stimulus = members(np.unique(run.test.stimuli, return_inverse=True)[1])
    scores = np.full((run.choice.n_regions, of_stimulus.shape[0]), np.nan)
    share = 1 / of_stimulus.sum(axis=1)
    given: Any = (*run.data, run.analyzed, size)
    for part, won in map_parts(chances, *given, n_jobs=n_jobs):
        scores[run.analyzed[part]] = (of_stimulus @ won.T).T * share
    return scores
