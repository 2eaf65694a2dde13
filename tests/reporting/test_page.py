"""Numbers and pieces of a page."""

import pandas as pd
import pytest

from neuroextrap.reporting._page import format_number, frame_table, paragraphs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.000123456, "0.000123"),
        (-0.5, "-0.5"),
        (12.0, "12"),
        (69765.4, "69765"),
        (float("nan"), "-"),
        (float("inf"), "inf"),
        (7, "7"),
    ],
)
def test_numbers_are_short(value, text):
    assert format_number(value) == text


def test_table_escapes_names_and_cells():
    html = frame_table(pd.DataFrame({"<x>": ["a&b"]}))
    assert '<th class="text">&lt;x&gt;</th>' in html
    assert '<td class="text">a&amp;b</td>' in html


def test_notes_are_set_apart():
    assert paragraphs("careful", note=True) == '<p class="note">careful</p>'
