"""Maps of what every region's accuracy would be among more classes."""

import warnings

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._presentation import region_images
from neuroextrap.maps._files import describe_map, write_maps
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._records import MapRecord
from neuroextrap.margins._progress import Progress
from neuroextrap.margins._resources import parse_memory
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_set_sizes

_BATCHED = ("gaussian", "gaussian_mixture")
_COPIES = 8  # of one region's margins that a fit holds at once


class ExtrapolatedMaps(dict):
    """Maps of predicted accuracy by set size, with what they were made from.

    ``maps[1000]`` is the map among 1000 classes (proportions).

    Attributes
    ----------
    method : str
        Name of the extrapolation method.
    source : {"margins", "wins"}
        What it was fitted to: scores of every region, or win distributions alone.
    notes : tuple of str
        What a reader should know of the predictions.
    """

    def __init__(self, maps, *, method, source, notes, fitted):
        super().__init__(maps)
        self.method, self.source, self.notes = method, source, notes
        self._fitted = fitted

    def to_directory(self, path, *, overwrite=False, bids=None):
        """Write the maps, each with a sidecar that names method, source and notes.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether to replace what is there.
        bids : dict of str to str or None, default=None
            BIDS entities; files are then named and placed as BIDS derivatives.
        """
        fitted = self._fitted
        if fitted.masker_ is None:
            raise ValueError(
                "plain arrays have no images to write; save the arrays themselves"
            )
        origin = provenance(
            parameters={
                "method": self.method,
                "source": self.source,
                "n_classes": len(fitted.classes_),
                "notes": list(self.notes),
            },
            inputs={"wins": fitted.wins_},
        )
        sidecars = {_name(size): describe_map(_record(size), origin) for size in self}
        named = {_name(size): image for size, image in self.items()}
        write_maps(
            path, named, sidecars, overwrite=overwrite, bids=bids, provenance=origin
        )


def extrapolated_maps(fitted, set_sizes, *, method):
    """Predict the accuracy of every region of a fitted analysis (ExtrapolatedMaps).

    One region at a time, so that memory does not grow with them; ValueError before any
    work where a set size, the method or the memory will not do.
    """
    sizes = np.atleast_1d(check_set_sizes(set_sizes))
    stats.AccuracyExtrapolator(method)  # is it known?
    has_margins = fitted.test_codes_ is not None and method not in _BATCHED
    source = "margins" if has_margins else "wins"
    if source == "wins" and stats.EXTRAPOLATION_METHODS[method].needs_scores:
        raise ValueError(
            f"method={method!r} needs the scores, which results read from a folder do "
            "not hold; fit again, or use method='auto'"
        )
    _check_memory(fitted, len(sizes), source)
    known = ~np.isnan(fitted.wins_[:, 0])
    if method in _BATCHED:
        n_test = fitted.results_.n_test
        accuracy = stats.extrapolate_wins(
            fitted.wins_[known], n_test, sizes, method=method
        )
        notes = ()
    else:
        regions = np.flatnonzero(known)
        accuracy, notes = _one_by_one(fitted, regions, sizes, method)
    by_size = dict(zip(sizes.tolist(), accuracy.T, strict=True))
    results = fitted.results_
    images = region_images(spread_known(known, by_size), results.choice, fitted.masker_)
    notes = (*results.notes, _source_note(method, source), *notes)
    return ExtrapolatedMaps(
        images, method=method, source=source, notes=notes, fitted=fitted
    )


def _one_by_one(fitted, regions, sizes, method):
    """Predict regions one after the other: accuracy (n_regions, n_sizes), notes."""
    accuracy = np.empty((len(regions), len(sizes)))
    progress, warned = Progress(fitted.verbose), {}
    for row, region in enumerate(regions):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            accuracy[row] = fitted.extrapolator(int(region), method).predict(sizes)
        for warning in caught:
            text = str(warning.message)
            warned[text.split(":")[0]] = text
        progress(row + 1, len(regions))
    for text in warned.values():  # once, however many regions said so
        warnings.warn(text, UserWarning, stacklevel=4)
    return accuracy, tuple(warned.values())


def _check_memory(fitted, n_sizes, source):
    """Refuse what would not fit: one region's margins, and every region's answer."""
    n_regions, n_classes = fitted.wins_.shape
    needed = 8 * n_regions * n_sizes * 2
    if source == "margins":
        needed += 8 * _COPIES * len(fitted.test_codes_) * n_classes
    if needed > parse_memory(fitted.max_memory):
        raise ValueError(
            f"max_memory={fitted.max_memory!r} is too little: about "
            f"{needed / 2**30:.1f} GiB are needed; raise it, or ask for fewer set "
            "sizes at a time"
        )


def _source_note(method, source):
    """Say what the maps were made from."""
    if source == "margins":
        return f"extrapolated by {method!r} from every region's margins"
    return f"extrapolated by {method!r} from win distributions, without scores"


def _name(size):
    """Return the name of the map at a set size."""
    return f"accuracy_among_{size}"


def _record(size):
    """Return the record of the map at a set size."""
    return MapRecord(
        name=_name(size),
        description=f"Predicted identification accuracy among {size} classes, "
        "extrapolated from those of the data",
        unit="proportion",
        chance=1 / size,
    )
