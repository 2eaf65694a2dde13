"""A self-contained page: sections with anchors, tables, pictures inside."""

import re

from markupsafe import Markup

import neuroextrap
from neuroextrap.reporting._rendering import format_number, render
from neuroextrap.reporting._report import Report
from neuroextrap.reporting._slices import read_script


def make_page(title, sections):
    """Put sections on one self-contained page, a :class:`Report`.

    `title` and the heading of each section, a pair (heading, HTML), are plain text and
    escaped here; an empty heading has no line and no entry in the contents.
    """
    parts = _with_anchors(sections)
    contents = [part for part in parts if part["heading"]]
    page = render(
        "page",
        title=title,
        sections=parts,
        contents=contents if len(contents) > 1 else [],
        style=Markup(read_text("page.css")),
        script=Markup(read_script("page")),
        version=neuroextrap.__version__,
    )
    return Report(str(page))


def read_text(file_name):
    """Read one of the files beside the templates."""
    from importlib import resources

    folder = resources.files("neuroextrap.reporting").joinpath("_templates")
    return folder.joinpath(file_name).read_text(encoding="utf-8")


def _with_anchors(sections):
    """Return sections as dicts; every anchor is a heading's words, and unique."""
    parts, taken = [], {"results"}
    for heading, content in sections:
        words = re.sub(r"[^a-z0-9]+", "-", str(heading).lower()).strip("-") or "part"
        anchor, number = words, 1
        while anchor in taken:
            number += 1
            anchor = f"{words}-{number}"
        taken.add(anchor)
        parts.append({"heading": heading, "anchor": anchor, "content": Markup(content)})
    return parts


def key_value_table(items, caption="Table"):
    """Return a dict as an escaped HTML table of two columns."""
    return render("pairs", items=items.items(), caption=caption)


def frame_table(
    frame, caption="", *, headings=None, formats=None, kinds=None, places=None
):
    """Return a data frame as an escaped HTML table, numbers rounded for reading.

    `headings` are the words above columns by name (otherwise the name, its underscores
    as spaces), `formats` functions of their values; `kinds` are classes of rows. The
    index is left out. `places` are the cells of a first column; they may be ``Markup``,
    which a column of the frame must not hold: pandas makes plain text of it.
    """
    headings, formats = headings or {}, formats or {}
    columns = [
        {
            "heading": headings.get(name, str(name).replace("_", " ")),
            "title": name if name in headings else "",
            "is_text": len(column) > 0 and isinstance(column.iloc[0], str),
        }
        for name, column in frame.items()
    ]
    kinds = [""] * len(frame) if kinds is None else kinds
    first = [[] for _ in kinds] if places is None else [[place] for place in places]
    if places is not None:
        head = headings.get("place", "Place")
        columns.insert(0, {"heading": head, "title": "place", "is_text": True})
    rows = [
        {
            "kind": kind,
            "cells": cells
            + [
                formats.get(name, format_number)(value)
                for name, value in zip(frame.columns, row, strict=True)
            ],
        }
        for kind, cells, row in zip(
            kinds, first, frame.itertuples(index=False), strict=True
        )
    ]
    return render("table", columns=columns, rows=rows, caption=caption)


def figure_tag(source, caption, file_name=""):
    """Return a figure with its caption from the data URI of a picture.

    A button saves it under `file_name`, if there is one.
    """
    return render("figure", source=Markup(source), caption=caption, file_name=file_name)
