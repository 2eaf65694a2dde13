import nibabel
import numpy as np
import pytest

from neuroextrap.images import resolve_masker, to_img
from tests.images.seam import load_image, load_samples, save_image


def test_an_8_bit_mask_leaves_p_values_as_they_are_on_disk(volume, mask_data, tmp_path):
    masker = resolve_masker(volume(mask_data.astype("int8")))
    p_values = np.linspace(0, 1, masker.n_elements_)
    p_values[0] = 0.002
    nibabel.save(to_img(p_values, masker), tmp_path / "p.nii.gz")
    again = nibabel.load(tmp_path / "p.nii.gz")
    np.testing.assert_array_equal(again.get_fdata()[mask_data], p_values)
    assert again.get_fdata()[mask_data][0] == 0.002
    assert np.isnan(again.get_fdata()[~mask_data]).all()
    assert again.get_data_dtype() == np.float64


def test_volumes_go_there_and_back(volume, mask_data):
    masker = resolve_masker(volume(mask_data.astype("uint8")))
    values = np.random.default_rng(0).normal(size=(3, masker.n_elements_))
    img = to_img(values.astype(np.float32), masker)
    assert img.shape == (4, 5, 3, 3)
    assert img.get_data_dtype() == np.float32
    np.testing.assert_array_equal(load_samples(img, masker), values.astype(np.float32))
    theirs = masker.inverse_transform(values).get_fdata()[mask_data]
    np.testing.assert_array_equal(to_img(values, masker).get_fdata()[mask_data], theirs)


def test_grid_and_space_are_the_masks(volume, mask_data):
    mask_img = volume(mask_data.astype("uint8"))
    mask_img.set_sform(mask_img.affine, code=4)
    mask_img.set_qform(mask_img.affine, code=1)
    img = to_img(np.ones(mask_data.sum()), resolve_masker(mask_img))
    np.testing.assert_array_equal(img.affine, mask_img.affine)
    assert int(img.header["sform_code"]) == 4
    assert img.header.get_xyzt_units()[0] == "mm"


def test_half_precision_is_widened(volume, mask_data):
    masker = resolve_masker(volume(mask_data.astype("uint8")))
    values = np.full(masker.n_elements_, 0.1, dtype=np.float16)
    assert to_img(values, masker).get_data_dtype() == np.float64


def test_whole_numbers_and_nan_inside_survive(volume, mask_data):
    masker = resolve_masker(volume(mask_data.astype("uint8")))
    counts = np.arange(masker.n_elements_)
    found = to_img(counts, masker).get_fdata()[mask_data]
    np.testing.assert_array_equal(found, counts)
    holed = np.where(counts == 3, np.nan, counts)
    found = to_img(holed, masker).get_fdata()[mask_data]
    np.testing.assert_array_equal(found, holed)


def test_surfaces_go_there_and_back(surface_mask):
    masker = resolve_masker(surface_mask)
    values = np.random.default_rng(0).normal(size=(2, masker.n_elements_))
    img = to_img(values, masker)
    np.testing.assert_array_equal(load_samples(img, masker), values)
    one = to_img(values[0], masker)
    for side, mask in surface_mask.data.parts.items():
        assert np.isnan(one.data.parts[side][~mask]).all()
        np.testing.assert_array_equal(
            one.data.parts[side][mask],
            masker.inverse_transform(values[0]).data.parts[side][mask],
        )


@pytest.mark.parametrize("shape", [(5,), (2, 5), (1, 2, 3), ()])
def test_bad_shapes_are_refused(volume, mask_data, shape):
    masker = resolve_masker(volume(mask_data.astype("uint8")))
    with pytest.raises(ValueError, match="values must have shape"):
        to_img(np.ones(shape), masker)


def test_quantizing_types_are_refused(volume, surface, tmp_path):
    with pytest.raises(TypeError, match="stored as int16"):
        save_image(volume(np.ones((2, 2, 2), "int16")), tmp_path, "a")
    with pytest.raises(TypeError, match="holds int64, not floating"):
        save_image(surface(np.arange(30), np.arange(24)), tmp_path, "a")
    assert list(tmp_path.iterdir()) == []


def test_volumes_and_surfaces_there_and_back(volume, surface, tmp_path):
    data = np.random.default_rng(0).normal(size=(3, 4, 5))
    files = save_image(volume(data), tmp_path, "a")
    np.testing.assert_array_equal(load_image(tmp_path, files).get_fdata(), data)
    img = surface(np.linspace(0, 1, 30), np.linspace(1, 2, 24))
    again = load_image(tmp_path, save_image(img, tmp_path, "b"))
    for side, values in img.data.parts.items():
        np.testing.assert_allclose(again.data.parts[side], values, rtol=1e-7)


def test_missing_files_are_named(volume, surface, tmp_path):
    with pytest.raises(ValueError, match=r"no file .*a\.nii\.gz"):
        load_image(tmp_path, {"volume": "a.nii.gz"})
    files = save_image(surface(np.zeros(30), np.zeros(24)), tmp_path, "b")
    left = tmp_path / files["left"]
    whole = left.read_bytes()
    left.write_bytes(whole[:-30])
    with pytest.raises(ValueError, match=r"b_hemi-L\.gii\) is not a readable image"):
        load_image(tmp_path, files)
    left.write_bytes(whole)
    (tmp_path / files["right"]).unlink()
    with pytest.raises(ValueError, match=r"no file .*b_hemi-R\.gii"):
        load_image(tmp_path, files)


def test_masks_stay_masks(volume, surface, tmp_path):
    inside = np.array([[[0, 1], [1, 1]]], dtype=np.uint8)
    again = load_image(tmp_path, save_image(volume(inside), tmp_path, "a"))
    assert again.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(np.asarray(again.dataobj), inside)
    sides = surface(np.arange(30) % 2 == 0, np.arange(24) % 3 == 0)
    parts = {side: part.astype(np.uint8) for side, part in sides.data.parts.items()}
    mask = surface(parts["left"], parts["right"])
    again = load_image(tmp_path, save_image(mask, tmp_path, "b"))
    for side, part in parts.items():
        np.testing.assert_array_equal(again.data.parts[side], part)
    with pytest.raises(TypeError, match="stored as uint8"):
        save_image(volume(2 * inside), tmp_path, "c")
