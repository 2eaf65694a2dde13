"""Options and descriptions that several functions share, declared once."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

Thing = TypeVar("Thing")
Kind = TypeVar("Kind", bound=type)
_HEAD = "Parameters\n----------\n"
_ELSEWHERE = {"mask_img": "mask", "masker": "mask", "scoring": "statistic"}  # nilearn's


def takes_options(*kinds: Any, without: str = "") -> Callable[[Thing], Thing]:
    """Give a function that takes ``**options`` the fields of dataclasses as keywords.

    Its signature shows them with their defaults and its docstring describes them, but
    for parameters of its own and those named in `without`, separated by blanks.
    """

    def decorate(function: Any) -> Any:
        own = inspect.signature(function)
        *first, _ = own.parameters.values()
        lacking = {*without.split(), *own.parameters}
        words = [
            word.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for kind in kinds
            for word in inspect.signature(kind).parameters.values()
            if word.name not in lacking
        ]
        function.__signature__ = own.replace(parameters=[*first, *words])
        sources = [base for kind in kinds for base in kind.__mro__[:-1]]
        return described_by(*sources)(function)

    return decorate


def as_options(kind: Any, function: Any, given: dict[str, Any], **fixed: Any) -> Any:
    """Return a `kind` of words that a function was given; `fixed` it sets itself."""
    _check_words(function.__name__, given, inspect.signature(function).parameters)
    words = inspect.signature(kind).parameters
    options = {name: given[name] for name in words if name in given} | fixed
    required = (name for name, word in words.items() if word.default is word.empty)
    missing = [name for name in required if name not in options]
    if missing:
        raise TypeError(
            f"{function.__name__}() missing 1 required keyword-only argument: "
            f"{missing[0]!r}"
        )
    return kind(**options)


@dataclass_transform(eq_default=False)
def takes_fields(estimator: Kind) -> Kind:
    """Make the fields of an estimator its parameters, which it stores as they come.

    Those that it shares with others, the fields of its bases, come last; their bases
    describe them.
    """
    bases = [base for base in estimator.__mro__[1:] if is_dataclass(base)]
    shared = {field.name for base in bases for field in fields(base)}
    made: Any = dataclass(estimator, eq=False, repr=False, match_args=False)
    for field in fields(made):
        for kind in (made, *bases):
            if field.name in vars(kind):  # a default is no attribute of the class
                delattr(kind, field.name)
    init = made.__init__
    signature = inspect.signature(init)
    parameters = signature.parameters
    words = sorted(parameters.values(), key=lambda word: word.name in shared)

    @functools.wraps(init)
    def initialize(self: Any, *args: Any, **options: Any) -> None:
        _check_words(type(self).__name__, options, parameters)
        init(self, *args, **options)

    made.__init__ = initialize
    made.__init__.__signature__ = signature.replace(parameters=words)
    return described_by(*bases)(made) if bases else made


def _check_words(name: str, given: Any, parameters: Any) -> None:
    """Raise TypeError for a word that a call does not take, with the nearest one."""
    for word in sorted(given.keys() - parameters.keys()):
        close = difflib.get_close_matches(word, parameters, n=1, cutoff=0.75)
        close = [_ELSEWHERE[word]] if _ELSEWHERE.get(word) in parameters else close
        meant = f"; did you mean {close[0]}?" if close else ""
        raise TypeError(f"{name}() got an unexpected keyword argument {word!r}{meant}")


def described_by(*sources: Any) -> Callable[[Thing], Thing]:
    """Describe parameters that a docstring lacks, as the first source that has them."""
    descriptions: dict[str, str] = {}
    for source in reversed(sources):
        descriptions |= _split(inspect.getdoc(source) or "")[1]

    def decorate(thing: Any) -> Any:
        if thing.__doc__ is not None:  # pragma: no branch (python -OO has none)
            before, own, after = _split(inspect.cleandoc(thing.__doc__))
            names = list(inspect.signature(thing).parameters)
            texts = [own.get(name, descriptions.get(name, "")) for name in names]
            texts += [text for name, text in own.items() if name not in names]
            text = "\n".join(filter(None, dict.fromkeys(texts)))
            thing.__doc__ = f"{before}{_HEAD}{text}\n{after}".rstrip() + "\n"
        return thing

    return decorate


def _split(doc: str) -> tuple[str, dict[str, str], str]:
    """Return what precedes the parameters, the text of each by name, what follows."""
    before, head, text = doc.partition(_HEAD)
    if not head:
        lines = doc.splitlines(keepends=True)
        rules = [k for k, line in enumerate(lines) if set(line.strip()) == {"-"}]
        first = rules[0] - 1 if rules else len(lines)
        before = "".join(lines[:first]).rstrip() + "\n\n"
        return before, {}, "\n" + "".join(lines[first:]) if rules else ""
    described: dict[str, list[str]] = {}
    names: list[str] = []
    text, gap, after = text.partition("\n\n")
    for line in text.splitlines():
        if not line.startswith(" "):
            names = line.partition(" : ")[0].split(", ")
        for name in names:
            described.setdefault(name, []).append(line)
    texts = {name: "\n".join(lines) for name, lines in described.items()}
    return before, texts, f"{gap}{after}"[1:]
