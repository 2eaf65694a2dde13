"""Write a fitted analysis and say in a few lines what it found."""

import numpy as np

_HEADINGS = {
    "name": "region",
    "x": "x",
    "y": "y",
    "z": "z",
    "n_voxels": "voxels",
    "accuracy": "accuracy",
    "implied_information": "bits",
    "bayes_accuracy_bound": "bound",
    "information_bound": "bits bound",
    "p_value": "p",
    "p_value_fwe": "p (fwe)",
}


def write_results(fitted, args, bids=None, sources=()):
    """Write maps, tables and perhaps the report; return a summary.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
    args : argparse.Namespace
        With ``out``, ``overwrite`` and ``report``.
    bids : dict of str to str, or None, default=None
        Entities of BIDS names.
    sources : sequence of path-like, default=()
        Files that were analyzed.

    Returns
    -------
    summary : str
    """
    from neuroextrap.maps._bids import describe_dataset
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.reporting import peak_table

    page = fitted.generate_report().get_standalone() if args.report else None
    peaks = peak_table(fitted)
    if bids is not None:
        describe_dataset(args.out, sources)
    fitted.to_directory(args.out, overwrite=args.overwrite, bids=bids)
    files = ResultFiles.below(args.out, bids)
    peaks.to_csv(files.path("peaks.tsv"), sep="\t", index=False)
    written = f"maps, sidecars and {files.name('peaks.tsv')} in {files.folder}"
    target = files.path("report.html")
    target.unlink(missing_ok=True)  # of an earlier run
    if page is not None:
        target.write_text(page, encoding="utf-8")
        written += f"; open {target}"
    return f"{summary(fitted, peaks)}\n{written}"


def summary(fitted, peaks):
    """Describe the strongest regions in a plain table.

    Parameters
    ----------
    fitted : IdentificationSearchLight
    peaks : pandas.DataFrame
        From ``neuroextrap.reporting.peak_table``.

    Returns
    -------
    str
        Coordinates in mm, accuracies and their bounds as proportions, information in
        bits.
    """
    n_classes = len(fitted.classes_)
    n_regions = int(np.isfinite(fitted.region_scores_["accuracy"]).sum())
    lines = [
        f"{n_regions} regions, {n_classes} classes, chance {1 / n_classes:.3f}; "
        "strongest regions (mm; proportions; bits):",
        text_table(peaks),
    ]
    notes = [f"note: {note}" for note in fitted.notes_]
    return "\n".join([*lines, *notes])


def text_table(frame, headings=None):
    """Lay out columns of a data frame as text.

    Parameters
    ----------
    frame : pandas.DataFrame
    headings : dict or None, default=None
        Column name to heading, in the order wanted; None: those of a peak table.

    Returns
    -------
    str
        Numbers to the right, names to the left.
    """
    from neuroextrap.reporting._page import format_number

    headings = _HEADINGS if headings is None else headings
    names = [name for name in headings if name in frame.columns]
    rows = [[headings[name] for name in names]]
    for values in frame[names].itertuples(index=False):
        rows.append([format_number(value) for value in values])  # noqa: PERF401
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
