"""Self-contained HTML pages about fitted analyses, and their peak tables."""

from neuroextrap.reporting._comparison_page import comparison_report
from neuroextrap.reporting._identification_page import (
    identification_sections,
)
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._viewer import interactive_viewer

__all__ = [
    "comparison_report",
    "identification_sections",
    "interactive_viewer",
    "peak_table",
]
