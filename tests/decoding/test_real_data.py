"""Known results on real brains: Haxby et al. 2001, and movements of fingers."""

import re

import nibabel
import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from neuroextrap.analysis import Regions
from neuroextrap.decoding import (
    DissimilaritySearchLight,
    IdentificationSearchLight,
    ensemble_information,
    lesion_identification,
)
from neuroextrap.images import labeled_samples, resolve_masker, to_img
from tests.decoding.seam import area_names, discoveries_section, page_maps
from tests.images.seam import feature_coordinates

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def slice_blocks(real_data):
    """Block averages of the posterior half of one slice: 8 conditions, 12 runs."""
    folder = real_data("haxby2001_subject1")
    events = pd.read_csv(
        folder / "attributes_literal.txt", sep=r"\s+", names=["trial_type", "run"]
    )
    masker = resolve_masker(folder / "mask.nii.gz")
    found = labeled_samples(
        folder / "bold.nii.gz",
        events,
        masker=masker,
        exclude="rest",
        detrend=True,
        standardize=True,
    )
    assert found.data.shape == (96, 530)
    return found, to_img(found.data, masker), folder / "mask.nii.gz"


@pytest.fixture(scope="module")
def spheres(slice_blocks):
    blocks, imgs, mask = slice_blocks
    fitted = IdentificationSearchLight(mask, radius=12.0, n_permutations=400)
    return fitted.fit(imgs, blocks.y, groups=blocks.runs)


def test_the_best_sphere_of_the_slice(spheres):
    best = np.nanmax(spheres.maps_["accuracy"].get_fdata())
    assert 0.70 <= best <= 0.85
    assert np.nanmin(spheres.maps_["p_value_fwe"].get_fdata()) == 1 / 401
    # among permuted labels the best of 530 spheres stays far below
    assert spheres.null_maxima_.max() < 0.45


def test_how_much_of_ventral_temporal_cortex_is_real(spheres):
    places = feature_coordinates(spheres.masker_)
    centers = np.array([(-28, 13, 0), (27, 10, 0)])
    inside = np.linalg.norm(places[:, None] - centers, axis=2).min(axis=1) <= 16
    drawn = spheres.masker_.inverse_transform(inside.astype(np.int32))
    n_true = spheres.true_discoveries(drawn)
    assert 0.9 * inside.sum() <= n_true <= inside.sum()
    survive = spheres.region_scores_["p_value_fwe"] <= 0.05
    assert spheres.true_discoveries() > 1.1 * survive.sum()
    area = Bunch(maps=drawn, labels=["ventral temporal, drawn"])
    areas = area_names(area, spheres.masker_)
    page = discoveries_section(page_maps(spheres), areas)
    row = page[page.index(">ventral temporal, drawn<") :]
    numbers = re.findall(r">(\d+)<", row[: row.index("</tr>")])
    assert list(map(int, numbers[:2])) == [inside.sum(), n_true]


@pytest.mark.filterwarnings("ignore:some classes come earlier in runs")  # by chance
def test_labels_permuted_within_runs_are_at_chance(slice_blocks):
    blocks, imgs, mask = slice_blocks
    rng = np.random.default_rng(0)
    means = []
    for _ in range(12):
        y = blocks.y.copy()
        for run in np.unique(blocks.runs):
            here = blocks.runs == run
            y[here] = rng.permutation(y[here])
        fitted = IdentificationSearchLight(mask, radius=12.0, bounds=None)
        fitted.fit(imgs, y, groups=blocks.runs)
        means.append(np.nanmean(fitted.maps_["accuracy"].get_fdata()))
    error = np.std(means, ddof=1) / np.sqrt(12)
    assert abs(np.mean(means) - 0.125) < 3.5 * error
    assert error < 0.01


def test_ensembles_and_lesions_of_the_slice(slice_blocks):
    blocks, imgs, mask = slice_blocks
    searchlight = IdentificationSearchLight(mask, estimator="lda")
    table = ensemble_information(
        searchlight, imgs, blocks.y, blocks.runs, n_voxels=[8, 32, 128], n_draws=10
    )
    assert table["accuracy"].is_monotonic_increasing
    assert table["accuracy"].iloc[0] > 0.2
    assert table["redundancy"].iloc[-1] > 0  # halves of 128 voxels share much
    found = lesion_identification(
        IdentificationSearchLight(mask, radius=20.0, regions=Regions(stride=6)),
        imgs,
        blocks.y,
        blocks.runs,
    )
    assert found.whole["accuracy"] > 0.6
    # no sphere of the slice is indispensable: what it tells is told elsewhere too
    assert found.table_["accuracy_loss"].abs().max() < 0.2


def test_the_whole_brain_at_25_mm(real_data):
    folder = real_data("haxby2001_subject1") / "haxby2001" / "sub001"
    runs = sorted((folder / "BOLD").glob("task001_run*"))
    assert len(runs) == 12
    mask = next((folder / "masks" / "25mm").glob("brain.nii*"))
    blocks = labeled_samples(
        [str(run / "bold_25mm.nii.gz") for run in runs],
        [run / "bold_events.tsv" for run in runs],
        masker=resolve_masker(mask),
        t_r=2.5,
        delay=5.0,
        exclude="rest",
        detrend=True,
        standardize=True,
    )
    assert blocks.data.shape == (96, 129)
    whole = IdentificationSearchLight(estimator="lda", n_permutations=100)
    whole.fit(blocks.data, blocks.y, groups=blocks.runs)
    assert 0.2 < whole.region_scores_["accuracy"][0] < 0.45
    assert whole.region_scores_["p_value"][0] == 1 / 101
    faces = IdentificationSearchLight(estimator="lda", classes=["face", "house"])
    faces.fit(blocks.data, blocks.y, groups=blocks.runs)
    assert faces.region_scores_["accuracy"][0] >= 0.85


def test_fingers_of_both_hands_in_twelve_hemispheres(real_data):
    from scipy.io import loadmat

    path = real_data("fingerhands_pcm") / "data_recipe_correlation.mat"
    content = loadmat(path, squeeze_me=True)
    accuracies = []
    for index in range(12):
        y, runs = content["condVec"][index], content["partVec"][index]
        X = content["Data"][index]
        means = np.stack([X[runs == run].mean(axis=0) for run in range(1, 9)])
        # a run's own mean is no label, and differs between runs more than fingers do
        centered = X - means[runs - 1]
        fitted = IdentificationSearchLight(estimator="ridge", shrinkage=10.0)
        fitted.fit(centered, y, groups=runs)
        assert len(fitted.classes_) == 10
        accuracies.append(fitted.region_scores_["accuracy"][0])
    # published with the data: .51 to .76, chance .1
    assert min(accuracies) == pytest.approx(0.51, abs=0.02)
    assert max(accuracies) == pytest.approx(0.76, abs=0.02)


def test_distances_of_fingers_are_those_of_rsatoolbox(real_data):
    from scipy.io import loadmat

    path = real_data("fingerhands_pcm") / "data_recipe_correlation.mat"
    content = loadmat(path, squeeze_me=True)
    X, y, runs = (content[name][0] for name in ("Data", "condVec", "partVec"))
    finger, hand = np.tile(np.arange(5), 2), np.repeat([0, 1], 5)
    apart = np.abs(np.subtract.outer(finger, finger))
    model = apart + 2 * (hand[:, np.newaxis] != hand)
    # of rsatoolbox 0.3.2: calc_rdm(method="crossnobis", cv_descriptor=...), compare
    known = {"spearman": 0.627901, "kendall": 0.444444, "cosine": 0.901983}
    for method, expected in known.items():
        light = DissimilaritySearchLight(
            models={"fingers": model}, method=method, n_permutations=999
        )
        found = light.fit(X, y, groups=runs).region_scores_
        assert found["fingers_correlation"][0] == pytest.approx(expected, abs=1e-5)
        assert found["fingers_p_value"][0] == 1 / 1000
        assert expected < found["noise_ceiling"][0] < 1


def test_left_out_runs_are_predicted_as_by_cross_validation(slice_blocks):
    blocks, imgs, mask = slice_blocks
    options = {"radius": 12.0, "estimator": "ridge", "bounds": None, "n_jobs": 1}
    whole = IdentificationSearchLight(mask, **options)
    whole.fit(imgs, blocks.y, groups=blocks.runs)
    region = int(np.nanargmax(whole.region_scores_["accuracy"]))
    (center,) = whole.run_.usable.regions[[region]].toarray() > 0
    X, one = blocks.data[:, center], IdentificationSearchLight(**options)
    scores = []
    for run in np.unique(blocks.runs):
        train, test = blocks.runs != run, blocks.runs == run
        fitted = one.fit(X[train], blocks.y[train], groups=blocks.runs[train])
        scores.append(fitted.score(X[test], blocks.y[test]))
    # the same but for the penalty, which then comes from eleven runs
    accuracy = whole.region_scores_["accuracy"][region]
    assert np.mean(scores) == pytest.approx(accuracy, abs=0.03)
    pattern = whole.patterns(region)["face"].get_fdata()
    assert np.isfinite(pattern).sum() == center.sum()


def test_bounds_bite_with_eight_categories(slice_blocks, spheres):
    blocks, imgs, mask = slice_blocks
    best = {name: np.nanmax(value) for name, value in spheres.region_scores_.items()}
    assert best["bayes_accuracy_bound"] == pytest.approx(0.587, abs=0.01)
    assert best["bayes_accuracy_bound_fwe"] == pytest.approx(0.475, abs=0.01)
    assert best["class_information_bound"] == pytest.approx(0.86, abs=0.02)
    assert best["class_information_bound_fwe"] == pytest.approx(0.53, abs=0.02)
    folds = IdentificationSearchLight(mask, radius=12.0, bounds="folds")
    folds.fit(imgs, blocks.y, groups=blocks.runs)
    assert np.nanmax(folds.region_scores_["bayes_accuracy_bound"]) < 0.35


def test_maps_of_the_slice_lie_on_its_grid(slice_blocks, spheres):
    reference = nibabel.load(slice_blocks[2])
    found = spheres.maps_["accuracy"]
    assert found.shape == reference.shape
    np.testing.assert_array_equal(found.affine, reference.affine)
    outside = np.asanyarray(reference.dataobj) == 0
    assert np.isnan(found.get_fdata()[outside]).all()
