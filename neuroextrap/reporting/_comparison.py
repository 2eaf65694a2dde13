"""The report of a comparison of two analyses, region by region."""

import numpy as np
from markupsafe import Markup

import neuroextrap
from neuroextrap.plotting._backgrounds import Background, volume_background
from neuroextrap.reporting._brain_figures import FAINT, brain_figure
from neuroextrap.reporting._compared import DIFFERENCE, LEVEL, P, read_comparison
from neuroextrap.reporting._comparison_words import (
    capitalized,
    comparison_limits,
    comparison_sentences,
    comparison_verdict,
    difference_words,
)
from neuroextrap.reporting._map_data import color_range
from neuroextrap.reporting._methods import NILEARN, PERMUTATIONS
from neuroextrap.reporting._page import figure_tag, key_value_table, make_page
from neuroextrap.reporting._peaks_section import tables_of_peaks
from neuroextrap.reporting._pictures import data_uri, embed_figure
from neuroextrap.reporting._rendering import (
    format_p_value,
    format_percent,
    render,
)
from neuroextrap.reporting._viewer import background_note

_DIVERGING = "RdBu_r"
_DIVERGENT = (DIFFERENCE, "information_difference")


def comparison_report(
    comparison,
    title=None,
    *,
    names=("first", "second"),
    n_peaks=10,
    bg_img=None,
    atlas=None,
):
    """Make a self-contained HTML page of a comparison of two analyses.

    It says where one identifies better than the other, corrected for looking at all
    regions, and how large the largest differences are.

    Parameters
    ----------
    comparison : DecoderComparison, or dict of images or ndarray of shape (n_regions,)
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
    >>> from neuroextrap.reporting import comparison_report
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
    compared = read_comparison(comparison)
    if not compared.analyzed.any():
        raise ValueError(
            "comparison has no region that both analyzed; compare analyses of the same "
            "mask"
        )
    peaks = compared.peaks(n_peaks, atlas)
    below = _background(compared, bg_img)
    draw = _Pictures(compared, names, peaks, below, bg_img)
    sections = [
        ("What was found", _answer(compared, names, peaks, draw)),
        ("Both accuracies", _scatter(compared, names)),
        ("Largest differences", _table(compared, names, peaks)),
        ("Maps", _maps(draw, below)),
        (
            "What this does not show",
            render("list", items=comparison_limits(compared, names)),
        ),
        ("Methods", _methods(comparison, compared, names)),
        ("Parameters", _parameters(comparison)),
    ]
    sections = [(heading, content) for heading, content in sections if content]
    return make_page(title or f"{capitalized(names[0])} against {names[1]}", sections)


def _background(compared, bg_img):
    """Choose what is drawn under the maps of volumes."""
    from neuroextrap.images import feature_coordinates
    from neuroextrap.images._maskers import is_surface_masker

    masker = compared.masker
    if not compared.maps or is_surface_masker(masker):
        return Background(None, False, "")
    places = feature_coordinates(masker)
    return volume_background(compared.maps[DIFFERENCE], places, bg_img)


class _Pictures:
    """Draw the maps of a comparison, all cut where it differs most."""

    def __init__(self, compared, names, peaks, below, bg_img):
        self._compared, self._names = compared, names
        self._below, self._bg_img = below.img, bg_img
        self._place = None
        if compared.places is not None and len(peaks):
            self._place = peaks.loc[0, ["x", "y", "z"]].to_numpy(dtype=float)

    def figure(self, name):
        """Return a map as HTML; "" where there is no such image."""
        from neuroextrap.images import feature_values
        from neuroextrap.images._maskers import is_surface_masker

        compared = self._compared
        if name not in compared.maps:
            return Markup("")
        img, masker = compared.maps[name], compared.masker
        survives = feature_values(compared.maps[P], masker, P) <= LEVEL
        faint = 0.0 if is_surface_masker(masker) else FAINT
        opacity = np.where(survives, 1.0, faint) * np.isfinite(
            feature_values(img, masker, name)
        )
        picture = brain_figure(
            img,
            masker,
            opacity,
            place=self._place,
            below=self._below,
            bg_img=self._bg_img,
            **self._colors(name),
        )
        return figure_tag(data_uri(picture, "png"), self._caption(name, faint))

    def _colors(self, name):
        """Return colors and their span: both accuracies have the same."""
        scores = self._compared.scores
        if name in _DIVERGENT:
            largest = np.nanmax(np.abs(scores[name])) or 1.0
            return {"cmap": _DIVERGING, "span": (-largest, largest)}
        both = [scores["first_accuracy"], scores["second_accuracy"]]
        return {"span": color_range(np.concatenate(both))}

    def _caption(self, name, faint):
        """Describe a map and what is drawn of it."""
        first, second = self._names
        many = self._compared.words[1]
        what = {
            DIFFERENCE: f"Accuracy of {first} minus that of {second}",
            "information_difference": (
                f"Implied information of {first} minus that of {second} (bits)"
            ),
            "first_accuracy": f"Accuracy of {first}",
            "second_accuracy": f"Accuracy of {second}",
        }[name]
        colors = f": red where {first} is better, blue where {second} is"
        drawn = (
            f"In full color: {many} whose difference survives correction; faint: all "
            "others."
            if faint
            else f"Drawn: {many} whose difference survives correction."
        )
        return f"{what}{colors if name in _DIVERGENT else ''}. {drawn}"


def _answer(compared, names, peaks, draw):
    """Say what was found, and show where."""
    return render(
        "answer",
        verdict=comparison_verdict(compared, names),
        sentences=comparison_sentences(compared, names, peaks),
        picture=draw.figure(DIFFERENCE),
    )


def _scatter(compared, names):
    """Draw both accuracies of every region against each other."""
    import matplotlib.pyplot as plt

    from neuroextrap.plotting._axes import COLORS

    x, y = compared.scores["second_accuracy"], compared.scores["first_accuracy"]
    figure, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
    for rows, color, size, label in (
        (~compared.survives & compared.analyzed, "0.65", 6, "not shown to differ"),
        (compared.survives, COLORS[1], 10, "survive correction"),
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
    columns = {
        "first_accuracy": (f"Accuracy of {names[0]}", format_percent),
        "second_accuracy": (f"Accuracy of {names[1]}", format_percent),
        DIFFERENCE: ("Difference (percentage points)", difference_words),
        "information_difference": (
            "Difference of implied information (bits)",
            lambda bits: f"{bits:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ),
        "p_value_fwe_step_down": ("p (step-down)", format_p_value),
        P: ("p (family-wise)", format_p_value),
    }
    many = compared.words[1]
    return tables_of_peaks(
        peaks,
        compared.survives[peaks["region"].to_numpy()],
        columns,
        captions=(
            f"Largest differences of {many} that survive correction",
            f"Largest differences of {many} that do not survive correction: trends",
        ),
        hint="The largest differences were found by looking, so that they are too "
        "large on average; the family-wise p-values allow for that.",
        file_name="differences.tsv",
    )


def _maps(draw, below):
    """Show the other maps."""
    names = ("information_difference", "first_accuracy", "second_accuracy")
    figures = [figure for figure in map(draw.figure, names) if figure]
    if not figures:
        return ""
    return Markup("\n").join([background_note(below), *figures])


def _methods(comparison, compared, names):
    """Return the paragraph to cite and its references."""
    parameters = getattr(comparison, "parameters", None) or {}
    n_units = getattr(comparison, "n_units_", 0)
    unit = parameters.get("unit")
    units = f" of {n_units} {unit}s" if n_units and unit else ""
    n_exchanges = getattr(comparison, "n_permutations_", 0)
    times = f" {n_exchanges:,} times" if n_exchanges else ""
    n_regions = int(compared.analyzed.sum())
    sentence = (
        f"{capitalized(names[0])} and {names[1]} were compared in "
        f"{n_regions:,} {compared.words[n_regions != 1]} with neuroextrap "
        f"{neuroextrap.__version__}: the paired outcomes{units} were exchanged at "
        f"random{times}, alike in all {compared.words[1]}, and the "
        f"{'largest absolute' if compared.two_sided else 'largest'} difference of the "
        "accuracies over them gave the family-wise p-values (Nichols & Holmes 2002)"
        f"{_several_pairs(comparison)}."
    )
    references = [PERMUTATIONS] + [NILEARN] * bool(compared.maps)
    return render("methods", paragraph=sentence, references=references)


def _several_pairs(comparison):
    """Say what was done to the p-values where more than one pair was compared."""
    n_pairs = getattr(comparison, "n_pairs_", 1)
    return f", multiplied by {n_pairs}, the number of compared pairs" * (n_pairs > 1)


def _parameters(comparison):
    """Tabulate what was asked for, where that is known."""
    parameters = getattr(comparison, "parameters", None)
    return key_value_table(parameters, "Parameters") if parameters else ""
