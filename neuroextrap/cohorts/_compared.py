"""Members of a group with their design: what is compared, and of whom."""

import logging
import re
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pandas as pd

from neuroextrap.analysis._sidecars import origin_of
from neuroextrap.cohorts._cohort_design import make_design, read_participants
from neuroextrap.cohorts._cohort_records import results_on_record
from neuroextrap.cohorts._group_members import (
    INDEX,
    beside,
    check_members,
    differences,
    members_of,
    without,
)
from neuroextrap.cohorts._measures import MEASURES, voxels_lost
from neuroextrap.group import second_level_test
from neuroextrap.group._subjects import differences_of
from neuroextrap.maps import read_maps
from neuroextrap.maps._bids import shared_entities

logger = logging.getLogger(__name__)

_MAPS = "desc-maps_stat.json"
_ACCURACY, _TABLE = "desc-accuracy_stat.nii.gz", "desc-table_stat.tsv"


@dataclass(frozen=True)
class Members:
    """Index files and classes by participant, a dict for each analysis they have.

    `left_out` are reasons by participant, `mixed` what differs, `design` is a
    CohortDesign or None, `entities` name the files of the group.
    """

    cells: list
    left_out: dict
    mixed: dict
    design: Any
    entities: dict

    @property
    def found(self):
        """The first analysis of everyone."""
        return self.cells[0]

    @property
    def n_classes(self):
        """Number of classes."""
        return len(next(iter(self.found.values()))[1])

    @property
    def imgs(self):
        """The maps of accuracy, a list for each analysis: paths, or surfaces."""
        return [_maps_of(cell) for cell in self.cells]

    @property
    def told(self):
        """What sidecars say of the members and their design."""
        maps = chain(*map(_accuracy_of, self.cells))
        about = origin_of({"imgs": list(maps)}).sidecar()
        about |= {"participants": list(self.found), "left_out": self.left_out}
        about["mixed"] = list(self.mixed)
        if self.design is not None:
            rows = self.design.table.round(6)
            columns = {name: rows[name].tolist() for name in rows}
            about["design"] = {"made_of": self.design.words, "columns": columns}
        return about


def gather(out, asked, allow_mixed):
    """Return the Members of a group as GroupOptions ask; ValueError if too few."""
    cells, left_out = members_of(out, asked.participants, asked.cells)
    design = _design_of(out, asked, cells[0])
    left_out |= {} if design is None else design.left_out
    cells = [without(cell, left_out) for cell in cells]
    check_members(out, cells[0], left_out)
    mixed = differences(cells, allow_mixed)
    entities = shared_entities(chain(*map(_accuracy_of, cells)))
    entities.pop("desc")
    if asked.is_comparison:
        entities["contrast"] = _contrast_label(asked)
    return Members(cells, left_out, mixed, design, entities)


def compared(group, options, shared, asked):
    """Return the RegionMaps of a contrast over participants, or within them."""
    options, imgs, design = {**options, **shared}, group.imgs, group.design
    if len(imgs) == 4:
        imgs = [differences_of(*imgs[:2]), differences_of(*imgs[2:])]
    if len(imgs) > 1:
        options["paired_imgs"] = imgs[1]
    if design is not None:
        options |= {"contrast": design.contrast, "design_matrix": design.table}
        if asked.contrast is None:  # a mean, which signs decide and no order
            options["errors"] = "symmetric"
    maps: Any = second_level_test(imgs[0], **options)
    if design is not None:
        maps.summary.options["design"] = "; ".join(design.words)
    if len(imgs) > 1:
        maps.summary.options["within"] = _within_words(asked.within)
    return maps


def _within_words(within):
    """Say what is subtracted from what."""
    if len(within) < 4:
        return " - ".join(within)
    return "({} - {}) - ({} - {})".format(*within)


def regions_of(out, group, asked):
    """Return the numbers of all atlas regions of all participants, None without atlas.

    A row is a participant, a region and a set size, with what the table of participants
    says; with several analyses of each, ``analysis`` names them.
    """
    parts = []
    for number, found in enumerate(group.cells):
        for name, (index, _) in found.items():
            if not beside(index, _TABLE).is_file():
                return None
            own = pd.read_csv(beside(index, _TABLE), sep="\t")
            if len(group.cells) > 1:
                own.insert(0, "analysis", asked.within[number])
            own.insert(0, "participant_id", name)
            parts.append(own)
    people = read_participants(asked.participants_table, out)
    people = people[people.columns.difference(parts[0].columns, sort=False)]
    return pd.concat(parts).join(people, on="participant_id")


def _maps_of(found):
    """Return participants' maps of accuracy, paths or, on surfaces, images."""
    return [
        path if path.endswith(_ACCURACY) else read_maps(path)["accuracy"]
        for path in _accuracy_of(found)
    ]


def _accuracy_of(found):
    """Return the files of participants' accuracy: maps, of surfaces lists of them."""
    paths = [(beside(i, _ACCURACY), beside(i, _MAPS)) for i, _ in found.values()]
    return [str(volume if volume.is_file() else maps) for volume, maps in paths]


def _design_of(out, asked, found):
    """Return the CohortDesign of participants, None for a mean; measures are added."""
    if asked.contrast is None and not asked.covariates:
        return None
    table = read_participants(asked.participants_table, out)
    known = {out / f"{k}_{INDEX}": v for k, v in results_on_record(out).items()}
    absent, own = set(found) - set(table.index), set(MEASURES) & set(table)
    table = table.reindex(list(found)).astype(object)
    lost = dict(zip(found, voxels_lost(_maps_of(found)), strict=True))
    for name in [name for name in MEASURES if name not in table]:
        values = {each: known[path].get(name) for each, (path, _) in found.items()}
        table[name] = pd.Series(lost if name == "voxels_lost" else values)
    design = make_design(table, list(found), asked.contrast, asked.covariates)
    for name in own & set(design.table):
        raise ValueError(f"{name} is a column of the table and measured; rename it")
    for name in absent & set(design.left_out):
        design.left_out[name] = "it has no row in the table of participants"
    logger.info("design: %s", "; ".join(design.words))
    return design


def _contrast_label(asked):
    """Return the label of a comparison in the names of files."""
    given = asked.contrast or (["mean"] if asked.covariates else [])
    parts = [given] if isinstance(given, str) else list(given)
    within = [each.replace("-", "") for each in asked.within]
    sides = [" - ".join(within[i : i + 2]) for i in range(0, len(within), 2)]
    parts += [" against ".join(sides)] if len(within) > 1 else []
    words = " and ".join(parts).replace(" - ", " minus ").replace("-", " minus ")
    return "".join(
        word[0].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", words)
    )
