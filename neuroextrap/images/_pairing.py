"""Which table belongs to which image, by the entities in their names."""

import logging
import os

from neuroextrap.images._bids_names import loose_entities

_logger = logging.getLogger(__name__)

_COMPARED = ("sub", "ses", "task", "acq", "dir", "rec", "run")


def pair_tables(named, tables):
    """Return tables in the order of their images, as far as names tell.

    `named` are images of `NamedImage`; `tables` are paths or DataFrames, as many as
    images, or one for all. Where the names of a pair disagree in an entity that both
    have (subject, session, task, run, ...), tables are put into the one order in which
    none does; if there is none, ValueError names both files.
    """
    images = [_entities(img.file) for img in named]
    found = [_entities(table) for table in tables]
    _refuse_same_image(named)
    if len(tables) == 1:
        pairs = [(i, 0) for i in range(len(images))]
    else:
        pairs = [(i, i) for i in range(len(images))]
    odd = [(i, j) for i, j in pairs if _disagreement(images[i], found[j])]
    if not odd:
        return list(tables)
    order = _only_order(images, found) if len(images) == len(found) else None
    if order is None:
        i, j = odd[0]
        key = _disagreement(images[i], found[j])
        raise ValueError(
            f"{named[i].file} and {os.fspath(tables[j])} disagree in {key}: "
            f"{images[i][key]} and {found[j][key]}; give the events of these images"
        )
    _logger.info("events were put into the order of the images, by their names")
    return [tables[j] for j in order]


def _entities(path):
    """Return what a name tells, of a DataFrame or an image without a file nothing."""
    return loose_entities(path) if isinstance(path, (str, os.PathLike)) else {}


def _disagreement(first, second):
    """Return the first entity in which two names disagree, or None."""
    for key in _COMPARED:
        if key in first and key in second:
            one, two = (_comparable(key, each[key]) for each in (first, second))
            if one != two:
                return key
    return None


def _comparable(key, label):
    """Return a label as it is compared: runs as numbers, text in small letters."""
    if key == "run" and label.isdecimal():
        return int(label)
    return label.casefold()


def _only_order(images, tables):
    """Return the table of each image if each has exactly one, and no two the same."""
    order = []
    for image in images:
        fitting = [j for j, t in enumerate(tables) if not _disagreement(image, t)]
        if len(fitting) != 1:
            return None
        order += fitting
    return order if len(set(order)) == len(order) else None


def _refuse_same_image(named):
    """Raise if a file is given twice: its copy would be tested by itself."""
    seen = {}
    for img in named:
        if img.file is None:
            continue
        path = os.path.realpath(img.file)
        if path in seen:
            raise ValueError(
                f"{img.name} is the same file as {seen[path]}; give every run once"
            )
        seen[path] = img.name
