"""What an analysis of everyone would take, and who could not be analyzed."""

import logging
import time
import warnings

import numpy as np
from sklearn.base import clone

from neuroextrap.analysis._parameters import of_arrays
from neuroextrap.cohorts._cohort_encoding import encoding_data, stimulus_rows
from neuroextrap.cohorts._cohort_records import entry_of, tell_missing_runs
from neuroextrap.cohorts._group_members import of_majority
from neuroextrap.cohorts._request import Participant
from neuroextrap.encoding._cost import check_runs, estimate_cost, estimate_cost_of_runs
from neuroextrap.images import to_img
from neuroextrap.stats._validation import one_line

logger = logging.getLogger(__name__)

_N_MAPS = 30  # maps of a participant, about
COST = ("seconds", "memory", "disk")


def plan_participants(request, labels):
    """Return what would be done; data of the first participant tell the time."""
    cost, entries, classes = None, [], {}
    for label in labels:
        start, participant, reason = time.monotonic(), Participant(request, label), ""
        try:
            participant = participant.found()
            classes[f"sub-{label}"] = None, _classes(participant)
            cost = _cost(participant) if cost is None else cost
        except Exception as error:  # told in the table
            classes.pop(f"sub-{label}", None)
            reason = one_line(error)
        status = "failed" if reason else "planned"
        entry = entry_of(participant, status, start, reason)
        entries.append(entry | (dict.fromkeys(COST, 0) if reason else cost))
    tell_missing_runs(entries)
    _tell_left_out(classes)
    return entries


def _tell_left_out(classes):
    """Log who would be left out of the group."""
    left_out: dict[str, str] = {}
    try:
        of_majority(classes, left_out)
    except ValueError as error:
        logger.warning("%s", error)
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)


def _classes(participant):
    """Return the classes that a participant's results would have; errors as theirs."""
    request, design = participant.request, participant.request.stimuli
    if request.of_films:
        check_runs(request.analysis, design.table_of(participant))
        return ()
    y, runs = participant.labels()
    if design is None:
        return _classes_of_design(request.analysis, y, runs)
    _, _, tested = stimulus_rows(participant, y)
    if design.n_folds is None:
        return tuple(design.features.index[tested])
    return tuple(range(len(tested) // design.n_folds))


def _classes_of_design(analysis, y, runs):
    """Return the classes of a searchlight with this design, by a fit of two numbers."""
    n_permutations = min(1, analysis.n_permutations)
    alone = of_arrays(analysis).set_params(n_permutations=n_permutations)
    numbers = np.random.default_rng(0).normal(size=(len(y), 2))
    with warnings.catch_warnings():  # of what the numbers are
        warnings.simplefilter("ignore")
        return tuple(alone.fit(numbers, y, groups=runs).classes_.tolist())


def _cost(participant):
    """Estimate seconds, memory and disk (bytes), from samples and a few regions."""
    request = participant.request
    if request.of_films:
        model = clone(request.analysis).set_params(mask=participant.mask)
        table = request.stimuli.table_of(participant)
        cost = estimate_cost_of_runs(model, table, request.stimuli.seconds)
        return _entry(cost["seconds"], cost["memory"], _N_MAPS * cost["n_features"])
    start = time.monotonic()
    samples = participant.samples()
    reading = time.monotonic() - start
    cost, n_tested = _cost_of_samples(participant, samples)
    n_numbers = _N_MAPS * cost["n_features"] + cost["n_regions"] * n_tested
    if request.asked.save_null:
        n_numbers += cost["n_regions"] * cost["n_permutations"]
    memory = int(cost["memory"]) + samples.data.nbytes
    return _entry(reading + float(cost["seconds"]), memory, n_numbers)


def _cost_of_samples(participant, samples):
    """Return the cost once samples are read, and how many of them have margins."""
    analysis = participant.request.analysis
    if participant.request.stimuli is not None:
        data = encoding_data(participant, samples)
        return estimate_cost(analysis, data), 2 * len(data.tested)
    light = clone(analysis).set_params(mask=samples.masker.mask_img_)
    data = to_img(samples.data, samples.masker), samples.y, samples.runs
    n_tested = len(samples.y) + len(set(samples.y))
    return light.estimate_cost(*data, order=samples.order), n_tested


def _entry(seconds, memory, n_numbers):
    """Return what the table says of the cost, with the bytes of numbers on disk."""
    values = round(float(seconds), 1), memory, 4 * n_numbers
    return dict(zip(COST, values, strict=True))
