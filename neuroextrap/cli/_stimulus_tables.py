"""Read the tables, features and responses of ``neuroextrap encoding``."""

from pathlib import Path

import numpy as np

_NAMES = ("set", "run", "stimulus")


def read_table(path):
    """Read the table of volumes.

    Parameters
    ----------
    path : path-like
        Tab-separated, one row a volume, with a column ``set``.

    Returns
    -------
    table : pandas.DataFrame
        As read.
    is_train : ndarray of bool, shape (n_volumes,)
        Rows of the training set.

    Raises
    ------
    ValueError
        If the column ``set`` is missing, or holds anything but train and test.
    """
    table = _read_tsv(path)
    if "set" not in table:
        raise ValueError(
            f"{path} has no column 'set' (train or test); it has "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    found = set(table["set"].astype(str))
    if found != {"train", "test"}:
        raise ValueError(
            f"{path}: column 'set' must hold train and test, got "
            f"{', '.join(sorted(found))}"
        )
    return table, (table["set"] == "train").to_numpy()


def read_features(table, is_train, *, features=None, images=None, model="gabor"):
    """Read or compute the features of every volume's stimulus.

    Parameters
    ----------
    table : pandas.DataFrame
        From `read_table`; its other columns are the features if neither file is given.
    is_train : ndarray of bool, shape (n_volumes,)
        Rows that transformers are fitted on.
    features : path-like or None
        .npy or .tsv, one row a volume.
    images : path-like or None
        .npy of shape (n_volumes, height, width).
    model : {"gabor", "retinotopic"}
        Features of the images.

    Returns
    -------
    features : ndarray, shape (n_volumes, n_features)
        Features that vary over the training stimuli.

    Raises
    ------
    ValueError
        If both files are given, rows do not match, or a column is no number.
    """
    if features is not None and images is not None:
        raise ValueError("--features and --stimulus-images were both given; give one")
    if images is not None:
        return _image_features(images, model, is_train)
    if features is None:
        found = _numbers(table.drop(columns=[c for c in _NAMES if c in table]), "table")
        name = "--stimuli"
    elif Path(features).suffix == ".npy":
        found, name = np.load(features, allow_pickle=False), features
    else:
        found, name = _numbers(_read_tsv(features), features), features
    return _check_rows(found, len(is_train), name)


def read_responses(imgs, mask, is_train):
    """Read training and test responses.

    Parameters
    ----------
    imgs : list of path-like
        Images, or one .npy of shape (n_volumes, n_neurons).
    mask : path-like or None
        Brain mask.
    is_train : ndarray of bool, shape (n_volumes,)
        Rows of the training set.

    Returns
    -------
    train, test : image or ndarray
        Responses.
    mask_img : image or None
        The mask used; None for arrays.

    Raises
    ------
    ValueError
        If the number of volumes is not that of the table.
    """
    if len(imgs) == 1 and Path(imgs[0]).suffix == ".npy":
        data = _check_rows(np.load(imgs[0], allow_pickle=False), len(is_train), imgs[0])
        return data[is_train], data[~is_train], None
    from neuroextrap.images import load_samples, resolve_masker, to_img

    source = imgs if len(imgs) > 1 else imgs[0]
    masker = resolve_masker(mask, source)
    data = _check_rows(load_samples(source, masker), len(is_train), "--imgs")
    parts = (to_img(data[some], masker) for some in (is_train, ~is_train))
    return *parts, masker.mask_img_


def unique_stimuli(features, names):
    """Give each stimulus once, and say which volumes belong to it.

    Parameters
    ----------
    features : ndarray, shape (n_volumes, n_features)
        Features of the test volumes.
    names : ndarray, shape (n_volumes,), or None
        Names of their stimuli.

    Returns
    -------
    features : ndarray, shape (n_stimuli, n_features)
        In order of first appearance.
    stimuli : ndarray of int, shape (n_volumes,), or None
        Row that each volume belongs to; None when each is its own.

    Raises
    ------
    ValueError
        If volumes of one stimulus have different features.

    Examples
    --------
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


def _read_tsv(path):
    """Read a tab-separated table."""
    import pandas as pd

    try:
        return pd.read_csv(path, sep="\t")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        raise ValueError(f"{path} is no tab-separated table") from None


def _numbers(frame, name):
    """Values of a table whose columns are all numbers."""
    bad = [c for c in frame.columns if frame[c].dtype.kind not in "buif"]
    if bad or frame.shape[1] == 0:
        what = f"columns that are no numbers: {', '.join(map(str, bad[:5]))}"
        raise ValueError(
            f"{name} has {what if bad else 'no feature column'}; give features by "
            "--features, --stimulus-images or numeric columns"
        )
    return frame.to_numpy()


def _image_features(path, model, is_train):
    """Features of gray-level images, transformers fitted on the training stimuli."""
    from neuroextrap.models._gabor import GaborPyramid
    from neuroextrap.models._retinotopic import RetinotopicFeatures

    pixels = _check_rows(np.load(path, allow_pickle=False), len(is_train), path)
    transformers = {
        "gabor": GaborPyramid(luminance=True),
        "retinotopic": RetinotopicFeatures(),
    }
    transformer = transformers[model].fit(pixels[is_train])
    found = transformer.transform(pixels)
    return found[:, np.ptp(found[is_train], axis=0) > 0]


def _check_rows(values, n_rows, name):
    """Raise unless there is one row a volume of the table."""
    if values.ndim < 2 or len(values) != n_rows:
        raise ValueError(
            f"{name} has shape {values.shape}, --stimuli has {n_rows} rows; give one "
            "row (volume) for each"
        )
    return values
