"""Every benchmark finds what it imports of the package; they are run by hand."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("[a-z]*.py"))
LIBRARIES = {"families", "further_populations", "populations"}


def test_there_are_benchmarks():
    assert len(SCRIPTS) > 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_can_be_started(script, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    found = runpy.run_path(str(script), run_name="imported")
    assert "main" in found or script.stem in LIBRARIES
