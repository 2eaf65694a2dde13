"""What the documentation links to exists, under its public name."""

import importlib
import inspect
import itertools
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import neuroextrap

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
    "example", sorted((ROOT / "examples").rglob("*.py")), ids=lambda path: path.stem
)
def test_headings_of_an_example_are_underlined(example):
    lines = example.read_text(encoding="utf-8").split("\n")
    assert lines[0].lstrip("r") == '"""'
    assert set(lines[2]) == {"="}
    assert len(lines[2]) >= len(lines[1])
    for above, line in itertools.pairwise(lines):
        if re.fullmatch("# [-=~]+", line):
            assert len(line) >= len(above), above


def public_callables():
    """Dotted name and value of every public function and class."""
    for _, package, _ in pkgutil.iter_modules(neuroextrap.__path__):
        module = importlib.import_module(f"neuroextrap.{package}")
        for name in getattr(module, "__all__", ()):
            if callable(getattr(module, name)):
                yield f"{package}.{name}", getattr(module, name)


def test_signatures_can_be_read_in_help():
    found = {name: str(inspect.signature(value)) for name, value in public_callables()}
    assert len(found) > 100
    internal = re.compile(r"numpy\._|Union\[|ForwardRef|typing\.")
    assert [name for name, text in found.items() if internal.search(text)] == []


def public_functions():
    """Dotted name and value of every public function, constructor and method."""
    for name, value in public_callables():
        if not inspect.isclass(value):
            yield name, value
            continue
        for method, function in inspect.getmembers(value, inspect.isroutine):
            own = getattr(function, "__module__", "") or ""
            public = method == "__init__" or not method.startswith("_")
            if public and own.startswith("neuroextrap."):
                yield f"{name}.{method}", function


def test_public_signatures_are_annotated():
    missing = []
    for name, function in public_functions():
        signature = inspect.signature(function)
        kinds = [
            p.annotation for p in signature.parameters.values() if p.name != "self"
        ]
        if inspect.Signature.empty in (*kinds, signature.return_annotation):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("online", ["", "1"])
def test_other_packages_pages_are_linked_when_asked_for(online):
    code = (
        "import json, runpy, socket\n"
        "def refuse(*_, **__): raise AssertionError('a connection')\n"
        "socket.create_connection = socket.socket.connect = refuse\n"
        "conf = runpy.run_path('docs/conf.py')\n"
        "print(json.dumps([conf['extensions'], conf.get('intersphinx_mapping')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "NEUROEXTRAP_DOCS_ONLINE": online},
        capture_output=True,
        text=True,
        check=True,
    )
    extensions, mapping = json.loads(done.stdout)
    assert ("sphinx.ext.intersphinx" in extensions) == bool(online)
    assert bool(mapping) == bool(online)
    for where, inventory in (mapping or {}).values():
        assert where.startswith("https://")
        assert inventory is None


def test_a_name_that_is_not_public_is_found_out():
    assert not is_public("neuroextrap.stats.no_such_function")
    assert not is_public("neuroextrap.decoding.IdentificationSearchLight.no_such")
