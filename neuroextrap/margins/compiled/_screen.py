"""Compiled search for best classes in whole numbers, with a second look where close.

Every share is the one that sums of full precision give (``algebra/_screen.py``).
"""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._class_sums import fill_class_sums
from neuroextrap.margins.compiled._leads import (
    fill_leads,
    fill_short_blocks,
    fill_short_sums,
)
from neuroextrap.margins.compiled._shorts import LANES, LARGEST

_LEAST_UNIT = np.finfo(np.float64).tiny

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _take_own(sums: Any, truth: Any, lowest: Any, own: Any) -> None:
    """Move the sum of each point's class out of the sums (K, n_test)."""
    for i in range(len(truth)):
        k = truth[i]
        own[i], sums[k, i] = sums[k, i], lowest


@_compile
def _fill_rivals(sums: Any, rivals: Any) -> None:
    """Fill the largest sum of every point, four classes at a time."""
    n_classes, n_test = sums.shape
    for i in range(n_test):
        rivals[i] = sums[0, i]
    k = 1
    while n_classes - k >= 4:
        first, second = sums[k], sums[k + 1]
        third, fourth = sums[k + 2], sums[k + 3]
        for i in range(n_test):
            one = first[i] if first[i] > second[i] else second[i]
            other = third[i] if third[i] > fourth[i] else fourth[i]
            largest = one if one > other else other
            rivals[i] = largest if largest > rivals[i] else rivals[i]
        k += 4
    while k < n_classes:
        row = sums[k]
        for i in range(n_test):
            rivals[i] = row[i] if row[i] > rivals[i] else rivals[i]
        k += 1


@_compile
def _count_leads(own: Any, rivals: Any, slack: Any, lead: Any) -> Any:
    """Count the points whose class surely leads, and those where it may.

    ``lead`` (n_test,), of the type of the sums, is what the class is ahead of the
    others by; a lead of more than ``slack`` is sure.
    """
    n_sure, n_possible = np.uint32(0), np.uint32(0)
    for i in range(len(own)):
        lead[i] = own[i] - rivals[i]
    for i in range(len(own)):
        n_sure += np.uint32(lead[i] > slack)
    for i in range(len(own)):
        n_possible += np.uint32(lead[i] >= -slack)
    return n_sure, n_possible


@_compile
def _exact_sum(terms: Any, members: Any) -> float:
    """Return the sum of a class's terms (n_samples,) in full precision."""
    total = 0.0
    for sample in members:
        total += terms[sample]
    return total


@_compile
def _exact_share(
    terms: Any, members: Any, edges: Any, point: Any, precision: Any
) -> float:
    """Return a point's share, 1 / (number of best classes) or 0, in full precision.

    ``terms`` (n_samples,) are those of the point, and ``point`` has the whole sums (K,)
    of the classes, the point's own class, and the sum below which a class is no rival.
    Margins have the type of ``precision`` (1,).
    """
    sums, truth, least = point
    precision[0] = _exact_sum(terms, members[edges[truth] : edges[truth + 1]])
    own, n_best = precision[0], 1
    for k in range(len(sums)):
        if k != truth and sums[k] >= least:
            precision[0] = _exact_sum(terms, members[edges[k] : edges[k + 1]])
            if precision[0] > own:
                return 0.0
            n_best += precision[0] == own
    return 1.0 / n_best


@_compile
def _share_of_close(
    terms: Any, labeling: Any, found: Any, slack: Any, precision: Any
) -> float:
    """Return the share of all points where some leads are too small to be sure.

    Added in the order of the points, as the pass over all margins adds them.
    """
    members, edges, truth, weights = labeling
    sums, own, lead = found
    share = 0.0
    for i in range(len(truth)):
        if lead[i] < -slack:
            continue
        weight = weights[i] if len(weights) else 1.0
        if lead[i] <= slack:
            point = sums[:, i], truth[i], own[i] - slack
            weight *= _exact_share(terms[i], members, edges, point, precision)
        share += weight
    return share


@_compile
def fill_screened_shares(
    terms: Any, screen: Any, labelings: Any, precision: Any, out: Any
) -> None:
    """Fill the shares (B,) of best classes where margins are sums of terms.

    ``terms`` (n_test, n_samples) are rounded so that sums are exact; ``screen`` is the
    same in whole numbers. Margins have the type of ``precision`` (1,).
    """
    table, slack, lowest = screen
    n_classes = labelings.edges.shape[1] - 1
    sums = np.empty((n_classes, len(terms)), table.dtype)
    own, rivals = np.empty_like(sums[0]), np.empty_like(sums[0])
    lead = np.empty_like(own)
    for b in range(len(out)):
        members, edges = labelings.members[b], labelings.edges[b]
        truth, weights = labelings.truth[b], labelings.weights[b]
        fill_class_sums(table, members, edges, sums)
        _take_own(sums, truth, lowest, own)
        _fill_rivals(sums, rivals)
        n_sure, n_possible = _count_leads(own, rivals, slack, lead)
        if n_sure == n_possible and len(weights) == 0:
            out[b] = n_sure
        else:
            labeling, found = (members, edges, truth, weights), (sums, own, lead)
            out[b] = _share_of_close(terms, labeling, found, slack, precision)


@_compile
def fill_tables(
    terms: Any, trained: Any, n_most: int, max_units: float, tables: Any
) -> bool:
    """Fill terms (S, n_test, n_samples) as short integers, (S, n_samples, n_test).

    As `whole_terms` of ``algebra/_screen.py`` does where classes are balanced, but with
    the whole range of short integers: a sum of ``n_most`` numbers is no larger than so
    many times the largest, nor than its root times the length of the row. ``trained``
    (n_test, n_samples) is 1 where a sample trains, else 0; sums of terms as they are
    have ``max_units`` at most. False if a number is none.
    """
    n_regions, n_test, n_samples = terms.shape
    rest, is_number = np.empty(n_samples), True
    for region in range(n_regions):
        for i in range(n_test):
            row, largest = terms[region, i], 0.0
            common = row.sum() / trained[i].sum()
            most = square = 0.0
            for j in range(n_samples):
                rest[j] = row[j] - common * trained[i, j]
                largest, most = max(largest, abs(row[j])), max(most, abs(rest[j]))
                square += rest[j] * rest[j]
            is_number &= np.isfinite(square)
            unit = min(n_most * most, np.sqrt(n_most * square)) / (LARGEST - n_most)
            unit = max(unit, n_most * largest / max_units, _LEAST_UNIT)
            for j in range(n_samples):
                tables[region, j, i] = np.int16(np.rint(rest[j] / unit))
    return is_number


@_compile
def _fill_region(
    terms: Any,
    groups: Any,
    labelings: Any,
    slack: int,
    precision: Any,
    work: Any,
    out: Any,
) -> None:
    """Fill the shares (B,) of a region whose table lies in the blocks of ``work``."""
    n_test, whole = len(terms), np.zeros(1, np.int64)
    own = np.empty(n_test, np.int64)
    for g in range(len(groups.codes)):
        fill_short_sums(groups, g, work)
        fill_leads(groups, g, whole, slack, work)
        for b in range(min(LANES, len(out) - g * LANES)):
            labeling, n_sure = g * LANES + b, work.counts[0, b]
            truth, weights = labelings.truth[labeling], labelings.weights[labeling]
            if n_sure == work.counts[1, b] and len(weights) == 0:
                out[labeling] = n_sure
                continue
            sums = work.sums[:n_test, :, b].T
            for i in range(n_test):
                own[i] = sums[truth[i], i]
            members, edges = labelings.members[labeling], labelings.edges[labeling]
            of_labeling = members, edges, truth, weights
            found = sums, own, work.lead[:, b]
            out[labeling] = _share_of_close(terms, of_labeling, found, slack, precision)


@_compile
def fill_shares_side_by_side(
    terms: Any, screen: Any, labelings: Any, precision: Any, work: Any, out: Any
) -> None:
    """Fill the shares (S, B) of regions, many labelings side by side.

    As `fill_screened_shares` does, of short integers: ``screen`` has tables and the
    lead in units that is sure, and ``labelings`` are in groups and sorted.
    """
    tables, slack = screen
    groups, by_class = labelings
    for region in range(len(terms)):
        fill_short_blocks(tables[region], work.blocks)
        shares = out[region]
        _fill_region(terms[region], groups, by_class, slack, precision, work, shares)
