"""Results of finished tasks on disk, so that a run can be interrupted and resumed."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np


def array_digest(*arrays):
    """Return a SHA-256 over the bytes, shapes and types of arrays.

    Parameters
    ----------
    *arrays : ndarray
        Any number of them.

    Returns
    -------
    str
        Hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._checkpoint import array_digest
    >>> array_digest(np.zeros(2)) == array_digest(np.zeros(2)), len(array_digest())
    (True, 64)
    """
    digest = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def run_identity(X, regions, plan):
    """Return what makes a run what it is, as JSON values.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.

    Returns
    -------
    dict
        Name of a part to its hash or its text.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._checkpoint import run_identity
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> run_identity(X, regions, plan)["classifier"]
    'NearestCentroidMargins()'
    """
    folds = [index for fold in plan.design.folds for index in fold]
    weightings = [] if plan.weightings is None else [plan.weightings]
    return {
        "data": array_digest(X),
        "regions": array_digest(regions.indptr, regions.indices),
        "labels": array_digest(plan.codes),
        "folds": array_digest(*folds, *weightings),
        "classifier": repr(plan.kernel),
        "whitening": repr(plan.whitener),
        "statistic": repr(plan.statistic),
        "pairing": plan.pairing,
        "saved null": plan.keep_null,
    }


class Checkpoint:
    """A folder with one file for every finished task of one run.

    Parameters
    ----------
    directory : path-like
        Made if it is not there.
    identity : dict
        What makes the run what it is, JSON values only: hashes of data and regions,
        parameters. A folder of another run is refused.

    Raises
    ------
    ValueError
        When the folder holds another run.
    """

    def __init__(self, directory, identity):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        manifest = self.directory / "manifest.json"
        if manifest.exists():
            self._check(json.loads(manifest.read_text()), identity)
        else:
            _replace(manifest, json.dumps(identity, indent=1).encode())

    def _check(self, found, identity):
        """Refuse a folder made by a run of other data or parameters."""
        keys = sorted(set(found) | set(identity))
        other = [key for key in keys if found.get(key) != identity.get(key)]
        if other:
            raise ValueError(
                f"checkpoint={str(self.directory)!r} was made by a run with another "
                f"{', '.join(other)}; name another folder, or delete this one"
            )

    def _path(self, task):
        """Return the file of a task."""
        return self.directory / f"task_{task:06d}.npz"

    def load(self, task):
        """Return the result of a finished task, or None.

        Parameters
        ----------
        task : int

        Returns
        -------
        dict of ndarray or None
        """
        path = self._path(task)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def save(self, task, result):
        """Write the result of a task, whole or not at all.

        Parameters
        ----------
        task : int
        result : dict of ndarray
        """
        partial = self.directory / f".task_{task:06d}.{os.getpid()}.npz"
        np.savez(partial, **result)
        partial.replace(self._path(task))


def _replace(path, content):
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)
