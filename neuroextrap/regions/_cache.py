"""Surface discs kept on disk, keyed by mesh and radius."""

import hashlib
import logging
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse

from neuroextrap.regions._membership import check_coordinates, check_radius
from neuroextrap.regions._surfaces import check_faces, surface_discs

_logger = logging.getLogger(__name__)


def cached_surface_discs(coordinates, faces, radius, *, cache_dir):
    """Return discs around every vertex, from ``cache_dir`` when computed before.

    The file is named by a hash of coordinates, faces and radius, holds plain arrays
    (no pickle), and is moved into place when complete, so that several processes may
    share the folder. A file that cannot be read is computed anew and replaced.

    Parameters
    ----------
    coordinates : array-like of shape (n_vertices, 3)
        Vertex coordinates (mm).
    faces : array-like of int of shape (n_faces, 3)
        Vertex indices of each triangle.
    radius : float
        Radius in mm along the surface.
    cache_dir : path-like
        Folder of the cache; created when missing.

    Returns
    -------
    scipy.sparse.csr_array of bool of shape (n_vertices, n_vertices)
        The same as ``surface_discs(coordinates, faces, radius)``.

    Raises
    ------
    ValueError
        If the mesh or the radius is malformed.

    Examples
    --------
    >>> import tempfile
    >>> from neuroextrap.regions._cache import cached_surface_discs
    >>> square = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> faces = [[0, 1, 2], [0, 2, 3]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     discs = cached_surface_discs(square, faces, 1.0, cache_dir=folder)
    >>> discs.nnz
    12
    """
    coordinates = check_coordinates(coordinates)
    faces = check_faces(faces, len(coordinates))
    path = Path(cache_dir) / f"discs_{_mesh_key(coordinates, faces, radius)}.npz"
    discs = _read(path, len(coordinates))
    if discs is None:
        discs = surface_discs(coordinates, faces, radius)
        _write(path, discs)
    return discs


def _mesh_key(coordinates, faces, radius):
    """Hash of everything the discs depend on."""
    key = hashlib.sha256(b"discs 1")
    for array in (
        coordinates,
        faces.astype(np.int64),
        np.float64(check_radius(radius)),
    ):
        key.update(str(np.shape(array)).encode())
        key.update(np.ascontiguousarray(array).tobytes())
    return key.hexdigest()[:32]


def _read(path, n_vertices):
    """Return the discs stored at ``path``, or None if absent or unreadable."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            indices, indptr = stored["indices"], stored["indptr"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _logger.warning("%s cannot be read (%s): computed anew", path, error)
        return None
    return sparse.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr),
        shape=(n_vertices, n_vertices),
    )


def _write(path, discs):
    """Write to a temporary file beside ``path`` and move it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, indices=discs.indices, indptr=discs.indptr)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
