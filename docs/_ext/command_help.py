"""The directive ``command-help``: what a command prints for ``--help-all``."""

import contextlib
import io
import os

from docutils import nodes
from docutils.parsers.rst import Directive

from neuroextrap.cli import main


class CommandHelp(Directive):
    """Show the help of ``neuroextrap ARGUMENTS``."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Ask the command itself."""
        words = self.arguments[0].split() if self.arguments else []
        os.environ["COLUMNS"] = "80"
        page = io.StringIO()
        with contextlib.redirect_stdout(page), contextlib.suppress(SystemExit):
            main([*words, "--help-all" if words else "--help"])
        return [nodes.literal_block(page.getvalue(), page.getvalue(), language="text")]


def setup(app):
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
