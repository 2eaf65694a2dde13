"""Cohorts that are killed while their results take their places.

Run as a program (``python -m tests.faults.cohorts FAULT FOLDER``) it forks a process
for every kill; it prints what was found as JSON.
"""

import contextlib
import errno
import io
import json
import os
import shutil
import signal
import sys
import tomllib
import warnings
from pathlib import Path

from tests.faults.runs import at_once, change_moves, die_at_move, fail, in_child
from tests.faults.seam import _group_level, make_page

OLD, NEW = "9", "4"
"""Radii of the analysis that is there, and of the one that replaces it."""


def words_of(root, level, out, *more):
    """Return the words of a command."""
    words = ["bids", str(root / "raw/derivatives/fmriprep"), str(out), level, "--quiet"]
    if level == "participant":
        words += ["--samples", "blocks", "--delay", "4", "--bounds", "none"]
        words += ["--confounds", "none", "--no-report"]
    else:
        words += ["--n-permutations", "20"]
    return [*words, *more]


def run(words):
    """Run a command in this process; return its exit code and what it said."""
    from neuroextrap.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        warnings.simplefilter("ignore")
        return main(words), said.getvalue()


def killed(words, number):
    """Run a command that is killed before a move; whether there was that move."""

    def work():
        die_at_index() if number == "index" else die_at_move(number)
        return run(words)[0]

    return in_child(work) == -signal.SIGKILL


def radii(out, label):
    """Return the radius of the record, and that of the results, of a participant."""
    record = tomllib.loads((out / "code" / f"sub-{label}.toml").read_text())
    [index] = (out / f"sub-{label}").rglob("*desc-analysis_stat.json")
    return record["radius"], json.loads(index.read_text())["parameters"]["radius"]


def index_agrees(out):
    """Return whether the page of all is that of what is there, or is not there."""
    path = out / _group_level.INDEX
    told = _group_level.index_text(out)
    return not path.exists() or path.read_text(encoding="utf-8") == told


def die_at_index():
    """Kill this process before it writes the page of all."""

    def write(*args):
        os.kill(os.getpid(), signal.SIGKILL)

    _group_level.write_text = write


def participants(root):
    """Kill a participant who is analyzed anew; others then come by every door."""
    out, found = root / "out", []
    one = ("--participant-label", "01")
    new = words_of(root, "participant", out, "--radius", NEW, *one, "--overwrite")
    for number in (0, 1, 9, "index"):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(root / "old", out)
        dead = killed(new, number) and index_agrees(out)
        for again in (
            words_of(root, "participant", out, "--radius", "5"),  # refused
            words_of(root, "participant", out, "--radius", NEW, *one),  # maybe done
        ):
            state = root / "state"
            shutil.rmtree(state, ignore_errors=True)
            shutil.copytree(out, state)
            again[2] = str(state)
            code, _ = run(again)
            dead = dead and (state / "index.html").exists() and index_agrees(state)
            found.append([number, dead, code, *radii(state, "01"), *radii(state, "02")])
        code, said = run(words_of(root, "group", out, "--no-report"))
        found.append([number, dead, code, said.splitlines()[0], *radii(out, "01")])
    return found


def disks(root):
    """Let disks be full, or others than the folder's, for a participant and a group."""
    out, found = root / "out", []
    one = ("--radius", NEW, "--participant-label", "01", "--overwrite")
    faults = {
        "ENOSPC": lambda number: fail(errno.ENOSPC),
        "EXDEV": lambda number: number and fail(errno.EXDEV),
    }
    run(words_of(root, "group", root / "old"))
    for name, fault in faults.items():
        for level, more in (("participant", one), ("group", ("--overwrite",))):
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(root / "old", out)
            before = content(out)
            words, said = words_of(root, level, out, *more), root / "said.txt"

            def work(words=words, fault=fault, said=said):
                change_moves(fault)
                code, text = run([word for word in words if word != "--quiet"])
                said.write_text(text)
                return code

            code, same = in_child(work), content(out) == before
            lines = said.read_text().splitlines()
            told = [each for each in lines if "No space left on device; free" in each]
            found.append([name, level, code, same, len(told), *radii(out, "01")])
            assert index_agrees(out)
    return found


def together(root):
    """Begin two participants at once where there is no folder, and then two groups."""
    out = root / "out"
    words = [
        words_of(root, "participant", out, "--radius", NEW, "--participant-label", each)
        for each in ("01", "02")
    ]
    ends = at_once([lambda each=each: run(each)[0] for each in words])
    found = [*ends, index_agrees(out), *radii(out, "01"), *radii(out, "02")]
    again = words_of(root, "group", out, "--overwrite")
    ends = at_once([lambda: run(again)[0]] * 2)
    run(words_of(root, "group", root / "new"))
    now, alone = content(out), content(root / "new")
    same = {name for name in now if now[name] == alone[name]}
    return [*found, *ends, sorted({*now, *alone} - same), index_agrees(out)]


def groups(root):
    """Kill a group that is made anew of other results; return what is there then."""
    kinds = {}
    for name in ("old", "new"):
        run(words_of(root, "group", root / name))
        kinds[name] = content(root / name)
    out, found = root / "out", []
    for number in (0, 3, 20):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(root / "new", out)
        for place in ("group", "index.html"):
            remove = out / place
            shutil.rmtree(remove) if remove.is_dir() else remove.unlink()
            copy = shutil.copytree if (root / "old" / place).is_dir() else shutil.copy
            copy(root / "old" / place, remove)
        dead = killed(words_of(root, "group", out, "--overwrite"), number)
        from neuroextrap.maps import read_maps

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read_maps(next((out / "group").glob("*desc-informationMaps_stat.json")))
        now = content(out)
        states = [name for name, files in kinds.items() if files == now]
        found.append([number, dead, states])
    return found


def content(out):
    """Return what the group's files hold, records of provenance apart."""
    paths = [*(out / "group").rglob("*"), out / "index.html"]
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file()
        and "rovenance" not in path.name
        and not path.parent.name.startswith(".")
        and not path.parent.parent.name.startswith(".")
    }


def _main(fault, root):
    """Analyze two participants in two ways, make the faults, print what was found."""
    from tests.cohorts.conftest import make_dataset

    def short(analyses, **_options):  # a whole page takes seconds
        values = analyses[0].subject_values
        return make_page("Group", [("Values", str(values.tolist()))])

    _group_level.make_group_page = short
    make_dataset(root / "raw", ["01", "02"])
    for name, radius in (("old", OLD), ("new", NEW)):
        words = words_of(root, "participant", root / name, "--radius", radius)
        assert run(words)[0] == 0
    print(json.dumps(FAULTS[fault](root)))  # noqa: T201


def films(root):
    """Kill a participant whose film is analyzed anew; the same call then goes on."""
    from tests.cohorts.conftest import make_films

    make_films(root / "films", ["01"])
    out, found = root / "films-out", []
    words = ["bids", f"{root}/films/derivatives/fmriprep", str(out), "participant"]
    words += ["--analysis", "continuous", "--features", f"{root}/films/features"]
    words += ["--test-runs", "run=3", "run=4", "--quiet", "--no-report", "--overwrite"]
    assert run([*words, "--delays", "2"])[0] == 0
    shutil.copytree(out, root / "films-old")
    for number in (0, 1, 9, "index"):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(root / "films-old", out)
        dead = killed([*words, "--delays", "3"], number) and index_agrees(out)
        code, said = run([*words, "--delays", "3"])
        record = tomllib.loads((out / "code" / "sub-01.toml").read_text())
        [about] = (out / "sub-01").rglob("*desc-provenance_stat.json")
        made = json.loads(about.read_text())["parameters"]["delays"]
        found.append([number, dead, code, said.split()[1], record["delays"], made])
    return found


FAULTS = {
    "participants": participants,
    "groups": groups,
    "films": films,
    "disks": disks,
    "together": together,
}

if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
