"""Delayed features against loops over rows, columns and delays."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuroextrap.encoding import Delayer

X = np.random.default_rng(0).normal(size=(12, 3))
RUNS = np.array(list("bbbbaaaaaacc"))


def by_loops(X, runs, delays):
    """Look up every number by itself; 0 where it lies outside the run."""
    found = np.zeros((len(X), len(delays) * X.shape[1]))
    for run in set(runs):
        rows = [t for t in range(len(X)) if runs[t] == run]
        for place, t in enumerate(rows):
            for d, delay in enumerate(delays):
                for column in range(X.shape[1]):
                    if 0 <= place - delay < len(rows):
                        source = rows[place - delay]
                        found[t, d * X.shape[1] + column] = X[source, column]
    return found


@pytest.mark.parametrize("delays", [(0,), (1, 2, 3, 4), (3, 0, -2), [50], 2])
def test_delays_are_those_of_loops(delays):
    runs = np.zeros(len(X), dtype=int)
    expected = by_loops(X, runs, np.atleast_1d(delays))
    np.testing.assert_array_equal(Delayer(delays).fit_transform(X), expected)


@pytest.mark.parametrize(
    "order", [np.arange(12), [4, 0, 10, 5, 1, 6, 2, 7, 8, 11, 9, 3]]
)
def test_rows_never_come_from_another_run(order):
    """Whether runs follow each other in the table or alternate."""
    runs = RUNS[order]
    delayed = Delayer((1, 3, -1)).fit(X).transform(X, groups=runs)
    np.testing.assert_array_equal(delayed, by_loops(X, runs, (1, 3, -1)))
    one = runs == "a"
    alone = Delayer((1, 3, -1)).fit_transform(X[one])
    np.testing.assert_array_equal(delayed[one], alone)


def test_names_say_the_delay():
    table = pd.DataFrame(X, columns=["motion", "faces", "speech"])
    delayer = Delayer((2, 1)).fit(table)
    names = delayer.get_feature_names_out()
    assert names.tolist()[:4] == [
        "motion_delay2",
        "faces_delay2",
        "speech_delay2",
        "motion_delay1",
    ]
    assert Delayer((1,)).fit(X).get_feature_names_out().tolist()[0] == "x0_delay1"
    with pytest.raises(ValueError, match="feature names"):
        delayer.transform(table[["faces", "motion", "speech"]])


def test_float32_stays_and_pipelines_work():
    assert Delayer((1,)).fit_transform(X.astype(np.float32)).dtype == np.float32
    pipeline = make_pipeline(StandardScaler(), Delayer((1, 2)))
    scaled = StandardScaler().fit_transform(X)
    expected = by_loops(scaled, np.zeros(12), (1, 2))
    np.testing.assert_allclose(pipeline.fit_transform(X), expected)


@pytest.mark.parametrize(
    ("delays", "message"),
    [
        ((), "whole numbers"),
        ((1.5,), "whole numbers"),
        ("12", "whole numbers"),
        ((True,), "whole numbers"),
        ((np.nan,), "whole numbers"),
        ((1, 2, 1), "holds a delay twice"),
    ],
)
def test_other_delays_are_refused(delays, message):
    with pytest.raises(ValueError, match=message):
        Delayer(delays).fit(X)


def test_runs_must_match():
    with pytest.raises(ValueError, match=r"groups has shape \(3,\), X has \(12,\)"):
        Delayer((1,)).fit(X).transform(X, groups=[1, 2, 3])
