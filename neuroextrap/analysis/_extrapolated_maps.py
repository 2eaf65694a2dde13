"""Maps of what every region's accuracy would be among more classes."""

import warnings
from dataclasses import replace

import numpy as np

from neuroextrap import stats
from neuroextrap.analysis._presentation import region_images
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.design._findings import tell
from neuroextrap.maps._identification import DOUBTFUL, NO_INTERVAL, doubtful_beyond
from neuroextrap.maps._named_records import extrapolation_record
from neuroextrap.margins._resources import parse_memory
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_level, check_set_sizes
from neuroextrap.stats._warn import warn

_BATCHED = ("gaussian", "gaussian_mixture")
_COPIES = 8  # of one region's margins that a fit holds at once


def extrapolated_maps(fitted, set_sizes, *, method, confidence_level=None):
    """Predict every region's accuracy by set size, one at a time to save memory."""
    sizes = np.atleast_1d(check_set_sizes(set_sizes))
    stats.AccuracyExtrapolator(method)  # is it known?
    source, how = "wins", "win distributions, without scores"
    if fitted.test_codes_ is not None and method not in _BATCHED:
        source, how = "margins", "every region's margins"
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
    made = f"extrapolated by {method!r} from {how}"
    notes = *doubtful, *fitted.results_.notes, made, *notes
    if confidence_level is not None:
        notes = (*notes, f"intervals hold with confidence {confidence_level:g} each")
    ends = [
        _maps(fitted, known, sizes, part, end=end)
        for end, part in zip(("lower", "upper"), predicted[1:], strict=False)
    ]
    about = {"method": method, "source": source}
    n_classes = len(fitted.classes_)
    return _maps(
        fitted,
        known,
        sizes,
        predicted[0],
        parameters=about | {"n_classes": n_classes, "notes": list(notes)},
        inputs={"wins": fitted.wins_},
        further=ends,
        notes=notes,
        **dict(zip(("lower", "upper"), ends or (None, None), strict=True)),
        **about,
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


def _maps(fitted, known, sizes, values, end="", **about):
    """Turn predictions (n_known, n_sizes), or an end of intervals, into RegionMaps."""
    results, records = fitted.results_, {}
    placed = spread_known(known, dict(zip(sizes.tolist(), values.T, strict=True)))
    for size in placed:
        record = extrapolation_record(size, end)
        description = record.description + results.trained(size)  # or is it doubtful?
        records[size] = replace(record, description=description)
    images = region_images(placed, results.choice, fitted.masker_)
    return RegionMaps(images, records=records, masker=fitted.masker_, **about)


def _one_by_one(fitted, regions, sizes, method, confidence_level):
    """Predict regions one after the other: (1 or 3, n_regions, n_sizes), and notes."""
    shape = 1 if confidence_level is None else 3, len(regions), len(sizes)
    predicted = np.empty(shape)
    progress, warned = Progress(fitted.verbose), {}
    for row, region in enumerate(regions):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message=DOUBTFUL)
            model = fitted.extrapolator(int(region), method)
            predicted[0, row] = model.predict(sizes)
            if confidence_level is not None:
                predicted[1:, row] = model.predict_interval(sizes, confidence_level)
        for text in (str(warning.message) for warning in caught):
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
