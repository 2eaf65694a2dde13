"""What an analysis of everyone would take, and who could not be analyzed."""

import logging
import time
import warnings

import numpy as np
from sklearn.base import clone

from neuroextrap.analysis._parameters import of_arrays
from neuroextrap.cohorts._cohort_encoding import encoding_data, stimulus_rows
from neuroextrap.cohorts._cohort_films import table_of
from neuroextrap.cohorts._cohort_records import entry_of, tell_missing_runs
from neuroextrap.cohorts._group_members import of_majority
from neuroextrap.cohorts._request import (
    find_participant,
    labels_of,
    mask_of,
    samples_of,
)
from neuroextrap.encoding._cost import check_runs, estimate_cost, estimate_cost_of_runs
from neuroextrap.images import to_img
from neuroextrap.stats._warn import one_line

logger = logging.getLogger(__name__)

_N_MAPS = 30  # maps of a participant, about
COST = ("seconds", "memory", "disk")


def plan_participants(request, labels):
    """Return what would be done, and about how long it takes.

    Everyone's tables are read, and the headers of their images; data of the first
    participant who can be analyzed only.
    """
    cost, entries, classes = None, [], {}
    for label in labels:
        start, participant, reason = time.monotonic(), None, ""
        try:
            participant = find_participant(request, label)
            classes[f"sub-{label}"] = None, _classes(request, participant)
            if cost is None:
                cost = _cost(request, participant)
        except Exception as error:  # told in the table
            classes.pop(f"sub-{label}", None)
            reason = one_line(error)
        status = "failed" if reason else "planned"
        entry = entry_of(label, status, participant, start, reason)
        entries.append(entry | (dict.fromkeys(COST, 0) if reason else cost))
    tell_missing_runs(entries)
    _tell_left_out(classes)
    return entries


def _tell_left_out(classes):
    """Log who would be left out of the group for their conditions."""
    left_out: dict[str, str] = {}
    try:
        of_majority(classes, left_out)
    except ValueError as error:
        logger.warning("%s", error)
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)


def _classes(request, participant):
    """Return the classes that a participant's results would have; errors as theirs."""
    if request.of_films:
        check_runs(request.analysis, table_of(request, participant))
        return ()
    y, runs = labels_of(request, participant)
    if request.stimuli is None:
        return _classes_of_design(request.analysis, y, runs)
    _, _, tested = stimulus_rows(request, participant, y)
    design = request.stimuli
    if design.n_folds is None:
        return tuple(design.features.index[tested])
    return tuple(range(len(tested) // design.n_folds))


def _classes_of_design(analysis, y, runs):
    """Return the classes of a searchlight with this design, by a fit of two numbers.

    Designs that cannot be analyzed are refused as with images.
    """
    n_permutations = min(1, analysis.n_permutations)
    alone = of_arrays(analysis).set_params(n_permutations=n_permutations)
    numbers = np.random.default_rng(0).normal(size=(len(y), 2))
    with warnings.catch_warnings():  # of what the numbers are
        warnings.simplefilter("ignore")
        return tuple(alone.fit(numbers, y, groups=runs).classes_.tolist())


def _cost(request, participant):
    """Estimate seconds, memory and disk (bytes), from samples and a few regions."""
    if request.of_films:
        design, mask = request.stimuli, mask_of(request, participant)
        model = clone(request.analysis).set_params(mask=mask)
        table = table_of(request, participant)
        cost = estimate_cost_of_runs(model, table, design.seconds)
        seconds, disk = (
            round(float(cost["seconds"]), 1),
            4 * _N_MAPS * cost["n_features"],
        )
        return {"seconds": seconds, "memory": cost["memory"], "disk": disk}
    start = time.monotonic()
    samples = samples_of(request, participant)
    reading = time.monotonic() - start
    estimate = _cost_of_labels if request.stimuli is None else _cost_of_stimuli
    cost = estimate(request, participant, samples)
    n_numbers = _N_MAPS * cost["n_features"]
    n_numbers += cost["n_regions"] * cost["n_tested"]
    if request.save_null:
        n_numbers += cost["n_regions"] * cost["n_permutations"]
    return {
        "seconds": round(reading + float(cost["seconds"]), 1),
        "memory": int(cost["memory"]) + samples.data.nbytes,
        "disk": 4 * n_numbers,
    }


def _cost_of_labels(request, participant, samples):  # noqa: ARG001 - as the other
    """Return the cost of a searchlight, a dict."""
    light = clone(request.analysis).set_params(mask=samples.masker.mask_img_)
    data = to_img(samples.data, samples.masker)
    cost = light.estimate_cost(data, samples.y, samples.runs, order=samples.order)
    return cost | {"n_tested": len(samples.y) + len(set(samples.y))}


def _cost_of_stimuli(request, participant, samples):
    """Return the cost of an EncodingIdentification, a dict."""
    data = encoding_data(request, participant, samples)
    cost = estimate_cost(request.analysis, data)
    return cost | {"n_tested": 2 * len(data.tested)}
