"""Contrasts of a design: the arithmetic of columns, and nothing else."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroextrap.group import second_level_test
from tests.group.seam import _weights, as_expression

NAMES = ["a", "b_1", "group[T.patient]", "left hand", "1st", "_", "class", "été"]
ROWS = np.random.default_rng(0).normal(size=(6, len(NAMES)))
SETTINGS = {"allow_infinity": False, "allow_nan": False}


def spelled(name):
    """A column as an expression says it."""
    return name if name.isidentifier() and name != "class" else f"`{name}`"


def joined(left, right, sign):
    """A sum or difference: its text, and its values."""
    values = left[1] + right[1] if sign == "+" else left[1] - right[1]
    return f"{left[0]} {sign}({right[0]})", values


def weighted(number, term, how):
    """A multiple, in one of four spellings."""
    if how == "/":
        divisor = number if abs(number) > 1e-3 else 2.0
        return f"({term[0]})/{divisor!r}", term[1] / divisor
    text = {
        "left": f"{number!r} * ({term[0]})",
        "right": f"({term[0]}) * ({number!r} - 0)",
        "minus": f"-({term[0]}) * -{abs(number)!r}",
    }[how]
    return text, term[1] * (abs(number) if how == "minus" else number)


COLUMNS = st.sampled_from(range(len(NAMES))).map(
    lambda k: (spelled(NAMES[k]), ROWS[:, k])
)
EXPRESSIONS = st.recursive(
    COLUMNS,
    lambda inner: (
        st.builds(joined, inner, inner, st.sampled_from("+-"))
        | st.builds(
            weighted,
            st.floats(-100, 100, **SETTINGS),
            inner,
            st.sampled_from(["left", "right", "minus", "/"]),
        )
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_an_expression_is_what_numpy_makes_of_the_columns(expression):
    text, values = expression
    size = np.abs(_weights(text, NAMES, len(NAMES))) @ np.abs(ROWS).T
    np.testing.assert_allclose(
        ROWS @ _weights(text, NAMES, len(NAMES)), values, atol=1e-9 * (1 + size.max())
    )


@pytest.mark.parametrize(
    "text",
    [
        "a - b_1",
        "-a + +b_1",
        "(a + b_1) / 2 - 1e-1 * `left hand`",
        "a*2/4 - `group[T.patient]`",
        "2 * (a + 1) - 2",
        "0 + a",
        "1/3 * a - .5*b_1",
    ],
)
def test_what_pandas_made_of_an_expression_stays(text):
    """The engine that reads tables evaluates these to the same weights."""
    names = NAMES[:4]
    columns = pd.DataFrame(np.eye(len(names)), columns=names)
    expected = columns.eval(text, engine="python").to_numpy(dtype=float)
    np.testing.assert_allclose(_weights(text, names, len(names)), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "contrast",
    [
        "a.to_csv('{}')",
        "a.values.tofile('{}')",
        "a.to_pickle('{}')",
        "b.to_numpy().dump('{}')",
        "`a`.to_csv('{}')",
        "a - b.to_csv('{}')",
        "open('{}', 'w')",
        "__import__('os').mknod('{}')",
        "a if open('{}', 'w') else b",
        "[a for b in open('{}', 'w')]",
        "(lambda: open('{}', 'w'))()",
        "f'{{open(\\'{}\\', \\'w\\')}}'",
        "@a.to_csv('{}')",
        "(b := open('{}', 'w'))",
    ],
)
def test_nothing_is_called(contrast, tmp_path):
    target = tmp_path / "target"
    y = np.random.default_rng(0).normal(size=(10, 3))
    design = pd.DataFrame({"a": np.arange(10.0), "b": 1.0})
    with pytest.raises(ValueError, match="is neither a column"):
        second_level_test(y, design, contrast=contrast.format(target))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        ("a * b", "must be a sum"),
        ("a / b", "must be a sum"),
        ("1 / b", "must be a sum"),
        ("a / 0", "must be a sum"),
        ("a / (b - b)", "must be a sum"),
        ("a ** 2", "must be a sum"),
        ("a % 2", "must be a sum"),
        ("a + 1", "must be a sum"),
        ("2", "must be a sum"),
        ("1e400 * a", "must be a sum"),
        ("9" * 400 + " * a", "must be a sum"),
        ("1e308 * 1e308 * a", "must be a sum"),
        ("a - a", "not all zero"),
        ("a - nothing", "neither a column"),
        ("a - `nothing`", "neither a column"),
        ("a - `b", "neither a column"),
        ("a b", "neither a column"),
        ("a`b`", "neither a column"),
        ("a = b", "neither a column"),
        ("a > b", "neither a column"),
        ("True * a", "neither a column"),
        ("1j * a", "neither a column"),
        ("~a", "neither a column"),
        ("", "neither a column"),
        ("a\0", "neither a column"),
        ("(" * 9999, "neither a column"),
        ("-" * 9999 + "a", "neither a column"),
        (pd.Series({"a": 1, "c": -1}), "neither a column"),
        ({"a": np.nan}, "neither a column"),
    ],
)
def test_what_is_not_linear_is_refused(contrast, words):
    y = np.random.default_rng(0).normal(size=(10, 3))
    design = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0) ** 2})
    with pytest.raises(ValueError, match=words):
        second_level_test(y, design, contrast=contrast)


def test_as_many_terms_as_a_design_has_columns():
    names = [f"c{k}" for k in range(200)]
    weights = _weights(" + ".join(names), names, 200)
    np.testing.assert_array_equal(weights, np.ones(200))
    assert sys.getrecursionlimit() >= 1000


def test_names_of_weights_count_and_their_order_does_not():
    design = ["age", "one", "two words"]
    for contrast in (
        pd.Series({"two words": -0.1, "age": 1 / 3}),
        {"age": 1 / 3, "one": 0, "two words": -0.1},
    ):
        weights = _weights(as_expression(contrast), design, 3)
        np.testing.assert_array_equal(weights, [1 / 3, 0, -0.1])
    plain = pd.Series([1.0, 2.0])
    assert as_expression(plain) is plain


def test_columns_of_one_name_are_not_guessed():
    y = np.random.default_rng(0).normal(size=(10, 3))
    design = pd.DataFrame(np.random.default_rng(1).normal(size=(10, 2)))
    design.columns = ["a", "a"]
    with pytest.raises(ValueError, match="two columns of one name"):
        second_level_test(y, design, contrast="a")
    second_level_test(y, design, contrast=[1, 0], n_permutations=10)
