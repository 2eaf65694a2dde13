"""What the workflow runs is there: make targets and lowest versions."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
if not WORKFLOWS:
    pytest.skip("a source archive has no workflow", allow_module_level=True)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))


def test_every_target_of_the_workflow_is_in_the_makefile():
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    wanted = set(re.findall(r"run: make ([a-z-]+)", text))
    wanted |= set(re.findall(r"target: ([a-z-]+)", text))
    assert {"test", "minimum", "newest", "wheel", "docs", "faults"} <= wanted
    assert wanted <= TARGETS
    named = set(re.findall(r'python: \["(.*?)"\]', text).pop().split('", "'))
    assert named >= {"3.11", "3.12", "3.13"}


def test_every_target_is_declared_and_documented_ones_exist():
    declared = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert set(" ".join(declared).split()) == TARGETS
    pages = [*(ROOT / "docs").rglob("*.rst"), ROOT / "README.md"]
    told = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(re.findall(r"``make ([a-z-]+)``", told)) <= TARGETS


def test_every_requirement_of_the_tests_has_a_lowest_version():
    script = runpy.run_path(str(ROOT / ".ci" / "lowest_versions.py"))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pins = script["lowest_versions"](tomllib.loads(text)["project"])
    names = [pin.partition("==")[0] for pin in pins]
    assert {"numpy", "scikit-learn", "dask[distributed]", "hypothesis"} <= set(names)
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[\w.-]+(\[\w+\])?==[\d.]+", pin) for pin in pins)
