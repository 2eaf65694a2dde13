"""Permuted first-level maps of subjects, theirs by name, and how they are combined."""

import itertools
import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neuroextrap.group._subjects import (
    MapOptions,
    SubjectMaps,
    check_count,
    check_different,
    check_distinct,
    label_keys,
    label_of,
    read_subjects,
    sidecar_of,
)
from neuroextrap.images._loading import load_opened
from neuroextrap.images._opening import file_of, list_images
from neuroextrap.images._tables import load_array
from neuroextrap.maps._files import check_results
from neuroextrap.margins.running._null import read_about_null
from neuroextrap.stats._rearrangement_test import Part, permute
from neuroextrap.stats._validation import random_generator, warn

_BATCH_BYTES = 2**27
BYTE = 8  # features whose marks fit a byte


@dataclass(frozen=True, kw_only=True)
class FirstLevelOptions(MapOptions):
    """How permuted maps of subjects are combined.

    Parameters
    ----------
    n_permutations : int, default=10_000
        Number of second-level permutations, the observed maps included, at least 2.
        All combinations are used if there are no more than that.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the combinations.
    """

    n_permutations: int = 10_000
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self):
        """Check the number, too."""
        check_count(self.n_permutations, "n_permutations", least=2)
        super().__post_init__()


def read_first_levels(scores, null_scores, options):
    """Return the FirstLevels of maps and permuted maps, as FirstLevelOptions say."""
    subjects = read_subjects(scores, options, "scores")
    return FirstLevels.drawn(subjects, _read_nulls(null_scores, subjects), options)


def _read_nulls(null_scores, subjects):
    """Return every subject's permuted maps, checked but not read."""
    check_different(subjects.values, "scores")
    n_subjects, n_features = subjects.values.shape
    several = isinstance(null_scores, (np.ndarray, Sequence))
    if not several or getattr(null_scores, "ndim", 1) == 0:
        raise ValueError(
            f"null_scores is a {type(null_scores).__name__}; give an array (n_subjects,"
            " n_permutations, n_features) or one entry for each subject"
        )
    if len(null_scores) != n_subjects:
        raise ValueError(
            f"null_scores has {len(null_scores)} subjects, scores has {n_subjects}; "
            "give the permuted maps of every subject"
        )
    nulls, files = [], []
    for k, given in enumerate(null_scores):
        files.append(file_of(given[0] if isinstance(given, (list, tuple)) else given))
        nulls.append(_read_null(given, subjects.masker, f"null_scores[{k}]"))
        if nulls[k].shape[1] != n_features:
            raise ValueError(
                f"null_scores[{k}] has {nulls[k].shape[1]} features, scores has "
                f"{n_features}; use one mask for all subjects and both"
            )
    _check_nulls(nulls, files, subjects.files)
    return nulls


def _read_null(null_scores, masker, name):
    """Return one subject's permuted maps, shape (n_permutations, n_features)."""
    permuted = null_scores
    if isinstance(permuted, (str, os.PathLike)) and str(permuted).endswith(".npy"):
        check_results([permuted])
        permuted = load_array(permuted, mmap_mode="r")
    if not isinstance(permuted, np.ndarray):
        if masker is None:
            raise ValueError(
                f"{name} must be an array or a .npy file when scores is an array; got "
                f"{type(null_scores).__name__}"
            )
        permuted = load_opened(list_images(permuted, name, check_results), masker)
    if permuted.ndim != 2 or len(permuted) == 0:
        raise ValueError(
            f"{name} has shape {permuted.shape}; give (n_permutations, n_features), at "
            "least one permutation"
        )
    return permuted


def _check_nulls(nulls, null_files, files):
    """Raise if names or records say that permuted maps are not of their maps."""
    check_distinct(null_files, "null_scores")
    unknown = []
    for number, (file, null_file) in enumerate(zip(files, null_files, strict=True)):
        is_npy = null_file is not None and null_file.endswith(".npy")
        own = read_about_null(null_file, nulls[number]) if is_npy else None
        if None in (file, null_file):
            continue
        both = f"null_scores[{number}] ({null_file})", f"scores[{number}] ({file})"
        [(one,), (two,)] = label_keys([label_of(file)], [label_of(null_file)])
        if None not in (one, two) and one != two:
            raise ValueError(
                f"{both[0]} is of sub-{two}, {both[1]} of sub-{one}; give both in one "
                "order of the subjects"
            )
        beside = sidecar_of(file)
        if own is not None and beside.get("run") is not None:
            _check_run(*both, beside, own)
        elif is_npy and None in (one, two):
            unknown.append(both)
    if unknown:
        warn(
            f"nothing says whether {unknown[0][0]} are the permuted maps of "
            f"{unknown[0][1]}: {len(unknown)} of {len(files)} are matched by their "
            "order; keep what save_null writes beside them, or put sub-<label> into "
            "the names"
        )


def _check_run(permuted, observed, beside, own):
    """Raise unless the records of permuted maps and of a map are of one run."""
    if own["run"] != beside["run"]:
        raise ValueError(
            f"{permuted} and {observed} are of different runs; give the permuted maps "
            "of each subject's own run, in the order of the maps"
        )
    allowed = own.get("maps") or {}
    if allowed and beside.get("description") not in allowed.values():
        raise ValueError(
            f"{permuted} are permuted maps of {' or '.join(allowed)}, which {observed} "
            "is not; give that map, or run again with another statistic"
        )


class FirstLevels(NamedTuple):
    """Maps of every subject, its own and permuted ones, and how they are combined."""

    subjects: SubjectMaps
    nulls: list
    picks: np.ndarray  # maps (n_combinations, n_subjects), 0 for the subject's own
    of_nulls: np.ndarray | None = None  # columns of nulls (n_subjects, n_features)

    @classmethod
    def drawn(cls, subjects, nulls, options, of_nulls=None):
        """Draw combinations (all, if no more exist) but the observed maps'."""
        n_maps = [1 + len(null) for null in nulls]
        if math.prod(n_maps) <= options.n_permutations:
            picks = np.indices(n_maps).reshape(len(n_maps), -1).T
        else:
            rng = random_generator(options.random_state)
            # the first row drawn stands for the observed maps
            picks = rng.integers(0, n_maps, (options.n_permutations, len(n_maps)))
        return cls(subjects, nulls, picks[1:], of_nulls)

    @property
    def usable(self):
        """Numbers of the features that are tested."""
        return np.flatnonzero(self.subjects.usable)

    @property
    def options(self):
        """What a page says of the permutations."""
        return {
            "n_permutations": 1 + len(self.picks),
            "n_first_level": sorted({len(null) for null in self.nulls}),
        }

    def observed(self):
        """Return subjects' own scores (n_subjects, n_usable), as the nulls' dtype."""
        rows = zip(self.subjects.values[:, self.usable], self.nulls, strict=True)
        return np.stack([row.astype(null.dtype).astype(float) for row, null in rows])

    def by_subject(self, batch):
        """Yield each subject's picks, and maps (1 + n_permutations, n), own first."""
        features = self.usable[batch]
        for subject, values in enumerate(self.subjects.values):
            places = self.of_nulls
            columns = features if places is None else places[subject, features]
            permuted = read_columns(self.nulls, subject, columns)
            own = values[features].astype(permuted.dtype)
            yield self.picks[:, subject], np.concatenate([own[np.newaxis], permuted])

    def permute(self, score, floor):
        """Score all combinations of some features at a time, multiples of 8 of them."""
        n = len(self.picks)
        rows = 2 * n + max(len(null) for null in self.nulls)
        width = max(BYTE, _BATCH_BYTES // (8 * rows) // BYTE * BYTE)
        ends = itertools.pairwise([*range(0, len(floor), width), len(floor)])
        parts = [Part(slice(n), slice(*each)) for each in ends]
        return permute(score, floor, n, parts=parts)


def read_columns(nulls, subject, features):
    """Return one subject's permuted maps of some features, (n_permutations, n)."""
    if (np.diff(features) == 1).all():  # read without a copy
        features = slice(int(features[0]), int(features[-1]) + 1)
    permuted = np.array(_reopened(nulls[subject])[:, features])
    if np.isnan(permuted).any():
        raise ValueError(
            f"null_scores[{subject}] has NaN where all subjects' scores are "
            "numbers; use the same mask and regions for both"
        )
    return permuted


def _reopened(null):
    """Map a file again: what is read of it does not stay in this process's memory."""
    if not isinstance(null.base, mmap.mmap):  # in memory, or a part of what is mapped
        return null
    return np.memmap(
        null.filename,
        dtype=null.dtype,
        mode="r",
        offset=null.offset,
        shape=null.shape,
        order="C" if null.flags.c_contiguous else "F",
    )
