"""Two decoders: paired by target on one pool, or by bits over different pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    first: Any, second: Any, n_permutations: int, random_state: int
) -> ScoreComparison:
    """Compare two results, see :meth:`ScoreIdentification.compare`."""
    place, n_shared = _matched(first, second)
    size = first.options.tested_size(len(first.names))
    p_value, findings = np.nan, ()
    if place is None:
        findings = (_different(n_shared),)
        tell(findings)
    else:
        both = first.options, second.options
        outcomes = [
            each.ranks.target_means(each.ranks.among(size)) for each in (first, second)
        ]
        differences = outcomes[0] - outcomes[1][place]
        differences = differences[~np.isnan(differences)]
        test = paired_sign_flip_test(
            differences[np.newaxis] / len(differences),
            n_permutations=n_permutations,
            cross_validated=any(options.cross_validated for options in both),
            random_state=random_state,
        )
        p_value = float(test.p_value[0])
    table = _differences(first, second, place, size)
    tested = table["quantity"] == f"accuracy_among_{size}"
    if place is not None and not tested.any():
        raise ValueError(
            f"other has no accuracy among {size}; give both the same statistic"
        )
    table["p_value"] = np.where(tested, p_value, np.nan)
    return ScoreComparison(table, p_value, size, place is not None, findings)


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


def _matched(first: Any, second: Any) -> tuple[np.ndarray | None, int]:
    """Return where the candidates of `first` are in `second`, and how many they share.

    None unless both have the same candidates, and trials of the same ones.
    """
    if first.is_named != second.is_named:
        return None, 0
    same, at, place = np.intersect1d(first.names, second.names, return_indices=True)
    if not len(same) == len(first.names) == len(second.names):
        return None, len(same) if first.is_named else 0
    order = place[np.argsort(at)]
    tested = [
        np.bincount(each.ranks.columns, minlength=len(same)) > 0
        for each in (first, second)
    ]
    alike = (tested[0] == tested[1][order]).all()
    return (order if alike else None), len(same)


def _differences(
    first: Any, second: Any, place: np.ndarray | None, size: int
) -> pd.DataFrame:
    """Tabulate both decoders, their differences and the intervals of these."""
    both = first, second
    measured = [each.curve[each.curve["source"] == "measured"] for each in both]
    asked = [each.options.pool_sizes(len(each.names)) for each in both]
    asked.append(np.array([2, size, len(first.names)]))
    sizes = np.intersect1d(*(table["set_size"] for table in measured))
    sizes = np.intersect1d(sizes, np.concatenate(asked))
    accuracy = [
        table.set_index("set_size").loc[sizes, "accuracy"] for table in measured
    ]
    bits = [each.values["implied_information"] for each in both]
    values = np.array([np.r_[b, a] for b, a in zip(bits, accuracy, strict=True)])
    without = [_without(each, sizes) for each in both]
    if place is None:
        error = np.hypot(*map(jackknife_error, without))
    else:
        error = jackknife_error(without[0] - without[1][place])
    n_fewest = min(len(each.names) for each in both)
    n_test = min(len(each.ranks.tied) for each in both)
    if n_fewest > 2:
        error[1:] = np.maximum(error[1:], lost_point_error(sizes, n_fewest, n_test))
    level = first.options.confidence_level
    half = stdtrit(n_fewest - 1, (1 + level) / 2) * error
    difference = values[0] - values[1]
    return pd.DataFrame(
        {
            "quantity": [
                "implied_information",
                *(f"accuracy_among_{k}" for k in sizes),
            ],
            "first": values[0],
            "second": values[1],
            "difference": difference,
            "lower": difference - half,
            "upper": difference + half,
        }
    )


def _without(found: Any, sizes: np.ndarray) -> FloatArray:
    """Return bits and accuracies without each candidate, (K, 1 + n_sizes)."""
    inner, curves = found.left_out
    n_candidates = len(found.names)
    if not len(inner):
        return np.full((n_candidates, 1 + len(sizes)), np.nan)
    usual = np.unique(np.minimum(default_set_sizes(n_candidates), n_candidates - 1))
    best = 1 - half_lost_point(usual, n_candidates, len(found.ranks.tied))
    used = np.minimum(curves[:, np.isin(inner, usual)], best)
    at = np.searchsorted(inner, np.minimum(sizes, n_candidates - 1))
    return np.column_stack([implied_information(used, usual), curves[:, at]])
