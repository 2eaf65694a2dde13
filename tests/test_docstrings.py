"""Every public name is documented, completely and with an example that runs."""

import importlib
import inspect

import pytest
from numpydoc.validate import validate

import neuroextrap

SUBPACKAGES = (
    "analysis",
    "cohorts",
    "cli",
    "datasets",
    "decoding",
    "design",
    "encoding",
    "group",
    "images",
    "learning_curves",
    "maps",
    "margins",
    "models",
    "plotting",
    "regions",
    "reporting",
    "scores",
    "stats",
)

# not checked: extended summary (ES01), examples (EX01; see below), where the summary
# starts (GL01; ruff has it), parameters without a type (PR04), returns without a name
# (RT02), "See Also" (SA01, SA04)
LEFT_OUT = {"ES01", "EX01", "GL01", "PR04", "RT02", "SA01", "SA04"}

# a method that returns its object ("self : Class") needs no more words
NOT_OF_METHODS = {"RT03"}


def public_objects():
    """Return {dotted name: object} of functions and classes named in ``__all__``."""
    found = {}
    for subpackage in SUBPACKAGES:
        module = importlib.import_module(f"neuroextrap.{subpackage}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{module.__name__}.{name}"] = value
    return found


def own_methods(cls):
    """Return names of public methods and properties that this package wrote."""
    for name, value in inspect.getmembers(cls):
        function = value.fget if isinstance(value, property) else value
        function = inspect.unwrap(getattr(function, "__func__", function))
        module = getattr(function, "__module__", None) or ""
        written_here = callable(function) and module.startswith("neuroextrap")
        if written_here and not name.startswith("_") and not inspect.isclass(function):
            yield name


OBJECTS = public_objects()
METHODS = {
    f"{dotted}.{method}": cls
    for dotted, cls in OBJECTS.items()
    if inspect.isclass(cls)
    for method in own_methods(cls)
}


def complaints(dotted, left_out):
    """Return numpydoc's complaints, one line each."""
    return [
        f"{code}: {text}"
        for code, text in validate(dotted)["errors"]
        if code not in left_out
    ]


def test_every_subpackage_is_checked():
    listed = {*neuroextrap._SUBPACKAGES, "cli"}
    assert set(SUBPACKAGES) == listed


@pytest.mark.parametrize("dotted", sorted(OBJECTS))
def test_public_name_is_documented(dotted):
    assert complaints(dotted, LEFT_OUT) == []


@pytest.mark.parametrize("dotted", sorted(METHODS))
def test_public_method_is_documented(dotted):
    assert complaints(dotted, LEFT_OUT | NOT_OF_METHODS) == []


@pytest.mark.parametrize("dotted", sorted(OBJECTS))
def test_public_name_has_an_example(dotted):
    assert ">>>" in (inspect.getdoc(OBJECTS[dotted]) or "")
