"""Macaque V4: kinds of photographs identified from 89 neurons, sites as regions."""

import io
import zipfile

import numpy as np
import pytest

from neuroextrap.decoding import (
    IdentificationSearchLight,
    TargetSearchLight,
    compare_decoders,
)

pytestmark = pytest.mark.real_data

N_SITES = 8  # groups of neighboring channels, after the region of all neurons
REGIONS = np.vstack(
    [np.ones((1, 89)), np.kron(np.eye(N_SITES), np.ones((1, 12)))[:, :89]]
)


def measures(photographs):
    """How bright, how warm, and how upright photographs are, a row for each."""
    gray = photographs.mean(axis=-1)
    upright, lying = (
        np.square(np.diff(gray, axis=axis)).mean(axis=(1, 2)) for axis in (2, 1)
    )
    warm = (photographs[..., 0] - photographs[..., 2]).mean(axis=(1, 2))
    return np.stack([gray.mean(axis=(1, 2)), warm, np.log(upright / lying)], axis=1)


def kinds(measured):
    """Bright or dark, warm or cool, upright or lying: eight kinds, halves of each."""
    return (measured > np.median(measured, axis=0)) @ [4, 2, 1]


@pytest.fixture(scope="module")
def measured_v4(real_data):
    """Roots of spike counts, kinds, sets of ten photographs of each, measures."""
    from PIL import Image

    folder = real_data("v4_natural_images")
    responses = np.load(folder / "responses_avg_201025.npy").T
    with zipfile.ZipFile(folder / "images_201025.zip") as archive:
        names = [f"image{number:04d}.jpg" for number in range(1, 1201)]
        photographs = [
            np.asarray(Image.open(io.BytesIO(archive.read(name)))) for name in names
        ]
    measured = measures(np.array(photographs, dtype=np.float32))
    y = kinds(measured)
    rows = np.stack([np.flatnonzero(y == kind)[:120] for kind in range(8)])
    rows = rows.reshape(8, 10, 12).transpose(2, 1, 0)
    runs = np.broadcast_to(np.arange(12)[:, np.newaxis, np.newaxis], rows.shape)
    rows = rows.ravel()
    return np.sqrt(responses[rows]), y[rows], runs.ravel(), measured[rows]


@pytest.fixture(scope="module")
def v4(measured_v4):
    return measured_v4[:3]


@pytest.fixture(scope="module")
def centroid(v4):
    X, y, runs = v4
    light = IdentificationSearchLight(regions=REGIONS, n_permutations=99)
    return light.fit(X, y, groups=runs)


def test_bounds_and_e_values_show_that_neurons_tell_kinds(centroid):
    found = centroid.region_scores_
    assert found["accuracy"][0] == pytest.approx(0.30, abs=0.02)
    assert (found["p_value_fwe"] == 1 / 100).all()
    assert (found["e_value_fdr"] < 1e-6).all()
    # every group of a dozen neurons tells something, all of them more
    for suffix in ("", "_fwe"):
        bound = found[f"bayes_accuracy_bound{suffix}"]
        bits = found[f"class_information_bound{suffix}"]
        assert (bound > 1 / 8).all()
        assert (bound < found["accuracy"]).all()
        assert bound[0] > 0.22
        assert bits[0] > 0.05
        assert (bits[0] > np.delete(bits[1:], 1)).all()


def test_nothing_is_claimed_of_shuffled_kinds(v4):
    X, y, runs = v4
    light = IdentificationSearchLight(regions=REGIONS, n_permutations=99)
    shuffled = np.random.default_rng(0).permuted(y.reshape(12, -1), axis=1).ravel()
    found = light.fit(X, shuffled, groups=runs).region_scores_
    assert found["accuracy"] == pytest.approx(1 / 8, abs=0.04)
    assert (found["bayes_accuracy_bound"] == 1 / 8).all()
    assert (found["class_information_bound"] == 0).all()
    assert found["p_value_fwe"].min() > 0.05
    assert found["e_value_fdr"].min() > 0.05


def test_a_discriminant_reads_more_than_centroids(v4, centroid):
    X, y, runs = v4
    lda = IdentificationSearchLight(regions=REGIONS, estimator="lda", bounds=None)
    lda.fit(X, y, groups=runs)
    maps = compare_decoders(lda, centroid, n_permutations=499)
    assert maps["accuracy_difference"][0] == pytest.approx(0.07, abs=0.02)
    assert maps["p_value_fwe"][0] <= 0.01
    # noise that neurons share matters less among a dozen of them
    assert maps["p_value_fwe"][3:].min() > 0.05
    sites = [[0, site] for site in range(1, 1 + N_SITES)]
    maps = compare_decoders(lda, lda, regions=sites, n_permutations=499)
    assert (maps["accuracy_difference"] > 0).all()
    assert np.sum(maps["p_value_fwe"] <= 0.05) >= 6


def test_neurons_tell_how_bright_warm_and_upright_photographs_are(measured_v4):
    X, _, runs, measured = measured_v4
    some = runs < 4
    given = X[some], measured[some], runs[some]
    light = TargetSearchLight(regions=REGIONS, n_permutations=99)
    found = light.fit(*given).region_scores_
    assert (found["p_value_fwe"] == 1 / 100).all()
    assert found["correlation"][0] == pytest.approx(0.63, abs=0.02)
    assert (found["correlation"][1:] < 0.5).all()
    assert found["implied_information"][0] > 0.5
    chosen = TargetSearchLight(regions=REGIONS[:1], shrinkage="inner_folds")
    r = chosen.fit(*given).region_scores_["correlation"][0]
    assert r == pytest.approx(found["correlation"][0], abs=0.03)
    assert set(chosen.chosen_shrinkage(0)) <= {0.01, 0.1, 1.0}
