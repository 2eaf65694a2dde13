"""The searchlight on arrays and images: one result, and errors before any work."""

import json

import nibabel
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from neuroextrap import stats
from neuroextrap.analysis import Keep, Regions
from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import searchlight_of


def simulate(n_classes=4, n_runs=5, shape=(6, 5, 4), signal=1.0, seed=0):
    """Volumes with class patterns in one corner, an odd affine, and runs."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes)
    data = rng.normal(size=(*shape, len(y)))
    patterns = rng.normal(size=(3, 3, 3, n_classes)) * signal
    corner = data[:3, :3, :3]
    corner += patterns[:, :, : corner.shape[2], y]
    affine = np.array([[0, -3.0, 0, 10], [2, 0, 0, -5], [0, 0, 4, 3], [0, 0, 0, 1]])
    mask = np.ones(shape, dtype=np.int8)
    mask[0, 0, 0] = 0
    img = nibabel.Nifti1Image(data.astype(np.float32), affine)
    return img, nibabel.Nifti1Image(mask, affine), y, runs


def test_images_give_the_maps_of_the_contract():
    img, mask, y, runs = simulate()
    fitted = IdentificationSearchLight(mask, radius=4, n_permutations=20).fit(
        img, y, groups=runs
    )
    expected = {
        "accuracy",
        "pairwise_accuracy",
        "implied_information",
        "average_bayes_accuracy_bound",
        "average_bayes_accuracy_bound_fwe",
        "bayes_accuracy_bound",
        "bayes_accuracy_bound_fwe",
        "information_bound",
        "information_bound_fwe",
        "n_voxels",
        "p_value",
        "p_value_fwe",
        "neg_log10_p_fwe",
        "z",
    }
    assert expected <= set(fitted.maps_)
    accuracy = fitted.maps_["accuracy"].get_fdata()
    assert np.isnan(accuracy[0, 0, 0])
    assert np.isfinite(accuracy[1:]).all()
    assert accuracy[1, 1, 1] > 0.8
    assert fitted.maps_["p_value_fwe"].get_fdata()[1, 1, 1] == 1 / 21
    assert fitted.wins_.shape == (119, 4)
    assert fitted.table_ is None


def test_a_voxel_equals_its_sphere_as_an_array():
    img, mask, y, runs = simulate()
    fitted = IdentificationSearchLight(mask, radius=4.0).fit(img, y, groups=runs)
    index = np.argwhere(np.ones((6, 5, 4)))
    world = nibabel.affines.apply_affine(img.affine, index)
    center = np.flatnonzero((index == [2, 2, 1]).all(axis=1))[0]
    near = np.linalg.norm(world - world[center], axis=1) <= 4.0
    near[0] = False  # outside the mask
    X = img.get_fdata().reshape(-1, len(y))[near].T
    alone = IdentificationSearchLight().fit(X, y, groups=runs)
    for name, value in alone.region_scores_.items():
        if name.endswith(("_fwe", "_fdr")):
            continue  # bounds over one region differ from bounds over 119
        here = fitted.maps_[name].get_fdata()[2, 2, 1]
        np.testing.assert_allclose(here, value[0], err_msg=name)


def test_workers_and_memory_do_not_change_a_bit():
    img, mask, y, runs = simulate()
    options = {"radius": 4, "n_permutations": 30}
    one = searchlight_of(mask, **options).fit(img, y, groups=runs)
    two = searchlight_of(mask, n_jobs=2, max_memory="1G", **options)
    two.fit(img, y, groups=runs)
    for name in one.maps_:
        np.testing.assert_array_equal(
            one.maps_[name].get_fdata(), two.maps_[name].get_fdata()
        )
    np.testing.assert_array_equal(one.null_maxima_, two.null_maxima_)


def test_p_values_are_counts_of_all_permutations():
    img, mask, y, runs = simulate(signal=0.3)
    fitted = IdentificationSearchLight(
        mask, radius=4, n_permutations=39, keep=None
    ).fit(img, y, groups=runs)
    score = fitted.region_scores_["accuracy"]
    expected = stats.max_statistic_p_value(score, fitted.null_maxima_)
    np.testing.assert_array_equal(fitted.region_scores_["p_value_fwe"], expected)
    p = fitted.region_scores_["p_value"]
    np.testing.assert_allclose(p * 40, np.round(p * 40))
    assert (p <= expected).all()


def test_saved_null_gives_the_same_p(tmp_path):
    img, mask, y, runs = simulate(signal=0.3)
    path = tmp_path / "null.npy"
    fitted = IdentificationSearchLight(
        mask, radius=4, n_permutations=25, keep=path
    ).fit(img, y, groups=runs)
    null = np.load(path, mmap_mode="r")
    assert null.shape == (25, 119)
    assert null.dtype == np.float32
    score = fitted.region_scores_["accuracy"].astype(np.float32)
    p = (1 + (null >= score).sum(axis=0)) / 26
    np.testing.assert_allclose(fitted.region_scores_["p_value"], p)
    tail, _ = stats.tail_p_value(score.astype(float), np.asarray(null, dtype=float))
    np.testing.assert_allclose(fitted.region_scores_["p_value_tail"], tail)
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["null.npy", "null.npy.json"]


def test_constant_and_nan_voxels_are_dropped_and_counted():
    img, mask, y, runs = simulate()
    data = img.get_fdata().copy()
    data[5, 4, 3] = np.nan
    data[5, 4, 2] = 7.0
    broken = nibabel.Nifti1Image(data.astype(np.float32), img.affine)
    whole = IdentificationSearchLight(mask, radius=4).fit(img, y, groups=runs)
    fitted = IdentificationSearchLight(mask, radius=4).fit(broken, y, groups=runs)
    n_whole = whole.maps_["n_voxels"].get_fdata()
    n_broken = fitted.maps_["n_voxels"].get_fdata()
    # both bad voxels lie within 4 mm of each other
    assert n_broken[5, 4, 3] == n_whole[5, 4, 3] - 2
    assert np.isfinite(fitted.maps_["accuracy"].get_fdata()[5, 4, 3])
    assert any("2 of 119 voxels" in note for note in fitted.notes_)
    lonely = IdentificationSearchLight(mask, radius=1, regions=Regions(min_voxels=1))
    lonely.fit(broken, y, groups=runs)
    assert np.isnan(lonely.maps_["accuracy"].get_fdata()[5, 4, 3])


def test_atlas_regions_make_a_tidy_table():
    img, mask, y, runs = simulate()
    atlas = np.zeros((6, 5, 4), dtype=np.int16)
    atlas[:3, :3, :3] = 7
    atlas[4:] = 9
    fitted = IdentificationSearchLight(
        mask, labels_img=nibabel.Nifti1Image(atlas, img.affine), n_permutations=19
    ).fit(img, y, groups=runs)
    table = fitted.table_
    assert list(table["name"].unique()) == ["7", "9"]
    assert list(table["set_size"].unique()) == [2, 3, 4]
    assert table["n_voxels"].iloc[0] == 26
    assert (table["standard_error"] >= 0).all()
    assert table["accuracy"].iloc[2] > table["accuracy"].iloc[5]
    accuracy = fitted.maps_["accuracy"].get_fdata()
    assert np.isnan(accuracy[3]).all()
    assert np.unique(accuracy[4:]).size == 1


def test_a_single_split_permutes_test_labels_only():
    img, mask, y, runs = simulate(n_classes=8, n_runs=4)
    split = [(np.flatnonzero(runs < 3), np.flatnonzero(runs == 3))]
    fitted = IdentificationSearchLight(mask, radius=4, cv=split, n_permutations=99)
    fitted.fit(img, y, groups=runs)
    assert fitted.maps_["p_value_fwe"].get_fdata()[1, 1, 1] <= 0.05
    codes = fitted.run_.plan.codes
    np.testing.assert_array_equal(codes[:, runs < 3], np.tile(y[runs < 3], (100, 1)))


def test_folds_and_confusions():
    img, mask, y, runs = simulate()
    fitted = IdentificationSearchLight(mask, radius=4, keep=Keep(per_fold=True)).fit(
        img, y, groups=runs
    )
    assert fitted.fold_wins_.shape == (5, 119, 4)
    np.testing.assert_allclose(fitted.fold_wins_.mean(axis=0), fitted.wins_)
    confusion = fitted.confusion_matrix(20)
    np.testing.assert_allclose(confusion.sum(axis=1), 5)
    np.testing.assert_allclose(
        np.trace(confusion) / 20, fitted.region_scores_["accuracy"][20]
    )
    sizes, curve = fitted.accuracy_curve((10.0 - 3, -5 + 2, 3.0))
    assert sizes.tolist() == [2, 3, 4]
    assert (np.diff(curve) <= 0).all()


def test_classes_choose_samples():
    img, mask, y, runs = simulate()
    names = np.array(["cat", "dog", "car", "rest"])[y]
    some = IdentificationSearchLight(mask, radius=4, classes=["cat", "dog"])
    some.fit(img, names, groups=runs)
    kept = np.isin(names, ["cat", "dog"])
    data = img.get_fdata()[..., kept]
    direct = IdentificationSearchLight(mask, radius=4).fit(
        nibabel.Nifti1Image(data, img.affine), names[kept], groups=runs[kept]
    )
    assert some.classes_.tolist() == ["cat", "dog"]
    np.testing.assert_array_equal(some.wins_, direct.wins_)


def test_folders_read_back_bit_by_bit(tmp_path):
    img, mask, y, runs = simulate()
    fitted = IdentificationSearchLight(mask, radius=4, n_permutations=500)
    fitted.fit(img, y, groups=runs)
    fitted.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    for name in fitted.maps_:
        np.testing.assert_array_equal(
            fitted.maps_[name].get_fdata(), again.maps_[name].get_fdata()
        )
    on_disk = nibabel.load(tmp_path / "out" / "p_value.nii.gz")
    assert on_disk.get_data_dtype() == np.float64
    smallest = np.nanmin(on_disk.get_fdata())
    assert smallest == 1 / 501  # an 8-bit mask must not quantize 0.002
    about = json.loads((tmp_path / "out" / "p_value.json").read_text())
    assert about["unit"] == "p"
    assert about["parameters"]["radius"] == 4
    assert about["random_state"] == 0
    assert again.n_permutations_ == 500
    with pytest.raises(ValueError, match="samples are not stored"):
        again.confusion_matrix(0)
    with pytest.raises(ValueError, match="not empty"):
        fitted.to_directory(tmp_path / "out")
    with pytest.raises(ValueError, match="holds no analysis"):
        IdentificationSearchLight.from_directory(tmp_path)


def test_shards_merge_to_the_whole(monkeypatch):
    from tests.decoding.seam import _plan

    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 16)
    img, mask, y, runs = simulate()
    options = {"radius": 4, "n_permutations": 15}
    whole = searchlight_of(mask, **options).fit(img, y, groups=runs)
    parts = [
        searchlight_of(mask, shard=f"{i}/3", **options).fit(img, y, groups=runs)
        for i in (1, 2, 3)
    ]
    merged = parts[0].merge(*parts[1:])
    for name in whole.region_scores_:
        np.testing.assert_array_equal(
            merged.region_scores_[name], whole.region_scores_[name]
        )
    with pytest.raises(ValueError, match="more than one part"):
        merged.merge(parts[1])


def test_a_shard_without_work_merges_too():
    img, mask, y, runs = simulate()
    options = {"radius": 4, "n_permutations": 15}
    whole = searchlight_of(mask, **options).fit(img, y, groups=runs)
    parts = [
        searchlight_of(mask, shard=(i, 2), **options).fit(img, y, groups=runs)
        for i in (1, 2)
    ]
    assert np.isnan(parts[1].region_scores_["p_value_fwe"]).all()
    merged = parts[1].merge(parts[0])
    np.testing.assert_array_equal(
        merged.region_scores_["p_value_fwe"], whole.region_scores_["p_value_fwe"]
    )


def test_own_regions_and_arrays():
    img, _, y, runs = simulate()
    X = img.get_fdata().reshape(-1, len(y)).T
    members = scipy.sparse.csr_array(np.eye(3, X.shape[1], dtype=bool))
    fitted = IdentificationSearchLight(
        regions=Regions(members, min_voxels=1),
    ).fit(X, y, groups=runs)
    assert fitted.maps_["accuracy"].shape == (3,)
    assert len(fitted.table_) == 3 * 3


def test_own_regions_without_a_place_in_the_image_make_a_table():
    img, mask, y, runs = simulate()
    members = scipy.sparse.csr_array(np.eye(2, 119, dtype=bool))
    fitted = IdentificationSearchLight(
        mask,
        regions=Regions(members, min_voxels=1),
    )
    fitted.fit(img, y, groups=runs)
    assert fitted.maps_ == {}
    assert len(fitted.table_) == 2 * 3


def test_extrapolated_maps_fall_with_the_number_of_classes():
    img, mask, y, runs = simulate(n_classes=8, shape=(4, 4, 2))
    fitted = IdentificationSearchLight(mask, radius=4).fit(img, y, groups=runs)
    found = fitted.extrapolate([8, 20, 1000])
    values = np.stack([found[k].get_fdata() for k in (8, 20, 1000)])
    known = np.isfinite(values[0])
    assert known.sum() == 31
    assert (np.diff(values[:, known], axis=0) <= 1e-12).all()


def test_whitening_equals_samples_whitened_by_hand():
    from tests.decoding.seam import schaefer_strimmer_covariance

    img, _, y, runs = simulate()
    X = img.get_fdata().reshape(-1, len(y)).T[:, :12]
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 12))
    covariance, _ = schaefer_strimmer_covariance(noise - noise.mean(axis=0))
    white = X @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    by_hand = IdentificationSearchLight().fit(white, y, groups=runs)
    fitted = IdentificationSearchLight(noise_covariance=noise).fit(X, y, groups=runs)
    np.testing.assert_allclose(fitted.wins_, by_hand.wins_)


def test_clone_and_parameters():
    estimator = IdentificationSearchLight(radius=6, statistic="pairwise_accuracy")
    assert clone(estimator).get_params()["radius"] == 6


def test_cost_is_estimated_without_running():
    img, mask, y, runs = simulate()
    cost = IdentificationSearchLight(mask, radius=4).estimate_cost(img, y, groups=runs)
    assert cost["n_regions"] == 119
    assert cost["seconds"] > 0
    assert cost["memory"] > 0


def test_free_exchange_is_warned_about():
    img, mask, y, _ = simulate()
    searchlight = IdentificationSearchLight(mask, cv=KFold(5), n_permutations=5)
    with pytest.warns(UserWarning, match="labels were exchanged freely"):
        searchlight.fit(img, y)


def test_folds_that_lack_a_class_give_no_bounds():
    img, mask, y, _ = simulate()
    halves = np.array_split(np.arange(20), 10)
    cv = [(np.setdiff1d(np.arange(20), half), half) for half in halves]
    searchlight = IdentificationSearchLight(mask, radius=4, cv=cv, bounds="folds")
    searchlight.fit(img, y)
    assert not any("bound" in name for name in searchlight.maps_)
    assert any("no lower bounds" in note for note in searchlight.notes_)


BAD = [
    ({"radius": -1}, "radius=-1 must be"),
    ({"confidence_level": 1.5}, "confidence_level=1.5 must be"),
    ({"n_permutations": -3}, "n_permutations=-3 must be"),
    ({"min_voxels": 0}, "min_voxels=0 must be"),
    ({"shrinkage": "some"}, "shrinkage.* must be"),
    ({"estimator": "magic"}, "estimator='magic' is not known"),
    ({"statistic": 99}, "statistic=99 is not known"),
    ({"classes": [0, 77]}, r"classes has \[77\]"),
    ({"classes": [1]}, "give at least two classes"),
    ({"save_null": "x.npy"}, "save_null needs permutations"),
    ({"shard": "3/2"}, "shard='3/2' must be"),
    ({"shard": "one"}, "shard='one' must be"),
    ({"max_memory": "1K"}, "max_memory='1K' is too little"),
    ({"max_memory": "plenty"}, "must be a size"),
    ({"min_voxels": 500}, "no region has min_voxels=500"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_parameters_are_named(options, message):
    img, mask, y, runs = simulate()
    with pytest.raises(ValueError, match=message):
        searchlight_of(mask, **options).fit(img, y, groups=runs)


def test_bad_data_is_named():
    img, mask, y, runs = simulate()
    searchlight = IdentificationSearchLight(mask)
    with pytest.raises(ValueError, match="imgs has 20 samples, y has 19"):
        searchlight.fit(img, y[:-1], groups=runs[:-1])
    with pytest.raises(ValueError, match="groups is None"):
        searchlight.fit(img, y)
    with pytest.raises(ValueError, match="at least two groups"):
        searchlight.fit(img, y, groups=np.zeros(20))
    with pytest.raises(ValueError, match="groups has shape"):
        searchlight.fit(img, y, groups=runs[:-1])
    with pytest.raises(ValueError, match="give at least two classes"):
        searchlight.fit(img, np.zeros(20), groups=runs)
    with pytest.raises(ValueError, match="no training sample"):
        searchlight.fit(img, np.where(runs == 0, y + 10, y), groups=runs)
    with pytest.raises(ValueError, match="mask must be None"):
        searchlight.fit(img.get_fdata().reshape(-1, 20).T, y, groups=runs)


def test_a_constant_classifier_is_exactly_at_chance_with_p_one():
    from sklearn.dummy import DummyClassifier

    img, _, y, runs = simulate()
    X = img.get_fdata().reshape(-1, len(y)).T
    fitted = IdentificationSearchLight(
        estimator=DummyClassifier(strategy="uniform"), n_permutations=19
    ).fit(X, y, groups=runs)
    sizes, curve = fitted.accuracy_curve(0)
    np.testing.assert_allclose(curve, 1 / sizes, rtol=1e-14)
    assert fitted.region_scores_["p_value"][0] == 1
    assert fitted.region_scores_["p_value_fwe"][0] == 1
    assert fitted.region_scores_["implied_information"][0] < 1e-20


@pytest.mark.parametrize("estimator", ["nearest_centroid", "ridge"])
@pytest.mark.parametrize("shrinkage", [None, True, [0.1]])
def test_shrinkage_is_no_number(estimator, shrinkage):
    X, y = np.ones((4, 3)), [0, 1, 0, 1]
    light = IdentificationSearchLight(estimator=estimator, shrinkage=shrinkage)
    with pytest.raises(TypeError, match=r"shrinkage.* must be"):
        light.fit(X, y, groups=[0, 0, 1, 1])
