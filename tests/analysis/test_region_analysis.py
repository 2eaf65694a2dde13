"""What can be asked of a fitted analysis: curves, bounds, errors, results."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from tests.analysis.seam import bound_set_sizes


@pytest.fixture(scope="module")
def fitted():
    """One region of plain arrays, six classes."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(6), 4), np.repeat(np.arange(4), 6)
    X = rng.normal(size=(6, 9))[y] + rng.normal(size=(24, 9))
    return IdentificationSearchLight().fit(X, y, groups=runs)


def test_results_are_those_of_the_run(fitted):
    assert fitted.results_.n_test == 24
    assert fitted.results_.scores.wins is fitted.wins_
    with pytest.raises(NotFittedError):
        _ = IdentificationSearchLight().results_


def test_standard_error_is_the_jackknife_of_the_margins(fitted):
    margins = fitted.region_margins(0)
    expected = stats.average_accuracy_jackknife(
        margins, fitted.test_codes_, fitted.set_sizes_
    )[1]
    np.testing.assert_array_equal(fitted.standard_error(0), expected)
    np.testing.assert_allclose(
        fitted.table_["standard_error"], expected, err_msg="the table's are the same"
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_table_is_made_when_it_is_read_of_the_samples_that_were_fitted(order):
    rng = np.random.default_rng(0)
    x = np.asarray(rng.normal(size=(18, 6)), order=order)
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    light = IdentificationSearchLight(regions=np.kron(np.eye(2), np.ones(3)))
    with pytest.raises(NotFittedError, match="has no table_ yet; call fit"):
        _ = light.table_
    now = light.fit(x, y, groups=runs).table_
    assert light.table_ is now
    light.fit(x, y, groups=runs)
    assert "table_" not in vars(light)
    x[:] = 0  # as where one array takes the samples of one subject after the other
    later = pickle.loads(pickle.dumps(light)).table_
    pd.testing.assert_frame_equal(later, now, check_exact=True)
    assert now["standard_error"].gt(0).any()
    light.fit(rng.normal(size=x.shape), y, groups=runs)
    assert not light.table_.equals(now)


def test_curves_at_any_size_after_the_fit_and_from_a_folder(fitted, tmp_path):
    X, y = fitted.run_.rows, fitted.test_codes_
    narrow = IdentificationSearchLight(set_sizes=[2]).fit(
        X, np.tile(np.arange(6), 4), groups=np.repeat(np.arange(4), 6)
    )
    narrow.to_directory(tmp_path / "kept")
    again = IdentificationSearchLight.from_directory(tmp_path / "kept")
    wins = stats.win_distribution(fitted.region_margins(0), y)
    expected = stats.average_accuracy(wins, [3, 6])
    for analysis in (fitted, narrow, again):
        sizes, accuracy = analysis.accuracy_curve(0, [3, 6])
        np.testing.assert_array_equal(sizes, [3, 6])
        np.testing.assert_allclose(accuracy, expected, atol=1e-12)
        sizes, accuracy = analysis.accuracy_curve(0, 3)
        assert sizes.shape == accuracy.shape == (1,)
        with pytest.raises(ValueError, match=r"not exceed the 6 classes.*extrapolate"):
            analysis.accuracy_curve(0, [3, 7])
        with pytest.raises(ValueError, match="set_sizes must be whole numbers"):
            analysis.accuracy_curve(0, [2.5])
        with pytest.raises(ValueError, match="set_sizes must be at least 2"):
            analysis.accuracy_curve(0, [1])


def test_a_confusion_matrix_feeds_its_information(fitted):
    margins, y = fitted.region_margins(0), fitted.test_codes_
    for correction in (None, "miller_madow", "panzeri_treves"):
        expected = stats.confusion_information(
            y, margins.argmax(axis=1), correction=correction
        )
        found = stats.confusion_information(
            fitted.confusion_matrix(0), correction=correction
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


class Reversed(LinearDiscriminantAnalysis):
    """A classifier whose scores are distances: small where a class is likely."""

    def decision_function(self, X):
        return -super().decision_function(X)


def test_an_estimator_whose_scores_are_distances_warns():
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(6), 6), np.repeat(np.arange(6), 6)
    X = 2 * rng.normal(size=(6, 9))[y] + rng.normal(size=(36, 9))
    with pytest.warns(UserWarning, match="put a minus before distances"):
        IdentificationSearchLight(estimator=Reversed()).fit(X, y, groups=runs)


def test_standard_error_is_unknown_without_margins(fitted, tmp_path):
    fitted.to_directory(tmp_path / "kept")
    again = IdentificationSearchLight.from_directory(tmp_path / "kept")
    assert again.standard_error(0).shape == again.set_sizes_.shape
    assert np.isnan(again.standard_error(0)).all()


@pytest.mark.filterwarnings("ignore:the bound's margin:UserWarning")
def test_bound_curve_bounds_every_set_size_by_itself(fitted):
    sizes, bound = fitted.bound_curve(0)
    np.testing.assert_array_equal(sizes, bound_set_sizes(6))
    for size, value in zip(sizes, bound, strict=True):
        expected = stats.average_bayes_accuracy_lower_bound(
            stats.average_accuracy(fitted.results_.bound_wins[0], [size]),
            n_classes=6,
            n_repeats=fitted.results_.n_repeats,
            set_sizes=[size],
        )
        assert value == pytest.approx(expected[0])


def test_best_bound_is_the_bound_of_a_perfect_classifier(fitted):
    results = fitted.results_
    perfect = np.eye(6)[-1:]  # every win distribution's mass on beating all others
    sizes = np.array([6])
    many, one = results.test_design(1000), results.test_design(1)
    bound = results.bounds_at(perfect, sizes)[0, 0]
    assert one.best_bound() == pytest.approx(bound)
    assert many.best_bound() < one.best_bound()
