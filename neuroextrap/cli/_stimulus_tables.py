"""Read the tables, features and responses of ``neuroextrap encoding``."""

from pathlib import Path

import numpy as np

from neuroextrap.images._arrays import load_array
from neuroextrap.images._tables import (
    numbers,
    read_number_table,
    read_text_table,
    text_column,
)

_NAMES = ("set", "run", "stimulus")


def read_table(path):
    """Read the table of volumes; return it and its training rows, a boolean mask.

    All entries are text; set, run and stimulus must have one in every row.
    """
    table = read_text_table(path, "--stimuli")
    if "set" not in table:
        raise ValueError(
            f"{path} has no column 'set' (train or test); it has "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    for name in _NAMES:
        if name in table:
            table[name] = _complete(text_column(table, name, path), name, path)
    sets = set(table["set"])
    if sets != {"train", "test"}:
        raise ValueError(
            f"{path}: column 'set' must hold train and test, got "
            f"{', '.join(sorted(sets))}"
        )
    return table, (table["set"] == "train").to_numpy()


def read_features(table, is_train, *, features=None, images=None, model="gabor"):
    """Return the features of every volume's stimulus, (n_volumes, n_features).

    `features` is a .npy or .tsv file, `images` a .npy of shape (n_volumes, height,
    width) or (n_volumes, height, width, 3) of which `model` ("gabor" or "retinotopic")
    computes features; without either, the other columns of the table are features.
    """
    if features is not None and images is not None:
        raise ValueError("--features and --stimulus-images were both given; give one")
    if images is not None:
        return _image_features(images, model, is_train)
    if features is None:
        values, name = _other_columns(table), "--stimuli"
    elif Path(features).suffix == ".npy":
        values, name = load_array(features), features
    else:
        values, name = read_number_table(features, "--features"), features
    return _check_rows(values, len(is_train), name)


def read_responses(imgs, mask, is_train):
    """Read responses; return those of training and test and the mask image.

    `imgs` lists images, or one .npy of shape (n_volumes, n_neurons); then the mask is
    None.
    """
    if len(imgs) == 1 and Path(imgs[0]).suffix == ".npy":
        data = _check_rows(load_array(imgs[0]), len(is_train), imgs[0])
        return data[is_train], data[~is_train], None
    from neuroextrap.images import load_samples, resolve_masker, to_img

    source = imgs if len(imgs) > 1 else imgs[0]
    masker = resolve_masker(mask, source)
    data = _check_rows(load_samples(source, masker), len(is_train), "--imgs")
    parts = (to_img(data[rows], masker) for rows in (is_train, ~is_train))
    return *parts, masker.mask_img_


def unique_stimuli(features, names):
    """Return the features of each stimulus once, and the row of each volume.

    Stimuli come in order of first appearance. Without `names` every volume is a
    stimulus of its own, and the rows are None. Raises where volumes of one stimulus
    have different features.

    >>> unique_stimuli(np.array([[1.0], [2.0], [1.0]]), np.array(["a", "b", "a"]))
    (array([[1.],
           [2.]]), array([0, 1, 0]))
    """
    if names is None:
        return features, None
    _, first, place = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows, stimuli = first[order], np.argsort(order)[place]
    differs = (features != features[rows][stimuli]).any(axis=1)
    if differs.any():
        row = int(np.flatnonzero(differs)[0])
        raise ValueError(
            f"stimulus {names[row]!r} has different features in its repeats; give the "
            "same features or other names"
        )
    return features[rows], stimuli


def _complete(entries, column, path):
    """Return a column of text if no entry is missing."""
    if (entries == "").any():
        row = int(np.flatnonzero(entries == "")[0]) + 1
        raise ValueError(
            f"{path}: column {column} has no entry in row {row}; fill in every row"
        )
    return entries.astype(object)


def _other_columns(table):
    """Return the columns of the table of volumes that are features."""
    features = table.drop(columns=[c for c in _NAMES if c in table])
    if not features.shape[1]:
        raise ValueError(
            "--stimuli has no feature column; give features by --features, "
            "--stimulus-images or numeric columns"
        )
    return numbers(features, "--stimuli")


def _image_features(path, model, is_train):
    """Features of gray or color images, transformers fitted on the training stimuli."""
    from neuroextrap.models._gabor import GaborPyramid
    from neuroextrap.models._retinotopic import RetinotopicFeatures

    pixels = _check_rows(load_array(path), len(is_train), path)
    transformers = {
        "gabor": GaborPyramid(),
        "retinotopic": RetinotopicFeatures(),
    }
    transformer = transformers[model].fit(pixels[is_train])
    return transformer.transform(pixels)


def _check_rows(values, n_rows, name):
    """Raise unless there is one row for each volume of the table."""
    if values.ndim < 2 or len(values) != n_rows:
        raise ValueError(
            f"{name} has shape {values.shape}, --stimuli has {n_rows} rows; give one "
            "row (volume) for each"
        )
    return values
