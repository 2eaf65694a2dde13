"""Whatever can be asked of an analysis can be asked once it was read from a folder."""

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from neuroextrap.encoding import (
    EncodingIdentification,
    RidgeEncoder,
    compare_encoding_models,
    compare_encoding_models_pairwise,
)
from neuroextrap.maps import read_maps

MEMBERS = scipy.sparse.csr_array(np.kron(np.eye(3), np.ones((1, 10))) > 0)


def _named(values, first=0):
    """A table of features whose index names the stimuli."""
    names = [f"image{i}" for i in range(first, first + len(values))]
    return pd.DataFrame(values, index=names)


def _fitted(e, columns=8, **options):
    """Six test stimuli of the 24 are shown again, with other noise."""
    stimuli = np.r_[np.arange(24), np.arange(6)]
    noise = np.random.default_rng(2).normal(size=(30, 30))
    model = EncodingIdentification(encoder=RidgeEncoder(), regions=MEMBERS, **options)
    model.fit(e.train[:, :columns], e.Y)
    test = _named(e.test[:, :columns], 100)
    return model.identify(test, e.Y_test[stimuli] + noise, stimuli=stimuli)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"repeats": "keep", "rule": "ledoit_wolf"},
        {"rule": "correlation", "statistic": "pairwise_accuracy"},
    ],
)
def test_everything_works_after_reading(experiment, tmp_path, options):
    model = _fitted(experiment, **options)
    model.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    assert again.classes_.tolist() == [f"image{i}" for i in range(100, 124)]
    for region in range(3):
        margins = model.region_margins(region)
        np.testing.assert_array_equal(again.region_margins(region), margins)
        errors = model.standard_error(region)
        np.testing.assert_array_equal(again.standard_error(region), errors)
    np.testing.assert_array_equal(again.test_codes_, model.test_codes_)
    np.testing.assert_array_equal(again.predictions_, model.predictions_)
    for kind in ("prediction_maps", "penalty_maps"):
        before, after = (getattr(m, kind)() for m in (model, again))
        assert before.keys() == after.keys()
        for name, values in before.items():
            np.testing.assert_array_equal(after[name], values)
    pd.testing.assert_frame_equal(again.table_, model.table_)
    found, expected = (m.extrapolate(1000)[1000] for m in (again, model))
    np.testing.assert_array_equal(found, expected)
    new = experiment.test[:5] + 0.1
    np.testing.assert_allclose(again.predict(new), model.predict(new), rtol=1e-6)
    if "rule" not in options:
        np.testing.assert_array_equal(again.posterior(1), model.posterior(1))
    weights = model.coefficients(4)
    np.testing.assert_array_equal(weights, model.encoder_.coef_[4])
    np.testing.assert_array_equal(again.coefficients(4), weights)
    with pytest.raises(ValueError, match="feature=30 has no coefficients"):
        again.coefficients(30)
    again.to_directory(tmp_path / "copy")  # and once more
    copy = EncodingIdentification.from_directory(tmp_path / "copy")
    np.testing.assert_array_equal(copy.region_margins(1), model.region_margins(1))


def test_what_was_not_saved_is_said(experiment, tmp_path):
    e = experiment
    model = EncodingIdentification(encoder=make_pipeline(Ridge()), regions=MEMBERS)
    model.fit(e.train, e.Y).identify(e.test, e.Y_test).to_directory(tmp_path / "one")
    again = EncodingIdentification.from_directory(tmp_path / "one")
    with pytest.raises(NotFittedError, match="no encoder was kept"):
        again.predict(e.test)
    with pytest.raises(ValueError, match="encoder was not saved"):
        again.posterior(0)
    ridge = EncodingIdentification(encoder=Ridge(), regions=MEMBERS)
    ridge.fit(_named(e.train), e.Y).identify(_named(e.test, 100), e.Y_test)
    ridge.to_directory(tmp_path / "two")
    again = EncodingIdentification.from_directory(tmp_path / "two")
    np.testing.assert_allclose(again.predict(e.test), ridge.predict(e.test), rtol=1e-6)
    with pytest.raises(ValueError, match="it predicts"):
        again.identify(e.test, e.Y_test)


@pytest.mark.parametrize("encoder", [Ridge(), make_pipeline(Ridge())])
def test_models_without_training_data_are_saved_again(experiment, tmp_path, encoder):
    """Folds of a splitter, and other encoders, cannot be read from a folder."""
    e = experiment
    model = EncodingIdentification(encoder=encoder, regions=MEMBERS, cv=KFold(5))
    model.fit(e.train, e.Y).identify(e.test, e.Y_test)
    for name in ("one", "two", "three"):
        model.to_directory(tmp_path / name)
        again = EncodingIdentification.from_directory(tmp_path / name)
        margins = model.region_margins(0)
        np.testing.assert_array_equal(again.region_margins(0), margins)
        with pytest.raises(ValueError, match="encoder was not saved"):
            again.posterior(0)
        if isinstance(encoder, Ridge):
            expected = model.predict(e.test)
            np.testing.assert_allclose(again.predict(e.test), expected, rtol=1e-6)
        model = again


def test_voxels_have_a_table(experiment, tmp_path):
    model = _fitted(experiment)
    model.to_directory(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "voxels.tsv", sep="\t")
    scores = model.prediction_maps()
    np.testing.assert_allclose(table["voxel_r2"], scores["r2"])
    np.testing.assert_allclose(table["voxel_noise_ceiling"], scores["noise_ceiling"])
    np.testing.assert_allclose(table["voxel_alpha"], model.encoder_.alpha_)


def test_a_damaged_run_is_told(experiment, tmp_path):
    _fitted(experiment).to_directory(tmp_path / "out")
    path = tmp_path / "out" / "run.npz"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"run.npz is not the file that was written"):
        EncodingIdentification.from_directory(tmp_path / "out")


def test_images_have_maps_of_voxels(experiment, tmp_path):
    e = experiment
    mask = nibabel.Nifti1Image(np.ones((5, 3, 2), dtype=np.uint8), np.eye(4) * 3)
    train, test = (
        nibabel.Nifti1Image(Y.T.reshape(5, 3, 2, -1).astype(np.float32), mask.affine)
        for Y in (e.Y, e.Y_test)
    )
    bands = np.repeat(["low", "high"], 4)
    encoder = RidgeEncoder(bands=bands, band_weights=4)
    model = EncodingIdentification(mask, encoder, radius=4.0)
    model.fit(e.train, train).identify(e.test, test)
    model.to_directory(tmp_path / "out")
    maps = read_maps(tmp_path / "out")
    for name in ("r2", "correlation", "alpha", "weight_of_low", "weight_of_high"):
        assert np.isfinite(maps[f"voxel_{name}"].get_fdata()).all()
    again = EncodingIdentification.from_directory(tmp_path / "out")
    place = (3.0, 3.0, 3.0)
    np.testing.assert_array_equal(
        again.region_margins(place), model.region_margins(place)
    )
    r2 = again.prediction_maps()["r2"].get_fdata()
    np.testing.assert_allclose(maps["voxel_r2"].get_fdata(), r2, rtol=1e-6)


def test_saved_models_are_compared_as_fitted_ones(experiment, tmp_path):
    models = {name: _fitted(experiment, n) for name, n in {"all": 8, "few": 2}.items()}
    for name, model in models.items():
        model.to_directory(tmp_path / name)
    saved = {n: EncodingIdentification.from_directory(tmp_path / n) for n in models}
    fitted, read = (
        compare_encoding_models(m["all"], m["few"], n_permutations=99)
        for m in (models, saved)
    )
    for name, values in fitted.items():
        np.testing.assert_array_equal(read[name], values)


def test_several_models_are_corrected_over_pairs(experiment, tmp_path):
    models = {f"first {n}": _fitted(experiment, n) for n in (8, 5, 2)}
    found = compare_encoding_models_pairwise(models, n_permutations=199)
    assert len(found) == 3
    for first, second in found:
        pair = compare_encoding_models(
            models[first], models[second], n_permutations=199
        )
        corrected = np.minimum(3 * pair["p_value_fwe"], 1)
        np.testing.assert_allclose(found[first, second]["p_value_fwe"], corrected)
        for name in pair.keys() - {"p_value_fwe"}:
            np.testing.assert_array_equal(found[first, second][name], pair[name])
    found.to_directory(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "comparison.tsv", sep="\t")
    assert len(table) == 9
    for name in ("p_value_fwe", "accuracy_difference"):
        np.testing.assert_allclose(table[name], found.table_[name], rtol=1e-12)


def test_every_pair_has_a_page(experiment, tmp_path):
    models = {str(n): _fitted(experiment, n) for n in (8, 5)}
    two = compare_encoding_models_pairwise(models, n_permutations=99)
    assert "8 against 5" in two.generate_report().get_standalone()
    two.to_directory(tmp_path / "two", report=True)
    assert (tmp_path / "two" / "report.html").is_file()
    models["2"] = _fitted(experiment, 2)
    three = compare_encoding_models_pairwise(models, n_permutations=99)
    page = str(three.generate_report(("5", "2"), "5 or 2"))
    assert "<h1>5 or 2</h1>" in page
    assert "multiplied by 3, the number of compared pairs" in page
    with pytest.raises(ValueError, match="pair=None must name one of 3 pairs"):
        three.generate_report()
    with pytest.raises(ValueError, match="must name one of 3 pairs; choose"):
        three.generate_report(("2", "5"))
    three.to_directory(tmp_path / "three", report=True)
    pages = sorted(page.name for page in (tmp_path / "three").glob("*.html"))
    assert pages == [f"report_model_{p}.html" for p in ("5_2", "8_2", "8_5")]


def test_models_that_cannot_be_compared(experiment):
    model = _fitted(experiment)
    with pytest.raises(ValueError, match="holds 1 models; give at least two"):
        compare_encoding_models_pairwise({"one": model})
    with pytest.raises(TypeError, match="models=list must be a dict"):
        compare_encoding_models_pairwise([model, model])
    renamed = EncodingIdentification(encoder=RidgeEncoder(), regions=MEMBERS)
    renamed.fit(experiment.train, experiment.Y)
    stimuli = np.r_[np.arange(24), np.arange(6)]
    noise = np.random.default_rng(2).normal(size=(30, 30))
    test = _named(experiment.test, 200)
    renamed.identify(test, experiment.Y_test[stimuli] + noise, stimuli=stimuli)
    with pytest.raises(ValueError, match="'one' and 'two' have candidates of other"):
        compare_encoding_models_pairwise({"one": model, "two": renamed})


def test_names_pair_responses_with_stimuli(experiment):
    e = experiment
    model = EncodingIdentification(encoder=e.encoder).fit(e.train, e.Y)
    order = np.random.default_rng(3).permutation(24)
    names = np.array([f"image{i}" for i in order])
    model.identify(_named(e.test), e.Y_test[order], stimuli=names)
    assert model.test_stimuli_.tolist() == names.tolist()
    shuffled = model.region_margins(0)
    model.identify(e.test, e.Y_test)
    np.testing.assert_allclose(shuffled, model.region_margins(0)[order], rtol=1e-5)
    model.identify(_named(e.test), e.Y_test, distractors=e.test[:3] + 1)
    assert model.classes_[-1] == "distractor2"
    with pytest.raises(ValueError, match="'other' is not in the index of features"):
        model.identify(_named(e.test), e.Y_test, stimuli=["other"] * 24)
    with pytest.raises(ValueError, match="stimuli holds names, but features has none"):
        model.identify(e.test, e.Y_test, stimuli=names)
    twice = _named(e.test).rename(index={"image1": "image0"})
    with pytest.raises(ValueError, match="2 rows of stimulus 'image0'"):
        model.identify(twice, e.Y_test)
    with pytest.raises(ValueError, match="'image2' is the name of a test stimulus"):
        model.identify(_named(e.test), e.Y_test, distractors=_named(e.test[2:4] + 1, 2))


def test_atlas_regions_are_asked_by_name_after_reading(experiment, tmp_path):
    e = experiment
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    mask = nibabel.Nifti1Image(np.ones((5, 3, 2), dtype=np.uint8), affine)
    labels = np.arange(30).reshape(5, 3, 2) // 10 + 1
    atlas = nibabel.Nifti1Image(labels.astype(np.int16), affine)
    train, test = (
        nibabel.Nifti1Image(Y.T.reshape(5, 3, 2, -1).astype(np.float32), affine)
        for Y in (e.Y, e.Y_test)
    )
    model = EncodingIdentification(mask, RidgeEncoder(), labels_img=atlas)
    model.fit(e.train, train).identify(_named(e.test), test)
    model.to_directory(tmp_path / "out")
    again = EncodingIdentification.from_directory(tmp_path / "out")
    name = model.results_.choice.names[1]
    margins = model.region_margins(name)
    np.testing.assert_array_equal(again.region_margins(name), margins)
    np.testing.assert_array_equal(again.posterior(name), model.posterior(name))


def test_parts_that_were_read_are_merged_and_asked(experiment, tmp_path):
    whole = _fitted(experiment)
    parts = []
    for part in ("1/2", "2/2"):
        model = _fitted(experiment, shard=part)
        folder = tmp_path / part.replace("/", "of")
        model.to_directory(folder)
        parts.append(EncodingIdentification.from_directory(folder))
    merged = parts[0].merge(parts[1])
    np.testing.assert_array_equal(merged.wins_, whole.wins_)
    for region in range(3):
        margins = whole.region_margins(region)
        np.testing.assert_array_equal(merged.region_margins(region), margins)
    merged.to_directory(tmp_path / "merged")
    found = compare_encoding_models(
        EncodingIdentification.from_directory(tmp_path / "merged"), whole
    )
    np.testing.assert_array_equal(found["accuracy_difference"], 0)
