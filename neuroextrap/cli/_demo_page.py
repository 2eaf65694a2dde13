"""The demo's page and printed lines: truth against estimate."""

import numpy as np

from neuroextrap.cli._results import align_columns
from neuroextrap.reporting._finding import place_words

_PRINTED = {
    "planted_information": "planted information (bits)",
    "usable_information": "usable information (bits)",
    "true_implied_information": "implied information, true (bits)",
    "implied_information": "implied information, estimated (bits)",
    "class_information_bound": "lower bound, these classes (bits)",
    "class_information_bound_fwe": "these classes, all spheres at once (bits)",
    "information_bound": "lower bound, their population (bits)",
    "information_bound_fwe": "population, all spheres at once (bits)",
    "true_accuracy": "accuracy, true",
    "accuracy": "accuracy, estimated",
    "standard_error": "standard error of accuracy",
    "p_value_fwe": "p-value, family-wise",
}
"""Rows of the printed table, by column of the table of truth and estimates."""

_WHAT_IS_TRUE = (
    "In each planted sphere of d voxels the patterns of the stimuli are drawn from a "
    "normal distribution with variance τ² in every voxel, and responses add "
    "noise with variance σ². Planted information, d/2 · log₂(1 + τ²/"
    "σ²) bits, is what one response carries about its stimulus, any of "
    "infinitely many; no lower bound should exceed it more often than its error rate. "
    "The bound for these classes is about the classes shown, and at most log₂ of "
    "their number; the bound for their population is about the stimuli they were drawn "
    "from.",
    "The classifier knows the patterns from few noisy training responses only. Usable "
    "information is what a test response shares with the training mean. True accuracy "
    "is that to be expected, over stimuli drawn anew, of the nearest-centroid "
    "classifier trained as here, and true implied information what its curve implies. "
    "These stimuli are one draw: their own accuracy scatters about the expectation by "
    "the standard error.",
    "The true curve called Bayes is that of a classifier that knows the patterns, "
    "averaged over sets of stimuli; the bound on average Bayes accuracy lies below it.",
)


def truth_text(act, fitted, table):
    """Describe one act's truth and estimates in lines of text.

    `table` is what ``compare_with_truth`` returned for the act and the fitted analysis.
    """
    accuracy = fitted.region_scores_["accuracy"]
    return "\n".join(
        [
            f"{act.title}",
            f"{np.isfinite(accuracy).sum()} spheres, {fitted.n_permutations_} "
            f"permutations, median accuracy {np.nanmedian(accuracy):.4f}, chance "
            f"{1 / act.n_classes:.4f}",
            _printed_table(table),
            "",
        ]
    )


def _printed_table(table):
    """Return truth and estimates as text, one column for each planted sphere."""
    heads = [
        [f"at {row.x:.0f}, {row.y:.0f}, {row.z:.0f} mm"] for row in table.itertuples()
    ]
    columns = [table.loc[row, list(_PRINTED)] for row in table.index]
    labels = list(_PRINTED.values())
    return align_columns([["planted sphere"], *heads], [labels, *columns])


def demo_page(played):
    """Make one page of both acts.

    `played` holds tuples (Act, SimulatedBrain, IdentificationSearchLight, DataFrame).
    """
    from neuroextrap.reporting import identification_sections
    from neuroextrap.reporting._page import make_page
    from neuroextrap.reporting._rendering import paragraphs

    sections = []
    for act, brain, fitted, table in played:
        letter = act.title.split(":")[0]
        (_, answer), *others = identification_sections(fitted)
        truth = _truth_section(act, brain, fitted, table)
        sections += [(act.title, answer), (f"{letter}: Truth and estimate", truth)]
        sections += [(f"{letter}: {heading}", content) for heading, content in others]
    sections.append(("How the truth is known", paragraphs(*_WHAT_IS_TRUE)))
    return make_page("neuroextrap demo: truth against estimate", sections)


def _truth_section(act, brain, fitted, table):
    """Tabulate truth and estimate; draw the curves of the planted spheres."""
    from markupsafe import Markup

    from neuroextrap.reporting._page import frame_table
    from neuroextrap.reporting._pictures import embed_figure

    curves = [
        embed_figure(
            _curve_with_truth(act, brain, fitted, number),
            f"Sphere at {place_words(table.iloc[number])}, "
            f"{row.planted_information:g} bits planted: observed and true curves.",
            f"truth_{number + 1}.svg",
        )
        for number, row in enumerate(table.itertuples())
    ]
    shown = frame_table(_transposed(table), "Truth and estimate in the planted spheres")
    return Markup("\n").join([shown, *curves])


def _transposed(table):
    """Return truth and estimates in words, one column for each planted sphere."""
    import pandas as pd

    labels = [label[:1].upper() + label[1:] for label in _PRINTED.values()]
    columns = {
        f"at {place_words(row)}": row[list(_PRINTED)].to_numpy(dtype=float)
        for _, row in table.iterrows()
    }
    return pd.DataFrame({"sphere": labels, **columns})


def _curve_with_truth(act, brain, fitted, number):
    """Draw one planted sphere's curve with the two true curves."""
    from neuroextrap.cli._demo_acts import true_curves
    from neuroextrap.plotting._axes import add_legend
    from neuroextrap.reporting._curves import curve_axes

    n_voxels = len(brain.samples.planted[number])
    snr = float(brain.samples.snr[number])
    ax = curve_axes(fitted, tuple(brain.coordinates[number]))
    sizes = fitted.set_sizes_
    trained, bayes = true_curves(n_voxels, snr, tuple(sizes), act.n_train)
    ax.plot(sizes, trained, color="0.2", lw=1, label="truth, as trained")
    ax.plot(sizes, bayes, color="#009E73", lw=1, label="truth, Bayes")
    add_legend(ax)
    return ax.figure
