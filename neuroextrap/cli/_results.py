"""Write a fitted analysis and print its strongest regions."""

import textwrap

import numpy as np

_PRINTED = (
    "name",
    "x",
    "y",
    "z",
    "atlas_label",
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

_SHOWN = 10
"""Rows of further tables that are printed."""


def check_pictures(args):
    """Raise before any work if --bg-img or --atlas cannot be used."""
    _check_atlas(args)
    if args.bg_img is None:
        return
    if not args.report:
        raise ValueError(
            f"--bg-img {args.bg_img} is drawn in the report only; add --report"
        )
    if args.bg_img.lower() not in ("none", "mni152"):
        from neuroextrap.plotting._backgrounds import read_volume

        read_volume(args.bg_img, "--bg-img", "give a volume, mni152 or none")


def _check_atlas(args):
    """Raise if the atlas cannot be read, or regions have no centers to name."""
    if args.atlas is None:
        return
    if getattr(args, "labels_img", None) is not None:
        raise ValueError(
            f"--atlas {args.atlas} names the centers of spheres, but --labels-img has "
            "regions instead; give one of them"
        )
    from neuroextrap.images._atlas_places import atlas_names_at

    atlas_names_at(args.atlas, [(0.0, 0.0, 0.0)])


def write_results(fitted, args, bids=None, origin=None, tables=None):
    """Write maps, tables and perhaps the report of a fitted analysis; return a summary.

    All files take their places together, or none does. `args` has ``out``,
    ``overwrite``, ``report``, ``bg_img`` and ``atlas``; `bids` are entities of BIDS
    names or None; `origin` (Origin) says what was analyzed; `tables` are further data
    frames by name, or None.
    """
    from neuroextrap.analysis._analysis_files import write_analysis
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.reporting import peak_table

    page = _page(fitted, args) if args.report else None
    peaks = peak_table(fitted, atlas=args.atlas)
    frames = {"peaks": peaks, **(tables or {})}
    more = {f"{n}.tsv": _writer(t) for n, t in frames.items() if t is not None}
    if page is not None:
        more["report.html"] = lambda path: path.write_text(page, encoding="utf-8")
    write_analysis(
        fitted, args.out, overwrite=args.overwrite, bids=bids, origin=origin, more=more
    )
    files = ResultFiles.below(args.out, bids)
    written = f"maps, sidecars and {files.name('peaks.tsv')} in {files.folder}"
    if page is not None:
        written += f"; open {files.path('report.html')}"
    shown = [summary(fitted, peaks)]
    shown += [
        f"{name}:\n{text_table(table.head(_SHOWN), list(table.columns))}"
        for name, table in (tables or {}).items()
        if table is not None
    ]
    return "\n".join([*shown, written])


def _writer(table):
    """Return a function that writes a data frame to a path."""
    return lambda path: table.to_csv(path, sep="\t", index=False)


def _page(fitted, args):
    """Return the report as HTML."""
    none = args.bg_img is not None and args.bg_img.lower() == "none"
    report = fitted.generate_report(
        bg_img=False if none else args.bg_img, atlas=args.atlas
    )
    return report.get_standalone()


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
    from neuroextrap.reporting._rendering import format_number

    cells = [format_number(value) for value in values]
    if any(isinstance(value, str) for value in values):
        return cells, True
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
    return [
        cell + " " * (max(tails, default=0) - tail)
        for cell, tail in zip(cells, tails, strict=True)
    ], False
