"""Labels of the samples: classes, runs and blocks as codes."""

from typing import NamedTuple

import numpy as np

from neuroextrap.analysis._samples import check_not_masked
from neuroextrap.stats._validation import check_real


class Labels(NamedTuple):
    """Labels of the n_kept samples that are analyzed, and which these are."""

    codes: np.ndarray  # class codes 0..K-1 of shape (n_kept,)
    classes: np.ndarray  # the class of every code of shape (K,)
    groups: np.ndarray | None  # runs of shape (n_kept,)
    blocks: np.ndarray | None  # what moves together in permutations, (n_kept,)
    keep: np.ndarray  # whether a sample is analyzed of shape (n_samples,)

    @property
    def units(self):
        """Number of the block of every sample, (n_kept,); None without blocks.

        Blocks are numbered within groups, as in permutations.
        """
        if self.blocks is None:
            return None
        return row_codes(self.blocks, *([] if self.groups is None else [self.groups]))


def row_codes(*columns):
    """Return one code per distinct combination of values, shape (n_samples,)."""
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    return np.unique(np.stack(coded), axis=1, return_inverse=True)[1].ravel()


def code_labels(y, classes, groups, blocks):
    """Turn labels into codes, and leave out classes that are not asked for.

    `y`, `groups` and `blocks` have shape (n_samples,); the latter two and `classes` may
    be None. ValueError when lengths differ, a class is not there, or fewer than two
    are left.
    """
    check_not_masked(y, "y")
    y = np.asarray(check_real(y, "y"))
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; give one label for every sample")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError("y has NaN; give a label for every sample")
    for name, value in (("groups", groups), ("blocks", blocks)):
        if value is not None and np.shape(value) != y.shape:
            raise ValueError(
                f"{name} has shape {np.shape(value)}, y has {y.shape}; give one entry "
                "for every sample"
            )
    present = np.unique(y)
    chosen = present if classes is None else np.unique(np.asarray(classes))
    unknown = np.setdiff1d(chosen, present)
    if len(unknown):
        raise ValueError(
            f"classes has {unknown.tolist()[:5]}, which y does not; y has "
            f"{present.tolist()[:10]}"
        )
    if len(chosen) < 2:
        raise ValueError(
            f"y has {len(chosen)} class ({chosen.tolist()}); give at least two classes"
        )
    keep = np.isin(y, chosen)
    return Labels(
        codes=np.searchsorted(chosen, y[keep]),
        classes=chosen,
        groups=None if groups is None else np.asarray(groups)[keep],
        blocks=None if blocks is None else np.asarray(blocks)[keep],
        keep=keep,
    )
