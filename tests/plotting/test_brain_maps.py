"""Slices of maps: nothing is drawn where nothing is known, and nobody is warned."""

import warnings

import numpy as np
import pytest
from nibabel import Nifti1Image
from nilearn.datasets import load_fsaverage, load_fsaverage_data
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

from neuroextrap.images import resolve_masker
from neuroextrap.plotting import plot_map
from tests.plotting.seam import (
    mni152_mask,
    mni152_template,
    share_in_mni152,
    surface_grays,
    volume_background,
)


@pytest.fixture
def bits():
    """A map with a corner of values, NaN elsewhere."""
    values = np.full((8, 9, 7), np.nan)
    values[2:5, 3:6, 2:5] = np.linspace(0, 2, 27).reshape(3, 3, 3)
    return Nifti1Image(values, np.diag([4.0, 4, 4, 1]))


@pytest.mark.parametrize("threshold", [None, "95%"])
def test_maps_with_nan_are_drawn_without_a_warning(bits, threshold):
    before = bits.get_fdata().copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_map(bits, threshold=threshold)
    np.testing.assert_array_equal(bits.get_fdata(), before)


def test_only_what_is_above_the_threshold_is_drawn(bits, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "nilearn.plotting.plot_stat_map", lambda img, **how: drawn.append((img, how))
    )
    plot_map(bits, bg_img=False)
    plot_map(bits, bg_img=False, threshold=1.5, cmap="hot")
    (img, how), (_, strict) = drawn
    values = bits.get_fdata()
    np.testing.assert_array_equal(img.get_fdata(), np.nan_to_num(values))
    assert how["bg_img"] is None
    assert (how["vmin"], how["vmax"]) == (0.0, 2.0)
    assert 0 < how["threshold"] < 1e-6
    assert (strict["threshold"], strict["cmap"]) == (1.5, "hot")


def test_masks_of_the_template_lie_in_it_and_others_do_not():
    mask = mni152_mask(6)
    places = np.argwhere(mask.get_fdata() > 0) @ mask.affine[:3, :3].T
    places += mask.affine[:3, 3]
    assert share_in_mni152(places) > 0.95
    assert 0.3 < share_in_mni152(places + np.array([0, 0, 40])) < 0.95
    assert share_in_mni152(places + 1000) == 0


def _coded(sform, qform, affine=None, shape=(6, 7, 5)):
    """An image in the middle of the template's brain, with these header codes."""
    affine = np.diag([4.0, 4, 4, 1]) if affine is None else affine
    img = Nifti1Image(np.ones(shape), affine)
    img.set_sform(affine if sform else None, sform)
    img.set_qform(affine if qform else None, qform)
    return img


def _below(img, *more, **options):
    places = np.argwhere(img.get_fdata() > 0) @ img.affine[:3, :3].T
    return volume_background(img, places + img.affine[:3, 3], *more, **options)


@pytest.mark.parametrize(
    ("sform", "qform", "is_mni"),
    [
        (4, 4, True),
        (4, 0, True),
        (0, 4, True),
        (1, 4, False),  # the affine in use is the sform's
        (2, 4, False),
        (4, 1, True),
        (1, 1, False),
        (2, 0, False),
        (3, 3, False),
        (0, 0, False),
    ],
)
def test_the_template_needs_the_code_of_the_affine_in_use(sform, qform, is_mni):
    background = _below(_coded(sform, qform))
    assert background.in_mni152 is is_mni
    assert (background.img is mni152_template()) is is_mni
    assert (background.why == "") is is_mni
    if not is_mni:
        assert background.img is None
        assert "bg_img='mni152'" in background.why
        assert "--bg-img" in background.why


def test_a_header_that_cannot_be_true_is_not_believed():
    far = np.diag([4.0, 4, 4, 1])
    far[:3, 3] = 400
    background = _below(_coded(4, 4, far))
    assert not background.in_mni152
    assert "says MNI space, but only 0% of the voxels" in background.why


def test_thick_slices_negative_zooms_and_oblique_affines_in_mni_space():
    thick = np.diag([-3.0, 3, 10, 1])
    thick[0, 3] = 20
    assert _below(_coded(4, 4, thick)).in_mni152
    angle = 0.3
    turned = np.eye(4)
    turned[:2, :2] = 4 * np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    assert _below(_coded(4, 4, turned)).in_mni152


def test_the_user_decides():
    native, mni = _coded(1, 1), _coded(4, 4)
    for name in ("mni152", "MNI152"):
        chosen = _below(native, name)
        assert chosen.img is mni152_template()
        assert chosen.in_mni152
    assert _below(mni, False) == (None, False, "")
    own = Nifti1Image(np.random.default_rng(0).random((6, 7, 5)), native.affine)
    assert _below(mni, own).in_mni152  # the glass brain still fits
    assert not _below(native, own).in_mni152
    np.testing.assert_array_equal(_below(native, own).img.get_fdata(), own.get_fdata())


def test_an_image_of_ones_own_serves_where_the_template_does_not():
    own = Nifti1Image(np.random.default_rng(0).random((6, 7, 5)), np.diag([4, 4, 4, 1]))
    background = _below(_coded(1, 1), own=own)
    np.testing.assert_array_equal(background.img.get_fdata(), own.get_fdata())
    assert "over the mean image" in background.why
    assert _below(_coded(4, 4), own=own).img is mni152_template()
    assert _below(_coded(1, 1), False, own=own).img is None


def _anatomy(img):
    """What is drawn under a map over an anatomy of the user's."""
    return volume_background(_coded(1, 1), np.zeros((1, 3)), img).img


def test_anatomies_are_read_from_files_and_checked(bits, tmp_path):
    bits.to_filename(tmp_path / "t1.nii.gz")
    background = _anatomy(tmp_path / "t1.nii.gz")
    np.testing.assert_array_equal(
        background.get_fdata(), np.nan_to_num(bits.get_fdata()), "NaN is nothing"
    )
    turned = np.array([[0, -2.0, 0, 50], [1, 0, 0, 0], [0, 0, 3, -9], [0, 0, 0, 1]])
    data = np.random.default_rng(0).random((200, 30, 40))
    background = _anatomy(Nifti1Image(data, turned))
    np.testing.assert_allclose(background.affine[:3, :3], np.eye(3) * 200 / 160)
    assert max(background.shape) <= 162
    low, high = background.get_fdata().min(), background.get_fdata().max()
    assert 0 <= low <= high <= data.max()
    nothing = Nifti1Image(np.full((2, 2, 2), np.nan), np.eye(4))
    with pytest.raises(ValueError, match="bg_img has no finite voxel"):
        _anatomy(nothing)
    with pytest.raises(ValueError, match="bg_img must be one volume, got 3"):
        _anatomy(Nifti1Image(np.ones((2, 2, 2, 3)), np.eye(4)))
    with pytest.raises(TypeError, match="bg_img must be an image or the path of one"):
        _anatomy(7)


def _triangles(values):
    """A surface of one triangle a hemisphere."""
    sides = ("left", "right")
    mesh = PolyMesh(
        **{s: InMemoryMesh(np.eye(3), np.array([[0, 1, 2]])) for s in sides}
    )
    return SurfaceImage(mesh, {side: np.array(values, float) for side in sides})


def test_kinds_of_images_are_not_mixed(bits):
    surface = _triangles([1, 1, 1])
    with pytest.raises(TypeError, match=r"^img must be a volume"):
        plot_map(surface)
    with pytest.raises(TypeError, match="bg_img must be a volume"):
        plot_map(bits, bg_img=surface)
    masker = resolve_masker(surface)
    with pytest.raises(TypeError, match="bg_img must be a SurfaceImage"):
        surface_grays(masker, bits)
    with pytest.raises(ValueError, match=r"^img has no finite voxel"):
        plot_map(Nifti1Image(np.full((3, 3, 3), np.nan), np.eye(4)))
    with pytest.raises(ValueError, match=r"^img must be one volume, got 2"):
        plot_map(Nifti1Image(np.ones((3, 3, 3, 2)), np.eye(4)))


def test_grays_follow_the_background_deep_is_dark():
    masker = resolve_masker(_triangles([1, 1, 1]))
    first, second = surface_grays(masker, _triangles([-1, 0, 1]))
    assert first[0] > first[1] > first[2]
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(np.concatenate(surface_grays(masker)))) == 1
    assert len(np.unique(np.concatenate(surface_grays(masker, False)))) == 1
    other = SurfaceImage(
        PolyMesh(left=InMemoryMesh(np.eye(3), np.array([[0, 1, 2]]))),
        {"left": np.zeros(3)},
    )
    with pytest.raises(ValueError, match="3 vertices of the right mesh, got 0"):
        surface_grays(masker, other)


def test_fsaverage5_gets_its_sulci():
    mesh = load_fsaverage("fsaverage5")["inflated"]
    ones = {side: np.ones(10242) for side in ("left", "right")}
    masker = resolve_masker(SurfaceImage(mesh, ones))
    depth = load_fsaverage_data(mesh="fsaverage5", data_type="sulcal")
    for grays, side in zip(surface_grays(masker), ("left", "right"), strict=True):
        correlation = np.corrcoef(grays, depth.data.parts[side])[0, 1]
        assert correlation < -0.98
