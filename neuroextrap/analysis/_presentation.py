"""What leaves an analysis of regions: images for every number, one table."""

import numpy as np

from neuroextrap import stats
from neuroextrap.images import to_img


def feature_images(values, masker):
    """Turn numbers of features, a dict of (n_features,), into images.

    The arrays stay what they are where there is no masker (plain arrays).
    """
    if masker is None:
        return values
    return {name: to_img(value, masker) for name, value in values.items()}


def region_images(values, choice, masker):
    """Turn numbers of regions, a dict of (n_regions,), into images.

    NaN outside the analyzed voxels. Without a masker (plain arrays) the maps are arrays
    of the regions; empty when the regions of an image are a matrix with another number
    of rows than features, which have no place in it.
    """
    if masker is None:
        return {name: np.asarray(value, dtype=float) for name, value in values.items()}
    if not choice.has_place:
        return {}
    full = {name: choice.to_features(value) for name, value in values.items()}
    return feature_images(full, masker)


def region_table(results, values, standard_errors=None):
    """Return a tidy table: one row for every region and set size.

    `results` are RegionResults and `values` their statistics; `standard_errors` of the
    accuracies have shape (n_regions, n_set_sizes). Columns are name, n_voxels,
    set_size, accuracy, standard_error, implied_information (bits),
    average_bayes_accuracy_bound (at that set size), class_information_bound and
    information_bound (bits), and, after permutations, p_value and p_value_fwe of the
    statistic; where the classifier was trained on all K classes whatever the set size,
    also n_classes_trained; where parts of the run are missing, also partial, True in
    every row.
    """
    import pandas as pd

    sizes = results.set_sizes
    n_regions, n_sizes = results.choice.n_regions, len(sizes)
    names = results.choice.names or [str(i) for i in range(n_regions)]
    unknown = np.full((n_regions, n_sizes), np.nan)
    bounds = unknown
    if results.n_repeats is not None:
        bounds = results.bounds_at(results.bound_wins, sizes)
    columns = {
        "name": np.repeat(names, n_sizes),
        "n_voxels": np.repeat(results.n_voxels, n_sizes),
        "set_size": np.tile(sizes, n_regions),
        "accuracy": stats.average_accuracy(results.scores.wins, sizes).ravel(),
        "standard_error": (
            unknown if standard_errors is None else standard_errors
        ).ravel(),
        "implied_information": np.repeat(values["implied_information"], n_sizes),
        "average_bayes_accuracy_bound": bounds.ravel(),
    }
    shown = "class_information_bound", "information_bound", "p_value", "p_value_fwe"
    for name in shown:
        if name in values:
            columns[name] = np.repeat(values[name], n_sizes)
    if not results.marginal:
        n_classes = results.scores.wins.shape[1]
        columns["n_classes_trained"] = np.full(n_regions * n_sizes, n_classes)
    if results.missing_parts:
        columns["partial"] = np.ones(n_regions * n_sizes, dtype=bool)
    return pd.DataFrame(columns)


def joined_standard_errors(parts):
    """Join the standard errors in the tables of fitted parts, (n_regions, n_set_sizes).

    None where a part has no table, or other set sizes.
    """
    tables = [part.table_ for part in parts]
    if any(table is None for table in tables):
        return None
    shape = len(parts[0].wins_), len(parts[0].set_sizes_)
    errors = np.full(shape, np.nan)
    for part, table in zip(parts, tables, strict=True):
        if len(table) != errors.size:
            return None
        done = part.results_.scores.done
        errors[done] = table["standard_error"].to_numpy().reshape(shape)[done]
    return errors
