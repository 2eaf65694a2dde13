"""Lesions against fits of what is left."""

import nibabel
import numpy as np
import pytest
import scipy.sparse

from neuroextrap.decoding import IdentificationSearchLight, lesion_identification


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
    options = {"radius": 3.5, "classifier": classifier}
    found = lesion_identification(
        IdentificationSearchLight(mask, **options), img, y, runs
    )
    inside = np.asanyarray(mask.dataobj).astype(bool)
    X = img.get_fdata()[inside].T
    places = nibabel.affines.apply_affine(mask.affine, np.argwhere(inside))
    alone = IdentificationSearchLight(classifier=classifier)
    whole = alone.fit(X, y, groups=runs).region_scores_
    assert found.whole["accuracy"] == whole["accuracy"][0]
    for voxel in (0, 17, 40):
        rest = np.linalg.norm(places - places[voxel], axis=1) > 3.5
        left = alone.fit(X[:, rest], y, groups=runs).region_scores_
        here = tuple(np.argwhere(inside)[voxel])
        values = {name: img.get_fdata()[here] for name, img in found.maps.items()}
        assert values["n_voxels"] == (~rest).sum()
        for name in ("accuracy", "pairwise_accuracy", "implied_information"):
            np.testing.assert_allclose(values[name], left[name][0], rtol=1e-6)
        loss = whole["implied_information"][0] - left["implied_information"][0]
        np.testing.assert_allclose(values["information_loss"], loss, atol=2e-6)
        loss = whole["accuracy"][0] - left["accuracy"][0]
        np.testing.assert_allclose(values["accuracy_loss"], loss, atol=1e-12)
    outside = found.maps["accuracy"].get_fdata()[4, 3]
    assert np.isnan(outside).all()
    assert len(found.table) == inside.sum()


def test_atlas_regions_and_where_the_signal_is():
    img, mask, y, runs = simulate()
    atlas = np.zeros((5, 4, 3), dtype=np.int16)
    atlas[:2, :2, :2], atlas[3:] = 3, 9
    labels = nibabel.Nifti1Image(atlas, mask.affine)
    found = lesion_identification(
        IdentificationSearchLight(mask, labels_img=labels), img, y, runs
    )
    assert found.table["name"].tolist() == ["3", "9"]
    assert found.table["n_voxels"].tolist() == [8, 21]
    loss = found.table["accuracy_loss"]
    assert loss[0] > 0.3
    assert loss[0] > loss[1]
    assert found.table["accuracy"][0] == found.maps["accuracy"].get_fdata()[0, 0, 0]
    assert np.isnan(found.maps["accuracy_loss"].get_fdata()[2]).all()


def test_a_matrix_of_regions_on_arrays_and_images():
    img, mask, y, runs = simulate()
    inside = np.asanyarray(mask.dataobj).astype(bool)
    X = img.get_fdata()[inside].T
    X[:, 3] = 1.0  # constant: never used
    members = np.eye(57, dtype=bool)[[0, 3, 5]]
    members[0, 1:8] = True
    members = scipy.sparse.csr_array(members)
    searchlight = IdentificationSearchLight(regions=members, min_voxels=1)
    found = lesion_identification(searchlight, X, y, runs)
    assert found.table["n_voxels"].tolist() == [7, 0, 1]
    assert np.isnan(found.table["accuracy"][1])
    rest = np.r_[4, 6:57]
    left = IdentificationSearchLight().fit(X[:, 8:], y, groups=runs)
    assert found.maps["accuracy"][0] == left.region_scores_["accuracy"][0]
    left = IdentificationSearchLight().fit(X[:, np.r_[:3, rest]], y, groups=runs)
    assert found.maps["accuracy"][2] == left.region_scores_["accuracy"][0]
    on_image = IdentificationSearchLight(mask, regions=members, min_voxels=1)
    found = lesion_identification(on_image, img, y, runs)
    assert found.maps is None
    assert np.isfinite(found.table["accuracy"]).all()


def test_a_region_that_leaves_nothing_is_nan():
    img, mask, y, runs = simulate()
    X = img.get_fdata()[np.asanyarray(mask.dataobj).astype(bool)].T
    members = np.ones((2, X.shape[1]), dtype=bool)
    members[1, 20:] = False
    found = lesion_identification(
        IdentificationSearchLight(regions=scipy.sparse.csr_array(members)), X, y, runs
    )
    assert np.isnan(found.table["accuracy"][0])
    assert np.isfinite(found.table["accuracy"][1])


def test_bad_input_is_named():
    img, mask, y, runs = simulate()
    with pytest.raises(ValueError, match="more than max_memory='16K'; give atlas"):
        lesion_identification(
            IdentificationSearchLight(mask, max_memory="16K"), img, y, runs
        )
    with pytest.raises(ValueError, match="no region has min_voxels=400"):
        lesion_identification(
            IdentificationSearchLight(mask, min_voxels=400), img, y, runs
        )
    with pytest.raises(ValueError, match="searchlight has per_fold=True"):
        lesion_identification(
            IdentificationSearchLight(mask, per_fold=True), img, y, runs
        )
