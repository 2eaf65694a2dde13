"""The report of learning curves: what was learned, from how many subjects."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from neuroextrap.learning_curves._comparison import (
    compare_learning_curves,
    known_limit,
    table_of_curves,
)
from neuroextrap.plotting._learning_curves import check_curves
from neuroextrap.reporting._page import (
    Report,
    frame_table,
    make_page,
    page_title,
    render,
    sections_of,
    sentences,
)
from neuroextrap.reporting._pictures import embed_figure

_MOST_CLASSES = 30
_HEADINGS = {
    "labels": "Labels",
    "train_size": "Training subjects",
    "information": "Information (bits)",
    "information_spread": "Spread (bits)",
    "error_rate": ("Error rate", "percent"),
    "error_rate_spread": ("Spread", "percent"),
    "baseline_error_rate": ("Error rate of guessing", "percent"),
    "reproducibility": "Reproducibility",
    "reproducibility_spread": "Spread of reproducibility",
    "n_components": "Components",
    "prior_weight": "Weight of the prior",
    "note": "Note",
}


def learning_curve_report(curves: dict, title: str | None = None) -> Report:
    """Make a self-contained HTML page of one or several learning curves.

    Parameters
    ----------
    curves : Bunch, or dict of str to Bunch
        Results of :func:`information_learning_curve`, by the names of the label schemes
        or models.
    title : str or None, default=None
        Title of the page. If None, "Learning curves".

    Returns
    -------
    report : neuroextrap.reporting.Report
        The page needs no network; ``report.save_as_html(path)`` writes it.

    Raises
    ------
    TypeError
        If there is no curve, or one is no result of
        :func:`information_learning_curve`.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, 772-786; Nadeau & Bengio 2003, Machine Learning
    52, 239-281 (standard error of the lead).

    Examples
    --------
    >>> from neuroextrap.learning_curves import information_learning_curve
    >>> from neuroextrap.learning_curves import learning_curve_report
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=6)
    >>> curve = information_learning_curve(data.X, data.coarse, data.groups, n_splits=5)
    >>> page = learning_curve_report({"two conditions": curve})
    >>> "Trained on 5 of 6 subjects" in page.get_standalone()
    True
    """
    title, curves = page_title(title, "Learning curves"), check_curves(curves)
    picture = _figure(curves, "information", "Information about the label of a scan")
    panels = [
        _panels(curves),
        ("All training sizes", _sizes(curves)),
        ("What is taken for what", _confusions(curves)),
    ]
    sections = sections_of("learning_curves", _words_about(curves), picture, panels)
    return make_page(title, sections)


def words_found(curves):
    """Return what is said of curves: how much is known, and what would help."""
    return sentences("learning_curves_found", **_words_about(curves))


def _words_about(curves):
    """Return what the words about curves read."""
    first = next(iter(curves.values()))
    best = max(curves, key=lambda name: curves[name].information[-1].mean())
    said = {
        name: {
            "n_train": curve.train_sizes[-1],
            "n_groups": curve.n_groups,
            "bits": curve.information[-1].mean(),
            "entropy": curve.label_entropy,
            "error": curve.error_rate[-1].mean(),
            "baseline": curve.baseline_error_rate[-1].mean(),
            "limit": known_limit(curve),
        }
        for name, curve in curves.items()
    }
    return {
        "best": best,
        "curves": said,
        "crossings": _crossings(curves),
        "sizes": first.train_sizes,
        "n_groups": first.n_groups,
        "n_splits": first.information.shape[1],
        "several": len(curves) > 1,
    }


def _crossings(curves):
    """Return where one curve overtakes another, of curves that can be compared."""
    try:
        return compare_learning_curves(curves).crossings
    except ValueError:  # it says why these cannot be
        return []


def _figure(curves, panel, caption):
    """Draw one quantity against the number of training subjects."""
    from neuroextrap.plotting import plot_learning_curves

    ax = plot_learning_curves(curves, panel=panel)
    return embed_figure(
        ax.figure,
        f"{caption}; bands are one standard deviation over random splits, which share "
        "subjects: not a standard error.",
        f"{panel}.svg",
    )


def _panels(curves):
    """Draw error rates, and the reproducibility of maps where it was measured."""
    errors = _figure(curves, "error_rate", "Error rate of the most probable label")
    if not any(np.isfinite(curve.reproducibility).any() for curve in curves.values()):
        return "Errors", errors
    maps = _figure(
        curves,
        "reproducibility",
        "Correlation of maps made from disjoint halves of the subjects",
    )
    return "Errors and reproducibility", Markup("\n").join([errors, maps])


def _sizes(curves):
    """Tabulate every training size, and offer the table as a file."""
    table = table_of_curves(curves, "labels")
    has_notes = (table["note"].str.len() > 0).any()
    sizes = frame_table(
        table if has_notes else table.drop(columns="note"),
        "Mean and spread over splits",
        _HEADINGS,
    )
    return render("learning_curves", table=sizes, frame=table)


def _confusions(curves):
    """Draw the mean predicted probabilities at the largest training size."""
    from neuroextrap.plotting import plot_confusion_matrix

    figures = []
    for number, (name, curve) in enumerate(curves.items(), start=1):
        matrix = curve.confusion[-1]
        if len(curve.classes) > _MOST_CLASSES or not np.isfinite(matrix).all():
            continue
        ax = plot_confusion_matrix(matrix, [str(c) for c in curve.classes])
        ax.set_xlabel("predicted")
        start = f"{name}: mean" if name else "Mean"
        caption = (
            f"{start} predicted probability of every class, trained on "
            f"{curve.train_sizes[-1]} subjects"
        )
        figures.append(embed_figure(ax.figure, caption, f"confusion_{number}.svg"))
    return Markup("\n").join(figures)
