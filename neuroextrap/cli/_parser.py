"""The parser of the command line, made from options that are declared elsewhere."""

import argparse
import difflib
import re
from typing import Any, NamedTuple

from neuroextrap._options import FOLDERS, read_options
from neuroextrap._parameter_table import parameters, resources
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

    is_first = True

    def __call__(self, parser, namespace, values, option_string=None):
        """Print it."""
        del namespace, values, option_string
        say(parser.format_help(short=False))
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line and whose commands share some options.

    With `intermixed`, options may stand between other words.
    """

    def __init__(self, *args, is_command=True, intermixed=False, **kwargs):
        self._intermixed = intermixed
        kwargs |= {"conflict_handler": "resolve", "allow_abbrev": False}
        super().__init__(*args, **kwargs)
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        default: Any = argparse.SUPPRESS if is_command else False
        how = {"action": "store_true", "default": default}
        group = self.add_argument_group("messages")
        volume = group.add_mutually_exclusive_group()
        volume.add_argument("--quiet", help="show warnings only", **how)
        volume.add_argument("--verbose", help="show debug messages too", **how)
        group.add_argument("--debug", help="show the traceback of an error", **how)
        if is_command:
            about = "show all options and explanations, and exit"
            how = {"action": _FullHelp, "nargs": 0, "default": default}
            group.add_argument("--help-all", help=about, **how)

    def format_help(self, *, short=True):
        """Return the help; the `short` one leaves out what few need, if it is long."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        whole = super().format_help()
        if not short or whole.count("\n") <= _MOST_LINES:
            return whole
        self.formatter_class = _ShortHelp
        return super().format_help()

    def parse_known_args(self, args=None, namespace=None):
        """Parse words; ``argparse`` calls this again to join intermixed ones."""
        if not self._intermixed:
            parsed, unknown = super().parse_known_args(args, namespace)
            text = self.format_help(short=False) if unknown else ""
            options = re.findall(r"(?<!\S)--[a-z][a-z-]*", text)
            for word in unknown:
                written = word.partition("=")[0]
                meant = difflib.get_close_matches(written, options, n=1, cutoff=0.75)
                if meant and written.startswith("--"):
                    self.error(
                        f"unrecognized argument {written}; did you mean {meant[0]}?"
                    )
            return parsed, unknown
        self._intermixed = False
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = True

    def error(self, message):
        """Write one line and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class _NamesOrAll(argparse.Action):
    """Keep the names that follow an option, or True if none do."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Note the names."""
        del parser, option_string
        setattr(namespace, self.dest, values or True)


class _Rules(NamedTuple):
    """Lines that say which options go together, as ``a needs b c=1|d: why``.

    They are about options with the value 1, or with others than ``default(name)``.
    """

    lines: str
    default: Any

    def check(self, args):
        """Raise ValueError unless `args` agree with the rules."""
        for rule in self.lines.splitlines():
            names, _, why = rule.partition(": ")
            option, what, *others = names.split()
            refused = what == "excludes"
            wrong = [each for each in others if self._given(each, args) is refused]
            if wrong and self._given(option, args):
                named = ", ".join(map(self._words, wrong))
                raise ValueError(f"{self._words(option)} {what} {named}: {why}")

    def _given(self, alternatives, args):
        """Return whether one of some options, separated by |, was given."""
        for name, _, value in (each.partition("=") for each in alternatives.split("|")):
            own = getattr(args, name, None)
            if str(own) == value if value else own != self.default(name):
                return True
        return False

    def _words(self, alternatives):
        """Return options as they are written."""
        named = alternatives.split("|")
        named = [f"no_{n}" if self.default(n) is True else n for n in named]
        return " or ".join(word_of(name).replace("=", " ") for name in named)


class Command(NamedTuple):
    """What a parser needs to know of a command.

    `usage` has a line for every way to call it; `arguments` have no word (see
    ``read_options``); `options` have, by group of help; `rules` say which of them go
    together, once `prepare` has sorted words without options.
    """

    help: str
    usage: str
    description: str
    examples: str
    arguments: str
    options: str
    rules: str = ""
    intermixed: bool = False
    prepare: Any = None

    def add_to(self, subparsers, name, run):
        """Add the command, which `run` carries out once the rules hold."""
        called = f"neuroextrap {name} "
        parser = subparsers.add_parser(
            name,
            help=self.help,
            usage=called + re.sub(r"\n(?=\S)", f"\n       {called}", self.usage),
            description=self.description,
            epilog=self.examples,
            intermixed=self.intermixed,
        )
        for word, option in read_options(self.arguments).items():
            nargs = ("*", "+") if option.many else ("?", None)
            names = {"metavar": option.metavar, "choices": option.choices}
            how = {"nargs": nargs[option.required], "help": option.help}
            parser.add_argument(word, **how, **names)
        options = read_groups(self.options)
        add_options(parser, options)
        rules = _Rules(self.rules, parser.get_default)

        def run_by_rules(args):
            if self.prepare is not None:
                self.prepare(args)
            rules.check(args)
            _check_ranges(options, args)
            return run(args)

        parser.set_defaults(run=run_by_rules)


OUT = "out: path OUT required: folder for the results\n"
LAST = "out: path OUT: folder for the results"
"""OUT after an option that takes several values."""


def add_options(parser, options):
    """Add options by group and name."""
    for title, named in options.items():
        group = parser if title is None else parser.add_argument_group(title)
        for name, option in named.items():
            _add_option(group, name, option)


def _check_ranges(options, args):
    """Raise ValueError if a value lies outside of what its option allows."""
    for named in options.values():
        for name, option in named.items():
            value = getattr(args, name)
            for each in value if isinstance(value, list) else [value]:
                option.check_range(f"{word_of(name)} ", each)


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


def options_of(kind, *sections):
    """Return options of a kind, or of its sections, by word."""
    rows = [row for row in parameters(kind) if row.option is not None]
    return {r.word: r.option for r in rows if not sections or r.section in sections}


def inputs_of(command):
    """Return the words of a command's options that are files which are analyzed."""
    groups = read_groups(command.options).values()
    paths = {word: o for each in groups for word, o in each.items() if o.is_path}
    files = [word for word, option in paths.items() if option.metavar not in FOLDERS]
    apart = {*_SHARED["output"], *resources()}
    return " ".join(word for word in files if word not in apart)


def read_groups(text):
    """Return Options by group of help and word, as entries under ``[group]`` say.

    Entries are those of ``read_options``; ``+ kind section ...`` for options of the
    table of parameters, or shared ones, that no entry before has, all or some of them
    (``: word ... -without``); and ``~ word = None (default: said)`` for what help says
    of the default of one of these, which it may take away.
    """
    groups: dict[Any, dict] = {}
    parts = re.split(r"^\[(.*)\]\n", text, flags=re.MULTILINE)
    for title, table in zip(parts[1::2], parts[2::2], strict=True):
        group = groups[title or None] = {}
        for entry in re.findall(r"^\S.*(?:\n .*)*", table, re.MULTILINE):
            mark, words = entry[0], " ".join(entry[1:].split())
            if mark == "+":
                declared = {word for each in groups.values() for word in each}
                included = _included(words).items()
                group |= {word: each for word, each in included if word not in declared}
            else:
                group |= _changed(words, group) if mark == "~" else read_options(entry)
    return groups


def _included(words):
    """Return options that a line includes, by word."""
    head, _, chosen = words.partition(": ")
    kind, *sections = head.split()
    options = _SHARED.get(kind) or options_of(kind, *sections)
    names = [name for name in chosen.split() if not name.startswith("-")]
    left_out = set(chosen.replace("-", "").split()) - {*names}
    return {n: options[n] for n in names or options if n not in left_out}


def _changed(words, group):
    """Return the option of a group whose default a line changes, by word."""
    word, _, said = words.partition(" (default: ")
    word, _, default = word.partition(" = ")
    changed = group[word]._replace(said=said.removesuffix(")"))
    return {word: changed._replace(default=None) if default else changed}


_SHARED: dict[str, dict] = {}
_SHARED |= read_groups("""
[dry_run]
dry_run: flag first:
    check the input and print size, memory and time of the run, but write nothing
[dask]
dask: text ADDRESS:
    run on the Dask cluster of this scheduler instead of --n-jobs workers: an address
    such as tcp://host:8786, or its scheduler file; the work of a worker that dies is
    repeated
[output]
overwrite: flag first: replace results that are already in the output folder
bids: flag = None:
    name and place results as BIDS derivatives, or not (default: do so if all inputs
    have BIDS names)
report: flag first: also write a self-contained report.html
title: text NAME: title of the report (default: "Identification report")
bg_img: path IMG:
    image drawn under the maps of the report: an anatomy in their space, mni152 (the
    template), or none (default: the template if the images are in MNI space by their
    header's code 4 or their name's space-MNI..., else their mean)
atlas: path IMG:
    labels image in the space of the maps that names the places of peaks in the report
    and in peaks.tsv; names are read from the table beside it (atlas.tsv for
    atlas.nii.gz, columns index and name) (default: none)
""")
PICTURES = """\
bg_img needs report: it is drawn in the report only
atlas excludes labels_img: it names places of spheres, --labels-img has regions instead
"""


def parameters_of(args, kind, *, without=(), given=None):
    """Return the parameters of a kind as `args` say them, `without` some words.

    If it is known which words were `given`, others have the default of the kind, which
    may not be that of the command.
    """
    values = {}
    for row in parameters(kind):
        if row.option is not None and row.word not in without:
            is_given = given is None or word_of(row.word) in given
            value = getattr(args, row.word) if is_given else row.option.default
            values[row.name] = row.option.value(value)
        elif row.name == "verbose":
            values["verbose"] = 0 if args.quiet else 1
    if kind == "encoding":
        from neuroextrap.encoding import ElasticNetEncoder, RidgeEncoder

        encoders = {"auto": None, "ridge": RidgeEncoder()}  # None is the default
        elastic_net = ElasticNetEncoder(n_jobs=args.n_jobs)
        values["encoder"] = encoders.get(args.encoder, elastic_net)
    return values


def take_last_as_output(args):
    """Let OUT follow an option of several values, as in ``--events C D OUT``."""
    options = [word for word in args.argv if word.startswith("--")]
    name = options[-1].partition("=")[0][2:].replace("-", "_") if options else ""
    values = getattr(args, name, None)
    if isinstance(values, list) and len(values) > 1:
        args.out = args.argv[-1]
        values.pop()
        return
    raise ValueError("OUT is missing; name the output folder as the last word")
