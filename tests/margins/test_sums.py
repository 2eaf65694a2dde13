"""Margins that are sums by class are counted in cache as they are counted when kept."""

from itertools import product

import numpy as np
import pytest

from neuroextrap.stats import permute_labels
from tests.margins.seam import (
    AccuracyStatistic,
    LDAMargins,
    NearestCentroidMargins,
    Plan,
    RegionSamples,
    RidgeMargins,
    _class_sums,
    _nearest_centroid,
    _ridge,
    _sums,
    beaten_and_tied,
    make_design,
    sorted_samples,
)

KERNELS = {
    "nearest_centroid": NearestCentroidMargins(),
    "ridge": RidgeMargins(),
    "next to no penalty": RidgeMargins(shrinkage=1e-4),
    "lda": LDAMargins(),
    "lda in float64": LDAMargins(shrinkage=1e-4, priors="frequency"),
}


def samples(kind, n, p, rng):
    """Noise; few values, so that classes tie; one loud sample; pairs nearly alike."""
    x = rng.normal(size=(n, p))
    if kind == "few values":
        x = rng.integers(0, 2, size=(n, p)).astype(float)
    elif kind == "one loud sample":
        x[3] *= 1e4
    elif kind == "nearly alike":
        x[1::2] = x[::2][: len(x[1::2])] + 1e-6 * rng.normal(size=x[1::2].shape)
    x = x - x.mean(axis=0)
    return x.astype(np.float32)


def plan_of(kernel, n_classes, n_repeats, n_runs=4, n_permutations=90):
    y = np.tile(np.repeat(np.arange(n_classes), n_repeats), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes * n_repeats)
    order = np.argsort(runs % 2, kind="stable")  # runs apart are not side by side
    y, runs = y[order], runs[order]
    more = permute_labels(y, groups=runs, n_permutations=n_permutations, random_state=1)
    design = make_design(y, n_classes, groups=runs)
    statistic = AccuracyStatistic(n_classes, n_classes)
    return Plan(kernel, design, np.stack([y, *more]), statistic)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "kind", ["noise", "few values", "one loud sample", "nearly alike"]
)
def test_counts_are_those_of_kept_margins(name, kind):
    kernel, rng, n_tied = KERNELS[name], np.random.default_rng(0), 0
    for n_classes, n_repeats in product((2, 3, 5), (2, 3)):
        plan = plan_of(kernel, n_classes, n_repeats)
        xs = RegionSamples(
            samples(kind, plan.design.n_samples, p, rng) for p in (40, 3, 120)
        )
        assert not any(kernel.keeps_margins(x.shape[1], plan) for x in xs)
        counted = [np.concatenate(c, axis=-1) for c in _by_region(kernel, xs, plan)]
        for x, found in zip(xs, zip(*counted, strict=True), strict=True):
            batches = kernel.batches(RegionSamples([x]), plan)
            margins = np.concatenate([batch.margins for batch in batches], axis=2)
            expected = beaten_and_tied(margins, plan.test_codes)
            np.testing.assert_array_equal(found, expected)
            n_tied += expected[1].any()
    assert n_tied > 2 or kind != "few values"


def _by_region(kernel, xs, plan):
    """Return beaten and tied counts, lists of (n_regions, n_test, n_labelings)."""
    parts = ([], [])
    for beaten, tied, _, width in kernel.counts(xs, plan):
        for part, counts in zip(parts, (beaten, tied), strict=True):
            counts = counts.reshape(len(counts), len(xs), width)
            part.append(counts.transpose(1, 0, 2))
    return parts


@pytest.mark.parametrize("name", ["nearest_centroid", "ridge"])
@pytest.mark.parametrize("kind", ["noise", "one loud sample", "nearly alike"])
@pytest.mark.parametrize("n_runs", [2, 9])
def test_margins_in_whole_units_are_as_close_as_they_say(name, kind, n_runs):
    kernel, largest = KERNELS[name], 0.0
    plan = plan_of(kernel, 4, 2, n_runs=n_runs, n_permutations=20)
    (labelings,) = plan.batches(counted=True)
    for seed in range(5):
        x = samples(kind, plan.design.n_samples, 30, np.random.default_rng(seed))
        state = kernel.prepare([x], plan.design)
        if name == "ridge":
            ((_, sums),) = _ridge._sums(state)
            by_class, folds = sorted_samples(labelings), _sums.no_folds()
        else:
            sums = _nearest_centroid._sums(state)
            by_class, folds = _nearest_centroid._by_class(plan.design, labelings)
        tables = sums._compiled(2 * n_runs)
        shape = labelings.n_classes, tables.exact.shape[2]
        exact, whole = np.empty(shape), np.empty(shape, np.float32)
        squares, gram = np.empty(len(folds.edges) - 1), tables.grams[0]
        units = 1.0
        if name == "ridge":  # every test point has its own
            lengths = np.linalg.norm(tables.exact[0], axis=0)
            units = np.sqrt(2 * n_runs) * lengths / (2**24 - len(x))
        assert (np.diff(by_class.edges.astype(int), axis=1) == 2 * n_runs).all()
        for b in range(labelings.n_labelings):
            table = _class_sums._Table(tables.exact[0], 1.0, gram)
            _class_sums._fill_margins(table, by_class, folds, b, squares, exact)
            table = _class_sums._Table(tables.lanes[0], tables.units[0], gram)
            error = _class_sums._fill_margins(table, by_class, folds, b, squares, whole)
            missed = np.abs(whole * units - exact.astype(np.float32)) / units
            assert missed.max() <= error
            largest = max(largest, missed.max() / error)
    assert largest > 0.01  # the bound is of use
