"""Words of the command line: what each is for, its default, and what it may be.

They are declared in text without a parser, so that the table of parameters can have
them, and read as help shows them.
"""

import re
import shlex
from ast import literal_eval
from collections.abc import Callable
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple

FILES = {"IMG", "TSV", "NPY", "FILE", "TOML", "PART"}
FOLDERS = {"DIR", "OUT", "DERIVATIVES"}


class Option(NamedTuple):
    """One option: its sentence for help, its default, and how its text is read.

    A flag (bool) with a default of True becomes ``--no-...``, one of None both. `said`
    stands for the default in help; `word` is the name on the command line, if another.
    "none" among the choices stands for None. Values are at least `least`, or `above`
    one number and `below` another, and among the choices, unless Python takes objects
    too (`loose`). Short help lists what comes `first`, or is required.
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
    above: float | None = None
    below: float = inf
    word: str | None = None
    first: bool = False
    loose: bool = False

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
        """Raise ValueError unless the value of a parameter is one that it may have."""
        from neuroextrap.stats._validation import check_choice

        unset = value is None and self.default is None
        if self.choices is not None and not self.loose and not unset:
            check_choice(value, name, tuple(map(self.value, self.choices)))
        self.check_range(f"{name}=", value)

    def check_range(self, name, value):
        """Raise ValueError unless a value, told after ``name=``, is in the range."""
        from neuroextrap.stats._validation import brief

        if value is None and self.default is None:
            return
        number = not isinstance(value, bool)
        if self.least is not None:
            whole = number and isinstance(value, Integral)
            if not whole or value < self.least:
                raise ValueError(
                    f"{name}{brief(value)} must be an integer of at least {self.least}"
                )
        if self.above is not None:
            low, high = self.above, self.below
            if not (number and isinstance(value, Real) and low < float(value) < high):
                allowed = f"a number between {low:g} and {high:g}"
                if high == inf:
                    allowed = f"a length in mm above {low:g}"
                raise ValueError(f"{name}{brief(value)} must be {allowed}")


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


_KINDS: dict[str, Callable] = {
    "flag": bool,
    "one_of": str,
    "text": str,
    "path": str,
    "real": float,
    "whole": int,
    "number_or_auto": number_or_auto,
    "number_or_name": number_or_name,
    "set_size_or_name": set_size_or_name,
}
_SENTENCE = re.compile(r"(.*?)(?: \(default: ([^()]*)\))?")


def read_options(table):
    """Return the Options of a text by name, None for a name without more.

    An entry is ``name: kind METAVAR mark ... = default: what help says``, its further
    lines indented. Kinds in the plural take several values, a flag has no METAVAR, and
    one_of has its choices instead (``a|b``). Marks are fields of Option: ``first``,
    ``required``, ``least=1``, ``above=0``, ``word=other_name``. What help says may
    end with the default in words, ``(default: all)``.
    """
    options: dict[str, Any] = {}
    for entry in re.findall(r"^\w.*(?:\n .*)*", table, re.MULTILINE):
        name, _, rest = " ".join(entry.split()).partition(": ")
        options[name] = _option(*rest.partition(": ")[::2]) if rest else None
    return options


def _option(head, sentence):
    """Return the Option of an entry."""
    head, _, default = head.partition(" = ")
    name, *marks = shlex.split(head)
    kind = _KINDS.get(name) or _KINDS[name.removesuffix("s")]
    given: dict[str, Any] = {"kind": kind, "many": name not in _KINDS}
    if name == "one_of":
        given["choices"] = tuple(marks.pop(0).split("|"))
    elif kind is not bool:
        given["metavar"] = marks.pop(0)
    for mark, _, value in (mark.partition("=") for mark in marks):
        given[mark] = _MARKS[mark](value) if value else True
    given["default"] = False if kind is bool else None
    if default:
        given["default"] = literal_eval(default)
    words: Any = _SENTENCE.fullmatch(sentence)
    return Option(words[1], said=words[2] or "", **given)


_MARKS: dict[str, Callable] = {
    **dict.fromkeys(("above", "below"), float),
    "least": int,
    "word": str,
}
