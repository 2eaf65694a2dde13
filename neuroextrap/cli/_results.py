"""Write a fitted analysis and print its strongest regions."""

import textwrap

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
    "class_information_bound",
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
    """Lay out columns of a data frame as text, numbers with their points in line.

    `columns` are names, whose words break into the lines of the headings, or a dict of
    names to headings of one line. Columns that the frame lacks are left out.
    """
    names = [name for name in columns if name in frame.columns]
    if isinstance(columns, dict):
        heads = [[columns[name]] for name in names]
    else:
        heads = [_break_words(name) for name in names]
    return align_columns(heads, [frame[name] for name in names])


def align_columns(heads, columns):
    """Lay out columns as text under a line; each head is a list of lines.

    Text is set flush left. Numbers are set flush right, with their points in line.
    """
    height = max(map(len, heads))
    laid_out = []
    for head, values in zip(heads, columns, strict=True):
        cells, is_text = _aligned_cells(values)
        width = max(map(len, [*head, *cells]))
        lines = [""] * (height - len(head)) + head
        set_flush = str.ljust if is_text else str.rjust
        laid_out.append(
            [set_flush(line, width) for line in lines]
            + ["-" * width]
            + [set_flush(cell, width) for cell in cells]
        )
    return "\n".join("  ".join(row).rstrip() for row in zip(*laid_out, strict=True))


def _break_words(name):
    """Break a column's name into lines of at most nine characters or one word."""
    words = name.replace("_", " ")
    return textwrap.wrap(words, 9, break_long_words=False)


def _aligned_cells(values):
    """Return the cells of one column, points in line, and whether they are text."""
    from neuroextrap.reporting._page import format_number

    cells = [format_number(value) for value in values]
    if any(isinstance(value, str) for value in values):
        return cells, True
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
    return [
        cell + " " * (max(tails, default=0) - tail)
        for cell, tail in zip(cells, tails, strict=True)
    ], False
