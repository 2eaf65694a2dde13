"""The group: information over participants, and a test of their mean accuracy."""

import logging
from collections import Counter
from pathlib import Path

from neuroextrap.analysis._origin import origin_of
from neuroextrap.cohorts._index_page import write_index
from neuroextrap.cohorts._records import read_records
from neuroextrap.group import group_information, second_level_test
from neuroextrap.group._group_maps import records
from neuroextrap.images._bids_names import file_entities
from neuroextrap.maps._bids import shared_entities
from neuroextrap.maps._files import check_output_directory, describe_map, write_maps
from neuroextrap.maps._json import read_json
from neuroextrap.maps._provenance import provenance

logger = logging.getLogger(__name__)

_INDEX, _ACCURACY = "desc-analysis_stat.json", "desc-accuracy_stat.nii.gz"


def analyze_group(  # noqa: PLR0913 - the options of one documented call
    out,
    *,
    participants=None,
    task=None,
    space=None,
    mask=None,
    two_sided=False,
    cluster_threshold=None,
    tfce=False,
    n_permutations=10_000,
    confidence_level=0.95,
    allow_native_space=False,
    random_state=0,
    overwrite=False,
):
    """Put the results of all participants of a cohort together.

    Information over participants with its lower bounds, and a permutation test of the
    mean accuracy against chance. Participants who failed, or whose conditions are not
    those of the majority, are left out, and ``index.html`` says why.

    Parameters
    ----------
    out : path-like
        Folder that :func:`analyze_participants` wrote; group maps go to ``out/group``.
    participants : sequence of str or None, default=None
        Labels, with or without "sub-". If None, all who were analyzed.
    task : str or None, default=None
        Label of the task. If None, there must be one only.
    space : str or None, default=None
        Label of the space. If None, there must be one only.
    mask : path, image or None, default=None
        Where to test. If None, wherever all participants have a region.
    two_sided : bool, default=False
        Whether a mean below chance counts as evidence too.
    cluster_threshold : float or None, default=None
        Cluster-forming threshold, as the p-value of t at a voxel (0.001). If None,
        clusters are not tested.
    tfce : bool, default=False
        Whether to test threshold-free cluster enhancement.
    n_permutations : int, default=10_000
        Number of sign flips; all of them where there are fewer.
    confidence_level : float, default=0.95
        Confidence level of intervals and lower bounds.
    allow_native_space : bool, default=False
        Whether maps in the participants' own spaces are tested voxel by voxel.
    random_state : int, default=0
        Seed of flips and resamples.
    overwrite : bool, default=False
        Whether to replace earlier group maps.

    Returns
    -------
    maps : dict of images
        Those of :func:`neuroextrap.group.group_information`, and those of
        :func:`neuroextrap.group.second_level_test` of the accuracy minus chance.

    Raises
    ------
    ValueError
        If fewer than two participants can be put together, no conditions are those of a
        majority, a participant has several analyses, or spaces differ.

    See Also
    --------
    analyze_participants : Analyze every participant.

    Examples
    --------
    >>> from neuroextrap.cohorts import analyze_group
    >>> analyze_group("no_such_folder")
    Traceback (most recent call last):
    ValueError: no_such_folder has no results of participants; analyze them first
    """
    out = Path(out)
    found, left_out = _analyses(out, participants, {"task": task, "space": space})
    found = _of_majority(found, left_out)
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)
    if len(found) < 2:
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(
            f"{out} has {len(found)} participants to put together, at least two are "
            f"needed ({told}); analyze more"
        )
    indices = [path for path, _ in found.values()]
    imgs = [str(path)[: -len(_INDEX)] + _ACCURACY for path in indices]
    entities = shared_entities(imgs)
    entities.pop("desc")
    targets = {name: entities | {"desc": name} for name in ("information", "accuracy")}
    for bids in targets.values():
        check_output_directory(out, overwrite=overwrite, bids=bids)
    shared = {"mask": mask, "allow_native_space": allow_native_space}
    shared |= {"random_state": random_state}
    n_classes = len(next(iter(found.values()))[1])
    level = {"confidence_level": confidence_level}
    information = group_information(list(map(str, indices)), **level, **shared)
    test = {"baseline": 1 / n_classes, "two_sided": two_sided, "tfce": tfce}
    test |= {"cluster_threshold": cluster_threshold, "n_permutations": n_permutations}
    tested = second_level_test(imgs, **test, **shared)
    about = origin_of({"imgs": imgs}).sidecar()
    about["participants"] = list(found)
    about["left_out"] = left_out
    made = (("information", information, level), ("accuracy", tested, test))
    for name, maps, options in made:
        _write(out, maps, targets[name], overwrite, (about, options, random_state))
    write_index(out, left_out)
    return {**information, **tested}


def _analyses(out, participants, wanted):
    """Return index file and classes of every participant's analysis, and who has none.

    Both are dicts by participant, the second one of reasons.
    """
    known = read_records(out)
    labels = known if participants is None else participants
    labels = [str(label).removeprefix("sub-") for label in labels]
    if not labels:
        raise ValueError(f"{out} has no results of participants; analyze them first")
    found, left_out = {}, {}
    for label in labels:
        outcome = known.get(label, {}).get("outcome", {"reason": "never analyzed"})
        if outcome.get("status") != "done":
            left_out[f"sub-{label}"] = outcome.get("reason", "never analyzed")
            continue
        path = _index_of(out, label, wanted)
        if path is None:
            left_out[f"sub-{label}"] = "no results of this task and space"
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
            "choose a task or a space, or give every analysis its own folder"
        )
    return paths[0] if paths else None


def _of_majority(found, left_out):
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
            left_out[name] = (
                f"its conditions are {' '.join(map(str, classes))}, those of most "
                f"{' '.join(map(str, usual))}"
            )
    return {name: entry for name, entry in found.items() if entry[1] == usual}


def _write(out, maps, bids, overwrite, made_by):
    """Write the maps of one analysis of the group."""
    about, options, seed = made_by
    about = about | provenance(parameters=options, random_state=seed)
    known = records()
    sidecars = {name: describe_map(known[name], about) for name in maps}
    write_maps(out, maps, sidecars, overwrite=overwrite, bids=bids, provenance=about)
