"""How much test noise a design carries: repeats per class, folds, confidence."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._validation import FloatArray, check_integer, check_level


class Design(NamedTuple):
    """What a lower bound needs to know about an experiment."""

    n_classes: int
    noise: float  # mean of 1/r_i, or s**2 over folds
    smallest: float  # effective least number of repeats
    alpha: float  # 1 - confidence level
    n_bounds: int  # bounds that hold together, models included
    n_models: int


def check_design(
    n_classes: int,
    n_repeats: ArrayLike,
    fold_weights: ArrayLike | None,
    confidence_level: float,
    *,
    n_models: int,
    n_regions: int,
    n_set_sizes: int = 1,
) -> Design:
    """Check the shared arguments of the bounds and gather them."""
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    alpha = 1 - check_level(confidence_level, "confidence_level")
    n_models = check_integer(n_models, "n_models", minimum=1)
    n_bounds = n_models * check_integer(n_regions, "n_regions", minimum=1)
    n_bounds *= check_integer(n_set_sizes, "n_set_sizes", minimum=1)
    noise, smallest = _test_noise(n_repeats, n_classes, fold_weights)
    return Design(n_classes, noise, smallest, alpha, n_bounds, n_models)


def _test_noise(
    n_repeats: ArrayLike, n_classes: int, fold_weights: ArrayLike | None
) -> tuple[float, float]:
    """Return s**2 (mean of 1/r_i without folds) and the least repeats."""
    repeats = np.asarray(n_repeats, dtype=np.float64)
    if repeats.ndim > 2 or (repeats.ndim and repeats.shape[-1] != n_classes):
        raise ValueError(
            "n_repeats must be a number, one number per class, or one row per fold "
            f"(n_folds, {n_classes}); got shape {repeats.shape}"
        )
    if not np.isfinite(repeats).all() or (repeats < 1).any():
        raise ValueError(
            "n_repeats must be at least 1 for every class (in every fold); got "
            f"{repeats.min()}: no bound holds when a fold lacks a class, use folds "
            "that test every class"
        )
    if repeats.ndim < 2:
        if fold_weights is not None:
            raise ValueError(
                "fold_weights needs n_repeats of shape (n_folds, n_classes); "
                f"got shape {repeats.shape}"
            )
        return float(np.mean(1 / repeats)), float(repeats.min())
    weights = _check_fold_weights(fold_weights, repeats)
    noise = weights @ np.sqrt((1 / repeats).mean(axis=-1))
    return float(noise**2), float(repeats.min())


def _check_fold_weights(
    fold_weights: ArrayLike | None, repeats: FloatArray
) -> FloatArray:
    """Return one weight a fold, summing to one; the folds' sizes by default."""
    if fold_weights is None:
        return repeats.sum(axis=-1) / repeats.sum()
    weights = np.asarray(fold_weights, dtype=np.float64)
    if weights.shape != repeats.shape[:1]:
        raise ValueError(
            f"fold_weights must have one weight per fold ({len(repeats)}); "
            f"got shape {weights.shape}"
        )
    if not (weights >= 0).all() or not math.isclose(weights.sum(), 1):
        raise ValueError(f"fold_weights must be >= 0 and sum to 1; got {weights}")
    return weights
