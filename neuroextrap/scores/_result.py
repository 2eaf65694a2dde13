"""What identification by scores found: tables, comparison, page and files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import methodcaller
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from scipy.special import stdtrit

from neuroextrap.analysis._region_maps import stacked_tables, table_writer
from neuroextrap.design._findings import Finding, doubts_about, tell
from neuroextrap.maps._files import write_maps
from neuroextrap.maps._provenance import json_text, provenance
from neuroextrap.reporting._page import (
    format_confidence,
    frame_table,
    make_page,
    page_title,
    render,
    sections_of,
)
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.scores._doubts import doubt
from neuroextrap.scores._reading import Ranks
from neuroextrap.stats import implied_information, paired_sign_flip_test
from neuroextrap.stats._accuracy import default_set_sizes, half_lost_point
from neuroextrap.stats._jackknife import jackknife_error, lost_point_error
from neuroextrap.stats._validation import FloatArray


@dataclass(frozen=True, eq=False)
class ScoreComparison:
    """What :meth:`ScoreIdentification.compare` returns."""

    table: pd.DataFrame  # information and accuracies: first, second, difference
    p_value: float  # of the accuracy among `set_size`; NaN unless paired
    set_size: int
    is_paired: bool
    findings: tuple[Finding, ...]

    @property
    def notes(self) -> list[str]:
        """The findings as sentences."""
        return [finding.line for finding in self.findings]


@dataclass(frozen=True, eq=False)
class ScoreIdentification:
    """What :func:`score_identification` returns."""

    curve: pd.DataFrame  # a row for every set size
    values: dict[str, float]  # bits and their interval, bounds, p-value, duplicates
    ranks: Ranks
    leader: np.ndarray  # candidate that stands for each, (n_candidates,)
    names: np.ndarray
    left_out: FloatArray  # accuracies without each, (n_candidates, n_measured)
    findings: tuple[Finding, ...]
    options: Any
    is_named: bool

    @property
    def notes(self) -> list[str]:
        """The findings as sentences, what is doubtful first."""
        return [f.line for f in sorted(self.findings, key=lambda each: each.grade)]

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
        """One row of all numbers, for the table of a paper; information is in bits."""
        curve = self.curve.set_index("set_size")
        row: dict[str, Any] = {
            "n_trials": len(self.ranks.tied),
            "n_targets": len(np.unique(self.ranks.columns)),
            "n_candidates": len(self.names),
        }
        named = {"accuracy": len(self.names), "pairwise_accuracy": 2}
        sizes = self.options.pool_sizes(len(self.names))
        others = np.setdiff1d(sizes, [*named.values()])
        named |= {f"accuracy_among_{size}": int(size) for size in others}
        ends = {"": "accuracy", "_lower": "lower", "_upper": "upper"}
        for name, size in named.items():
            row |= {name + end: curve.loc[size, key] for end, key in ends.items()}
        row["top_5"] = curve.loc[len(self.names), "top_5"]
        row["median_rank"] = np.median(self.ranks.middle)
        return pd.DataFrame([row | self.values])

    @property
    def stimuli(self) -> pd.DataFrame:
        """One row for every candidate, the hardest first and those untested last."""
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

        Candidates are matched by name, or, if neither has names, by column. The p-value
        (two-sided, of the statistic) is by exchange of the two decoders' outcomes,
        target by target; NaN for different pools, which ``notes`` then say.
        """
        both = self, other
        place = pd.Index(other.names).get_indexer(self.names)  # -1 where it is not
        tested = [each.ranks.target_means(each.ranks.middle) > 0 for each in both]
        is_paired = (
            self.is_named == other.is_named
            and len(self.names) == len(other.names)
            and (place >= 0).all()
            and bool((tested[0] == tested[1][place]).all())
        )
        size = self.options.tested_size(len(self.names))
        table = _differences(both, place if is_paired else None, size)
        scored = table["quantity"] == f"accuracy_among_{size}"
        if not is_paired:
            n_shared = (place >= 0).sum() if self.is_named and other.is_named else 0
            findings = (doubt("different_pools", int(n_shared)),)
            tell(findings)
            return ScoreComparison(
                table.assign(p_value=np.nan), np.nan, size, False, findings
            )
        if not scored.any():
            raise ValueError(
                f"other has no accuracy among {size}; give both the same statistic"
            )
        outcomes = [each.ranks.target_means(each.ranks.among(size)) for each in both]
        differences = (outcomes[0] - outcomes[1][place])[tested[0]]
        test = paired_sign_flip_test(
            differences[np.newaxis] / len(differences),
            n_permutations=n_permutations,
            cross_validated=any(each.options.cross_validated for each in both),
            random_state=random_state,
        )
        p_value = float(test.p_value[0])
        table["p_value"] = np.where(scored, p_value, np.nan)
        return ScoreComparison(table, p_value, size, True, ())

    def generate_report(self, title: str | None = None) -> Any:
        """Return a self-contained page, which has ``save_as_html``."""
        return scores_report({"": self}, {}, title)

    def to_directory(
        self, path: Any, *, overwrite: bool = False, report: bool = False
    ) -> None:
        """Write curve.tsv, summary.tsv, stimuli.tsv and scores.json, and a page."""
        write_results({"scores": self}, {}, path, overwrite=overwrite, report=report)


def _differences(
    both: tuple[ScoreIdentification, ScoreIdentification],
    place: np.ndarray | None,
    size: int,
) -> pd.DataFrame:
    """Tabulate both decoders, their differences and the intervals of these."""
    sizes = np.unique([*both[0].pools["set_size"], *both[1].pools["set_size"], 2, size])
    sizes = reduce(np.intersect1d, [sizes, *(e.measured["set_size"] for e in both)])
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
    half = stdtrit(n_targets - 1, (1 + both[0].options.confidence_level) / 2) * error
    names = ["implied_information", *(f"accuracy_among_{k}" for k in sizes)]
    table = pd.DataFrame({"quantity": names, "first": values[0], "second": values[1]})
    gap = table["first"] - table["second"]
    return table.assign(difference=gap, lower=gap - half, upper=gap + half)


def _quantities(
    result: ScoreIdentification, sizes: np.ndarray
) -> tuple[FloatArray, FloatArray]:
    """Return bits and accuracies (1 + n_sizes,), and those without each candidate."""
    set_sizes, n_candidates = result.measured["set_size"].to_numpy(), len(result.names)
    at = np.searchsorted(set_sizes, sizes)
    accuracy = result.measured["accuracy"].to_numpy()[at]
    values = np.r_[result.values["implied_information"], accuracy]
    usual = default_set_sizes(n_candidates)
    inner, first = np.unique(np.minimum(usual, n_candidates - 1), return_index=True)
    curves = result.left_out[:, np.searchsorted(set_sizes, usual[first])]
    if np.isnan(curves).any():
        return values, np.full((n_candidates, len(values)), np.nan)
    best = 1 - half_lost_point(inner, n_candidates, len(result.ranks.tied))
    bits = implied_information(np.minimum(curves, best), inner)
    return values, np.column_stack([bits, result.left_out[:, at]])


_EXTREME = 5  # stimuli of each end that are shown
_SUMMARY = {
    "n_trials": "trials",
    "n_candidates": "candidates",
    "accuracy": "top-1",
    "top_5": "top-5",
    "pairwise_accuracy": "two-way",
    "median_rank": "median rank",
    "implied_information": "bits",
    "implied_information_lower": "from",
    "implied_information_upper": "to",
    "near_duplicates": "near-duplicates",
    "p_value": "p",
}
_POOLS = {
    "set_size": "candidates",
    "accuracy": "top-1",
    "lower": "from",
    "upper": "to",
    "top_5": "top-5",
    "chance": "chance",
    "source": "source",
}


def scores_report(results, compared, title=None):
    """Make a self-contained page of decoders, by name, and pairs of them compared."""
    if len(results) == 1:
        results = {"": next(iter(results.values()))}
    about = {"decoders": results, "pairs": compared, "doubts": doubts_about}
    notes = named_notes(results, compared)
    parts = [
        ("What is doubtful", render("list", items=dict.fromkeys(notes))),
        *(("Two decoders", _pair(names, each)) for names, each in compared.items()),
        ("In numbers", _table(results, "summary", _SUMMARY)),
        ("Pools", _table(results, "pools", _POOLS)),
        *(
            (f"Stimuli: {name}" if name else "Stimuli", _stimuli(each))
            for name, each in results.items()
        ),
    ]
    sections = sections_of("scores", about, _curves(results), parts)
    return make_page(page_title(title, "Identification by scores"), sections)


def named_notes(results, compared):
    """Return the notes of decoders, by name if there are several, and of pairs."""
    notes = [(name, note) for name, each in results.items() for note in each.notes]
    named = [f"{name}: {note}" if len(results) > 1 else note for name, note in notes]
    return named + [note for each in compared.values() for note in each.notes]


def _pair(names, compared):
    """Show two decoders beside one another."""
    columns = dict(zip(("first", "second"), names, strict=True))
    table = compared.table.replace({"quantity": {"_": " "}}, regex=True)
    return frame_table(table, columns=columns | {"p_value": ("p", "p")})


def _table(results, name, headings):
    """Show some columns of a table of all decoders."""
    table = joined(results, name)
    columns = [*(["scores"] if any(results) else []), *headings]
    return frame_table(table[columns], columns=headings)


def _curves(results):
    """Draw the curves of all decoders, measured and predicted."""
    from neuroextrap.plotting import plot_accuracy_curve
    from neuroextrap.plotting._axes import COLORS, log_set_sizes, new_axes

    ax = new_axes(6.4, 3.4)
    for number, (name, each) in enumerate(results.items()):
        color, inside = COLORS[number % len(COLORS)], each.measured
        ends = inside["set_size"], inside["lower"], inside["upper"]
        ax.fill_between(*ends, color=color, alpha=0.15, lw=0)
        plot_accuracy_curve(
            inside["set_size"],
            inside["accuracy"],
            chance=number == len(results) - 1,
            label=name or "measured",
            color=color,
            ax=ax,
        )
        beyond = each.curve.iloc[len(inside) :]
        places, *ends = beyond[["set_size", "accuracy", "lower", "upper"]].to_numpy().T
        reach = np.abs(ends[1:] - ends[0])
        ax.errorbar(places, ends[0], reach, fmt="s", color=color, mfc="white")
    log_set_sizes(ax, "candidates k")
    level = format_confidence(each.options.confidence_level)
    words = f"Accuracy (top-1) among k candidates. Bands: {level} intervals."
    words += " Squares: predicted, with 90% intervals." if len(beyond) else ""
    return embed_figure(ax.figure, words, "curve.svg")


def _stimuli(each):
    """Tabulate the hardest and the easiest targets, and what attracts most."""
    table = each.stimuli
    tested = table.drop(columns=["attracted", "repeats"])[table["n_trials"] > 0]
    hubs = table.sort_values("attracted", ascending=False, kind="stable")
    hubs = hubs[hubs["attracted"] > 0][["candidate", "attracted"]].head(_EXTREME)
    caption = "Candidates that are the first choice of most trials of others"
    tables = [
        frame_table(tested.head(_EXTREME), "Hardest targets"),
        frame_table(tested.iloc[::-1].head(_EXTREME), "Easiest targets"),
        *([frame_table(hubs, caption)] if len(hubs) else []),
    ]
    return Markup("\n").join(tables)


def write_results(
    results, compared, out, *, overwrite=False, report=False, origin=None
):
    """Write all files or none; return the tables by name, and the files in words."""
    pairs = {" and ".join(names): each for names, each in compared.items()}
    tables = {name: joined(results, name) for name in ("summary", "curve", "stimuli")}
    tables |= {"comparison": joined(pairs, "table")} if pairs else {}
    about: dict[str, Any] = {
        name: {"findings": [f._asdict() for f in each.findings]}
        for name, each in (results | pairs).items()
    }
    for name, each in pairs.items():
        about[name]["p_value"] = each.p_value
    options = vars(next(iter(results.values())).options)
    text = json_text("scores.json", {"parameters": options, "scores": about})
    more = {f"{name}.tsv": table_writer(table) for name, table in tables.items()}
    more["scores.json"] = methodcaller("write_text", text, encoding="utf-8")
    if report:
        more["report.html"] = scores_report(results, compared).save_as_html
    record = provenance(parameters=options, random_state=options["random_state"])
    record |= {} if origin is None else origin.record | origin.sidecar()
    write_maps(out, {}, {}, overwrite=overwrite, provenance=record, more=more)
    return tables, ", ".join(more)


def joined(several, name):
    """Put tables, attributes of objects, under one another with the objects' names."""
    tables = {key: getattr(each, name) for key, each in several.items()}
    return stacked_tables(tables, "scores")
