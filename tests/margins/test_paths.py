"""Sums over features or one region at a time: equal results, the faster one taken."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from neuroextrap import stats
from tests.margins.cases import unequal_design
from tests.margins.seam import (
    Design,
    GaussianNBMargins,
    NearestCentroidMargins,
    Plan,
    _engine,
    _paths,
    describe_paths,
    lattice_spheres,
    make_design,
    observed_margins,
    path_of,
    resolve_statistic,
    run_task,
    score_regions,
    with_path,
)


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
        assert not with_path(plan, atlas()).by_sums
    assert with_path(make_plan(kernel, 0), spheres()).by_sums


def test_many_labelings_of_spheres_are_done_with_grams():
    kernel = NearestCentroidMargins
    assert not with_path(make_plan(kernel, 500), spheres()).by_sums


def test_sums_too_large_to_hold_are_not_made(monkeypatch):
    plan = make_plan(NearestCentroidMargins, 0)
    monkeypatch.setattr(_paths, "_LARGEST_SUMS", 729 * plan.size - 1)
    assert not with_path(plan, spheres()).by_sums
    monkeypatch.setattr(_paths, "_LARGEST_SUMS", 729 * plan.size)
    assert with_path(plan, spheres()).by_sums


def test_whitened_samples_are_never_summed():
    plan = make_plan(NearestCentroidMargins, 0)
    whitened = replace(plan, whitener=lambda features, x: x)
    assert not with_path(whitened, spheres()).by_sums


def folds(n_classes, n_runs, *, grow=False, repeats=1):
    """Leave one run out, or train on all runs before."""
    runs = np.repeat(np.arange(n_runs), n_classes * repeats)
    pairs = [
        (np.flatnonzero(runs < r if grow else runs != r), np.flatnonzero(runs == r))
        for r in range(grow, n_runs)
    ]
    return Design(tuple(pairs), len(runs), n_classes)


def test_the_table_of_paths():
    """Classifier x shape -> path: eight classes in twelve runs, and what is larger."""
    usual, growing = folds(8, 12), folds(8, 12, grow=True)
    large, long = folds(40, 6), folds(8, 12, repeats=20)
    rows = {
        "": (usual, growing, large, long),
        "nearest_centroid": ("class sums", "growing folds", "class sums", "linear"),
        "gaussian_nb": ("linear", "linear", "linear", "linear"),
        "ridge": ("class sums", "growing folds", "linear", "linear"),
        "lda": ("class sums", "growing folds", "linear", "linear"),
        "qda": ("products", "products", "products", "products"),
    }
    designs = rows.pop("")
    for name, expected in rows.items():
        found = [path_of(name, 30, design, 1000) for design in designs]
        assert found == list(expected), name
    repeated = unequal_design()
    assert path_of("nearest_centroid", 30, repeated) == "class sums"
    assert path_of("lda", 30, usual, 1) == "products"  # one labeling
    several = folds(16, 8, repeats=2)  # features up to the classes, or to a fold
    assert [path_of("lda", p, several, 9) for p in (16, 17)] == ["linear", "class sums"]
    assert [path_of("ridge", p, several) for p in (32, 33)] == ["linear", "class sums"]
    assert path_of("ridge", 500, long) == "products"  # many features, one labeling
    assert path_of("ridge", 30, growing, penalized=False) == "class sums"


def test_paths_are_described():
    plan = make_plan(NearestCentroidMargins, 0)
    assert describe_paths(plan, spheres()) == {"tests": "sums over features"}
    permuted = make_plan(NearestCentroidMargins, 500)
    assert describe_paths(permuted, spheres()) == {"tests": "class sums"}


@KERNELS
def test_margins_of_a_region_are_those_of_the_run(kernel):
    plan = make_plan(kernel, 70)
    X = np.random.default_rng(1).normal(size=(30, 729)).astype(np.float32)
    scores = score_regions(X, atlas(), plan)
    for region in (0, 8):
        alone = observed_margins(X, atlas(), plan, region)
        wins = stats.win_distribution(alone, plan.codes[0][plan.design.test])
        np.testing.assert_allclose(scores.wins[region], wins, atol=1e-15)
