"""Every usage line as it is printed: what it shows is what the parser takes."""

import itertools
import re

import pytest

from neuroextrap.cli import main
from tests.cli.seam import (
    LINEAR,
    _continuous_command,
    _encoding_command,
    _group_command,
    _merge_command,
    _searchlight_command,
    build_parser,
    read_groups,
)

PARSER = build_parser()
COMMANDS = PARSER._subparsers._group_actions[0].choices
PIECE = re.compile(r"\([^()]*\)|\[options\]|\[\w+ \.\.\.\]|\S+")


def usage_lines():
    for name, parser in COMMANDS.items():
        text = parser.format_usage().removeprefix("usage:")
        for line in text.split("neuroextrap ")[1:]:
            yield name, " ".join(line.split())


def orders(usage, options, more=([], ["MORE"], ["MORE", "STILL_MORE"])):
    """Yield all lists of words that a usage line shows, `options` as ``[options]``."""
    ways = []
    for piece in PIECE.findall(usage):
        if piece == "[options]":
            ways.append([options])
        elif piece.startswith("["):  # [B ...]: any number
            ways.append(more)
        else:
            ways.append([_flat(way) for way in piece.strip("()").split("|")])
    for words in itertools.product(*ways):
        yield list(itertools.chain(*words))


def _flat(words):
    """Split an alternative, which may have an optional end itself."""
    return re.sub(r"\[.*\]", "MORE", words).split()


def options_of(parser):
    """Yield no option, then each that takes one word or none, but those of help."""
    yield []
    for action in parser._actions:
        if action.dest not in ("help", "help_all") and action.option_strings:
            word = next(iter(action.choices)) if action.choices else "3"
            if action.nargs == 0:
                yield [action.option_strings[0]]
            elif action.nargs is None:
                yield [action.option_strings[0], word]


def test_every_command_says_its_order():
    lines = list(usage_lines())
    assert {name for name, _ in lines} == set(COMMANDS)
    for name, usage in lines:
        assert usage.startswith(f"{name} "), usage
        assert "[options]" in usage


@pytest.mark.parametrize(("name", "usage"), list(usage_lines()))
def test_the_order_that_is_shown(name, usage):
    """With no option and with each one, OUT is taken as the usage line shows it."""
    for option in options_of(COMMANDS[name]):
        if option[:1] == ["--array"] or option[:1] == ["--scans"]:
            continue  # the usage line has them
        more = {"more": ([], ["MORE", "STILL_MORE"])} if option else {}
        for words in orders(usage, option, **more):
            args = PARSER.parse_args(words)
            taken = [v for v in vars(args).values() if v == "OUT"]
            lists = [v for v in vars(args).values() if isinstance(v, list)]
            taken += [v for v in lists if v and v[-1] == "OUT"]
            assert len(taken) == ("OUT" in usage), words


@pytest.mark.parametrize(
    "words",
    [
        "A B --statistic 100 OUT",
        "A B --statistic 100 --overwrite OUT",
        "--statistic 100 A B OUT",
        "A B OUT --statistic 100",
        "A --names a b --statistic 100 B OUT",
        "A B --names a b OUT",
        "A B --statistic 100 --names a b OUT",
        "A B OUT --names a b",
    ],
)
def test_words_of_compare(words, monkeypatch):
    from neuroextrap.encoding import EncodingIdentification
    from tests.cli.seam import _files

    seen = {"folders": []}

    def read(folder):
        seen["folders"].append(folder)
        if len(seen["folders"]) == 2:
            raise ValueError("enough")

    def check(out, **_):
        seen["out"] = out

    monkeypatch.setattr(EncodingIdentification, "from_directory", read)
    monkeypatch.setattr(_files, "check_output_directory", check)
    assert main(["compare", *words.split()]) == 2
    assert seen == {"folders": ["A", "B"], "out": "OUT"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("A B", "name at least two folders of results, then OUT"),
        ("A B --names a b", "name at least two folders of results, then OUT"),
        ("A B OUT --names a", "--names has 1 names for 2 models"),
        ("A B OUT --frobnicate", "unrecognized arguments: --frobnicate"),
        ("--overwrite", "required: A"),
    ],
)
def test_wrong_words_of_compare(words, text, capsys):
    try:
        code = main(["compare", *words.split()])
    except SystemExit as leaving:
        code = leaving.code
    assert code == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("searchlight --n-permutation 5 OUT", "--n-permutations?"),
        ("searchlight --radus=5 OUT", "--radius?"),
        ("encoding --permutations 5 OUT", "--n-permutations?"),
        ("--verbos demo OUT", "--verbose?"),
    ],
)
def test_an_option_that_is_nearly_right_is_named(words, meant, capsys):
    with pytest.raises(SystemExit):
        main([*words.split(), "--imgs", "a", "--events", "b", "--stimuli", "c"])
    assert f"did you mean {meant}" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["P1 P2 --overwrite OUT", "P1 --overwrite P2 OUT"])
def test_words_of_merge(words):
    args = PARSER.parse_args(["merge", *words.split()])
    assert (args.parts, args.out, args.overwrite) == (["P1", "P2"], "OUT", True)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("continuous", _continuous_command),
        ("encoding", _encoding_command),
        ("group", _group_command),
        ("merge", _merge_command),
        ("searchlight", _searchlight_command),
    ],
)
def test_rules_are_about_options_of_the_command(name, module):
    known = {action.dest for action in COMMANDS[name]._actions} | {"labels_img"}
    for rule in module.COMMAND.rules.splitlines():
        asked, _, why = rule.partition(": ")
        option, what, *others = asked.split()
        assert what in ("needs", "excludes")
        assert why
        assert others
        alternatives = [name for each in (option, *others) for name in each.split("|")]
        assert {name.partition("=")[0] for name in alternatives} <= known, rule


def test_decoders_are_of_the_linear_classifiers():
    assert _searchlight_command._LINEAR == LINEAR


def test_groups_of_options_come_from_text():
    groups = read_groups("""
[first]
+ searchlight voxels: -min_voxels
~ mask (default: all voxels)
[]
+ searchlight voxels
own: whole N least=1 = 2: what one command has
+ output: overwrite
""")
    first, others = groups["first"], groups[None]
    assert [*first] == ["mask"]
    assert first["mask"].sentence == "brain mask (default: all voxels)"
    assert [*others] == ["min_voxels", "own", "overwrite"]
