"""What commands say and write: names, origin and files of results, and dry runs."""

import logging
import textwrap
import time
from typing import Any

logger = logging.getLogger(__name__)

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
        from neuroextrap.plotting._brain_maps import read_volume

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
    from neuroextrap.images._atlas import atlas_names_at

    atlas_names_at(args.atlas, [(0.0, 0.0, 0.0)])


def write_results(fitted, args, bids=None, origin=None, tables=None, files=None):
    """Write maps, tables and perhaps the report of a fitted analysis; return a summary.

    All files take their places together, or none does. `args` has ``out``,
    ``overwrite``, ``report``, ``bg_img`` and ``atlas``; `bids` are entities of BIDS
    names or None; `origin` (Origin) says what was analyzed; `tables` are further data
    frames by name, or None, and `files` functions that write to a path by name.
    """
    from neuroextrap.analysis._analysis_files import write_analysis
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.reporting import peak_table

    page = page_of(fitted, args, origin) if args.report else None
    peaks = peak_table(fitted, atlas=args.atlas)
    frames = {"peaks": peaks, **(tables or {})}
    more = {f"{n}.tsv": _writer(t) for n, t in frames.items() if t is not None}
    more |= files or {}
    if page is not None:
        more |= page_file(page)
    write_analysis(
        fitted, args.out, overwrite=args.overwrite, bids=bids, origin=origin, more=more
    )
    places = ResultFiles.below(args.out, bids)
    written = f"maps, sidecars and {places.name('peaks.tsv')} in {places.folder}"
    if page is not None:
        written += f"; open {places.path('report.html')}"
    shown = [summary(fitted, peaks)]
    shown += [
        f"{name}:\n{text_table(table.head(_SHOWN), list(table.columns))}"
        for name, table in (tables or {}).items()
        if table is not None
    ]
    return "\n".join([*shown, written])


def write_region_maps(maps, fitted, args, shown, **about):
    """Write maps of regions, and their page; return the regions with most of a map.

    `fitted` writes the `maps` (RegionMaps), which have the columns `shown`, ordered by
    the first; `about` are bids and origin.
    """
    more = page_file(page_of(maps, args)) if args.report else {}
    fitted.to_directory(args.out, overwrite=args.overwrite, more=more, **about)
    rows = getattr(maps, "rows", "regions")
    best = maps.table_.sort_values(shown[0], ascending=False).head(_SHOWN)
    where = [name for name in ("name", *"xyz") if name in best] or ["region"]
    lines = [
        f"highest {shown[0].replace('_', ' ')} of {len(maps.table_)} {rows} (mm):",
        text_table(best, (*where, "n_voxels", *shown)),
        *map("note: {}".format, maps.notes_),
        f"maps, sidecars and {maps.table_file} in {args.out}",
    ]
    return "\n".join(lines)


def page_file(page):
    """Return what writes a page (HTML) to a path, by the name of its file, a dict."""
    return {"report.html": lambda path: path.write_text(page, encoding="utf-8")}


def _writer(table):
    """Return a function that writes a data frame to a path."""
    return lambda path: table.to_csv(path, sep="\t", index=False)


def page_of(fitted: Any, args, origin=None):
    """Return the report of an analysis, or of RegionMaps, as HTML."""
    from neuroextrap.reporting._identification_page import identification_report

    none = args.bg_img is not None and args.bg_img.lower() == "none"
    options = {"bg_img": False if none else args.bg_img, "atlas": args.atlas}
    if not hasattr(fitted, "results_"):
        report = fitted.generate_report(args.title, **options)
    else:
        report = identification_report(fitted, args.title, **options, origin=origin)
    return report.get_standalone()


def summary(fitted, peaks):
    """Describe the strongest regions, rows of a peak table, in lines of text.

    Coordinates are in mm, accuracies and their bounds proportions, information in bits.
    """
    import numpy as np

    n_classes = len(fitted.classes_)
    n_regions = int(np.isfinite(fitted.region_scores_["accuracy"]).sum())
    lines = [
        f"{n_regions} regions, {n_classes} classes, chance {1 / n_classes:.3f}; "
        "strongest regions (mm; proportions; bits):",
        text_table(peaks, _PRINTED),
    ]
    grades = {finding.note: finding.grade for finding in fitted.findings_}
    notes = [f"{grades.get(note, 'note')}: {note}" for note in fitted.notes_]
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
        words = [name.replace("_", " ") for name in names]
        heads = [textwrap.wrap(text, 9, break_long_words=False) for text in words]
    return align_columns(heads, [shown_values(frame[name], name) for name in names])


def shown_values(values, name):
    """Return the values of a map; lower bounds with three digits, never rounded up."""
    from neuroextrap.reporting._rendering import rounded_down

    return [rounded_down(x, 3) for x in values] if "_bound" in name else values


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


def bids_of_inputs(args, imgs, *, keep_desc=False):
    """Return the entities that name the results of images (or None), and their files.

    ``args.bids`` is True, False, or None for "if the images have BIDS names"; True
    raises if an image has none. Patterns in `imgs` stand for the files they match.
    With `keep_desc`, the ``desc`` of the images (maps of results) stays beside that of
    the results; otherwise ("preproc") it is dropped.
    """
    from neuroextrap.images._opening import image_files
    from neuroextrap.maps._bids import file_entities, shared_entities
    from neuroextrap.maps._result_files import ResultFiles

    files = image_files(imgs)
    bids = None if args.bids is False else shared_entities(files)
    if bids is None:
        if args.bids:
            odd = next(path for path in files if file_entities(path) is None)
            raise ValueError(
                f"--bids: {odd} has no BIDS name (sub-<label>_..._<suffix>.<extension>)"
                "; rename it, or use --no-bids"
            )
        return None, files
    bids.pop("hemi", None)  # results are of both
    if not keep_desc:
        bids.pop("desc", None)
    example = ResultFiles.below(args.out, bids).path("accuracy.nii.gz")
    logger.info("results are named like %s", example)
    return bids, files


def origin_of_command(args, **sources):
    """Return the Origin of a command's results.

    `sources` are lists of paths by role, or one path, or None. Options by which samples
    are made are taken from `args`, those that the command has. Call it before files are
    read: one that is changed later is noticed.
    """
    from neuroextrap.analysis._parameters import parameters
    from neuroextrap.maps._provenance import Origin, SourceFile

    files = {
        role: list(map(SourceFile.of, [paths] if isinstance(paths, str) else paths))
        for role, paths in sources.items()
        if paths
    }
    words = [*(row.word for row in parameters("samples") if row.word), "test_runs"]
    options = {word: getattr(args, word) for word in words if hasattr(args, word)}
    return Origin(files, options, command_record(args))


def command_record(args):
    """Return the command, without absolute paths, for the record of provenance."""
    from neuroextrap.maps._provenance import relative_words

    return {"command": ["neuroextrap", *relative_words(args.argv)]}


def cost_line(what, seconds, n_bytes):
    """Describe size, time and memory (bytes at the peak) of a run in one line.

    >>> cost_line("168 regions", 3905, 2**29)
    'dry run: 168 regions; about 1:05:05 (h:mm:ss), 512 MiB of data; nothing written'
    """
    from neuroextrap.margins.running._execution import clock

    return (
        f"dry run: {what}; about {clock(seconds)} (h:mm:ss), {size_words(n_bytes)} of "
        "data; nothing written"
    )


def size_words(n_bytes):
    """Write a number of bytes.

    >>> size_words(2**29), size_words(3 * 2**30)
    ('512 MiB', '3.0 GiB')
    """
    if n_bytes < 2**30:
        return f"{n_bytes / 2**20:.0f} MiB"
    return f"{n_bytes / 2**30:.1f} GiB"


def cost_of_regions(cost, shard, stimuli=""):
    """Describe the cost of an analysis of regions, or of its part, in one line.

    `cost` is what ``estimate_cost`` returned, for classifiers with the ways in
    which margins are made; `stimuli` are words for those tested.
    """
    part = "" if shard is None else f", of which part {shard}"
    ways = [f"{tests} by {way}" for tests, way in cost.get("paths", {}).items()]
    what = (
        f"{cost['n_regions']} regions, {cost['n_features']} voxels, {stimuli}"
        f"{cost['n_permutations']} permutations{part}"
        + ("; " + ", ".join(ways) if ways else "")
    )
    return cost_line(what, cost["seconds"], cost["memory"])


def seconds_of(run, n, *, few=(2, 12)):
    """Time ``run(few[0])`` and ``run(few[1])``; return seconds of ``run(n)``.

    The time is taken to grow linearly; the numbers that are timed do not exceed `n`.
    """
    from neuroextrap.margins._resources import continue_line

    run(few[0])  # imports and compilation
    fewer, more = ((size, _timed(run, min(n, size))) for size in few)
    return continue_line(fewer, more, n)


def _timed(run, n):
    """Seconds of one call."""
    start = time.process_time()  # which a busy machine hardly changes
    run(n)
    return time.process_time() - start
