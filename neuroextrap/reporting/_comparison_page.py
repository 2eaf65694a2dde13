"""The report of a comparison of two analyses, region by region."""

from __future__ import annotations

from typing import Any

import numpy as np

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.reporting._compared import DIFFERENCE, NEEDED, P, read_comparison
from neuroextrap.reporting._finding import named_place
from neuroextrap.reporting._maps_section import Pictures, choose_background
from neuroextrap.reporting._methods import methods_section, parameter_table
from neuroextrap.reporting._page import (
    Report,
    answer,
    list_of,
    make_page,
)
from neuroextrap.reporting._peaks import tables_of_peaks
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import (
    format_p_value,
    format_percent,
    percentage_points,
    sentences,
)


def comparison_report(
    comparison: Any,
    title: str | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    n_peaks: int = 10,
    bg_img: Any = None,
    atlas: Any = None,
) -> Report:
    """Make a self-contained HTML page of a comparison of two analyses.

    It says where one identifies better than the other, corrected for looking at all
    regions, and how large the largest differences are.

    Parameters
    ----------
    comparison : RegionMaps, or dict of images or ndarray of shape (n_regions,)
        What ``compare_decoders`` or ``compare_encoding_models`` returned, or what
        ``maps.read_maps`` read of it.
    title : str or None, default=None
        Title of the page. If None, the names of the two.
    names : (str, str), default=("first", "second")
        What to call the first and the second analysis.
    n_peaks : int, default=10
        Largest number of rows of the table.
    bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
        Image drawn under the maps, as in :func:`interactive_viewer`; without it, and
        outside MNI space, the outline of the mask.
    atlas : path-like, Niimg, SurfaceImage, Bunch or None, default=None
        Labels image that names places, as in :func:`peak_table`.

    Returns
    -------
    report : Report
        The page needs no network; ``report.save_as_html(path)`` writes it.

    Raises
    ------
    TypeError
        If ``comparison`` is no mapping of maps.
    ValueError
        If maps are missing, no region was analyzed by both, or ``names`` are not two.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging", Human Brain Mapping 15, 1-25 (maximum statistic).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.reporting._comparison_page import comparison_report
    >>> maps = {
    ...     "first_accuracy": np.array([0.9, 0.5]),
    ...     "second_accuracy": np.array([0.6, 0.5]),
    ...     "accuracy_difference": np.array([0.3, 0.0]),
    ...     "p_value_fwe": np.array([0.01, 1.0]),
    ... }
    >>> page = comparison_report(maps, names=("Gabor", "luminance"))
    >>> "Gabor identifies better than luminance in 1 of 2 regions" in str(page)
    True
    """
    names = tuple(names)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"names={names!r} must be two texts; name the first and the second"
        )
    compared = read_comparison(comparison, names)
    peaks = compared.peaks(n_peaks, atlas)
    place = None
    if compared.places is not None:
        place = peaks.loc[0, ["x", "y", "z"]].to_numpy(dtype=float)
    masker, own = compared.masker, getattr(comparison, "bg_img_", None)
    background = choose_background(masker if compared.maps else None, bg_img, own)
    pictures = Pictures(compared, place, background, bg_img)
    others = ("information_difference", "first_accuracy", "second_accuracy")
    parameters = getattr(comparison, "parameters", None)
    approximate = bool((parameters or {}).get("approximate"))
    doubt = doubts_about(getattr(comparison, "findings_", ()), NEEDED)
    words = _found(compared, names, peaks.iloc[0], approximate, doubt)
    limits = sentences("comparison_limits", names=names, many=compared.words[1])
    sections = [
        ("What was found", answer(words, pictures.figure(DIFFERENCE))),
        ("Both accuracies", _scatter(compared, names)),
        ("Largest differences", _table(compared, names, peaks)),
        ("Maps", pictures.section(others)),
        ("What this does not show", list_of(limits)),
        ("Methods", _methods(comparison, compared, names)),
        ("Parameters", parameter_table(parameters) if parameters else ""),
    ]
    return make_page(title or f"{_capitalized(names[0])} against {names[1]}", sections)


def _capitalized(name):
    """Return a name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def _found(compared, names, peak, approximate, doubt):
    """Say where which of the two is better, and how large the largest difference is.

    The first sentence is the answer.
    """
    finding, scores = compared.finding, compared.scores
    ahead = scores[DIFFERENCE][finding.survives]
    return sentences(
        "comparison_found",
        first=names[0],
        second=names[1],
        capitalized=_capitalized,
        finding=finding,
        n_better=int((ahead > 0).sum()),
        n_worse=int((ahead < 0).sum()),
        n_regions=int(compared.analyzed.sum()),
        many=compared.words[1],
        peak={name: peak[name] for name in NEEDED},
        place=named_place(peak),
        approximate=approximate,
        doubt=doubt,
    )


def _scatter(compared, names):
    """Draw both accuracies of every region against each other."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting._axes import COLORS

    x, y = compared.scores["second_accuracy"], compared.scores["first_accuracy"]
    survives = compared.finding.survives
    figure, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
    for rows, color, size, label in (
        (~survives & compared.analyzed, "0.65", 6, "not shown to differ"),
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
    caption = (
        f"Every dot is one {compared.words[0]}; above the line {names[0]} is better."
    )
    return embed_figure(figure, caption, "both_accuracies.svg")


def _table(compared, names, peaks):
    """Tabulate the largest differences, those that survive apart."""
    many = compared.words[1]
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
        compared.finding.survives[peaks["region"].to_numpy()],
        columns,
        captions=(
            f"Largest differences of {many} that survive correction",
            f"Largest differences of {many} that do not survive correction: trends",
        ),
        hint="The largest differences were found by looking, so that they are too "
        "large on average; the family-wise p-values allow for that.",
        file_name="differences.tsv",
    )


def _methods(comparison, compared, names):
    """Return the paragraph to cite and its references."""
    parameters = getattr(comparison, "parameters", None) or {}
    n_regions = int(compared.analyzed.sum())
    words = sentences(
        "comparison_methods",
        first=_capitalized(names[0]),
        second=names[1],
        version=neuroextrap.__version__,
        n_regions=n_regions,
        regions=compared.words[n_regions != 1],
        many=compared.words[1],
        unit=parameters.get("unit"),
        approximate=parameters.get("approximate"),
        n_units=getattr(comparison, "n_units_", 0),
        n_exchanges=getattr(comparison, "n_permutations_", 0),
        n_pairs=getattr(comparison, "n_pairs_", 1),
        two_sided=compared.two_sided,
        are_images=bool(compared.maps),
    )
    return methods_section(words)
