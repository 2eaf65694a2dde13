"""The shell completes commands, options and choices; what it needs is said."""

import shutil
import subprocess
import sys

import pytest

from neuroextrap.cli import main
from tests.cli.seam import SHELLS


def script(shell, capsys):
    """Return what the option prints."""
    with pytest.raises(SystemExit) as left:
        main(["--print-completion", shell])
    assert left.value.code == 0
    return capsys.readouterr().out


def complete(text, words, folder):
    """Return what bash offers for the last of some words."""
    quoted = " ".join(f"'{word}'" for word in words)
    lines = f"""
{text}
COMP_WORDS=({quoted})
COMP_CWORD={len(words) - 1}
COMP_LINE="${{COMP_WORDS[*]}}"
_shtab_neuroextrap neuroextrap '{words[-1]}' '{words[-2]}'
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    run = subprocess.run(
        ["bash", "-c", lines],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
        timeout=60,
    )
    return run.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script(shell, capsys):
    text = script(shell, capsys)
    assert "searchlight" in text
    assert "n-permutations" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sear"], "searchlight"),
        (["searchlight", "--n-p"], "--n-permutations"),
        (["searchlight", "--bounds", "fo"], "forward folds"),
        (["searchlight", "--imgs", "bo"], "bold.nii"),
        (["bids", "deri"], "derivatives"),
        (["searchlight", "--radius", "bo"], ""),
    ],
)
def test_bash_completes(words, expected, capsys, tmp_path):
    (tmp_path / "bold.nii").touch()
    (tmp_path / "derivatives").mkdir()
    offered = complete(script("bash", capsys), ["neuroextrap", *words], tmp_path)
    assert offered == expected.split()


def test_what_is_missing_is_said(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as left:
        main(["--print-completion", "bash"])
    assert left.value.code == 2
    assert "needs shtab; install it" in capsys.readouterr().err
