"""Several pipelines of one experiment, and one p-value for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.decoding._comparable import OF_FILES, taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.images._loading import feature_coordinates
from neuroextrap.maps._records import described_parameters
from neuroextrap.reporting._maps_section import features_as_regions, words_of_features
from neuroextrap.reporting._region_page import multiverse_page
from neuroextrap.stats._null_counts import standardized_by_maxima
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._shared_options import described_by

_MM = 1e-3  # by which places may differ that are the same


@described_by(IdentificationSearchLight.fit)
def multiverse(
    pipelines: Mapping[str, Any],
    imgs: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    order: ArrayLike | None = None,
) -> RegionMaps:
    """Run one experiment through several pipelines, and test them all at once.

    Which radius, which classifier, how much smoothing? Whoever tries several pipelines
    and reports the best finds too much. Here all pipelines get the same permuted
    labels, so that the largest statistic over all pipelines *and* regions has a null
    distribution: a place that survives does so however many pipelines were tried.

    Parameters
    ----------
    pipelines : dict of str to IdentificationSearchLight
        At least two searchlights that are not fitted, by name. They may differ in all
        that leaves the labels alone: radius or regions, classifier, shrinkage,
        whitening, ``statistic``, set sizes. ``n_permutations`` (at least 1) and
        ``random_state`` (a whole number) must be the same. A pair ``(searchlight,
        imgs)`` is a pipeline that has images of its own, smoothed differently, say: one
        volume for each of the same trials, in the same order.
    imgs : 4-D image, list of images, path(s), SurfaceImage, array, or None
        Samples of all other pipelines, one volume (row) for each. None if every
        pipeline has its own.

    Returns
    -------
    maps : dict of images, or of ndarray
        ``p_value_fwe_any`` is small where at least one pipeline finds information, and
        ``p_value_fwe_all`` where every pipeline does: the smallest and the largest of
        the pipelines' p-values, each corrected for all voxels and all pipelines
        together. ``n_pipelines`` counts those whose p-value is at most .05.
        ``table_`` has a row for every pipeline: its options, its largest standardized
        statistic with the p-value over all pipelines and alone, and in how many of its
        regions it survives so. ``standardized_`` are the statistics by pipeline,
        ``null_maxima_`` the largest under every permutation. It makes files and a page
        with a specification curve.

    Raises
    ------
    TypeError
        When a pipeline is no IdentificationSearchLight.
    ValueError
        When there are fewer than two pipelines, their voxels differ, their labels are
        permuted differently (other permutations, seeds, classes, blocks or folds), or
        one of them cannot be run. All are checked before the first is.

    See Also
    --------
    compare_decoders : The difference of two classifiers.

    Notes
    -----
    The statistics of a pipeline are standardized by the mean and standard deviation of
    its largest one over all labelings, the observed one among them: an accuracy and a
    number of bits, large spheres and small ones, are then compared by how unusual they
    are, and no pipeline with a skewed statistic hides the others.

    The p-values need no assumption on how pipelines depend on one another; pipelines
    that resemble one another cost little. If no region is informative in any pipeline,
    the probability of a p-value of at most .05 anywhere is at most .05; with
    information in some regions the level in the others was measured, not proven (see
    the table of guarantees). "All" is an intersection-union test. A pipeline that was
    tried and left out is not corrected for. Lower bounds are not computed.

    References
    ----------
    Westfall & Young 1993, "Resampling-based multiple testing" (maximum over tests that
    share permutations). Simonsohn, Simmons & Nelson 2020, "Specification curve
    analysis", Nature Human Behaviour 4. Nichols, Brett, Andersson, Wager & Poline 2005,
    "Valid conjunction inference with the minimum statistic", NeuroImage 25.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight, multiverse
    >>> rng = np.random.default_rng(0)
    >>> y = rng.permuted(np.tile([0, 1, 2, 3], (8, 1)), axis=1).ravel()
    >>> X, runs = rng.normal(size=(32, 20)), np.repeat(np.arange(8), 4)
    >>> X[:, :10] += rng.normal(size=(4, 10))[y]
    >>> regions = np.kron(np.eye(2), np.ones(10))
    >>> lights = {
    ...     name: IdentificationSearchLight(
    ...         regions=regions, estimator=name, n_permutations=199
    ...     )
    ...     for name in ("nearest_centroid", "ridge", "lda")
    ... }
    >>> found = multiverse(lights, X, y, runs)
    >>> (found["p_value_fwe_all"] <= 0.05).tolist(), found["n_pipelines"].tolist()
    ([True, False], [3.0, 0.0])
    """
    given = _checked(pipelines, imgs)
    runs = {name: _planned(name, *own, y, groups, order) for name, own in given.items()}
    _check_alike(runs)
    scored = {name: run.score()[0] for name, run in runs.items()}
    tested = {
        name: standardized_by_maxima(own.score, own.maxima)
        for name, own in scored.items()
    }
    maxima = np.max([own for _, own in tested.values()], axis=0)
    corrected = {
        name: stats.max_statistic_p_value(standard, maxima)
        for name, (standard, _) in tested.items()
    }
    first, *_ = runs.values()
    masker = first.masker if _has_places(first) else None
    combined = _combined(runs, corrected)
    choice = features_as_regions(len(combined["n_pipelines"]))
    options = _options({name: light for name, (light, _) in given.items()})
    findings = dict.fromkeys(f for run in runs.values() for f in run.findings)
    return maps_of_regions(
        replace(first, masker=masker, choice=choice),
        combined,
        table=_table(options, scored, tested, corrected),
        parameters={"pipelines": options},
        random_state=first.parameters.random_state,
        findings=[f for f in findings if any(map(f.touches, combined))],
        page=multiverse_page,
        table_file="pipelines.tsv",
        rows="pipelines",
        words_=None if masker is None else words_of_features(masker),
        classes_=first.classes,
        standardized_={name: standard for name, (standard, _) in tested.items()},
        null_maxima_=maxima,
        n_permutations_=len(maxima),
    )


def _planned(name, light, *given):
    """Plan the run of a pipeline; ValueError that names it."""
    try:
        return plan_decoding(light, *given)
    except ValueError as error:
        raise ValueError(f"pipelines[{name!r}]: {error}") from error


def _combined(runs, corrected):
    """Return the maps over pipelines of corrected p-values (n_regions,) by pipeline."""
    p_values = []
    for name, run in runs.items():
        own = corrected[name]
        p_values.append(run.choice.to_features(own) if _has_places(run) else own)
    unknown = np.isnan(p_values).all(axis=0)
    n_significant = np.less_equal(p_values, LEVEL).sum(axis=0)
    return {
        "p_value_fwe_any": np.where(unknown, np.nan, np.fmin.reduce(p_values)),
        "p_value_fwe_all": np.max(p_values, axis=0),
        "n_pipelines": np.where(unknown, np.nan, n_significant),
    }


def _checked(pipelines, imgs):
    """Return searchlight and images of every pipeline; raise if one cannot be used.

    Searchlights come without bounds, which would take time.
    """
    if not isinstance(pipelines, Mapping) or len(pipelines) < 2:
        raise ValueError(
            "pipelines must be a dict of at least two searchlights by name; a single "
            "one needs only fit"
        )
    pairs = {
        str(name): given if isinstance(given, tuple) else (given, imgs)
        for name, given in pipelines.items()
    }
    if len(pairs) < len(pipelines):
        raise ValueError(
            f"pipelines are called {', '.join(map(repr, pipelines))}, some of them the "
            "same as text; give names that differ"
        )
    for name, (light, own) in pairs.items():
        taken_options(light, "multiverse", OF_FILES, f"pipelines[{name!r}]")
        if own is None:
            raise ValueError(f"pipelines[{name!r}] has no imgs; give imgs for all")
        pairs[name] = copy(light).set_params(bounds=None), own
    _check_same([light for light, _ in pairs.values()])
    return pairs


def _check_same(lights):
    """Raise unless all searchlights draw the same permutations."""
    for option in ("n_permutations", "random_state"):
        values = [getattr(light, option) for light in lights]
        if any(value != values[0] for value in values):
            raise ValueError(
                f"pipelines have {option} {', '.join(map(repr, values))}; give all the "
                "same, so that labels are permuted alike"
            )
    seed = lights[0].random_state
    if not lights[0].n_permutations:
        raise ValueError("pipelines need permutations; give n_permutations=1000, say")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ValueError(
            f"pipelines have random_state={seed!r}; give a whole number, so that all "
            "permute labels alike"
        )


def _check_alike(runs):
    """Raise unless planned runs share places, labels, and permutations of these."""
    (name, first), *others = runs.items()
    for other, run in others:
        pair = f"pipelines {name!r} and {other!r}"
        if not np.array_equal(first.classes, run.classes):
            raise ValueError(f"{pair} have other classes; give all the same classes")
        if not np.array_equal(first.plan.codes, run.plan.codes):
            raise ValueError(
                f"{pair} permute labels differently; give all the same blocks and cv"
            )
        _check_places(pair, first, run)


def _check_places(pair, *runs):
    """Raise unless two runs have the same voxels, or as many regions without place."""
    placed = [_has_places(run) for run in runs]
    if placed[0] != placed[1]:
        raise ValueError(f"{pair}: the regions of one have no place; compare alike")
    if placed[0]:
        one, other = (feature_coordinates(run.masker) for run in runs)
        same = one.shape == other.shape and np.allclose(one, other, 0, _MM)
    else:
        same = runs[0].choice.n_regions == runs[1].choice.n_regions
    if not same:
        sizes = (run.choice.regions.shape[::-1] for run in runs)
        sizes = " and ".join(f"{n:,} voxels ({m:,} regions)" for n, m in sizes)
        raise ValueError(
            f"{pair} have other voxels (or, of arrays, numbers of regions): {sizes}"
            "; give all the same mask, and process_mask_img for a part of it"
        )


def _has_places(run):
    """Return whether values of regions belong to voxels or vertices."""
    return run.masker is not None and run.choice.has_place


def _options(lights):
    """Return the options in which searchlights differ, a dict for each, by name."""
    described = {name: described_parameters(light) for name, light in lights.items()}
    first, *others = described.values()
    differ = [k for k in first if any(each[k] != first[k] for each in others)]
    columns = {k: _words([each[k] for each in described.values()]) for k in differ}
    return {
        name: {k: column[i] for k, column in columns.items()}
        for i, name in enumerate(described)
    }


def _words(values):
    """Return values for a table: objects as "given", numbered if there are several."""
    plain, words, others = (str, int, float), [], []
    for value in values:
        if value is not None and not isinstance(value, plain):
            others += [value] if value not in others else []
            value = f"given {others.index(value) + 1}"
        words.append("none" if value is None else value)
    return ["given" if word == "given 1" and not others[1:] else word for word in words]


def _table(options, scored, tested, corrected):
    """Return a row for every pipeline, with the options that are not all the same."""
    import pandas as pd

    rows = []
    for name, (standard, own_maxima) in tested.items():
        over_all = corrected[name]
        of_own = stats.max_statistic_p_value(standard, own_maxima)
        columns = {
            "n_regions": int(np.isfinite(over_all).sum()),
            "largest_statistic": np.nanmax(scored[name].score),
            "largest_standardized": np.nanmax(standard),
            "p_value_fwe": np.nanmin(over_all),
            "p_value_fwe_alone": np.nanmin(of_own),
            "n_surviving": int((over_all <= LEVEL).sum()),
            "n_surviving_alone": int((of_own <= LEVEL).sum()),
        }
        rows.append({"pipeline": name} | options[name] | columns)
    return pd.DataFrame(rows)
