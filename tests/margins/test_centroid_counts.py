"""The observed labels counted as inner products are made: equal to stored margins."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse
from sklearn.neighbors import NearestCentroid

from neuroextrap.design._folds import make_design
from neuroextrap.design._forward_tests import (
    cyclic_orders,
    forward_folds,
    forward_parts,
)
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins.classifiers._registry import resolve_classifier
from neuroextrap.regions._lattice import lattice_spheres


def in_order():
    return np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)


def shuffled():
    y, runs = in_order()
    order = np.random.default_rng(0).permutation(len(y))
    return y[order], np.array(list("fcebda"))[runs[order]]


def last_run_first():
    y, runs = in_order()
    return y, (runs + 2) % 6


def unequal():
    """Runs of four to nine samples, classes of unequal repeats."""
    rng = np.random.default_rng(1)
    y = [np.append(np.arange(4), rng.integers(4, size=i)) for i in range(6)]
    return np.concatenate(y), np.repeat(np.arange(6), [len(run) for run in y])


def joined():
    """Two of four classes in every run: forward tests join runs, folds do not."""
    return np.tile([0, 1, 2, 3, 0, 3, 1, 2], 4), np.repeat(np.arange(16), 2)


def many_classes():
    """More classes than a count of 8 bits holds."""
    return np.tile(np.arange(130), 3), np.repeat(np.arange(3), 130)


DESIGNS = [in_order, shuffled, last_run_first, unequal, joined, many_classes]


def make_plan(y, runs, *, forward=True, cv=None):
    n_classes = y.max() + 1
    design = make_design(y, n_classes, groups=runs, cv=cv)
    tests = None
    if forward:
        orders = cyclic_orders(forward_parts(y, n_classes, design, runs))
        tests = forward_folds(*orders, y, n_classes, units=None)
    return Plan(
        kernel=resolve_classifier("nearest_centroid"),
        design=design,
        codes=y[None],
        statistic=resolve_statistic("accuracy", n_classes, [2, n_classes]),
        weightings=np.full((1, len(y)), 1 / len(y)),
        forward=tests,
        by_sums=False,
        forward_by_sums=False,
    )


def patterns(y, n_features, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(y.max() + 1, n_features))[y]
    x = (x + 2 * rng.normal(size=x.shape)).astype(np.float32)
    return x - x.mean(axis=0)


def spheres():
    """Spheres of a small mask, one feature alone, and all features together."""
    overlapping = lattice_spheres(np.ones((5, 4, 3), dtype=bool), np.eye(3 + 1), 1.5)
    others = np.zeros((3, 60), dtype=bool)
    others[0, 7] = others[1] = others[2, 8] = True
    return scipy.sparse.csr_array(scipy.sparse.vstack([overlapping, others]))


def assert_same(one, other):
    for result in fields(one):
        values = getattr(one, result.name), getattr(other, result.name)
        np.testing.assert_array_equal(*values, err_msg=result.name)


@pytest.mark.parametrize("forward", [True, False], ids=["forward", "folds alone"])
@pytest.mark.parametrize("make", DESIGNS)
def test_counts_equal_those_of_stored_margins(make, forward, monkeypatch):
    y, runs = make()
    plan = make_plan(y, runs, forward=forward)
    assert plan.observed_counter() is not None
    x = patterns(y, 60)
    x[3], x[5] = x[4], 0  # tied samples of different classes
    counted = score_regions(x, spheres(), plan)
    monkeypatch.setattr("neuroextrap.margins._plan.COUNTED_FEATURES", 0)
    assert_same(counted, score_regions(x, spheres(), plan))
    assert not np.isnan(counted.wins).any()


@pytest.mark.parametrize("make", [shuffled, unequal, joined])
def test_counts_equal_refits(make):
    y, runs = make()
    plan = make_plan(y, runs)
    x = patterns(y, 60)
    found = score_regions(x, spheres(), plan)
    for region in (0, 31, 61):
        members = spheres()[[region]].indices
        for f, (train, test) in enumerate(plan.forward.design.folds):
            fit = NearestCentroid().fit(x[train][:, members], y[train])
            outcomes = fit.predict(x[test][:, members]) == y[test]
            points = plan.forward.design.fold_slices[f]
            expected = (plan.forward.sums[[f], points] * outcomes).sum()
            assert found.n_correct[region, f] == pytest.approx(expected)
        n_best = 0
        for train, test in plan.design.folds:
            fit = NearestCentroid().fit(x[train][:, members], y[train])
            n_best += (fit.predict(x[test][:, members]) == y[test]).sum()
        assert found.n_best[region] == n_best


@pytest.mark.parametrize("n_samples", [12, 16, 17, 47, 48])
def test_any_number_of_samples(n_samples, monkeypatch):
    y, runs = np.arange(n_samples) % 2, np.arange(n_samples) * 3 // n_samples
    plan = make_plan(y, runs)
    x = patterns(y, 60)
    counted = score_regions(x, spheres(), plan)
    monkeypatch.setattr("neuroextrap.margins._plan.COUNTED_FEATURES", 0)
    assert_same(counted, score_regions(x, spheres(), plan))


def test_tasks_of_many_features_store_their_margins(monkeypatch):
    y, runs = in_order()
    plan, x = make_plan(y, runs), patterns(y, 60)
    counted = score_regions(x, spheres(), plan)
    monkeypatch.setattr("neuroextrap.margins._plan.COUNTED_FEATURES", 0)
    monkeypatch.setattr(type(plan.observed_counter()), "__call__", None)
    assert_same(counted, score_regions(x, spheres(), plan))


def test_folds_need_not_be_runs(monkeypatch):
    y, runs = in_order()
    every = np.arange(len(y)) % 3
    cv = [(np.flatnonzero(every != f), np.flatnonzero(every == f)) for f in range(3)]
    plan, x = make_plan(y, runs, cv=cv), patterns(y, 60)
    assert plan.observed_counter() is not None
    counted = score_regions(x, spheres(), plan)
    monkeypatch.setattr("neuroextrap.margins._plan.COUNTED_FEATURES", 0)
    assert_same(counted, score_regions(x, spheres(), plan))


def mixed_within_parts():
    """Folds whose samples lie between one another's in the parts of forward tests."""
    y, runs = joined()
    order = np.random.default_rng(0).permutation(len(y))
    return make_plan(y[order], runs[order])


def every_sample_twice():
    y, runs = in_order()
    folds = [(np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in range(6)]
    return make_plan(y, runs, cv=2 * folds)


@pytest.mark.parametrize("make", [mixed_within_parts, every_sample_twice])
def test_other_folds_are_not_counted_at_once(make):
    plan = make()
    assert plan.observed_counter() is None
    x, y = patterns(plan.codes[0], 60), plan.codes[0]
    found = score_regions(x, spheres(), plan)
    n_best = 0
    for train, test in plan.design.folds:
        fit = NearestCentroid().fit(x[train], y[train])
        n_best += (fit.predict(x[test]) == y[test]).sum()
    assert found.n_best[61] == n_best


def test_permutations_and_pairs_are_not_counted_at_once():
    y, runs = in_order()
    plan = make_plan(y, runs)
    for change in (
        {"codes": np.stack([y, y[::-1]])},
        {"pairing": True},
        {"by_sums": True},
    ):
        options = {f.name: getattr(plan, f.name) for f in fields(plan) if f.init}
        assert Plan(**(options | change)).observed_counter() is None
