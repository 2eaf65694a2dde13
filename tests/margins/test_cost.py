"""Memory asked for against memory taken, for spheres, atlases and whole masks."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from tests.margins.seam import (
    MarginKernel,
    Plan,
    estimate_memory,
    estimate_seconds,
    lattice_spheres,
    make_design,
    resolve_classifier,
    resolve_statistic,
    score_regions,
)
from tests.margins.seam import _resources as _cost

_FACTOR = 4  # an estimate is at least the peak, and at most so many times the peak


def spheres():
    """2,744 spheres of up to 57 voxels."""
    mask = np.ones((14, 14, 14), dtype=bool)
    return lattice_spheres(mask, np.diag([3.0, 3, 3, 1]), 7.0)


def slabs(n_regions, n_features=10_000):
    """Return an atlas; of one region, the whole mask."""
    owner = np.arange(n_features) * n_regions // n_features
    members = (np.ones(n_features, dtype=bool), (owner, np.arange(n_features)))
    return scipy.sparse.csr_array(members, shape=(n_regions, n_features))


REGIONS = {"spheres": spheres, "atlas": lambda: slabs(40), "mask": lambda: slabs(1)}


def make_plan(classifier, n_classes, n_runs, n_permutations):
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(n_classes), n_runs), np.repeat(range(n_runs), n_classes)
    permuted = [
        np.concatenate([rng.permutation(n_classes) for _ in range(n_runs)])
        for _ in range(n_permutations)
    ]
    return Plan(
        kernel=resolve_classifier(classifier),
        design=make_design(y, n_classes, groups=runs),
        codes=np.stack([y, *permuted]),
        statistic=resolve_statistic("accuracy", n_classes, [2, n_classes]),
    )


@pytest.mark.parametrize("shape", REGIONS)
@pytest.mark.parametrize(
    ("classifier", "n_classes", "n_runs", "n_permutations"),
    [
        ("nearest_centroid", 8, 24, 0),
        ("nearest_centroid", 60, 4, 4),
        ("gaussian_nb", 8, 24, 0),
        ("ridge", 8, 24, 4),
        ("lda", 8, 24, 0),
        ("nearest_neighbor", 40, 6, 0),
    ],
)
def test_estimate_is_near_the_peak(
    shape, classifier, n_classes, n_runs, n_permutations
):
    members = REGIONS[shape]()
    plan = make_plan(classifier, n_classes, n_runs, n_permutations)
    X = np.random.default_rng(1).standard_normal(
        (plan.design.n_samples, members.shape[1]), dtype=np.float32
    )
    summed = classifier in ("nearest_centroid", "gaussian_nb") and not n_permutations
    if shape == "spheres" and not summed:  # a few tasks are enough
        members = members[::40]
    score_regions(X, members[:1], plan)  # imports
    again = make_plan(classifier, n_classes, n_runs, n_permutations)
    tracemalloc.start()
    score_regions(X, members, again)
    peak = X.nbytes + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimate_memory(X, members, plan) <= _FACTOR * peak


@pytest.mark.parametrize("n_permutations", [0, 3])
@pytest.mark.parametrize(
    ("classifier", "factor"),
    # ridge may need double precision, which its penalty decides later
    [("nearest_centroid", 2), ("gaussian_nb", 2), ("ridge", 3)],
)
def test_estimate_for_many_samples_is_nearer(classifier, factor, n_permutations):
    plan = make_plan(classifier, 300, 12, n_permutations)
    whole = slabs(1, 20)
    X = np.random.default_rng(1).standard_normal((3600, 20), dtype=np.float32)
    score_regions(X, whole, plan)  # imports
    again = make_plan(classifier, 300, 12, n_permutations)
    assert again.kernel.direct_bytes(20, again.design) is not None
    linear = again.kernel.direct_bytes(2000, again.design) is not None
    assert linear == (classifier != "ridge")
    tracemalloc.start()
    score_regions(X, whole, again)
    peak = X.nbytes + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimate_memory(X, whole, plan) <= factor * peak


def test_regions_that_share_work_are_timed_together(monkeypatch):
    plan, members = make_plan("nearest_centroid", 8, 24, 0), spheres()
    plan = replace(plan, by_sums=True)
    X = np.zeros((192, members.shape[1]), dtype=np.float32)
    timed = []

    def seconds(X, regions, plan, rows):
        timed.append(rows)
        return 0.5

    monkeypatch.setattr(_cost, "_seconds", seconds)
    estimate = estimate_seconds(X, members, plan)
    first = (members.shape[0] - min(plan.task_size, members.shape[0])) // 2
    np.testing.assert_array_equal(timed[1], first + np.arange(len(timed[1])))
    assert estimate == pytest.approx(0.5 * members.shape[0] / len(timed[1]))


def test_two_workers_take_more_than_one_but_only_if_there_is_work_for_them():
    plan = make_plan("ridge", 8, 6, 2)
    X = np.zeros((48, 10_000), dtype=np.float32)
    for members, more in ((slabs(400), True), (slabs(40), False)):
        one, two = (estimate_memory(X, members, plan, n) for n in (1, 2))
        assert (two > one) == more


class SlowMargins(MarginKernel):
    """Refitted for every fold, labeling and region, two seconds each, by its clock."""

    refits = True

    def __init__(self, kernel):
        self.kernel = kernel
        self.seconds = 0.0

    def prepare(self, xs, design):
        return len(xs) * len(design.folds), self.kernel.prepare(xs, design)

    def margins(self, state, labelings):
        n_fits, state = state
        self.seconds += 2.0 * labelings.n_labelings * n_fits
        return self.kernel.margins(state, labelings)


@pytest.mark.parametrize("n_permutations", [0, 3, 1000])
def test_seconds_of_a_classifier_that_is_refitted(n_permutations, monkeypatch):
    plan = make_plan("nearest_centroid", 4, 5, n_permutations)
    kernel = SlowMargins(plan.kernel)
    plan = replace(plan, kernel=kernel)
    regions = slabs(6, 60)
    X = np.random.default_rng(0).normal(size=(20, 60)).astype(np.float32)
    monkeypatch.setattr(_cost.time, "process_time", lambda: kernel.seconds)
    estimate = estimate_seconds(X, regions, plan)
    assert kernel.seconds <= 2.0 * 5  # fits of one fold
    kernel.seconds = 0.0
    score_regions(X, regions, plan)
    assert estimate == pytest.approx(kernel.seconds, rel=1e-9)


def test_seconds_of_a_single_labeling_that_takes_long(monkeypatch):
    plan = make_plan("nearest_centroid", 4, 5, 0)
    kernel = SlowMargins(plan.kernel)
    monkeypatch.setattr(_cost, "_SECONDS", 1.0)  # less than a region takes
    monkeypatch.setattr(_cost.time, "process_time", lambda: kernel.seconds)
    X = np.random.default_rng(0).normal(size=(20, 60)).astype(np.float32)
    seconds = estimate_seconds(X, slabs(6, 60), replace(plan, kernel=kernel))
    assert seconds == pytest.approx(6 * 5 * 2.0)


def test_tasks_of_a_classifier_that_is_refitted_are_small():
    fast = make_plan("nearest_centroid", 4, 5, 1000)
    slow = replace(fast, kernel=SlowMargins(fast.kernel), by_sums=False)
    assert replace(fast, by_sums=False).task_size == 128
    assert slow.task_size == 1
    assert replace(slow, codes=slow.codes[:1]).task_size == 128
