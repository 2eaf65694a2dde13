"""Prevalence inference against enumeration, its definition, and simulated groups."""

import warnings
from itertools import product

import nibabel
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import group_information, prevalence_test
from tests.group.seam import read_columns


@pytest.fixture(autouse=True)
def _few_permutations_are_fine_here():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* leave p_value_prevalence")
        yield


def naive(scores, null, gamma, alpha):
    """Every combination of one map a subject, one voxel and one line at a time."""
    n, n_features = scores.shape
    maps = np.concatenate([scores[:, None], null], axis=1)
    minima = np.array(
        [
            [min(maps[k, i, v] for k, i in enumerate(pick)) for v in range(n_features)]
            for pick in product(range(maps.shape[1]), repeat=n)
        ]
    )
    found = {"minimum": minima[0]}
    p = np.array([np.mean(minima[:, v] >= minima[0, v]) for v in range(n_features)])
    largest = minima.max(axis=1)
    p_fwe = np.array([np.mean(largest >= m) for m in minima[0]])
    found |= {"p_value": p, "p_value_fwe": p_fwe}
    grid = np.linspace(0, 1, 100_001)  # the bound by its meaning, not by its formula
    for suffix, n_tests in (("", 1), ("_fwe", n_features)):
        prevalence, bound = np.ones(n_features), np.zeros(n_features)
        for v in range(n_features):
            own = [
                sum(value >= scores[k, v] for value in maps[k, :, v]) / len(maps[k])
                for k in range(n)
            ]
            q = n_tests * ((1 - gamma) * max(own) + gamma) ** n
            prevalence[v] = min(1, q)
            q = n_tests * ((1 - grid) * max(own) + grid) ** n
            bound[v] = grid[q <= alpha].max(initial=0)
        found[f"p_value_prevalence{suffix}"] = prevalence
        found[f"prevalence_bound{suffix}"] = bound
    return found


def test_equals_enumeration():
    rng = np.random.default_rng(1)
    null = rng.normal(size=(4, 5, 7))
    scores = rng.normal(size=(4, 7)) + np.array([3, 2, 1, 0, 0, 0.5, 5])
    found = prevalence_test(scores, null, gamma=0.3, confidence_level=0.9)
    expected = naive(scores, null, 0.3, 0.1)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=2e-5, err_msg=name)
    assert (found["prevalence_bound"] > 0).any()
    assert (found["prevalence_bound_fwe"] > 0).any()


def test_ties_count_against_the_observed():
    rng = np.random.default_rng(2)
    null = rng.integers(0, 3, size=(3, 4, 6)).astype(float)
    scores = rng.integers(0, 4, size=(3, 6)).astype(float)
    found = prevalence_test(scores, null)
    expected = naive(scores, null, 0.5, 0.05)
    for name in ("p_value", "p_value_fwe", "p_value_prevalence"):
        np.testing.assert_allclose(found[name], expected[name])


def test_random_combinations_come_close_to_all_of_them():
    rng = np.random.default_rng(3)
    null, scores = rng.normal(size=(5, 7, 4)), rng.normal(size=(5, 4)) + 0.5
    every = prevalence_test(scores, null, n_permutations=8**5)
    some = prevalence_test(scores, null, n_permutations=8**5 - 1)
    p, near = every["p_value_fwe"], some["p_value_fwe"]
    assert (np.abs(near - p) < 5 * np.sqrt(p * (1 - p) / 8**5) + 1e-3).all()
    few = prevalence_test(scores, null, n_permutations=2)
    for name in ("p_value", "prevalence_bound", "p_value_prevalence_fwe"):
        np.testing.assert_array_equal(few[name], every[name])
    assert (few["p_value_fwe"] >= few["p_value"]).all()
    again = prevalence_test(scores, null, n_permutations=500, random_state=9)
    same = prevalence_test(scores, null, n_permutations=500, random_state=9)
    np.testing.assert_array_equal(again["p_value_fwe"], same["p_value_fwe"])


def test_p_value_has_no_floor_but_that_of_the_permuted_maps():
    """Seven subjects far above 99 permuted maps each, whose spreads differ."""
    rng = np.random.default_rng(4)
    null = rng.normal(size=(7, 99, 1)) * rng.uniform(1, 9, size=(7, 1, 1))
    found = prevalence_test(np.full((7, 1), 60.0), null, n_permutations=50)
    assert found["p_value"][0] == pytest.approx(100.0**-7)
    assert found["p_value_fwe"][0] == 1 / 50
    # and the prevalence that these numbers can show is that of the formula
    expected = (0.05 ** (1 / 7) - 0.01) / 0.99
    assert found["prevalence_bound"][0] == pytest.approx(expected)
    assert found["p_value_prevalence"][0] == pytest.approx(0.505**7)


def test_blocks_of_features_do_not_matter(monkeypatch):
    from tests.group.seam import _first_levels

    rng = np.random.default_rng(4)
    null, scores = rng.normal(size=(4, 9, 23)), rng.normal(size=(4, 23))
    whole = prevalence_test(scores, null, n_permutations=300)
    monkeypatch.setattr(_first_levels, "_BATCH_BYTES", 8 * 610 * 8)
    parts = prevalence_test(scores, null, n_permutations=300)
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name])


def test_features_without_a_value_are_left_out():
    rng = np.random.default_rng(5)
    null, scores = rng.normal(size=(4, 9, 6)), rng.normal(size=(4, 6))
    scores[2, [1, 4]] = np.nan
    null[:, :, 1] = np.nan  # not read, so no error
    found = prevalence_test(scores, null, n_permutations=200)
    kept = [0, 2, 3, 5]
    alone = prevalence_test(scores[:, kept], null[:, :, kept], n_permutations=200)
    for name, value in found.items():
        assert np.isnan(value[[1, 4]]).all()
        np.testing.assert_array_equal(value[kept], alone[name])


def test_files_and_unequal_numbers_of_permutations(tmp_path):
    rng = np.random.default_rng(6)
    nulls = [rng.normal(size=(n, 5)).astype(np.float32) for n in (3, 4, 6)]
    scores = rng.normal(size=(3, 5))
    paths = []
    for k, null in enumerate(nulls):
        paths.append(tmp_path / f"null{k}.npy")
        np.save(paths[-1], null)
    from_files = prevalence_test(scores, paths)
    from_arrays = prevalence_test(scores, nulls)
    for name in from_files:
        np.testing.assert_array_equal(from_files[name], from_arrays[name])
    assert (from_files["p_value"] * 4 * 5 * 7 >= 1 - 1e-9).all()


def test_searchlights_with_saved_null_maps(tmp_path):

    affine, shape = np.diag([3.0, 3, 3, 1]), (4, 4, 3)
    mask = nibabel.Nifti1Image(np.ones(shape, dtype=np.int8), affine)
    y, runs = np.tile(np.arange(3), 5), np.repeat(np.arange(5), 3)
    images, paths = [], []
    for subject in range(6):
        rng = np.random.default_rng(subject)
        data = rng.normal(size=(*shape, 15))
        data[:2, :2, :2] += 3 * rng.normal(size=(2, 2, 2, 3))[..., y]
        paths.append(tmp_path / f"null_{subject}.npy")
        fitted = IdentificationSearchLight(
            mask, radius=3, n_permutations=40, keep=paths[-1]
        ).fit(nibabel.Nifti1Image(data, affine), y, groups=runs)
        images.append(fitted.maps_["accuracy"])
    found = prevalence_test(images, paths, mask=mask, n_permutations=2000)
    p = found["p_value_fwe"].get_fdata()
    assert p.shape == shape
    assert p[0, 0, 0] < 0.01
    assert found["prevalence_bound"].get_fdata()[0, 0, 0] > 0.3
    assert np.median(p[3]) > 0.2
    record = {r.name: r for r, _ in found.described()}["p_value_fwe"]
    assert "that no subject carries information" in record.description
    own_mask = prevalence_test(images, paths, n_permutations=2000)
    np.testing.assert_array_equal(p, own_mask["p_value_fwe"].get_fdata())


def group(rng, n_subjects, prevalence, n_features=1, effect=50.0, n_permutations=29):
    """Scores of subjects of whom a fraction carries a strong effect, and nulls."""
    carries = rng.random((n_subjects, 1)) < prevalence
    scores = rng.normal(size=(n_subjects, n_features)) + effect * carries
    return scores, rng.normal(size=(n_subjects, n_permutations, n_features))


def rejection_rate(n_simulations, prevalence, key, n_permutations=2, **options):
    """How often a p-value of the group is at most .05 (a voxel of several: any).

    Only family-wise p-values of no information come from the permutations.
    """
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(n_simulations):
        scores, null = group(rng, 8, prevalence, **options)
        found = prevalence_test(
            scores, null, gamma=0.5, n_permutations=n_permutations, random_state=rng
        )
        hits += bool((found[key] <= 0.05).any())
    return hits / n_simulations


def test_global_null_keeps_its_level_and_its_family_wise_level():
    error = np.sqrt(0.05 * 0.95 / 400)
    rate = rejection_rate(400, 0.0, "p_value")
    assert abs(rate - 0.05) < 3.5 * error
    rate = rejection_rate(400, 0.0, "p_value_fwe", 300, n_features=10)
    assert abs(rate - 0.05) < 3.5 * error


def test_p_values_of_the_global_null_are_uniform():
    rng = np.random.default_rng(8)
    scores, null = group(rng, 6, 0.0, n_features=3000, n_permutations=19)
    p = prevalence_test(scores, null, n_permutations=400)["p_value"]
    for level in (0.05, 0.2, 0.5, 0.8):
        error = np.sqrt(level * (1 - level) / 3000)
        assert abs(np.mean(p <= level) - level) < 4 * error + 1 / 400


def test_half_the_population_is_not_a_majority():
    # everyone of 8 carries the effect with probability .5 ** 8 = .004 only
    rate = rejection_rate(500, 0.5, "p_value_prevalence")
    assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_prevalence_bound_covers():
    rng = np.random.default_rng(9)
    for prevalence in (0.3, 0.8):
        n = 4000
        scores = np.concatenate(
            [group(rng, 8, prevalence, n_permutations=2)[0] for _ in range(n)], axis=1
        )
        null = rng.normal(size=(8, 29, n))
        bound = prevalence_test(scores, null, n_permutations=2)["prevalence_bound"]
        above = np.mean(bound > prevalence)
        assert above <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    assert (bound > 0.3).any()


def largest_bound_above(truth, n_features, n_sets):
    """Share of studies whose largest corrected bound is above the prevalence.

    Every voxel has carriers of its own.
    """
    rng, above = np.random.default_rng(12), 0
    for _ in range(n_sets):
        carries = rng.random((8, n_features)) < truth
        scores = rng.normal(size=carries.shape) + 6 * carries
        null = rng.normal(size=(8, 60, n_features))
        found = prevalence_test(scores, null, gamma=truth, n_permutations=2)
        above += bool(found["prevalence_bound_fwe"].max() > truth)
        minority = found["p_value_prevalence_fwe"].min() <= 0.05
        assert minority == (found["prevalence_bound_fwe"].max() >= truth)
    return above / n_sets


@pytest.mark.parametrize(("truth", "n_features"), [(0.4, 200), (0.4, 40), (0.1, 40)])
def test_no_bound_is_above_a_prevalence_that_all_voxels_have(truth, n_features):
    n_sets = 60
    above = largest_bound_above(truth, n_features, n_sets)
    assert above <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_sets)


def test_permuted_maps_of_carriers_may_have_another_spread():
    """Smallest scores would call a majority in .08 of these voxels."""
    rng, n = np.random.default_rng(13), 5000
    carries = rng.random((8, n)) < 0.5
    scores = rng.normal(size=(8, n)) + 50 * carries
    null = rng.normal(size=(8, 59, n)) * np.where(carries, 0.3, 1.0)[:, None]
    p = prevalence_test(scores, null, n_permutations=50)["p_value_prevalence"]
    assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    assert np.mean(p <= 0.05) > 0.03


def test_corrected_bounds_are_never_larger_and_equal_for_one_voxel():
    rng = np.random.default_rng(14)
    scores, null = rng.normal(size=(20, 30)) + 5, rng.normal(size=(20, 99, 30))
    found = prevalence_test(scores, null, n_permutations=100)
    assert (found["prevalence_bound_fwe"] < found["prevalence_bound"]).all()
    assert (found["prevalence_bound_fwe"] > 0.5).any()
    one = prevalence_test(scores[:, :1], null[..., :1], n_permutations=100)
    for name in ("prevalence_bound", "p_value_prevalence"):
        np.testing.assert_array_equal(one[f"{name}_fwe"], one[name])


BAD = [
    ({"gamma": 1.0}, "gamma must lie strictly"),
    ({"confidence_level": 95}, "confidence_level must lie strictly"),
    ({"n_permutations": 1}, "n_permutations=1 must be"),
    ({"mask": "some.nii"}, "mask must be None"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        prevalence_test(np.zeros((3, 2)), np.zeros((3, 4, 2)), **options)


def test_bad_data_is_named():
    scores, null = np.zeros((3, 2)), np.zeros((3, 4, 2))
    with pytest.raises(ValueError, match="has 2 subjects, scores has 3"):
        prevalence_test(scores, null[:2])
    with pytest.raises(ValueError, match=r"null_scores\[0\] has 1 features"):
        prevalence_test(scores, null[:, :, :1])
    with pytest.raises(ValueError, match=r"null_scores\[0\] has shape"):
        prevalence_test(scores, null[:, 0])
    with pytest.raises(ValueError, match="at least two subjects"):
        prevalence_test(scores[:1], null[:1])
    with pytest.raises(ValueError, match="finite in all 3 subjects"):
        prevalence_test(scores * np.nan, null)
    with pytest.raises(ValueError, match=r"null_scores\[1\] has NaN"):
        prevalence_test(scores, [null[0], null[1] * np.nan, null[2]])
    with pytest.raises(ValueError, match="is a float"):
        prevalence_test(scores, 1.0)
    with pytest.raises(ValueError, match=r"null_scores\[0\] must be an array"):
        prevalence_test(scores, ["a.nii"] * 3)


def test_too_few_combinations_are_warned_about():
    scores, null = np.ones((4, 1)), np.zeros((4, 9, 1))
    with pytest.warns(UserWarning, match="at or above 0.0915 for gamma=0.5"):
        found = prevalence_test(scores, null, n_permutations=1000)
    assert found["p_value_prevalence"][0] == pytest.approx(0.55**4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prevalence_test(np.ones((5, 1)), np.zeros((5, 19, 1)), n_permutations=100)


@pytest.mark.real_data
def test_fingers_of_twelve_hemispheres(real_data, tmp_path):
    """Every hemisphere tells ten fingers apart: a majority does, whatever the units."""
    from scipy.io import loadmat

    path = real_data("fingerhands_pcm") / "data_recipe_correlation.mat"
    content = loadmat(path, squeeze_me=True)
    scores, nulls, fitted = [], [], []
    for index in range(12):
        y, runs = content["condVec"][index], content["partVec"][index]
        null = tmp_path / f"{index}.npy"
        light = IdentificationSearchLight(
            estimator="ridge",
            shrinkage=10.0,
            within_runs="center",
            n_permutations=100,
            keep=null,
        )
        light.fit(content["Data"][index], y, groups=runs)
        scores.append(light.region_scores_["accuracy"])
        nulls.append(np.load(null))
        fitted.append(light)
    maps = prevalence_test(np.array(scores), np.array(nulls))
    assert maps["minimum"][0] == pytest.approx(0.51, abs=0.02)
    assert maps["p_value"][0] < 1e-20
    # with no permuted score as high, the bound is that of the numbers alone
    expected = (0.05 ** (1 / 12) - 1 / 101) / (1 - 1 / 101)
    assert expected > 0.7
    assert maps["prevalence_bound"][0] == pytest.approx(expected)
    assert maps["p_value_prevalence"][0] < 0.05
    information = group_information(fitted)
    assert information["accuracy"][0] == pytest.approx(np.mean(scores))
    assert 0.1 < information["population_bayes_accuracy_bound"][0] < np.mean(scores)
    # permuted labels pass for observed ones no more often than they should
    permuted = np.array(nulls)
    p_values = [
        prevalence_test(
            permuted[:, b], np.delete(permuted, b, axis=1), n_permutations=2
        )["p_value"][0]
        for b in range(100)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.13  # four standard errors


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_read_of_files_is_a_copy(tmp_path, order):
    """Whole files mapped into memory would count as this process's memory."""
    data = np.asarray(np.random.default_rng(0).normal(size=(7, 20)), order=order)
    np.save(tmp_path / "null.npy", data)
    null = np.load(tmp_path / "null.npy", mmap_mode="r")
    for features in (np.arange(3, 9), np.array([1, 4, 19])):
        found = read_columns([null], 0, features)
        np.testing.assert_array_equal(found, data[:, features])
        assert type(found) is np.ndarray
        assert found.base is None
        assert not np.shares_memory(found, null)


@pytest.mark.parametrize("part", [np.s_[10:], np.s_[:, ::2], np.s_[::-1]])
def test_parts_of_mapped_files_are_these_parts(part, tmp_path):
    rng = np.random.default_rng(0)
    nulls = rng.normal(size=(4, 30, 6))
    for number, null in enumerate(nulls):
        np.save(tmp_path / f"{number}.npy", null)
    files = [np.load(tmp_path / f"{k}.npy", mmap_mode="r")[part] for k in range(4)]
    parts = np.stack([null[part] for null in nulls])
    scores = rng.normal(size=(4, parts.shape[2]))
    found = prevalence_test(scores, files, n_permutations=99)
    expected = prevalence_test(scores, parts, n_permutations=99)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
