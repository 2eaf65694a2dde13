"""Regions from a label vector (an atlas, a parcellation)."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuroextrap.regions._membership import rows_to_regions


def label_regions(labels: Any, *, background: Any = 0) -> tuple[csr_array, np.ndarray]:
    """Make one region of every distinct label but the `background` (None: of all).

    `labels` (n_features,) are numbers or strings. Returns regions, a csr_array of bool
    (n_regions, n_features) whose row i holds the features labeled ``values[i]``, int32
    indices sorted, and the values (n_regions,), ascending. ValueError where labels are
    not one-dimensional, hold NaN, or nothing but the background.

    >>> regions, values = label_regions([0, 7, 3, 7])
    >>> values
    array([3, 7])
    >>> regions.toarray().astype(int)
    array([[0, 0, 1, 0],
           [0, 1, 0, 1]])
    """
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(
            f"labels must be one-dimensional (n_features,), got shape {labels.shape}; "
            "give one label per feature"
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("labels must not hold NaN; use the background label instead")
    order = np.argsort(labels, kind="stable")
    values, counts = np.unique(labels[order], return_counts=True)
    kept = np.ones(len(values), dtype=bool)
    if background is not None:
        kept = values != background
    if not kept.any():
        raise ValueError(
            f"labels must hold a label other than the background {background!r}, got "
            "none; check that atlas and mask overlap"
        )
    members = order[np.repeat(kept, counts)].astype(np.int32)
    return rows_to_regions(members, counts[kept], len(labels)), values[kept]
