"""The entry point: parse, run one command, turn bad input into one line."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from neuroextrap._options import FILES, FOLDERS
from neuroextrap.cli._console import (
    Terminated,
    console,
    dask_cluster,
    ending_on_sigterm,
    logger,
    say,
)
from neuroextrap.cli._parser import CommandParser, take_last_as_output

_COMMANDS = (
    "demo check searchlight multiverse bids merge encoding continuous compare scores "
    "learning-curve group"
)
_BAD_INPUT = (ValueError, TypeError, OSError, MemoryError, ModuleNotFoundError)

# what ended a command: what is said, and the exit code, 128 and the signal
_ENDS = {KeyboardInterrupt: ("interrupted", 130), Terminated: ("terminated", 143)}

_ABOUT = "How much does each patch of brain tell about a stimulus."
_EXAMPLES = """\
examples:
  neuroextrap demo demo_output
  neuroextrap searchlight --imgs run-*_bold.nii.gz --events run-*_events.tsv \\
      --t-r 2 --exclude rest --n-permutations 1000 --report results
  neuroextrap searchlight --help          (--help-all: all options)

exit codes: 0 the work was done, 2 input that cannot be used (one line on
standard error says what and why), 130 interrupted, 143 terminated (SIGTERM).
"""


def build_parser():
    """Return the parser of all commands."""
    from neuroextrap import __version__

    version = f"neuroextrap {__version__}"
    parser = CommandParser(
        is_command=False, prog="neuroextrap", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("--print-completion", action=_PrintCompletion, choices=SHELLS)
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=CommandParser
    )
    for name in _COMMANDS.split():
        room = f"neuroextrap.cli._{name.replace('-', '_')}_command"
        module = importlib.import_module(room)
        module.COMMAND.add_to(subparsers, name, module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
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
        return _exit_code(args)


def _exit_code(args):
    """Run a command; say in one line what ended it, if anything did."""
    try:
        if getattr(args, "out", "") is None:
            take_last_as_output(args)
        with ending_on_sigterm(), dask_cluster(args):
            done = args.run(args)  # what is said, the exit code, or None
            if isinstance(done, str):
                say(done)
                return 0
            return done or 0
    except _BAD_INPUT as error:
        from neuroextrap.stats._validation import one_line

        logger.error("%s", one_line(error), exc_info=args.debug)
        return 2
    except KeyboardInterrupt as interrupt:
        end, code = _ENDS[type(interrupt)]
        logger.warning("%s; %s", end, str(interrupt) or "no results were written")
        return code


SHELLS = ("bash", "zsh", "tcsh")


class _PrintCompletion(argparse.Action):
    """Print the script of a shell, and leave."""

    def __init__(self, *args, **kwargs):
        about = (
            "print a script by which this shell completes commands, options and files, "
            "and exit (needs shtab)"
        )
        kwargs |= {"default": argparse.SUPPRESS, "help": about}
        super().__init__(*args, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        """Make the script of all commands from the parser."""
        try:
            import shtab
        except ModuleNotFoundError:
            parser.error(
                f"{option_string} needs shtab; install it (python -m pip install "
                "shtab), or neuroextrap with the extra completion"
            )
        del namespace  # nothing is parsed after this
        _mark_paths(parser, shtab)
        say(shtab.complete(parser, values))
        parser.exit()


def _mark_paths(parser, shtab):
    """Tell for every option and argument whether it is a file or a folder."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _mark_paths(command, shtab)
        elif action.choices is None and action.nargs != 0:
            if action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
            elif action.metavar in FILES:
                action.complete = shtab.FILE
