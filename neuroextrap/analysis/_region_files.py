"""What a fitted analysis has, and its files: written, read back, parts joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from os import PathLike
from typing import Self

import numpy as np
from sklearn.exceptions import NotFittedError

from neuroextrap.analysis._analysis_files import read_analysis, write_analysis
from neuroextrap.analysis._presentation import region_table
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.analysis._results import (
    common_parts,
    held_parts,
    listed_parts,
    missing_parts,
)
from neuroextrap.maps._records import flat_parameters, nested_parameters
from neuroextrap.margins.running._checkpoint import differing
from neuroextrap.stats._null_counts import LargestValues
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_flags

# set together, when results are published
_SIGN = "region_scores_"


class FittedAttributes:
    """Attributes with a trailing underscore, which are there once there are results."""

    def __getattr__(self, name):
        """Raise for an attribute that is not there: NotFittedError before results."""
        of_results = name.endswith("_") and not name.startswith("_")
        if (of_results or name == "_run") and _SIGN not in vars(self):
            raise NotFittedError(_message(self, name))
        kind = type(self).__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def check_has_results(analysis):
    """Raise NotFittedError before an analysis has results."""
    if _SIGN not in vars(analysis):
        raise NotFittedError(_message(analysis, "results"))


def check_trained(model):
    """Raise NotFittedError before an encoding model is trained."""
    if "encoder_" not in vars(model):
        state = "is not trained yet"
        if _SIGN in vars(model):  # read, or identified in folds
            state = "has results, but no encoder was kept (only linear ones are saved)"
        raise NotFittedError(
            f"{type(model).__name__} {state}; call fit(features, imgs) first"
        )


def _message(analysis, wanted):
    """Say which call is missing."""
    calls = "fit(...)"
    if hasattr(analysis, "identify"):
        calls = "identify(...)" if "encoder_" in vars(analysis) else "fit and identify"
    return f"{type(analysis).__name__} has no {wanted} yet; call {calls} first"


class RegionFiles(FittedAttributes, ABC):
    """What goes to a folder, and comes back from one or several."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Name that the folders of this analysis carry, such as "searchlight"."""

    @described_by(RegionMaps.to_directory)
    def to_directory(
        self,
        path: str | PathLike,
        *,
        overwrite: bool = False,
        bids: dict[str, str] | None = None,
    ) -> None:
        """Write maps with sidecars, table and results; no pickle."""
        check_has_results(self)
        write_analysis(self, path, overwrite=overwrite, bids=bids)

    @classmethod
    def from_directory(cls, path: str | PathLike) -> Self:
        """Read what :meth:`to_directory` wrote.

        Parameters
        ----------
        path : path-like
            Folder of results, or one above it that holds no others.

        Returns
        -------
        fitted : estimator of this class
            Everything but the data, without which there are no margins.

        Raises
        ------
        ValueError
            When the folder holds no analysis, several, or one of another kind, or a
            file in it is not the one that was written with the others.
        """
        saved = read_analysis(path, cls.kind)
        fitted = cls()
        parameters = flat_parameters(fitted)
        parameters |= {n: v for n, v in saved.parameters.items() if n in parameters}
        fitted.set_params(**nested_parameters(cls, parameters))
        named = "masker", "n_elements", "classes", "bg_img", "origin"
        about: dict = {f"{name}_": getattr(saved, name) for name in named}
        vars(fitted).update(about, test_codes_=None, _run=None)
        fitted._publish(saved.results)
        vars(fitted)["table_"] = saved.table  # with standard errors, which need data
        if saved.run is not None:
            fitted._restore_run(saved.results, saved.run)
        return fitted

    def run_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that the run is made of again after reading.

        Returns
        -------
        arrays : dict of str to ndarray
            Written beside the results; empty if no run is kept.
        """
        return {}

    def further_maps(self) -> tuple:
        """Return maps of other things than regions, which are written beside them.

        Returns
        -------
        maps : dict of str to images
            Maps by name; arrays for array input.
        records : dict of str to MapRecord
            What each map is.
        """
        return {}, {}

    def merge(self, *others: Self, allow_missing: bool = False) -> Self:
        """Join the parts (shards) of one run.

        Parts may come in any order, and parts that were joined may be joined again.
        Once all are there, the results are those of the run in one piece, to the last
        bit. Set sizes and confidence level are those of this part: no number that is
        stored depends on them.

        Parameters
        ----------
        *others : estimator of this class
            The other parts, fitted or read from folders.
        allow_missing : bool, default=False
            Whether parts may be missing. The results are then marked as partial
            (``notes_``, ``table_``, sidecars): family-wise p-values and simultaneous
            bounds hold over the regions that are there only.

        Returns
        -------
        self : estimator of this class
            With the results of all parts.

        Raises
        ------
        TypeError
            When a part is of another class.
        ValueError
            When parts hold the same region or belong to different runs (the message
            names what differs: data, labels, regions, ...), or some are missing.
        """
        check_flags(allow_missing=allow_missing)
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"parts to be merged must all be {type(self).__name__}, got "
                    f"{type(other).__name__}"
                )
        parts = [self, *others]
        of_parts = [part.results_ for part in parts]
        results = join_parts(of_parts, allow_missing=allow_missing)
        errors = _joined_standard_errors(parts)
        self._publish(results)
        if errors is not None:
            vars(self)["table_"] = region_table(results, self.region_scores_, errors)
        return self


def _joined_standard_errors(parts):
    """Return standard errors of fitted parts, (n_regions, n_set_sizes), or None."""
    tables = [part.table_ for part in parts]
    if any(table is None for table in tables):
        return None
    shape = len(parts[0].wins_), len(parts[0].set_sizes_)
    errors = np.full(shape, np.nan)
    for part, table in zip(parts, tables, strict=True):
        if len(table) != errors.size:
            return None
        done = part.results_.scores.done
        errors[done] = table["standard_error"].to_numpy().reshape(shape)[done]
    return errors


_NOT_OF_REGIONS = {"maxima", "largest", "null", "done"}


def join_parts(parts, *, allow_missing=False):
    """Join RegionResults of parts; ValueError if they do not match or some miss."""
    whole, *others = parts
    for other in others:
        whole = _joined(whole, other)
    if whole.missing_parts and not allow_missing:
        raise ValueError(
            f"parts {', '.join(whole.missing_parts)} are missing; merge all parts, or "
            "set allow_missing=True (--allow-missing) for a partial result"
        )
    return whole


def _joined(one, two):
    """Join two results."""
    _check_same_run(one, two)
    twice = int((one.scores.done & two.scores.done).sum())
    n_parts = common_parts([*one.parts, *two.parts])
    shared = held_parts(one.parts, n_parts) & held_parts(two.parts, n_parts)
    if twice or shared:
        listed = listed_parts([f"{i}/{n_parts}" for i in sorted(shared)])
        raise ValueError(
            f"{twice} regions ({listed}) are in more than one part; merge each part "
            "once"
        )
    parts = tuple(sorted((*one.parts, *two.parts)))
    return replace(
        one,
        scores=_joined_scores(one.scores, two.scores),
        parts=parts if missing_parts(parts) else ((1, 1),),
        fold_wins=_picked(two.scores.done, one.fold_wins, two.fold_wins, axis=1),
    )


def _joined_scores(one, two):
    """Join RegionScores."""
    names = {field.name for field in fields(one)} - _NOT_OF_REGIONS
    picked = {
        name: _picked(
            two.done, getattr(one, name), getattr(two, name), name == "weighted_wins"
        )
        for name in names
    }
    largest = None
    if one.largest is not None and two.largest is not None:
        joined = LargestValues(one.largest, one.largest.shape[1])
        joined.join(two.largest)
        largest = joined.ordered()
    maxima, done = np.maximum(one.maxima, two.maxima), one.done | two.done
    return replace(one, **picked, maxima=maxima, largest=largest, null=None, done=done)


def _picked(pick, one, two, axis=0):
    """Return `two` where `pick` is True along the axis of regions, or None."""
    if one is None or two is None:
        return None
    shape = [1] * one.ndim
    shape[axis] = -1
    return np.where(pick.reshape(shape), two, one)


def _check_same_run(first, second):
    """Raise unless two results are of one run, and hold the same kinds of arrays."""
    other = differing(first.identity, second.identity)
    shapes = [
        (part.scores.wins.shape, part.scores.maxima.shape) for part in (first, second)
    ]
    if not other and shapes[0] != shapes[1]:
        other = ["regions, classes or permutations"]
    if not other:  # arrays that only one of them has
        other = sorted((_lacking(first) ^ _lacking(second)) - {"fold_wins"})
    if other:
        raise ValueError(
            f"parts to be merged are of different runs: other {', '.join(other)}; "
            "merge the parts of one run only"
        )


def _lacking(results):
    """Return the names of the fields that are None."""
    return {f.name for f in fields(results) if getattr(results, f.name) is None}
