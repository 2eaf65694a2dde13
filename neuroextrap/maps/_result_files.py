"""Where the files of one analysis are, and what they are called."""

import glob
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroextrap.maps._provenance import (
    BESIDE,
    DESCRIPTION,
    check_dataset,
    describe_dataset,
    in_order,
)
from neuroextrap.maps._transaction import STAGING, finish_interrupted, tried_again
from neuroextrap.stats._validation import check_flags

_SIDE = re.compile(r"(.+)_hemi-([LR])")
_PROBE = b"neuroextrap" * 400  # more than a block, so that a full disk shows
_NAME = re.compile(r"((?:[a-z]+-[A-Za-z0-9+]+_)*)desc-([A-Za-z0-9+]+)_stat\.(.+)")


@dataclass(frozen=True)
class ResultFiles:
    """The files of one analysis, under plain or under BIDS names.

    Plain, a file is called what it is, ``implied_information.nii.gz``, and lies in the
    output folder. As a BIDS derivative it is
    ``sub-01_task-x_space-T1w_desc-impliedinformation_stat.nii.gz`` and lies in
    ``sub-01/func`` (``sub-01/ses-02/func``, or ``group`` when there is no subject)
    below the output folder, which has a ``dataset_description.json``. `bids` are the
    entities that names begin with, or None for plain names; a ``desc`` among them is
    put before the file's own (``desc-accuracyPvalue``). `root` is None for reading.
    """

    folder: Path
    bids: Any = None
    root: Any = None

    @classmethod
    def below(cls, root, bids=None):
        """Return the files of an analysis that is to be written to a folder."""
        root = Path(root).expanduser()
        if bids is None:
            return cls(root, None, root)
        bids = in_order({str(key): str(label) for key, label in bids.items()})
        levels = [f"{key}-{bids[key]}" for key in ("sub", "ses") if key in bids]
        folder = root.joinpath(*levels, "func") if "sub" in bids else root / "group"
        return cls(folder, bids, root)

    @classmethod
    def find(cls, path, index):
        """Return the files of an analysis by its folder, one above, or index; or None.

        `index` is its plain name. Results that a killed process has moved in part are
        completed first. ValueError when there are several analyses.
        """
        path = Path(path).expanduser()
        finish_interrupted(path if path.is_dir() else path.parent)
        if path.is_dir() and (path / index).is_file():
            return cls(path)
        if path.is_file() and path.name == index:
            return cls(path.parent)
        extension = index.partition(".")[2]
        if path.is_dir():
            finish_interrupted(path, below=True)
        candidates = sorted(path.rglob(f"*desc-*_stat.{extension}")) or [path]
        entities = {file: _entities_before(file.name, index) for file in candidates}
        indices = [file for file in candidates if entities[file] is not None]
        if len(indices) > 1:
            first = ", ".join(str(file.relative_to(path)) for file in indices[:4])
            raise ValueError(
                f"{path} holds {len(indices)} analyses ({first}...); give the path of "
                "one of these files"
            )
        if not indices or not indices[0].is_file():
            return None
        return cls(indices[0].parent, entities[indices[0]])

    def name(self, plain):
        """Return the name of a file from its plain name, with extension."""
        if self.bids is None:
            return plain
        stem, _, extension = plain.partition(".")
        side, hemi = _SIDE.fullmatch(stem), {}
        if side is not None:
            stem, hemi["hemi"] = side.groups()
            extension = "surf.gii" if stem == "mesh" else "shape.gii"
        label = _own_label(stem)
        if "desc" in self.bids:  # after the label that was given
            label = label[0].upper() + label[1:]
        return f"{self._begin(**hemi)}{label}_stat.{extension}"

    def path(self, plain):
        """Return the path of a file from its plain name, with extension."""
        return self.folder / self.name(plain)

    def check(self, *, overwrite=False):
        """Check that the files can go to their folder; change nothing.

        ValueError if the folder is a file, cannot be written, or, without `overwrite`,
        is not empty (BIDS: has files of these entities).
        """
        check_flags(overwrite=overwrite)
        if self.bids is None:
            _check_plain(self.root, overwrite=overwrite)
            return
        with suppress(FileNotFoundError):  # another process removed it, empty
            if self.root.is_dir():
                check_dataset(self.root, overwrite=overwrite)
        _check_writable(self.folder)
        present = self.written()
        if present and not overwrite:
            raise ValueError(
                f"output folder {self.root} already holds {present[0]} and "
                f"{len(present) - 1} more of that name; use overwrite=True "
                "(--overwrite) or choose another"
            )

    def create(self, sources=()):
        """Make the folder, and describe its BIDS data set; return what was made."""
        root, folder = self.root.absolute(), self.folder.absolute()
        upwards = [folder, *folder.parents]
        made = [path for path in reversed(upwards) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        if self.bids is not None and not (root / DESCRIPTION).is_file():
            about = [root / name for name in (DESCRIPTION, *BESIDE)]
            about = [path for path in about if not path.exists()]
            describe_dataset(root, sources)
            # after the folder that they describe, before those in it
            place = made.index(root) + 1 if root in made else 0
            made[place:place] = about
        return made

    def _begin(self, **more):
        """Return what all names begin with, up to the files' own labels."""
        entities = in_order({**self.bids, **more})
        before = entities.pop("desc", "")
        pairs = [f"{key}-{label}" for key, label in entities.items()]
        return "_".join([*pairs, f"desc-{before}"])

    def written(self):
        """Return the names of present files of an analysis with the same entities."""
        pattern = f"{glob.escape(self._begin())}*_stat.*"
        names = sorted(path.name for path in self.folder.glob(pattern))
        if "desc" not in self.bids:
            return names
        end = len(self._begin())
        return [name for name in names if not name[end].islower()]


def _check_plain(folder, *, overwrite):
    """Check that files can go to a folder under plain names."""
    _check_writable(folder)
    content = []
    with suppress(FileNotFoundError, NotADirectoryError):
        content = [path.name for path in folder.iterdir()]
    # unfinished new files do not count
    if not overwrite and not all(name.startswith(STAGING) for name in content):
        raise ValueError(
            f"output folder {folder} is not empty; use overwrite=True (--overwrite) "
            "or choose another"
        )


def _own_label(stem):
    """Return the letters and digits of a plain name."""
    label = "".join(re.findall("[A-Za-z0-9]", stem))
    if not label:
        raise ValueError(
            f"{stem!r} has no letter or digit of ASCII to make a BIDS label of; use "
            "another name"
        )
    return label


def _entities_before(name, index):
    """Return the entities of a file if its own label is that of the index."""
    stem, _, extension = index.partition(".")
    match = _NAME.fullmatch(name)
    if match is None or match.group(3) != extension:
        return None
    bids = dict(pair.split("-") for pair in match.group(1).split("_") if pair)
    index_label, label = _own_label(stem), match.group(2)
    if label == index_label:
        return bids
    before = label.removesuffix(index_label[0].upper() + index_label[1:])
    return {**bids, "desc": before} if before not in ("", label) else None


def _check_writable(folder):
    """Check by trying that files can be written to a folder, or that it can be made."""
    if not folder.exists() and folder.is_symlink():
        raise ValueError(
            f"output folder {folder} is a link to {os.readlink(folder)}, which is not "
            "there (or is a loop of links); remove the link or choose another folder"
        )
    if folder.is_file():
        raise ValueError(
            f"output folder {folder} is a file; choose another name or remove it"
        )
    try:
        tried_again(_probe, folder)
    except OSError as error:
        place = next(p for p in (folder, *folder.absolute().parents) if p.exists())
        raise ValueError(
            f"output folder {folder} cannot be written ({place}: "
            f"{error.strerror or error}); choose another, change its permissions, or "
            "make room"
        ) from error


def _probe(folder):
    """Write a small file and remove it, with the folders that it needed."""
    missing = [p for p in (folder, *folder.absolute().parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # without a buffer, which would be written, and fail, when the file is closed
        given = {"dir": folder, "prefix": ".neuroextrap-", "buffering": 0}
        with tempfile.NamedTemporaryFile(**given) as file:
            rest = _PROBE[file.write(_PROBE) :]
            file.write(rest)
            os.fsync(file.fileno())
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
