"""Who belongs to the group: participants with results of the same conditions."""

import logging
from collections import Counter

from neuroextrap.cohorts._cohort_records import read_records, records_of
from neuroextrap.group._alike import check_alike
from neuroextrap.images._bids_names import file_entities
from neuroextrap.maps._json import read_json

logger = logging.getLogger(__name__)

_INDEX = "desc-analysis_stat.json"
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
    return index.with_name(index.name.removesuffix(_INDEX) + name)


def _analyses(out, participants, wanted):
    """Return index file and classes of every participant's analysis, and who has none.

    Both are dicts by participant, the second one of reasons.
    """
    known = read_records(out)
    labels = [name.partition("_")[0] for name in known]
    labels = dict.fromkeys(labels if participants is None else participants)
    labels = [label.removeprefix("sub-") for label in labels]
    if not labels:
        raise ValueError(f"{out} has no results of participants; analyze them first")
    found, left_out = {}, {}
    told = " ".join(f"{key}-{value}" for key, value in wanted.items() if value)
    told = f"{told} alone" if told else "an analysis"
    for label in labels:
        records = [{}, *records_of(known, label, wanted)]
        outcomes = [record.get("outcome", {}) for record in records]
        if not any(outcome.get("status") == "done" for outcome in outcomes):
            left_out[f"sub-{label}"] = outcomes[-1].get("reason", "never analyzed")
            continue
        path = _index_of(out, label, wanted)
        if path is None:
            films = [*(out / f"sub-{label}").rglob("*_desc-voxels_stat.tsv")]
            left_out[f"sub-{label}"] = (
                "its maps are of films: give them to neuroextrap group, not bids"
                if films
                else f"no results of {told}"
            )
            continue
        found[f"sub-{label}"] = path, tuple(read_json(path)["classes"])
    return found, left_out


def _index_of(out, label, wanted):
    """Return the index file of a participant's one analysis, or None."""
    paths = [
        path
        for path in sorted((out / f"sub-{label}").rglob(f"*_{_INDEX}"))
        if all(
            value is None or (file_entities(path) or {}).get(key) == value
            for key, value in wanted.items()
        )
    ]
    if len(paths) > 1:
        raise ValueError(
            f"sub-{label} has {len(paths)} analyses, {paths[0].name} and others; "
            "choose a task, a space or a session (within, --within ses-1), or give "
            "every analysis its own folder"
        )
    return paths[0] if paths else None


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
