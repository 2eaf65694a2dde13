"""The recipes of the page about cohorts run, and reach every participant once."""

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from tests.cohorts.seam import build_parser, find_participants

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/cohorts.rst").read_text(encoding="utf-8")
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)", re.M)
BLOCKS = [(kind, textwrap.dedent(text)) for kind, text in BLOCK.findall(PAGE)]
LABELS = ["01", "02", "03", "B3"]
PROGRAM = """#!/bin/sh
if [ "$4" = list ]; then
    [ -e "$0.list" ] || "{python}" -c \
        "from neuroextrap.cli import main; raise SystemExit(main())" "$@" > "$0.list"
    exec cat "$0.list"
fi
printf "%s\\n" "$*" >> calls
"""


def recipe(kind, word):
    """The one block of a kind that holds a word."""
    [found] = [text for block, text in BLOCKS if block == kind and word in text]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of a data set, options, and a ``neuroextrap`` that notes its words.

    Asked for a list it gives one, made once; 02 and B3 have sessions.
    """
    folder = tmp_path_factory.mktemp("recipes")
    for label in LABELS:
        session = {"02": "ses-1/", "B3": "ses-2/"}.get(label, "")
        own = f"derivatives/fmriprep/sub-{label}/{session}func"
        (folder / own).mkdir(parents=True)
    (folder / "derivatives/fmriprep/logs").mkdir()
    page = folder / "derivatives/fmriprep/sub-01.html"
    page.write_text("a page of fMRIPrep")
    (folder / "options.toml").write_text(recipe("toml", "samples"))
    program = folder / "bin" / "neuroextrap"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    return folder


@pytest.fixture
def shell(folder, monkeypatch):
    """Return a function that runs a script there -> the calls of ``neuroextrap``."""
    monkeypatch.chdir(folder)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    calls = folder / "calls"
    calls.unlink(missing_ok=True)

    def run(script, **environment):
        own = os.environ | environment
        subprocess.run(["bash", "-euc", script], check=True, env=own)
        lines = calls.read_text().splitlines()
        return [build_parser().parse_args(line.split()) for line in lines]

    return run


def test_two_commands(shell):
    first, second = shell(recipe("bash", "--save-null"))
    assert (first.level, second.level) == ("participant", "group")
    assert first.save_null
    assert first.n_permutations == 1000
    assert first.out == second.out


def test_a_loop(shell):
    calls = shell(recipe("bash", "for label in"))
    assert [call.participant_label for call in calls] == [[name] for name in LABELS]


def test_an_array_of_jobs(shell):
    script = recipe("bash", "#SBATCH")
    for number in range(1, 6):  # one more than participants
        calls = shell(script, SLURM_ARRAY_TASK_ID=str(number))
    assert [call.participant_label for call in calls] == [[name] for name in LABELS]
    assert {call.n_jobs for call in calls} == {4}


def test_the_rules_of_a_workflow(shell):
    text = recipe("text", "rule group")
    rules = dict(re.findall(r"rule (\w+):\n((?: .*\n)+)", text))
    commands = {
        name: "".join(re.findall(r'"([^"]*)"', rule.partition("shell:")[2]))
        for name, rule in rules.items()
    }
    fixed = {"IN": "derivatives/fmriprep", "OUT": "derivatives/neuroextrap"}
    one = commands["participant"].replace("{wildcards.label}", "02")
    [call] = shell(one.format(threads=4, **fixed))
    assert (call.level, call.participant_label, call.n_jobs) == (
        "participant",
        ["02"],
        4,
    )
    whole = commands["group"].format(output="done", **fixed)
    *_, call = shell(whole)
    assert call.level == "group"


@pytest.mark.usefixtures("shell")
def test_a_workflow_finds_participants_with_and_without_sessions(folder):
    """The lines before the first rule are Python, run where Snakemake runs them."""
    found = {}
    exec(recipe("text", "rule group").partition("rule ")[0], found)
    root = folder / "derivatives" / "fmriprep"
    assert found["LABELS"] == find_participants(root) == LABELS
    assert (found["IN"], found["OUT"]) == (
        "derivatives/fmriprep",
        "derivatives/neuroextrap",
    )


def test_the_configuration_has_known_options():
    options = tomllib.loads(recipe("toml", "samples"))
    words = ["bids", "in", "out", "participant"]
    assert set(options) <= set(vars(build_parser().parse_args(words)))


def test_the_container_installs_what_there_is():
    text = recipe("docker", "FROM")
    extras = re.search(r"/source\[([a-z,]+)\]", text).group(1).split(",")
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(extras) <= set(about["project"]["optional-dependencies"])
    entry = re.search(r"ENTRYPOINT \[(.*)\]", text).group(1)
    assert entry == '"neuroextrap", "bids"'
    assert "neuroextrap" in about["project"]["scripts"]
