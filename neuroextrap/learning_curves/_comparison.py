"""Comparison of learning curves: which model wins where, and what limits each."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from neuroextrap.analysis._region_maps import stacked_tables
from neuroextrap.plotting._learning_curves import check_curve, check_curves, overfits
from neuroextrap.stats._validation import check_number

_FEWEST_SIZES = 3  # of a curve whose limit can be told
_COLUMNS = {
    "information": True,
    "error_rate": True,
    "baseline_error_rate": False,
    "reproducibility": True,
    "n_components": False,
    "prior_weight": False,
}
"""What a table of a curve shows, and whether also its spread."""
_OVERFIT = (
    "negative information although the error is below the baseline: overfitting "
    "(overconfident when wrong)"
)


def _corrected_error(values, n_train, n_groups):
    """Return the standard error of a mean over splits (..., n_splits) of subjects.

    By 1/n_splits + n_test/n_train (Nadeau & Bengio), at least as if half of them train.
    """
    n_splits = values.shape[-1]
    inflation = 1 / n_splits + np.maximum(1, (n_groups - n_train) / n_train)
    return values.std(axis=-1, ddof=1) * np.sqrt(inflation)


def compare_learning_curves(curves: dict, *, threshold: float = 2.0) -> Any:
    """Find the better model at every training size, and where curves cross.

    Parameters
    ----------
    curves : dict of str to Bunch
        Results of :func:`information_learning_curve` on the same scans with the same
        seed and ``n_splits``. They are compared at the training sizes that all of them
        have. Label schemes may differ: information in bits is comparable across nested
        ones.
    threshold : float, default=2.0
        A lead is decided when it exceeds this many corrected standard errors.

    Returns
    -------
    sklearn.utils.Bunch
        - ``train_sizes``: (n_sizes,), those of all curves
        - ``best``: list of str, name of the model with most information at each size
        - ``lead``: (n_sizes,), bits by which it leads the second
        - ``share``: (n_sizes,), share of the splits in which it leads the second
        - ``standard_error``: (n_sizes,), of the lead, split by split, corrected for
          shared subjects (where more than half train, as if half did); too large rather
          than too small where few subjects train
        - ``decided``: (n_sizes,), whether the lead exceeds the threshold
        - ``crossings``: list of dict with ``between`` (two sizes), ``before``,
          ``after`` (names) and ``decided`` (whether both of the two models lead
          the other by the threshold somewhere on their side of the crossing)
        - ``limited_by``: dict of name to what :func:`limiting_factor` says, or None
          for a curve of fewer than three sizes

    Raises
    ------
    ValueError
        For fewer than two curves or splits, curves without a common size, curves of
        different numbers of splits or groups, or infinite information.

    Notes
    -----
    A flexible model that loses with few subjects and wins with many pays for its
    variance at first: the best model depends on how much data there are.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, "Results and discussion"; Nadeau & Bengio 2003,
    Machine Learning 52 (correction of the standard error).

    Examples
    --------
    >>> from neuroextrap.learning_curves import compare_learning_curves
    >>> from neuroextrap.learning_curves import information_learning_curve
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=10)
    >>> options = {"train_sizes": [3, 9], "n_splits": 8, "pattern": None}
    >>> curves = {
    ...     name: information_learning_curve(data.X, data[name], data.groups, **options)
    ...     for name in ("coarse", "fine")
    ... }
    >>> compare_learning_curves(curves).best[0]
    'coarse'
    """
    threshold = check_number(threshold, "threshold")
    curves = check_curves(curves)
    sizes = _check_curves(curves)
    names = list(curves)
    first = curves[names[0]]
    kept = [c.information[np.isin(c.train_sizes, sizes)] for c in curves.values()]
    values = np.stack(kept)
    order = np.argsort(-values.mean(axis=2), axis=0, kind="stable")
    at = np.arange(len(sizes))
    gaps = values[order[0], at] - values[order[1], at]
    errors = _corrected_error(gaps, sizes, first.n_groups)
    lead = gaps.mean(axis=1)
    return Bunch(
        train_sizes=sizes,
        best=[names[i] for i in order[0]],
        lead=lead,
        share=np.mean(gaps > 0, axis=1),
        standard_error=errors,
        decided=lead > threshold * errors,
        crossings=_crossings(names, values, order[0], sizes, first.n_groups, threshold),
        limited_by={name: known_limit(curves[name]) for name in names},
    )


def _check_curves(curves):
    """Return the sizes that all have of two or more finite curves of equal splits."""
    if len(curves) < 2:
        raise ValueError(
            f"curves must hold at least 2 curves, got {len(curves)}; add one "
            "to compare with"
        )
    first_name, first = next(iter(curves.items()))
    design = first.information.shape[1], first.n_groups
    for name, curve in curves.items():
        if (curve.information.shape[1], curve.n_groups) != design:
            raise ValueError(
                f"curves {first_name!r} and {name!r} differ in n_splits or number of "
                "groups; compute both with the same"
            )
    sizes = reduce(np.intersect1d, [curve.train_sizes for curve in curves.values()])
    if not len(sizes):
        raise ValueError(
            "curves have no training size in common; compute them with the same "
            "train_sizes"
        )
    _check_splits(first, "curves")
    for name, curve in curves.items():
        if not np.isfinite(curve.information).all():
            raise ValueError(
                f"curve {name!r} holds infinite information; regularize it with "
                "prior_weight"
            )
    return sizes


def _check_splits(curve, name, n_fewest=1):
    """Raise ValueError if a curve has too few sizes, or rests on a single split."""
    if len(curve.train_sizes) < n_fewest:
        raise ValueError(
            f"{name} must have at least {n_fewest} training sizes, got "
            f"{len(curve.train_sizes)}; compute it with more train_sizes"
        )
    if curve.information.shape[1] < 2:
        raise ValueError(
            f"{name} must have at least 2 splits per size, got 1; compute with "
            "n_splits of at least 2"
        )


def _crossings(names, values, best, sizes, n_groups, threshold):
    """Return the pairs of sizes between which the best model changes."""
    crossings = []
    for i in np.flatnonzero(np.diff(best)):
        before, after = best[i], best[i + 1]
        gaps = values[before] - values[after]
        error = np.maximum(_corrected_error(gaps, sizes, n_groups), 1e-300)
        first, last = np.split(gaps.mean(axis=1) / error, [i + 1])
        crossings.append(
            {
                "between": (int(sizes[i]), int(sizes[i + 1])),
                "before": names[before],
                "after": names[after],
                "decided": bool(first.max() > threshold and last.min() < -threshold),
            }
        )
    return crossings


def known_limit(curve):
    """Return the limiting factor of a curve, None with too few sizes or one split."""
    few = len(curve.train_sizes) < _FEWEST_SIZES or curve.information.shape[1] < 2
    return None if few else limiting_factor(curve)


def limiting_factor(
    curve: Any, *, tolerance: float = 0.03, threshold: float = 2.0
) -> str:
    """Decide whether more subjects or a more flexible model would help.

    Parameters
    ----------
    curve : Bunch
        Result of :func:`information_learning_curve` over at least three sizes.
    tolerance : float, default=0.03
        Bits per doubling of the number of subjects below which the curve is flat, and
        bits below the label entropy at which nothing is left to gain.
    threshold : float, default=2.0
        Corrected standard errors by which information must exceed 0 at some training
        size. The error is that of :func:`compare_learning_curves`.

    Returns
    -------
    {"nothing yet", "label entropy", "variance", "bias"}
        "nothing yet" where information exceeds 0 by ``threshold`` errors at no
        training size: curves of noise rise as well, towards 0, so that nothing can be
        said of what more subjects would do. "label entropy" where the curve ends
        within ``tolerance`` of the most there is: only other labels can tell more.
        "variance" while its upper half still rises by more than ``tolerance`` per
        doubling, or ends negative (overfitting): more subjects help. "bias" when it is
        flat: only another model can do better. The last two are a rule of thumb, not a
        test.

    Raises
    ------
    ValueError
        For fewer than three training sizes, or a single split.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, "Results and discussion".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.utils import Bunch
    >>> from neuroextrap.learning_curves import limiting_factor
    >>> sizes = np.array([2, 4, 8, 16])
    >>> flat = Bunch(train_sizes=sizes, information=np.full((4, 5), 0.7))
    >>> flat.n_groups, flat.label_entropy = 17, 1.0
    >>> limiting_factor(flat)
    'bias'
    """
    check_curve(curve)
    tolerance = check_number(tolerance, "tolerance")
    threshold = check_number(threshold, "threshold")
    sizes, means = curve.train_sizes, curve.information.mean(axis=1)
    _check_splits(curve, "curve", _FEWEST_SIZES)
    with np.errstate(invalid="ignore"):  # minus infinity is not above 0
        error = _corrected_error(curve.information, sizes, curve.n_groups)
    if not (means > threshold * error).any():
        return "nothing yet"
    if means[-1] >= curve.label_entropy - tolerance:
        return "label entropy"
    upper = slice(min(len(sizes) // 2, len(sizes) - 3), None)
    if means[-1] <= 0 or not np.isfinite(means[upper]).all():
        return "variance"
    slope = np.polyfit(np.log2(sizes[upper]), means[upper], 1)[0]
    return "variance" if slope > tolerance else "bias"


def table_of_curves(curves: Any, column: str) -> Any:
    """Return the tables of several curves as one, with a column of their names."""
    tables = {name: learning_curve_table(curve) for name, curve in curves.items()}
    return stacked_tables(tables, column)


def learning_curve_table(curve: Any) -> Any:
    """Tabulate means and standard deviations over splits of a curve, a row a size."""
    check_curve(curve)
    table = pd.DataFrame({"train_size": curve.train_sizes})
    for name, has_spread in _COLUMNS.items():
        values = getattr(curve, name)
        table[name] = values.mean(axis=1)
        if has_spread:
            table[f"{name}_spread"] = spread_of(values)
    table["note"] = np.where(overfits(curve), _OVERFIT, "")
    return table


def spread_of(values):
    """Return the spread over splits; NaN for one split or infinite values."""
    spread, finite = np.full(len(values), np.nan), np.isfinite(values).all(axis=1)
    if values.shape[1] > 1:
        spread[finite] = values[finite].std(axis=1, ddof=1)
    return spread
