"""Words of the command line: what each is for, its default, and what it may be.

They are declared here without a parser, so that the table of parameters can have them.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

FILES = {"IMG", "TSV", "NPY", "FILE", "TOML", "PART"}
FOLDERS = {"DIR", "OUT", "DERIVATIVES"}


class Option(NamedTuple):
    """One option: its sentence for help, its default, and how its text is read.

    A flag (bool) with a default of True becomes ``--no-...``, one of None both. `said`
    stands for the default in help; `word` is the name on the command line, if another.
    "none" among the choices stands for None. Short help lists what comes `first`, or is
    required.
    """

    help: str
    default: Any = None
    metavar: str | None = None
    kind: Callable[[str], Any] = str
    choices: tuple[str, ...] | None = None
    many: bool = False
    said: str = ""
    required: bool = False
    least: int | None = None
    within: tuple[Any, Any] | None = None
    allowed: str = ""
    word: str | None = None
    first: bool = False

    @property
    def is_path(self):
        """Whether its value is a file or a folder."""
        return self.metavar in FILES | FOLDERS | {"PATH"}

    @property
    def sentence(self):
        """What help says, with the default."""
        default = "" if self.default is None else self.default
        if isinstance(default, float):
            default = f"{default:g}"
        said = self.said or ("" if self.kind is bool or self.many else str(default))
        return f"{self.help} (default: {said})" if said else self.help

    def value(self, given):
        """Return what a word stands for: None for "none" where that is a choice."""
        has_none = self.choices is not None and "none" in self.choices
        return None if has_none and given == "none" else given

    def check(self, name, value):
        """Raise ValueError unless the value of a parameter is within the range."""
        from neuroextrap.stats._validation import brief

        if value is None and self.default is None:
            return
        number = not isinstance(value, bool)
        if self.least is not None:
            whole = number and isinstance(value, Integral)
            if not whole or value < self.least:
                raise ValueError(
                    f"{name}={brief(value)} must be an integer of at least {self.least}"
                )
        if self.within is not None:
            low, high = self.within
            if not (number and isinstance(value, Real) and low < value < high):
                raise ValueError(f"{name}={brief(value)} must be {self.allowed}")


def flag(sentence, default=False, **more):
    """Return an option without a value."""
    return Option(sentence, default, kind=bool, **more)


def text(sentence, default=None, metavar="NAME", **more):
    """Return an option whose value is text."""
    return Option(sentence, default, metavar, **more)


def path(sentence, metavar="IMG", **more):
    """Return an option whose value is a file or a folder."""
    return Option(sentence, None, metavar, **more)


texts, paths = partial(text, many=True), partial(path, many=True)


def real(sentence, default=None, metavar="X", **more):
    """Return an option whose value is a number."""
    return Option(sentence, default, metavar, float, **more)


def whole(sentence, default=None, metavar="N", **more):
    """Return an option whose value is a whole number."""
    return Option(sentence, default, metavar, int, **more)


def one_of(sentence, choices, default=None, **more):
    """Return an option whose value is one of the words of a text."""
    return Option(sentence, default, choices=tuple(choices.split()), **more)


def number_or_auto(given):
    """Read a number, or how one is chosen: auto or inner_folds."""
    return given if given in ("auto", "inner_folds") else float(given)


def set_size_or_name(given):
    """Read a whole number or a name."""
    return int(given) if given.isdecimal() else given


def number_or_name(given):
    """Read a number or a name; "none" is None."""
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        return given
