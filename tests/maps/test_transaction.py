"""Files that take their places together, whatever happens on the way."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from tests.maps.seam import (
    STAGING,
    ResultFiles,
    _checkpoint,
    _transaction,
    finish_interrupted,
    replaced_results,
)

BIDS = {"sub": "01"}


def write(folder, content, names=("a", "b", "c"), bids=None, record=(), **options):
    parts = [(ResultFiles.below(folder, bids), dict(record))]
    with replaced_results(parts, overwrite=True, **options) as [staging]:
        for name in names:
            (staging / f"{name}.txt").write_text(content)


def content(folder):
    """Return the text of every file in a folder but the record."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*.txt"))
    }


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_files_that_have_no_successor_go_and_those_of_others_stay(tmp_path):
    write(tmp_path, "old", record={"command": "first"})
    (tmp_path / "mine.txt").write_text("mine")
    write(tmp_path, "new", names=("b", "d"), record={"command": "second"})
    assert content(tmp_path) == {"b.txt": "new", "d.txt": "new", "mine.txt": "mine"}
    record = json.loads((tmp_path / "provenance.json").read_text())
    assert record["command"] == "second"
    assert record["files"].keys() == {"b.txt", "d.txt"}


def fail_half_way(files, error):
    with replaced_results([(files, {})], overwrite=True) as [staging]:
        (staging / "a.txt").write_text("half")
        raise error


@pytest.mark.parametrize("bids", [None, BIDS])
def test_a_failure_leaves_everything_as_it_was(tmp_path, bids):
    class OddError(BaseException):
        pass

    for folder, before in ((tmp_path / "new", []), (tmp_path / "old", ["a"])):
        if before:
            write(folder, "old", names=before, bids=bids)
        kept = listing(tmp_path)
        for error in (OddError, OSError, KeyboardInterrupt):
            files = ResultFiles.below(folder, bids)
            with pytest.raises(error):
                fail_half_way(files, error)
            assert listing(tmp_path) == kept


# a child process that is killed at its n-th change of the file system
_KILLED = """
import os, signal, sys
from pathlib import Path
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results

root = Path(sys.argv[1])
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"}

def die_at(last):
    count = 0
    def hook(event, args):
        nonlocal count
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or writes:
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

for kind, bids in (("plain", None), ("bids", {"sub": "01"})):
    n, killed = 0, True
    while killed:
        n += 1
        child = os.fork()
        if child == 0:
            die_at(n)
            files = ResultFiles.below(root / kind / str(n), bids)
            with replaced_results([(files, {})], overwrite=True) as [staging]:
                for name in "bcd":
                    (staging / f"{name}.txt").write_text("new")
            os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    print(n - 1)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder by kind for every change at which a writer died, and their numbers."""
    root = tmp_path_factory.mktemp("killed")
    for kind, bids in (("plain", None), ("bids", BIDS)):
        write(root / kind / "1", "old", bids=bids)
        for n in range(2, 60):
            shutil.copytree(root / kind / "1", root / kind / str(n))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _KILLED, str(root)],
        capture_output=True,
        text=True,
        check=True,
    )
    numbers = map(int, done.stdout.split())
    return {kind: (root / kind, next(numbers)) for kind in ("plain", "bids")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("kind", "bids"), [("plain", None), ("bids", BIDS)])
def test_killed_at_every_change_either_old_or_new_is_there(killed, kind, bids):
    tmp_path, n_kills = killed[kind]
    old = content(tmp_path / "59")  # nobody wrote there
    assert 20 < n_kills < 58
    write(tmp_path / "reference", "old", bids=bids)
    write(tmp_path / "reference", "new", names="bcd", bids=bids)
    new, found = content(tmp_path / "reference"), []
    for n in range(1, n_kills + 1):
        folder = tmp_path / str(n)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ResultFiles.find(folder, "maps.json")  # what every reader does first
        visible = {
            name: text for name, text in content(folder).items() if STAGING not in name
        }
        assert visible in (old, new)
        found.append(visible == new)
        if told:
            assert "completed the results of a run that was killed" in str(
                told[0].message
            )
            assert visible == new
        write(folder, "later", names="a", bids=bids)
        assert list(content(folder).values()) == ["later"]
        assert not list(folder.rglob(f"{STAGING}*"))
    assert found == sorted(found)  # old until the list of moves stands, then new
    assert {True, False} == set(found)


def write_until_moves_are_listed(monkeypatch, *args, **options):
    """Write as a process does that is killed once its moves are listed."""

    def killed(staging):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(_transaction, "_finish", killed)
        with suppress(SystemExit):
            write(*args, **options)


def test_readers_complete_what_they_can_and_say_what_they_cannot(tmp_path, monkeypatch):
    write_until_moves_are_listed(monkeypatch, tmp_path, "new")
    with monkeypatch.context() as patch:

        def refuse(source, target):
            raise PermissionError(13, "Permission denied")

        patch.setattr(os, "replace", refuse)
        with pytest.raises(
            ValueError, match=r"written in part.*make the folder writab"
        ):
            finish_interrupted(tmp_path)
    [staging] = tmp_path.glob(f"{STAGING}*")
    plan = json.loads((staging / "commit.json").read_text())
    plan["move"]["a.txt"] = "../a.txt"
    (staging / "commit.json").write_text(json.dumps(plan))
    with pytest.raises(ValueError, match="files elsewhere"):
        finish_interrupted(tmp_path)
    (staging / "commit.json").write_text("{")
    with pytest.raises(ValueError, match=r"commit\.json is damaged.*remove"):
        finish_interrupted(tmp_path)
    assert content(tmp_path / staging.name) != {}


@pytest.fixture
def ctrl_c():
    """A shell ignores Ctrl-C in what it starts in the background."""
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.SIGINT
    signal.signal(signal.SIGINT, ignored)


def test_ctrl_c_while_files_move_waits_until_all_have(tmp_path, monkeypatch, ctrl_c):
    write(tmp_path, "old")
    replace, calls = os.replace, []

    def interrupted(source, target):
        calls.append(source)
        if len(calls) == 4:  # the list, two files, and here
            os.kill(os.getpid(), ctrl_c)
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, "new")
    assert set(content(tmp_path).values()) == {"new"}
    assert not list(tmp_path.glob(f"{STAGING}*"))


def test_two_writers_do_not_mix(tmp_path, monkeypatch):
    files = ResultFiles.below(tmp_path)
    with replaced_results([(files, {})]) as [first]:
        (first / "a.txt").write_text("first")
        with replaced_results([(files, {})]) as [second]:
            (second / "a.txt").write_text("second")
            assert first != second  # neither takes the other for a leftover
            assert first.is_dir()
        with pytest.raises(ValueError, match="is not empty"):
            files.check()
        (tmp_path / "a.txt").unlink()
        (tmp_path / "provenance.json").unlink()
    assert content(tmp_path) == {"a.txt": "first"}
    monkeypatch.setattr(_transaction, "_PATIENCE", 0.1)
    lock = _transaction.Lock(tmp_path)
    with pytest.raises(ValueError, match="is being written by another process"):
        write(tmp_path, "third")
    lock.release()
    assert content(tmp_path) == {"a.txt": "first"}


def write_into_a_folder_that_fills(folder):
    with replaced_results([(ResultFiles.below(folder), {})]) as [staging]:
        (staging / "a.txt").write_text("first")
        (folder / "theirs.txt").write_text("meanwhile")


def test_who_comes_second_without_overwrite_is_told(tmp_path):
    with pytest.raises(ValueError, match="is not empty"):
        write_into_a_folder_that_fills(tmp_path)
    assert content(tmp_path) == {"theirs.txt": "meanwhile"}


def test_folders_without_locks_work_too(tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoint, "fcntl", None)
    write(tmp_path, "old")
    write(tmp_path, "new")
    assert set(content(tmp_path).values()) == {"new"}


def test_outputs_that_cannot_be_made_are_found_by_trying(tmp_path):
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("nowhere", "loop"):
        with pytest.raises(ValueError, match=r"is a link to .*, which is not there"):
            ResultFiles.below(tmp_path / name).check()
    ResultFiles.below(tmp_path / "link").check()
    ResultFiles.below(tmp_path / "link" / "below").check()
    assert listing(tmp_path) == ["link", "loop", "nowhere", "real"]
    write(tmp_path / "link", "new")
    assert content(tmp_path / "real").keys() == {"a.txt", "b.txt", "c.txt"}
    if sys.platform == "linux":
        for path in ("/proc/neuroextrap", "/proc/self/neuroextrap/out"):
            with pytest.raises(ValueError, match=r"cannot be (written|created)"):
                ResultFiles.below(path).check()


def pending(monkeypatch, root, place):
    """Results of a data set whose moves a killed process has listed, one elsewhere."""
    options = {"bids": BIDS, "elsewhere": {"c.txt": place}}
    write_until_moves_are_listed(monkeypatch, root, "new", **options)
    return root / "sub-01" / "func"


def test_a_file_elsewhere_in_the_data_set_comes_with_the_others(tmp_path, monkeypatch):
    place = tmp_path / "out" / "code" / "sub-01.txt"
    folder = pending(monkeypatch, tmp_path / "out", place)
    assert not place.exists()
    with pytest.warns(UserWarning, match="completed the results"):
        finish_interrupted(folder)
    found = content(tmp_path / "out")
    names = [
        "code/sub-01.txt",
        *(f"sub-01/func/sub-01_desc-{n}_stat.txt" for n in "ab"),
    ]
    assert found == dict.fromkeys(names, "new")
    record = json.loads(next(folder.glob("*provenance_stat.json")).read_text())
    assert len(record["files"]) == 2  # the others belong to no results
    write(tmp_path / "out", "later", bids=BIDS)
    assert content(tmp_path / "out")["code/sub-01.txt"] == "new"


@pytest.mark.parametrize("kind", ["outside", "absolute", "of others"])
def test_no_file_goes_out_of_the_data_set(tmp_path, monkeypatch, kind):
    root = tmp_path / "out"
    place = tmp_path / "mine.txt" if kind == "outside" else root / "code" / "c.txt"
    folder = pending(monkeypatch, root, place)
    [path] = folder.glob(f"{STAGING}*/commit.json")
    plan = json.loads(path.read_text())
    if kind == "absolute":
        plan["move"]["c.txt"] = str(tmp_path / "mine.txt")
    if kind == "of others":
        about = {"Name": "Theirs", "BIDSVersion": "1.8.0", "DatasetType": "raw"}
        (root / "dataset_description.json").write_text(json.dumps(about))
    path.write_text(json.dumps(plan))
    with pytest.raises(ValueError, match="files elsewhere"):
        finish_interrupted(folder)
    assert [
        path for path in tmp_path.rglob("*.txt") if "partial" not in str(path)
    ] == []


@pytest.mark.parametrize("bids", [None, BIDS])
def test_a_folder_on_another_file_system(tmp_path, monkeypatch, bids):
    """Files are moved from there as from here, whole or not at all."""
    replace = os.replace

    class OtherDevice:
        def __getattr__(self, name):
            return getattr(os, name)

        def replace(self, source, target):
            if Path(source).parent != Path(target).parent:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            replace(source, target)

    monkeypatch.setattr(_transaction, "os", OtherDevice())
    for text in ("first", "second"):
        write(tmp_path, text, bids=bids)
        found = content(tmp_path)
        assert {t for name, t in found.items() if name.endswith(".txt")} == {text}
    assert [path for path in tmp_path.rglob(".*") if path.name != ".bidsignore"] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("bids", [None, BIDS])
def test_starts_at_once_in_a_folder_that_is_not_there(tmp_path, bids):
    for number in range(12):
        children = []
        for name in "abc":
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    write(tmp_path / f"{number}/below/out", name, bids=bids)
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        assert ends == [0, 0, 0]
        files = content(tmp_path / f"{number}/below/out")
        assert len({text for name, text in files.items() if name[-4:] == ".txt"}) == 1


def test_folders_that_others_remove_are_made_again(tmp_path, monkeypatch):
    folder, removed = tmp_path / "out", []
    mkdtemp, probe = tempfile.mkdtemp, tempfile.NamedTemporaryFile

    def after_removal(make):
        def made(*args, **kwargs):
            if len(removed) % 4 < 3:
                with suppress(OSError):  # in use
                    folder.rmdir()
            removed.append(make)
            return make(*args, **kwargs)

        return made

    monkeypatch.setattr(tempfile, "mkdtemp", after_removal(mkdtemp))
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", after_removal(probe))
    write(folder, "new")
    assert content(folder)["a.txt"] == "new"
    assert len(removed) == 9
    gone = ResultFiles.below(tmp_path / "gone")
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", vanished)
    with pytest.raises(ValueError, match=r"cannot be written .*; choose another"):
        gone.check()


def vanished(*args, **kwargs):
    """Fail as in a folder that is always removed."""
    raise FileNotFoundError(errno.ENOENT, "No such file or directory")
