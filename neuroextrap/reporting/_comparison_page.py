"""The page of a comparison of two analyses, region by region."""

import numpy as np

from neuroextrap.design._findings import doubts_about
from neuroextrap.plotting._brain_maps import COLORMAP, SIGNED_COLORMAP
from neuroextrap.reporting._maps_section import Look
from neuroextrap.reporting._page import page_title
from neuroextrap.reporting._peaks import tables_of_peaks
from neuroextrap.reporting._pictures import color_range, embed_figure, signed_range
from neuroextrap.reporting._region_page import region_page
from neuroextrap.reporting._rendering import (
    format_p_value,
    format_percent,
    percentage_points,
    sentences,
)
from neuroextrap.stats._pvalues import LEVEL

DIFFERENCE, P = "accuracy_difference", "p_value_fwe"
_TESTED = ("first_accuracy", "second_accuracy", DIFFERENCE, P)
_OTHERS = ("information_difference", "first_accuracy", "second_accuracy")


def comparison_page(maps, title=None, *, names=("first", "second"), **options):
    """Make the page of what ``compare_decoders`` returned (or of encoding models).

    It says where one of two identifies better than the other, corrected for looking at
    all regions, and how large the `n_peaks` (10) largest differences are. `names` are
    what to call them; `bg_img` and `atlas` are as in ``cross_page``. Returns a Report;
    ValueError if `names` are not two.
    """
    names = tuple(names)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"names={names!r} must be two texts; name the first and the second"
        )
    scores, given = maps.region_scores_, maps.parameters
    ahead = scores[DIFFERENCE][scores[P] <= LEVEL]
    about = {
        "first": names[0],
        "second": names[1],
        "capitalized": _capitalized,
        "n_better": int((ahead > 0).sum()),
        "n_worse": int((ahead < 0).sum()),
        "approximate": bool(given.get("approximate")),
        "doubt": doubts_about(maps.findings_, _TESTED),
        "unit": given.get("unit"),
        "n_units": getattr(maps, "n_units_", 0),
        "n_pairs": getattr(maps, "n_pairs_", 1),
        "two_sided": bool(given.get("two_sided", True)),
    }

    def more(view, peaks):
        yield "Both accuracies", _scatter(view, names)
        yield "Largest differences", _table(view, names, peaks)

    shown = {"by": DIFFERENCE, "tested": P, "drawn": _OTHERS, "more": more}
    shown |= {"table": False, "looks": _looks(scores, names)}
    title = page_title(title, f"{_capitalized(names[0])} against {names[1]}")
    return region_page(maps, title, "comparison", about, **shown, **options)


def _looks(scores, names):
    """Return how to draw the maps of a comparison of two with names, by map."""
    both = [scores["first_accuracy"], scores["second_accuracy"]]
    accuracies = color_range(np.concatenate(both)), COLORMAP
    colors = dict.fromkeys(("first_accuracy", "second_accuracy"), accuracies)
    for name in (DIFFERENCE, "information_difference"):
        if name in scores:
            colors[name] = signed_range(scores[name]), SIGNED_COLORMAP
    about = {"first": names[0], "second": names[1]}
    titles = {n: sentences("comparison_map", name=n, **about)[0] for n in colors}
    return {name: Look(titles[name], *look) for name, look in colors.items()}


def _capitalized(name):
    """Return a name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def _scatter(view, names):
    """Draw both accuracies of every region against each other."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting._axes import COLORS

    x, y = view.scores["second_accuracy"], view.scores["first_accuracy"]
    survives = view.finding.survives
    figure, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
    for rows, color, size, label in (
        (~survives & np.isfinite(x - y), "0.65", 6, "not shown to differ"),
        (survives, COLORS[1], 10, "survive correction"),
    ):
        if rows.any():
            dots = ax.scatter(x[rows], y[rows], s=size, color=color, lw=0, label=label)
            dots.set_rasterized(rows.sum() > 500)
    ends = np.nanmin([x, y]), np.nanmax([x, y])
    ax.plot(ends, ends, color="0.4", lw=0.8)
    ax.set(
        xlabel=f"accuracy of {names[1]}",
        ylabel=f"accuracy of {names[0]}",
        aspect="equal",
    )
    # above the axes: dots of a whole brain leave no free corner to search for
    look = {"frameon": False, "fontsize": "small", "borderaxespad": 0, "ncols": 2}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), **look)
    caption = f"Every dot is one {view.words[0]}; above the line {names[0]} is better."
    return embed_figure(figure, caption, "both_accuracies.svg")


def _table(view, names, peaks):
    """Tabulate the largest differences, those that survive apart."""
    many = view.words[1]
    columns = {
        "atlas_label": ("Atlas", str),
        "first_accuracy": (f"Accuracy of {names[0]}", format_percent),
        "second_accuracy": (f"Accuracy of {names[1]}", format_percent),
        DIFFERENCE: ("Difference (percentage points)", percentage_points),
        "information_difference": (
            "Difference of implied information (bits)",
            lambda bits: f"{bits:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ),
        "p_value_fwe_step_down": ("p (step-down)", format_p_value),
        P: ("p (family-wise)", format_p_value),
    }
    return tables_of_peaks(
        peaks,
        view.finding.survives[peaks["region"].to_numpy()],
        columns,
        captions=(
            f"Largest differences of {many} that survive correction",
            f"Largest differences of {many} that do not survive correction: trends",
        ),
        hint="The largest differences were found by looking, so that they are too "
        "large on average; the family-wise p-values allow for that.",
        file_name="differences.tsv",
    )
