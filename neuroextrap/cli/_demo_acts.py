"""The two acts of the demo: what is simulated, how it is analyzed, and their page."""

import functools
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from neuroextrap.analysis._analysis_files import write_analysis
from neuroextrap.cli._console import logger, say
from neuroextrap.cli._results import shown_values, text_table
from neuroextrap.datasets import (
    gaussian_code_accuracy,
    gaussian_code_information,
    simulate_brain,
)
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.maps._provenance import Origin
from neuroextrap.plotting._axes import add_legend
from neuroextrap.reporting._identification_page import (
    curve_axes,
    identification_sections,
)
from neuroextrap.reporting._maps_section import place_words
from neuroextrap.reporting._page import (
    frame_table,
    make_page,
    paragraphs,
    render,
    sentences,
)
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.stats import implied_information


class Act(NamedTuple):
    """One experiment of the demo, each class once a run, in a folder of this name.

    With `single_split` the last run is tested, else one at a time. `information` (bits)
    is that of each planted sphere.
    """

    name: str
    title: str
    n_classes: int
    n_runs: int
    single_split: bool
    information: tuple


class Size(NamedTuple):
    """Size of voxels and radius of spheres in mm."""

    resolution: int
    radius: int


WHOLE = Size(resolution=3, radius=8)  # 69,765 spheres of 81 voxels
QUICK = Size(resolution=10, radius=20)  # 1,876 spheres of 33 voxels

ACTS = (
    Act(
        "act_a_8_categories",
        "Act A: 8 categories in 12 runs, one run left out at a time",
        n_classes=8,
        n_runs=12,
        single_split=False,
        information=(3.0, 6.0, 12.0),
    ),
    Act(
        "act_b_96_stimuli",
        "Act B: 96 stimuli in 4 runs, trained on three and tested on the fourth",
        n_classes=96,
        n_runs=4,
        single_split=True,
        information=(8.0, 16.0, 24.0),
    ),
)


def perform(act, folder, record, **how):
    """Play an act, write maps and table, and say them; return what the page shows."""
    logger.info("%s", act.title)
    brain, fitted = play(act, **how)
    spheres = range(len(brain.samples.planted))
    table = pd.DataFrame([compare_with_truth(act, brain, fitted, n) for n in spheres])
    more = {"truth.tsv": functools.partial(table.to_csv, sep="\t", index=False)}
    origin = Origin(record=record)
    write_analysis(fitted, folder / act.name, origin=origin, more=more)
    say(truth_text(act, fitted, table))
    return act, brain, fitted, table


def play(act, *, size, random_state, **options):
    """Simulate one act's brain and analyze it; return the brain and the analysis."""
    brain = simulate_brain(
        information=act.information,
        n_classes=act.n_classes,
        n_runs=act.n_runs,
        random_state=random_state,
        **size._asdict(),
    )
    if act.single_split:
        last = brain.runs == act.n_runs - 1
        options["cv"] = [(np.flatnonzero(~last), np.flatnonzero(last))]
    light = IdentificationSearchLight(
        brain.masker.mask_img_,
        radius=brain.radius,
        random_state=random_state,
        **options,
    )
    return brain, light.fit(brain.imgs, brain.y, groups=brain.runs)


@functools.lru_cache
def true_curves(n_voxels, snr, set_sizes, n_train):
    """Return the true accuracy of the classifier as trained, and of the best one."""
    trained = gaussian_code_accuracy(n_voxels, snr, set_sizes, n_train=n_train)
    return trained, gaussian_code_accuracy(n_voxels, snr, set_sizes)


def _planted(brain, number):
    """Return center (mm), number of voxels and signal-to-noise ratio of a sphere."""
    samples, center = brain.samples, tuple(brain.coordinates[number])
    return center, len(samples.planted[number]), float(samples.snr[number])


def compare_with_truth(act, brain, fitted, number):
    """Return what was planted in a sphere and what was estimated, a row of the table.

    Planted information is that of one response, usable information what it shares with
    the training mean; ``true_...`` are expectations of the classifier as trained.
    """
    center, n_voxels, snr = _planted(brain, number)
    region, scores_by_region = fitted.find_region(center), fitted.region_scores_
    sizes, accuracy = fitted.accuracy_curve(region)
    n_train = act.n_runs - 1  # per class and fold
    truth, bayes = true_curves(n_voxels, snr, tuple(sizes), n_train)
    usable = gaussian_code_information(n_voxels, snr, n_train=n_train)
    scores = {name: float(values[region]) for name, values in scores_by_region.items()}
    estimates = {
        **dict(zip("xyz", center, strict=True)),
        "planted_information": act.information[number],
        "usable_information": float(usable),
        "true_implied_information": float(implied_information(truth, sizes)),
    }
    estimates |= {name: scores[name] for name in _ESTIMATED}
    estimates["true_accuracy"], estimates["accuracy"] = truth[-1], accuracy[-1]
    estimates["standard_error"] = fitted.standard_error(region)[-1]
    estimates["true_average_bayes_accuracy"] = bayes[-1]
    estimates |= {name: scores[name] for name in _BOUNDS}
    return estimates | {"p_value_fwe": scores.get("p_value_fwe", np.nan)}


_ESTIMATED = ("implied_information", "information_bound", "information_bound_fwe")
_BOUNDS = [
    f"{what}_bound{end}"
    for what in ("average_bayes_accuracy", "bayes_accuracy", "class_information")
    for end in ("", "_fwe")
]


_PRINTED = {
    "planted_information": "Planted information (bits)",
    "usable_information": "Usable information (bits)",
    "true_implied_information": "Implied information, true (bits)",
    "implied_information": "Implied information, estimated (bits)",
    "class_information_bound": "Lower bound, these classes (bits)",
    "class_information_bound_fwe": "These classes, all spheres at once (bits)",
    "information_bound": "Lower bound, their population (bits)",
    "information_bound_fwe": "Population, all spheres at once (bits)",
    "true_accuracy": "Accuracy, true",
    "accuracy": "Accuracy, estimated",
    "standard_error": "Standard error of accuracy",
    "p_value_fwe": "P-value, family-wise",
}
"""Rows of the table of truth and estimates, by its column."""


def truth_text(act, fitted, table):
    """Describe the truth and the estimates of one act (`table`) in lines of text."""
    accuracy = fitted.region_scores_["accuracy"]
    compared = _in_words(table)
    printed = text_table(compared, {name: name for name in compared})
    return (
        f"{act.title}\n{np.isfinite(accuracy).sum()} spheres, {fitted.n_permutations_} "
        f"permutations, median accuracy {np.nanmedian(accuracy):.4f}, chance "
        f"{1 / act.n_classes:.4f}\n"
        f"{printed}\n"
    )


_SHOWN = "Peaks", "How many are informative", "Explore the maps"
"""Sections of each act that are not folded."""


def demo_page(played):
    """Make one page of acts: their brains, analyses, and tables of truth."""
    sections: list = []
    for act, brain, fitted, table in played:
        letter = act.title.split(":")[0]
        parts = dict(identification_sections(fitted))
        of_act = {act.title: parts.pop("What was found")}
        of_act[f"{letter}: Truth and estimate"] = _truth_section(
            act, brain, fitted, table
        )
        del parts["Accuracy curves"]  # they stand beside the truth
        for heading in [name for name in _SHOWN if name in parts]:
            of_act[f"{letter}: {heading}"] = parts.pop(heading)
        of_act[f"{letter}: Details"] = render("folded", sections=parts)
        sections += of_act.items()
    sections.append(("How the truth is known", paragraphs(*sentences("demo_truth"))))
    return make_page("neuroextrap demo: truth against estimate", sections)


def _truth_section(act, brain, fitted, table):
    """Tabulate truth and estimate; draw each sphere's curve with the two true ones."""
    curves, sizes = [], fitted.set_sizes_
    for number, (_, row) in enumerate(table.iterrows()):
        center, n_voxels, snr = _planted(brain, number)
        trained, bayes = true_curves(n_voxels, snr, tuple(sizes), act.n_runs - 1)
        ax = curve_axes(fitted, center)
        ax.plot(sizes, trained, color="0.2", lw=1, label="truth, as trained")
        ax.plot(sizes, bayes, color="#009E73", lw=1, label="truth, Bayes")
        add_legend(ax)
        where = (
            f"Sphere at {place_words(row)}, {row.planted_information:g} bits planted"
        )
        caption = f"{where}: observed and true curves."
        curves.append(embed_figure(ax.figure, caption, f"truth_{number + 1}.svg"))
    table = frame_table(_in_words(table), "Truth and estimate in the planted spheres")
    return Markup("\n").join([table, *curves])


def _in_words(table):
    """Return truth and estimates in words, one column for each planted sphere."""
    columns = {"planted sphere": list(_PRINTED.values())}
    for _, row in table.iterrows():
        cells = [shown_values([row[name]], name)[0] for name in _PRINTED]
        columns[f"at {place_words(row)}"] = cells
    return pd.DataFrame(columns)
