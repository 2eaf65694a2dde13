"""What makes a run what it is; results of its finished tasks on disk, to resume it."""

import hashlib
import json
import os
import uuid
import zipfile
import zlib
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap import __version__
from neuroextrap.margins._plan import Plan
from neuroextrap.margins.running._described import array_hash, without_addresses
from neuroextrap.stats._warn import warn

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """An exclusive lock (``flock``), held until `release` or the end of the process.

    Where the system has none, `known` is False and nothing is locked. `path` is a
    folder (not on NFS), or a file that is created when missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.held, self.known = False, False
        self._handle: int | None = None
        if fcntl is None:
            return
        flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | os.O_CREAT
        handle = os.open(path, flags, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.known = True
        except OSError:
            pass  # a file system without locks
        else:
            self.held = self.known = True
            self._handle = handle
            return
        os.close(handle)

    @property
    def taken(self) -> bool:
        """Whether another process (or another lock of this one) holds it."""
        return self.known and not self.held

    def release(self) -> None:
        """Give the lock back."""
        handle, self._handle = self._handle, None
        self.held = False
        if handle is not None:
            os.close(handle)


_MANIFEST = "manifest.json"
_NOT_RESUMED = "the run goes on, but could not be resumed from here"
_MADE_AGAIN = (
    "was removed during the run and made again; tasks that were finished before would "
    "be computed again after an interruption"
)
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class Checkpoint(AbstractContextManager["Checkpoint"]):
    """A folder with one file for every finished task of one run, freed by ``with``.

    ``identity``, JSON values, is what makes the run what it is. A folder that holds
    another run is refused, and so is one in which another process works on the same
    ``part``. A task's file tells its number, its run and the hash of its content: one
    that was damaged, exchanged or edited is computed again, with a warning. A folder
    that cannot be written any more costs a warning, not the run.
    """

    def __init__(
        self, directory: str | Path, identity: dict[str, Any], part: str = "whole"
    ) -> None:
        self.directory = Path(directory)
        self._identity = identity
        self._name = identity_hash(identity)
        self._usable = True
        self._lock: Lock | None = None
        self._part = part
        self._open()

    def __exit__(self, *error: object) -> None:
        """Free the folder for other processes."""
        self.close()

    def close(self) -> None:
        """Free the folder for other processes."""
        if self._lock is not None:
            self._lock.release()

    def load(self, task: int) -> dict[str, np.ndarray] | None:
        """Return the result of a finished task, or None."""
        path = self._path(task)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                result = {name: stored[name] for name in stored.files}
            if str(result.pop("seal")) == self._seal(task, result):
                return result
            reason = "it is of another task or run, or was edited"
        except _UNREADABLE as error:
            reason = type(error).__name__
        warn(f"{path} is damaged ({reason}); its task is computed again")
        return None

    def save(self, task: int, result: dict[str, Any]) -> None:
        """Write a task's result; what a power failure damages, the seal tells."""
        if not self._usable:
            return
        arrays = {name: np.asarray(value) for name, value in result.items()}
        arrays["seal"] = np.array(self._seal(task, arrays))
        try:
            self._write(task, arrays)
        except OSError:
            self._save_again(task, arrays)

    def _open(self) -> None:
        """Make the folder if need be, lock it, and claim it for this run."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.directory / f".lock-{self._part}")
            self._refuse_company()
            self._claim()
        except OSError as error:
            self.close()
            raise ValueError(
                f"checkpoint={str(self.directory)!r} cannot be used as a folder "
                f"({error.strerror or error}); name another"
            ) from error
        except ValueError:
            self.close()
            raise

    def _refuse_company(self) -> None:
        """Refuse a folder in which another process does the same; clear leftovers."""
        assert self._lock is not None
        if self._lock.taken:
            raise ValueError(
                f"checkpoint={str(self.directory)!r} is in use: another process works "
                f"on the same {'run' if self._part == 'whole' else 'part'}; wait for "
                "it, or name another folder"
            )
        if self._lock.held:  # what is there was left by a process that was killed
            for path in self.directory.glob(f".task_*.{self._part}.*"):
                path.unlink(missing_ok=True)

    def _claim(self) -> None:
        """Make the manifest, unless it is there; refuse that of another run."""
        manifest, text = (
            self.directory / _MANIFEST,
            json.dumps(self._identity, indent=1),
        )
        if not manifest.exists() and _created(manifest, text.encode()):
            return
        try:
            stored = json.loads(manifest.read_text())
            other = differing(stored, json.loads(text))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"checkpoint={str(self.directory)!r} has a damaged {_MANIFEST}; name "
                "another folder, or delete this one and compute its tasks again"
            ) from error
        if other:
            raise ValueError(
                f"checkpoint={str(self.directory)!r} was made by a run with another "
                f"{', '.join(other)}; name another folder, or delete this one"
            )

    def _path(self, task: int) -> Path:
        """Return the file of a task."""
        return self.directory / f"task_{task:06d}.npz"

    def _seal(self, task: int, arrays: dict[str, np.ndarray]) -> str:
        """Return the hash of a task's number, run and content."""
        content = [f"{name} {array_hash(arrays[name])}" for name in sorted(arrays)]
        return array_hash([self._name, str(task), *content])

    def _write(self, task: int, arrays: dict[str, np.ndarray]) -> None:
        """Write a task's file under another name and move it into place."""
        unique = f"{self._part}.{uuid.uuid4().hex}.npz"
        partial = self.directory / f".task_{task:06d}.{unique}"
        try:
            np.savez_compressed(partial, **arrays)  # type: ignore[arg-type]
            partial.replace(self._path(task))
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _save_again(self, task: int, arrays: dict[str, np.ndarray]) -> None:
        """Write after making the folder again; give up checkpoints if that fails."""
        vanished, message = not self.directory.is_dir(), ""
        try:
            self.close()
            self._open()
            self._write(task, arrays)
            if vanished:
                message = _MADE_AGAIN
        except (OSError, ValueError) as error:
            self._usable = False
            reason = getattr(error, "strerror", None) or error
            message = f"cannot be written any more ({reason}); {_NOT_RESUMED}"
        if message:
            warn(f"checkpoint={str(self.directory)!r} {message}")


def _created(path: Path, content: bytes) -> bool:
    """Create a file with its content in one step; False when there is one.

    A hard link appears whole or not at all, on NFS too; without links the file is
    filled.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        partial.write_bytes(content)
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:
            with open(path, "xb") as file:
                file.write(content)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    return True


VERSIONS = {"neuroextrap": __version__, "numpy": np.__version__}


def run_identity(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> dict[str, Any]:
    """Return what makes a run what it is: name of a part to its hash or its text."""
    weightings = [] if plan.weightings is None else [plan.weightings]
    forward, tests = plan.forward, []
    if forward is not None:
        sums = forward.sums
        tests = [sums.data, sums.indices, sums.indptr, forward.weighting]
        tests += forward.design.arrays
    subsets = [array for each in plan.subsets for array in each.arrays]
    return {
        "data": array_hash(X),
        "regions": _hash_of_all(regions.indptr, regions.indices),
        "labels": array_hash(plan.codes),
        "folds": _hash_of_all(*plan.design.arrays, *weightings),
        "forward tests": _hash_of_all(*tests),
        "classifier": without_addresses(repr(plan.kernel)),
        "whitening": without_addresses(repr(plan.whitener)),
        "statistic": without_addresses(repr(plan.statistic)),
        "pairing": plan.pairing,
        "versions": VERSIONS,
        **({"class subsets": _hash_of_all(*subsets)} if subsets else {}),
    }


def identity_hash(identity: dict[str, Any]) -> str:
    """Return one hash of an identity, the name of its run."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the parts in which two identities differ."""
    keys = sorted(set(one) | set(other))
    return [key for key in keys if one.get(key) != other.get(key)]


def _hash_of_all(*arrays: np.ndarray) -> str:
    """Fingerprint several arrays together."""
    return array_hash([array_hash(array) for array in arrays])
