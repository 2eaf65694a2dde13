"""What an analysis of everyone would take."""

import time

from neuroextrap.cohorts._outcomes import entry_of, one_line, tell_missing_runs
from neuroextrap.cohorts._request import find_participant, samples_of
from neuroextrap.images import to_img

_N_MAPS = 30  # maps of a participant, about
COST = ("seconds", "memory", "disk")


def plan_participants(request, labels):
    """Return what would be done, and about how long it takes."""
    cost, entries = None, []
    for label in labels:
        start, participant, reason = time.monotonic(), None, ""
        try:
            participant = find_participant(request, label)
            if cost is None:
                cost = _cost(request, participant)
        except Exception as error:  # told in the table
            reason = one_line(error)
        status = "failed" if reason else "planned"
        entry = entry_of(label, status, participant, start, reason)
        entries.append(entry | (dict.fromkeys(COST, 0) if reason else cost))
    tell_missing_runs(entries)
    return entries


def _cost(request, participant):
    """Estimate seconds, memory and disk (bytes), from samples and a few regions."""
    from sklearn.base import clone

    start = time.monotonic()
    samples = samples_of(request, participant)
    light = clone(request.searchlight).set_params(mask=samples.masker.mask_img_)
    data = to_img(samples.data, samples.masker)
    reading = time.monotonic() - start
    cost = light.estimate_cost(data, samples.y, samples.runs)
    n_numbers = _N_MAPS * cost["n_features"]
    n_numbers += cost["n_regions"] * (samples.data.shape[0] + len(set(samples.y)))
    if request.save_null:
        n_numbers += cost["n_regions"] * cost["n_permutations"]
    return {
        "seconds": round(reading + float(cost["seconds"]), 1),
        "memory": int(cost["memory"]) + samples.data.nbytes,
        "disk": 4 * n_numbers,
    }
