"""Commands to be disturbed, and what their folders held before and after.

Run as a program it forks a process for every fault, so that a fault costs no start of
Python: ``python -m tests.faults.runs KIND HOW N FOLDER``; it prints counts as JSON.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

KINDS = ("searchlight", "encoding", "merge", "report")
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
        and path.name != "provenance.json"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def read(kind, folder):
    """Read results as a user would, which completes what was interrupted."""
    from neuroextrap.decoding import IdentificationSearchLight
    from neuroextrap.encoding import EncodingIdentification

    cls = EncodingIdentification if kind == "encoding" else IdentificationSearchLight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls.from_directory(folder)


def in_child(work, kill_after=None):
    """Do some work in a forked process, killed after so many seconds; its status."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = work()
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at_change(number):
    """Kill this process when it changes the file system for the n-th time."""
    changes = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"}
    count = 0

    def hook(event, args):
        nonlocal count
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in changes or writes:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def at_every_change(kind, step, root):
    """Kill an overwriting command at every `step`-th change of the file system."""
    old, new, out = _old_and_new(kind, root)
    words, number = words_of(kind, root, out), 1
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


def at_random(kind, n_kills, root):
    """Kill an overwriting command at random moments; let every fifth chain end."""
    old, new, out = _old_and_new(kind, root)
    words = words_of(kind, root, out)
    if kind in ("searchlight", "encoding"):
        words[1:1] = ["--checkpoint", str(root / "checkpoint")]
    start = time.monotonic()
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
        assert run(words_of(kind, root, root / name, seed)) == 0
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


def _main(kind, how, n, folder):
    """Make the faults and print their counts."""
    root = Path(folder)
    make_inputs(root)
    faults = {"changes": at_every_change, "random": at_random}[how]
    print(json.dumps(faults(kind, int(n), root)))  # noqa: T201


if __name__ == "__main__":
    _main(*sys.argv[1:])
