"""Contrasts over subjects against refits from scratch, scipy, and their level."""

import warnings
from itertools import permutations

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import ndimage
from scipy import stats as scipy_stats

from neuroextrap import stats
from neuroextrap.group import second_level_test, sign_flip_test
from tests.group.seam import (
    find_clusters,
    flipped,
    linear_test,
    permuted,
    read_group,
    threshold_free_enhancement,
)


def ordinary_t(design, y, contrast):
    """Student's t of a contrast by the textbook."""
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    residuals = y - design @ beta
    variance = (residuals**2).sum(axis=0) / (len(y) - design.shape[1])
    return contrast @ beta / np.sqrt(variance * (contrast @ inverse @ contrast))


def freedman_lane(design, y, column, orders):
    """Freedman-Lane as it is written: fit the nuisance, permute, add back, refit."""
    contrast = np.eye(design.shape[1])[column]
    nuisance = np.delete(design, column, axis=1)
    fitted = nuisance @ np.linalg.lstsq(nuisance, y, rcond=None)[0]
    rows = [
        ordinary_t(design, fitted + (y - fitted)[order], contrast) for order in orders
    ]
    return np.array(rows)


def naive_p_values(values):
    """p and family-wise p of rows of statistics, the observed one first."""
    reached = values >= values[0] - 1e-9
    largest = values.max(axis=1)
    fwe = [(largest >= v - 1e-9).mean() for v in values[0]]
    return reached.mean(axis=0), np.array(fwe)


def two_groups(n_first, n_second):
    first = np.repeat([1.0, 0.0], [n_first, n_second])
    return pd.DataFrame({"patients": first, "controls": 1 - first})


@pytest.mark.parametrize("two_sided", [False, True])
def test_all_permutations_of_a_covariate_equal_freedman_lane_from_scratch(two_sided):
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.normal(size=(5, 2)), np.ones(5)])
    y = rng.normal(size=(5, 7)) + design[:, :1]
    with pytest.warns(UserWarning, match="119 other"):
        maps = second_level_test(y, design, contrast=[1, 0, 0], two_sided=two_sided)
    rows = freedman_lane(design, y, 0, [list(o) for o in permutations(range(5))])
    p, p_fwe = naive_p_values(np.abs(rows) if two_sided else rows)
    np.testing.assert_allclose(maps["p_value"], p)
    np.testing.assert_allclose(maps["p_value_fwe"], p_fwe)
    np.testing.assert_allclose(maps["t"], rows[0])
    assert "p_value_fwe_tail" not in maps  # all arrangements are known


def test_two_groups_equal_scipys_exact_permutation_test():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(9, 4)) + np.r_[np.ones(4), np.zeros(5)][:, None]
    with pytest.warns(UserWarning, match="125 other"):
        maps = second_level_test(
            y, two_groups(4, 5), contrast="patients - controls", statistic="mean"
        )
    for voxel in range(4):
        expected = scipy_stats.permutation_test(
            (y[:4, voxel], y[4:, voxel]),
            lambda a, b: a.mean() - b.mean(),
            alternative="greater",
        )
        assert maps["p_value"][voxel] == pytest.approx(expected.pvalue)
        assert maps["effect"][voxel] == pytest.approx(expected.statistic)
    np.testing.assert_allclose(maps["t"], scipy_stats.ttest_ind(y[:4], y[4:]).statistic)


def test_without_a_design_it_is_the_sign_flip_test():
    y = np.random.default_rng(2).normal(size=(12, 9)) + 0.4
    maps = second_level_test(y, n_permutations=200, two_sided=True)
    flips = sign_flip_test(y, n_permutations=200, two_sided=True)
    for name in ("t", "p_value", "p_value_fwe"):
        np.testing.assert_array_equal(maps[name], flips[name])
    np.testing.assert_array_equal(maps["effect"], flips["mean"])


def test_the_design_may_be_written_in_many_ways():
    rng = np.random.default_rng(3)
    y, age = rng.normal(size=(14, 6)), rng.normal(size=14)
    groups = two_groups(6, 8).assign(age=age)
    options = {"n_permutations": 300}
    expected = second_level_test(y, groups, contrast="patients - controls", **options)
    treatment = pd.DataFrame({"one": 1, "patients": groups["patients"], "age": age * 9})
    for design, contrast in (
        (groups, [1, -1, 0]),
        (groups.to_numpy(), [1, -1, 0]),
        (treatment, "patients"),
    ):
        maps = second_level_test(y, design, contrast=contrast, **options)
        for name in ("effect", "t", "p_value", "p_value_fwe"):
            np.testing.assert_allclose(maps[name], expected[name])


def test_paired_images_are_differences():
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(2, 12, 5))
    paired = second_level_test(first, paired_imgs=second, n_permutations=99)
    direct = second_level_test(first - second, n_permutations=99)
    for name, values in direct.items():
        np.testing.assert_array_equal(paired[name], values)


@pytest.mark.filterwarnings("ignore:variance_groups has a group of")
def test_variance_groups_give_welch():
    rng = np.random.default_rng(5)
    y = rng.normal(size=(15, 6)) * np.r_[np.ones(6), 3 * np.ones(9)][:, None]
    group = np.repeat(["a", "b"], [6, 9])
    maps = second_level_test(
        y,
        two_groups(6, 9),
        contrast="patients - controls",
        variance_groups=group,
        n_permutations=50,
    )
    welch = scipy_stats.ttest_ind(y[:6], y[6:], equal_var=False).statistic
    np.testing.assert_allclose(maps["v"], welch)
    assert np.abs(maps["t"] - welch).max() > 0.01
    one = second_level_test(
        y,
        two_groups(6, 9),
        contrast="patients - controls",
        variance_groups=np.zeros(15),
        n_permutations=50,
    )
    np.testing.assert_allclose(one["v"], one["t"])
    np.testing.assert_array_equal(one["p_value"], one["p_value"])


@pytest.mark.filterwarnings("ignore:only .* distinct sign flips")
@pytest.mark.filterwarnings("ignore:variance_groups has a group of")
def test_groups_of_unequal_variance_are_not_exchanged():
    rng = np.random.default_rng(5)
    y = rng.normal(size=(9, 4)) * np.r_[np.ones(4), 3 * np.ones(5)][:, None]
    options = {
        "design_matrix": two_groups(4, 5),
        "contrast": "patients - controls",
        "variance_groups": np.repeat([0, 1], [4, 5]),
        "n_permutations": 100_000,
    }
    maps = second_level_test(y, **options)
    flips = np.array(np.meshgrid(*[[1, -1]] * 9)).reshape(9, -1).T
    flips = flips[np.argsort(-flips.sum(axis=1), kind="stable")]  # none flipped first
    left = y - y.mean(axis=0)
    values = [
        scipy_stats.ttest_ind((s * left.T).T[:4], (s * left.T).T[4:], equal_var=False)
        for s in flips
    ]
    p, fwe = naive_p_values(np.array([v.statistic for v in values]))
    np.testing.assert_allclose(maps["p_value"], p)
    np.testing.assert_allclose(maps["p_value_fwe"], fwe)
    options |= {"errors": "exchangeable", "n_permutations": 50}
    exchanged = second_level_test(y, **options)
    assert (exchanged["p_value"] != maps["p_value"]).any()


@pytest.mark.filterwarnings("ignore:variance_groups has a group of")
def test_v_of_a_covariate_is_the_formula_of_the_paper():
    rng = np.random.default_rng(6)
    group = np.repeat([0, 1], [7, 8])
    design = np.column_stack([rng.normal(size=15), group, 1 - group])
    y = rng.normal(size=(15, 3)) * (1 + group)[:, None]
    maps = second_level_test(
        y, design, contrast=[1, 0, 0], variance_groups=group, n_permutations=20
    )
    pseudo = np.linalg.pinv(design)
    forming = np.eye(15) - design @ pseudo
    for voxel in range(3):
        residuals = forming @ y[:, voxel]
        weight = np.empty(15)
        for g in (0, 1):
            of = group == g
            weight[of] = np.diag(forming)[of].sum() / (residuals[of] ** 2).sum()
        inverse = np.linalg.inv(design.T @ np.diag(weight) @ design)
        v = (pseudo @ y[:, voxel])[0] / np.sqrt(inverse[0, 0])
        assert maps["v"][voxel] == pytest.approx(v)


@pytest.mark.parametrize("n", [19, 20])
def test_small_variance_groups_are_told_on_the_page_too(n):
    rng = np.random.default_rng(21)
    imgs = [
        nibabel.Nifti1Image(rng.normal(size=(3, 3, 3)), np.diag([3.0, 3, 3, 1]))
        for _ in range(n + 20)
    ]
    options = {
        "design_matrix": two_groups(n, 20),
        "contrast": "patients - controls",
        "variance_groups": np.repeat(["a", "b"], [n, 20]),
        "n_permutations": 30,
    }
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        maps = second_level_test(imgs, **options)
    said = [str(w.message) for w in told if "variance_groups" in str(w.message)]
    assert len(said) == len(maps.findings_) == (n < 20)
    (result,) = read_group([maps])
    doubt = "but small p-values are too frequent if variances differ, because"
    assert (doubt in result.effects["doubt"]) == (n < 20)


def test_the_median_flips_signs():
    y = np.random.default_rng(7).normal(size=(6, 5)) + 0.5
    with pytest.warns(UserWarning, match="64 distinct"):
        maps = second_level_test(y, statistic="median", n_permutations=63)
    signs = np.array(np.meshgrid(*[[1, -1]] * 6)).reshape(6, -1).T
    rows = np.array([np.median(s[:, None] * y, axis=0) for s in signs])
    p, p_fwe = naive_p_values(rows)
    np.testing.assert_allclose(maps["median"], np.median(y, axis=0))
    np.testing.assert_allclose(maps["p_value"], p)
    np.testing.assert_allclose(maps["p_value_fwe"], p_fwe)


def test_subjects_that_lack_a_voxel_are_left_out_there():
    y = np.random.default_rng(8).normal(size=(11, 4)) + 0.5
    y[:3, 1] = np.nan
    y[:6, 2] = np.nan
    y[3] = np.nan  # one subject is empty
    maps = second_level_test(y, min_subjects=6, n_permutations=200)
    np.testing.assert_array_equal(maps["n_subjects"], [10, 7, np.nan, 10])
    for voxel in (0, 1, 3):
        known = y[np.isfinite(y[:, voxel]), voxel]
        expected = scipy_stats.ttest_1samp(known, 0).statistic
        assert maps["t"][voxel] == pytest.approx(expected)
        assert maps["effect"][voxel] == pytest.approx(known.mean())
    assert np.isnan(maps["p_value_fwe"][2])


def test_permutations_stay_within_blocks_or_move_whole_ones():
    test = linear_test(np.c_[np.arange(8.0), np.ones(8)], [1, 0])
    blocks = [0, 0, 0, 1, 1, 1, 2, 2]
    with pytest.warns(UserWarning, match="71 other"):
        within = permuted(
            test, blocks, whole_blocks=False, n_permutations=999, random_state=0
        )
    assert within.are_all
    assert len(np.unique(within.source, axis=0)) == 6 * 6 * 2
    for rows in ([0, 1, 2], [3, 4, 5], [6, 7]):
        np.testing.assert_array_equal(np.sort(within.source[:, rows]), [rows] * 72)
    with pytest.warns(UserWarning, match="1 other"):
        whole = permuted(
            test, blocks, whole_blocks=True, n_permutations=999, random_state=0
        )
    expected = [[0, 1, 2, 3, 4, 5, 6, 7], [3, 4, 5, 0, 1, 2, 6, 7]]
    np.testing.assert_array_equal(whole.source, expected)
    with pytest.warns(UserWarning, match="of 3 blocks"):
        signs = flipped(
            test,
            blocks,
            whole_blocks=True,
            two_sided=False,
            n_permutations=99,
            random_state=0,
        ).signs
    assert len(np.unique(signs, axis=0)) == 8
    assert (signs[:, [0, 3, 6]].repeat([3, 3, 2], axis=1) == signs).all()


def test_step_down_equals_the_array_function():
    rng = np.random.default_rng(9)
    y = rng.normal(size=(7, 12)) + np.r_[2 * np.ones(4), np.zeros(8)]
    with pytest.warns(UserWarning, match="128 distinct"):
        maps = second_level_test(y, step_down=True, n_permutations=127)
    signs = np.array(np.meshgrid(*[[1, -1]] * 7)).reshape(7, -1).T
    rows = np.array(
        [scipy_stats.ttest_1samp(s[:, None] * y, 0).statistic for s in signs]
    )
    others = rows[~(signs == 1).all(axis=1)]
    expected = stats.step_down_p_value(rows[(signs == 1).all(axis=1)][0] - 1e-9, others)
    np.testing.assert_allclose(maps["p_value_fwe_step_down"], expected)
    assert (maps["p_value_fwe_step_down"] <= maps["p_value_fwe"]).all()
    assert (maps["p_value_fwe_step_down"] < maps["p_value_fwe"]).any()


def lattice(shape):
    """Neighbors by faces of a full lattice, as pairs and as a sparse matrix."""
    number = np.arange(np.prod(shape)).reshape(shape)
    pairs = np.concatenate(
        [
            np.stack(
                [
                    np.moveaxis(number, axis, 0)[:-1].ravel(),
                    np.moveaxis(number, axis, 0)[1:].ravel(),
                ],
                axis=1,
            )
            for axis in range(3)
        ]
    )
    matrix = scipy.sparse.coo_array(
        (np.ones(len(pairs)), tuple(pairs.T)), shape=(number.size, number.size)
    )
    return pairs, matrix


def smooth_map(rng, shape, sigma=1.0):
    values = ndimage.gaussian_filter(rng.normal(size=shape), sigma)
    return 3 * values / values.std()


def test_clusters_equal_ndimage():
    shape = (6, 7, 5)
    values = smooth_map(np.random.default_rng(10), shape)
    clusters = find_clusters(values.ravel() - 2, lattice(shape)[0])
    labels, n_clusters = ndimage.label(values > 2)
    numbers = range(1, n_clusters + 1)
    extent = ndimage.sum_labels(np.ones(shape), labels, numbers)
    mass = ndimage.sum_labels(values - 2, labels, numbers)
    for name, expected in (("extent", extent), ("mass", mass)):
        spread = clusters.spread(getattr(clusters, name)).reshape(shape)
        naive = np.where(labels > 0, np.append(0, expected)[labels], 0)
        np.testing.assert_allclose(spread, naive)
    assert not find_clusters(values.ravel() - 99, lattice(shape)[0]).extent.size


def test_enhancement_equals_the_sum_over_many_small_steps():
    shape = (5, 6, 4)
    values = smooth_map(np.random.default_rng(11), shape)
    values[0, 0, :2] = values.max()  # a tie at the top
    n_steps = 1500
    step = values.max() / n_steps
    naive = np.zeros(shape)
    for height in (np.arange(n_steps) + 0.5) * step:
        labels, _ = ndimage.label(values >= height)
        extent = np.bincount(labels.ravel()).astype(float)
        extent[0] = 0
        naive += extent[labels] ** 0.5 * height**2 * step
    enhanced = threshold_free_enhancement(values.ravel(), lattice(shape)[0])
    assert np.abs(enhanced.reshape(shape) - naive).max() < 2e-3 * naive.max()
    nothing = threshold_free_enhancement(-np.abs(values.ravel()), lattice(shape)[0])
    assert not nothing.any()


@pytest.mark.parametrize("two_sided", [False, True])
def test_clusters_and_enhancement_equal_a_naive_loop(two_sided):
    shape = (4, 5, 3)
    pairs, matrix = lattice(shape)
    rng = np.random.default_rng(12)
    y = np.stack([smooth_map(rng, shape).ravel() for _ in range(7)]) + 3
    y[:, 30:] -= 6
    with pytest.warns(UserWarning, match="distinct"):
        maps = second_level_test(
            y,
            two_sided=two_sided,
            cluster_threshold=0.05,
            tfce=True,
            adjacency=matrix,
            n_permutations=200,
        )
    threshold = scipy_stats.t.isf(0.05 / (1 + two_sided), 6)
    signs = np.array(np.meshgrid(*[[1, -1]] * 7)).reshape(7, -1).T
    sides = (1, -1) if two_sided else (1,)
    maxima = {"cluster_extent": [], "cluster_mass": [], "tfce": []}
    for row in signs:
        t = scipy_stats.ttest_1samp(row[:, None] * y, 0).statistic
        found = [find_clusters(side * t - threshold, pairs) for side in sides]
        maxima["cluster_extent"].append(max(f.extent.max(initial=0) for f in found))
        maxima["cluster_mass"].append(max(f.mass.max(initial=0) for f in found))
        enhanced = [threshold_free_enhancement(side * t, pairs).max() for side in sides]
        maxima["tfce"].append(max(enhanced))
    for name, largest in maxima.items():
        value = np.abs(maps[name])
        reached = np.array(largest)[:, None] >= value - 1e-9 * (1 + value)
        expected = np.where(value > 0, reached.mean(axis=0), 1.0)
        np.testing.assert_allclose(maps[f"p_value_fwe_{name}"], expected)
    assert (maps["cluster_extent"] > 0).any()
    assert ((maps["tfce"] < 0).any()) == two_sided


def test_threads_and_batches_do_not_matter(monkeypatch):
    from tests.group.seam import _rearrangement_test

    rng = np.random.default_rng(13)
    y = rng.normal(size=(14, 60))
    options = {
        "contrast": "patients - controls",
        "n_permutations": 90,
        "tfce": True,
        "cluster_threshold": 0.05,
        "step_down": True,
        "adjacency": lattice((5, 4, 3))[1],
    }
    whole = second_level_test(y, two_groups(7, 7), **options)
    monkeypatch.setattr(_rearrangement_test, "_BATCH_NUMBERS", 60 * 7)
    parts = second_level_test(y, two_groups(7, 7), n_jobs=2, **options)
    for name, values in whole.items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-12)


def images(data):
    """One image for each subject from an array (n_subjects, nx, ny, nz)."""
    return [nibabel.Nifti1Image(volume, np.diag([3.0, 3, 3, 1])) for volume in data]


def test_images_have_neighbors_of_their_own():
    rng = np.random.default_rng(14)
    shape = (5, 4, 3)
    data = rng.normal(size=(9, *shape))
    data[:, 1:3, 1:3] += 1.5
    data[0, 4, 3, 2] = np.nan
    options = {"tfce": True, "cluster_threshold": 0.05, "n_permutations": 100}
    maps = second_level_test(images(data), **options)
    array = second_level_test(
        data.reshape(9, -1), adjacency=lattice(shape)[1], **options
    )
    for name, img in maps.items():
        np.testing.assert_allclose(img.get_fdata().ravel(), array[name], rtol=1e-6)
    assert np.isnan(maps["tfce"].get_fdata()[4, 3, 2])


def test_a_union_of_masks_is_tested_where_enough_subjects_have_the_voxel():
    data = np.random.default_rng(15).normal(size=(8, 4, 3, 2))
    data[0, 0] = np.nan
    data[1:, 1] = np.nan
    maps = second_level_test(images(data), min_subjects=7, n_permutations=50)
    n_subjects = maps["n_subjects"].get_fdata()
    assert (n_subjects[0] == 7).all()
    assert np.isnan(n_subjects[1]).all()
    assert (n_subjects[2:] == 8).all()


def test_surfaces_have_edges():
    from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

    # two hemispheres, each a strip of four triangles
    coordinates = np.array([[i, i % 2, 0.0] for i in range(6)])
    faces = np.array([[i, i + 1, i + 2] for i in range(4)])
    part = InMemoryMesh(coordinates, faces)
    mesh = PolyMesh(left=part, right=part)
    y = np.random.default_rng(16).normal(size=(9, 12)) + 0.6
    imgs = [SurfaceImage(mesh, {"left": row[:6], "right": row[6:]}) for row in y]
    sides = ((0, 1), (1, 2), (0, 2))
    edges = {tuple(sorted((f[a], f[b]))) for f in faces for a, b in sides}
    both = [(a + shift, b + shift) for a, b in edges for shift in (0, 6)]
    ends = tuple(np.transpose(both))
    matrix = scipy.sparse.coo_array((np.ones(len(both)), ends), (12, 12))
    options = {"tfce": True, "cluster_threshold": 0.2, "n_permutations": 60}
    maps = second_level_test(imgs, **options)
    array = second_level_test(y, adjacency=matrix, **options)
    for name, values in array.items():
        parts = maps[name].data.parts
        np.testing.assert_allclose(np.r_[parts["left"], parts["right"]], values)


def test_smoothing_the_variance_equals_scipy_on_a_full_volume():
    rng = np.random.default_rng(17)
    data = rng.normal(size=(8, 6, 5, 4))
    maps = second_level_test(images(data), variance_fwhm=6.0, n_permutations=50)
    sigma = 6.0 / np.sqrt(8 * np.log(2)) / 3.0
    variance = data.var(axis=0, ddof=1)
    weight = ndimage.gaussian_filter(np.ones(variance.shape), sigma, mode="constant")
    smoothed = ndimage.gaussian_filter(variance, sigma, mode="constant") / weight
    expected = data.mean(axis=0) / np.sqrt(smoothed / 8)
    np.testing.assert_allclose(maps["pseudo_t"].get_fdata(), expected, rtol=1e-6)


DESIGNS = {
    "mean": {},
    "two groups": {"design": two_groups(6, 9), "contrast": "patients - controls"},
    "covariate": {"design": "covariates", "contrast": "age"},
    "within blocks": {
        "design": "covariates",
        "contrast": "age",
        "blocks": np.arange(15) // 5,
    },
    "skewed": {"design": two_groups(6, 9), "contrast": "patients - controls"},
    "heteroscedastic": {
        "design": two_groups(7, 8),
        "contrast": "patients - controls",
        "variance_groups": np.repeat([0, 1], [7, 8]),
    },
}


@pytest.mark.filterwarnings("ignore:variance_groups has a group of 7:UserWarning")
@pytest.mark.parametrize("n_sets", [25, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DESIGNS)
def test_the_family_wise_level_holds(name, n_sets):
    rng = np.random.default_rng(18)
    options = dict(DESIGNS[name])
    design = options.pop("design", None)
    hits = dict.fromkeys(
        ("", "_step_down", "_cluster_extent", "_cluster_mass", "_tfce"), 0
    )
    for _ in range(n_sets):
        y = rng.normal(size=(15, 27))
        if name == "skewed":
            y = rng.exponential(size=(15, 27))
        if name == "heteroscedastic":
            y[7:] *= 2
        used = design
        if isinstance(design, str):
            covariates = rng.normal(size=(15, 2))
            used = pd.DataFrame(covariates, columns=["age", "iq"]).assign(one=1.0)
            y += 2 * covariates[:, 1:]
        maps = second_level_test(
            y,
            used,
            **options,
            cluster_threshold=0.05,
            tfce=True,
            step_down=True,
            two_sided=True,
            adjacency=lattice((3, 3, 3))[1],
            n_permutations=39,
            random_state=rng,
        )
        for key in hits:
            hits[key] += maps[f"p_value_fwe{key}"].min() <= 0.05
    for key, count in hits.items():
        p = scipy_stats.binomtest(count, n_sets, 0.05, alternative="greater").pvalue
        assert p > 1e-4, (key, count / n_sets)


def test_a_real_difference_is_found_and_nuisance_is_not():
    rng = np.random.default_rng(19)
    age, iq = rng.normal(size=(2, 30))
    y = rng.normal(size=(30, 40))
    y[:, :5] += 1.5 * age[:, None]
    y[:, 5:10] += 3.0 * iq[:, None]
    design = pd.DataFrame({"age": age, "iq": iq, "one": 1.0})
    maps = second_level_test(y, design, contrast="age", n_permutations=400)
    assert (maps["p_value_fwe"][:5] < 0.01).all()
    assert (maps["p_value_fwe"][5:] > 0.05).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contrast": "a"}, "needs a design_matrix"),
        ({"design": two_groups(3, 5)}, "one row per subject"),
        ({"design": two_groups(5, 5)}, "name what is tested"),
        ({"design": two_groups(5, 5), "contrast": "healthy"}, "neither a column"),
        ({"design": two_groups(5, 5), "contrast": "@pd.eval(1)"}, "columns by"),
        ({"design": two_groups(5, 5), "contrast": "patients - 1"}, "leave out const"),
        ({"design": two_groups(5, 5), "contrast": "patients**2"}, "leave out const"),
        ({"design": two_groups(5, 5), "contrast": [1, 0, 0]}, "one weight per"),
        ({"design": two_groups(5, 5), "contrast": [0, 0]}, "not all zero"),
        (
            {"design": two_groups(5, 5).assign(one=1), "contrast": "one"},
            "depend on one",
        ),
        (
            {"design": np.eye(10), "contrast": np.eye(10)[0]},
            "more subjects than columns",
        ),
        ({"design": np.full((10, 1), np.nan)}, "must be finite"),
        ({"design": np.array([["a"]] * 10)}, "numbers only"),
        ({"design": np.ones((10, 1)), "errors": "exchangeable"}, "permutations change"),
        (
            {
                "design": two_groups(5, 5),
                "contrast": "patients - controls",
                "blocks": [0] * 5 + [1] * 5,
            },
            "whole_blocks=True to exchange",
        ),
        ({"whole_blocks": True}, "needs blocks"),
        ({"blocks": [0, 1]}, "one entry per subject"),
        ({"statistic": "z"}, "must be one of"),
        ({"errors": "normal"}, "sign flips"),
        ({"two_sided": "x"}, "True or False"),
        ({"tfce": True}, "adjacency"),
        ({"tfce": True, "adjacency": np.eye(3)}, "one row and column"),
        ({"cluster_threshold": 3.1}, "p-value of a voxel"),
        ({"cluster_threshold": 0.01, "statistic": "mean"}, "statistic='t' only"),
        ({"variance_fwhm": 8.0}, "voxels of volumes"),
        ({"variance_fwhm": -1.0}, "positive .mm."),
        ({"variance_groups": [0] * 9 + [1]}, None),
        ({"min_subjects": 11}, "more than the 10"),
        ({"min_subjects": 1}, "at least 2"),
        (
            {"design": two_groups(5, 5), "contrast": [1, -1], "min_subjects": 9},
            "for the mean",
        ),
        ({"statistic": "median", "min_subjects": 9}, "goes with the statistics"),
        ({"paired_imgs": np.zeros((9, 4))}, "two maps of each subject"),
        ({"baseline": np.nan}, "finite number"),
        ({"n_permutations": 0}, "at least 1"),
    ],
)
def test_bad_options_are_named(options, words):
    y = np.random.default_rng(20).normal(size=(10, 4))
    options = dict(options)
    design = options.pop("design", None)
    if words is None:
        with pytest.raises(ValueError, match="variance_groups"):
            second_level_test(
                y,
                pd.DataFrame({"a": np.r_[np.ones(9), 0], "b": np.r_[np.zeros(9), 1]}),
                contrast="a - b",
                **options,
            )
        return
    with pytest.raises((ValueError, TypeError), match=words):
        second_level_test(y, design, **options)


@pytest.mark.real_data
def test_faces_survive_every_correction_and_agree_with_nilearn(real_data):
    from nilearn.glm.second_level import non_parametric_inference

    folder = real_data("contrasts_words_faces")
    faces = sorted(str(path) for path in folder.glob("faces_*.nii.gz"))
    data = [nibabel.load(path) for path in faces]
    common = np.all([np.isfinite(d.get_fdata()) & (d.dataobj != 0) for d in data], 0)
    mask = nibabel.Nifti1Image(common.astype(np.int8), data[0].affine)
    maps = second_level_test(
        faces, mask=mask, n_permutations=199, cluster_threshold=0.001
    )
    to_voxel = np.linalg.inv(mask.affine)
    for peak in ((42, -51, -18), (-40, -51, -18)):
        voxel = np.rint(nibabel.affines.apply_affine(to_voxel, peak)).astype(int)
        near = tuple(slice(i - 2, i + 3) for i in voxel)
        for name in ("", "_cluster_extent", "_cluster_mass"):
            assert np.nanmin(maps[f"p_value_fwe{name}"].get_fdata()[near]) <= 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = non_parametric_inference(
            faces,
            design_matrix=pd.DataFrame({"intercept": np.ones(16)}),
            mask=mask,
            n_perm=99,
            threshold=0.001,
            random_state=0,
        )
    t = theirs["t"].get_fdata()[common]
    np.testing.assert_allclose(maps["t"].get_fdata()[common], t, atol=1e-3)
    # nilearn gives clusters beside one another their own sizes, as we do
    extent = maps["cluster_extent"].get_fdata()[common]
    np.testing.assert_array_equal(extent, theirs["size"].get_fdata()[common])
    mass = maps["cluster_mass"].get_fdata()[common]
    np.testing.assert_allclose(mass, theirs["mass"].get_fdata()[common], rtol=1e-3)
    for name in ("size", "mass"):
        ours = maps[f"p_value_fwe_cluster_{ {'size': 'extent'}.get(name, name) }"]
        p = 10 ** -theirs[f"logp_max_{name}"].get_fdata()[common]
        clustered = extent > 0
        difference = np.abs(ours.get_fdata()[common] - p)[clustered]
        assert difference.max() < 4 * np.sqrt(0.25 * (1 / 100 + 1 / 200))


def naive_f(values, design, contrasts):
    """F by two least-squares fits, one with and one without the contrasts."""
    full, contrasts = np.asarray(design, dtype=float), np.atleast_2d(contrasts)
    kept = np.linalg.svd(contrasts)[2][np.linalg.matrix_rank(contrasts) :]
    squares, ranks = [], []
    for matrix in (full @ kept.T, full):
        fitted = matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]
        squares.append(np.square(values - fitted).sum(axis=0))
        ranks.append(np.linalg.matrix_rank(matrix))
    freedom = len(full) - ranks[1]
    return (squares[0] - squares[1]) / (ranks[1] - ranks[0]) / (squares[1] / freedom)


def three_groups(rng, n=18):
    groups = np.eye(3)[np.arange(n) % 3]
    design = pd.DataFrame(groups, columns=list("abc"))
    return design.assign(age=rng.normal(size=n))


@pytest.mark.parametrize("contrast", [["a - b", "b - c"], ["a - b", "b - c", "a - c"]])
def test_several_contrasts_are_tested_by_f(contrast):
    """Equal to two fits, whatever the contrasts are that span the same."""
    rng = np.random.default_rng(0)
    design, values = three_groups(rng), rng.normal(size=(18, 40))
    values[::3, 0] += 3
    maps = second_level_test(values, design, contrast=contrast, n_permutations=199)
    weights = np.array([[1, -1, 0, 0], [0, 1, -1, 0]])
    np.testing.assert_allclose(maps["f"], naive_f(values, design, weights))
    assert maps["p_value_fwe"][0] <= 0.05
    assert (maps["p_value_fwe"][1:] > 0.05).all()
    assert "t" not in maps
    assert "effect" not in maps
    one = second_level_test(
        values, design, contrast=[contrast[0]], n_permutations=199, random_state=3
    )
    t = second_level_test(
        values,
        design,
        contrast=contrast[0],
        n_permutations=199,
        two_sided=True,
        random_state=3,
    )
    np.testing.assert_allclose(one["f"], t["t"] ** 2)
    np.testing.assert_array_equal(one["p_value_fwe"], t["p_value_fwe"])


def test_f_refuses_what_it_has_not():
    design = three_groups(np.random.default_rng(0))
    values = np.random.default_rng(1).normal(size=(18, 5))
    for more in (
        {"statistic": "mean"},
        {"variance_groups": np.arange(18) % 2},
    ):
        with pytest.raises(ValueError, match="tested by F with one variance"):
            second_level_test(values, design, contrast=["a - b", "b - c"], **more)


def test_f_holds_its_level():
    """With a nuisance covariate that goes with the groups, in skewed data."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        design = three_groups(rng, 15)
        design["age"] += design["a"]
        values = rng.exponential(size=(15, 20)) + design[["age"]].to_numpy()
        maps = second_level_test(
            values, design, contrast=["a - b", "b - c"], n_permutations=99
        )
        found.append(maps["p_value_fwe"].min() <= 0.05)
    assert np.mean(found) <= 0.05 + 2.6 * (0.05 * 0.95 / 200) ** 0.5
