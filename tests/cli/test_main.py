"""The command line as a shell sees it: exit codes, one line, no side effects."""

import logging
import subprocess
import sys

import pytest

from neuroextrap.cli import main
from tests.cli.seam import build_parser


def _one_error_line(err):
    lines = [line for line in err.splitlines() if line]
    assert len(lines) == 1, err
    return lines[0]


def _commands():
    """Names of all commands, from the parser."""
    actions = build_parser()._actions
    return next(action.choices for action in actions if action.metavar == "COMMAND")


def test_help_names_the_commands_and_examples(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for name in ("searchlight", "demo", "merge", "examples:"):
        assert name in text


@pytest.mark.parametrize("command", sorted(_commands()))
def test_every_command_has_help_with_examples(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "--help-all"])
    assert left.value.code == 0
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("command", sorted(_commands()))
def test_help_is_short_and_names_what_is_needed(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert text.count("\n") <= 45
    assert "--help-all" in text
    assert "example" in text
    for action in _commands()[command]._actions:
        if action.required and action.option_strings:
            assert action.option_strings[0] in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a command"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo"], "required: OUT"),
        (["searchlight", "out"], "required: --imgs"),
        (["searchlight", "--imgs", "a", "--events", "b", "--radius", "x"], "--radius"),
        (
            ["searchlight", "--imgs", "a", "--events", "b", "--samples", "x", "o"],
            "invalid choice: 'x'",
        ),
    ],
)
def test_words_it_does_not_know_are_one_line_and_code_2(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert message in _one_error_line(capsys.readouterr().err)


def test_bad_input_is_one_line_and_code_2(capsys, tmp_path):
    assert main(["merge", str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 2
    line = _one_error_line(capsys.readouterr().err)
    assert line.startswith("error: PART ")
    assert "is not a folder" in line
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(capsys, tmp_path):
    assert main(["merge", str(tmp_path / "no"), str(tmp_path / "o"), "--debug"]) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("before", [True, False])
def test_messages_are_chosen_before_or_after_the_command(before, tmp_path, caplog):
    words = ["merge", str(tmp_path / "no"), str(tmp_path / "o")]
    for flag in ("--quiet", "--verbose", "--debug"):
        parsed = build_parser().parse_args([flag, *words] if before else [*words, flag])
        said = {name: getattr(parsed, name) for name in ("quiet", "verbose", "debug")}
        assert said == {**dict.fromkeys(said, False), flag[2:]: True}


def test_quiet_and_verbose_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as left:
        main(["merge", "a", "b", "--quiet", "--verbose"])
    assert left.value.code == 2
    assert "not allowed with argument --quiet" in _one_error_line(
        capsys.readouterr().err
    )


def test_an_interruption_is_code_130(monkeypatch, capsys, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("neuroextrap.maps._result_files.ResultFiles.find", interrupted)
    assert main(["merge", str(tmp_path), str(tmp_path / "out")]) == 130
    assert "interrupted; no results were written" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *sorted(_commands())])
def test_help_fits_a_terminal_of_80_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help-all"] if command else ["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("command", sorted(_commands()))
def test_every_option_says_what_it_does(command):
    for action in _commands()[command]._actions:
        assert action.help, f"{command} {action.option_strings}"


def test_log_settings_are_put_back(tmp_path):
    logger = logging.getLogger("neuroextrap")
    before = logger.level, list(logger.handlers)
    main(["merge", str(tmp_path / "no"), str(tmp_path / "o"), "--verbose"])
    assert (logger.level, list(logger.handlers)) == before


def test_parser_imports_nothing_heavy():
    code = (
        "import sys; from neuroextrap.cli._main import build_parser; build_parser();"
        "heavy = {'numpy', 'nilearn', 'sklearn', 'pandas', 'matplotlib', 'scipy'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
