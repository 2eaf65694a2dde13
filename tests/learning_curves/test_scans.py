"""Samples from images and arrays, maps back to images."""

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.images import to_img
from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    pattern_reproducibility,
)
from tests.learning_curves.seam import read_scans

AFFINE = np.diag([3.0, 3.0, 3.0, 1.0])


@pytest.fixture
def scans():
    """Sixteen volumes of four subjects; one voxel is NaN in one of them."""
    rng = np.random.default_rng(0)
    y, groups = np.tile([0, 1], 8), np.repeat(np.arange(4), 4)
    volumes = rng.standard_normal((2, 3, 4, 16))
    volumes[0, 0] += 2 * y
    volumes[1, 2, 3, 5] = np.nan
    mask = nibabel.Nifti1Image(np.ones((2, 3, 4), dtype="uint8"), AFFINE)
    return nibabel.Nifti1Image(volumes, AFFINE), mask, y, groups


def test_voxels_that_are_nan_somewhere_are_left_out_and_come_back_nan(scans, caplog):
    img, mask, y, groups = scans
    samples = read_scans(img, mask)
    assert samples.X.shape == (16, 23)
    assert "1 of 24 voxels of the mask are NaN" in caplog.text
    full = samples.expand(np.ones((2, 23)))
    assert full.shape == (2, 24)
    assert np.isnan(full).sum() == 2
    options = {"n_splits": 3, "classifier": CanonicalVariates(2), "mask": mask}
    found = pattern_reproducibility(img, y, groups, **options)
    assert found.z_map.shape == (1, 24)
    np.testing.assert_array_equal(np.isnan(found.z_map[0]), ~samples.kept)
    curve = information_learning_curve(img, y, groups, **options)
    twin = information_learning_curve(
        samples.X, y, groups, n_splits=3, classifier=CanonicalVariates(2)
    )
    np.testing.assert_array_equal(curve.information, twin.information)


def test_lists_of_volumes_and_files(scans, tmp_path):
    img, mask, *_ = scans
    volumes = [img.slicer[..., i] for i in range(16)]
    paths = []
    for i, volume in enumerate(volumes):
        paths.append(tmp_path / f"{i}.nii")
        volume.to_filename(paths[-1])
    whole = read_scans(img, mask).X
    np.testing.assert_allclose(read_scans(volumes, mask).X, whole)
    np.testing.assert_allclose(read_scans(paths, mask).X, whole)


@pytest.mark.parametrize("kind", [np.array, list, pd.DataFrame])
def test_arrays(kind):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    samples = read_scans(kind(rows), None)
    np.testing.assert_array_equal(samples.X, rows)
    assert samples.masker is None
    np.testing.assert_array_equal(samples.expand([5.0, 6.0]), [5.0, 6.0])


def test_nothing_left(scans):
    _, mask, *_ = scans
    empty = nibabel.Nifti1Image(np.full((2, 3, 4, 3), np.nan), AFFINE)
    with pytest.raises(ValueError, match="no voxel of the mask is finite"):
        read_scans(empty, mask)
    with pytest.raises(ValueError, match="mask is for images"):
        read_scans(np.ones((3, 2)), mask)


def test_eigenimages(scans):
    img, mask, *_ = scans
    samples = read_scans(img.slicer[..., :5], mask)  # all finite
    model = CanonicalVariates(2).fit(samples.X, [0, 1, 2, 0, 1])
    maps = to_img(model.canonical_maps_, samples.masker)
    np.testing.assert_allclose(
        maps.get_fdata()[1, 2, 3], model.canonical_maps_[:, 23], rtol=1e-6
    )
    few = CanonicalVariates(2).fit(samples.X[:, :9], [0, 1, 2, 0, 1])
    with pytest.raises(ValueError, match="24"):
        to_img(few.canonical_maps_, samples.masker)
