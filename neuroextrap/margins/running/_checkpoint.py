"""What makes a run what it is; results of its finished tasks on disk, to resume it."""

import hashlib
import inspect
import json
import os
import re
import uuid
import zipfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap import __version__
from neuroextrap._parameter_table import resources
from neuroextrap.margins._plan import Plan
from neuroextrap.stats._validation import warn

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_LONGEST = 1000  # numbers or words that are kept as they are
_DEEPEST = 8
WITHOUT_EFFECT = {*resources(), "memory_level"}  # which is a masker's
"""Parameters of anything that change no result."""


def array_hash(array: Any) -> str:
    """Fingerprint values, shape and type by 64 hexadecimal digits (SHA-256)."""
    array = np.asarray(array)
    if array.dtype.kind == "O":
        if not all(isinstance(item, str) for item in array.ravel()):
            raise TypeError(
                "array must hold numbers or strings, got Python objects; convert it "
                "first"
            )
        array = array.astype(str)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    key = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    if array.size:
        key.update(array.reshape(-1).view(np.uint8).data)
    return key.hexdigest()


def described(
    value: Any, special: Callable[[Any], Any] | None = None, _depth: int = 0
) -> Any:
    """Return what a value is, in JSON values.

    Large arrays become shape and hash, objects with parameters (``get_params``) their
    class and parameters, without those that change no result. ``special`` returns the
    description of values that it knows, else None.

    >>> described({"radius": np.float64(8), "cv": range(2)})
    {'radius': 8.0, 'cv': {'class': 'range', 'text': 'range(0, 2)'}}
    """
    known = None if special is None else special(value)
    if known is not None:
        return known
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return _array(value)
    if _depth == _DEEPEST:
        return {"class": class_name(value)}
    return _compound(value, lambda item: described(item, special, _depth + 1))


def class_name(value: Any) -> str:
    """Return the full name of a class or of a value's, without private modules."""
    named = value if hasattr(value, "__qualname__") else type(value)
    home = getattr(named, "__module__", None) or "builtins"
    public = [part for part in home.split(".") if not part.startswith("_")]
    public = [part for part in public if part != "builtins"]
    return ".".join([*public, named.__qualname__])


def without_addresses(text: str) -> str:
    """Remove memory addresses from the text of an object."""
    return _ADDRESS.sub("", text)


def _array(array: Any) -> Any:
    """Describe an array, sparse or not, by its values, or by shape and hashes."""
    if scipy.sparse.issparse(array):
        rows = scipy.sparse.csr_array(array)
        parts = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        hashes = [array_hash(part) for part in parts]
        return {"shape": list(rows.shape), "sha256": hashes}
    if array.dtype.kind in "OV":
        return {"class": "numpy.ndarray", "shape": list(array.shape)}
    if array.size <= _LONGEST:
        return array.tolist()
    shape, dtype = list(array.shape), str(array.dtype)
    return {"shape": shape, "dtype": dtype, "sha256": array_hash(array)}


def _compound(value: Any, describe: Callable[[Any], Any]) -> Any:
    """Describe what consists of other values."""
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return _sequence(value, describe)
    if inspect.isclass(value) or inspect.isroutine(value):
        return {"class": class_name(value)}
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        kept = {n: v for n, v in parameters.items() if n not in WITHOUT_EFFECT}
        return {"class": class_name(value), "parameters": describe(kept)}
    public = {n: v for n, v in getattr(value, "__dict__", {}).items() if n[:1] != "_"}
    if public:
        return {"class": class_name(value), "parameters": describe(public)}
    text = without_addresses(repr(value))
    return {"class": class_name(value), "text": text[:_LONGEST]}


def _sequence(values: Any, describe: Callable[[Any], Any]) -> Any:
    """Describe a sequence item by item, or a long one of numbers or words by hash."""
    items = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
    if len(items) > _LONGEST and all(isinstance(v, (int, float, str)) for v in items):
        return {"length": len(items), "sha256": array_hash(list(items))}
    return [describe(item) for item in items]


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
