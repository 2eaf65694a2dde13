"""Curves of classifiers that see all classes in training say so where they are read."""

import json

import nibabel
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import resolve_masker, to_img
from tests.analysis.seam import CLASSIFIERS

SAYS = "of the classifier trained on all 12 classes"


def common_noise(n_classes=12, n_runs=3, n_features=8, seed=0):
    """Classes in noise of few common directions, which more classes train better."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    X = rng.normal(size=(n_classes, n_features))[y]
    X += rng.normal(size=(len(y), 2)) @ rng.normal(size=(2, n_features))
    return (
        X + 0.3 * rng.normal(size=X.shape),
        y,
        np.repeat(np.arange(n_runs), n_classes),
    )


def fitted(estimator, **options):
    X, y, runs = common_noise()
    light = IdentificationSearchLight(estimator=estimator, bounds=None, **options)
    return light.fit(X, y, groups=runs)


@pytest.mark.parametrize("estimator", ["ridge", "lda", "qda", "svc", LinearSVC()])
def test_it_is_said_in_notes_and_table(estimator, tmp_path):
    light = fitted(estimator, shrinkage=0.1)
    light.to_directory(tmp_path)
    again = IdentificationSearchLight.from_directory(tmp_path)
    for one in (light, again):
        assert any(SAYS in note for note in one.notes_)
        assert (one.table_["n_classes_trained"] == 12).all()


def test_it_is_said_on_the_page_where_it_is_so():
    said = "trained on all 12 classes"
    assert said in fitted("ridge").generate_report().get_standalone()
    assert (
        "trained on all" not in fitted("gaussian_nb").generate_report().get_standalone()
    )


def change_without_others(estimator, **options):
    """How much margins of four classes change, relatively, when eight others leave."""
    X, y, runs = common_noise(n_runs=8)
    light = IdentificationSearchLight(estimator=estimator, bounds=None, **options)
    rows = light.fit(X, y, groups=runs).test_codes_ < 4
    all_classes = np.diff(light.region_margins(0)[rows, :4], axis=1)
    light.set_params(classes=range(4)).fit(X, y, groups=runs)
    few = np.diff(light.region_margins(0), axis=1)
    return np.abs(all_classes - few).max() / np.abs(few).max()


@pytest.mark.parametrize("estimator", [c for c in CLASSIFIERS if c != "logistic"])
def test_marginal_classifiers_are_those_that_say_so(estimator):
    noise = np.random.default_rng(1).normal(size=(40, 8))
    for options in ({}, {"shrinkage": 0.1}, {"noise_covariance": noise}):
        change = change_without_others(estimator, **options)
        assert (change < 1e-3) == CLASSIFIERS[estimator].marginal


@pytest.mark.parametrize(
    "estimator", ["nearest_centroid", "gaussian_nb", "nearest_neighbor"]
)
def test_classifiers_of_one_class_at_a_time_need_no_word(estimator):
    light = fitted(estimator)
    assert not any("trained on all" in note for note in light.notes_)
    assert "n_classes_trained" not in light.table_


def test_margins_of_others_depend_on_all_classes():
    """Sixty classes train the covariance of the common noise, six do not."""
    rng, K = np.random.default_rng(0), 60
    y, runs = np.tile(np.arange(K), 4), np.repeat(np.arange(4), K)
    X = 0.35 * rng.normal(size=(K, 60))[y] + 0.5 * rng.normal(size=(len(y), 60))
    X += 1.2 * rng.normal(size=(len(y), 6)) @ rng.normal(size=(6, 60))
    light = IdentificationSearchLight(estimator="ridge", bounds=None)
    curve = light.fit(X, y, groups=runs).accuracy_curve(0, [6])[1][0]
    light.set_params(classes=range(6)).fit(X, y, groups=runs)
    assert curve - light.region_scores_["accuracy"][0] > 0.2


def test_beyond_the_data_there_is_a_note_and_no_interval():
    light = fitted("ridge")
    with pytest.warns(UserWarning, match="more than 12 classes is doubtful"):
        predicted = light.extrapolate([24])
    with pytest.warns(UserWarning, match="more than 12 classes is doubtful"):
        light.extrapolator(0).predict(24)
    assert any(SAYS in note for note in predicted.notes)
    for ask in (
        lambda: light.extrapolate([24], confidence_level=0.9),
        lambda: light.extrapolator(0).predict_interval([24]),
    ):
        with pytest.raises(ValueError, match="no interval beyond the classes"):
            ask()


def test_sidecars_of_curves_say_so(tmp_path):
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    X, y, runs = common_noise()
    imgs = to_img(X, resolve_masker(mask))
    light = IdentificationSearchLight(mask, radius=2.0, estimator="ridge", bounds=None)
    light.fit(imgs, y, groups=runs).to_directory(tmp_path)
    for name in ("pairwise_accuracy", "implied_information"):
        sidecar = json.loads((tmp_path / f"{name}.json").read_text())
        assert SAYS in sidecar["description"]
    sidecar = json.loads((tmp_path / "accuracy.json").read_text())
    assert SAYS not in sidecar["description"]
    with pytest.warns(UserWarning, match="doubtful"):
        light.extrapolate([6, 24]).to_directory(tmp_path / "predicted")
    for size, words in ((6, SAYS), (24, f"doubtful: {SAYS}")):
        path = tmp_path / "predicted" / f"accuracy_among_{size}.json"
        assert json.loads(path.read_text())["description"].endswith(words)
