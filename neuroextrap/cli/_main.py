"""The entry point: parse, run one command, turn bad input into one line."""

import importlib
import importlib.util
import logging
import sys

from neuroextrap.cli._completion import add_print_completion
from neuroextrap.cli._console import console, one_line
from neuroextrap.cli._dask import dask_cluster
from neuroextrap.cli._parser import CommandParser
from neuroextrap.cli._termination import Terminated, ending_on_sigterm

logger = logging.getLogger(__name__)

_COMMANDS = (
    "demo",
    "searchlight",
    "bids",
    "merge",
    "encoding",
    "compare",
    "learning_curve",
    "group",
)

_BAD_INPUT = (ValueError, TypeError, OSError, MemoryError, ModuleNotFoundError)

_ENDS = {KeyboardInterrupt: ("interrupted", 130), Terminated: ("terminated", 143)}
"""What is said, and the exit code, by what ended a command: 128 and the signal."""

_EXAMPLES = """\
examples:
  neuroextrap demo demo_output
  neuroextrap searchlight --imgs run-*_bold.nii.gz --events run-*_events.tsv \\
      --t-r 2 --exclude rest --n-permutations 1000 --report results
  neuroextrap searchlight --help

exit codes: 0 the work was done, 2 input that cannot be used (one line on
standard error says what and why), 130 interrupted, 143 terminated (SIGTERM).
"""


def build_parser():
    """Return the parser of all commands that are installed.

    Returns
    -------
    argparse.ArgumentParser
    """
    from neuroextrap import __version__

    parser = CommandParser(
        is_command=False,
        prog="neuroextrap",
        description="How much does each patch of brain tell about a stimulus.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--version", action="version", version=f"neuroextrap {__version__}"
    )
    add_print_completion(parser)
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=CommandParser
    )
    for name in _COMMANDS:
        _add_command(subparsers, f"neuroextrap.cli._{name}")
    return parser


def _add_command(subparsers, module_name):
    """Add one command if its module is there."""
    if importlib.util.find_spec(module_name) is None:
        return
    module = importlib.import_module(module_name)
    before = set(subparsers.choices)
    module.add_parser(subparsers)
    for name in set(subparsers.choices) - before:
        subparsers.choices[name].set_defaults(run=module.run)


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        Words after the program's name; None takes those of the process.

    Returns
    -------
    exit_code : int
        0 when the command did its work, 2 for input that it cannot use, 130 when
        interrupted, 143 when terminated (SIGTERM).

    Raises
    ------
    SystemExit
        From ``--help`` and ``--version`` (code 0) and words it does not know (code 2).

    References
    ----------
    POSIX.1-2017, "Utility Syntax Guidelines" (chapter 12).

    Examples
    --------
    >>> from neuroextrap.cli import main
    >>> main(["merge", "no_such_folder", "joined", "--quiet"])
    2
    """
    words = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser()
    args = parser.parse_args(words)
    if not hasattr(args, "run"):
        parser.error("name a command")
    args.argv = words
    with console(quiet=args.quiet, verbose=args.verbose):
        try:
            with ending_on_sigterm(), dask_cluster(args):
                return args.run(args) or 0
        except _BAD_INPUT as error:
            logger.error("%s", one_line(error), exc_info=args.debug)
            return 2
        except KeyboardInterrupt as interrupt:
            end, code = _ENDS[type(interrupt)]
            logger.warning("%s; %s", end, str(interrupt) or "no results were written")
            return code
