"""The directive ``package-summary``: every public name of a package, one line each."""

import importlib
import inspect

from sphinx.util.docutils import SphinxDirective


class PackageSummary(SphinxDirective):
    """List the classes, then the functions, of a package's ``__all__``."""

    required_arguments = 1

    def run(self):
        """Write tables of autosummary and parse them."""
        package = self.arguments[0]
        module = importlib.import_module(package)
        public = {name: getattr(module, name) for name in module.__all__}
        groups = {
            "Classes": [name for name in public if inspect.isclass(public[name])],
            "Functions": [name for name in public if inspect.isroutine(public[name])],
        }
        lines = [f".. currentmodule:: {package}", ""]
        for title, names in groups.items():
            if names:
                lines += [f".. rubric:: {title}", "", ".. autosummary::"]
                lines += ["   :nosignatures:", "", *(f"   {name}" for name in names)]
                lines += [""]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app):
    """Register the directive."""
    app.add_directive("package-summary", PackageSummary)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
