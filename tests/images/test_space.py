"""Which space images lie in, told by their headers and their BIDS names."""

import nibabel
import numpy as np
import pytest

from neuroextrap.images import resolve_masker, to_img
from tests.images.seam import (
    NamedImage,
    file_entities,
    finite_mask,
    loose_entities,
    mni152_mask,
    open_image,
    read_image,
    space_code,
)

AFFINE = np.diag([3.0, 3, 3, 1])


def coded(code, data=None):
    """An image whose header has this code in both forms."""
    img = nibabel.Nifti1Image(np.ones((3, 4, 2)) if data is None else data, AFFINE)
    img.set_sform(AFFINE, code)
    img.set_qform(AFFINE, code)
    return img


@pytest.fixture
def saved(tmp_path):
    """Return a function that writes an image of some code under some name."""

    def save(name, code=2, shape=(3, 4, 2)):
        data = np.random.default_rng(0).random(shape) + 1
        coded(code, data).to_filename(tmp_path / name)
        return tmp_path / name

    return save


def mask_code(mask, imgs=None):
    return space_code(resolve_masker(mask, imgs).mask_img_)


def test_the_sform_counts_where_it_is_used():
    img = coded(1)
    img.set_sform(AFFINE, 0)
    img.set_qform(AFFINE, 4)
    assert space_code(img) == 4
    img.set_sform(AFFINE, 2)
    assert space_code(img) == 2
    assert space_code(nibabel.MGHImage(np.ones((2, 2, 2), "float32"), AFFINE)) == 0
    assert space_code(mni152_mask(8)) == 4


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_the_code_goes_from_the_mask_to_the_maps_and_back(code):
    masker = resolve_masker(coded(code))
    img = to_img(np.arange(masker.n_elements_), masker)
    assert space_code(img) == code
    assert space_code(finite_mask(img)) == code
    assert space_code(read_image(open_image(img, "map")).img) == code


def test_a_qform_alone_survives():
    img = coded(4)
    img.set_sform(None, 0)
    assert mask_code(img) == 4


def test_a_name_counts_before_a_header(saved):
    bold = (3, 4, 2, 5)
    plain = coded(2)
    mni = saved("sub-01_task-x_space-MNI152NLin2009cAsym_bold.nii.gz", 1, bold)
    native = saved("sub-01_task-x_space-T1w_bold.nii.gz", 4, bold)
    assert mask_code(plain, mni) == 4
    assert mask_code(plain, str(mni)) == 4
    assert mask_code(coded(4), native) == 2
    assert mask_code(None, mni) == 4
    assert mask_code(plain, [mni, native]) == 2
    mask = saved("sub-01_space-MNI152NLin6Asym_mask.nii.gz", 1)
    coded(1).to_filename(mask)
    assert mask_code(mask) == 4


def test_headers_count_where_names_are_silent(saved):
    bold = (3, 4, 2, 5)
    unnamed = saved("bold.nii.gz", 4, bold)
    assert mask_code(coded(2), unnamed) == 4  # a mask made by nilearn
    assert mask_code(coded(4), saved("scanner.nii.gz", 1, bold)) == 1
    assert mask_code(coded(4), saved("aligned.nii.gz", 2, bold)) == 4
    assert mask_code(coded(2), [unnamed, saved("other.nii.gz", 1, bold)]) == 2


def test_the_users_mask_is_untouched(saved):
    mask = coded(2)
    before = mask.header.binaryblock
    resolve_masker(mask, saved("sub-1_space-MNI152_bold.nii.gz", 2, (3, 4, 2, 5)))
    assert mask.header.binaryblock == before


@pytest.mark.parametrize(
    ("name", "space"),
    [
        ("sub-01_space-MNI152NLin6Asym_res-2_bold.nii.gz", "MNI152NLin6Asym"),
        ("SUB-01_SPACE-MNI_bold.nii", "MNI"),
        ("space-T1w.nii.gz", "T1w"),
        ("my_space_bold.nii.gz", None),
        ("subspace-MNI_bold.nii.gz", None),
        ("space-MNI/bold.nii.gz", None),
        (None, None),
    ],
)
def test_spaces_are_read_from_names(name, space):
    assert NamedImage("imgs", img=None, path=name).space == space


def test_entities_of_folders_serve_subject_and_session_only():
    path = "study/sub-07/ses-b/run-9/bold_run-03.nii.gz"
    assert loose_entities(path) == {"run": "03", "ses": "b", "sub": "07"}
    assert loose_entities("sub-1/sub-2_bold.nii.gz")["sub"] == "2"
    assert loose_entities("x.nii.gz") == {}
    assert file_entities("bold_run-03.nii.gz") is None
