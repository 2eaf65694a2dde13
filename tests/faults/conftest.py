"""Count the faults that were made, and print the counts at the end."""

import pytest

_KEY = "faults"


@pytest.fixture
def tally(request):
    """Return a function that notes how many faults of a kind there were, and their end.

    Every further argument is a named number of outcomes, such as ``old=30, new=20``.
    """

    def note(kind, tried, **outcomes):
        request.node.user_properties.append((_KEY, (kind, tried, outcomes)))

    return note


def pytest_terminal_summary(terminalreporter):
    """Print a line for every kind of fault."""
    counts = [
        count
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for name, count in report.user_properties
        if name == _KEY
    ]
    if not counts:
        return
    terminalreporter.section("faults")
    for kind, n, outcomes in counts:
        ends = ", ".join(f"{name} {number}" for name, number in outcomes.items())
        terminalreporter.write_line(f"{n:5d}  {kind}: {ends}")
    terminalreporter.write_line(f"{sum(n for _, n, _ in counts):5d}  in all")
