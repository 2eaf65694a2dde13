"""Which files the data of an analysis came from."""

import os

from neuroextrap.images._opening import image_files
from neuroextrap.maps._provenance import Origin, SourceFile


def origin_of(sources, options=None):
    """Return the Origin of data that came in as images, paths, lists or arrays.

    `sources` is a dict of what came in by role, such as ``{"imgs": "run-*.nii.gz"}``.
    Only what is on disk has files; it is hashed when results are written. `options` are
    those by which samples were made of the data.
    """
    files = {role: source_files(value) for role, value in sources.items()}
    return Origin(files, options or {})


def recorded_options(options):
    """Return options of samples as they are put on record: tables as arrays.

    >>> recorded_options({"exclude": "rest", "confounds": [None]})
    {'exclude': 'rest', 'confounds': [None]}
    """
    return {name: _as_array(value) for name, value in options.items()}


def _as_array(value):
    """Return a table as an array, in lists too."""
    if isinstance(value, (list, tuple)):
        return [_as_array(item) for item in value]
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def source_files(value):
    """Return the files behind what came in, SourceFiles, in the state they are in."""
    if isinstance(value, SourceFile):
        return [value]
    if isinstance(value, (str, os.PathLike)):
        return [SourceFile.of(path) for path in image_files(value)]
    if isinstance(value, (list, tuple)):
        return [path for item in value for path in source_files(item)]
    get_filename = getattr(value, "get_filename", None)
    path = get_filename() if callable(get_filename) else None
    return [] if path is None else [SourceFile.of(path)]
