"""Self-contained HTML pages about fitted analyses, and their peak tables."""

from neuroextrap.reporting._peaks import peak_table

__all__ = ["peak_table"]
