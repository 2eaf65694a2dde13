"""Write a fitted analysis and print its strongest regions."""

import numpy as np

_PRINTED = (
    "name",
    "x",
    "y",
    "z",
    "n_voxels",
    "accuracy",
    "implied_information",
    "bayes_accuracy_bound",
    "information_bound",
    "p_value",
    "p_value_fwe",
)
"""Columns of a peak table that are printed."""


def write_results(fitted, args, bids=None, sources=()):
    """Write maps, tables and perhaps the report of a fitted analysis; return a summary.

    `args` has ``out``, ``overwrite`` and ``report``; `bids` are entities of BIDS names
    or None; `sources` are paths of the files that were analyzed.
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
    """Describe the strongest regions, rows of a peak table, in lines of text.

    Coordinates are in mm, accuracies and their bounds proportions, information in bits.
    """
    n_classes = len(fitted.classes_)
    n_regions = int(np.isfinite(fitted.region_scores_["accuracy"]).sum())
    lines = [
        f"{n_regions} regions, {n_classes} classes, chance {1 / n_classes:.3f}; "
        "strongest regions (mm; proportions; bits):",
        text_table(peaks, _PRINTED),
    ]
    notes = [f"note: {note}" for note in fitted.notes_]
    return "\n".join([*lines, *notes])


def text_table(frame, columns):
    """Lay out columns of a data frame as text, each as wide as it needs.

    `columns` are names, whose words become the lines of the headings, or a dict of
    names to headings of one line. Columns that the frame lacks are left out.
    """
    from neuroextrap.reporting._page import format_number

    names = [name for name in columns if name in frame.columns]
    if isinstance(columns, dict):
        heads = [[columns[name]] for name in names]
    else:
        heads = [name.split("_") for name in names]
    height = max(map(len, heads))
    cells = [
        [""] * (height - len(head)) + head + [format_number(value) for value in values]
        for head, (_, values) in zip(heads, frame[names].items(), strict=True)
    ]
    widths = [max(map(len, column)) for column in cells]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in zip(*cells, strict=True)
    )
