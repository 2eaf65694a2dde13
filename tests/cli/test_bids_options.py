"""What ``neuroextrap bids`` says names options that it has, and what it does."""

import ast
import json
import re
from pathlib import Path

import nibabel
import pytest

import neuroextrap
from neuroextrap.cli import main
from tests.cli.seam import build_parser
from tests.cohorts.conftest import make_dataset

PACKAGE = Path(neuroextrap.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
ELSEWHERE = {
    *("--allow-missing", "--kind", "--null", "--test", "--train", "--targets"),
    "--no-",  # the beginning of options that are told by their parameters
}
"""Options named by what only other commands reach, as joining parts of an analysis."""
OWN = ("_bids.py",)
"""Modules of the command line whose texts this command says."""


def options_of(command):
    """Return the options of a command."""
    [choices] = [
        action.choices
        for action in build_parser()._actions
        if isinstance(action.choices, dict)
    ]
    return {word for a in choices[command]._actions for word in a.option_strings}


def named(path):
    """Return the options that texts of a module name, docstrings apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Call | ast.Assign | ast.Return):
            for text in ast.walk(node):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found |= set(OPTION.findall(text.value))
    return found


def test_every_option_that_is_named_is_there():
    modules = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "cli" or path.name in OWN
    ]
    told = {word: path for path in modules for word in named(path)}
    assert {"--t-r", "--no-check-t-r", "--raw", "--mask"} <= told.keys()
    lacking = told.keys() - options_of("bids") - ELSEWHERE
    assert {word: told[word].name for word in lacking} == {}


def test_the_repetition_time_can_be_given(tmp_path, capsys):
    """Neither header nor JSON file tells it: the remedy that is named works."""
    derivatives = make_dataset(tmp_path / "raw", ["01"])
    for path in derivatives.rglob("*_bold.nii.gz"):
        img = nibabel.load(path)
        img = nibabel.Nifti1Image(img.get_fdata(dtype="float32"), img.affine)
        img.header.set_xyzt_units("mm", "unknown")
        img.to_filename(path)
        path.with_name(path.name.replace(".nii.gz", ".json")).write_text("{}")
    out = tmp_path / "out"
    words = ["bids", str(derivatives), str(out), "participant", "--quiet"]
    words += ["--samples", "blocks", "--delay", "4", "--radius", "4", "--no-report"]
    words += ["--bounds", "none"]
    assert main(words) == 1
    assert "give t_r (--t-r)" in capsys.readouterr().out
    assert main([*words, "--t-r", "2"]) == 0
    [index] = out.rglob("*desc-analysis_stat.json")
    assert json.loads(index.read_text())["origin"]["samples"]["t_r"] == 2.0
    record = str(out / "code" / "sub-01.toml")
    again = [*words[:2], str(tmp_path / "again"), *words[3:5]]
    assert main([*again, "--config", record, "--no-report"]) == 0
    for path in derivatives.rglob("*_bold.json"):
        path.write_text('{"RepetitionTime": 3.0}')
    assert main([*words, "--t-r", "2", "--overwrite"]) == 1
    assert "--t-r with --no-check-t-r" in capsys.readouterr().out
    assert main([*words, "--t-r", "2", "--overwrite", "--no-check-t-r"]) == 0


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("bids", "brain mask (default: the brain masks of all runs, or computed"),
        ("searchlight", "brain mask (default: computed from the images)"),
    ],
)
def test_the_help_says_which_mask_is_taken(command, text, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert text in " ".join(capsys.readouterr().out.split())
