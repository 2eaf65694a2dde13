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
    """Put sections on one self-contained page, a nilearn.reporting.HTMLReport.

    `title` and the heading of each section, a pair (heading, HTML), are plain text and
    escaped here; an empty heading has no line. ``get_standalone()`` of the page is its
    HTML, ``save_as_html(path)`` writes it, ``open_in_browser()`` shows it.
    """
    from nilearn.reporting import HTMLReport

    body = [f"<h1>{escape(title)}</h1>"]
    for heading, content in sections:
        if heading:
            body.append(f"<h2>{escape(heading)}</h2>")
        body.append(content)
    return HTMLReport(_HEAD, "\n".join(body), {"title": escape(title)})


def escape(text):
    """Return the text of an object so that it shows as itself in HTML."""
    return html.escape(str(text), quote=True)


def paragraphs(*texts, note=False):
    """Return texts as escaped paragraphs without empty ones; notes are set apart.

    >>> paragraphs("1 < 2", "")
    '<p>1 &lt; 2</p>'
    """
    kind = ' class="note"' if note else ""
    return "\n".join(f"<p{kind}>{escape(text)}</p>" for text in texts if text)


def key_value_table(items):
    """Return a dict as an escaped HTML table of two columns."""
    rows = "\n".join(
        f'<tr><td>{escape(name)}</td><td class="text">{escape(value)}</td></tr>'
        for name, value in items.items()
    )
    return f"<table>\n{rows}\n</table>"


def frame_table(frame):
    """Return a data frame as an escaped HTML table, numbers rounded for reading.

    Underscores of column names become spaces, so that they break into lines; the index
    is left out. (pandas' own HTML cannot tell cells of text from numbers.)
    """
    head = "".join(
        _cell(str(name).replace("_", " "), "th", column.iloc[0] if len(column) else 0)
        for name, column in frame.items()
    )
    rows = [
        "".join(_cell(format_number(value), "td", value) for value in row)
        for row in frame.itertuples(index=False)
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in [head, *rows])
    wide = ' class="wide"' if len(frame.columns) > _WIDE else ""
    return f"<table{wide}>\n{body}\n</table>"


def _cell(text, tag, value):
    """Return a cell; one that belongs to a value of text is set apart from numbers."""
    kind = ' class="text"' if isinstance(value, str) else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"


def format_number(value):
    """Return a value as a reader wants it: three significant digits, a dash for NaN.

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
    """Return a figure with its caption from the data URI of a picture."""
    alt = escape(caption)
    return (
        f'<figure><img src="{source}" alt="{alt}"><figcaption>{alt}</figcaption>'
        "</figure>"
    )
