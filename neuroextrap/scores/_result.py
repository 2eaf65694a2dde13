"""What identification by scores found: tables, comparison, page and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.design._findings import Finding
from neuroextrap.scores._comparison import ScoreComparison, compare_pools
from neuroextrap.scores._matrix import Ranks
from neuroextrap.scores._report import scores_report, write_results
from neuroextrap.stats._validation import FloatArray


@dataclass(frozen=True, eq=False)
class ScoreIdentification:
    """What :func:`score_identification` returns.

    `curve` is a data frame of set sizes; `values` holds bits (with their interval),
    bounds, the p-value and the share of near-duplicates by name; `findings` what is
    doubtful. `leader` (n_candidates,) says which candidate stands for each, `left_out`
    (n_candidates, n_measured) are the accuracies of `measured` without each candidate.
    """

    curve: pd.DataFrame
    values: dict[str, float]
    ranks: Ranks
    leader: np.ndarray
    names: np.ndarray
    left_out: FloatArray
    findings: tuple[Finding, ...]
    options: Any
    is_named: bool

    @property
    def notes(self) -> list[str]:
        """The findings as sentences, what is doubtful first."""
        order = sorted(self.findings, key=lambda finding: finding.grade)
        return [f"{finding.grade}: {finding.note}" for finding in order]

    @property
    def measured(self) -> pd.DataFrame:
        """The rows of the curve within the pool."""
        return self.curve[self.curve["source"] == "measured"]

    @property
    def pools(self) -> pd.DataFrame:
        """The rows of the curve for the pools asked for and the one at hand."""
        sizes = self.options.pool_sizes(len(self.names))
        kept = self.curve["set_size"].isin([*sizes, len(self.names)])
        return self.curve[kept].reset_index(drop=True)

    @property
    def summary(self) -> pd.DataFrame:
        """One row of all numbers, for the table of a paper.

        ``accuracy`` (top-1), ``top_5`` and ``median_rank`` are those among all
        candidates, ``accuracy_among_50`` among 50 of them (or more than there are);
        ``_lower`` and ``_upper`` are ends of intervals; information is in bits.
        """
        curve = self.curve.set_index("set_size")
        row: dict[str, Any] = {
            "n_trials": len(self.ranks.tied),
            "n_targets": len(np.unique(self.ranks.columns)),
            "n_candidates": len(self.names),
        }
        named = {"accuracy": len(self.names), "pairwise_accuracy": 2}
        named |= {
            f"accuracy_among_{size}": int(size)
            for size in self.options.pool_sizes(len(self.names))
            if size not in named.values()
        }
        ends = {"": "accuracy", "_lower": "lower", "_upper": "upper"}
        for name, size in named.items():
            row |= {name + end: curve.loc[size, key] for end, key in ends.items()}
        row["top_5"] = curve.loc[len(self.names), "top_5"]
        row["median_rank"] = np.median(self.ranks.middle)
        return pd.DataFrame([row | self.values])

    @property
    def stimuli(self) -> pd.DataFrame:
        """One row for every candidate, the hardest first and those untested last.

        ``pairwise_accuracy`` and ``accuracy`` of its trials, ``median_rank``,
        ``attracted`` (trials of others whose first choice it is) and ``repeats``, the
        candidate that it nearly repeats.
        """
        ranks, n_candidates = self.ranks, len(self.names)
        repeats = np.bincount(ranks.columns, minlength=n_candidates)
        middle = pd.Series(ranks.middle).groupby(ranks.columns).median()
        same = self.leader == np.arange(n_candidates)
        table = pd.DataFrame(
            {
                "candidate": self.names,
                "n_trials": repeats,
                "pairwise_accuracy": ranks.target_means(ranks.among(2)),
                "accuracy": ranks.target_means(ranks.among(n_candidates)),
                "median_rank": middle.reindex(range(n_candidates)).to_numpy(),
                "attracted": ranks.attracted,
                "repeats": np.where(same, "", self.names[self.leader]),
            }
        )
        return table.sort_values("pairwise_accuracy", kind="stable", ignore_index=True)

    def compare(
        self,
        other: ScoreIdentification,
        *,
        n_permutations: int = 1000,
        random_state: int = 0,
    ) -> ScoreComparison:
        """Compare with another decoder, paired by target if both had the same pool.

        Parameters
        ----------
        other : ScoreIdentification
            What the other decoder's scores gave. Candidates are matched by name, or,
            if neither has names, by column.
        n_permutations : int, default=1000
            Exchanges of the two decoders' outcomes, target by target.
        random_state : int, default=0
            Seed of the exchanges.

        Returns
        -------
        comparison : ScoreComparison
            ``comparison.table`` with both values, their difference and its interval;
            ``comparison.p_value`` (two-sided, of the statistic), NaN for different
            pools, which ``comparison.notes`` then say.
        """
        return compare_pools(self, other, n_permutations, random_state)

    def generate_report(self, title: str | None = None) -> Any:
        """Return a self-contained page, which has ``save_as_html``."""
        return scores_report({"": self}, {}, title)

    def to_directory(
        self, path: Any, *, overwrite: bool = False, report: bool = False
    ) -> None:
        """Write curve.tsv, summary.tsv, stimuli.tsv and scores.json, and a page."""
        write_results({"scores": self}, {}, path, overwrite=overwrite, report=report)
