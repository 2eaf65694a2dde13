"""Commands to be disturbed, and what their folders held before and after.

Run as a program it forks a process for every fault, so that a fault costs no start of
Python: ``python -m tests.faults.runs FAULT ARGUMENTS FOLDER``; it prints counts as JSON
(see `program`, which tests call).
"""

import contextlib
import errno
import functools
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from tests.faults.seam import (
    ResultFiles,
    _demo_acts,
    _searchlight_command,
    _transaction,
    make_page,
)

KINDS = ("searchlight", "encoding", "merge", "report", "group", "compare")
KINDS += ("learning-curve", "multiverse", "scores", "demo", "continuous")
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"}
SHAPE, AFFINE = (8, 8, 6), np.diag([3.0, 3.0, 3.0, 1.0])


def make_inputs(root):
    """Write images, mask and tables of a small experiment, and the parts of a run."""
    import nibabel
    import pandas as pd

    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    data = rng.normal(size=(*SHAPE, len(y)))
    data[:3, :3, :3] += rng.normal(size=(3, 3, 3, 4))[..., y]
    nibabel.Nifti1Image(data.astype(np.float32), AFFINE).to_filename(root / "b.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(SHAPE, dtype=np.int8), AFFINE)
    mask.to_filename(root / "mask.nii.gz")
    events = pd.DataFrame({"trial_type": [f"c{code}" for code in y], "run": runs})
    events.to_csv(root / "events.tsv", sep="\t", index=False)
    stimuli = pd.DataFrame(rng.normal(size=(24, 3)), columns=["f", "g", "h"])
    stimuli.insert(0, "run", 1)
    stimuli.insert(0, "set", ["train"] * 14 + ["test"] * 10)
    stimuli.to_csv(root / "stimuli.tsv", sep="\t", index=False)


def words_of(kind, root, out, seed=0):
    """Return the words of a command of a kind that writes to a folder."""
    images = ["--imgs", f"{root}/b.nii.gz", "--mask", f"{root}/mask.nii.gz"]
    shared = ["--random-state", str(seed), "--overwrite", "--quiet"]
    if kind == "multiverse":
        return [kind, pipelines(root, seed), "--overwrite", "--quiet", str(out)]
    if kind in OVER_RESULTS:
        return [kind, *OVER_RESULTS[kind](root), *shared, str(out)]
    searchlight = [
        *("searchlight", *images, "--events", f"{root}/events.tsv", "--radius", "4"),
        *("--n-permutations", "200", *shared),
    ]
    if kind == "encoding":
        model = ["--encoder", "ridge", "--radius", "4", "--n-permutations", "200"]
        tables = ["--stimuli", f"{root}/stimuli.tsv"]
        return ["encoding", *images, *tables, *model, *shared, str(out)]
    if kind == "merge":
        parts = [f"{root}/part-{seed}-{i}" for i in (1, 2)]
        for i, part in enumerate(parts, start=1):
            if not os.path.exists(part):
                run([*searchlight, "--shard", f"{i}/2", part])
        return ["merge", *parts, str(out), "--overwrite", "--quiet"]
    report = ["--report"] if kind == "report" else []
    return [*searchlight, *report, str(out)]


def models(root):
    """Return folders of two encoding models, made once, and options."""
    folders = [f"{root}/model-{radius}" for radius in (3, 4)]
    for folder in folders:
        if not os.path.exists(folder):
            words = words_of("encoding", root, folder)
            words[words.index("200")] = "10"
            if folder.endswith("3"):
                words[words.index("ridge")] = "elastic-net"
            assert run(words) == 0
    return [*folders, "--n-permutations", "20", "--report"]


def subjects(root):
    """Return maps of subjects, made once, and options of a test with a page."""
    import nibabel

    files = [f"{root}/sub-{number:02}_map.nii.gz" for number in range(9)]
    rng = np.random.default_rng(3)
    for file in files:
        if not os.path.exists(file):
            data = rng.normal(0.3, 1, size=SHAPE).astype(np.float32)
            nibabel.Nifti1Image(data, AFFINE).to_filename(file)
    return ["--imgs", *files, "--n-permutations", "30", "--report", "--tfce"]


def scans(root):
    """Return scans of subjects, made once, and options of a learning curve."""
    import pandas as pd

    y, who = np.tile(np.arange(2), 24), np.repeat(np.arange(6), 8)
    if not os.path.exists(f"{root}/scans.npy"):
        rng = np.random.default_rng(4)
        values = rng.normal(size=(48, 30)) + np.eye(2, 30)[y]
        np.save(f"{root}/scans.npy", values)
        table = pd.DataFrame({"trial_type": [f"c{k}" for k in y], "subject": who})
        table.to_csv(f"{root}/scans.tsv", sep="\t", index=False)
    words = ["--array", f"{root}/scans.npy", "--scans", f"{root}/scans.tsv"]
    return [*words, "--n-splits", "4", "--report"]


def pipelines(root, seed):
    """Return a configuration of two searchlights."""
    path = Path(root) / f"pipelines-{seed}.toml"
    shared = [f'imgs = ["{root}/b.nii.gz"]', f'events = ["{root}/events.tsv"]']
    shared += [f'mask = "{root}/mask.nii.gz"', "n_permutations = 20"]
    shared += [f"random_state = {seed}", 'samples = "volumes"']
    tables = [f"[pipeline.r{radius}]\nradius = {radius}" for radius in (3, 4)]
    path.write_text("\n".join([*shared, *tables]))
    return str(path)


def scored(root):
    """Return scores of a decoder's candidates, made once, with a page."""
    rng = np.random.default_rng(5)
    np.save(
        f"{root}/scores.npy", rng.normal(size=(40, 8)) + np.eye(8)[np.arange(40) % 8]
    )
    np.save(f"{root}/labels.npy", np.arange(40) % 8)
    return [f"{root}/scores.npy", "--targets", f"{root}/labels.npy"]


def films(root):
    """Return a table of runs of films with features and responses, made once."""
    import nibabel
    import pandas as pd

    rng, path = np.random.default_rng(6), Path(root) / "runs.tsv"
    if not path.exists():
        rows = []
        for number in range(4):
            X = rng.normal(size=(60, 2))
            data = rng.normal(size=(*SHAPE, 60)) + 50
            data[:3] += X @ [1.0, 2.0]
            img = nibabel.Nifti1Image(data.astype(np.float32), AFFINE)
            img.to_filename(Path(root) / f"film{number}.nii.gz")
            np.save(Path(root) / f"film{number}.npy", X)
            which = {"set": "test" if number == 3 else "train"}
            files = {"imgs": f"film{number}.nii.gz", "motion": f"film{number}.npy"}
            rows.append(which | files)
        pd.DataFrame(rows).to_csv(path, sep="\t", index=False)
    given = ["--mask", f"{root}/mask.nii.gz", "--t-r", "2", "--delays", "0"]
    return [str(path), *given, "--n-permutations", "30"]


def acts(root):
    """Return the options of a small demo; its pages and simulations are made once."""

    def short(played):  # a whole page takes seconds
        tables = [table.to_csv() for _, _, _, table in played]
        return make_page("Demo", [("Values", str(tables))])

    if not hasattr(_demo_acts.play, "cache_info"):
        _demo_acts.play = functools.cache(_demo_acts.play)
        _demo_acts.demo_page = short
    return ["--quick", "--n-permutations", "9", "--n-jobs", "1"]


OVER_RESULTS = {
    "compare": models,
    "group": subjects,
    "learning-curve": scans,
    "multiverse": lambda root: [pipelines(root, 0)],
    "scores": scored,
    "demo": acts,
    "continuous": films,
}
"""Commands of which a record of provenance is all that is read, and their words."""


def run(words):
    """Run a command in this process, quietly, and return its exit code."""
    from neuroextrap.cli import main

    quiet = contextlib.redirect_stdout(io.StringIO())
    with quiet, contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return main(words)


def content(folder):
    """Return every visible file but the record of provenance, as bytes by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
        and "rovenance" not in path.name
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def read(kind, folder):
    """Read results as a user would, which completes what was interrupted."""
    if kind in OVER_RESULTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ResultFiles.find(folder, "provenance.json")
    from neuroextrap.decoding import IdentificationSearchLight
    from neuroextrap.encoding import EncodingIdentification

    cls = EncodingIdentification if kind == "encoding" else IdentificationSearchLight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls.from_directory(folder)


def _begin(work):
    """Do some work in a forked process, which ends with its status; its number."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = work()
        finally:
            os._exit(code)
    return child


def in_child(work, kill_after=None):
    """Do some work in a forked process, killed after so many seconds; its status."""
    child = _begin(work)
    if kill_after is not None:
        time.sleep(kill_after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at_change(number):
    """Kill this process when it changes the file system for the n-th time."""
    count = 0

    def hook(event, args):
        nonlocal count
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or writes:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def die_at_move(number):
    """Kill this process before its n-th move of files into place; 0 is the list's."""
    change_moves(lambda n: n == number and os.kill(os.getpid(), signal.SIGKILL))


def change_moves(before):
    """Call a function with the number of every move into place, before it.

    Returns the list of what was moved.
    """
    replace, moves = os.replace, []

    class Moves:
        def __getattr__(self, name):
            return getattr(os, name)

        def replace(self, source, target):
            if Path(source).parent != Path(target).parent or not moves:
                moves.append(target)
                before(len(moves) - 1)
            replace(source, target)

    _transaction.os = Moves()
    return moves


def fail(code, told="disk"):
    """Raise the error of the file system that has a code."""
    raise OSError(code, os.strerror(code), told)


def read_only(folder):
    """Let every change below a folder fail, as on a disk that is mounted so."""

    def hook(event, args):
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and str(args[0]).startswith(str(folder)):
            fail(errno.EROFS, str(args[0]))

    sys.addaudithook(hook)


def at_once(works):
    """Do several works in forked processes that run together; return how they end."""
    children = [_begin(work) for work in works]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def at_moves(root):
    """Make every kind of fault while every kind of command writes.

    Processes are killed before moves of files into place, disks are full, read-only or
    others than the folder's, and two begin at once where there is no folder. Returns
    what was there then, by kind and fault.
    """
    found = {}
    for kind in KINDS:
        place = root / kind
        place.mkdir()
        make_inputs(place)
        old, new, out = _old_and_new(kind, place)
        words = words_of(kind, place, out)
        found[kind] = _faults_of(kind, words, out, (old, new))
    return found


def _faults_of(kind, words, out, states):
    """Return what was there after every fault of a command, a list for each."""
    moves = change_moves(lambda number: number and fail(errno.EXDEV))
    assert run(words) == 0
    _transaction.os, last = os, len(moves) - 1
    found = {"kill": [], "EXDEV": [_state(kind, out, *states)]}
    for number in sorted({0, last // 2 + 1, last}):
        _restore(out, out.parent / "old")

        def killed(number=number):
            die_at_move(number)
            return run(words)

        assert in_child(killed) == -signal.SIGKILL
        found["kill"].append(_state(kind, out, *states))
    disks = {
        "ENOSPC": lambda: change_moves(lambda _: fail(errno.ENOSPC)),
        "EROFS": lambda: read_only(out),
    }
    for name, make_fault in disks.items():
        _restore(out, out.parent / "old")

        def failing(begin, make_fault=make_fault):
            begin()
            make_fault()
            return main_of(words)

        status, said = told_by_child(failing)
        told = status == 2 and len(said) == 1 and os.strerror(getattr(errno, name))
        assert told, f"{kind}, {name}: exit code {status}: {said}"
        assert told in said[0], said
        found[name] = [_state(kind, out, *states)]
    shutil.rmtree(out)
    assert at_once([lambda: run(words)] * 2) == [0, 0]
    found["two at once"] = [_state(kind, out, *states)]
    return found


def a_check(root):
    """Check a design; return its exit code, and what of the folder it changed."""
    from neuroextrap.cli import main

    words = ["--imgs", f"{root}/b.nii.gz", "--mask", f"{root}/mask.nii.gz"]
    words += ["--events", f"{root}/events.tsv", "--samples", "volumes"]
    os.chdir(root)
    before, opened = content(root), []

    def hook(event, args):
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        kept = "__pycache__" not in str(args[0]) and args[0] != os.devnull
        if (event in CHANGES or writes) and kept:
            opened.append(f"{event} {args[0]}")  # compiled code is kept beside its own

    sys.addaudithook(hook)
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["check", *words, "--quiet"])
    return {"code": code, "same": content(root) == before, "written": opened}


def at_every_change(kind, step, root):
    """Kill an overwriting command at every `step`-th change of the file system."""
    old, new, out = _old_and_new(kind, root)
    words, number = words_of(kind, root, out), 1
    step = int(step)
    counts = {"kills": 0, "old": 0, "new": 0, "mixed": 0}
    while True:

        def work(number=number):
            die_at_change(number)
            return run(words)

        if in_child(work) != -signal.SIGKILL:
            return counts
        counts["kills"] += 1
        counts[_state(kind, out, old, new)] += 1
        _restore(out, root / "old")
        number += step


def errors(kind, name, step, root):
    """Let every `step`-th change of the file system fail, one in each run.

    The old results must stay, or the new ones be there, and one line say which error
    it was.
    """
    old, new, out = _old_and_new(kind, root)
    code, step = getattr(errno, name), int(step)
    words, number = words_of(kind, root, out), 1 + step // 2
    counts = {"errors": 0, "old": 0, "new": 0, "mixed": 0, "untold": 0}
    while True:

        def work(begin, number=number):
            begin()
            fail_at_change(number, code)
            status = main_of(words)
            return status if _failed else 3

        status, said = told_by_child(work)
        if status == 3:
            return counts
        counts["errors"] += 1
        state = _state(kind, out, old, new)
        counts[state] += 1
        told = status == 2 and len(said) == 1 and os.strerror(code) in said[0]
        if not told and (status, state) != (0, "new"):
            counts["untold"] += 1
            sys.stderr.write(f"change {number}, exit code {status}: {said[-4:]}\n")
        _restore(out, root / "old")
        number += step


_failed: list = []
"""What changed when an error was raised."""


def fail_at_change(number, code):
    """Raise OSError when this process changes the file system for the n-th time."""
    count = 0

    def hook(event, args):
        nonlocal count
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or writes:
            count += 1
            if count == number:
                _failed.append(event)
                raise OSError(code, os.strerror(code), str(args[0]))

    sys.addaudithook(hook)


def at_random(kind, n_kills, root):
    """Kill an overwriting command at random moments; let every fifth chain end."""
    old, new, out = _old_and_new(kind, root)
    words = words_of(kind, root, out)
    if kind in ("searchlight", "encoding"):
        words[1:1] = ["--checkpoint", str(root / "checkpoint")]
    start, n_kills = time.monotonic(), int(n_kills)
    in_child(lambda: run(words))
    whole = time.monotonic() - start
    counts = {"kills": 0, "old": 0, "new": 0, "mixed": 0, "resumed": 0, "unlike": 0}
    moments = random.Random(1)
    while counts["kills"] < n_kills:
        _restore(out, root / "old")
        shutil.rmtree(root / "checkpoint", ignore_errors=True)
        for _ in range(5):
            status = in_child(lambda: run(words), moments.uniform(0, 1.05 * whole))
            counts["kills"] += status == -signal.SIGKILL
            counts[_state(kind, out, old, new)] += status == -signal.SIGKILL
        assert in_child(lambda: run(words)) == 0
        counts["resumed" if content(out) == new else "unlike"] += 1
    return counts


def _old_and_new(kind, root):
    """Return what the folder of results holds before and after, and the folder."""
    for name, seed in (("old", 1), ("new", 0)):
        assert run(words_of(kind, root, root / "out", seed)) == 0
        (root / "out").rename(root / name)  # pages name their folder
    shutil.copytree(root / "old", root / "out")
    return content(root / "old"), content(root / "new"), root / "out"


def _restore(out, old):
    """Put the old results back."""
    shutil.rmtree(out)
    shutil.copytree(old, out)


def _state(kind, out, old, new):
    """Return what is there after a kill: old results, new ones, or neither."""
    read(kind, out)
    found = content(out)
    return "old" if found == old else "new" if found == new else "mixed"


def limits(kind, state, sizes, root):
    """Limit the length of files, as a disk that fills does, while results are written.

    In the state "second" there are results of an earlier run.
    """
    import resource

    out, counts = root / "place" / "out", {"tried": 0, "failed_whole": 0}
    out.parent.mkdir()
    last = "searchlight" if state == "second" else None
    if last:
        assert run(words_of(last, root, out, seed=1)) == 0
    words = [word for word in words_of(kind, root, out) if word != "--quiet"]
    for size in map(int, sizes.split(",")):
        before = content(out) if out.exists() else None

        def work(begin, size=size):
            begin()
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return main_of(words)

        code, said = told_by_child(work)
        counts["tried"] += 1
        if code == 0:
            last = kind
            continue
        counts["failed_whole"] += 1
        assert code == 2, said
        assert "File too large" in said[-1], said
        assert said[-1].startswith("error: "), said
        assert out.exists() == (before is not None)
        assert not out.exists() or content(out) == before
        assert [path.name for path in out.parent.rglob(".*")] == []
    if last:
        read(last, out)
    return counts


def signals(name, n_times, root):
    """Interrupt commands at several moments of their work."""
    number = signal.Signals[name]
    place, counts = root / "place", {"tried": 0, "said_in_one_line": 0}
    place.mkdir()
    assert run(words_of("searchlight", root, root / "warm")) == 0  # all is imported
    for count in range(int(n_times)):
        words = words_of("searchlight", root, place / "out")
        words[words.index("200")] = "50000"
        words += ["--save-null", str(place / "null.npy")]
        words += ["--n-jobs", str(1 + count % 2)]

        def work(begin, words=words):
            begins_with(begin)
            return main_of(words)

        code, said = told_by_child(work, number, 0.02 + 0.2 * count)
        counts["tried"] += 1
        assert code == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
        assert len(said) == 1, said
        counts["said_in_one_line"] += 1
        assert list(place.iterdir()) == []
    return {**counts, "left_nothing": counts["tried"]}


def main_of(words):
    """Run the command line as a program does."""
    from neuroextrap.cli import main

    warnings.simplefilter("ignore")
    return main(words)


def begins_with(begin):
    """Call a function when the command has been read and its work begins."""
    run_command = _searchlight_command.run

    def begun(args):
        begin()
        return run_command(args)

    _searchlight_command.run = begun


def told_by_child(work, number=None, after=None):
    """Do some work in a forked process; its status, and the lines that it said.

    `work` calls its argument when it begins. With a signal's `number`, it is sent so
    many seconds `after` that.
    """
    with tempfile.TemporaryFile("w+") as said:
        begun, begins = os.pipe()
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(said.fileno(), 2)
                sys.stderr = os.fdopen(2, "w", buffering=1)
                # a shell starts what runs in the background without it
                signal.signal(signal.SIGINT, signal.default_int_handler)
                code = work(lambda: os.write(begins, b"!"))
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.read(begun, 1)
        if number is not None:
            time.sleep(after)
            os.kill(child, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(begun)
        os.close(begins)
        said.seek(0)
        return status, said.read().splitlines()


NO_HOME = {"HOME": "/proc/none", "MPLCONFIGDIR": "", "XDG_CACHE_HOME": ""}
"""Containers and clusters have such homes; nothing of it is needed."""


def program(fault, *arguments, of="runs"):
    """Make faults in a process of its own, without a home; return what was found."""
    words = [sys.executable, "-W", "ignore", "-m", f"tests.faults.{of}", fault]
    done = subprocess.run(
        [*words, *map(str, arguments)],
        env=os.environ | NO_HOME,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FAULTS = {
    "changes": at_every_change,
    "moves": at_moves,
    "check": a_check,
    "errors": errors,
    "random": at_random,
    "limits": limits,
    "signals": signals,
}


def _main(fault, *arguments):
    """Make the faults and print their counts."""
    root = Path(arguments[-1])
    make_inputs(root)
    print(json.dumps(FAULTS[fault](*arguments[:-1], root)))  # noqa: T201


if __name__ == "__main__":
    _main(*sys.argv[1:])
