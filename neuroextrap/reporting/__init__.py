"""Self-contained HTML pages about fitted analyses, and their peak tables."""

from neuroextrap.reporting._identification import (
    identification_report,
    identification_sections,
)
from neuroextrap.reporting._page import format_number, make_page
from neuroextrap.reporting._peaks import peak_table

__all__ = [
    "format_number",
    "identification_report",
    "identification_sections",
    "make_page",
    "peak_table",
]
