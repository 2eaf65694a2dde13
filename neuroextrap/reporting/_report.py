"""A page in memory: written to a file, opened in a browser, shown in a notebook."""

import html
import tempfile
import webbrowser
from pathlib import Path


class Report:
    """A self-contained HTML page, such as ``generate_report`` returns.

    It has the methods of :class:`nilearn.reporting.HTMLReport`. As the last value of a
    notebook's cell it is shown in a frame as wide as the notebook.

    Parameters
    ----------
    html : str
        The whole page.

    References
    ----------
    nilearn's user guide, "Plotting brain images" (pages of nilearn).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from neuroextrap.reporting import Report
    >>> page = Report("<!DOCTYPE html><title>Empty</title>")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "page.html"
    ...     page.save_as_html(path)
    ...     path.read_text(encoding="utf-8") == page.get_standalone()
    True
    """

    def __init__(self, html):
        self.html = html

    def __str__(self):
        """Return the whole page as HTML."""
        return self.html

    def get_standalone(self):
        """Return the whole page.

        Returns
        -------
        html : str
            HTML that needs no other file and no network.
        """
        return self.html

    def get_iframe(self, width="100%", height=800):
        """Return the page in an inline frame, for another page or a notebook.

        Parameters
        ----------
        width : int or str, default="100%"
            Width of the frame, in pixels or with a unit.
        height : int or str, default=800
            Height of the frame, in pixels or with a unit.

        Returns
        -------
        frame : str
            HTML of the frame.
        """
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="neuroextrap report" srcdoc="{page}" width="{width}" '
            f'height="{height}" style="border: 0"></iframe>'
        )

    def _repr_html_(self):
        """Return what a notebook shows."""
        return self.get_iframe()

    def save_as_html(self, file_name):
        """Write the page to a file.

        Parameters
        ----------
        file_name : str or path-like
            Path of the file; a file of that name is replaced.

        Raises
        ------
        FileNotFoundError
            If the folder of the file does not exist.
        """
        Path(file_name).write_text(self.html, encoding="utf-8")

    def open_in_browser(self, file_name=None):
        """Open the page in the system's browser.

        Parameters
        ----------
        file_name : str, path-like or None, default=None
            File that the page is written to first. If None, a file in the system's
            folder for temporary files, where it stays.
        """
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="neuroextrap_")) / "report.html"
        self.save_as_html(file_name)
        webbrowser.open(Path(file_name).resolve().as_uri())
