"""How many bad calls there are, and that the docs say so."""

import re
from pathlib import Path

from tests.bad_calls import (
    test_command_line_calls,
    test_encoding_calls,
    test_searchlight_calls,
    test_statistics_calls,
)

PAGE = Path(__file__).parents[2] / "docs" / "developers" / "robustness.rst"


def test_the_docs_say_how_many_calls_are_tried():
    in_python = (test_encoding_calls, test_searchlight_calls, test_statistics_calls)
    n_calls = sum(len(module.CALLS) for module in in_python)
    n_calls += len(test_command_line_calls.TABLE)
    assert n_calls >= 300
    [said] = re.findall(r"- (\d+) calls", PAGE.read_text(encoding="utf-8"))
    assert int(said) == n_calls
