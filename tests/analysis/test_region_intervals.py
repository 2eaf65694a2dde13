"""Intervals of a region, what follows from kept null maps, and notes on information."""

import numpy as np
import pytest
import scipy.sparse

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import searchlight_of


def fit(n_classes=6, signal=1.0, n_regions=3, **options):
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(n_classes), 5), np.repeat(np.arange(5), n_classes)
    X = rng.normal(size=(len(y), 6 * n_regions))
    X[:, :6] += signal * rng.normal(size=(n_classes, 6))[y]
    members = scipy.sparse.csr_array(np.repeat(np.eye(n_regions), 6, axis=1) > 0)
    light = searchlight_of(regions=members, **options)
    return light.fit(X, y, groups=runs)


def test_intervals_are_those_of_the_margins(tmp_path):
    fitted = fit()
    for region in (0, 2):
        data = fitted.region_margins(region), fitted.test_codes_, fitted.set_sizes_
        np.testing.assert_array_equal(
            fitted.accuracy_interval(region), stats.average_accuracy_interval(*data)
        )
        np.testing.assert_array_equal(
            fitted.implied_information_interval(region, confidence_level=0.8),
            stats.implied_information_interval(*data, confidence_level=0.8),
        )
    lower, upper = fitted.accuracy_interval(0)
    _, accuracy = fitted.accuracy_curve(0)
    assert np.all((lower < accuracy) & (accuracy < upper))
    fitted.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    for interval in (read.accuracy_interval, read.implied_information_interval):
        with pytest.raises(ValueError, match="fit again"):
            interval(0)


def test_two_classes_have_no_interval():
    with pytest.raises(ValueError, match="at least 3 classes"):
        fit(n_classes=2).accuracy_interval(0)


@pytest.mark.parametrize("statistic", ["accuracy", "implied_information"])
def test_maps_from_kept_nulls_equal_those_of_the_file(tmp_path, statistic):
    path = tmp_path / "null.npy"
    fitted = fit(statistic=statistic, n_permutations=49, save_null=path, signal=0.6)
    scores, null = fitted.region_scores_, np.load(path).astype(float)
    observed = scores[statistic].astype(np.float32).astype(float)
    order = np.argsort(-observed, kind="stable")
    worst, expected = 0.0, np.empty(3)
    for place, region in enumerate(order):  # the definition, step by step
        maxima = null[:, order[place:]].max(axis=1)
        worst = max(worst, (1 + (maxima >= observed[region]).sum()) / 50)
        expected[region] = worst
    np.testing.assert_allclose(scores["p_value_fwe_step_down"], expected)
    assert np.all(scores["p_value_fwe_step_down"] <= scores["p_value_fwe"])
    corrected = "implied_information_corrected"
    if statistic == "accuracy":
        assert corrected not in scores
    else:
        information = scores["implied_information"]
        np.testing.assert_allclose(scores[corrected], information - null.mean(axis=0))
    fitted.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out").region_scores_
    assert read.keys() == scores.keys()
    for name, values in scores.items():
        np.testing.assert_array_equal(read[name], values)


def test_information_above_what_the_data_resolve_is_noted(tmp_path):
    few = [note for note in fit(signal=8.0).notes_ if "implied_information" in note]
    assert len(few) == 2
    assert few[0].startswith("implied_information is cut at")
    assert "in 1 of 3 regions" in few[0]
    assert "above what 6 classes resolve" in few[1]
    many = [n for n in fit(n_classes=12, signal=8.0).notes_ if "implied_inf" in n]
    assert len(many) == 1
    none = fit(signal=0.5)
    assert not any("implied_information" in note for note in none.notes_)
    fitted = fit(signal=8.0)
    fitted.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert read.notes_ == fitted.notes_


def false_findings(n_sets, folder, n_permutations=99):
    """Share of sets with a null region found at .05; active regions found both ways."""
    false, found = 0, np.zeros(2)
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    members = scipy.sparse.csr_array(np.repeat(np.eye(12), 4, axis=1) > 0)
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 5])
        X = rng.normal(size=(18, 48)) + 0.5 * rng.normal(size=(18, 1))
        X[:, :24] += 0.8 * rng.normal(size=(3, 24))[y]  # six regions know the class
        scores = (
            IdentificationSearchLight(
                regions=members,
                n_permutations=n_permutations,
                statistic="pairwise_accuracy",
                keep=folder / "null.npy",
                random_state=seed,
            )
            .fit(X, y, groups=runs)
            .region_scores_
        )
        step_down = scores["p_value_fwe_step_down"] <= 0.05
        false += step_down[6:].any()
        found += [step_down[:6].sum(), (scores["p_value_fwe"][:6] <= 0.05).sum()]
    return false / n_sets, found


def test_step_down_finds_more_and_rarely_a_null_region(tmp_path):
    false, (step_down, plain) = false_findings(40, tmp_path)
    assert false <= 0.175  # .05 + 3.6 standard errors
    assert step_down >= plain


@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.slow
def test_level_of_step_down_under_partial_nulls(tmp_path):
    false, (step_down, plain) = false_findings(800, tmp_path)
    assert false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 800)
    assert step_down > plain
