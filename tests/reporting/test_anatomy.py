"""What lies under the maps of a report: nobody's brain but the subject's own."""

import functools
import re

import nibabel
import numpy as np
import pytest

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import peak_table
from tests.reporting.seam import fitted_background, new_volume, space_code


@functools.cache
def _fit(code, offset=1000.0):
    """An analysis of images whose header has a code, with a mean far from zero."""
    brain = simulate_brain(resolution=10, n_classes=3, n_runs=3)
    mask = brain.masker.mask_img_
    mask = new_volume(np.asarray(mask.dataobj), mask, code)
    data = np.nan_to_num(brain.imgs.get_fdata()) + offset
    data *= np.linspace(1, 2, data.shape[0])[:, None, None, None]
    light = IdentificationSearchLight(mask, radius=15.0)
    imgs = new_volume(data.astype(np.float32), mask, code)
    return light.fit(imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="module")
def native():
    return _fit(1)


def _glass(page):
    """Whether outlines of the brain are drawn over the glass brain."""
    return re.search(r'<div class="nx-stack"><canvas[^>]*></canvas>\s*<img', page)


def _notes(page):
    return re.findall(r"not on the MNI template, because ([^;]*);", page)


@pytest.mark.usefixtures("undrawn")
def test_native_maps_lie_over_their_mean_and_say_so(native, caplog):
    with caplog.at_level("INFO", logger="neuroextrap"):
        page = native.generate_report().get_standalone()
    assert not _glass(page)
    assert "alt=&quot;&quot;" not in page
    assert len(_notes(page)) == 1
    assert "code 1, scanner" in _notes(page)[0]
    said = [r.getMessage() for r in caplog.records if "template" in r.getMessage()]
    assert len(said) == 1
    assert "over the mean image" in said[0]


@pytest.mark.usefixtures("undrawn")
def test_the_user_can_ask_for_the_template_or_nothing(native):
    page = native.generate_report(bg_img="mni152").get_standalone()
    assert _glass(page)
    assert not _notes(page)
    page = native.generate_report(bg_img=False).get_standalone()
    assert not _glass(page)
    assert not _notes(page)


@pytest.mark.usefixtures("undrawn")
def test_mni_maps_lie_on_the_template():
    page = _fit(4).generate_report().get_standalone()
    assert _glass(page)
    assert not _notes(page)


@pytest.mark.usefixtures("undrawn")
def test_signed_samples_have_no_anatomy():
    fitted = _fit(2, offset=0.0)
    assert fitted.bg_img_ is None
    assert "drawn without an anatomy" in fitted_background(fitted, None).why
    assert not _glass(fitted.generate_report().get_standalone())


@pytest.mark.parametrize("code", [1, 4])
def test_folders_keep_space_and_mean(code, tmp_path):
    fitted = _fit(code)
    fitted.to_directory(tmp_path / "out", bids={"sub": "01"})
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert {space_code(img) for img in read.maps_.values()} == {code}
    assert space_code(read.masker_.mask_img_) == code
    first, second = (fitted_background(f, None) for f in (fitted, read))
    assert first.in_mni152 is second.in_mni152 is (code == 4)
    np.testing.assert_array_equal(first.img.get_fdata(), second.img.get_fdata())
    assert first.why == second.why


def test_arrays_and_surfaces_have_no_volume_below():
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    fitted = IdentificationSearchLight().fit(rng.normal(size=(18, 9)), y, groups=runs)
    assert fitted_background(fitted, None) == (None, False, "")


@pytest.fixture
def downloaded(tmp_path, monkeypatch):
    """A folder as nilearn leaves it: two halves of space are the labels."""
    folder = tmp_path / "fsl" / "data" / "atlases"
    (folder / "HarvardOxford").mkdir(parents=True)
    labels = np.ones((20, 24, 20), dtype=np.uint8)
    labels[10:] = 2
    labels[0, 0, 0] = 0
    affine = np.diag([10.0, 10.0, 10.0, 1.0])
    affine[:3, 3] = -95, -125, -85
    path = folder / "HarvardOxford" / "HarvardOxford-cort-maxprob-thr25-2mm.nii.gz"
    nibabel.Nifti1Image(labels, affine).to_filename(path)
    names = "".join(
        f'<label index="{i}">{name}</label>'
        for i, name in enumerate(("Left half", "Right half"))
    )
    text = f"<atlas><data>{names}</data></atlas>"
    (folder / "HarvardOxford-Cortical.xml").write_text(text)
    monkeypatch.setenv("NILEARN_DATA", str(tmp_path))
    monkeypatch.setenv("NILEARN_SHARED_DATA", "")


def test_an_atlas_that_was_downloaded_names_places_in_mni_space(downloaded, native):
    in_mni = _fit(4)
    table = peak_table(in_mni)
    expected = np.where(table["x"] < 5, "Left half", "Right half")
    assert set(table["atlas_label"]) <= {"Left half", "Right half"}
    np.testing.assert_array_equal(table["atlas_label"], expected)
    assert "atlas_label" not in peak_table(in_mni, atlas=False)
    assert "atlas_label" not in peak_table(native)


def test_nothing_is_downloaded_for_names(tmp_path, monkeypatch):
    monkeypatch.setenv("NILEARN_DATA", str(tmp_path))
    monkeypatch.setenv("NILEARN_SHARED_DATA", "")
    monkeypatch.setattr("nilearn.datasets.fetch_atlas_harvard_oxford", None)
    assert "atlas_label" not in peak_table(_fit(4))
