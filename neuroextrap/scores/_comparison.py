"""Two decoders: paired by target on one pool, or by bits over different pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from neuroextrap.design._findings import EVERYTHING, Finding, tell
from neuroextrap.stats import (
    default_set_sizes,
    implied_information,
    paired_sign_flip_test,
)
from neuroextrap.stats._accuracy import half_lost_point
from neuroextrap.stats._jackknife import jackknife_error, lost_point_error
from neuroextrap.stats._validation import FloatArray

if TYPE_CHECKING:
    from neuroextrap.scores._result import ScoreIdentification


@dataclass(frozen=True, eq=False)
class ScoreComparison:
    """What :meth:`ScoreIdentification.compare` returns.

    `table` has a row for implied information and for the accuracy at every set size
    that both report: first, second, difference and its interval. `p_value` is that of
    the accuracy among `set_size` candidates by exchange of the outcomes of targets, NaN
    unless the two are paired.
    """

    table: pd.DataFrame
    p_value: float
    set_size: int
    is_paired: bool
    findings: tuple[Finding, ...]

    @property
    def notes(self) -> list[str]:
        """The findings as sentences."""
        return [f"{finding.grade}: {finding.note}" for finding in self.findings]


def compare_pools(
    first: ScoreIdentification,
    second: ScoreIdentification,
    n_permutations: int,
    random_state: int,
) -> ScoreComparison:
    """Compare two results, see :meth:`ScoreIdentification.compare`."""
    both = first, second
    place = pd.Index(second.names).get_indexer(first.names)  # -1 where it is not
    tested = [each.ranks.target_means(each.ranks.middle) > 0 for each in both]
    is_paired = (
        first.is_named == second.is_named
        and len(first.names) == len(second.names)
        and (place >= 0).all()
        and bool((tested[0] == tested[1][place]).all())
    )
    size = first.options.tested_size(len(first.names))
    table = _differences(both, place if is_paired else None, size)
    p_value, findings = np.nan, ()
    scored = table["quantity"] == f"accuracy_among_{size}"
    if is_paired and not scored.any():
        raise ValueError(
            f"other has no accuracy among {size}; give both the same statistic"
        )
    if is_paired:
        outcomes = [each.ranks.target_means(each.ranks.among(size)) for each in both]
        differences = (outcomes[0] - outcomes[1][place])[tested[0]]
        test = paired_sign_flip_test(
            differences[np.newaxis] / len(differences),
            n_permutations=n_permutations,
            cross_validated=any(each.options.cross_validated for each in both),
            random_state=random_state,
        )
        p_value = float(test.p_value[0])
    else:
        n_shared = (place >= 0).sum() if first.is_named and second.is_named else 0
        findings = (_different(int(n_shared)),)
        tell(findings)
    table["p_value"] = np.where(scored, p_value, np.nan)
    return ScoreComparison(table, p_value, size, is_paired, findings)


def _different(n_shared: int) -> Finding:
    """Say what may be compared over different pools."""
    return Finding(
        "different_pools",
        "doubtful",
        n_shared,
        EVERYTHING,
        f"the decoders were tested on different targets or candidates ({n_shared} "
        "candidates are shared)",
        "bits may be compared if both pools are random samples of the same kind of "
        "stimuli, and accuracies then among equally many",
        "restrict both to shared trials and candidates for a paired test",
    )


def _differences(
    both: tuple[ScoreIdentification, ScoreIdentification],
    place: np.ndarray | None,
    size: int,
) -> pd.DataFrame:
    """Tabulate both decoders, their differences and the intervals of these.

    `place` says where the candidates of the first are in the second, if paired.
    """
    sizes = np.unique([*both[0].pools["set_size"], *both[1].pools["set_size"], 2, size])
    for each in both:
        sizes = np.intersect1d(sizes, each.measured["set_size"])
    values, left_out = zip(*(_quantities(each, sizes) for each in both), strict=True)
    if place is None:
        error = np.hypot(*map(jackknife_error, left_out))
    else:
        error = jackknife_error(left_out[0] - left_out[1][place])
    n_fewest = min(len(each.names) for each in both)
    if n_fewest > 2:
        n_test = min(len(each.ranks.tied) for each in both)
        error[1:] = np.maximum(error[1:], lost_point_error(sizes, n_fewest, n_test))
    n_targets = min(len(np.unique(each.ranks.columns)) for each in both)
    level = both[0].options.confidence_level
    half = stdtrit(n_targets - 1, (1 + level) / 2) * error
    difference = values[0] - values[1]
    names = ["implied_information", *(f"accuracy_among_{k}" for k in sizes)]
    table = {"quantity": names, "first": values[0], "second": values[1]}
    table |= {"difference": difference, "lower": difference - half}
    return pd.DataFrame(table | {"upper": difference + half})


def _quantities(
    found: ScoreIdentification, sizes: np.ndarray
) -> tuple[FloatArray, FloatArray]:
    """Return bits and accuracies (1 + n_sizes,), and those without each candidate.

    The second has shape (n_candidates, 1 + n_sizes).
    """
    known, n_candidates = found.measured["set_size"].to_numpy(), len(found.names)
    at = np.searchsorted(known, sizes)
    accuracy = found.measured["accuracy"].to_numpy()[at]
    values = np.r_[found.values["implied_information"], accuracy]
    usual = default_set_sizes(n_candidates)
    inner, first = np.unique(np.minimum(usual, n_candidates - 1), return_index=True)
    curves = found.left_out[:, np.searchsorted(known, usual[first])]
    if np.isnan(curves).any():
        return values, np.full((n_candidates, len(values)), np.nan)
    best = 1 - half_lost_point(inner, n_candidates, len(found.ranks.tied))
    bits = implied_information(np.minimum(curves, best), inner)
    return values, np.column_stack([bits, found.left_out[:, at]])
