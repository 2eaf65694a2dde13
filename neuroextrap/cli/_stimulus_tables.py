"""Read the tables, features and responses of ``neuroextrap encoding``."""

from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.cli._console import logger
from neuroextrap.encoding._cost import EncodingData
from neuroextrap.encoding._stimuli import feature_names, same_runs
from neuroextrap.encoding._stimulus_features import image_feature_kinds, image_features
from neuroextrap.images import _feature_files as feature_files
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._loading import load_samples
from neuroextrap.images._opening import list_images
from neuroextrap.images._tables import load_array, numbers, read_text_table, text_column

_NAMES = ("set", "run", "stimulus", "stim_file")
# of the largest feature of a column: by this much single precision may round it
# differently beside other pictures
_ROUNDING = 1e-5


def read_table(path, *, in_folds=False):
    """Return the table of volumes and its training rows, all of them `in_folds`."""
    table = read_text_table(path, "--stimuli")
    if in_folds:
        table["set"] = "train"
    if "set" not in table:
        raise ValueError(
            f"{path} has no column 'set' (train or test); it has "
            f"{', '.join(map(str, table.columns[:8]))}"
        )
    for name in [name for name in _NAMES if name in table]:
        entries = text_column(table, name, path)
        if (entries == "").any():
            row = int(np.flatnonzero(entries == "")[0]) + 1
            raise ValueError(
                f"{path}: column {name} has no entry in row {row}; fill in every row"
            )
        table[name] = entries.astype(object)
    sets = ", ".join(sorted(set(table["set"])))
    if not in_folds and sets != "test, train":
        raise ValueError(f"{path}: column 'set' must hold train and test, got {sets}")
    return table, (table["set"] == "train").to_numpy()


def _stimuli_shown(table):
    """Return the name of each volume's stimulus, or of its file; None without."""
    column = next((name for name in ("stimulus", "stim_file") if name in table), None)
    return None if column is None else table[column].to_numpy(dtype=str)


def check_design(table, is_train, args):
    """Raise ValueError for what a table, before data are read, says is impossible."""
    n_volumes = _n_volumes(args.imgs)
    if n_volumes != len(table):
        raise ValueError(
            f"--imgs has {n_volumes} volumes, --stimuli has {len(table)} rows; give a "
            "row for each volume"
        )
    names, in_folds = _stimuli_shown(table), args.folds is not None
    names = np.arange(len(table)).astype(str) if names is None else names
    is_tested = np.ones_like(is_train) if in_folds else ~is_train
    tested = np.unique(names[is_tested])
    both = np.intersect1d(tested, names[~is_tested])
    if both.size:
        raise ValueError(
            f"{args.stimuli}: {both.size} of {len(tested)} stimuli of the set test are "
            f"in the set train as well (first: {str(both[0])!r}); identification is of "
            "stimuli that the model has not seen: leave them out of one set"
        )
    n_candidates = len(tested) // (args.folds or 1)
    if n_candidates < 2:
        where = f"each of {args.folds} folds" if in_folds else "the set test"
        raise ValueError(
            f"{args.stimuli} has {len(tested)} stimuli to be tested, which leaves "
            f"{n_candidates} in {where}; two candidates or more are needed"
        )
    if args.groups is not None and args.groups not in table:
        raise ValueError(
            f"{args.stimuli} has no column {args.groups!r}, which --groups names; it "
            f"has {', '.join(map(str, table.columns[:8]))}"
        )
    if "run" in table and args.n_permutations:
        runs = table["run"].to_numpy(dtype=str)
        _check_exchanges(names[is_tested], runs[is_tested], args)


def _check_exchanges(names, runs, args):
    """Raise unless two tested stimuli were shown in the same runs."""
    _, first, place = np.unique(names, return_index=True, return_inverse=True)
    if np.unique(same_runs(runs, place)[first]).size == len(first):
        raise ValueError(
            f"{args.stimuli}: no two stimuli to be tested were shown in the same runs, "
            "so that none can change places with another within runs, and "
            f"--n-permutations {args.n_permutations} has no other pairing; leave out "
            "the column run if stimuli were assigned to runs at random"
        )


def _n_volumes(imgs):
    """Return the number of volumes (rows) that headers state."""
    if len(imgs) == 1 and Path(imgs[0]).suffix == ".npy":
        return len(load_array(imgs[0], mmap_mode="r"))
    return sum(named.n_samples or 1 for named in list_images(list(imgs), "--imgs"))


def read_features(table, is_train, path, args):
    """Return features (n_volumes, n_features) and bands (n_features,) or None."""
    if args.features is not None and args.stimulus_images is not None:
        raise ValueError("--features and --stimulus-images were both given; give one")
    names = None
    if args.features is not None:
        features, names = _feature_file(table, args.features)
    elif args.stimulus_images is not None or "stim_file" in table:
        pictures, place = _pictures(table, path, args.stimulus_images, args.image_size)
        how = {"verbose": int(not args.quiet)}
        trained = np.unique(place[is_train])
        features = image_features(pictures, args.model, trained, **how)[place]
        if args.bands == "kinds":
            return features, image_feature_kinds(pictures, args.model)
    else:
        others = table.drop(columns=table.columns.intersection([*_NAMES, args.groups]))
        if not others.shape[1]:
            raise ValueError(
                "--stimuli has no feature column; give features by --features, "
                "--stimulus-images or numeric columns"
            )
        features, names = numbers(others, "--stimuli"), others.columns
        _check_rows(features, len(is_train), "--stimuli")
    return features, _bands(args.bands, features.shape[1], names)


def _bands(given, n_features, names):
    """Read the band of every feature, (n_features,), from a file; None if not given."""
    if given is None:
        return None
    if given == "kinds":
        raise ValueError(
            "--bands kinds are those of features that --model computes of images; give "
            "a file with the band of each feature, one a line"
        )
    lines = Path(given).read_text(encoding="utf-8").splitlines()
    rows = [line.rsplit(maxsplit=1) for line in lines if line.strip()]
    if names is not None and all(len(row) == 2 for row in rows):
        band_of = dict(rows)
        missing = [str(name) for name in names if str(name) not in band_of]
        flaw = "a feature twice" if len(band_of) < len(rows) else ""
        flaw = f"no band of feature {missing[0]!r}" if missing else flaw
        if flaw:
            raise ValueError(f"--bands {given} has {flaw}; name the band of each once")
        return np.array([band_of[str(name)] for name in names])
    bands = [row[0] for row in rows if len(row) == 1]
    if len(bands) != n_features:
        raise ValueError(
            f"--bands {given} has {len(bands)} lines, there are {n_features} features; "
            "name the band of each, or give name and band"
        )
    return np.array(bands)


def _feature_file(table, path):
    """Return the features of every volume in a file, and the names of its columns."""
    features = feature_files.read_features(path)
    values, names = features.to_numpy(), feature_names(features)
    if features.index.name != feature_files.NAMES:
        return _check_rows(values, len(table), path), names
    if "stimulus" not in table:
        raise ValueError(
            f"{path} names its stimuli, --stimuli does not; give it a column 'stimulus'"
        )
    place = {name: row for row, name in enumerate(features.index)}
    missing = [name for name in table["stimulus"] if name not in place]
    if missing:
        raise ValueError(
            f"{path} has no features of stimulus {str(missing[0])!r} ({len(missing)} "
            "volumes in all); give features of every stimulus"
        )
    return values[[place[name] for name in table["stimulus"]]], names


def _pictures(table, path, images, max_size):
    """Return pictures, each once, and the picture of every volume, (n_volumes,)."""
    suffix = None if images is None else Path(images).suffix.lower()
    if suffix not in (None, ".zip") and not Path(images).is_dir():
        if suffix != ".npy":
            raise ValueError(
                f"--stimulus-images {images} is neither a folder (or .zip) of images "
                "nor a .npy array; give one, or a column stim_file in --stimuli"
            )
        pixels = _check_rows(load_array(images, mmap_mode="r"), len(table), images)
        return pixels, np.arange(len(table))
    if "stim_file" in table:
        tree = feature_files.photograph_tree
        folder = Path(path).parent if images is None else tree(images)
        files = [str(folder / name) for name in table["stim_file"]]
    elif "stimulus" in table:
        files = feature_files.photograph_files(images, table["stimulus"])
    else:
        raise ValueError(
            "--stimuli has no column 'stimulus' or 'stim_file' that says which image "
            "of the folder was shown; give one"
        )
    place, once = pd.factorize(np.array(files, dtype=object))
    return feature_files.Photographs(once, max_size=max_size), place


def read_responses(imgs, mask, is_train):
    """Return responses of training and test, and the mask image, None of a .npy."""
    if len(imgs) == 1 and Path(imgs[0]).suffix == ".npy":
        data = _check_rows(load_array(imgs[0]), len(is_train), imgs[0])
        return data[is_train], data[~is_train], None
    source = imgs if len(imgs) > 1 else imgs[0]
    masker = resolve_masker(mask, source)
    data = _check_rows(load_samples(source, masker), len(is_train), "--imgs")
    parts = [
        to_img(data[rows], masker) if rows.any() else None
        for rows in (is_train, ~is_train)
    ]
    return *parts, masker.mask_img_


def unique_stimuli(features, names):
    """Return features of each stimulus once, in order, and the row of each volume."""
    if names is None:
        return features, None
    stimuli, _ = pd.factorize(names)  # in the order in which they come
    rows = np.unique(stimuli, return_index=True)[1]
    sizes = np.abs(features)
    rounding = _ROUNDING * sizes.max(axis=0, initial=0.0, where=np.isfinite(sizes))
    alike = np.isclose(features, features[rows][stimuli], rtol=0.0, atol=rounding)
    if not alike.all():
        row = int(np.flatnonzero(~alike.all(axis=1))[0])
        raise ValueError(
            f"stimulus {str(names[row])!r} has different features in its repeats; give "
            "the same features or other names"
        )
    return features[rows], stimuli


def _check_rows(values, n_rows, name):
    """Raise unless there is one row for each volume of the table."""
    if values.ndim < 2 or len(values) != n_rows:
        raise ValueError(
            f"{name} has shape {values.shape}, --stimuli has {n_rows} rows; give one "
            "row (volume) for each"
        )
    return values


def read_data(args):
    """Return the EncodingData that a command describes."""
    in_folds = args.folds is not None
    table, is_train = read_table(args.stimuli, in_folds=in_folds)
    check_design(table, is_train, args)
    features, bands = read_features(table, is_train, args.stimuli, args)
    names = _stimuli_shown(table)
    runs = table["run"].to_numpy(dtype=str) if "run" in table else None
    every = _stimuli_of(features, names)  # repeats agree, before work
    train, test, mask = read_responses(args.imgs, args.mask, is_train)
    given: dict = {"mask": mask, "bands": bands, "runs": runs}
    if in_folds:
        logger.info("%d volumes, %d features", len(table), features.shape[1])
        given |= {"tested": every[0], "stimuli": every[1], "n_folds": args.folds}
        return EncodingData(test=train, **given)
    counts = (is_train.sum(), (~is_train).sum(), features.shape[1])
    logger.info("%d training and %d test volumes, %d features", *counts)
    (trained, codes), (tested, stimuli) = (
        _stimuli_of(features[rows], None if names is None else names[rows])
        for rows in (is_train, ~is_train)
    )
    if runs is not None:
        given["runs"] = runs[~is_train]
    if args.groups is not None:
        given["groups"] = table[args.groups].to_numpy(dtype=str)[is_train]
    given |= {"features": trained, "train": train, "train_stimuli": codes}
    return EncodingData(tested=tested, test=test, stimuli=stimuli, **given)


def _stimuli_of(features, names):
    """Return features of each stimulus once, its name in the index, and their rows."""
    unique, rows = unique_stimuli(features, names)
    if names is None:
        return unique, rows
    index = np.empty(len(unique), dtype=object)
    index[rows] = names
    return pd.DataFrame(unique, index=index), rows
