"""Who belongs to the group: participants with results of the same conditions."""

import logging
from collections import Counter

from neuroextrap.cohorts._cohort_records import (
    read_records,
    records_of,
    results_on_record,
)
from neuroextrap.group._alike import check_alike
from neuroextrap.maps._json import read_json

logger = logging.getLogger(__name__)

INDEX = "desc-analysis_stat.json"
"""End of the name of the file that says what an analysis was."""
NULL = "desc-null_stat.npy"
"""End of the name of a participant's permuted maps."""
_FEW = 12  # conditions that a line can name


def members_of(out, participants, cells):
    """Return index files and classes of everyone in the group, and who is left out.

    Each of `cells` are entities, None for any, of one analysis that everyone must have.
    Returned are a dict by participant for each of them, and one of reasons.
    """
    found: list[dict] = []
    left_out: dict[str, str] = {}
    for cell in cells:
        analyses, reasons = _analyses(out, participants, cell)
        left_out |= reasons
        found.append(of_majority(analyses, left_out))
    return [without(each, left_out) for each in found], left_out


def without(found, left_out):
    """Return those of `found` who are not left out."""
    return {name: entry for name, entry in found.items() if name not in left_out}


def check_members(out, found, left_out):
    """Tell who is left out; ValueError if fewer than two are left in `found`."""
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)
    if len(found) < 2:
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(
            f"{out} has {len(found)} participants to put together, at least two are "
            f"needed ({told}); analyze more"
        )


def differences(cells, allow_mixed):
    """Return what differs among members in words by name, which must be allowed.

    `cells` are dicts of index file and classes by participant; of several, task and
    runs differ by intention, and are compared within each. ValueError names who
    differ.
    """
    told: list[tuple] = []
    mixed: dict[str, str] = {}
    for found in cells:
        own = [(name, _about(path)) for name, (path, _) in found.items()]
        mixed |= check_alike(own, "participants", allow_mixed=allow_mixed)
        told += own
    if len(cells) > 1:
        for _, about in told:
            for name in ("task", "runs"):
                about["made_by"]["cohort"].pop(name)
        mixed |= check_alike(told, "participants", allow_mixed=allow_mixed)
    for words in mixed.values():
        logger.warning("participants differ, which is allowed, in %s", words)
    return mixed


def _about(path):
    """Return what an index file says of how the analysis was made."""
    index = read_json(path)
    made_by = index.get("origin", {}).get("samples")
    return {**index["parameters"], "kind": index["kind"], "made_by": made_by}


def beside(index, name):
    """Return the path of another file of the analysis that an index file is of."""
    return index.with_name(index.name.removesuffix(INDEX) + name)


def _analyses(out, participants, wanted):
    """Return index file and classes of every participant's analysis, and who has none.

    Both are dicts by participant, the second one of reasons.
    """
    records, results = read_records(out), results_on_record(out)
    given = participants
    if given is None:  # folders too, so that nobody is lost who came without a record
        given = {name.partition("_")[0] for name in records}
        given = sorted(given | {path.name[4:] for path in out.glob("sub-*/")})
    labels = dict.fromkeys(label.removeprefix("sub-") for label in given)
    if not labels:
        raise ValueError(f"{out} has no results of participants; analyze them first")
    found, left_out = {}, {}
    for label in labels:
        own = [
            out / f"{each}_{INDEX}"
            for each in results
            if each.startswith(f"sub-{label}/") and _is_wanted(each, wanted)
        ]
        if len(own) > 1:
            raise ValueError(
                f"sub-{label} has {len(own)} analyses, {own[0].name} and others; "
                "choose a task, a space or a session (within, --within ses-1), or give "
                "every analysis its own folder"
            )
        if own and own[0].is_file():
            found[f"sub-{label}"] = own[0], tuple(read_json(own[0])["classes"])
        elif own:
            left_out[f"sub-{label}"] = (
                "its maps are of films: give them to neuroextrap group, not bids"
            )
        else:
            left_out[f"sub-{label}"] = _reason(records, label, wanted)
    return found, left_out


def _is_wanted(results, wanted):
    """Return whether what the names of results begin with has all wanted labels."""
    own = results.rpartition("/")[2].split("_")
    return all(v is None or f"{k}-{v}" in own for k, v in wanted.items())


def _reason(records, label, wanted):
    """Say why a participant has no results: what is on record of a failure, if any."""
    own = records_of(records, label, wanted)
    failed = [
        e["outcome"] for e in own if e.get("outcome", {}).get("status") == "failed"
    ]
    if failed:
        return failed[-1]["reason"]
    if not records_of(records, label, {}):
        return f"never analyzed, or without its record (code/sub-{label}.toml)"
    told = " ".join(f"{key}-{value}" for key, value in wanted.items() if value)
    return f"no results of {f'{told} alone' if told else 'an analysis'}"


def of_majority(found, left_out):
    """Return the participants whose classes most have; the others are left out."""
    counts = Counter(classes for _, classes in found.values())
    if not counts:
        return found
    (usual, n), *_ = counts.most_common(1)
    if 2 * n <= len(found):
        raise ValueError(
            f"participants have {len(counts)} different sets of conditions and none is "
            "that of a majority; analyze the same ones (classes, --classes)"
        )
    for name, (_, classes) in found.items():
        if classes != usual:
            left_out[name] = _difference(classes, usual)
    return {name: entry for name, entry in found.items() if entry[1] == usual}


def _difference(classes, usual):
    """Say in which conditions a participant differs from most."""
    if max(len(classes), len(usual)) <= _FEW:
        return (
            f"its conditions are {' '.join(map(str, classes))}, but most subjects have "
            f"{' '.join(map(str, usual))}"
        )
    own, common = set(classes), set(usual)
    return (
        f"{len(own - common)} of its {len(own)} conditions differ from those of most "
        f"subjects, who have {len(common)}"
    )
