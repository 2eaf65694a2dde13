"""What a bad call is, and what its message must have."""

import contextlib
import re
import signal
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# a message ends in what to do: a rule that the value must keep, or an instruction
REMEDY = re.compile(
    r"\b(must|needs?|give|use|choose|set|leave|name|raise|lower|install|check|fit|write"
    r"|read|make|delete|convert|see|take|repair|run|remove|merge|free|resample|binarize|call|count|drop|say|test|pass|mask|exclude|save|correct|rescale|regroup)\b"
)
OWN = (ValueError, TypeError)
SECONDS = 5
# what a user should never be shown
FOREIGN = re.compile(r"np\.(str_|int64|float64)\(|allow_pickle|object at 0x|Traceback")


@dataclass
class BadCall:
    """A call, the exact type of its error, and words that its message has.

    ``says`` are texts, in any order: the argument, the value that came, and more where
    a case has more to say.
    """

    name: str
    call: Any
    error: type
    says: tuple = field(default_factory=tuple)


def given(value):
    """Return how messages show a value that came: its repr, or shape, or type."""
    if isinstance(value, np.ndarray):
        return str(value.shape)
    if isinstance(value, (str, int, float, bool, type(None), tuple)):
        return str(value)
    return ""


def options(what, make, table):
    """Return bad calls ``make(name=value)`` of a table: (name, value, error, *says)."""
    return [
        BadCall(
            f"{what}({name}={_short(value)})",
            lambda name=name, value=value: make(**{name: value}),
            error,
            says or (name, given(value)),
        )
        for name, value, error, *says in table
    ]


def assert_good_message(message, says):
    """Check that a message has the words, a remedy, and nothing foreign."""
    missing = [text for text in says if text not in message]
    assert not missing, f"{missing} not in {message!r}"
    assert REMEDY.search(message), f"no remedy in {message!r}"
    assert not FOREIGN.search(message), f"foreign text in {message!r}"
    assert len(message) < 500, f"a long message: {message!r}"
    of_sklearn = "Call 'fit' with" in message
    assert of_sklearn or not message.endswith("."), f"a full stop ends {message!r}"


def _short(value):
    """Show a value in the name of a test."""
    return re.sub(r"[^\w.,+-]+", "_", repr(value))[:30]


class Hang(Exception):  # noqa: N818
    """A call took longer than it may."""


@contextlib.contextmanager
def at_most(seconds):
    """Raise `Hang` when the block takes more CPU time, where the system can tell."""

    def ring(number, frame):
        raise Hang

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def refusal(call, *names):
    """Return what is wrong with how a call ends, "" where nothing is."""
    try:
        with at_most(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except Hang:
        return "it hangs"
    except OWN as error:
        text = str(error)
        if any(name in text for name in names) and "\n" not in text:
            return ""
        return f"{type(error).__name__}: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
