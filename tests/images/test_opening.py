import gzip

import nibabel
import numpy as np
import pytest

from tests.images.seam import list_images, open_image, read_image


def test_every_form_of_imgs_lists_the_same_samples(volume, bold_data, tmp_path):
    img = volume(bold_data)
    for run in range(2):
        nibabel.save(img, tmp_path / f"run-{run}.nii.gz")
    paths = [tmp_path / f"run-{run}.nii.gz" for run in range(2)]
    by_glob = list_images(str(tmp_path / "run-*.nii.gz"))
    assert [named.name for named in by_glob] == [str(path) for path in paths]
    listed = [f"imgs[{i}] ({path})" for i, path in enumerate(paths)]
    assert [named.name for named in list_images(paths)] == listed
    assert [named.name for named in list_images([img, img])] == ["imgs[0]", "imgs[1]"]
    nested = list_images([img, str(tmp_path / "run-*")])
    assert [named.name for named in nested] == ["imgs[0]", *map(str, paths)]
    assert all(named.n_samples == 8 for named in nested)


def test_samples_of_surfaces_and_single_volumes(volume, surface, mask_data):
    assert open_image(volume(mask_data.astype("uint8")), "mask").n_samples is None
    assert open_image(surface(np.ones(30), np.ones(24)), "imgs").n_samples is None
    series = surface(np.ones((30, 5)), np.ones((24, 5)))
    assert open_image(series, "imgs").n_samples == 5
    assert open_image(series, "imgs").is_surface


def test_opening_does_not_read_the_data(volume, bold_data, tmp_path):
    nibabel.save(volume(bold_data), tmp_path / "run.nii.gz")
    named = open_image(tmp_path / "run.nii.gz", "imgs")
    assert not isinstance(named.img.dataobj, np.ndarray)
    assert isinstance(read_image(named).img.dataobj, np.ndarray)


def test_reading_keeps_numbers_and_integer_types(volume, tmp_path):
    data = np.arange(24, dtype="int16").reshape(2, 3, 4)
    nibabel.save(volume(data), tmp_path / "counts.nii")
    read = read_image(open_image(tmp_path / "counts.nii", "imgs"))
    assert np.asanyarray(read.img.dataobj).dtype == np.int16
    assert (np.asanyarray(read.img.dataobj) == data).all()
    wide = nibabel.Nifti1Image(data.astype("int64"), np.eye(4), dtype="int64")
    nibabel.save(wide, tmp_path / "wide.nii")
    read = read_image(open_image(tmp_path / "wide.nii", "imgs"))
    assert (read.img.get_fdata() == data).all()


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.99])
def test_a_truncated_file_is_one_line_that_names_it(volume, bold_data, tmp_path, kept):
    path = tmp_path / "run.nii.gz"
    nibabel.save(volume(bold_data), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(ValueError, match=r"run\.nii\.gz.*truncated or corrupt") as info:
        read_image(open_image(path, "imgs"))
    assert "\n" not in str(info.value)


def test_too_little_memory_is_no_corrupt_file(volume, bold_data, tmp_path, monkeypatch):
    def read(*args, **kwargs):
        raise MemoryError

    nibabel.save(volume(bold_data), tmp_path / "run.nii")
    named = open_image(tmp_path / "run.nii", "imgs")
    monkeypatch.setattr(type(named.img.dataobj), "__array__", read)
    with pytest.raises(MemoryError, match=r"run\.nii\), of shape .* does not fit"):
        read_image(named)


def test_a_truncated_plain_nifti_is_refused(volume, bold_data, tmp_path):
    path = tmp_path / "run.nii"
    nibabel.save(volume(bold_data), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"run\.nii\) cannot be read"):
        read_image(open_image(path, "imgs"))


def test_a_file_cut_within_its_header_is_refused(tmp_path):
    path = tmp_path / "run.nii.gz"
    path.write_bytes(gzip.compress(b"\0" * 100))
    with pytest.raises(ValueError, match=r"run\.nii\.gz\) is not a readable image"):
        open_image(path, "imgs")


def test_missing_empty_and_foreign_images_are_refused(volume, surface, tmp_path):
    with pytest.raises(ValueError, match=r"imgs: no file .*gone"):
        list_images(tmp_path / "gone.nii.gz")
    with pytest.raises(ValueError, match="imgs: no file matches"):
        list_images(str(tmp_path / "run-*.nii.gz"))
    with pytest.raises(ValueError, match="imgs is empty"):
        list_images([])
    with pytest.raises(TypeError, match=r"imgs\[1\] must be an image or the path"):
        list_images([volume(np.ones((2, 2, 2))), 3])
    with pytest.raises(TypeError, match="mixes volumes and surfaces"):
        list_images([volume(np.ones((2, 2, 2))), surface(np.ones(30), np.ones(24))])
    data = surface(np.ones(30), np.ones(24)).data
    data.to_filename(tmp_path / "values.gii")
    with pytest.raises(ValueError, match=r"values_hemi-L\.gii\) is no volume"):
        list_images([tmp_path / "values_hemi-L.gii"])
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(
        ValueError, match=r"imgs \(.*notes\.txt\) is not a readable image"
    ):
        open_image(tmp_path / "notes.txt", "imgs")
