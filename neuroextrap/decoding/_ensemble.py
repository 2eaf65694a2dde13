"""Information of an ensemble of voxels against their number, and redundancy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import plain_maps, with_parameters
from neuroextrap.decoding._comparable import taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._identification import accuracy_statistics
from neuroextrap.margins._paths import with_path
from neuroextrap.regions._membership import usable_regions
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    brief,
    check_integer,
    check_numbers,
    random_generator,
)


def rows_of_sets(sets, n_features):
    """Return sets of features, a list of indices, as boolean rows of a csr_array."""
    edges = np.cumsum([0, *map(len, sets)])
    indices = np.concatenate(sets).astype(np.int32, copy=False)
    shape = len(sets), n_features
    rows = scipy.sparse.csr_array((np.ones(edges[-1], bool), indices, edges), shape)
    rows.sort_indices()
    return rows


def plan_sets(searchlight, data, *, permuted=False, whole=False, **changed):
    """Plan the run of a searchlight, of whose regions sets are made (DecodingRun).

    `data` are images, labels and runs. All features are one region, with `whole`,
    unless regions are given.
    """
    unused = plain_maps(IdentificationSearchLight())
    if permuted:
        del unused["n_permutations"]
    given = taken_options(searchlight, "this analysis", unused, "searchlight")
    plain = with_parameters(searchlight, bounds=None, **changed)
    placed = (
        not whole or given["labels_img"] is not None or given["regions"] is not None
    )
    return plan_decoding(plain, *data, placed=placed)


def score_sets(run, sets, *, min_voxels):
    """Score sets of features, a list of indices, in the place of a run's regions.

    Returns DecodingRun, RegionScores, and accuracies and information of the sets.
    """
    n_features = run.rows.shape[1]
    regions = rows_of_sets(sets, n_features)
    usable = usable_regions(regions, np.ones(n_features, dtype=bool), min_voxels)
    plan = with_path(replace(run.plan, by_sums=None), usable.regions)
    run = replace(run, choice=RegionChoice(regions), usable=usable, plan=plan)
    scores, _ = run.score()
    statistics = accuracy_statistics(
        scores.wins, n_test=len(run.test_codes), set_sizes=run.set_sizes
    )
    return run, scores, statistics


@described_by(IdentificationSearchLight.fit)
def ensemble_information(
    searchlight: Any,
    imgs: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    n_voxels: ArrayLike | None = None,
    n_draws: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Measure accuracy and information against the number of voxels, and redundancy.

    From every region, sets of voxels are drawn at random without replacement,
    ``n_draws`` of each size; all sets are scored in one run. Each drawn set is also cut
    into two random halves, and **redundancy** is the sum of the implied information of
    the two halves minus that of the set: above 0 the halves share information, below 0
    (synergy) the set carries more than the sum of its halves. With several regions a
    last row gives it for the regions as parts of their union.

    Redundancy is neither a partial information decomposition nor a bound: near chance
    the implied information is cut off at 0, near perfect accuracy it saturates, and
    shared noise, shared signal and (in overlapping regions) shared voxels affect it in
    different ways. Compare it between regions of equal size and accuracy.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        A searchlight that is not fitted, and never changed. Its ``labels_img`` or
        ``regions`` are the regions; with neither, the whole mask is one (spheres are
        not used).
    n_voxels : sequence of int or None, default=None
        Sizes of the sets. If None, 2, 4, 8, ... and the whole region. Sizes above a
        region's number of usable voxels are left out for that region.
    n_draws : int, default=20
        Number of sets of each size.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the draws.

    Returns
    -------
    table : pandas.DataFrame
        One row for every region and size: name, n_voxels, n_draws, parts ("halves", or
        "regions" in the row of their union), and mean and standard deviation over
        draws of accuracy and pairwise_accuracy (proportions), implied_information and
        redundancy (bits): columns ``accuracy``, ``accuracy_sd`` and so on. Redundancy
        of a single voxel is NaN, and so is the spread of a single draw.

    Raises
    ------
    ValueError
        When options are outside their range, no region has as many voxels as requested,
        or the searchlight asks for permutations or a shard.

    References
    ----------
    Schneidman, Bialek & Berry 2003, "Synergy, redundancy, and independence in
    population codes", Journal of Neuroscience 23 (the quantity). Zheng & Benjamini
    2016, "Estimating mutual information in high dimensions via classification error"
    (information implied by identification accuracy).

    Examples
    --------
    Twenty voxels with the same signal and independent noise:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight, ensemble_information
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2, 3], 10), np.repeat(np.arange(10), 4)
    >>> X = y[:, None] + rng.normal(size=(40, 20))
    >>> table = ensemble_information(IdentificationSearchLight(), X, y, groups=runs)
    >>> table["n_voxels"].tolist()
    [2, 4, 8, 16, 20]
    >>> bool(table["implied_information"].is_monotonic_increasing)
    True
    """
    _check_options(n_voxels, n_draws)
    run = plan_sets(searchlight, (imgs, y, groups), whole=True, min_voxels=1)
    members, analyzed = run.usable.regions, run.analyzed
    rows = np.split(members.indices, members.indptr[1:-1])
    parts = [rows[region] for region in analyzed]
    names = [run.choice.names[i] if run.choice.names else str(i) for i in analyzed]
    rng = random_generator(random_state)
    cells = _cells([len(part) for part in parts], n_voxels)
    sets = []
    for part, size in np.repeat(cells, n_draws, axis=0):
        drawn = rng.permutation(parts[part])[:size]
        sets += [drawn, drawn[: size // 2], drawn[size // 2 :]]
    if len(parts) > 1:
        sets += [np.unique(np.concatenate(parts)), *parts]
    _, _, statistics = score_sets(run, sets, min_voxels=1)
    return _table(statistics, cells, names, n_draws, sets)


def _check_options(n_voxels, n_draws):
    """Raise unless numbers of voxels and draws are whole numbers from 1."""
    check_integer(n_draws, "n_draws", minimum=1)
    if n_voxels is None:
        return
    sizes = check_numbers(n_voxels, "n_voxels")
    if sizes.ndim != 1 or not sizes.size:
        raise ValueError(
            f"n_voxels={brief(n_voxels)} must be numbers of voxels, or None; give at "
            "least one"
        )
    for size in sizes:
        check_integer(size, "n_voxels", minimum=1)


def _cells(region_sizes, n_voxels):
    """Return (region, size of the sets) of every row of the table."""
    cells = []
    for region, largest in enumerate(region_sizes):
        sizes = n_voxels
        if sizes is None:
            sizes = [*2 ** np.arange(1, int(largest).bit_length() + 1), largest]
        sizes = np.unique(sizes)
        cells += [(region, int(size)) for size in sizes[sizes <= largest]]
    if not cells:
        raise ValueError(
            f"n_voxels={list(n_voxels)} are all more than the {max(region_sizes)} "
            "usable voxels of the largest region; give smaller numbers"
        )
    return cells


def _table(statistics, cells, names, n_draws, sets):
    """Average over draws: one row for every region and size, one for all regions."""
    import pandas as pd

    n_drawn = 3 * n_draws * len(cells)
    drawn = {  # each set, and its halves
        name: statistics[name][:n_drawn].reshape(len(cells), n_draws, 3)
        for name in ("accuracy", "pairwise_accuracy", "implied_information")
    }
    values = {name: value[:, :, 0] for name, value in drawn.items()}
    whole, first, second = drawn["implied_information"].T
    values["redundancy"] = (first + second - whole).T
    columns = {
        "name": [names[region] for region, _ in cells],
        "n_voxels": [size for _, size in cells],
        "n_draws": n_draws,
        "parts": "halves",
    }
    for name, value in values.items():
        columns[name] = value.mean(axis=1)
        columns[f"{name}_sd"] = value.std(axis=1, ddof=1) if n_draws > 1 else np.nan
    table = pd.DataFrame(columns)
    if len(sets) == n_drawn:
        return table
    joint = {"name": "all regions", "n_voxels": len(sets[n_drawn])}
    joint |= {"n_draws": 1, "parts": "regions"}
    joint |= {name: statistics[name][n_drawn] for name in drawn}
    of_regions = statistics["implied_information"][n_drawn + 1 :]
    joint["redundancy"] = of_regions.sum() - joint["implied_information"]
    table.loc[len(table)] = {name: joint.get(name, np.nan) for name in table.columns}
    return table
