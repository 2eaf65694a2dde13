"""Templates of pages, filled in, and how numbers are written in them."""

import functools
import math
import re
from importlib import resources
from numbers import Integral

from markupsafe import Markup


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
    }
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
    told = bits_at_least(bound)
    return f"{told} bit" if told == "1" else f"{told} bits"


def format_confidence(level):
    """Return a confidence level in percent, with all its digits."""
    return f"{100 * level:g}%"


def format_of(name):
    """Return how values of the map of this name are written: bounds rounded down."""
    if "_bound" in name:
        return functools.partial(bits_at_least, digits=3)
    return format_number


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


def percentage_points(difference):
    """Return a difference of proportions in percentage points, with its sign."""
    points = 100 * difference
    text = f"{points:+.0f}" if abs(points) >= 10 else f"{points:+.2g}"
    return text.replace("-", "\N{MINUS SIGN}")


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
