"""What is lost when a region is taken away."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._region_maps import RegionMaps, maps_of_regions
from neuroextrap.analysis._samples import can_be_used
from neuroextrap.decoding._ensemble import plan_sets, score_sets
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._folds import class_weights
from neuroextrap.maps._identification import permutation_statistics
from neuroextrap.maps._named_records import lesion_record
from neuroextrap.maps._records import described_parameters
from neuroextrap.margins._resources import parse_memory
from neuroextrap.margins._wins import accuracy_set_size, win_chances
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._shared_options import described_by

_BYTES_PER_PAIR = 16  # index and flag, twice, with room for a block's own copy
_LOSSES = {"accuracy_loss": "accuracy", "information_loss": "implied_information"}


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
    run = plan_sets(searchlight, (imgs, y, groups), permuted=True)
    usable, members = can_be_used(run.rows), run.choice.regions
    _check_memory(len(run.analyzed), usable.sum(), searchlight.max_memory)
    if searchlight.n_permutations:  # refused before the work, if it is no accuracy
        accuracy_set_size(searchlight.statistic, len(run.classes))
    rows = np.split(members.indices, members.indptr[1:-1])
    sets = [_without(usable, rows[region]) for region in run.analyzed]
    sets, least = [_without(usable, []), *sets], max(1, run.parameters.min_voxels)
    tested, scores, values = score_sets(run, sets, min_voxels=least)
    if searchlight.n_permutations:
        values |= _p_values(searchlight, tested, scores)
    return _result(searchlight, run, values)


def _check_memory(n_regions, n_usable, max_memory):
    """Refuse more (region, remaining voxel) pairs than memory holds."""
    n_pairs = (1 + n_regions) * int(n_usable)
    n_bytes = _BYTES_PER_PAIR * n_pairs
    if n_bytes > parse_memory(max_memory) or n_pairs > np.iinfo(np.int32).max:
        raise ValueError(
            f"{n_regions} lesions of {n_usable} voxels need about "
            f"{n_bytes / 2**30:.1f} GiB, more than max_memory={max_memory!r}; give "
            "atlas regions, stride or process_mask_img, or raise max_memory"
        )


def _without(usable, lost):
    """Return the usable features that are not lost."""
    kept = usable.copy()
    kept[lost] = False
    return np.flatnonzero(kept).astype(np.int32)


def _p_values(searchlight, run, scores):
    """P-values of the whole (first) and of every rest: of accuracy, and of the loss."""
    values = permutation_statistics(scores, ("p_value", "p_value_fwe"))
    known = ~np.isnan(scores.score)
    lost = stats.paired_sign_flip_test(
        _differences(searchlight, run, np.flatnonzero(known)),
        n_permutations=searchlight.n_permutations,
        two_sided=False,
        random_state=searchlight.random_state,
    )
    # nothing can be lost where the whole, whose own loss is unknown, tells nothing
    rests = known & (np.arange(len(known)) > 0)
    whole_p = values["p_value"][0]
    losses = {
        "loss_p_value": np.maximum(lost.p_value, whole_p),
        "loss_p_value_fwe": np.maximum(lost.p_value_fwe, whole_p),
    }
    return values | spread_known(rests, losses)


def _differences(searchlight, run, sets):
    """Return what each unit adds to the whole's accuracy minus that of other sets."""
    test, codes, n_classes = run.plan.design.test, run.test_codes, len(run.classes)
    size = accuracy_set_size(searchlight.statistic, n_classes)
    weights = class_weights(codes[:, None], n_classes)[:, 0]

    def chances(row):
        return weights * win_chances(run.margins(row), codes, size)

    calls = (delayed(chances)(row) for row in sets)
    whole, *rests = Parallel(n_jobs=run.n_workers, prefer="threads")(calls)
    units = run.labels.units
    _, place = np.unique(test if units is None else units[test], return_inverse=True)
    differences = [np.bincount(place, whole - rest) for rest in rests]
    return np.array(differences).reshape(len(rests), place.max() + 1)


def _result(searchlight, run, statistics):
    """Place the lesions' statistics, and what they lost, among all regions."""
    import pandas as pd

    whole = {
        name: float(value[0])
        for name, value in statistics.items()
        if not name.startswith("loss")
    }
    choice, removed = run.choice, run.usable.n_features
    among = np.isin(np.arange(choice.n_regions), run.analyzed)
    rests = {name: value[1:] for name, value in statistics.items()}
    values = spread_known(among, rests)
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
