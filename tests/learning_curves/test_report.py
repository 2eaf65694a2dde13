"""The page of learning curves says what the curves say."""

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from neuroextrap.learning_curves import (
    information_learning_curve,
    learning_curve_report,
    simulate_hierarchical_scans,
)

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def curves():
    """Two label schemes of the same scans."""
    data = simulate_hierarchical_scans(n_subjects=8, random_state=0)
    return {
        name: information_learning_curve(data.X, data[name], data.groups, n_splits=6)
        for name in ("coarse", "fine")
    }


def made_up(means, *, name_entropy=1.0, n_splits=4):
    """A curve of given mean information, the same in every split."""
    means = np.asarray(means, dtype=float)
    shape = len(means), n_splits
    noise = 1e-3 * np.tile([1, -1], n_splits // 2)
    return Bunch(
        train_sizes=np.arange(2, 2 + len(means)),
        information=means[:, None] + noise,
        error_rate=np.full(shape, 0.3),
        baseline_error_rate=np.full(shape, 0.5),
        confusion=np.full((len(means), 2, 2), 0.5),
        reproducibility=np.full(shape, np.nan),
        n_components=np.ones(shape),
        prior_weight=np.zeros(shape),
        label_entropy=name_entropy,
        classes=np.array(["a", "<b>"]),
        priors=np.full(2, 0.5),
        n_groups=2 + len(means),
    )


def words(page):
    """The text of a page, without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.get_standalone()).split())


def test_the_answer_is_that_of_the_most_informative_curve(curves):
    text = words(learning_curve_report(curves, "A <look>"))
    best = max(curves.values(), key=lambda curve: curve.information[-1].mean())
    bits = best.information[-1].mean()
    assert "Trained on 7 of 8 subjects, predictions for a scan" in text
    assert f"carry {bits:.2f} bits about its label" in text
    assert text.index(f"{bits:.2f} bits") < text.rindex("Errors and reproducibility")
    assert "A &lt;look&gt;" in text


def test_the_table_is_saved_whole(curves):
    page = learning_curve_report(curves).html
    uri = re.search(r'"data:text/tab-separated-values;base64,([^"]+)"', page).group(1)
    table = pd.read_csv(io.BytesIO(base64.b64decode(uri)), sep="\t")
    for name, curve in curves.items():
        rows = table[table["labels"] == name]
        assert rows["train_size"].tolist() == curve.train_sizes.tolist()
        np.testing.assert_allclose(rows["information"], curve.information.mean(axis=1))


@pytest.mark.parametrize(
    ("means", "advice"),
    [
        ([0.1, 0.3, 0.5, 0.7], "still rises: more subjects would help"),
        ([0.7, 0.7, 0.7, 0.7], "is flat: more subjects are not expected to help"),
        ([0.7, 0.99, 1.0, 1.0], "has reached the entropy of the labels"),
        (
            [-0.3, -0.2, -0.1, -0.05],
            "does not exceed 0 by two standard errors anywhere",
        ),
        (
            [-0.3, -0.2, -0.1, -0.05],
            "show no information about its label (\N{MINUS SIGN}0.05 bits)",
        ),
        ([0.5, 0.7], "carry 0.70 bits about its label, of at most 1.00"),
    ],
)
def test_a_single_curve_is_judged_as_it_is(means, advice):
    text = words(learning_curve_report(made_up(means)))
    assert advice in text
    assert "overtakes" not in text
    assert "Errors and reproducibility" not in text


def test_crossings_are_told():
    pair = {"<x>": made_up([0.5, 0.5, 0.5, 0.5]), "y": made_up([0.1, 0.2, 0.6, 0.7])}
    text = words(learning_curve_report(pair))
    assert "Between 3 and 4 training subjects “y” overtakes “&lt;x&gt;”" in text


def test_curves_of_other_sizes_are_reported_not_compared():
    pair = {"x": made_up([0.5, 0.4]), "y": made_up([0.1, 0.6])}
    pair["y"].train_sizes = np.array([5, 6])
    assert "overtakes" not in words(learning_curve_report(pair))
    pair["y"].train_sizes = pair["x"].train_sizes
    assert "Between 2 and 3 training subjects" in words(learning_curve_report(pair))


def test_infinite_information_is_reported_not_compared():
    broken = made_up([0.5, 0.5, -np.inf])
    text = words(learning_curve_report({"x": broken, "y": made_up([0.1, 0.2, 0.6])}))
    assert "overtakes" not in text
    assert "no information" in text


@pytest.mark.parametrize("curves", [None, {}, 3, {"x": 3}])
def test_what_is_no_curve_is_refused(curves):
    with pytest.raises(TypeError, match="information_learning_curve"):
        learning_curve_report(curves)
