"""Fingerprints of files."""

import functools
import hashlib
import os


def file_hash(path):
    """Return the SHA-256 of a file as 64 hexadecimal digits; it is read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_hash(path):
    """Return the SHA-256 of a file; one that has not changed is read once only."""
    status = os.stat(path)
    stamp = status.st_size, status.st_mtime_ns, status.st_ino
    return _hash_of_state(os.path.abspath(path), stamp)


@functools.lru_cache(maxsize=4096)
def _hash_of_state(path, stamp):
    """Fingerprint a file in the state that its stamp (size, time, inode) tells."""
    del stamp
    return file_hash(path)
