"""How the documentation is built: offline, from simulated data, warnings as errors."""

import importlib
import inspect
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

try:
    from sphinx_gallery.sorting import ExplicitOrder
except ImportError:  # these settings are also read where no gallery is built
    ExplicitOrder = list

import neuroextrap


def is_ours(module, cls, method):
    """Whether a method is written in this project, not in scikit-learn's mixins."""
    value = getattr(getattr(importlib.import_module(module), cls), method)
    return (getattr(inspect.unwrap(value), "__module__", "") or "").startswith(project)


def escape_names_in_shapes(*arguments):
    """Keep ``(n_samples, n_elements_)`` from being read as a link."""
    lines = arguments[-1]
    for number, line in enumerate(lines):
        if "shape (" in line:
            lines[number] = re.sub(r"(?<=\w)_(?=[,)])", r"\\_", line)


def setup(app):
    """Connect what autodoc calls, and remove pages of names that may be gone."""
    shutil.rmtree(Path(app.srcdir) / "api" / "generated", ignore_errors=True)
    app.connect("autodoc-process-docstring", escape_names_in_shapes, priority=600)
    app.add_css_file("custom.css")
    app.add_js_file("accessible.js")


project = "neuroextrap"
author = "The neuroextrap developers"
copyright = "2026, the neuroextrap developers"
release = neuroextrap.__version__
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "command_help",
    "mathml",
    "package_summary",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/backreferences", "auto_examples/**/*.ipynb"]
default_role = "literal"
suppress_warnings = ["config.cache"]

# every name of each package's __all__, whatever file it is written in
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"is_ours": is_ours}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": "plot_",
    "within_subsection_order": ExplicitOrder(
        ["plot_searchlight.py", "plot_haxby.py", "*"]
    ),
    "doc_module": ("neuroextrap",),
    "backreferences_dir": "auto_examples/backreferences",
    "remove_config_comments": True,
    "download_all_examples": False,
    "min_reported_time": 1,
    "write_computation_times": False,  # its page loads scripts from the network
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\.|nilearn\.|neuroextrap\.",
}
# said by dependencies while they are imported; an example's own warnings stay visible
warnings.filterwarnings("ignore", category=FutureWarning, module="nilearn")
for message in (
    "Non-finite values detected",  # maps are NaN outside the brain, on purpose
    "You are using the 'agg' matplotlib backend",
    "Use a custom estimator at your own risk",
):
    warnings.filterwarnings("ignore", message=message)

# links into other packages' pages need the network, so they are asked for
if os.environ.get("NEUROEXTRAP_DOCS_ONLINE") == "1":
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "nilearn": ("https://nilearn.github.io/stable", None),
    }

# figures of the guide: scripts in figures/, drawn when the pages are built
plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_rcparams = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
}
plot_apply_rcparams = True

# prompts and results are left out of what the button copies
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_title = f"neuroextrap {release}"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "neuroextrap"},
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
# pages without pages below them: an empty column is not drawn
_ALONE = "index recipes first_map command_line decision_table faq glossary nilearn"
_ALONE += " benchmarks equations citing changelog"
html_sidebars = {page: [] for page in _ALONE.split()}
