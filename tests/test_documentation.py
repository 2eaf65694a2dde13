"""What the documentation links to exists, under its public name."""

import importlib
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.rst"))
PAGES = [page for page in PAGES if not {"_build", "generated"} & set(page.parts)]
PAGES = [page for page in PAGES if "auto_examples" not in page.parts]
ROLE = re.compile(r":(?:func|class|obj|mod|data|meth):`~?(neuroextrap\.[\w.]+)`")


def is_public(dotted):
    """Whether a dotted name is a subpackage, or is in its package's ``__all__``."""
    _, package, *rest = dotted.split(".")
    module = importlib.import_module(f"neuroextrap.{package}")
    if not rest:
        return True
    found = rest[0] in module.__all__
    value = getattr(module, rest[0], None)
    return found and all(hasattr(value, name) for name in rest[1:])


def test_there_are_pages():
    assert len(PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_linked_names_are_public(page):
    names = set(ROLE.findall(page.read_text(encoding="utf-8")))
    assert [name for name in sorted(names) if not is_public(name)] == []


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_headings_of_an_example_are_underlined(example):
    lines = example.read_text(encoding="utf-8").split("\n")
    assert lines[0].lstrip("r") == '"""'
    assert set(lines[2]) == {"="}
    assert len(lines[2]) >= len(lines[1])
    for above, line in itertools.pairwise(lines):
        if re.fullmatch("# [-=~]+", line):
            assert len(line) >= len(above), above


def test_a_name_that_is_not_public_is_found_out():
    assert not is_public("neuroextrap.stats.no_such_function")
    assert not is_public("neuroextrap.decoding.IdentificationSearchLight.no_such")
