"""The page about scores, in bits and among how many, and the files of results."""

from functools import partial

import numpy as np
import pandas as pd
from markupsafe import Markup

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._files import write_maps
from neuroextrap.maps._provenance import json_text, provenance
from neuroextrap.reporting._page import (
    answer,
    frame_table,
    list_of,
    make_page,
    page_title,
    sections_of,
)
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import (
    format_confidence,
    format_p_value,
    sentences,
)
from neuroextrap.stats._pvalues import LEVEL

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


def scores_report(found, compared, title=None):
    """Make a self-contained page of decoders, by name, and pairs of them compared."""
    if len(found) == 1:
        found = {"": next(iter(found.values()))}
    words = sentences(
        "scores_found",
        decoders=found,
        pairs=compared,
        doubts=doubts_about,
        level=LEVEL,
    )
    first = next(iter(found.values()))
    methods = sentences("scores_methods", version=neuroextrap.__version__, found=first)
    notes = named_notes(found, compared)
    stimuli = [
        (f"Stimuli: {name}" if name else "Stimuli", _stimuli(each))
        for name, each in found.items()
    ]
    shown = [
        ("What is doubtful", list_of(dict.fromkeys(notes)) if notes else ""),
        *(("Two decoders", _pair(names, each)) for names, each in compared.items()),
        ("In numbers", _table(found, "summary", _SUMMARY)),
        ("Pools", _table(found, "pools", _POOLS)),
        *stimuli,
    ]
    told, limits = answer(words, _curves(found)), sentences("scores_limits")
    sections = sections_of(told, shown, limits, (), methods)
    return make_page(page_title(title, "Identification by scores"), sections)


def named_notes(found, compared):
    """Return the notes of decoders, by name if there are several, and of pairs."""
    notes = [(name, note) for name, each in found.items() for note in each.notes]
    named = [f"{name}: {note}" if len(found) > 1 else note for name, note in notes]
    return named + [note for each in compared.values() for note in each.notes]


def _pair(names, compared):
    """Show two decoders beside one another."""
    headings = dict(zip(("first", "second"), names, strict=True)) | {"p_value": "p"}
    table = compared.table.replace({"quantity": {"_": " "}}, regex=True)
    formats = {"p_value": format_p_value}
    return frame_table(table, headings=headings, formats=formats)


def _table(found, name, headings):
    """Show some columns of a table of all decoders."""
    table = joined(found, name)
    shown = [*(["scores"] if any(found) else []), *headings]
    return frame_table(table[shown], headings=headings)


def _curves(found):
    """Draw the curves of all decoders, measured and predicted."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting import plot_accuracy_curve
    from neuroextrap.plotting._axes import COLORS, log_set_sizes

    ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")[1]
    for number, (name, each) in enumerate(found.items()):
        color, inside = COLORS[number % len(COLORS)], each.measured
        ends = inside["set_size"], inside["lower"], inside["upper"]
        ax.fill_between(*ends, color=color, alpha=0.15, lw=0)
        plot_accuracy_curve(
            inside["set_size"],
            inside["accuracy"],
            chance=number == len(found) - 1,
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
    shown = table.drop(columns=["attracted", "repeats"])[table["n_trials"] > 0]
    hubs = table.sort_values("attracted", ascending=False, kind="stable")
    hubs = hubs[hubs["attracted"] > 0][["candidate", "attracted"]].head(_EXTREME)
    caption = "Candidates that are the first choice of most trials of others"
    tables = [
        frame_table(shown.head(_EXTREME), "Hardest targets"),
        frame_table(shown.iloc[::-1].head(_EXTREME), "Easiest targets"),
        *([frame_table(hubs, caption)] if len(hubs) else []),
    ]
    return Markup("\n").join(tables)


def write_results(found, compared, out, *, overwrite=False, report=False, origin=None):
    """Write the tables of several decoders, all files or none.

    Returns the tables by name, those of all decoders under one another, and the names
    of the files in words.
    """
    pairs = {" and ".join(names): each for names, each in compared.items()}
    tables = {name: joined(found, name) for name in ("summary", "curve", "stimuli")}
    tables |= {"comparison": joined(pairs, "table")} if pairs else {}
    about = {
        name: {"findings": [finding._asdict() for finding in each.findings]}
        for name, each in [*found.items(), *pairs.items()]
    }
    for name, pair in pairs.items():
        about[name]["p_value"] = pair.p_value
    options = vars(next(iter(found.values())).options)
    texts = {
        f"{name}.tsv": table.to_csv(sep="\t", index=False, na_rep="n/a")
        for name, table in tables.items()
    }
    told = {"parameters": options, "scores": about}
    texts["scores.json"] = json_text("scores.json", told)
    if report:
        texts["report.html"] = str(scores_report(found, compared))
    record = provenance(parameters=options, random_state=options["random_state"])
    record |= {} if origin is None else origin.record | origin.sidecar()
    more = {name: partial(_write, text) for name, text in texts.items()}
    write_maps(out, {}, {}, overwrite=overwrite, provenance=record, more=more)
    return tables, ", ".join(texts)


def _write(text, path):
    """Write a text to a path."""
    path.write_text(text, encoding="utf-8")


def joined(several, name):
    """Put tables, attributes of objects, under one another with the objects' names."""
    tables = {key: getattr(each, name) for key, each in several.items()}
    return (
        pd.concat(tables, names=["scores"]).reset_index(level=0).reset_index(drop=True)
    )
