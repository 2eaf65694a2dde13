"""What a fitted analysis has, and its files: written, read back, parts joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import Self

import numpy as np
from sklearn.exceptions import NotFittedError

from neuroextrap.analysis._analysis_files import read_analysis, write_analysis
from neuroextrap.analysis._merging import join_parts
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.maps._records import flat_parameters, nested_parameters
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
        known = flat_parameters(fitted)
        known |= {n: v for n, v in saved.parameters.items() if n in known}
        fitted.set_params(**nested_parameters(cls, known))
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
        if self.table_ is not None and errors is not None:
            self.table_["standard_error"] = errors.ravel()
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
