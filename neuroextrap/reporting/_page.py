"""A self-contained page: sections with anchors, tables, pictures inside."""

import base64
import datetime
import html
import re
import shlex
import tempfile
import webbrowser
from pathlib import Path

from markupsafe import Markup

import neuroextrap
from neuroextrap.reporting._rendering import format_number, read_text, render
from neuroextrap.stats._validation import brief

_MOST_FILES = 3


class Report:
    """A self-contained HTML page, such as ``generate_report`` returns.

    It has the methods of :class:`nilearn.reporting.HTMLReport`. As the last value of a
    notebook's cell it is shown in a frame as wide as the notebook.

    Parameters
    ----------
    html : str
        The whole page.

    References
    ----------
    nilearn's user guide, "Plotting brain images" (pages of nilearn).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from neuroextrap.reporting._page import Report
    >>> page = Report("<!DOCTYPE html><title>Empty</title>")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "page.html"
    ...     page.save_as_html(path)
    ...     path.read_text(encoding="utf-8") == page.get_standalone()
    True
    """

    def __init__(self, html):
        self.html = html

    def __str__(self):
        """Return the whole page as HTML."""
        return self.html

    def get_standalone(self):
        """Return the whole page.

        Returns
        -------
        html : str
            HTML that needs no other file and no network.
        """
        return self.html

    def get_iframe(self, width="100%", height=800):
        """Return the page in an inline frame, for another page or a notebook.

        Parameters
        ----------
        width : int or str, default="100%"
            Width of the frame, in pixels or with a unit.
        height : int or str, default=800
            Height of the frame, in pixels or with a unit.

        Returns
        -------
        frame : str
            HTML of the frame.
        """
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="neuroextrap report" srcdoc="{page}" width="{width}" '
            f'height="{height}" style="border: 0"></iframe>'
        )

    def _repr_html_(self):
        """Return what a notebook shows."""
        return self.get_iframe()

    def save_as_html(self, file_name):
        """Write the page to a file.

        Parameters
        ----------
        file_name : str or path-like
            Path of the file; a file of that name is replaced.

        Raises
        ------
        FileNotFoundError
            If the folder of the file does not exist.
        """
        Path(file_name).write_text(self.html, encoding="utf-8")

    def open_in_browser(self, file_name=None):
        """Open the page in the system's browser.

        Parameters
        ----------
        file_name : str, path-like or None, default=None
            File that the page is written to first. If None, a file in the system's
            folder for temporary files, where it stays.
        """
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="neuroextrap_")) / "report.html"
        self.save_as_html(file_name)
        webbrowser.open(Path(file_name).resolve().as_uri())


def page_title(title, default):
    """Return the title that is asked for; TypeError unless it is text or None."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={brief(title)} must be text or None")
    return title or default


def make_page(title, sections, *, origin=None):
    """Put sections on one self-contained page, a :class:`Report`.

    Below the title stand the day, and of an `origin` (Origin) the files and command.
    `title` and the heading of each section, a pair (heading, HTML), are plain text and
    escaped here; an empty heading has no line and no entry in the contents. Sections
    without content are left out.
    """
    parts = _with_anchors([section for section in sections if section[1]])
    contents = [part for part in parts if part["heading"]]
    page = render(
        "page",
        title=title,
        about=about_results(origin),
        sections=parts,
        contents=contents if len(contents) > 1 else [],
        style=Markup(read_text("page.css")),
        script=Markup(read_text("page.js")),
        version=neuroextrap.__version__,
    )
    return Report(str(page))


def about_results(origin):
    """Return what the head of a page says: files, day and command, those known."""
    files = [] if origin is None else origin.names("imgs")
    more = len(files) - _MOST_FILES
    shown = files if more <= 0 else [*files[:_MOST_FILES], f"{more} more"]
    command = [] if origin is None else origin.record.get("command", [])
    today = datetime.date.today()
    day = f"{today.day} {today:%B %Y}"
    return {"files": shown, "day": day, "command": shlex.join(command)}


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


def list_of(words):
    """Return sentences as an escaped HTML list."""
    return render("list", items=words)


def folded(sections):
    """Return sections, HTML by heading, each as a line that opens it."""
    return Markup("\n").join(
        Markup("<details><summary>{}</summary>\n{}\n</details>").format(heading, each)
        for heading, each in sections.items()
    )


def answer(words, picture=""):
    """Return what was found, its first sentence set apart, and where."""
    return render("answer", verdict=words[0], sentences=words[1:], picture=picture)


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
