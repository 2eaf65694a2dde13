"""How many regions are informative: on pages, in tables, and in the viewer's script."""

import json
import re
import shutil
import subprocess
from html import unescape

import nibabel
import numpy as np
import pytest
from sklearn.utils import Bunch

from neuroextrap.datasets import simulate_brain
from neuroextrap.reporting import peak_table
from neuroextrap.stats import true_discoveries
from tests.analyses import searchlight_of
from tests.images.seam import feature_coordinates
from tests.reporting.seam import (
    DiscoveryBounds,
    PageMaps,
    _peaks,
    area_names,
    discoveries_section,
    discovery_curve,
    forming_clusters,
    identification_sections,
    page_maps,
    read_text,
)


def fit(**options):
    """Fit a simulated brain; its mask, in which information was planted, beside it."""
    brain = simulate_brain(resolution=10, radius=16.0, n_classes=8, n_runs=6)
    options = {"radius": 15.0, "n_permutations": 99, **options}
    light = searchlight_of(brain.masker.mask_img_, **options)
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="module")
def light():
    return fit()


def section(light, atlas=None):
    areas = None if atlas is None else area_names(atlas, light.masker_)
    return unescape(discoveries_section(page_maps(light), areas))


HEADING = "How many are informative"


def halves(light):
    """An atlas of two halves of the mask."""
    mask = light.masker_.mask_img_
    labels = np.asarray(mask.dataobj).astype(np.int16)
    labels[: len(labels) // 2] *= 2
    img = nibabel.Nifti1Image(labels, mask.affine)
    return Bunch(maps=img, labels=["right", "left"])


def test_the_curve_is_the_bound_at_every_threshold(light, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        _peaks, "embed_figure", lambda figure, *_: drawn.append(figure) or ""
    )
    section(light)
    (figure,) = drawn
    reached, counted = figure.axes[0].lines
    for level, n_reached, n_true in zip(
        *reached.get_data(), counted.get_ydata(), strict=True
    ):
        accuracy = light.region_scores_["accuracy"]
        assert n_reached == (accuracy >= level).sum()
        assert n_true == light.true_discoveries(accuracy >= level)
    assert max(counted.get_ydata()) == light.true_discoveries()


def counted(bounds, n):
    """Regions (n,) without a place, of which sets are counted."""
    return PageMaps(
        maps={},
        scores={"p_value": np.ones(n)},
        masker=None,
        choice=Bunch(places=lambda masker: None),
        words=("one", "many"),
        finding=Bunch(survives=np.zeros(n, bool)),
        bounds=bounds,
        n_permutations=99,
    )


def test_a_proportion_is_never_rounded_up():
    bounds = DiscoveryBounds(np.arange(1.0, 241), np.array([500.0, 0]), 0.95)
    page = discoveries_section(counted(bounds, 240))
    assert "At least 239 of these 240 many" in page
    assert ">99%<" in page


def test_no_curve_where_the_bound_is_zero():
    bounds = DiscoveryBounds(np.zeros(9), np.ones(3), 0.95)
    assert discovery_curve(counted(bounds, 9)) == ""
    some = DiscoveryBounds(np.arange(9.0), np.ones(3), 0.95)
    assert "true_discovery_curve.svg" in discovery_curve(counted(some, 9))


@pytest.mark.usefixtures("undrawn")
def test_a_page_answers_for_all_regions_and_an_atlas(light):
    atlas = halves(light)
    page = unescape(dict(identification_sections(light, atlas=atlas))[HEADING])
    assert page == section(light, atlas=atlas)
    n_regions = len(light.wins_)
    assert (
        f"At least {light.true_discoveries():,} of these {n_regions:,} spheres are "
        "informative (95% confidence, simultaneously over all regions anyone may pick)"
    ) in page
    for name in atlas.labels:
        row = re.search(
            rf"<tr[^>]*>\s*<t[dh][^>]*>{name}</t[dh]>(.*?)</tr>", page, re.S
        )
        numbers = re.findall(r">([\d,.]+)%?<", row[1])
        assert int(numbers[1].replace(",", "")) == light.true_discoveries(
            name, atlas=atlas
        )


def test_a_drawn_mask_is_called_by_its_file_and_listed_before_clusters(light, tmp_path):
    mask = light.masker_.mask_img_
    drawn = np.asarray(mask.dataobj).astype(np.int8)
    drawn[: len(drawn) // 2] = 0
    path = tmp_path / "ventral_temporal.nii.gz"
    nibabel.Nifti1Image(drawn, mask.affine).to_filename(path)
    page = section(light, atlas=path)
    numbers = re.findall(r">(\d+)<", page[page.index(">ventral temporal<") :])
    assert int(numbers[1]) == light.true_discoveries(path) > 0
    assert f"{numbers[1]} or more of the {numbers[0]} in ventral temporal (95%" in page
    assert page.index(">ventral temporal<") < page.index("cluster around")
    assert "ventral temporal" in set(peak_table(light, atlas=path)["atlas_label"])


def test_clusters_of_peaks_are_counted(light):
    forming, clusters = forming_clusters(page_maps(light))
    assert forming == 0.01
    assert np.bincount(clusters[clusters >= 0]).max() > 3
    peaks = peak_table(light)
    for peak in peaks.itertuples():
        inside = clusters == clusters[peak.region]
        if clusters[peak.region] < 0:
            assert peak.cluster_regions == peak.cluster_true_discoveries == 0
        else:
            assert peak.cluster_regions == inside.sum()
            assert peak.cluster_true_discoveries == light.true_discoveries(inside)
    small = light.region_scores_["p_value"] <= 0.01
    np.testing.assert_array_equal(clusters >= 0, small)
    assert peaks["cluster_true_discoveries"].max() > 0


def test_every_second_center_has_the_neighbors_of_its_grid():
    light = fit(stride=2)
    _, clusters = forming_clusters(page_maps(light))
    places = feature_coordinates(light.masker_)[light.results_.choice.centers]
    for number in range(clusters.max() + 1):
        inside = places[clusters == number]
        away = np.linalg.norm(inside[:, None] - inside[None], axis=2)
        step = np.where(away > 0, away, np.inf).min(axis=1)
        assert len(inside) == 1 or (step == 20.0).all()


def test_nothing_is_said_without_permutations():
    light = fit(n_permutations=0)
    assert discoveries_section(page_maps(light)) == ""
    assert "cluster_regions" not in peak_table(light)


NODE = shutil.which("node")


def printed_by(script):
    how = {"capture_output": True, "text": True, "check": True}
    return subprocess.run([NODE, "-"], input=script, **how).stdout


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_the_script_of_the_viewer_counts_as_python_does(seed):
    rng = np.random.default_rng(seed)
    cases = []
    for n in (0, 1, 7, 500):
        thresholds = np.sort(rng.normal(size=rng.integers(1, 40)))[::-1].round(1)
        cases.append((rng.normal(0.5, size=n).round(1), thresholds))
    text = json.dumps([[list(map(float, x)) for x in case] for case in cases])
    script = read_text("discoveries.js") + (
        f"console.log(JSON.stringify({text}.map(function (c) {{"
        "return trueDiscoveries(c[0], c[1]); })));"
    )
    assert json.loads(printed_by(script)) == [true_discoveries(*case) for case in cases]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_script_finds_the_spheres_around_a_place(light):
    choice = light.results_.choice
    places = feature_coordinates(light.masker_)[choice.centers]
    at = places[len(places) // 2]
    found = {
        "scores": light.results_.discoveries.scores.tolist(),
        "thresholds": light.results_.discoveries.thresholds.tolist(),
        "level": "95%",
        "many": "spheres",
    }
    script = (
        read_text("look_up.js")
        + read_text("discoveries.js")
        + f"var found = {json.dumps(found)}, places = Float64Array.from("
        f"{json.dumps(places.ravel().tolist())});"
        "console.log(bounded(found, function (region) {"
        f"return isNear(places, region, {json.dumps(at.tolist())}, 24); }}));"
    )
    near = np.linalg.norm(places - at, axis=1) <= 24
    assert printed_by(script).strip() == (
        f"At least {light.true_discoveries(near)} of these {near.sum()} spheres"
    )
