"""The page about scores: among how many candidates, in bits, and what to doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import (
    Report,
    answer,
    frame_table,
    list_of,
    make_page,
)
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import sentences
from neuroextrap.scores._measures import EXTRAPOLATION_LEVEL
from neuroextrap.stats._pvalues import LEVEL

_EXTREME = 5  # stimuli of each end that are shown


def scores_report(
    found: dict[str, Any], comparisons: dict, title: str | None = None
) -> Report:
    """Make a self-contained page of decoders, by name, and pairs of them compared."""
    first = next(iter(found.values()))
    words = sentences(
        "scores_found",
        decoders={name: _said(each) for name, each in found.items()},
        pairs=[
            _said_of_pair(names, each, found) for names, each in comparisons.items()
        ],
        level=LEVEL,
        confidence=first.options.confidence_level,
    )
    methods = sentences(
        "scores_methods",
        version=neuroextrap.__version__,
        row=first.summary.to_dict("records")[0],
        options=first.options,
        tested=first.options.tested_size(len(first.names)),
        extrapolation=EXTRAPOLATION_LEVEL,
    )
    notes = dict.fromkeys(
        note for each in [*found.values(), *comparisons.values()] for note in each.notes
    )
    sections = [
        ("What was found", answer(words, _curves(found))),
        ("What is doubtful", list_of(notes) if notes else ""),
        *(("Two decoders", frame_table(each.table)) for each in comparisons.values()),
        *((f"Pools{_of(name)}", frame_table(f.pools)) for name, f in found.items()),
        *((f"Stimuli{_of(name)}", _stimuli(f)) for name, f in found.items()),
        ("What this does not show", list_of(sentences("scores_limits"))),
        ("Methods", methods_section(methods)),
    ]
    return make_page(title or "Identification by scores", sections)


def _of(name: str) -> str:
    """Return the end of a heading about one of several decoders."""
    return f": {name}" if name else ""


def _said(each: Any) -> dict[str, Any]:
    """Return what is said of one decoder."""
    return {
        "row": each.summary.to_dict("records")[0],
        "pools": each.pools.to_dict("records"),
        "doubt": doubts_about(each.findings, each.summary),
        "approximate": each.options.cross_validated,
    }


def _said_of_pair(
    names: tuple[str, str], each: Any, found: dict[str, Any]
) -> dict[str, Any]:
    """Return what is said of two decoders."""
    findings = [finding for name in names for finding in found[name].findings]
    rows = each.table.set_index("quantity")
    score = f"accuracy_among_{each.set_size}"
    return {
        "first": names[0],
        "second": names[1],
        "is_paired": each.is_paired,
        "p_value": each.p_value,
        "set_size": each.set_size,
        "doubt": doubts_about(findings, rows.index),
        "bits": rows.loc["implied_information"],
        "score": rows.loc[score if score in rows.index else "implied_information"],
    }


def _curves(found: dict[str, Any]) -> Markup:
    """Draw the curves of all decoders, measured and predicted."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting import plot_accuracy_curve
    from neuroextrap.plotting._axes import COLORS, add_legend, log_set_sizes

    ax = plt.subplots(figsize=(5.2, 3), layout="constrained")[1]
    for number, (name, each) in enumerate(found.items()):
        color = COLORS[number % len(COLORS)]
        measured = each.curve["source"] == "measured"
        inside, beyond = each.curve[measured], each.curve[~measured]
        ends = inside["lower"], inside["upper"]
        plot_accuracy_curve(
            inside["set_size"],
            inside["accuracy"],
            interval=None if inside["lower"].isna().any() else ends,
            label=name or None,
            color=color,
            chance=number == len(found) - 1,
            ax=ax,
        )
        if len(beyond):
            ax.errorbar(
                beyond["set_size"],
                beyond["accuracy"],
                np.abs(beyond[["lower", "upper"]].T - beyond["accuracy"]),
                fmt="s",
                color=color,
                mfc="white",
                label="predicted (90%)" if number == 0 else None,
            )
    log_set_sizes(ax)
    add_legend(ax)
    return embed_figure(ax.figure, "Accuracy (top-1) among k candidates.", "curve.svg")


def _stimuli(each: Any) -> Markup:
    """Tabulate the hardest and the easiest targets, and what attracts most."""
    table = each.stimuli
    shown = table.drop(columns=["attracted", "repeats"])[table["n_trials"] > 0]
    hubs = table.sort_values("attracted", ascending=False, kind="stable")
    hubs = hubs[hubs["attracted"] > 0][["candidate", "attracted"]].head(_EXTREME)
    tables = [
        frame_table(shown.head(_EXTREME), "Hardest targets"),
        frame_table(shown.iloc[::-1].head(_EXTREME), "Easiest targets"),
    ]
    if len(hubs):
        caption = "Candidates that are the first choice of most trials of others"
        tables.append(frame_table(hubs, caption))
    return Markup("\n").join(tables)
