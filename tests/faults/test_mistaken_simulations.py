"""The checks of the validity table find the mistakes that they were made for."""

from tests.validity.test_table import CLEAR, every_check


@every_check
def test_a_mistake_is_found_out(check):
    assert "mistake: " in " ".join(check.function.__doc__.split()).lower() or (
        "the mistake" in check.function.__doc__
    )
    rows = check.rows(quick=True, mistake=True)
    assert rows
    passing = [row for row in rows if row.verdict(CLEAR) != "fails"]
    assert [(row.guarantee, row.design, row.measured) for row in passing] == []
