"""Findings: what makes numbers of an analysis doubtful, as records."""

import logging
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from neuroextrap.stats._validation import warn

logger = logging.getLogger(__name__)

P_VALUES = ("p_value*",)
BOUNDS = ("*_bound*", "e_value*")
EVERYTHING = ("*",)
GROW = {"e_value*": "e-values", "*_bound*": "lower bounds"}
TOO_SMALL = "p-values are too small"
TOO_OPTIMISTIC = f"{TOO_SMALL}, and e-values and lower bounds too large"


class Finding(NamedTuple):
    """What was seen of a design or its samples, and what it does to the results."""

    name: str  # what kind of finding it is, such as "same_order"
    grade: str  # "refused", "doubtful" or "note"
    seen: float  # the number that was seen, such as a correlation
    maps: tuple[str, ...]  # names of maps that it touches, with wildcards
    because: str  # a clause: "the classes come in the same order in all runs"
    effect: str  # on these maps, a clause: "p-values may be too small"
    remedy: str  # what to do about it

    @property
    def note(self) -> str:
        """The finding as a sentence without its full stop."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.because}: {self.effect}{remedy}"

    @property
    def line(self) -> str:
        """The finding as a line of text, its grade first."""
        return f"{self.grade}: {self.note}"

    def touches(self, name: str) -> bool:
        """Whether the map of this name is touched."""
        return any(fnmatchcase(name, pattern) for pattern in self.maps)


# of two analyses that are compared by cross-validation, with twice the variance of
# independent outcomes
_VARIANCE = "trained_on_tests", "note", 2.0, P_VALUES
TRAINED_ON_TESTS = Finding(
    *_VARIANCE,
    "samples train as well as test",
    "p-values are approximate, corrected for it as in Nadeau & Bengio 2003",
    "one train/test split gives exact ones",
)


def tell(findings: Iterable[Finding]) -> None:
    """Warn of what is doubtful, log the rest; ValueError that names what is refused."""
    findings = tuple(findings)
    refused = [finding.note for finding in findings if finding.grade == "refused"]
    if refused:
        raise ValueError("; and ".join(refused))
    for finding in findings:
        if finding.grade == "doubtful":
            warn(finding.note)
        else:
            logger.info("%s", finding.note)


def findings_about(findings: Iterable[Finding], name: str) -> list[dict]:
    """Return the findings that touch a map as dicts, for its sidecar."""
    return [finding._asdict() for finding in findings if finding.touches(name)]


def doubts_about(findings: Sequence[Finding], maps: Iterable[str]) -> str:
    """Return the end of a sentence about maps: ", but ..., because ...", or ""."""
    reasons, names = dict[str, list[str]](), list(maps)
    large = " and ".join(
        word for kind, word in GROW.items() if any(fnmatchcase(n, kind) for n in names)
    )
    optimism = f"{large} are too large" if large else TOO_OPTIMISTIC
    if any(fnmatchcase(name, *P_VALUES) for name in names):
        optimism = f"{TOO_SMALL}, and {large} too large" if large else TOO_SMALL
    for finding in findings:
        if finding.grade == "doubtful" and any(map(finding.touches, names)):
            effect = finding.effect.replace(TOO_OPTIMISTIC, optimism)
            reasons.setdefault(effect, []).append(finding.because)
    clauses = [
        f"{effect}, because {', and because '.join(because)}"
        for effect, because in reasons.items()
    ]
    return f", but {'; and '.join(clauses)}" if clauses else ""
