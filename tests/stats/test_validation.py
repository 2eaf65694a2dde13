"""Seeds, workers and arrays that are checked at the door."""

import numpy as np
import pytest

from neuroextrap import stats
from tests.stats.seam import check_n_jobs, check_numbers, random_generator


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 1), (1, 1), (-1, -1), (np.int64(3), 3)]
)
def test_numbers_of_workers(n_jobs, expected):
    assert check_n_jobs(n_jobs) == expected


@pytest.mark.parametrize(
    ("n_jobs", "error"), [(0, ValueError), (True, TypeError), (2.0, TypeError)]
)
def test_wrong_numbers_of_workers(n_jobs, error):
    with pytest.raises(error, match=r"^n_jobs=.* must be a whole number other than 0"):
        check_n_jobs(n_jobs)


def test_a_seed_gives_the_same_numbers_and_a_generator_goes_on():
    assert random_generator(3).random() == np.random.default_rng(3).random()
    rng = np.random.default_rng(3)
    assert random_generator(rng) is rng
    assert isinstance(random_generator(None), np.random.Generator)


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (True, TypeError), ("0", TypeError)]
)
def test_wrong_seeds(seed, error):
    with pytest.raises(error, match=r"^random_state=.* must be None, a whole number"):
        random_generator(seed)


def test_masked_arrays_are_refused_where_something_is_masked():
    values = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError, match="X is a masked array; leave masked samples"):
        check_numbers(values, "X")
    plain = check_numbers(np.ma.masked_array([1.0, 2.0]), "X")
    np.testing.assert_array_equal(plain, [1, 2])


CURVE = np.ma.masked_array([0.6, 0.5], mask=[False, True])
MARGINS = np.ma.masked_less(np.eye(3), 1)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (stats.win_distribution, (MARGINS, [0, 1, 2])),
        (stats.average_accuracy, (CURVE, [2])),
        (stats.implied_information, (CURVE, [2, 4])),
        (stats.average_accuracy_jackknife, (MARGINS, [0, 1, 2], [2])),
        (stats.fano_information, (CURVE, 4)),
        (stats.confusion_information, (np.ma.masked_equal([0, 1], 1), [0, 1])),
    ],
)
def test_statistics_of_masked_arrays(function, arguments):
    with pytest.raises(TypeError, match="is a masked array"):
        function(*arguments)
