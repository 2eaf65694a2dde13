"""What is refused at the door of the statistics, and in which words."""

import errno

import numpy as np
import pytest
from scipy import stats as scipy_stats

from neuroextrap import stats
from tests.stats.seam import _linear_scores as linear_scores
from tests.stats.seam import (
    check_numbers,
    check_plain_types,
    checked_entries,
    linear_test,
    one_line,
    plain_types_checked,
    shift_rows,
    takes_fields,
)


@plain_types_checked
def function(
    path: "str | PathLike[str]" = "",  # noqa: F821
    flag: bool = True,
    number: "float | None" = None,
    count: int = 1,
    text: str = "",
):
    return path, flag, number, count, text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": 1}, "path must be a path"),
        ({"flag": "no"}, "flag='no' must be True or False"),
        ({"number": "1"}, "number must be a number; got str"),
        ({"count": 1.5}, "count must be a whole number"),
        ({"text": 1}, "text must be a text"),
    ],
)
def test_plain_types_are_checked(options, message):
    with pytest.raises(TypeError, match=message):
        function(**options)
    assert function("f", number=None, count=3) == ("f", True, None, 3, "")


def test_fields_of_a_class_are_checked():
    @takes_fields
    class Options:
        count: int
        name: str = ""

    check_plain_types(Options(3))
    with pytest.raises(TypeError, match="count must be a whole number"):
        check_plain_types(Options("3"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: stats.TestDesign(2.0, 1), TypeError, "n_classes must be an integer"),
        (lambda: stats.TestDesign(2**60, 1), ValueError, "n_classes must be at most"),
        (
            lambda: stats.required_classes("a", 0.5, analysis="split"),
            TypeError,
            "number",
        ),
        (lambda: stats.fano_information([[0.5], [0.1, 0.2]], 2), ValueError, "rows of"),
        (lambda: stats.fano_information("a", 2), ValueError, "array of numbers"),
        (lambda: stats.forward_e_value([[1]], 8, [0.1, 0.2]), ValueError, "broadcast"),
        (lambda: check_numbers([[1], [2, 3]], "X"), ValueError, "X must be a number"),
        (
            lambda: checked_entries([0, 1], "groups", np.zeros(3)),
            ValueError,
            "one entry for",
        ),
        (lambda: shift_rows(2, [0, 1], 5, 0), ValueError, "nothing can be shifted"),
        (
            lambda: stats.permute_labels(
                [0, 1], groups=[[0], [1, 2]], n_permutations=1
            ),
            ValueError,
            "one entry per label",
        ),
        (
            lambda: stats.permute_labels([0, 1], groups=[None, 1], n_permutations=1),
            TypeError,
            "cannot be sorted",
        ),
        (
            lambda: stats.permute_labels(np.arange(2000), n_permutations=10**6),
            ValueError,
            "at most",
        ),
        (
            lambda: stats.extrapolate_risk([0.5, 0.6], [2, 3], [9], basis=lambda u: u),
            ValueError,
            "turn u of shape",
        ),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_are_told_on_one_line():
    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(ValueError()) == "ValueError"
    full = OSError(errno.ENOSPC, "No space left", "a.nii")
    told = "a.nii: No space left; free space, or write to another disk"
    assert one_line(full) == told
    assert one_line(OSError(errno.EIO, "Input/output error")).endswith("check the path")


def test_several_contrasts_have_the_f_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    design = np.repeat(np.eye(3), [4, 5, 6], axis=0)
    values = rng.normal(size=(15, 4)) + design @ [[0.0], [1.0], [2.0]]
    test = linear_test(design, [[1, -1, 0], [0, 1, -1]])
    assert not test.is_intercept
    unit = linear_scores.unit_length(test.residuals(values))
    scorer = linear_scores.FRatio(unit, test.n_effects, test.degrees_of_freedom)
    found = scorer.heights(scorer(test.rows[np.newaxis]))[0]
    groups = np.split(values, [4, 9])
    np.testing.assert_allclose(found, scipy_stats.f_oneway(*groups).statistic)
