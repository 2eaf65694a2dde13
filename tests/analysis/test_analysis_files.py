"""Folders of analyses say which analysis wrote them."""

import json

import nibabel
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.analysis import Keep
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from tests.analysis.seam import find_analysis


@pytest.fixture(scope="module")
def searchlight():
    """One region of plain arrays, three classes."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(3), 4), np.repeat(np.arange(4), 3)
    X = rng.normal(size=(3, 5))[y] + rng.normal(size=(12, 5))
    return IdentificationSearchLight(keep=Keep(per_fold=True)).fit(X, y, groups=runs)


@pytest.fixture(scope="module")
def identification():
    """A linear model of plain arrays, twenty test stimuli."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4))
    responses = features @ rng.normal(size=(4, 6)) + rng.normal(size=(60, 6))
    model = EncodingIdentification(encoder=Ridge()).fit(features[:40], responses[:40])
    return model.identify(features[40:], responses[40:])


def test_a_folder_tells_its_kind(searchlight, identification, tmp_path):
    for fitted in (searchlight, identification):
        folder = tmp_path / fitted.kind
        fitted.to_directory(folder)
        assert find_analysis(folder)[0] == fitted.kind
        index = json.loads((folder / "analysis.json").read_text())
        assert index["kind"] == fitted.kind
        again = type(fitted).from_directory(folder)
        np.testing.assert_array_equal(again.wins_, fitted.wins_)
        if fitted is searchlight:
            with pytest.raises(ValueError, match="the samples are not stored"):
                _ = again.run_
        else:
            np.testing.assert_array_equal(again.run_.rows, fitted.run_.rows)


def test_the_class_that_reads_must_be_the_one_that_wrote(
    searchlight, identification, tmp_path
):
    searchlight.to_directory(tmp_path / "out")
    with pytest.raises(ValueError, match="no 'encoding' analysis, but one of kind"):
        EncodingIdentification.from_directory(tmp_path / "out")
    identification.to_directory(tmp_path / "out", overwrite=True)
    assert EncodingIdentification.from_directory(tmp_path / "out").kind == "encoding"
    with pytest.raises(ValueError, match=r"holds no analysis\.json"):
        IdentificationSearchLight.from_directory(tmp_path)


def test_wins_of_folds_stay_with_the_data(searchlight, tmp_path):
    assert searchlight.fold_wins_.shape == (4, 1, 3)
    np.testing.assert_allclose(searchlight.fold_wins_.mean(axis=0), searchlight.wins_)
    searchlight.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert again.fold_wins_ is None


def test_a_failed_merge_changes_nothing(searchlight, tmp_path):
    searchlight.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    before = again.results_
    with pytest.raises(ValueError, match="in more than one part"):
        again.merge(searchlight)
    assert again.results_ is before


def test_the_mask_that_is_written_is_a_mask(tmp_path):
    rng = np.random.default_rng(0)
    inside = np.ones((3, 3, 2), dtype="int16") * 7
    inside[0, 0, 0] = 0
    mask = nibabel.Nifti1Image(inside, np.diag([3.0, 3, 3, 1]))
    imgs = nibabel.Nifti1Image(rng.normal(size=(3, 3, 2, 12)), mask.affine)
    y, runs = np.tile(np.arange(3), 4), np.repeat(np.arange(4), 3)
    given = {"radius": 4.0, "bounds": None}
    fitted = IdentificationSearchLight(mask, **given).fit(imgs, y, groups=runs)
    fitted.to_directory(tmp_path)
    written = nibabel.load(tmp_path / "mask.nii.gz")
    assert written.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(np.asarray(written.dataobj), inside // 7)
    again = IdentificationSearchLight(str(tmp_path / "mask.nii.gz"), **given)
    np.testing.assert_array_equal(again.fit(imgs, y, groups=runs).wins_, fitted.wins_)
    saved = IdentificationSearchLight.from_directory(tmp_path)
    np.testing.assert_array_equal(
        saved.maps_["accuracy"].get_fdata(), fitted.maps_["accuracy"].get_fdata()
    )
