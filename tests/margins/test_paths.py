"""Sums over features or one region at a time: equal results, the faster one taken."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from neuroextrap import stats
from neuroextrap.design._folds import make_design
from neuroextrap.margins import _engine, _paths
from neuroextrap.margins._engine import observed_margins, score_regions
from neuroextrap.margins._paths import work_of_a_task
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins._task import run_task
from neuroextrap.margins.classifiers._naive_bayes import GaussianNBMargins
from neuroextrap.margins.classifiers._nearest_centroid import NearestCentroidMargins
from neuroextrap.regions._lattice import lattice_spheres


def spheres():
    """Regions that overlap: every voxel is in up to 33 of them."""
    return lattice_spheres(np.ones((9, 9, 9), dtype=bool), np.eye(4), 2.0)


def atlas():
    """Nine regions of 81 voxels that share none."""
    owner = np.repeat(np.arange(9), 81)
    members = np.ones(729, dtype=bool)
    return scipy.sparse.csr_array((members, (owner, np.arange(729))), shape=(9, 729))


def make_plan(kernel, n_permutations):
    """Six classes in five runs, leave one run out."""
    y, runs = np.tile(np.arange(6), 5), np.repeat(np.arange(5), 6)
    codes = y[None]
    if n_permutations:
        permuted = stats.permute_labels(
            y, groups=runs, n_permutations=n_permutations, random_state=0
        )
        codes = np.concatenate([codes, permuted])
    return Plan(
        kernel=kernel(),
        design=make_design(y, 6, groups=runs),
        codes=codes,
        statistic=resolve_statistic("accuracy", 6, [2, 6]),
    )


KERNELS = pytest.mark.parametrize("kernel", [NearestCentroidMargins, GaussianNBMargins])


@KERNELS
@pytest.mark.parametrize("members", [spheres(), atlas()], ids=["spheres", "atlas"])
@pytest.mark.parametrize("n_permutations", [0, 70])
def test_both_paths_give_equal_results(kernel, members, n_permutations):
    plan = make_plan(kernel, n_permutations)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 729)) + rng.normal(size=(6, 729))[plan.codes[0]] / 4
    rows = np.arange(9) * (members.shape[0] // 9)
    task = _engine.task_data(X.astype(np.float32), members, rows)
    one, other = (run_task(replace(plan, by_sums=sums), task) for sums in (0, 1))
    for name in ("wins", "score", "n_reached", "maxima"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@KERNELS
def test_a_map_of_spheres_is_summed_and_an_atlas_is_not(kernel):
    for n_permutations in (0, 3):
        plan = make_plan(kernel, n_permutations)
        assert not _engine.with_path(plan, atlas()).by_sums
    assert _engine.with_path(make_plan(kernel, 0), spheres()).by_sums


def test_many_labelings_of_spheres_are_done_with_grams():
    kernel = NearestCentroidMargins
    assert not _engine.with_path(make_plan(kernel, 500), spheres()).by_sums


def test_sums_too_large_to_hold_are_not_made(monkeypatch):
    plan = make_plan(NearestCentroidMargins, 0)
    monkeypatch.setattr(_paths, "_LARGEST_SUMS", 729 * plan.size - 1)
    assert not _engine.with_path(plan, spheres()).by_sums
    monkeypatch.setattr(_paths, "_LARGEST_SUMS", 729 * plan.size)
    assert _engine.with_path(plan, spheres()).by_sums


def test_whitened_samples_are_never_summed():
    plan = make_plan(NearestCentroidMargins, 0)
    whitened = replace(plan, whitener=lambda features, x: x)
    assert not _engine.with_path(whitened, spheres()).by_sums


def test_work_is_counted():
    plan = make_plan(GaussianNBMargins, 4)
    members = atlas()[[0, 3, 3, 5]]
    assert work_of_a_task(plan, members, 10) == (4, 243, 324, 5, 243)
    assert work_of_a_task(plan, members, 2) == (2, 81, 162, 5, 81)
    whitened = replace(plan, whitener=lambda features, x: x)
    assert work_of_a_task(whitened, members, 10) == (4, 243, 324, 5, None)


@KERNELS
def test_margins_of_a_region_are_those_of_the_run(kernel):
    plan = make_plan(kernel, 70)
    X = np.random.default_rng(1).normal(size=(30, 729)).astype(np.float32)
    scores = score_regions(X, atlas(), plan)
    for region in (0, 8):
        alone = observed_margins(X, atlas(), plan, region)
        wins = stats.win_distribution(alone, plan.codes[0][plan.design.test])
        np.testing.assert_allclose(scores.wins[region], wins, atol=1e-15)
