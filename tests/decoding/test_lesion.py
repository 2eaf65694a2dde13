"""Lesions against fits of what is left."""

import json
from math import comb

import nibabel
import numpy as np
import pytest
import scipy.sparse

from neuroextrap import stats
from neuroextrap.analysis import Keep, Regions
from neuroextrap.decoding import IdentificationSearchLight, lesion_identification
from neuroextrap.maps import read_maps
from tests.analyses import searchlight_of


def simulate(shape=(5, 4, 3), n_classes=4, n_runs=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes)
    data = rng.normal(size=(*shape, len(y)))
    data[:2, :2, :2] += rng.normal(size=(2, 2, 2, n_classes))[..., y]
    affine = np.diag([2.0, 3, 3, 1])
    mask = np.ones(shape, dtype=np.int8)
    mask[4, 3] = 0
    return (
        nibabel.Nifti1Image(data, affine),
        nibabel.Nifti1Image(mask, affine),
        y,
        runs,
    )


@pytest.mark.parametrize("classifier", ["nearest_centroid", "ridge"])
def test_spheres_equal_fits_of_the_rest(classifier):
    img, mask, y, runs = simulate()
    options = {"radius": 3.5, "estimator": classifier}
    found = lesion_identification(searchlight_of(mask, **options), img, y, runs)
    inside = np.asanyarray(mask.dataobj).astype(bool)
    X = img.get_fdata()[inside].T
    places = nibabel.affines.apply_affine(mask.affine, np.argwhere(inside))
    alone = IdentificationSearchLight(estimator=classifier)
    whole = alone.fit(X, y, groups=runs).region_scores_
    assert found.whole["accuracy"] == whole["accuracy"][0]
    for voxel in (0, 17, 40):
        rest = np.linalg.norm(places - places[voxel], axis=1) > 3.5
        left = alone.fit(X[:, rest], y, groups=runs).region_scores_
        here = tuple(np.argwhere(inside)[voxel])
        values = {name: img.get_fdata()[here] for name, img in found.items()}
        assert values["n_voxels"] == (~rest).sum()
        for name in ("accuracy", "pairwise_accuracy", "implied_information"):
            np.testing.assert_allclose(values[name], left[name][0], rtol=1e-6)
        loss = whole["implied_information"][0] - left["implied_information"][0]
        np.testing.assert_allclose(values["information_loss"], loss, atol=2e-6)
        loss = whole["accuracy"][0] - left["accuracy"][0]
        np.testing.assert_allclose(values["accuracy_loss"], loss, atol=1e-12)
    outside = found["accuracy"].get_fdata()[4, 3]
    assert np.isnan(outside).all()
    assert len(found.table_) == inside.sum()


def test_atlas_regions_and_where_the_signal_is():
    img, mask, y, runs = simulate()
    atlas = np.zeros((5, 4, 3), dtype=np.int16)
    atlas[:2, :2, :2], atlas[3:] = 3, 9
    labels = nibabel.Nifti1Image(atlas, mask.affine)
    found = lesion_identification(
        IdentificationSearchLight(mask, labels_img=labels), img, y, runs
    )
    assert found.table_["name"].tolist() == ["3", "9"]
    assert found.table_["n_voxels"].tolist() == [8, 21]
    loss = found.table_["accuracy_loss"]
    assert loss[0] > 0.3
    assert loss[0] > loss[1]
    assert found.table_["accuracy"][0] == found["accuracy"].get_fdata()[0, 0, 0]
    assert np.isnan(found["accuracy_loss"].get_fdata()[2]).all()


def test_lesions_are_written_with_what_they_are(tmp_path):
    img, mask, y, runs = simulate()
    light = searchlight_of(mask, radius=3.5, n_permutations=5)
    found = lesion_identification(light, img, y, runs)
    found.to_directory(tmp_path)
    assert set(read_maps(tmp_path)) == set(found)
    about = json.loads((tmp_path / "accuracy.json").read_text(encoding="utf-8"))
    assert about["description"].endswith("; without the region")
    for name, unit in (("accuracy_loss", "proportion"), ("loss_p_value_fwe", "p")):
        about = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert about["unit"] == unit


def test_a_matrix_of_regions_on_arrays_and_images():
    img, mask, y, runs = simulate()
    inside = np.asanyarray(mask.dataobj).astype(bool)
    X = img.get_fdata()[inside].T
    X[:, 3] = 1.0  # constant: never used
    members = np.eye(57, dtype=bool)[[0, 3, 5]]
    members[0, 1:8] = True
    members = scipy.sparse.csr_array(members)
    searchlight = IdentificationSearchLight(
        regions=Regions(members, min_voxels=1),
    )
    found = lesion_identification(searchlight, X, y, runs)
    assert found.table_["n_voxels"].tolist() == [7, 0, 1]
    assert np.isnan(found.table_["accuracy"][1])
    rest = np.r_[4, 6:57]
    left = IdentificationSearchLight().fit(X[:, 8:], y, groups=runs)
    assert found["accuracy"][0] == left.region_scores_["accuracy"][0]
    left = IdentificationSearchLight().fit(X[:, np.r_[:3, rest]], y, groups=runs)
    assert found["accuracy"][2] == left.region_scores_["accuracy"][0]
    on_image = IdentificationSearchLight(
        mask,
        regions=Regions(members, min_voxels=1),
    )
    found = lesion_identification(on_image, img, y, runs)
    assert found.masker_ is None
    assert np.isfinite(found.table_["accuracy"]).all()


def test_a_region_that_leaves_nothing_is_nan():
    img, mask, y, runs = simulate()
    X = img.get_fdata()[np.asanyarray(mask.dataobj).astype(bool)].T
    members = np.ones((2, X.shape[1]), dtype=bool)
    members[1, 20:] = False
    found = lesion_identification(
        IdentificationSearchLight(regions=scipy.sparse.csr_array(members)), X, y, runs
    )
    assert np.isnan(found.table_["accuracy"][0])
    assert np.isfinite(found.table_["accuracy"][1])


def noise(rng, n_voxels=24, n_classes=4, n_runs=6):
    """Samples that say nothing, and four regions of equal size."""
    y, runs = np.tile(np.arange(n_classes), n_runs), np.repeat(range(n_runs), n_classes)
    members = np.repeat(np.eye(4, dtype=bool), n_voxels // 4, axis=1)
    X = rng.normal(size=(len(y), n_voxels))
    return X, y, runs, scipy.sparse.csr_array(members)


@pytest.mark.parametrize("statistic", ["accuracy", "pairwise_accuracy", 3])
@pytest.mark.parametrize("pairs", [False, True])
def test_p_values_equal_those_of_separate_fits(statistic, pairs):
    rng = np.random.default_rng(3)
    X, y, runs, members = noise(rng, n_runs=8)
    strong, weak = (0.1, 0.0) if pairs else (0.7, 0.4)  # the whole, too, tells little
    X[:, :6] += strong * rng.normal(size=(4, 6))[y]
    X[:, 6:12] += weak * rng.normal(size=(4, 6))[y]
    blocks = np.arange(32)
    if pairs:  # two samples of a class in a run, which move together
        y, runs, X = np.repeat(y, 2), np.repeat(runs, 2), np.repeat(X, 2, axis=0)
        X, blocks = X + rng.normal(size=X.shape), np.repeat(blocks, 2)
    options = {
        "n_permutations": 30,
        "bounds": None,
        "statistic": statistic,
        "random_state": 5,
        "blocks": blocks if pairs else None,
    }
    found = lesion_identification(
        searchlight_of(regions=members, **options), X, y, runs
    )
    alone = searchlight_of(**options)
    name = {"accuracy": 4, "pairwise_accuracy": 2}.get(statistic, statistic)
    outcomes, p = [], []
    for left in [slice(None), *(~members.toarray())]:
        fit = alone.fit(X[:, left], y, groups=runs)
        M, codes = fit.region_margins(0), fit.test_codes_
        own = M[np.arange(len(codes)), codes][:, None]
        beaten = (own > M).sum(axis=1)
        outcomes.append([comb(b, name - 1) / comb(3, name - 1) for b in beaten])
        p.append(fit.region_scores_["p_value"][0])
    assert found.whole["p_value"] == p[0]
    np.testing.assert_allclose(found.table_["p_value"], p[1:])
    D = (np.array(outcomes[0]) - outcomes[1:]) / len(y)
    D = np.stack([D[:, blocks == b].sum(axis=1) for b in range(32)], axis=1)
    expected = stats.paired_sign_flip_test(
        D, n_permutations=30, two_sided=False, random_state=5
    )
    for kind in ("p_value", "p_value_fwe"):
        flipped = np.maximum(getattr(expected, kind), p[0])
        np.testing.assert_allclose(found.table_[f"loss_{kind}"], flipped)
        np.testing.assert_allclose(found[f"loss_{kind}"], flipped)
    if statistic == "accuracy":
        np.testing.assert_allclose(found.table_["accuracy_loss"], D.sum(axis=1))


def test_a_region_with_a_signal_of_its_own_is_missed():
    rng = np.random.default_rng(4)
    X, y, runs, members = noise(rng, n_runs=12)
    X[:, :6] += 1.5 * rng.normal(size=(4, 6))[y]
    searchlight = IdentificationSearchLight(regions=members, n_permutations=199)
    table = lesion_identification(searchlight, X, y, runs).table_
    assert table["loss_p_value_fwe"][0] == 1 / 200
    assert (table["loss_p_value"][1:] > 0.05).all()
    assert (table["p_value_fwe"][1:] < 0.05).all()
    assert table["p_value_fwe"][0] > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("signal", [0.0, 0.15, 1.0])
def test_family_wise_errors_are_kept(signal):
    """Nothing tells anything; or one region does, and the others' absence is free."""
    rng, n_sets = np.random.default_rng([6, int(100 * signal)]), 1000
    smallest = []
    for _ in range(n_sets):
        X, y, runs, members = noise(rng, n_runs=8)
        X[:, :6] += signal * rng.normal(size=(4, 6))[y]
        searchlight = IdentificationSearchLight(
            regions=members,
            estimator="ridge",
            statistic="pairwise_accuracy",  # fine steps, few ties
            n_permutations=99,
            random_state=rng,
        )
        table = lesion_identification(searchlight, X, y, runs).table_
        free = slice(0 if signal == 0 else 1, None)
        names = ("p_value_fwe", "loss_p_value_fwe")
        smallest.append([table[name][free].min() for name in names])
    for level in (0.05, 0.2):
        rates = np.mean(np.array(smallest) <= level + 1e-12, axis=0)
        room = 4 * np.sqrt(level * (1 - level) / n_sets)
        if signal == 0:
            assert abs(rates[0] - level) < room
        assert rates[1] < level + room


def test_regions_that_leave_nothing_have_no_p_value():
    X, y, runs, _ = noise(np.random.default_rng(7))
    everything = scipy.sparse.csr_array(np.ones((1, 24), dtype=bool))
    searchlight = IdentificationSearchLight(regions=everything, n_permutations=9)
    table = lesion_identification(searchlight, X, y, runs).table_
    assert np.isnan(table[["p_value", "loss_p_value_fwe"]].to_numpy()).all()


def test_bad_input_is_named():
    img, mask, y, runs = simulate()
    with pytest.raises(ValueError, match="more than max_memory='16K'; give atlas"):
        lesion_identification(
            IdentificationSearchLight(mask, max_memory="16K"), img, y, runs
        )
    with pytest.raises(ValueError, match="no region has min_voxels=400"):
        lesion_identification(
            IdentificationSearchLight(mask, regions=Regions(min_voxels=400)),
            img,
            y,
            runs,
        )
    with pytest.raises(ValueError, match="statistic='implied_information' is not"):
        lesion_identification(
            IdentificationSearchLight(
                mask, n_permutations=9, statistic="implied_information"
            ),
            img,
            y,
            runs,
        )
    with pytest.raises(ValueError, match="searchlight has per_fold=True"):
        lesion_identification(
            IdentificationSearchLight(mask, keep=Keep(per_fold=True)), img, y, runs
        )
