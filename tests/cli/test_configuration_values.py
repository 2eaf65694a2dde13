"""Values of a configuration have the type of their option, or one line says so."""

import itertools
import json
import tomllib

import pytest

from neuroextrap.cli import main
from tests.cli.seam import (
    COMMAND,
    RaisingParser,
    _read_configuration,
    build_parser,
)

pytestmark = pytest.mark.usefixtures("one_parser")


def _actions():
    parser = RaisingParser(COMMAND.options)
    actions = {action.dest: action for action in parser._actions}
    del actions["help"], actions["config"]
    return actions


ACTIONS = _actions()
FLAGS = [n for n, a in ACTIONS.items() if isinstance(a.default, bool)]
NUMBERS = [n for n, a in ACTIONS.items() if a.type in (int, float)]
TEXT = [n for n, a in ACTIONS.items() if n not in FLAGS and n not in NUMBERS]


def _lines(tmp_path, capsys, text, level="participant"):
    config = tmp_path / "own.toml"
    config.write_text(text)
    words = ["bids", str(tmp_path / "none"), str(tmp_path / "out"), level, "--quiet"]
    assert main([*words, "--config", str(config)]) == 2
    assert not (tmp_path / "out").exists()
    return capsys.readouterr().err.strip().splitlines()


def test_all_kinds_are_there():
    assert {"overwrite", "detrend", "standardize", "save_null", "dry_run"} < set(FLAGS)
    assert {"report", "tfce", "allow_mixed"} < set(FLAGS)
    assert {"radius", "n_permutations", "smoothing_fwhm"} < set(NUMBERS)
    assert {"mask", "exclude", "statistic"} < set(TEXT)


def _each(names, *values):
    """Every option with one of the values, every value with an option."""
    assert len(names) >= len(values)
    return pytest.mark.parametrize(
        ("name", "value"), list(zip(names, itertools.cycle(values), strict=False))
    )


@_each(FLAGS, '"no"', '"true"', '""', "1", "0", "[true]", "1.0")
def test_flags_are_booleans(name, value, tmp_path, capsys):
    for level in ("participant", "group"):
        (line,) = _lines(tmp_path, capsys, f"{name} = {value}", level)
        assert f"own.toml: {name} = " in line
        assert "write true or false, without quotes" in line


@_each(NUMBERS, '"3"', '"many"', "true", "[3, 4]", "[3]", "07:30:00")
def test_numbers_are_no_text(name, value, tmp_path, capsys):
    (line,) = _lines(tmp_path, capsys, f"{name} = {value}")
    assert f"own.toml: {name} = " in line


@_each(TEXT, "true", "false", "[true]", "2020-01-01")
def test_text_is_no_boolean(name, value, tmp_path, capsys):
    (line,) = _lines(tmp_path, capsys, f"{name} = {value}")
    assert "write a number, or text in quotes" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('samples = "lssx"', "invalid choice: 'lssx'"),
        ("n_permutations = 10.5", "invalid int value"),
        ('statistic = "20"', "without quotes"),
        ('shrinkage = "0.1"', "without quotes"),
        ('shrinkage = "much"', "invalid"),
        ('mask = ["a.nii", "b.nii"]', "unrecognized arguments: b.nii"),
        ('mask = ["a.nii"]', "write one value, without brackets"),
        ("radius = []", "write one value"),
        ("no_report = true", "no_report is not an option"),
    ],
)
def test_other_slips(text, message, tmp_path, capsys):
    (line,) = _lines(tmp_path, capsys, text)
    assert message in line


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("overwrite", True, True),
        ("detrend", False, False),
        ("report", False, False),
        ("verbose", True, True),
        ("radius", 4, 4),
        ("radius", 4.5, 4.5),
        ("delay", -1.5, -1.5),
        ("statistic", 20, 20),
        ("shrinkage", 0.1, 0.1),
        ("shrinkage", "auto", "auto"),
        ("exclude", [], []),
        ("exclude", "rest", ["rest"]),
        ("classes", ["face", "cat=1"], ["face", "cat=1"]),
        ("participant_label", "01", ["01"]),
        ("participant_label", [1, 2], ["1", "2"]),
        ("task", "-odd=name", "-odd=name"),
        ("max-memory", "2G", "2G"),
    ],
)
def test_right_values_stay_as_they_are(name, value, expected, tmp_path):
    config = tmp_path / "own.toml"
    config.write_text(f"{name} = {json.dumps(value)}")
    argv = ["bids", "in", "out", "participant", "--config", str(config)]
    args = build_parser().parse_args(argv)
    args.argv = argv
    assert f"--{name.replace('_', '-')}" in _read_configuration(args)
    assert getattr(args, name.replace("-", "_")) == expected
    reader = RaisingParser(COMMAND.options)
    assert reader.read_file("x", tomllib.loads(config.read_text()))


def test_words_of_the_command_line_win(tmp_path):
    config = tmp_path / "own.toml"
    config.write_text("radius = 4.0\noverwrite = false")
    words = ["bids", "in", "out", "participant", "--config", str(config)]
    args = build_parser().parse_args([*words, "--radius", "6"])
    args.argv = [*words, "--radius", "6"]
    _read_configuration(args)
    assert (args.radius, args.overwrite) == (6.0, False)
