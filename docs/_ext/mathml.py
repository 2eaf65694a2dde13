"""Formulas as MathML, written when the pages are built: no script, no network."""

import html
import re
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)

MATHML = "http://www.w3.org/1998/Math/MathML"
ACCENTS = ("\N{MODIFIER LETTER CIRCUMFLEX ACCENT}", "\N{MODIFIER LETTER MACRON}")
NAMED = re.compile(r"&(?!amp;|lt;|gt;)\w+;")  # characters that HTML names, XML not
ElementTree.register_namespace("", MATHML)


def place_indices(markup):
    """Put the index of an accented letter beside it; docutils puts it beneath."""
    root = ElementTree.fromstring(NAMED.sub(lambda m: html.unescape(m[0]), markup))
    for found in root.iter(f"{{{MATHML}}}munderover"):
        letter, index, over = found
        if (over.text or "").strip() not in ACCENTS:
            continue
        accented = ElementTree.Element(f"{{{MATHML}}}mover", {"accent": "true"})
        accented.extend([letter, over])
        found.tag = f"{{{MATHML}}}msub"
        found[:] = [accented, index]
    return ElementTree.tostring(root, encoding="unicode")


def formula(node, *, as_block):
    """Return the MathML of a node, or its source with a warning."""
    try:
        return place_indices(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def visit_inline(translator, node):
    """Write a formula inside a line."""
    translator.body.append(formula(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula on lines of its own."""
    translator.body.append('<div class="math-block" tabindex="0">')
    translator.body.append(formula(node, as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
