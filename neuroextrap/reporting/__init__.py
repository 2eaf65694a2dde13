"""Self-contained HTML pages about fitted analyses, and their peak tables."""

from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._viewer import interactive_viewer

__all__ = [
    "interactive_viewer",
    "peak_table",
]
