"""Completion of words by the shell, made from the parser of the command line."""

import argparse

from neuroextrap.analysis._options import FILES, FOLDERS
from neuroextrap.cli._console import say

SHELLS = ("bash", "zsh", "tcsh")


def add_print_completion(parser):
    """Add the option that prints a script for the shell, and leaves."""
    parser.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=_PrintCompletion,
        default=argparse.SUPPRESS,
        help="print a script by which this shell completes commands, options and "
        "files, and exit (needs shtab)",
    )


class _PrintCompletion(argparse.Action):
    """Print the script of a shell, and leave."""

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
