"""Columns of features are matched by their names, as in scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import EncodingIdentification, ensemble_size_curve

NAMES = [f"feature {letter}" for letter in "abcdefgh"]


@pytest.fixture
def tables(experiment):
    """Features of the experiment as tables with named columns."""
    e = experiment
    return pd.DataFrame(e.train, columns=NAMES), pd.DataFrame(e.test, columns=NAMES)


@pytest.fixture
def model(experiment, tables):
    return EncodingIdentification(encoder=Ridge()).fit(tables[0], experiment.Y)


def test_names_are_kept(experiment, tables, model):
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    model.fit(experiment.train, experiment.Y)
    assert not hasattr(model, "feature_names_in_")
    model.fit(tables[0].set_axis(range(8), axis=1), experiment.Y)
    assert not hasattr(model, "feature_names_in_")


CHANGES = {
    "another order": (lambda t: t[NAMES[::-1]], r"unknown: \[\], missing: \[\]"),
    "renamed": (lambda t: t.rename(columns={NAMES[2]: "x"}), r"unknown: \['x'\], m"),
    "missing": (lambda t: t[NAMES[1:]], r"got 7 .*missing: \['feature a'\]"),
    "more": (lambda t: t.assign(z=1.0), r"got 9 .*unknown: \['z'\], missing: \[\]"),
    "numbers": (lambda t: t.set_axis(range(8), axis=1), r"unknown: \[0, 1, 2\], m"),
    "twice": (lambda t: t[[*NAMES, NAMES[0]]], "got 9"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_columns_than_in_fit_are_refused(experiment, tables, model, change):
    other, message = CHANGES[change]
    changed = other(tables[1])
    with pytest.raises(ValueError, match=f"features must have the 8 .*{message}"):
        model.predict(changed)
    with pytest.raises(ValueError, match=f"features must have the 8 .*{message}"):
        model.identify(changed, experiment.Y_test)
    with pytest.raises(ValueError, match=f"distractors must have the 8 .*{message}"):
        model.identify(tables[1], experiment.Y_test, distractors=changed + 0.5)
    with pytest.raises(ValueError, match=f"test features must have the 8 .*{message}"):
        ensemble_size_curve(
            (tables[0], experiment.Y), (changed, experiment.Y_test), sizes=[2]
        )


def test_the_same_columns_are_taken_without_a_word(experiment, tables, model):
    e = experiment
    plain = EncodingIdentification(encoder=Ridge()).fit(e.train, e.Y)
    more = tables[1].iloc[:5] + 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.identify(tables[1], e.Y_test, distractors=more)
        plain.identify(tables[1], e.Y_test, distractors=more.to_numpy())
    np.testing.assert_array_equal(model.wins_, plain.wins_)
    trained = tables[0]
    reordered = tables[1][NAMES[::-1]]
    model.identify(reordered[trained.columns], e.Y_test, distractors=more)
    np.testing.assert_array_equal(model.wins_, plain.wins_)


def test_an_array_where_names_were_known_is_told(experiment, tables, model):
    e = experiment
    with pytest.warns(UserWarning, match=r"features have no names .*'feature a'"):
        predicted = model.predict(e.test)
    np.testing.assert_array_equal(predicted, model.predict(tables[1]))
    with pytest.warns(UserWarning, match="distractors have no names of columns"):
        model.identify(tables[1], e.Y_test, distractors=e.test[:5] + 0.5)
    with (
        pytest.warns(UserWarning, match="features have no names of columns"),
        pytest.raises(ValueError, match="features have 7 columns, the model was tr"),
    ):
        model.predict(e.test[:, :7])
