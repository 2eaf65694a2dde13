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
LABELS = ["01", "02", "03"]
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


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a script where ``neuroextrap`` notes its words.

    Asked for a list it gives one, made once, of a tree in which 02 has sessions.
    """
    for label in LABELS:
        session = "ses-1/" if label == "02" else ""
        folder = tmp_path / f"derivatives/fmriprep/sub-{label}/{session}func"
        folder.mkdir(parents=True)
    (tmp_path / "options.toml").write_text(recipe("toml", "samples"))
    program = tmp_path / "bin" / "neuroextrap"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)

    def run(script, **environment):
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            ["bash", "-euc", script],
            check=True,
            cwd=tmp_path,
            env=os.environ | {"PATH": path} | environment,
        )
        return [
            build_parser().parse_args(line.split())
            for line in (tmp_path / "calls").read_text().splitlines()
        ]

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
    for number in range(1, 5):  # one more than participants
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


def test_a_workflow_finds_participants_with_and_without_sessions(
    shell, tmp_path, monkeypatch
):
    """The lines before the first rule are Python, run where Snakemake runs them."""
    root = tmp_path / "derivatives" / "fmriprep"
    (root / "sub-B3" / "ses-2" / "func").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "sub-01.html").write_text("a page of fMRIPrep")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = {}
    exec(recipe("text", "rule group").partition("rule ")[0], found)
    assert found["LABELS"] == find_participants(root) == [*LABELS, "B3"]
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
