"""What can be asked of a fitted analysis: curves, bounds, errors, results."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.maps._identification import bound_set_sizes


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
    assert results.test_design().best_bound() == pytest.approx(
        results.bounds_at(perfect, sizes)[0, 0]
    )
    many, one = results.test_design(1000), results.test_design()
    assert many.best_bound() < one.best_bound()
