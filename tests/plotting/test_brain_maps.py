"""Slices of maps: nothing is drawn where nothing is known, and nobody is warned."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from nibabel import Nifti1Image
from nilearn.datasets import load_fsaverage, load_fsaverage_data
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

from neuroextrap.images import mni152_mask, resolve_masker
from neuroextrap.plotting import plot_map, plot_sensitivity_map
from neuroextrap.plotting._backgrounds import (
    anatomy,
    lies_in_mni152,
    mni152_template,
    surface_grays,
)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def bits():
    """A map with a corner of values, NaN elsewhere."""
    values = np.full((8, 9, 7), np.nan)
    values[2:5, 3:6, 2:5] = np.linspace(0, 2, 27).reshape(3, 3, 3)
    return Nifti1Image(values, np.diag([4.0, 4, 4, 1]))


@pytest.mark.parametrize("draw", [plot_map, plot_sensitivity_map])
def test_maps_with_nan_are_drawn_without_a_warning(bits, draw):
    before = bits.get_fdata().copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(bits)
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
    assert lies_in_mni152(places)
    assert not lies_in_mni152(places + np.array([0, 0, 40]))
    assert not lies_in_mni152(places + 1000)
    assert anatomy(places) is mni152_template()
    assert anatomy(places + 40) is None
    assert anatomy(places, False) is None


def test_anatomies_are_read_from_files_and_checked(bits, tmp_path):
    bits.to_filename(tmp_path / "t1.nii.gz")
    background = anatomy(np.zeros((1, 3)), tmp_path / "t1.nii.gz")
    np.testing.assert_array_equal(
        background.get_fdata(), np.nan_to_num(bits.get_fdata()), "NaN is nothing"
    )
    turned = np.array([[0, -2.0, 0, 50], [1, 0, 0, 0], [0, 0, 3, -9], [0, 0, 0, 1]])
    data = np.random.default_rng(0).random((200, 30, 40))
    background = anatomy(np.zeros((1, 3)), Nifti1Image(data, turned))
    np.testing.assert_allclose(background.affine[:3, :3], np.eye(3) * 200 / 160)
    assert max(background.shape) <= 162
    low, high = background.get_fdata().min(), background.get_fdata().max()
    assert 0 <= low <= high <= data.max()
    nothing = Nifti1Image(np.full((2, 2, 2), np.nan), np.eye(4))
    with pytest.raises(ValueError, match="bg_img has no finite voxel"):
        anatomy(np.zeros((1, 3)), nothing)
    with pytest.raises(ValueError, match="bg_img must be one volume, got 3"):
        anatomy(np.zeros((1, 3)), Nifti1Image(np.ones((2, 2, 2, 3)), np.eye(4)))
    with pytest.raises(TypeError, match="bg_img must be an image or the path of one"):
        anatomy(np.zeros((1, 3)), 7)


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
