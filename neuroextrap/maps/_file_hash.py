"""Fingerprints of files."""

import functools
import hashlib
import os


def file_hash(path):
    """Return the SHA-256 of a file as 64 hexadecimal digits; it is read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_stamp(path):
    """Return what tells two states of a file apart: size, time and inode."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


def source_hash(path):
    """Return the SHA-256 of a file; one that has not changed is read once only."""
    return _hash_of_state(os.path.abspath(path), file_stamp(path))


@functools.lru_cache(maxsize=4096)
def _hash_of_state(path, stamp):
    """Fingerprint a file in the state that its stamp (size, time, inode) tells."""
    del stamp
    return file_hash(path)
