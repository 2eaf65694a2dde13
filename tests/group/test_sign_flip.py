"""Sign flips against enumeration, scipy's t, and their level under the null."""

import warnings
from itertools import product

import nibabel
import numpy as np
import pytest
from scipy import stats as scipy_stats

from neuroextrap.group import sign_flip_test
from neuroextrap.maps import read_maps


def naive(x, statistic, two_sided):
    """All flips, one at a time, with scipy's one-sample t."""
    rows = []
    for signs in product([1, -1], repeat=len(x)):
        flipped = np.array(signs)[:, None] * x
        if statistic == "mean":
            rows.append(flipped.mean(axis=0))
        else:
            rows.append(scipy_stats.ttest_1samp(flipped, 0).statistic)
    values = np.abs(rows) if two_sided else np.array(rows)
    close = values >= values[0] - 1e-9
    largest = values.max(axis=1)
    fwe = [(largest >= v - 1e-9).mean() for v in values[0]]
    return close.mean(axis=0), np.array(fwe)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("statistic", ["t", "mean"])
def test_equals_enumeration(statistic, two_sided):
    x = np.random.default_rng(0).normal(size=(6, 9)) + np.linspace(-1, 2, 9)
    with pytest.warns(UserWarning, match="distinct sign flips of 6 subjects"):
        found = sign_flip_test(x, statistic=statistic, two_sided=two_sided)
    p, p_fwe = naive(x, statistic, two_sided)
    np.testing.assert_allclose(found["p_value"], p)
    np.testing.assert_allclose(found["p_value_fwe"], p_fwe)
    np.testing.assert_allclose(found["mean"], x.mean(axis=0))
    expected = scipy_stats.ttest_1samp(x, 0).statistic
    np.testing.assert_allclose(found["t"], expected)


def test_baseline_is_subtracted():
    x = np.random.default_rng(1).random(size=(12, 5))
    found = sign_flip_test(x, baseline=0.5, n_permutations=200)
    direct = sign_flip_test(x - 0.5, n_permutations=200)
    for name in found:
        np.testing.assert_array_equal(found[name], direct[name])


def test_random_flips_come_close_to_all_of_them():
    x = np.random.default_rng(2).normal(size=(11, 6)) + 0.3
    with pytest.warns(UserWarning, match="distinct sign flips"):
        every = sign_flip_test(x, n_permutations=2**11)
    some = sign_flip_test(x, n_permutations=2**11 - 2)
    error = np.sqrt(every["p_value"] * (1 - every["p_value"]) / 2**11)
    assert (np.abs(some["p_value"] - every["p_value"]) < 4 * error + 1e-3).all()


def test_blocks_of_features_do_not_matter(monkeypatch):
    from tests.group.seam import _rearrangement_test

    x = np.random.default_rng(3).normal(size=(14, 31))
    whole = sign_flip_test(x, n_permutations=100)
    monkeypatch.setattr(_rearrangement_test, "_BATCH_NUMBERS", 31 * 7)
    parts = sign_flip_test(x, n_permutations=100)
    for name in ("p_value", "p_value_fwe"):
        np.testing.assert_array_equal(whole[name], parts[name])


def test_discrete_scores_tie_whatever_the_order_of_sums():
    # thirds are not exact in binary: equal means must count as equal
    x = np.random.default_rng(4).integers(-2, 3, size=(8, 40)) / 3
    with pytest.warns(UserWarning, match="distinct"):
        found = sign_flip_test(x, statistic="mean", n_permutations=255)
    exact, _ = naive(np.round(3 * x), "mean", False)
    np.testing.assert_allclose(found["p_value"], exact)


def test_p_values_are_uniform_and_the_family_wise_level_holds():
    rng = np.random.default_rng(5)
    hits, n_simulations = 0, 400
    for _ in range(n_simulations):
        found = sign_flip_test(
            rng.standard_t(4, size=(12, 15)), n_permutations=199, random_state=rng
        )
        hits += found["p_value_fwe"].min() <= 0.05
    error = np.sqrt(0.05 * 0.95 / n_simulations)
    assert abs(hits / n_simulations - 0.05) < 3.5 * error
    p = sign_flip_test(rng.normal(size=(12, 4000)), n_permutations=199)["p_value"]
    for level in (0.05, 0.2, 0.5, 0.8):
        # voxels share the flips, so a sample of flips moves them together
        error = np.sqrt(level * (1 - level) * (1 / 4000 + 1 / 200))
        assert abs(np.mean(p <= level) - level) < 4 * error


def test_images_give_images():
    rng = np.random.default_rng(6)
    data = rng.normal(size=(5, 4, 3, 13))
    data[0, 0, 0, 3] = np.nan
    data[1, 1, 1] = 2.0
    data[2] += 2
    imgs = [nibabel.Nifti1Image(data[..., k], np.diag([3, 3, 3, 1])) for k in range(13)]
    found = sign_flip_test(imgs, n_permutations=300)
    assert np.isnan(found["t"].get_fdata()[[0, 1], [0, 1], [0, 1]]).all()
    p = found["p_value_fwe"].get_fdata()
    assert (p[2] < 0.01).mean() > 0.7
    together = nibabel.Nifti1Image(data, imgs[0].affine)
    as_one = sign_flip_test(together, n_permutations=300)["p_value_fwe"]
    np.testing.assert_array_equal(as_one.get_fdata(), p)
    finite = np.isfinite(data).all(axis=3)
    array = sign_flip_test(data[finite].T, n_permutations=300)
    np.testing.assert_allclose(p[finite], array["p_value_fwe"])


def test_surfaces_give_surfaces():
    from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

    triangle = InMemoryMesh(np.eye(3), np.array([[0, 1, 2]]))
    mesh = PolyMesh(left=triangle, right=triangle)
    x = np.random.default_rng(7).normal(size=(14, 6)) + np.arange(6)
    imgs = [SurfaceImage(mesh, {"left": row[:3], "right": row[3:]}) for row in x]
    found = sign_flip_test(imgs, n_permutations=100)
    array = sign_flip_test(x, n_permutations=100)
    for name, value in array.items():
        parts = found[name].data.parts
        np.testing.assert_allclose(np.r_[parts["left"], parts["right"]], value)


@pytest.mark.real_data
def test_faces_and_words_of_real_subjects(real_data):
    folder = real_data("contrasts_words_faces")
    faces = sorted(str(path) for path in folder.glob("faces_*.nii.gz"))
    words = sorted(str(path) for path in folder.glob("words_*.nii.gz"))
    data = [nibabel.load(path) for path in faces]
    common = np.all([np.isfinite(d.get_fdata()) & (d.dataobj != 0) for d in data], 0)
    mask = nibabel.Nifti1Image(common.astype(np.int8), data[0].affine)
    assert common.sum() == 55_808
    found = sign_flip_test(faces, mask=mask, n_permutations=500)
    t = found["t"].get_fdata()
    assert np.nanmax(t) == pytest.approx(9.13, abs=0.01)
    fusiform = nibabel.affines.apply_affine(
        np.linalg.inv(mask.affine), [42, -51, -18]
    ).astype(int)
    near = tuple(slice(i, i + 2) for i in fusiform)
    assert t[near].max() == pytest.approx(7.05, abs=0.01)
    assert found["p_value_fwe"].get_fdata()[near].min() < 0.05
    # x runs the other way in the second set: averaging voxel by voxel would be wrong
    with pytest.raises(ValueError, match=r"words_subject_01.*have different grids"):
        sign_flip_test(faces + words, mask=mask)


BAD = [
    ({"statistic": "median"}, "statistic='median' must be one of"),
    ({"n_permutations": 0}, "n_permutations=0 must be"),
    ({"baseline": np.nan}, "baseline=nan must be"),
    ({"mask": "some.nii"}, "mask must be None"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        sign_flip_test(np.zeros((3, 2)), **options)


def test_bad_data_is_named():
    with pytest.raises(ValueError, match="at least two subjects"):
        sign_flip_test(np.ones((1, 4)))
    with pytest.raises(ValueError, match="the same in all subjects"):
        sign_flip_test(np.ones((5, 4)))
    with pytest.raises(ValueError, match="finite in all 5 subjects"):
        sign_flip_test(np.full((5, 4), np.nan))


def test_many_subjects_do_not_enumerate():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = np.random.default_rng(0).normal(size=(80, 2))
        found = sign_flip_test(data, n_permutations=50)
    counts = 51 * found["p_value"]  # fifty flips and the observed signs
    np.testing.assert_allclose(counts, np.round(counts), rtol=1e-12)


def test_maps_are_written_and_read(tmp_path):
    rng = np.random.default_rng(0)
    imgs = [
        nibabel.Nifti1Image(rng.normal(0.3, 1, (3, 3, 3)).astype(np.float32), np.eye(4))
        for _ in range(8)
    ]
    maps = sign_flip_test(imgs, n_permutations=99)
    maps.to_directory(tmp_path / "out")
    read = read_maps(tmp_path / "out")
    assert list(read) == list(maps)
    for name, image in maps.items():
        np.testing.assert_allclose(read[name].get_fdata(), image.get_fdata())
