"""Margins that are linear in the test points of a region: all of them, or best classes.

They are made a block of test points at a time, small enough for the cache, and one
labeling after the other, so that neither batches nor what is asked changes a bit.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS

Blocks = list[tuple[int, slice]]

_BLOCK_SIZE = 2**17  # margins made together


class Linear(NamedTuple):
    """Margins of a region under some labelings, as weights of its test points.

    ``points`` (n_test, p) are in the order of the design, ``weights`` (F, B, K, p) and
    ``offsets`` (F, B, K). Margins have the precision of the points.
    """

    points: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray

    def of_labeling(self, labeling: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (F, p, K) and offsets (F, K) in the points' precision."""
        precision = self.points.dtype
        weights = self.weights[:, labeling].astype(precision, copy=False)
        offsets = self.offsets[:, labeling].astype(precision, copy=False)
        return weights.swapaxes(1, 2), offsets


def fill_linear(margins: np.ndarray, linear: Linear, design: Design) -> None:
    """Fill the margins (n_test, K, B) of a region."""
    blocks = _blocks(design)
    for labeling in range(margins.shape[2]):
        weights, offsets = linear.of_labeling(labeling)
        out = margins[:, :, labeling]
        direct = out.flags.c_contiguous and out.dtype == linear.points.dtype
        for fold, rows in blocks:
            points = linear.points[rows]
            if direct:
                np.matmul(points, weights[fold], out=out[rows])
                out[rows] += offsets[fold]
            else:
                out[rows] = points @ weights[fold] + offsets[fold]


def shares_of_linear(
    regions: Iterable[Linear], design: Design, labelings: Labelings, weights: Any
) -> np.ndarray:
    """Return the weight of the points whose class is the best, shape (S * B,).

    ``weights`` (n_test, B), or a number. The same as `best_share` of the margins that
    `fill_linear` makes, to the last bit, none of which is stored.
    """
    truth, blocks = labelings.codes[:, design.test], _blocks(design)
    equal = np.ndim(weights) == 0
    shares = []
    for linear in regions:
        of_points = _shares_of_points(linear, truth, blocks)
        if not equal:
            of_points *= np.transpose(weights)
        # one point after the other
        shares += [np.cumsum(of_labeling)[-1] for of_labeling in of_points]
    return weights * np.array(shares) if equal else np.array(shares)


def _shares_of_points(linear: Linear, truth: np.ndarray, blocks: Blocks) -> np.ndarray:
    """Return 1 / (number of best classes) where a point's class is one of them, else 0.

    ``truth`` (B, n_test) are the classes of the test points, which the blocks cover.
    """
    from neuroextrap.margins.compiled._linear import fill_shares

    shares = np.empty(truth.shape)
    of_labelings = [linear.of_labeling(labeling) for labeling in range(len(truth))]
    for fold, rows in blocks:
        points = linear.points[rows]  # in cache for all labelings
        for labeling, (weights, offsets) in enumerate(of_labelings):
            products, out = points @ weights[fold], shares[labeling, rows]
            if not fill_shares(products, offsets[fold], truth[labeling, rows], out):
                raise ValueError(NAN_MARGINS)
    return shares


def _blocks(design: Design) -> Blocks:
    """Return (fold, rows) of blocks of about equally many test points of a fold."""
    blocks = []
    for fold, rows in enumerate(design.fold_slices):
        n_points = rows.stop - rows.start
        n_blocks = -(-n_points * design.n_classes // _BLOCK_SIZE)
        edges = np.linspace(rows.start, rows.stop, max(1, n_blocks) + 1).astype(int)
        blocks += [(fold, slice(int(a), int(b))) for a, b in pairwise(edges)]
    return blocks
