"""The report of learning curves: what was learned, from how many subjects."""

import numpy as np
from markupsafe import Markup

import neuroextrap
from neuroextrap.learning_curves._comparison import (
    common_sizes,
    compare_learning_curves,
    known_limit,
    learning_curve_table,
)
from neuroextrap.reporting._page import frame_table, make_page
from neuroextrap.reporting._peaks_section import tsv_uri
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._rendering import format_percent, render

_MOST_CLASSES = 30
_KJEMS = (
    "Kjems et al. (2002). The quantitative evaluation of functional neuroimaging "
    "experiments: mutual information learning curves. NeuroImage 15, 772-786."
)
_NADEAU = (
    "Nadeau & Bengio (2003). Inference for the generalization error. Machine Learning "
    "52, 239-281."
)


def learning_curve_report(curves, title=None):
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
    >>> from neuroextrap.learning_curves import (
    ...     information_learning_curve,
    ...     learning_curve_report,
    ...     simulate_hierarchical_scans,
    ... )
    >>> data = simulate_hierarchical_scans(n_subjects=6)
    >>> curve = information_learning_curve(data.X, data.coarse, data.groups, n_splits=5)
    >>> page = learning_curve_report({"two conditions": curve})
    >>> "Trained on 5 of 6 subjects" in page.get_standalone()
    True
    """
    curves = _checked(curves)
    table = _table(curves)
    sections = [
        ("What was found", _answer(curves)),
        *_panels(curves),
        ("All training sizes", _sizes(table)),
        ("What is taken for what", _confusions(curves)),
        ("What this does not show", render("list", items=_LIMITS)),
        ("Methods", _methods(curves)),
    ]
    sections = [(heading, content) for heading, content in sections if content]
    return make_page(title or "Learning curves", sections)


def _checked(curves):
    """Return curves by name; the name of a single curve may be empty."""
    if hasattr(curves, "train_sizes"):
        curves = {"": curves}
    if not isinstance(curves, dict) or not curves:
        raise TypeError(
            "curves must be a result of information_learning_curve, or a dict of them "
            f"by name, got {type(curves).__name__}"
        )
    for name, curve in curves.items():
        if not hasattr(curve, "information"):
            raise TypeError(
                f"curves[{name!r}] must come from information_learning_curve, got "
                f"{type(curve).__name__}"
            )
    return {str(name): curve for name, curve in curves.items()}


def _table(curves):
    """Tabulate all curves, one row per name and training size."""
    import pandas as pd

    tables = []
    for name, curve in curves.items():
        table = learning_curve_table(curve)
        table.insert(0, "labels", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _answer(curves):
    """Say how much is known about the labels, and what would help; draw it."""
    best = max(curves, key=lambda name: curves[name].information[-1].mean())
    sentences = [
        f"{_level(name, curve) if name != best else ''} {_errors(name, curve)}".strip()
        for name, curve in curves.items()
    ]
    return render(
        "answer",
        verdict=_level(best, curves[best]),
        sentences=[*sentences, *_crossings(curves), *map(_advice, curves.items())],
        picture=_figure(curves, "information", "Information about the label of a scan"),
    )


def _level(name, curve):
    """Say how much information there is at the largest training size."""
    bits = curve.information[-1].mean()
    start = (
        f"Trained on {curve.train_sizes[-1]} of {curve.n_groups} subjects, predictions "
        "for a scan of another subject "
    )
    about = f"its label{_quoted(name)}"
    amount = f"carry {bits:.2f} bits about {about}"
    if not bits > 0:
        amount = f"show no information about {about} ({_signed(bits)} bits)"
    return f"{start}{amount}, of at most {curve.label_entropy:.2f}."


def _errors(name, curve):
    """Say how often the most probable label is wrong at the largest training size."""
    error = format_percent(curve.error_rate[-1].mean())
    baseline = format_percent(curve.baseline_error_rate[-1].mean())
    return (
        f"The most probable label{_quoted(name)} is wrong for {error} of the scans "
        f"(always guessing the most common one: {baseline})."
    )


def _quoted(name):
    """Return a name in quotes and brackets; nothing for a curve without a name."""
    return f" (“{name}”)" if name else ""


def _signed(bits):
    """Return bits with a minus sign that is one."""
    return f"{bits:.2f}".replace("-", "\N{MINUS SIGN}")


def _advice(named):
    """Say whether more subjects, or another model, would help."""
    name, curve = named
    limit = known_limit(curve)
    return "" if limit is None else f"The curve{_quoted(name)} {_ADVICE[limit]}"


_ADVICE = {
    "nothing yet": "is nowhere shown to be above 0, not by two standard errors: noise "
    "alone gives such curves, and nothing can be said of what more subjects would do.",
    "label entropy": "has reached the entropy of the labels: neither more subjects nor "
    "another model can add to it, only other labels.",
    "variance": "still rises: more subjects would help (a rule of thumb).",
    "bias": "is flat: more subjects are not expected to help, another model or other "
    "labels might (a rule of thumb).",
}


def _crossings(curves):
    """Say where one curve overtakes another."""
    finite = all(np.isfinite(curve.information).all() for curve in curves.values())
    splits = {curve.information.shape[1] for curve in curves.values()}
    groups = {curve.n_groups for curve in curves.values()}
    alike = len(splits) == len(groups) == 1 and min(splits) > 1
    if len(curves) < 2 or not finite or not alike or not len(common_sizes(curves)):
        return []
    return [
        f"Between {crossing['between'][0]} and {crossing['between'][1]} training "
        f"subjects “{crossing['after']}” overtakes “{crossing['before']}”"
        + ("." if crossing["decided"] else ", within the noise.")
        for crossing in compare_learning_curves(curves).crossings
    ]


def _figure(curves, panel, caption):
    """Draw one quantity against the number of training subjects."""
    from neuroextrap.plotting import plot_learning_curves

    ax = plot_learning_curves(curves, panel=panel)
    return embed_figure(
        ax.figure,
        f"{caption}; bands are one standard deviation over random splits, which share "
        "subjects: no standard error.",
        f"{panel}.svg",
    )


def _panels(curves):
    """Draw error rates, and the reproducibility of maps where it was measured."""
    errors = _figure(curves, "error_rate", "Error rate of the most probable label")
    if not any(np.isfinite(curve.reproducibility).any() for curve in curves.values()):
        return [("Errors", errors)]
    maps = _figure(
        curves,
        "reproducibility",
        "Correlation of maps made from disjoint halves of the subjects",
    )
    return [("Errors and reproducibility", Markup("\n").join([errors, maps]))]


def _sizes(table):
    """Tabulate every training size, and offer the table as a file."""
    headings = {
        "labels": "Labels",
        "train_size": "Training subjects",
        "information": "Information (bits)",
        "information_spread": "Spread (bits)",
        "error_rate": "Error rate",
        "error_rate_spread": "Spread",
        "baseline_error_rate": "Error rate of guessing",
        "reproducibility": "Reproducibility",
        "reproducibility_spread": "Spread of reproducibility",
        "n_components": "Components",
        "prior_weight": "Weight of the prior",
        "note": "Note",
    }
    formats = dict.fromkeys(
        ("error_rate", "error_rate_spread", "baseline_error_rate"), format_percent
    )
    shown = [
        name for name in table if name != "note" or (table["note"].str.len() > 0).any()
    ]
    return render(
        "learning_curves",
        table=frame_table(
            table[shown],
            "Mean and spread over splits",
            headings=headings,
            formats=formats,
        ),
        tsv=tsv_uri(table),
    )


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


_LIMITS = (
    "That the brain uses this information: it is what this model can predict of the "
    "label of a scan.",
    "How much information there is at all: the curve is a lower limit on average, "
    "which a better model or more subjects may raise.",
    "How sure the values are: the spread over splits is no standard error, because "
    "splits share subjects.",
    "What holds at the full number of subjects: at least one is always left out to "
    "test on.",
)


def _methods(curves):
    """Return the paragraph to cite and its references."""
    first = next(iter(curves.values()))
    sizes = first.train_sizes
    several = len(curves) > 1
    paragraph = (
        f"Learning curves were made with neuroextrap {neuroextrap.__version__}: for "
        f"{sizes[0]} to {sizes[-1]} training subjects of {first.n_groups}, a model was "
        f"trained on {first.information.shape[1]} random sets of subjects and its "
        "predicted probabilities for the scans of all other subjects were scored by "
        "the mean of log₂ p(label | scan) / p(label), in bits (Kjems et al. 2002)."
    )
    if several:
        paragraph += (
            " Leads were compared split by split, with a standard error that is "
            "corrected for shared subjects (Nadeau & Bengio 2003)."
        )
    references = [_KJEMS] + [_NADEAU] * several
    return render("methods", paragraph=paragraph, references=references)
