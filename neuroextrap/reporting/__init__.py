"""Self-contained HTML pages about fitted analyses, and their peak tables."""

from neuroextrap.reporting._curves import curve_axes
from neuroextrap.reporting._identification import (
    identification_report,
    identification_sections,
)
from neuroextrap.reporting._page import (
    format_number,
    frame_table,
    make_page,
    paragraphs,
)
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._pictures import embed_figure
from neuroextrap.reporting._viewer import interactive_viewer

__all__ = [
    "curve_axes",
    "embed_figure",
    "format_number",
    "frame_table",
    "identification_report",
    "identification_sections",
    "interactive_viewer",
    "make_page",
    "paragraphs",
    "peak_table",
]
