"""Reports of every kind of analysis: surfaces, atlases, encoding models."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import nilearn.plotting
import numpy as np
import pytest
from nibabel import Nifti1Image
from nibabel.affines import apply_affine
from sklearn.linear_model import Ridge

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from neuroextrap.reporting import peak_table
from neuroextrap.stats import AccuracyExtrapolator, average_accuracy_jackknife
from tests.reporting.seam import curve_axes, identification_sections, mni152_template


@pytest.mark.usefixtures("undrawn")
def test_surface_maps_are_drawn(surface):
    mesh = surface.masker_.mask_img_.mesh.parts["left"]
    before = mesh.coordinates.copy()
    sections = dict(identification_sections(surface))
    assert sections["What was found"].count("<figure>") == 1
    assert sections["Maps"].count("<figure>") >= 1
    assert peak_table(surface)["x"].iloc[0] < 0  # the left side tells, and drawing it
    np.testing.assert_array_equal(mesh.coordinates, before)  # moved nothing


@pytest.mark.parametrize("analysis", ["fitted", "atlas", "surface"])
def test_nobody_is_warned_of_unknown_voxels(analysis, reports):
    report, warned, _ = reports(analysis)
    assert warned == []
    assert "<figure" in str(report)


@pytest.mark.usefixtures("undrawn")
def test_maps_are_drawn_over_the_users_anatomy(fitted, monkeypatch):
    below = []
    monkeypatch.setattr(
        "nilearn.plotting.plot_stat_map",
        lambda img, **how: (
            below.append(how["bg_img"])
            or SimpleNamespace(add_contours=lambda *args, **kwargs: None)
        ),
    )
    view_img = nilearn.plotting.view_img
    monkeypatch.setattr(
        "nilearn.plotting.view_img",
        lambda img, **how: below.append(how["bg_img"]) or view_img(img, **how),
    )
    mask = fitted.masker_.mask_img_
    anatomy = Nifti1Image(np.random.default_rng(0).random(mask.shape), mask.affine)
    fitted.generate_report(bg_img=anatomy)
    assert len(below) >= 3
    for img in below:
        at = tuple(np.random.default_rng(1).integers(0, img.shape))
        place = apply_affine(img.affine, at)
        voxel = np.rint(apply_affine(np.linalg.inv(mask.affine), place)).astype(int)
        assert img.get_fdata()[at] == pytest.approx(anatomy.get_fdata()[tuple(voxel)])
    below.clear()
    fitted.generate_report()
    assert all(img is mni152_template() for img in below)
    assert below


@pytest.fixture(scope="module")
def cube():
    """A mask of 6 x 5 x 4 voxels, with images, classes and runs."""
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    data = np.random.default_rng(0).normal(size=(6, 5, 4, 12))
    data[..., y == 1] += np.arange(4)[:, np.newaxis] - 1.5
    mask = Nifti1Image(np.ones((6, 5, 4), dtype=np.uint8), 4 * np.eye(4))
    return mask, Nifti1Image(data, mask.affine), y, runs


@pytest.mark.usefixtures("undrawn")
def test_maps_without_anything_to_draw_are_said(cube):
    mask, imgs, y, runs = cube
    light = IdentificationSearchLight(mask, radius=6.0).fit(imgs, y, groups=runs)
    light.region_scores_["information_bound_fwe"][:] = 0.0
    section = dict(identification_sections(light))["Maps"]
    said = "information bound (all regions at once) is nowhere above zero."
    words = section.partition("Nothing to draw: ")[2]
    assert said in words


@pytest.mark.usefixtures("undrawn")
def test_atlas_regions_are_listed_by_name(cube):
    mask, imgs, y, runs = cube
    labels = np.where(np.arange(6)[:, None, None] < 3, 1, 2) * np.ones(mask.shape)
    atlas = Nifti1Image(labels.astype("int16"), mask.affine)
    light = IdentificationSearchLight(mask, labels_img=atlas)
    light.fit(imgs, y, groups=runs)
    table = peak_table(light)
    assert len(table) == 2
    assert set(table["name"]) == set(light.table_["name"])
    assert "Maps" in dict(identification_sections(light))


@pytest.fixture(scope="module")
def encoding():
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(120, 5)), rng.normal(size=(5, 20))
    responses = features @ weights + 3 * rng.normal(size=(120, 20))
    model = EncodingIdentification(encoder=Ridge(), n_permutations=19)
    model = model.fit(features[:90], responses[:90])
    return model.identify(features[90:], responses[90:], groups=np.zeros(30))


@pytest.mark.usefixtures("undrawn")
def test_encoding_models_are_reported(encoding):
    page = encoding.generate_report().get_standalone()
    assert "Accuracy curves" in page
    assert "Permutation test" in page


def test_standard_errors_are_those_of_the_jackknife(encoding, one_region):
    codes = np.arange(30)
    margins = encoding.region_margins(0)
    expected = average_accuracy_jackknife(margins, codes, encoding.set_sizes_)[1]
    np.testing.assert_allclose(encoding.standard_error(0), expected)
    table = one_region.table_.sort_values("set_size")
    np.testing.assert_allclose(one_region.standard_error(0), table["standard_error"])


def test_curves_are_carried_on_beyond_the_classes_of_the_data(encoding, one_region):
    lines = {
        line.get_label(): line.get_data() for line in curve_axes(encoding, 0).lines
    }
    sizes, accuracy = lines["extrapolated"]
    bands = [band.get_label() for band in curve_axes(encoding, 0).collections]
    assert "90% interval" in bands
    assert (sizes[0], sizes[-1]) == (30, 300)
    assert np.all(np.diff(accuracy) <= 0)
    model = AccuracyExtrapolator().fit(encoding.region_margins(0), np.arange(30))
    np.testing.assert_allclose(accuracy[-1], model.predict(300), rtol=1e-12)
    few = [line.get_label() for line in curve_axes(one_region, 0).lines]
    assert "extrapolated" not in few
    plt.close("all")


@pytest.mark.usefixtures("undrawn")
def test_curves_of_a_folder_are_carried_on_from_wins(tmp_path):
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(30), 4), np.repeat(np.arange(4), 30)
    X = 0.5 * rng.normal(size=(30, 9))[y] + rng.normal(size=(120, 9))
    fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    section = dict(identification_sections(fitted))["Accuracy curves"]
    assert "(auto, from margins)" in section
    fitted.to_directory(tmp_path / "results")
    read = IdentificationSearchLight.from_directory(tmp_path / "results")
    lines = {line.get_label(): line.get_data() for line in curve_axes(read, 0).lines}
    plt.close("all")
    found = lines["extrapolated"][1][-1]
    model = AccuracyExtrapolator().fit_wins(fitted.wins_[0], 120)
    np.testing.assert_allclose(found, model.predict(300), rtol=1e-9)
    section = dict(identification_sections(read))["Accuracy curves"]
    assert "(auto, from win counts)" in section


@pytest.mark.usefixtures("undrawn")
def test_curves_of_a_saved_model_are_carried_on_from_margins(encoding, tmp_path):
    encoding.to_directory(tmp_path / "results")
    read = EncodingIdentification.from_directory(tmp_path / "results")
    section = dict(identification_sections(read))["Accuracy curves"]
    assert "(auto, from margins)" in section
