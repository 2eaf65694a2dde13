"""Learning curves as tidy tables."""

import numpy as np

_OVERFIT = (
    "negative information although the error is below the baseline: overfitting "
    "(too sure when wrong)"
)


def learning_curve_table(curve):
    """Make a table of mean and spread of a learning curve, one row per size.

    Parameters
    ----------
    curve : Bunch
        Result of :func:`information_learning_curve`.

    Returns
    -------
    pandas.DataFrame
        Columns train_size, information, information_spread (bits), error_rate,
        error_rate_spread, baseline_error_rate, reproducibility,
        reproducibility_spread (empty above half of the subjects), n_components,
        prior_weight and note, which explains negative information where the error
        is below the baseline. Spreads are standard deviations over splits.

    Examples
    --------
    >>> from neuroextrap.learning_curves import (
    ...     information_learning_curve,
    ...     learning_curve_table,
    ...     simulate_hierarchical_scans,
    ... )
    >>> data = simulate_hierarchical_scans(n_subjects=6)
    >>> curve = information_learning_curve(
    ...     data.X, data.coarse, data.groups, n_splits=5, pattern=None
    ... )
    >>> learning_curve_table(curve).train_size.tolist()
    [3, 4, 5]
    """
    import pandas as pd

    if not hasattr(curve, "information"):
        raise TypeError(
            f"curve must come from information_learning_curve, got "
            f"{type(curve).__name__}; give its result"
        )
    information = curve.information.mean(axis=1)
    error, baseline = (
        curve.error_rate.mean(axis=1),
        curve.baseline_error_rate.mean(axis=1),
    )
    overfitted = (information < 0) & (error < baseline)
    return pd.DataFrame(
        {
            "train_size": curve.train_sizes,
            "information": information,
            "information_spread": _spread(curve.information),
            "error_rate": error,
            "error_rate_spread": _spread(curve.error_rate),
            "baseline_error_rate": baseline,
            "reproducibility": curve.reproducibility.mean(axis=1),
            "reproducibility_spread": _spread(curve.reproducibility),
            "n_components": curve.n_components.mean(axis=1),
            "prior_weight": curve.prior_weight.mean(axis=1),
            "note": np.where(overfitted, _OVERFIT, ""),
        }
    )


def _spread(values):
    """Return the spread over splits; NaN for one split or infinite values."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    finite = np.isfinite(values).all(axis=1)
    spread = np.full(len(values), np.nan)
    spread[finite] = values[finite].std(axis=1, ddof=1)
    return spread
