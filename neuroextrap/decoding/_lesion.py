"""What is lost when a region is taken away."""

from typing import NamedTuple

import numpy as np

from neuroextrap import images, maps, margins
from neuroextrap.decoding._member_sets import read_sample_set, score_sets

_BYTES_PER_PAIR = 16  # index and flag, twice, with room for a block's own copy


class LesionIdentification(NamedTuple):
    """The whole mask with and without each region.

    What :func:`lesion_identification` returns.

    Parameters
    ----------
    maps : dict of images (of ndarray for array input), or None
        ``accuracy``, ``pairwise_accuracy`` and ``implied_information`` (bits) of all
        voxels but the region's; ``accuracy_loss`` and ``information_loss`` (bits), the
        whole minus that; ``n_voxels`` taken away. None when the regions are a matrix
        whose rows have no place in an image.
    table : pandas.DataFrame
        The same, one row a region: name, n_voxels, accuracy, pairwise_accuracy,
        information, accuracy_loss, information_loss.
    whole : dict of float
        Accuracy, pairwise_accuracy and implied_information (bits) of all voxels.

    Examples
    --------
    >>> from neuroextrap.decoding import LesionIdentification
    >>> LesionIdentification(None, None, {"accuracy": 0.8}).whole
    {'accuracy': 0.8}
    """

    maps: dict | None
    table: object
    whole: dict


def lesion_identification(searchlight, imgs, y, groups=None):
    """Identify from the whole mask without each region in turn.

    A region whose absence costs accuracy tells something that the others do not, or
    that this classifier does not read from them; a region whose absence costs nothing
    may still tell much, told elsewhere too. Losses may be negative, where a region
    brings the classifier more noise than signal. They are differences of two accuracies
    of the same test points, without a test of their own.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        Not fitted; its mask, regions (spheres, discs, atlas regions or a matrix),
        ``min_voxels``, classifier, cross-validation, ``n_jobs`` and so on are used, and
        never changed.
    imgs : 4-D image, list of images, path(s), SurfaceImage, or array
        One volume (row) a sample.
    y : array-like, shape (n_samples,)
        Class of every sample.
    groups : array-like, shape (n_samples,), or None, default=None
        Run of every sample.

    Returns
    -------
    LesionIdentification
        Named tuple of ``maps``, ``table`` and ``whole``; NaN where a region has fewer
        than ``min_voxels`` usable voxels, or leaves fewer.

    Raises
    ------
    ValueError
        When the sets of remaining voxels (regions times voxels) do not fit into
        ``max_memory``, the searchlight asks for permutations or a shard, or there is a
        single region that leaves nothing.

    Notes
    -----
    Time and memory grow with the number of regions times the number of voxels, about
    16 bytes each: 1000 regions of a brain of 70,000 voxels take 1.1 GB. For a whole
    brain give atlas regions, ``stride`` or ``center_mask_img``.

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
    >>> found = lesion_identification(
    ...     IdentificationSearchLight(regions=regions), X, y, runs
    ... )
    >>> found.table["accuracy_loss"].round(2).tolist()
    [0.0, 0.0, 0.5]
    """
    samples = read_sample_set(searchlight, imgs, y, groups)
    features = samples.features
    choice = images.choose_regions(
        features.masker,
        features.X.shape[1],
        radius=searchlight.radius,
        n_nearest=searchlight.n_nearest,
        labels_img=searchlight.labels_img,
        regions=searchlight.regions,
        center_mask_img=searchlight.center_mask_img,
        stride=searchlight.stride,
    )
    removed = _count_removed(choice.regions, features.usable)
    least = max(1, searchlight.min_voxels)
    lesioned = np.flatnonzero(removed >= least)
    if len(lesioned) == 0:
        raise ValueError(
            f"no region has min_voxels={least} usable voxels (largest: "
            f"{removed.max()}); give a larger radius, or smaller min_voxels"
        )
    _check_memory(len(lesioned), features.usable.sum(), searchlight.max_memory)
    members = _whole_and_rests(choice.regions, lesioned, features.usable)
    scores = score_sets(samples, members, min_voxels=least)
    return _result(scores, choice, lesioned, removed, features.masker)


def _count_removed(members, usable):
    """Return the number of usable features of every region."""
    return members.astype(np.int32) @ usable.astype(np.int32)


def _check_memory(n_regions, n_usable, max_memory):
    """Refuse more (region, remaining voxel) pairs than memory holds."""
    n_pairs = (1 + n_regions) * int(n_usable)
    n_bytes = _BYTES_PER_PAIR * n_pairs
    if n_bytes > margins.parse_memory(max_memory) or n_pairs > np.iinfo(np.int32).max:
        raise ValueError(
            f"{n_regions} lesions of {n_usable} voxels need about "
            f"{n_bytes / 2**30:.1f} GiB, more than max_memory={max_memory!r}; give "
            "atlas regions, stride or center_mask_img, or raise max_memory"
        )


def _whole_and_rests(members, lesioned, usable):
    """Return all usable features as the first row, then all but each region's."""
    import scipy.sparse

    everything = np.flatnonzero(usable).astype(np.int32)
    rows, kept = [everything], usable.copy()
    for region in lesioned:
        own = members.indices[members.indptr[region] : members.indptr[region + 1]]
        kept[own] = False
        rows.append(np.flatnonzero(kept).astype(np.int32))
        kept[own] = usable[own]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows)
    return scipy.sparse.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr),
        shape=(len(rows), len(usable)),
    )


def _result(scores, choice, lesioned, removed, masker):
    """Place the lesions' scores, and what they lost, among all regions."""
    import pandas as pd

    whole = {name: float(value[0]) for name, value in scores.items()}
    values = {}
    for name, value in scores.items():
        values[name] = np.full(choice.n_regions, np.nan)
        values[name][lesioned] = value[1:]
    values["accuracy_loss"] = whole["accuracy"] - values["accuracy"]
    information = values["implied_information"]
    values["information_loss"] = whole["implied_information"] - information
    known = np.isfinite(values["accuracy"])
    values["n_voxels"] = np.where(known, removed, np.nan)
    found = None
    if masker is None or choice.centers is not None or choice.owner is not None:
        found = maps.region_images(values, choice, masker)
    names = choice.names or [str(i) for i in range(choice.n_regions)]
    columns = ["accuracy", "pairwise_accuracy", "implied_information"]
    table = {name: values[name] for name in [*columns, "accuracy_loss"]}
    table = pd.DataFrame({"name": names, "n_voxels": removed, **table})
    table["information_loss"] = values["information_loss"]
    table = table.rename(columns={"implied_information": "information"})
    return LesionIdentification(found, table, whole)
