"""Print how many bad calls were made, and how many were refused as they should be."""

from collections import Counter
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    """Print a line for every kind of call."""
    made, refused = Counter(), Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            path = Path(report.nodeid.partition("::")[0])
            if path.parent.name != "bad_calls" or "[" not in report.nodeid:
                continue
            kind = path.stem.removeprefix("test_").replace("_", " ")
            made[kind] += 1
            refused[kind] += outcome == "passed"
    if not made:
        return
    terminalreporter.section("bad calls")
    for kind, n in made.items():
        terminalreporter.write_line(f"{n:5d}  {kind}: refused {refused[kind]}")
    terminalreporter.write_line(
        f"{made.total():5d}  in all: refused {refused.total()}, each with its own "
        "error, an argument that is named and a remedy"
    )
