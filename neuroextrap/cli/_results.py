"""What commands say and write: names, origin and files of results, and dry runs."""

import textwrap
import time
from functools import partial
from os.path import isdir
from typing import Any

import numpy as np

from neuroextrap._parameter_table import AS_MADE, RESULT, parameters
from neuroextrap.analysis._analysis_files import write_analysis
from neuroextrap.cli._console import logger
from neuroextrap.images._atlas import atlas_names_at
from neuroextrap.images._opening import files_of
from neuroextrap.maps._files import check_output_directory
from neuroextrap.maps._provenance import (
    Origin,
    SourceFile,
    file_entities,
    relative_words,
    shared_entities,
)
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.margins._resources import continue_line
from neuroextrap.margins.running._execution import clock
from neuroextrap.plotting._brain_maps import read_volume
from neuroextrap.reporting import peak_table
from neuroextrap.reporting._page import format_number, rounded_down

_PRINTED = (
    "name x y z atlas_label n_voxels accuracy implied_information bayes_accuracy_bound "
    "class_information_bound information_bound p_value p_value_fwe"
)
"""Columns of a peak table that are printed."""

_SHOWN = 10
"""Rows of further tables that are printed."""


class Output:
    """Where results go, by BIDS entities or None, their Origin, and their pictures."""

    def __init__(self, args, bids, roles="", **sources):
        """Take them from words; ValueError if they cannot be written."""
        given = {"dry_run": False, "report": False} | vars(args)
        self.folder, self.bids, self.overwrite = args.out, bids, args.overwrite
        self.dry_run, self.report = given["dry_run"], given["report"]
        self.title, self.atlas = given.get("title"), given.get("atlas")
        if self.atlas is not None:  # can its names be read?
            atlas_names_at(self.atlas, [(0.0, 0.0, 0.0)])
        drawn = self.bg_img = background(given.get("bg_img"))
        if drawn and drawn.lower() != "mni152":
            read_volume(drawn, "--bg-img", "give a volume, mni152 or none")
        if not self.dry_run:
            check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
        self.origin: Any = origin_of_command(args, roles, **sources)

    @classmethod
    def of_images(
        cls, args, imgs, roles, role="imgs", /, *, keep_desc=False, **sources
    ):
        """Return the output for images, or an array, by whose names it may be named."""
        files = [] if imgs is None else files_of(imgs)
        bids = shared_entities(files) if files and args.bids is not False else None
        if files and bids is None and args.bids:
            odd = next(path for path in files if file_entities(path) is None)
            raise ValueError(
                f"--bids: {odd} has no BIDS name (sub-<label>_..._<suffix>.<extension>)"
                "; rename it, or use --no-bids"
            )
        if bids is not None:
            bids.pop("hemi", None)  # results are of both
            if not keep_desc:
                bids.pop("desc", None)  # preproc
            example = ResultFiles.below(args.out, bids).path("accuracy.nii.gz")
            logger.info("results are named like %s", example)
        return cls(args, bids, roles, **sources | {role: files})

    @property
    def places(self):
        """The ResultFiles."""
        return ResultFiles.below(self.folder, self.bids)

    @property
    def how(self):
        """What ``to_directory`` takes besides the folder."""
        names = ("overwrite", "bids", "origin")
        return {name: getattr(self, name) for name in names}

    def pages(self, fitted: Any, **drawn):
        """Return what writes the report of an analysis, or of RegionMaps, by file."""
        if not self.report:
            return {}
        options = {"bg_img": self.bg_img} | (drawn or {"atlas": self.atlas})
        page = fitted.generate_report(self.title, **options)
        return {"report.html": page.save_as_html}

    def write_analysis(self, fitted, tables=None, files=None):
        """Write a fitted analysis with tables and files by name; return a summary."""
        fitted.origin_ = self.origin
        tables = {n: t for n, t in (tables or {}).items() if t is not None}
        peaks = peak_table(fitted, atlas=self.atlas)
        more = {
            f"{name}.tsv": partial(table.to_csv, sep="\t", index=False)
            for name, table in ({"peaks": peaks} | tables).items()
        }
        more |= (files or {}) | self.pages(fitted)
        write_analysis(fitted, self.folder, more=more, **self.how)
        texts = [f"{n}:\n{text_table(t.head(_SHOWN))}" for n, t in tables.items()]
        written = f"maps, sidecars and {self.places.name('peaks.tsv')}"
        return "\n".join([summary(fitted, peaks), *texts, self.where_written(written)])

    def where_written(self, files):
        """Say where files, in words, and the page are."""
        page = f"; open {self.places.path('report.html')}" if self.report else ""
        return f"{files} in {self.places.folder}{page}"

    def write_maps(self, maps, names, fitted=None):
        """Write RegionMaps, of `fitted` or alone; return the strongest regions."""
        written = maps if fitted is None else fitted
        written.to_directory(self.folder, more=self.pages(maps), **self.how)
        rows = getattr(maps, "rows", "regions")
        best = maps.table_.sort_values(names[0], ascending=False).head(_SHOWN)
        where = [name for name in ("name", *"xyz") if name in best] or ["region"]
        lines = [
            f"highest {names[0].replace('_', ' ')} of {len(maps.table_)} {rows} (mm):",
            text_table(best, (*where, "n_voxels", *names)),
            *map("note: {}".format, maps.notes_),
            f"maps, sidecars and {maps.table_file} in {self.folder}",
        ]
        return "\n".join(lines)


def background(word):
    """Return what is drawn under maps: False for the word none."""
    return False if word is not None and word.lower() == "none" else word


def summary(fitted, peaks):
    """Describe the strongest regions, rows of a peak table, in lines of text."""
    n_classes = len(fitted.classes_)
    n_regions = int(np.isfinite(fitted.region_scores_["accuracy"]).sum())
    lines = [
        f"{n_regions} regions, {n_classes} classes, chance {1 / n_classes:.3f}; "
        "strongest regions (mm; proportions; bits):",
        text_table(peaks, _PRINTED.split()),
    ]
    grades = {finding.note: finding.grade for finding in fitted.findings_}
    notes = [f"{grades.get(note, 'note')}: {note}" for note in fitted.notes_]
    return "\n".join([*lines, *notes])


def text_table(frame, columns=None):
    """Lay out columns that a frame has, all or by names or headings, as text."""
    columns = frame.columns if columns is None else columns
    names = [name for name in columns if name in frame.columns]
    if isinstance(columns, dict):
        heads = [[columns[name]] for name in names]
    else:
        words = [name.replace("_", " ") for name in names]
        heads = [textwrap.wrap(text, 9, break_long_words=False) for text in words]
    height = max(map(len, heads))
    laid_out = [
        _lines_of_column([""] * (height - len(head)) + head, frame[name], name)
        for head, name in zip(heads, names, strict=True)
    ]
    return "\n".join("  ".join(row).rstrip() for row in zip(*laid_out, strict=True))


def _lines_of_column(head, values, name):
    """Return the lines of one column under its head; numbers have points in line."""
    cells = [format_number(value) for value in shown_values(values, name)]
    is_text = any(isinstance(value, str) for value in values)
    if not is_text:
        tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
        pairs = zip(cells, tails, strict=True)
        cells = [cell + " " * (max(tails) - tail) for cell, tail in pairs]
    width = max(map(len, [*head, *cells]))
    set_flush = str.ljust if is_text else str.rjust
    return [set_flush(line, width) for line in [*head, "-" * width, *cells]]


def shown_values(values, name):
    """Return the values of a map; lower bounds with three digits, never rounded up."""
    return [rounded_down(x, 3) for x in values] if "_bound" in name else values


def origin_of_command(args, roles="", **sources):
    """Return the Origin of files by role: words of options, or `sources`."""
    given = {role: getattr(args, role) for role in roles.split()} | sources
    files = {}
    for role, paths in given.items():
        listed = [paths] if isinstance(paths, str) and not isdir(paths) else paths
        if listed and isinstance(listed, list):
            files[role] = list(map(SourceFile.of, listed))
    return Origin(files, _made_by(args), command_record(args))


def _made_by(args):
    """Return by name how samples were made, and which are tested, but no files."""
    rows = parameters("samples")
    rows += [row for row in parameters(*AS_MADE) if row.role == RESULT]
    return {
        row.name: getattr(args, row.word)
        for row in rows
        if row.option and not row.option.is_path and hasattr(args, row.word)
    }


def command_record(args):
    """Return the command, without absolute paths, for the record of provenance."""
    return {"command": ["neuroextrap", *relative_words(args.argv)]}


def cost_line(what, seconds, n_bytes):
    """Describe size, time and memory (bytes at the peak) of a run in one line."""
    return (
        f"dry run: {what}; about {clock(seconds)} (h:mm:ss), {size_words(n_bytes)} of "
        "data; nothing written"
    )


def size_words(n_bytes):
    """Write a number of bytes."""
    if n_bytes < 2**30:
        return f"{n_bytes / 2**20:.0f} MiB"
    return f"{n_bytes / 2**30:.1f} GiB"


def cost_of_regions(cost, shard=None, what=""):
    """Describe what ``estimate_cost`` returned, and `what` is tested, in one line."""
    part = "" if shard is None else f", of which part {shard}"
    ways = [f"{tests} by {way}" for tests, way in cost.get("paths", {}).items()]
    size = (
        f"{cost['n_regions']} regions, {cost['n_features']} voxels, {what}"
        f"{cost['n_permutations']} permutations{part}"
    )
    words = "; ".join([size, *([", ".join(ways)] if ways else [])])
    return cost_line(words, cost["seconds"], cost["memory"])


def seconds_of(run, n, *, few=(2, 12)):
    """Return seconds of ``run(n)``, on a line through those of `few` (at most `n`)."""

    def timed(size):
        """Return the seconds of one call, which a busy machine hardly changes."""
        start = time.process_time()
        run(size)
        return time.process_time() - start

    run(few[0])  # imports and compilation
    fewer, more = ((size, timed(min(n, size))) for size in few)
    return continue_line(fewer, more, n)
