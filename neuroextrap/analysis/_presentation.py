"""What leaves an analysis of regions: images for every number, one table."""

import numpy as np

from neuroextrap import stats
from neuroextrap.images import to_img


def region_images(values, choice, masker):
    """Turn numbers of regions into images.

    Parameters
    ----------
    values : dict of ndarray, shape (..., n_regions)
        Numbers of the regions.
    choice : RegionChoice
        The regions and where their values go.
    masker : fitted masker, or None
        None for plain arrays, whose maps are arrays.

    Returns
    -------
    maps : dict of images, or of ndarray
        NaN outside the analyzed voxels. Empty for images when the regions are a matrix
        with another number of rows than features, which have no place in an image.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.images._region_choice import choose_regions
    >>> from neuroextrap.analysis._presentation import region_images
    >>> region_images({"accuracy": [0.5]}, choose_regions(None, 4), None)
    {'accuracy': array([0.5])}
    """
    if masker is not None and not choice.has_place:
        return {}
    if masker is None:
        return {name: np.asarray(value, dtype=float) for name, value in values.items()}
    return {
        name: to_img(choice.to_features(value), masker)
        for name, value in values.items()
    }


def region_table(results, values, standard_errors=None):
    """Return a tidy table: one row for every region and set size.

    Parameters
    ----------
    results : RegionResults
        What a run found.
    values : dict of ndarray, shape (n_regions,)
        As :meth:`RegionResults.statistics` returns them.
    standard_errors : ndarray, shape (n_regions, n_set_sizes), or None
        Of the accuracies, from leaving classes out.

    Returns
    -------
    table : pandas.DataFrame
        Columns name, n_voxels, set_size, accuracy, standard_error, information (bits),
        bound (average Bayes accuracy at that set size), information_bound (bits), and,
        after permutations, p_value and p_value_fwe of the statistic.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.images._region_choice import choose_regions
    >>> from neuroextrap.analysis._presentation import region_table
    >>> from neuroextrap.analysis._results import RegionResults
    >>> from neuroextrap.margins._engine import RegionScores
    >>> wins, one = np.array([[0.1, 0.2, 0.7]]), np.ones(1, dtype=int)
    >>> scores = RegionScores(wins, wins[None][:0], one, one, one[:0], None, one > 0)
    >>> regions, sizes = choose_regions(None, 4), np.array([2, 3])
    >>> results = RegionResults(scores, regions, 4 * one, 30, sizes, None, 0.95)
    >>> table = region_table(results, results.statistics())
    >>> table[["name", "n_voxels", "set_size", "accuracy"]]
               name  n_voxels  set_size  accuracy
    0  all features         4         2       0.8
    1  all features         4         3       0.7
    """
    import pandas as pd

    sizes = results.set_sizes
    n_regions, n_sizes = results.choice.n_regions, len(sizes)
    curves = stats.average_accuracy(results.scores.wins, sizes)
    names = results.choice.names or [str(i) for i in range(n_regions)]
    nothing = np.full((n_regions, n_sizes), np.nan)
    bound = nothing
    if results.n_repeats is not None:
        bound = results.bounds_at(results.bound_wins, sizes)
    columns = {
        "name": np.repeat(names, n_sizes),
        "n_voxels": np.repeat(results.n_voxels, n_sizes),
        "set_size": np.tile(sizes, n_regions),
        "accuracy": curves.ravel(),
        "standard_error": (
            nothing if standard_errors is None else standard_errors
        ).ravel(),
        "implied_information": np.repeat(values["implied_information"], n_sizes),
        "average_bayes_accuracy_bound": bound.ravel(),
    }
    for name in ("information_bound", "p_value", "p_value_fwe"):
        if name in values:
            columns[name] = np.repeat(values[name], n_sizes)
    return pd.DataFrame(columns)
