"""Maps of what every region's accuracy would be among more classes."""

import warnings
from dataclasses import replace

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._presentation import region_images
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.design._findings import tell
from neuroextrap.maps._identification import (
    DOUBTFUL,
    NO_INTERVAL,
    doubtful_beyond,
)
from neuroextrap.maps._named_records import extrapolation_record
from neuroextrap.margins._resources import parse_memory
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_level, check_set_sizes
from neuroextrap.stats._warn import warn

_BATCHED = ("gaussian", "gaussian_mixture")
_COPIES = 8  # of one region's margins that a fit holds at once


def extrapolated_maps(fitted, set_sizes, *, method, confidence_level=None):
    """Predict the accuracy of every region of a fitted analysis (RegionMaps by size).

    One region at a time, so that memory does not grow with them.
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
    if confidence_level is not None:
        _check_interval(method, confidence_level)
        if not fitted.results_.marginal:
            raise ValueError(NO_INTERVAL)
    _check_memory(fitted, len(sizes) * (1 if confidence_level is None else 3), source)
    known = ~np.isnan(fitted.wins_[:, 0])
    at_once = method in _BATCHED or (method == "auto" and source == "wins")
    if at_once and confidence_level is None:
        predicted = stats.extrapolate_wins(
            fitted.wins_[known], fitted.results_.n_test, sizes, method=method
        )[None]
        notes = ()
    else:
        regions = np.flatnonzero(known)
        predicted, notes = _one_by_one(fitted, regions, sizes, method, confidence_level)
    doubtful = _of_not_marginal(fitted, known, sizes, predicted)
    notes = *doubtful, *fitted.results_.notes, _source_note(method, source), *notes
    if confidence_level is not None:
        notes = (*notes, f"intervals hold with confidence {confidence_level:g} each")
    about = {
        "method": method,
        "source": source,
        "n_classes": len(fitted.classes_),
        "notes": list(notes),
    }
    each = zip(("", "lower", "upper"), predicted, strict=False)
    maps, *ends = (_maps(fitted, known, sizes, end, part) for end, part in each)
    lower, upper = ends or (None, None)
    return RegionMaps(
        maps,
        records={size: _record(fitted, size) for size in maps},
        masker=fitted.masker_,
        parameters=about,
        inputs={"wins": fitted.wins_},
        further=ends,
        method=method,
        source=source,
        notes=notes,
        lower=lower,
        upper=upper,
    )


def _of_not_marginal(fitted, known, sizes, predicted):
    """Put what was measured among predictions; return doubts, 0 or 1 texts."""
    n_classes, results = len(fitted.classes_), fitted.results_
    below = sizes < n_classes
    if len(results.measured_sizes) and below.any():
        predicted[0][:, below] = results.curve(known, sizes[below])[1]
    if results.marginal or (sizes <= n_classes).all():
        return ()
    doubtful = doubtful_beyond(n_classes)
    tell([doubtful])
    return (doubtful.note,)


def _check_interval(method, confidence_level):
    """Check what an interval needs before any work."""
    check_level(confidence_level, "confidence_level")
    if method != "auto":
        raise ValueError(
            f"method={method!r} has no calibrated interval; use method='auto', or "
            "confidence_level=None"
        )


def _maps(fitted, known, sizes, end, values):
    """Turn predictions (n_known, n_sizes), or an end of intervals, into RegionMaps."""
    by_size = dict(zip(sizes.tolist(), values.T, strict=True))
    placed = spread_known(known, by_size)
    return RegionMaps(
        region_images(placed, fitted.results_.choice, fitted.masker_),
        records={size: _record(fitted, size, end) for size in by_size},
        masker=fitted.masker_,
    )


def _record(fitted, size, end=""):
    """Return the record of a map, which says whether the prediction is doubtful."""
    record = extrapolation_record(size, end)
    trained = fitted.results_.trained(size)
    return replace(record, description=record.description + trained)


def _one_by_one(fitted, regions, sizes, method, confidence_level):
    """Predict regions one after the other: (1 or 3, n_regions, n_sizes), and notes."""
    n_parts = 1 if confidence_level is None else 3
    predicted = np.empty((n_parts, len(regions), len(sizes)))
    progress, warned = Progress(fitted.verbose), {}
    for row, region in enumerate(regions):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message=DOUBTFUL)
            model = fitted.extrapolator(int(region), method)
            predicted[0, row] = model.predict(sizes)
            if confidence_level is not None:
                predicted[1:, row] = model.predict_interval(sizes, confidence_level)
        for warning in caught:
            text = str(warning.message)
            warned[text.split(":")[0]] = text
        progress(row + 1, len(regions))
    for text in warned.values():  # once, however many regions said so
        warn(text)
    return predicted, tuple(warned.values())


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
