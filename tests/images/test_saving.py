import numpy as np
import pytest

from neuroextrap.images._writing import load_image, save_image


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
