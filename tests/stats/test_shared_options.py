"""Options declared once reach the signature, the docstring and the checks."""

import inspect
from dataclasses import dataclass

import pytest

from tests.stats.seam import as_options, described_by, takes_options


@dataclass(frozen=True, kw_only=True)
class Base:
    """Have one option.

    Parameters
    ----------
    seed : int
        Seed of everything.
    """

    seed: int


@dataclass(frozen=True, kw_only=True)
class Options(Base):
    """Have more.

    Parameters
    ----------
    low, high : float
        Both ends,
        in bits.
    """

    low: float = 0.0
    high: float = 1.0


@takes_options(Options, without="low")
def function(x, **options):
    """Do something.

    Returns
    -------
    options : Options
        As given.
    """
    return as_options(Options, function, options, low=x)


def test_options_are_in_signature_and_docstring():
    assert str(inspect.signature(function)) == "(x, *, seed: int, high: float = 1.0)"
    assert function.__doc__ == (
        "Do something.\n\nParameters\n----------\nseed : int\n    Seed of everything.\n"
        "low, high : float\n    Both ends,\n    in bits.\n\n"
        "Returns\n-------\noptions : Options\n    As given.\n"
    )
    assert function(3.0, seed=1) == Options(low=3.0, seed=1)
    with pytest.raises(TypeError, match=r"function\(\) got an unexpected .*'low'"):
        function(3.0, seed=1, low=2.0)
    with pytest.raises(TypeError, match=r"missing 1 required .*'seed'"):
        function(3.0)


def test_a_description_of_its_own_counts():
    @described_by(Options, function)
    def other(seed, low, unknown):
        """Do.

        Parameters
        ----------
        low : int
            Own.

            In two paragraphs.
        *args
            More.
        """

    assert other.__doc__ == (
        "Do.\n\nParameters\n----------\nseed : int\n    Seed of everything.\n"
        "low : int\n    Own.\n\n    In two paragraphs.\n*args\n    More.\n"
    )


def test_a_docstring_of_one_line_gets_a_section():
    @described_by(Options)
    def other(low):
        """Do."""

    text = "low, high : float\n    Both ends,\n    in bits.\n"
    assert other.__doc__ == f"Do.\n\nParameters\n----------\n{text}"
