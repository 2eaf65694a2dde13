"""Sets of voxels: information against their number, and what a region's loss costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.analysis._samples import can_be_used
from neuroextrap.decoding._comparable import EXTRA, taken_options
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._folds import class_weights
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._identification import accuracy_statistics, permutation_statistics
from neuroextrap.maps._named_records import lesion_record
from neuroextrap.maps._records import described_parameters
from neuroextrap.margins._engine import chances, map_parts
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._resources import parse_memory
from neuroextrap.margins._wins import accuracy_set_size
from neuroextrap.regions._regions import rows_to_regions
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    brief,
    check_integer,
    check_numbers,
    random_generator,
)

_BYTES_PER_PAIR = 16  # index and flag, twice, with room for a block's own copy
_LOSSES = {"accuracy_loss": "accuracy", "information_loss": "implied_information"}


def rows_of_sets(sets, n_features):
    """Return sets of features, a list of indices, as boolean rows of a csr_array."""
    indices = np.concatenate(list(map(np.sort, sets)), dtype=np.int32)
    return rows_to_regions(indices, np.array([*map(len, sets)]), n_features)


def plan_sets(searchlight, data, *, permuted=False, whole=False, **changed):
    """Return the planned run of a searchlight, and the features of its regions.

    `data` are images, labels and runs. All features are one region, with `whole`,
    unless regions are given.
    """
    unused = {*EXTRA, *([] if permuted else ["n_permutations"])} - {"checkpoint"}
    given = taken_options(searchlight, "this analysis", sorted(unused), "searchlight")
    plain = with_parameters(searchlight, bounds=None, **changed)
    regions = given["labels_img"], given["regions"]
    placed = not whole or any(each is not None for each in regions)
    run = plan_decoding(plain, *data, placed=placed)
    usable = run.usable.regions
    rows = np.split(usable.indices, usable.indptr[1:-1])
    return run, [rows[region] for region in run.analyzed]


def score_sets(run, sets):
    """Score sets of features, a list of indices, in the place of a run's regions.

    Returns DecodingRun, RegionScores, and accuracies and information of the sets.
    """
    n_features = run.rows.shape[1]
    choice = RegionChoice(rows_of_sets(sets, n_features))
    usable = run.parameters.usable_regions(choice, np.ones(n_features, dtype=bool))
    plan = with_path(replace(run.plan, by_sums=None), usable.regions)
    run = replace(run, choice=choice, usable=usable, plan=plan)
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
    run, parts = plan_sets(searchlight, (imgs, y, groups), whole=True, min_voxels=1)
    names = [run.choice.names[i] if run.choice.names else str(i) for i in run.analyzed]
    rng = random_generator(random_state)
    cells = _cells([len(part) for part in parts], n_voxels)
    sets = []
    for part, size in np.repeat(cells, n_draws, axis=0):
        drawn = rng.permutation(parts[part])[:size]
        sets += [drawn, drawn[: size // 2], drawn[size // 2 :]]
    if len(parts) > 1:
        sets += [np.unique(np.concatenate(parts)), *parts]
    _, _, statistics = score_sets(run, sets)
    return _table(statistics, cells, names, n_draws, sets)


def _check_options(n_voxels, n_draws):
    """Raise unless numbers of voxels and draws are whole numbers from 1."""
    check_integer(n_draws, "n_draws", minimum=1)
    sizes = check_numbers([1] if n_voxels is None else n_voxels, "n_voxels")
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
        doubled = [*2 ** np.arange(1, int(largest).bit_length() + 1), largest]
        sizes = np.unique(doubled if n_voxels is None else n_voxels)
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


@described_by(IdentificationSearchLight.fit)
def lesion_identification(
    searchlight: Any, imgs: Any, y: ArrayLike, groups: ArrayLike | None = None
) -> RegionMaps:
    """Identify from the whole mask without each region in turn.

    A region whose removal lowers accuracy carries information that the others lack, or
    that this classifier cannot read from them; a region whose removal costs nothing may
    still carry information that is also available elsewhere. Losses may be negative if
    a region adds more noise than signal.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        A searchlight that is not fitted, and never changed: all of its options are
        used, but for those of what is kept.

    Returns
    -------
    lesions : dict of images, or of ndarray
        Its maps (arrays of regions for array input, and where a region of a matrix has
        no place in an image) are ``accuracy``, ``pairwise_accuracy`` and
        ``implied_information`` (bits) of all voxels but the region's;
        ``accuracy_loss`` and ``information_loss`` (bits), the whole minus that;
        ``n_voxels`` taken away; with permutations ``p_value`` and ``p_value_fwe`` of
        the accuracy without the region, ``loss_p_value`` and ``loss_p_value_fwe`` of
        the loss when it is removed. ``table_`` holds the same, one row per region, and
        ``whole`` is a dict of the numbers of all voxels. NaN where a region has fewer
        than ``min_voxels`` usable voxels, or leaves fewer.

    Raises
    ------
    ValueError
        When the sets of remaining voxels (regions times voxels) do not fit into
        ``max_memory``, the searchlight asks for a shard or saved null maps, the
        statistic to be tested is no accuracy, or no region is large enough.

    Notes
    -----
    Two questions are tested with the searchlight's ``n_permutations``, ``statistic``
    (an accuracy), ``blocks`` and ``random_state``; both family-wise p-values are from
    the largest statistic over regions.

    *Does the rest tell anything?* Labels are permuted as in the searchlight. A permuted
    label goes with no voxel at all, so this says nothing about the region's own share.

    *Does removing the region cost anything?* Every test sample (every one of
    ``blocks``) was identified with and without the region. Under the null hypothesis
    the two outcomes are exchangeable: they are swapped at random, in the same way for
    all regions, and the loss is compared with the resulting losses (one-sided). Without
    any information this test by itself would reject too often; so its p-values are
    never below the whole mask's own ``p_value``, and a loss can be found only where
    there is something to lose. It concerns these classifiers on these samples, as
    trained here.

    Time and memory grow with the number of regions times the number of voxels, about
    16 bytes each: 1000 regions of a brain of 70,000 voxels take 1.1 GB. For a whole
    brain give atlas regions, ``stride`` or ``process_mask_img``.

    References
    ----------
    Hanson, Matsuka & Haxby 2004, "Combinatorial codes in ventral temporal lobe for
    object recognition", NeuroImage 23 (identification after removing voxels).

    Examples
    --------
    Two of three regions carry the same signal, the third its own:

    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.decoding import lesion_identification
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2, 3], 8), np.repeat(np.arange(8), 4)
    >>> signal = np.stack([y % 2, y % 2, y // 2], axis=1) * 4.0
    >>> X = np.repeat(signal, 3, axis=1) + rng.normal(size=(32, 9))
    >>> regions = scipy.sparse.csr_array(np.repeat(np.eye(3), 3, axis=1))
    >>> lesions = lesion_identification(
    ...     IdentificationSearchLight(regions=regions), X, y, runs
    ... )
    >>> lesions["accuracy_loss"].round(2).tolist()
    [0.0, 0.0, 0.5]
    """
    run, parts = plan_sets(searchlight, (imgs, y, groups), permuted=True)
    usable = np.flatnonzero(can_be_used(run.rows)).astype(np.int32)
    _check_memory(len(parts), len(usable), searchlight.max_memory)
    if searchlight.n_permutations:  # refused before the work, if it is no accuracy
        accuracy_set_size(searchlight.statistic, len(run.classes))
    rests = [np.setdiff1d(usable, lost, assume_unique=True) for lost in parts]
    tested, scores, values = score_sets(run, [usable, *rests])
    if searchlight.n_permutations:
        values |= _p_values(searchlight, tested, scores)
    return _result(searchlight, run, values)


def _check_memory(n_regions, n_usable, max_memory):
    """Refuse more (region, remaining voxel) pairs than memory holds."""
    n_pairs = (1 + n_regions) * n_usable
    n_bytes = _BYTES_PER_PAIR * n_pairs
    if n_bytes > parse_memory(max_memory) or n_pairs > np.iinfo(np.int32).max:
        raise ValueError(
            f"{n_regions} lesions of {n_usable} voxels need about "
            f"{n_bytes / 2**30:.1f} GiB, more than max_memory={max_memory!r}; give "
            "atlas regions, stride or process_mask_img, or raise max_memory"
        )


def _p_values(searchlight, run, scores):
    """P-values of the whole (first) and of every rest: of accuracy, and of the loss."""
    values = permutation_statistics(scores, ("p_value", "p_value_fwe"))
    finite = ~np.isnan(scores.score)
    lost = stats.paired_sign_flip_test(
        _differences(searchlight, run, np.flatnonzero(finite)),
        n_permutations=searchlight.n_permutations,
        two_sided=False,
        random_state=searchlight.random_state,
    )
    # nothing can be lost where the whole, whose own loss is unknown, tells nothing
    rests = finite & (np.arange(len(finite)) > 0)
    whole_p = values["p_value"][0]
    losses = {
        "loss_p_value": np.maximum(lost.p_value, whole_p),
        "loss_p_value_fwe": np.maximum(lost.p_value_fwe, whole_p),
    }
    return values | spread_known(rests, losses)


def _differences(searchlight, run, sets):
    """Return what each unit adds to the whole's accuracy minus that of other sets."""
    size = accuracy_set_size(searchlight.statistic, len(run.classes))
    weights = class_weights(run.test_codes[:, None], len(run.classes))[:, 0]
    given = (chances, *run.data, sets, size)
    parts = map_parts(*given, n_jobs=run.n_workers)
    whole, *rests = weights * np.concatenate([part for _, part in parts])
    test, units = run.plan.design.test, run.labels.units
    _, place = np.unique(test if units is None else units[test], return_inverse=True)
    differences = [np.bincount(place, whole - rest) for rest in rests]
    return np.array(differences).reshape(len(rests), place.max() + 1)


def _result(searchlight, run, statistics):
    """Place the lesions' statistics, and what they lost, among all regions."""
    import pandas as pd

    of_sets = [name for name in statistics if not name.startswith("loss")]
    whole = {name: float(statistics[name][0]) for name in of_sets}
    choice, removed = run.choice, run.usable.n_features
    among = np.isin(np.arange(choice.n_regions), run.analyzed)
    values = spread_known(among, {name: v[1:] for name, v in statistics.items()})
    for loss, of in _LOSSES.items():
        values[loss] = whole[of] - values[of]
    values["n_voxels"] = np.where(np.isfinite(values["accuracy"]), removed, np.nan)
    names = choice.names or [str(i) for i in range(choice.n_regions)]
    columns = ["accuracy", "pairwise_accuracy", "implied_information", *_LOSSES]
    columns += [name for name in statistics if "p_value" in name]
    table = {"name": names, "n_voxels": removed}
    return maps_of_regions(
        run,
        values,
        records={name: lesion_record(name) for name in values},
        table=pd.DataFrame(table | {name: values[name] for name in columns}),
        table_file="table.tsv",
        parameters=described_parameters(searchlight),
        random_state=searchlight.random_state,
        findings=[f for f in run.findings if any(map(f.touches, values))],
        whole=whole,
    )
