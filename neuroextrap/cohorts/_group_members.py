"""Who belongs to the group, and the design by which its members are compared."""

import logging
import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from neuroextrap.analysis._analysis_files import origin_of
from neuroextrap.cohorts._cohort_design import (
    MEASURES,
    make_design,
    read_participants,
    voxels_lost,
)
from neuroextrap.cohorts._cohort_records import (
    read_records,
    records_of,
    results_on_record,
)
from neuroextrap.group._alike import check_alike
from neuroextrap.maps import read_maps
from neuroextrap.maps._provenance import read_json, shared_entities

logger = logging.getLogger(__name__)

ANALYSIS = "desc-analysis_stat.json"
"""End of the name of the file that says what an analysis was."""
NULL = "desc-null_stat.npy"
"""End of the name of a participant's permuted maps."""
_FEW = 12  # conditions that a line can name


def check_members(out, members, left_out):
    """Tell who is left out; ValueError if fewer than two are left in `members`."""
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)
    if len(members) < 2:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(
            f"{out} has {len(members)} participants to put together, at least two are "
            f"needed ({reasons}); analyze more"
        )


def differences(cells, allow_mixed):
    """Return what differs among members, and is allowed, in words by name."""
    analyses: list[tuple] = []
    mixed: dict[str, str] = {}
    for members in cells:
        own = [(name, _about(path)) for name, (path, _) in members.items()]
        mixed |= check_alike(own, "participants", allow_mixed=allow_mixed)
        analyses += own
    if len(cells) > 1:
        for _, about in analyses:
            for name in ("task", "runs"):
                about["made_by"]["cohort"].pop(name)
        mixed |= check_alike(analyses, "participants", allow_mixed=allow_mixed)
    for words in mixed.values():
        logger.warning("participants differ, which is allowed, in %s", words)
    return mixed


def _about(path):
    """Return what an index file says of an analysis, as the sidecars of maps do."""
    index = read_json(path)
    made_by = index.get("origin", {}).get("samples")
    return index["parameters"] | {"kind": index["kind"], "made_by": made_by}


def beside(index, name):
    """Return the path of another file of the analysis that an index file is of."""
    return index.with_name(index.name.removesuffix(ANALYSIS) + name)


def _analyses(out, participants, wanted, left_out):
    """Return index file and classes of the majority by participant; note the others."""
    records, results = read_records(out), results_on_record(out)
    given = participants
    if given is None:  # folders too, so that nobody is lost who came without a record
        given = {name.partition("_")[0] for name in records}
        given = sorted(given | {path.name[4:] for path in out.glob("sub-*/")})
    labels = dict.fromkeys(label.removeprefix("sub-") for label in given)
    if not labels:
        raise ValueError(f"{out} has no results of participants; analyze them first")
    needed = {f"{key}-{label}" for key, label in wanted.items() if label is not None}
    members = {}
    for label in labels:
        name = f"sub-{label}"
        own = [
            out / f"{each}_{ANALYSIS}"
            for each in results
            if each.startswith(f"{name}/") and needed <= {*Path(each).name.split("_")}
        ]
        if len(own) > 1:
            raise ValueError(
                f"{name} has {len(own)} analyses, {own[0].name} and others; choose a "
                "task, a space or a session (within, --within ses-1), or give every "
                "analysis its own folder"
            )
        if not own:
            left_out[name] = _reason(records, label, wanted)
        elif own[0].is_file():
            members[name] = own[0], tuple(read_json(own[0])["classes"])
        else:
            left_out[name] = (
                "its maps are of films: give them to neuroextrap group, not bids"
            )
    return of_majority(members, left_out)


def _reason(records, label, wanted):
    """Say why a participant has no results: what is on record of a failure, if any."""
    own = [each.get("outcome", {}) for each in records_of(records, label, wanted)]
    failed = [each["reason"] for each in own if each.get("status") == "failed"]
    if failed:
        return failed[-1]
    if not records_of(records, label, {}):
        return f"never analyzed, or without its record (code/sub-{label}.toml)"
    named = " ".join(f"{key}-{value}" for key, value in wanted.items() if value)
    return f"no results of {f'{named} alone' if named else 'an analysis'}"


def of_majority(members, left_out):
    """Return the participants whose classes most have; the others are left out."""
    counts = Counter(classes for _, classes in members.values())
    if not counts:
        return members
    (usual, n), *_ = counts.most_common(1)
    if 2 * n <= len(members):
        raise ValueError(
            f"participants have {len(counts)} different sets of conditions and none is "
            "that of a majority; analyze the same ones (classes, --classes)"
        )
    for name, (_, classes) in members.items():
        if classes != usual:
            left_out[name] = _difference(classes, usual)
    return {name: entry for name, entry in members.items() if entry[1] == usual}


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


_MAPS = "desc-maps_stat.json"
_ACCURACY = "desc-accuracy_stat.nii.gz"


@dataclass(frozen=True)
class Members:
    """Participants of a group, and how they are compared."""

    cells: list  # of dicts by participant, index file and classes of one analysis
    left_out: dict
    mixed: dict  # what differs
    design: Any
    entities: dict  # of the group's files

    @property
    def members(self):
        """The first analysis of everyone."""
        return self.cells[0]

    @property
    def n_classes(self):
        """Number of classes."""
        return len(next(iter(self.members.values()))[1])

    @property
    def imgs(self):
        """The maps of accuracy, a list for each analysis: paths, or surfaces."""
        return [_maps_of(cell) for cell in self.cells]

    @property
    def record(self):
        """What sidecars say of the members and their design."""
        maps = chain(*map(_accuracy_of, self.cells))
        about = origin_of({"imgs": list(maps)}).sidecar()
        about |= {"participants": list(self.members), "left_out": self.left_out}
        about["mixed"] = list(self.mixed)
        if self.design is not None:
            rows = self.design.table.round(6)
            columns = {name: rows[name].tolist() for name in rows}
            about["design"] = {"made_of": self.design.words, "columns": columns}
        return about


def gather(out, given):
    """Return the Members of a group as GroupOptions ask; ValueError if too few."""
    left_out: dict[str, str] = {}
    cells = [_analyses(out, given.participants, cell, left_out) for cell in given.cells]
    members = [name for name in cells[0] if name not in left_out]
    design = _design_of(out, given, {name: cells[0][name] for name in members})
    left_out |= {} if design is None else design.left_out
    members = [name for name in members if name not in left_out]
    cells = [{name: cell[name] for name in members} for cell in cells]
    check_members(out, cells[0], left_out)
    mixed = differences(cells, given.allow_mixed)
    entities = shared_entities(chain(*map(_accuracy_of, cells)))
    entities.pop("desc")
    if given.is_comparison:
        entities["contrast"] = _contrast_label(given)
    return Members(cells, left_out, mixed, design, entities)


def _maps_of(members):
    """Return participants' maps of accuracy, paths or, on surfaces, images."""
    return [
        path if path.endswith(_ACCURACY) else read_maps(path)["accuracy"]
        for path in _accuracy_of(members)
    ]


def _accuracy_of(members):
    """Return the files of participants' accuracy: maps, of surfaces lists of them."""
    paths = [(beside(i, _ACCURACY), beside(i, _MAPS)) for i, _ in members.values()]
    return [str(volume if volume.is_file() else maps) for volume, maps in paths]


def _design_of(out, request, members):
    """Return the CohortDesign of participants, None for a mean; measures are added."""
    if request.contrast is None and not request.covariates:
        return None
    table = read_participants(request.participants_table, out)
    recorded = {out / f"{k}_{ANALYSIS}": v for k, v in results_on_record(out).items()}
    absent, own = set(members) - set(table.index), set(MEASURES) & set(table)
    table = table.reindex(list(members)).astype(object)
    lost = dict(zip(members, voxels_lost(_maps_of(members)), strict=True))
    for name in [name for name in MEASURES if name not in table]:
        values = {each: recorded[path].get(name) for each, (path, _) in members.items()}
        table[name] = pd.Series(lost if name == "voxels_lost" else values)
    design = make_design(table, list(members), request.contrast, request.covariates)
    for name in own & set(design.table):
        raise ValueError(f"{name} is a column of the table and measured; rename it")
    for name in absent & set(design.left_out):
        design.left_out[name] = "it has no row in the table of participants"
    logger.info("design: %s", "; ".join(design.words))
    return design


def _contrast_label(request):
    """Return the label of a comparison in the names of files."""
    given = request.contrast or (["mean"] if request.covariates else [])
    parts = [given] if isinstance(given, str) else list(given)
    within = [each.replace("-", "") for each in request.within]
    sides = [" - ".join(within[i : i + 2]) for i in range(0, len(within), 2)]
    parts += [" against ".join(sides)] if len(within) > 1 else []
    words = " and ".join(parts).replace(" - ", " minus ").replace("-", " minus ")
    return "".join(
        word[0].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", words)
    )
