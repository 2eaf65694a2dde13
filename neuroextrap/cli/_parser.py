"""The parser of the command line, made from options that are declared elsewhere."""

import argparse
import difflib
import re
from typing import Any

from neuroextrap.analysis._options import flag, path, text
from neuroextrap.analysis._parameters import parameters
from neuroextrap.cli._console import say

_MOST_LINES = 45  # of help without --help-all


class _ShortHelp(argparse.RawDescriptionHelpFormatter):
    """Help of a command: options that most users need, in one list, and an example."""

    def start_section(self, heading):
        """Begin no section of its own."""

    def end_section(self):
        """End none."""

    def add_argument(self, action):
        """Add an option unless it is for few."""
        if getattr(action, "is_first", not action.option_strings):
            super().add_argument(action)

    def add_text(self, text):
        """Add a text; of one with examples the first of them only."""
        before, examples, after = (text or "").partition("examples:\n")
        if examples:
            first = re.split(r"\n(?=  \S)", after.strip("\n"))[0]
            text = f"\nexample:\n{first}"
        super().add_text(text if examples or "\n\n" not in before else None)


class _FullHelp(argparse.Action):
    """Print the help of all options, and leave."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Print it."""
        del namespace, values, option_string
        say(parser.format_help(short=False))
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line and whose commands share some options.

    Of commands with many options ``--help`` shows the first ones, ``--help-all`` all.

    The parser of one command (`is_command`) keeps what was said about messages before
    the command's name. With `intermixed`, options may stand between its other words.
    Further arguments are those of ``argparse.ArgumentParser``.
    """

    def __init__(self, *args, is_command=True, intermixed=False, **kwargs):
        self._intermixed = intermixed
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("conflict_handler", "resolve")
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        group = self.add_argument_group("messages")
        volume = group.add_mutually_exclusive_group()
        default = argparse.SUPPRESS if is_command else False
        for where, name, what in (
            (volume, "--quiet", "show warnings only"),
            (volume, "--verbose", "show debug messages too"),
            (group, "--debug", "show the traceback of an error"),
        ):
            where.add_argument(name, action="store_true", default=default, help=what)
        if is_command:
            whole: Any = group.add_argument(
                "--help-all",
                action=_FullHelp,
                nargs=0,
                default=argparse.SUPPRESS,
                help="show all options and explanations, and exit",
            )
            whole.is_first = True

    def format_help(self, *, short=True):
        """Return the help; the `short` one leaves out what few need, if it is long."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        whole = super().format_help()
        if not short or whole.count("\n") <= _MOST_LINES:
            return whole
        self.formatter_class = _ShortHelp
        return super().format_help()

    def parse_known_args(self, args=None, namespace=None):
        """Parse words as ``argparse`` does, options between the others if intermixed.

        ``argparse`` joins words that options separate by calling this method again.
        """
        if not self._intermixed:
            found, unknown = super().parse_known_args(args, namespace)
            self._suggest(unknown)
            return found, unknown
        self._intermixed = False
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = True

    def _suggest(self, unknown):
        """Say which option was meant, if one is written nearly like an unknown one."""
        options = re.findall(r"(?<!\S)--[a-z][a-z-]*", self.format_help(short=False))
        for word in unknown:
            written = word.partition("=")[0]
            meant = difflib.get_close_matches(written, options, n=1, cutoff=0.75)
            if meant and written.startswith("--"):
                self.error(f"unrecognized argument {written}; did you mean {meant[0]}?")

    def error(self, message):
        """Write one line and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class RaisingParser(CommandParser):
    """A parser of options in files, which raises instead of leaving."""

    def error(self, message):
        """Raise ValueError."""
        raise ValueError(message)

    def parse_file(self, where, options, words=()):
        """Parse options of a file, by name, as if they were given before the words.

        `where` begins what a ValueError says.
        """
        given: list[str] = []
        for key, value in options.items():
            option = word_of(key)
            if isinstance(value, dict):
                raise ValueError(f"{where}: {key} is a table; give a value")
            if isinstance(value, bool):
                off = f"--no-{option[2:]}"
                default = bool(self.get_default(key.replace("-", "_")))
                given += [] if value == default else [option if value else off]
            elif isinstance(value, list):
                given += [option, *map(str, value)]
            else:
                given.append(f"{option}={value}")
        try:
            return self.parse_args([*given, *words])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error


class _NamesOrAll(argparse.Action):
    """Keep the names that follow an option, or True if none do."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Note the names."""
        del parser, option_string
        setattr(namespace, self.dest, values or True)


def add_options(parser, title, options, **said):
    """Add options by their names, an Option each, as a group of help; return the group.

    Without a title they go to the parser itself. `said` are words for help of defaults
    that are this command's own.
    """
    group = parser if title is None else parser.add_argument_group(title)
    for name, option in options.items():
        own = option._replace(said=said[name]) if name in said else option
        _add_option(group, name, own)
    return group


def _add_option(group, name, option):
    """Add one option."""
    word = word_of(name)
    how = {"dest": name, "help": option.sentence, "default": option.default}
    if option.required:
        how["required"] = True
    if option.kind is bool and option.default is None:
        how["action"] = argparse.BooleanOptionalAction
    elif option.kind is bool:
        how["action"] = f"store_{str(not option.default).lower()}"
        word = f"--no-{word[2:]}" if option.default else word
    elif option.many:
        all_or_names = option.default is False
        how |= {"nargs": "*", "action": _NamesOrAll} if all_or_names else {"nargs": "+"}
    if option.kind is not bool:
        how["metavar"] = option.metavar
        how |= {} if option.kind is str else {"type": option.kind}
        how |= {} if option.choices is None else {"choices": option.choices}
    group.add_argument(word, **how).is_first = option.first or option.required


def word_of(name):
    """Return an option's word, as ``--n-jobs`` for n_jobs."""
    return f"--{name.replace('_', '-')}"


def options_of(kind, *sections, **changed):
    """Return the options of parameters of a kind, by word, those of sections if given.

    `changed` are fields of options that a command has differently, a dict by word, or
    None for options that it lacks.
    """
    rows = [row for row in parameters(kind) if row.option is not None]
    return {
        row.word: row.option._replace(**changed.get(row.word, {}))
        for row in rows
        if not sections or row.section in sections
        if changed.get(row.word, {}) is not None
    }


DRY_RUN = flag(
    "check the input and print size, memory and time of the run, but write nothing",
    first=True,
)
OVERWRITE = flag("replace results that are already in the output folder", first=True)
DASK = {
    "dask": text(
        "run on the Dask cluster of this scheduler instead of --n-jobs workers: an "
        "address such as tcp://host:8786, or its scheduler file; the work of a worker "
        "that dies is repeated",
        None,
        "ADDRESS",
    )
}
_REPORT = flag("also write a self-contained report.html", first=True)
_PICTURES = {
    "title": text("title of the report", None, said='"Identification report"'),
    "bg_img": path(
        "image drawn under the maps of the report: an anatomy in their space, mni152 "
        "(the template), or none",
        said="the template if the images are in MNI space by their header's code 4 or "
        "their name's space-MNI..., else their mean",
    ),
    "atlas": path(
        "labels image in the space of the maps that names the places of peaks in the "
        "report and in peaks.tsv; names are read from the table beside it (atlas.tsv "
        "for atlas.nii.gz, columns index and name)",
        said="none",
    ),
}
_BIDS = flag(
    "name and place results as BIDS derivatives, or not",
    None,
    said="do so if all inputs have BIDS names",
)


def add_output_options(parser, *, maps=True):
    """Add the options of files; with `maps`, those of a report that draws maps."""
    options = {"overwrite": OVERWRITE, "bids": _BIDS, "report": _REPORT}
    add_options(parser, "output", options | (_PICTURES if maps else {}))


def add_resource_options(parser, kind):
    """Add the options of workers, memory and shards, which do not change results."""
    title = "resources (without an effect on results)"
    options = options_of(kind, "resources") | DASK | {"dry_run": DRY_RUN}
    add_options(parser, title, options)


def parameters_of(args, kind, *, without=()):
    """Return the parameters of a kind of analysis, or of "samples", as `args` say them.

    `without` are words that mean something else to the command.
    """
    given = {
        row.name: row.option.value(getattr(args, row.word))
        for row in parameters(kind)
        if row.option is not None and row.word not in without
    }
    if kind == "encoding":
        given["encoder"] = _encoder_of(args)
    is_analysis = kind in ("searchlight", "encoding", "targets")
    return given | {"verbose": 0 if args.quiet else 1} if is_analysis else given


def _encoder_of(args):
    """Return the encoder that the options describe, not fitted; None: the default."""
    from neuroextrap.encoding import ElasticNetEncoder, RidgeEncoder

    if args.encoder == "auto":
        return None
    if args.encoder == "ridge":
        return RidgeEncoder()
    return ElasticNetEncoder(n_jobs=args.n_jobs)


def take_last_as_output(args):
    """Let OUT follow an option that takes several values, as in ``--events C D OUT``.

    ``args.out`` is None if the option took OUT as a value of its own; `args` is
    changed in place. ``args.argv`` holds the words of the command.
    """
    if args.out is not None:
        return
    options = [word for word in args.argv if word.startswith("--")]
    name = options[-1].partition("=")[0][2:].replace("-", "_") if options else ""
    values = getattr(args, name, None)
    if isinstance(values, list) and len(values) > 1 and values[-1] == args.argv[-1]:
        args.out = values.pop()
        return
    raise ValueError("OUT is missing; name the output folder as the last word")
