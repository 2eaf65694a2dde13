"""A self-contained page: templates filled in, numbers as text, sections and tables."""

import base64
import datetime
import functools
import html
import io
import math
import re
import shlex
import tempfile
import webbrowser
from collections import Counter
from importlib import resources
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

import neuroextrap
from neuroextrap.maps._provenance import versions
from neuroextrap.maps._records import changed_parameters, described_parameters
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._validation import brief


def render(template, **values):
    """Fill in a template of this package; what is not ``Markup`` is escaped."""
    return Markup(_environment().get_template(f"{template}.html").render(**values))


def sentences(template, **values):
    """Return the paragraphs of a filled-in template of words, without empty ones."""
    blocks = re.split(r"\n\s*\n", render(template, **values))
    words = (" ".join(block.split()) for block in blocks)
    return [Markup(each) for each in words if each]


@functools.cache
def _environment():
    """Return the templates' common settings; a name without a value is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("neuroextrap.reporting", "_templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": format_number,
        "percent": format_percent,
        "confidence": format_confidence,
        "p": format_p_value,
        "at_least": percent_at_least,
        "bits_at_least": bits_in_words,
        "count": "{:,}".format,
        "points": percentage_points,
        "capitalized": capitalized,
        "sentence_case": sentence_case,
        "largest": largest,
        "bits": "{:.2f}".format,
        "bound": functools.partial(bits_at_least, digits=3),
        "change": bits_with_sign,
        "tsv_uri": tsv_uri,
    }
    environment.globals |= {"version": neuroextrap.__version__, "level": LEVEL}
    return environment


def read_text(file_name):
    """Read a style or a script of the pages, or the works that they cite."""
    folder = "_javascript" if file_name.endswith(".js") else "_templates"
    path = resources.files("neuroextrap.reporting").joinpath(folder, file_name)
    return path.read_text(encoding="utf-8")


def format_number(value):
    """Return a value as a reader wants it: three significant digits, a dash for NaN."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_percent(proportion):
    """Return a proportion in percent, small ones with a decimal."""
    percent = 100 * proportion
    if math.isnan(percent):
        return "-"
    return f"{percent:.0f}%" if percent >= 20 else f"{percent:.3g}%"


def percent_at_least(bound):
    """Return a lower bound in percent, never larger than it is."""
    percent = 100 * bound
    return f"{rounded_down(percent, 2 if percent >= 20 else 3):.3g}%"


def bits_at_least(bound, digits=2):
    """Return a lower bound in bits to significant digits, never larger than it is."""
    return "-" if math.isnan(bound) else f"{rounded_down(bound, digits):.{digits}g}"


def bits_in_words(bound):
    """Return a lower bound with its unit."""
    bits = bits_at_least(bound)
    return f"{bits} bit" if bits == "1" else f"{bits} bits"


def format_confidence(level):
    """Return a confidence level in percent, with all its digits."""
    return f"{100 * level:g}%"


def rounded_down(value, digits):
    """Round a number down to significant digits, but for errors of computing."""
    if not 0 < value < math.inf:
        return value
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return math.floor(value * scale + 1e-9) / scale


def format_p_value(p_value):
    """Return a p-value with two significant digits and without a leading zero."""
    if math.isnan(p_value):
        return "-"
    text = f"{p_value:.2g}"
    return text[1:] if text.startswith("0.") else text


def largest(values):
    """Return the largest of values, NaN left out."""
    return float(np.nanmax(values))


def percentage_points(difference):
    """Return a difference of proportions in percentage points, with its sign."""
    points = 100 * difference
    text = f"{points:+.0f}" if abs(points) >= 10 else f"{points:+.2g}"
    return text.replace("-", "\N{MINUS SIGN}")


def bits_with_sign(difference):
    """Return a difference of information, with its sign."""
    return f"{difference:+.2f}".replace("-", "\N{MINUS SIGN}")


def capitalized(words):
    """Return words as they begin a sentence."""
    return words[:1].upper() + words[1:]


def sentence_case(label):
    """Begin a name with a capital, unless it is a letter such as t."""
    return label if len(label.split()[0]) == 1 else capitalized(label)


def paragraphs(*texts, note=False):
    """Return texts as escaped paragraphs without empty ones; notes are set apart."""
    kind = Markup(' class="note"') if note else ""
    return Markup("\n").join(
        Markup("<p{}>{}</p>").format(kind, text) for text in texts if text
    )


class Report:
    """A self-contained HTML page, with the methods of nilearn's ``HTMLReport``."""

    def __init__(self, html):
        self.html = html

    def get_standalone(self):
        """Return the whole page: HTML that needs no other file and no network."""
        return self.html

    __str__ = get_standalone

    def get_iframe(self, width="100%", height=800):
        """Return the page in an inline frame, its sides in pixels or with a unit."""
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="neuroextrap report" srcdoc="{page}" width="{width}" '
            f'height="{height}" style="border: 0"></iframe>'
        )

    _repr_html_ = get_iframe

    def save_as_html(self, file_name):
        """Write the page to a file; a file of that name is replaced."""
        Path(file_name).write_text(self.html, encoding="utf-8")

    def open_in_browser(self, file_name=None):
        """Write the page to a file, or a temporary one, and open it in the browser."""
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="neuroextrap_")) / "report.html"
        self.save_as_html(file_name)
        webbrowser.open(Path(file_name).resolve().as_uri())


def page_title(title, default):
    """Return the title that is asked for; TypeError unless it is text or None."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={brief(title)} must be text or None")
    return title or default


def sections_of(
    kind, about, picture="", figures=(), *, notes="", details=(), requested=()
):
    """Return the sections of a page, pairs (heading, HTML), as all pages order them.

    Templates of the `kind` say what was found, what that does not show, and by which
    methods, of what is known `about` it; `picture` and `notes` (HTML) show where.
    """
    result, limits, methods = (
        sentences(f"{kind}_{part}", **about) for part in ("found", "limits", "methods")
    )
    return [
        ("What was found", answer(result, picture) + notes),
        *figures,
        ("What this does not show", render("list", items=limits)),
        *details,
        ("Methods", methods_section(methods)),
        *requested,
    ]


def make_page(title, sections, *, origin=None):
    """Put sections (heading, HTML) on one page, a Report; empty ones are left out."""
    parts = _with_anchors([section for section in sections if section[1]])
    contents = [part for part in parts if part["heading"]]
    today = datetime.date.today()
    page = render(
        "page",
        title=title,
        files=[] if origin is None else origin.names("imgs"),
        day=f"{today.day} {today:%B %Y}",
        command=shlex.join([] if origin is None else origin.record.get("command", [])),
        sections=parts,
        contents=contents if len(contents) > 1 else [],
        style=Markup(read_text("page.css")),
        script=Markup(read_text("page.js")),
    )
    return Report(str(page))


def _with_anchors(sections):
    """Return sections as dicts; every anchor is a heading's words, and unique."""
    parts, taken = [], Counter(["results"])
    for heading, content in sections:
        anchor = re.sub(r"[^a-z0-9]+", "-", str(heading).lower()).strip("-") or "part"
        taken[anchor] += 1
        if taken[anchor] > 1:
            anchor += f"-{taken[anchor]}"
        parts.append({"heading": heading, "anchor": anchor, "content": Markup(content)})
    return parts


def frame_table(frame, caption="", columns=None, *, kind="", places=(), regions=()):
    """Return a data frame as an escaped HTML table, numbers rounded for reading.

    `columns` are headings by name, with or without how values are written: the name of
    a filter of templates. `kind` is the class of all rows, `places` a further first
    column, of buttons that move the viewer to `regions`, if there are.
    """
    columns, filters = columns or {}, _environment().filters
    hows = {n: each[1] for n, each in columns.items() if not isinstance(each, str)}
    headings = columns | {name: columns[name][0] for name in hows}
    texts = [name for name, x in frame.items() if len(x) and isinstance(x.iloc[0], str)]
    cells = {n: map(filters[hows.get(n, "number")], x) for n, x in frame.items()}
    if len(places):
        headings, texts = {"place": "Place"} | headings, ["place", *texts]
        cells = {"place": places} | cells
    return render(
        "table",
        names=list(cells),
        headings=headings,
        texts=texts,
        rows=zip(*cells.values(), strict=True),
        kind=kind,
        caption=caption,
        regions=regions,
    )


def answer(words, picture=""):
    """Return what was found, its first sentence set apart, and where."""
    return render("answer", verdict=words[0], sentences=words[1:], picture=picture)


def figure_tag(source, caption, file_name=""):
    """Return a picture, a data URI, as a figure; a button saves it under its name."""
    return render("figure", source=Markup(source), caption=caption, file_name=file_name)


def tsv_uri(frame):
    """Return a data frame as the address of a tab-separated file."""
    text = frame.to_csv(sep="\t", index=False).encode("utf-8")
    return Markup("data:text/tab-separated-values;base64,") + base64.b64encode(
        text
    ).decode("ascii")


def methods_section(words):
    """Return sentences to cite, and the works that they name, as HTML."""
    paragraph = Markup(" ").join(words)
    table = io.StringIO(read_text("works.tsv"))
    works = pd.read_csv(table, sep="\t", dtype=str, keep_default_na=False)
    works = works[[escape(cited) in paragraph for cited in works["cited"]]]
    return render("methods", paragraph=paragraph, works=works.to_dict("records"))


_LONGEST = 300


def parameter_tables(fitted):
    """Show the parameters: those that differ from the default first, then the rest."""
    changed, given = changed_parameters(fitted), described_parameters(fitted)
    changed = {n: v for n, v in changed.items() if n in given}
    others = {n: v for n, v in given.items() if n not in changed}
    others["versions"] = ", ".join(f"{name} {v}" for name, v in versions().items())
    tables = {"changed": parameter_table(changed), "others": parameter_table(others)}
    return render("parameters", **tables)


def parameter_table(parameters):
    """Tabulate parameters, long values cut; "" without any."""
    if not parameters:
        return ""
    items = {name: short_words(v) for name, v in sorted(parameters.items())}
    return render("pairs", items=items, caption="Parameters")


def short_words(value):
    """Return a described value as text: its class, file or hash before all else."""
    text = " ".join(str(_plain(value)).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _plain(value):
    """Return the most telling part of a described value."""
    if not isinstance(value, dict):
        return value
    if "class" in value and value.get("parameters"):
        listed = ", ".join(f"{n}={_plain(v)}" for n, v in value["parameters"].items())
        return f"{value['class']}({listed})"
    texts = [value[key] for key in ("file", "class", "image") if key in value]
    kind = texts[0] if texts else None
    shape = value.get("shape")
    if kind is None and shape is not None:
        kind = f"array of {' x '.join(map(str, shape))}"
    sha256 = value.get("sha256")
    first = next(iter(sha256.values())) if isinstance(sha256, dict) else sha256
    first = first[0] if isinstance(first, list) else first
    if kind is None:
        return value
    return f"{kind}, SHA-256 {str(first)[:12]}..." if first else str(kind)
