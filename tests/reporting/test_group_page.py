"""The page about a group says what its maps say, and shows every subject."""

import json
import re

import matplotlib
import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.reporting import get_clusters_table
from nilearn.surface import SurfaceImage
from sklearn.utils import Bunch

from neuroextrap.group import (
    group_permutation_test,
    prevalence_test,
    second_level_test,
    sign_flip_test,
)
from tests.reporting.seam import joined_view, make_group_page, read_group

SHAPE, AFFINE = (8, 7, 6), np.diag([4.0, 4, 4, 1])
N = 10


def _volume(data):
    return nibabel.Nifti1Image(data, AFFINE)


@pytest.fixture(scope="module")
def imgs(tmp_path_factory):
    """Files of ten subjects; two blobs above zero, one below."""
    rng = np.random.default_rng(3)
    folder, paths = tmp_path_factory.mktemp("group"), []
    for k in range(N):
        data = rng.normal(size=SHAPE)
        data[:2, :2, :2] += 5
        data[5:7, 4:6, 3:5] += 4
        data[0, 5:, 4:] -= 5
        path = folder / f"sub-{k:02d}_desc-accuracy_stat.nii.gz"
        nibabel.save(_volume(data), path)
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module")
def tested(imgs):
    return second_level_test(
        imgs, two_sided=True, cluster_threshold=0.01, n_permutations=200
    )


@pytest.fixture(scope="module")
def group_page(tested):
    """Its report, as HTML."""
    return tested.generate_report().get_standalone()


def _found(maps, atlas=None):
    (result,) = read_group([maps], atlas)
    return result.view.finding, result.clusters


def test_clusters_are_those_of_nilearn(tested):
    finding, clusters = _found(tested)
    assert finding.criterion == "p_value_fwe_cluster_extent"
    p = tested["p_value_fwe_cluster_extent"].get_fdata()
    t = tested["t"].get_fdata()
    assert finding.n_surviving == (p <= 0.05).sum() > 0
    surviving = _volume(np.where(p <= 0.05, t, 0.0))
    theirs = get_clusters_table(surviving, 0.5, two_sided=True, min_distance=1000)
    theirs = theirs[theirs["Cluster Size (mm3)"] != ""]
    ours = clusters.sort_values("t")
    theirs = theirs.sort_values("Peak Stat")
    assert len(ours) == len(theirs) == 3
    assert (ours["t"] < 0).sum() == 1
    np.testing.assert_allclose(ours["t"], theirs["Peak Stat"].astype(float), rtol=1e-5)
    np.testing.assert_allclose(
        ours["size_mm3"], theirs["Cluster Size (mm3)"].astype(float)
    )
    np.testing.assert_allclose(
        ours[["x", "y", "z"]], theirs[["X", "Y", "Z"]].astype(float)
    )


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_what_the_maps_say(tested, page_data, imgs):
    page = tested.generate_report("Ten <subjects>", left_out={"sub-99": "<no> maps"})
    text = page.get_standalone()
    n = int((tested["p_value_fwe_cluster_extent"].get_fdata() <= 0.05).sum())
    n_voxel = int((tested["p_value_fwe"].get_fdata() <= 0.05).sum())
    assert (
        "Over 10 subjects, the mean accuracy differs from 0 somewhere in each of 3 "
        f"clusters ({n} of 336 voxels" in text
    )
    assert f"{n_voxel} by the largest statistic" in text
    assert "Ten &lt;subjects&gt;" in text
    assert "sub-99: &lt;no&gt; maps" in text
    assert "true_discovery_curve.svg" in text
    for heading in ("Clusters", "Null distributions", "Who was analyzed", "Methods"):
        assert f">{heading}<a" in text
    data = page_data(text)
    assert data["subjects"]["names"] == [f"sub-{k:02d}" for k in range(N)]
    values = np.stack([nibabel.load(img).get_fdata().ravel() for img in imgs], axis=1)
    kept = data["regions"]
    np.testing.assert_allclose(data["subjects"]["values"], values[kept], rtol=6e-4)
    assert data["survives"].sum() == n
    shown = {each["label"]: each["values"] for each in data["maps"]}
    np.testing.assert_allclose(shown["t"], tested["t"].get_fdata().ravel(), rtol=1e-5)


@pytest.mark.usefixtures("undrawn")
def test_an_atlas_names_the_peaks(tested):
    labels = np.ones(SHAPE, "uint8")
    labels[4:] = 2
    atlas = Bunch(maps=_volume(labels), labels=["<i>left</i>", "right"])
    _, clusters = _found(tested, (atlas, None))
    right = clusters["x"] >= 16
    assert (clusters["region"][right] == "right").all()
    assert (clusters["region"][~right] == "<i>left</i>").all()
    text = tested.generate_report(labels_img=atlas).get_standalone()
    assert "&lt;i&gt;left&lt;/i&gt;" in text
    assert "<i>left</i>" not in text


@pytest.mark.usefixtures("undrawn")
def test_nothing_survives(imgs):
    rng = np.random.default_rng(0)
    noise = [_volume(rng.normal(size=SHAPE)) for _ in range(8)]
    maps = sign_flip_test(noise, n_permutations=100)
    assert maps["p_value_fwe"].get_fdata().min() > 0.05
    text = maps.generate_report().get_standalone()
    assert "Nothing survives: over 8 subjects, the mean is above 0 in none of" in text
    assert "none survives correction" in text
    assert "all 256 rearrangements" not in text
    with pytest.warns(UserWarning, match="only 16 distinct sign flips"):
        few = sign_flip_test(noise[:4], n_permutations=100)
    text = few.generate_report().get_standalone()
    assert "with 16 arrangements no p-value can be below .062." in text


@pytest.fixture(scope="module")
def nulls():
    """Maps of permuted labels of every subject."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=(20, np.prod(SHAPE))) for _ in range(N)]


@pytest.fixture(scope="module")
def found(imgs, nulls):
    """Where information prevails in the population."""
    return prevalence_test(imgs, nulls, n_permutations=2000)


@pytest.mark.usefixtures("undrawn")
def test_prevalence_and_permuted_maps(imgs, nulls, found):
    text = found.generate_report().get_standalone()
    n = int((found["p_value_fwe"].get_fdata() <= 0.05).sum())
    assert f"at least one carries information in {n} of 336 voxels" in text
    percent = int(100 * found["prevalence_bound_fwe"].get_fdata().max())
    assert percent > 0
    assert f"At least {percent}% of the population carry information" in text
    assert "Allefeld" in text
    mean = group_permutation_test(imgs, nulls, n_permutations=500)
    text = mean.generate_report().get_standalone()
    n = int((mean["p_value_fwe"].get_fdata() <= 0.05).sum())
    assert f"larger than permuted labels give in {n} of 336 voxels" in text


@pytest.mark.usefixtures("undrawn")
def test_two_analyses_on_one_page(tested, found):
    first, second = read_group([tested, found])
    assert second.view.records["p_value_fwe"].name == "prevalence_p_value_fwe"
    for result, maps in ((first, tested), (second, found)):
        expected = maps["p_value_fwe"].get_fdata().ravel()
        np.testing.assert_array_equal(result.view.scores["p_value_fwe"], expected)
        name = result.view.records["p_value_fwe"].name
        shown = joined_view([first, second]).scores[name]
        np.testing.assert_array_equal(shown, expected)
    page = make_group_page(
        [tested, found],
        bg_img=False,
        links={"sub-03": "../sub-03/func/page.html"},
    )
    text = page.get_standalone()
    assert ">Prevalence<a" in text
    assert text.count('href="../sub-03/func/page.html"') == 1


@pytest.mark.usefixtures("undrawn")
def test_surfaces(surface, page_data):
    rng = np.random.default_rng(2)
    mesh = surface.maps_["accuracy"].mesh
    images = []
    for _ in range(8):
        parts = {side: rng.normal(size=300) for side in ("left", "right")}
        parts["left"][mesh.parts["left"].coordinates[:, 0] < -55] += 6
        images.append(SurfaceImage(mesh=mesh, data=parts))
    maps = second_level_test(images, n_permutations=100)
    finding, clusters = _found(maps)
    assert clusters["n_vertices"].sum() == finding.n_surviving > 0
    text = maps.generate_report().get_standalone()
    assert f"{finding.n_surviving} of 600 vertices" in text
    assert len(page_data(text)["hemispheres"]) == 2


def test_arrays_have_no_page():
    rng = np.random.default_rng(0)
    maps = sign_flip_test(rng.normal(size=(9, 5)), n_permutations=20)
    with pytest.raises(ValueError, match="maps of arrays have no images"):
        maps.generate_report()


_DOTS = """JSON.stringify({
  dots: Array.from(document.querySelectorAll(".nx-subjects circle title")).map(
    function (title) { return title.textContent; }),
  place: document.querySelector(".nx-place").textContent,
  width: document.documentElement.scrollWidth
})"""


def test_a_click_shows_every_subject(browser, imgs, tested, group_page):
    _, clusters = _found(tested)
    browser.open(group_page)
    second = clusters.iloc[1]
    box = browser.box(f'.nx-go[data-region="{int(second["feature"])}"]')
    browser.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    xyz = ", ".join(str(round(second[axis])) for axis in "xyz")
    browser.settle()
    shown = json.loads(browser.value(_DOTS))
    assert shown["place"] == f"({xyz}) mm"
    voxel = tuple(np.unravel_index(int(second["feature"]), SHAPE))
    expected = [nibabel.load(img).get_fdata()[voxel] for img in imgs]
    names, values = zip(*(dot.split(": ") for dot in shown["dots"]), strict=True)
    assert list(names) == [f"sub-{k:02d}" for k in range(N)]
    np.testing.assert_allclose([float(v) for v in values], expected, rtol=6e-4)
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}
    browser.resize(400)
    browser.settle()
    assert json.loads(browser.value(_DOTS))["width"] <= 400
    browser.call("Emulation.clearDeviceMetricsOverride")


def test_pages_are_equal_for_equal_maps(tested, group_page):
    again = tested.generate_report().get_standalone()
    assert re.sub(r"\s", "", again) == re.sub(r"\s", "", group_page)


@pytest.mark.parametrize("two_sided", [True, False])
def test_colors_are_white_at_zero_where_both_signs_are_strong(imgs, two_sided):
    maps = second_level_test(imgs, two_sided=two_sided, n_permutations=20)
    (result,) = read_group([maps])
    (low, high), cmap = result.view.look("t")[1:]
    t = maps["t"].get_fdata()
    assert high == pytest.approx(np.nanmax(np.abs(t)) if two_sided else np.nanmax(t))
    assert low == (-high if two_sided else 0)
    white = np.array(matplotlib.colormaps[cmap]((0 - low) / (high - low)))[:3]
    assert (white.min() > 0.9) == two_sided


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("contrast", "null"),
    [("patients - controls", "0"), ("age", "0"), ("controls", "0.25"), (None, "0.25")],
)
def test_what_a_contrast_is_compared_with(contrast, null):
    """The baseline of subjects' maps drops out of differences, and is said to."""
    rng = np.random.default_rng(2)
    noise = [_volume(0.25 + rng.normal(size=SHAPE)) for _ in range(12)]
    patients = np.repeat([1.0, 0.0], 6)
    groups = {"patients": patients, "controls": 1 - patients}
    design = pd.DataFrame({**groups, "age": rng.normal(size=12)})
    design = None if contrast is None else design
    options = {"contrast": contrast, "baseline": 0.25, "n_permutations": 50}
    maps = second_level_test(noise, design, **options)
    text = maps.generate_report().get_standalone()
    what = "the mean" if contrast is None else f"the contrast “{contrast}”"
    assert f"over 12 subjects, {what} is above {null} in" in text
    assert f"of 12 subjects was tested against {null} " in text
    assert ("sign flipping assumes" in text) == (contrast is None)
    assert ("a mean above chance may come from a few" in text) == (contrast is None)
