"""The page about scores, in bits and among how many, and the files of results."""

import numpy as np
import pandas as pd
from markupsafe import Markup

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.maps._json import json_text
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results
from neuroextrap.reporting._methods import methods_section
from neuroextrap.reporting._page import answer, frame_table, list_of, make_page
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import sentences
from neuroextrap.stats._pvalues import LEVEL

_EXTREME = 5  # stimuli of each end that are shown


def scores_report(found, compared, title=None):
    """Make a self-contained page of decoders, by name, and pairs of them compared."""
    words = sentences(
        "scores_found",
        decoders=found,
        pairs=compared,
        doubts=doubts_about,
        level=LEVEL,
    )
    first = next(iter(found.values()))
    methods = sentences("scores_methods", version=neuroextrap.__version__, found=first)
    notes = [
        note for each in (*found.values(), *compared.values()) for note in each.notes
    ]
    sections = [
        ("What was found", answer(words, _curves(found))),
        ("What is doubtful", list_of(dict.fromkeys(notes)) if notes else ""),
        *(("Two decoders", frame_table(each.table)) for each in compared.values()),
    ]
    for heading, table in (("Pools", _pools), ("Stimuli", _stimuli)):
        for name, each in found.items():
            sections.append((f"{heading}: {name}" if name else heading, table(each)))
    sections += [
        ("What this does not show", list_of(sentences("scores_limits"))),
        ("Methods", methods_section(methods)),
    ]
    return make_page(title or "Identification by scores", sections)


def _curves(found):
    """Draw the curves of all decoders, measured and predicted."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting import plot_accuracy_curve
    from neuroextrap.plotting._accuracy_curves import draw_interval
    from neuroextrap.plotting._axes import COLORS, add_legend, log_set_sizes

    ax = plt.subplots(figsize=(5.2, 3), layout="constrained")[1]
    for number, (name, each) in enumerate(found.items()):
        color, inside = COLORS[number % len(COLORS)], each.measured
        sizes, level = inside["set_size"], each.options.confidence_level
        if inside["lower"].notna().all():
            ends = inside["lower"], inside["upper"]
            draw_interval(ax, sizes, ends, level, color=color)
        plot_accuracy_curve(
            sizes,
            inside["accuracy"],
            chance=number == len(found) - 1,
            label=name or "measured",
            color=color,
            ax=ax,
        )
        beyond = each.curve.iloc[len(inside) :]
        if len(beyond):
            ax.errorbar(
                beyond["set_size"],
                beyond["accuracy"],
                np.abs(beyond[["lower", "upper"]].T - beyond["accuracy"]),
                fmt="s",
                color=color,
                mfc="white",
                label=None if number else "predicted (90% interval)",
            )
    log_set_sizes(ax, "candidates k")
    add_legend(ax)
    return embed_figure(ax.figure, "Accuracy (top-1) among k candidates.", "curve.svg")


def _pools(each):
    """Tabulate accuracy among the set sizes asked for."""
    return frame_table(each.pools)


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
    files = ResultFiles.below(out)
    with replaced_results(files, overwrite=overwrite, provenance=record) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    return tables, ", ".join(texts)


def joined(several, name):
    """Put tables, attributes of objects, under one another with the objects' names."""
    tables = {key: getattr(each, name) for key, each in several.items()}
    return (
        pd.concat(tables, names=["scores"]).reset_index(level=0).reset_index(drop=True)
    )
