"""Which classes test points are taken for, as tables of true and other classes."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from scipy.stats import rankdata

from neuroextrap.margins._engine import map_parts
from neuroextrap.margins._plan import Plan, TaskData
from neuroextrap.margins._task import observed_margins
from neuroextrap.margins._wins import NAN_MARGINS


def choice_tables(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    rows: np.ndarray,
    weights: np.ndarray,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (regions, tables) under the observed labeling, part by part.

    ``rows`` are indices of regions, none of them empty. Tables have shape (n_regions,
    2, n_sets, K, K). Entry [c, d] of the first is what test points of class c that were
    assigned to class d weigh together; those with several best classes are shared
    equally. That of the second is what they weigh times the share of other classes with
    a smaller margin than class d (half of those with the same). ``weights`` (n_sets,
    n_test) are in the order of ``plan.design.test``. ``n_jobs`` threads do not affect
    results.
    """
    codes, n_classes = plan.codes[0][plan.design.test], plan.design.n_classes
    is_class = np.arange(n_classes)[:, np.newaxis] == codes
    by_class = (weights[:, np.newaxis] * is_class).reshape(-1, len(codes))
    given = regions, plan, rows, by_class
    for part, tables in map_parts(_tables, X, *given, n_jobs=n_jobs):
        shape = len(tables), 2, len(weights), n_classes, n_classes
        yield rows[part], tables.reshape(shape)


def _tables(plan: Plan, data: TaskData, by_class: np.ndarray) -> np.ndarray:
    """Return both tables of some regions, (n_regions, 2, n_sets * K, K)."""
    tables = np.empty((data.n_regions, 2, len(by_class), plan.design.n_classes))
    for part, margins in observed_margins(plan, data):
        if np.isnan(margins.min()):
            raise ValueError(NAN_MARGINS)
        best = margins == margins.max(axis=1, keepdims=True)
        chosen = best / best.sum(axis=1, keepdims=True)
        beaten = (rankdata(margins, axis=1) - 1) / (plan.design.n_classes - 1)
        for kind, shares in enumerate((chosen, beaten)):
            tables[part, kind] = np.moveaxis(np.tensordot(by_class, shares, 1), 2, 0)
    return tables
