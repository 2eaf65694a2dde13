"""Results of finished tasks on disk, so that a run can be interrupted and resumed."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap.margins._array_hash import array_hash
from neuroextrap.margins._task import Plan


def run_identity(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> dict[str, Any]:
    """Return what makes a run what it is: name of a part to its hashes or its text."""
    weightings = [] if plan.weightings is None else [plan.weightings]
    forward = plan.forward
    tests = []
    if forward is not None:
        tests = [*forward.design.arrays, forward.sums.data, forward.weighting]
    return {
        "data": array_hash(X),
        "regions": _hashes(regions.indptr, regions.indices),
        "labels": array_hash(plan.codes),
        "folds": _hashes(*plan.design.arrays, *weightings),
        "forward tests": _hashes(*tests),
        "classifier": repr(plan.kernel),
        "whitening": repr(plan.whitener),
        "statistic": repr(plan.statistic),
        "pairing": plan.pairing,
        "saved null": plan.keep_null,
    }


def _hashes(*arrays: np.ndarray) -> list[str]:
    """Fingerprint several arrays."""
    return [array_hash(array) for array in arrays]


class Checkpoint:
    """A folder with one file for every finished task of one run.

    ``identity``, JSON values only, is what makes the run what it is: hashes of data and
    regions, parameters. A folder that holds another run is refused.
    """

    def __init__(self, directory: str | Path, identity: dict[str, Any]) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        manifest = self.directory / "manifest.json"
        if manifest.exists():
            self._check(json.loads(manifest.read_text()), identity)
        else:
            _replace(manifest, json.dumps(identity, indent=1).encode())

    def _check(self, stored: dict[str, Any], identity: dict[str, Any]) -> None:
        """Refuse a folder made by a run of other data or parameters."""
        keys = sorted(set(stored) | set(identity))
        other = [key for key in keys if stored.get(key) != identity.get(key)]
        if other:
            raise ValueError(
                f"checkpoint={str(self.directory)!r} was made by a run with another "
                f"{', '.join(other)}; name another folder, or delete this one"
            )

    def _path(self, task: int) -> Path:
        """Return the file of a task."""
        return self.directory / f"task_{task:06d}.npz"

    def load(self, task: int) -> dict[str, np.ndarray] | None:
        """Return the result of a finished task, or None."""
        path = self._path(task)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def save(self, task: int, result: dict[str, Any]) -> None:
        """Write the result of a task, whole or not at all."""
        partial = self.directory / f".task_{task:06d}.{os.getpid()}.npz"
        np.savez(partial, **result)
        partial.replace(self._path(task))


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)
