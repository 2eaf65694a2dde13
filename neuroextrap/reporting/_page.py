"""A self-contained page: text is escaped, pictures are inside."""

import html
import math
import string

_WIDE = 10

_HEAD = string.Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body {font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; margin: 0 auto;
      max-width: 70rem; padding: 1.5rem;}
h1 {font-size: 1.6rem; margin-bottom: .3rem;}
h2 {font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #d0d7de;}
h3 {font-size: 1.05rem; margin-top: 1.6rem;}
table {border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0;
       display: block; max-width: 100%; overflow-x: auto;}
th, td {padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e4e8ec;}
th:first-child, td:first-child {text-align: left;}
th {background: #f3f5f7; vertical-align: bottom;}
.wide {font-size: .8rem;}
.wide td.text {min-width: 8rem;}
th.text {text-align: left;}
.wide th, .wide td {padding: .25rem .28rem;}
td.text {text-align: left; overflow-wrap: anywhere; max-width: 40rem;}
figure {display: inline-block; margin: .6rem .8rem .6rem 0; vertical-align: top;}
figcaption {font-size: .85rem; color: #57606a; max-width: 33rem;}
img {max-width: 100%; height: auto;}
.note {background: #fff8e1; border-left: 4px solid #e69f00; padding: .5rem .9rem;
       margin: .6rem 0;}
details {margin: .6rem 0;}
</style>
</head>
<body>
$body
</body>
</html>
""")


def make_page(title, sections):
    """Put sections on one self-contained page.

    Parameters
    ----------
    title : str
        Plain text; escaped here.
    sections : sequence of (str, str)
        Heading (plain text, escaped here; an empty one has no heading line) and the
        section's HTML.

    Returns
    -------
    nilearn.reporting.HTMLReport
        ``get_standalone()`` is the whole page; ``save_as_html(path)`` writes it, in a
        frame, ``open_in_browser()`` shows it.

    References
    ----------
    nilearn's user guide, "Reporting", for the type of the page.

    Examples
    --------
    >>> from neuroextrap.reporting._page import make_page
    >>> page = make_page("a < b", [("First", "<p>text</p>")])
    >>> "<h1>a &lt; b</h1>" in page.get_standalone()
    True
    """
    from nilearn.reporting import HTMLReport

    body = [f"<h1>{escape(title)}</h1>"]
    for heading, content in sections:
        if heading:
            body.append(f"<h2>{escape(heading)}</h2>")
        body.append(content)
    return HTMLReport(_HEAD, "\n".join(body), {"title": escape(title)})


def escape(text):
    """Return text that shows as itself in HTML.

    Parameters
    ----------
    text : object
        Turned into a string first.

    Returns
    -------
    str
    """
    return html.escape(str(text), quote=True)


def paragraphs(*texts, note=False):
    """Return escaped paragraphs, empty ones left out.

    Parameters
    ----------
    *texts : str
        Plain text.
    note : bool, default=False
        Set apart, as a caution.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from neuroextrap.reporting._page import paragraphs
    >>> paragraphs("1 < 2", "")
    '<p>1 &lt; 2</p>'
    """
    kind = ' class="note"' if note else ""
    return "\n".join(f"<p{kind}>{escape(text)}</p>" for text in texts if text)


def key_value_table(items):
    """Return a two-column table of names and values, escaped.

    Parameters
    ----------
    items : dict
        Name to value.

    Returns
    -------
    str
    """
    rows = "\n".join(
        f'<tr><td>{escape(name)}</td><td class="text">{escape(value)}</td></tr>'
        for name, value in items.items()
    )
    return f"<table>\n{rows}\n</table>"


def frame_table(frame):
    """Return a data frame as an HTML table, escaped, numbers rounded for reading.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns become headings, underscores spaces; the index is left out.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> import pandas
    >>> from neuroextrap.reporting._page import frame_table
    >>> "<td>0.333</td>" in frame_table(pandas.DataFrame({"share": [1 / 3]}))
    True
    """
    head = "".join(_heading(name, column) for name, column in frame.items())
    rows = []
    for row in frame.itertuples(index=False):
        cells = "".join(_cell(value) for value in row)
        rows.append(f"<tr>{cells}</tr>")
    wide = ' class="wide"' if len(frame.columns) > _WIDE else ""
    return f"<table{wide}>\n<tr>{head}</tr>\n{chr(10).join(rows)}\n</table>"


def _cell(value):
    """Return a cell; text is set apart from numbers."""
    return f"<td{_kind(value)}>{escape(format_number(value))}</td>"


def _heading(name, column):
    """Return a column's name in words, so that it can be broken into lines."""
    kind = _kind(column.iloc[0]) if len(column) else ""
    return f"<th{kind}>{escape(str(name).replace('_', ' '))}</th>"


def _kind(value):
    """Return the class of a cell with this value."""
    return ' class="text"' if isinstance(value, str) else ""


def format_number(value):
    """Return a value as a reader wants it: three significant digits, no NaN.

    Parameters
    ----------
    value : object
        Floats are rounded, NaN becomes a dash, anything else its text.

    Returns
    -------
    str
        Plain text.

    Examples
    --------
    >>> from neuroextrap.reporting._page import format_number
    >>> [format_number(value) for value in (0.12345, 51.0, float("nan"), "V1")]
    ['0.123', '51', '-', 'V1']
    """
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000 or value == round(value):
        return f"{value:.0f}"
    return f"{value:.3g}"


def figure_tag(source, caption):
    """Return a figure with its caption.

    Parameters
    ----------
    source : str
        Data URI of the picture.
    caption : str
        Plain text.

    Returns
    -------
    str
    """
    alt = escape(caption)
    return (
        f'<figure><img src="{source}" alt="{alt}"><figcaption>{alt}</figcaption>'
        "</figure>"
    )
