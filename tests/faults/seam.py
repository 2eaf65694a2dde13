"""All private names of the package that the tests of faults use or replace."""

from neuroextrap.analysis import _region_run
from neuroextrap.cli import _demo_acts, _searchlight_command
from neuroextrap.cli._console import Terminated, ending_on_sigterm
from neuroextrap.cli._main import build_parser
from neuroextrap.cohorts import _group_level
from neuroextrap.maps import _transaction
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.margins import _plan
from neuroextrap.margins.running._null import null_file
from neuroextrap.reporting._page import make_page

__all__ = [
    "ResultFiles",
    "Terminated",
    "_demo_acts",
    "_group_level",
    "_plan",
    "_region_run",
    "_searchlight_command",
    "_transaction",
    "build_parser",
    "ending_on_sigterm",
    "make_page",
    "null_file",
]
