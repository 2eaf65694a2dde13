"""A self-contained page: sections with anchors, tables, pictures inside."""

import base64
import re

from markupsafe import Markup

import neuroextrap
from neuroextrap.reporting._rendering import format_number, read_text, render, sentences
from neuroextrap.reporting._report import Report


def make_page(title, sections):
    """Put sections on one self-contained page, a :class:`Report`.

    `title` and the heading of each section, a pair (heading, HTML), are plain text and
    escaped here; an empty heading has no line and no entry in the contents. Sections
    without content are left out.
    """
    parts = _with_anchors([section for section in sections if section[1]])
    contents = [part for part in parts if part["heading"]]
    page = render(
        "page",
        title=title,
        sections=parts,
        contents=contents if len(contents) > 1 else [],
        style=Markup(read_text("page.css")),
        script=Markup(read_text("page.js")),
        version=neuroextrap.__version__,
    )
    return Report(str(page))


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


def list_of(template, **values):
    """Return the paragraphs of a filled-in template of words as a list."""
    return render("list", items=sentences(template, **values))


def answer(words, picture=""):
    """Return what was found, its first sentence set apart, and where."""
    return render("answer", verdict=words[0], sentences=words[1:], picture=picture)


def methods_section(words, works):
    """Return the paragraph to cite, and what it refers to, as HTML."""
    return render("methods", paragraph=Markup(" ").join(words), references=works)


def figure_tag(source, caption, file_name=""):
    """Return a figure with its caption from the data URI of a picture.

    A button saves it under `file_name`, if there is one.
    """
    return render("figure", source=Markup(source), caption=caption, file_name=file_name)


def tsv_uri(frame):
    """Return a data frame as the address of a tab-separated file."""
    text = frame.to_csv(sep="\t", index=False).encode("utf-8")
    return Markup("data:text/tab-separated-values;base64,") + base64.b64encode(
        text
    ).decode("ascii")
