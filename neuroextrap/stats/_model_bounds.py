"""The best of several fitted models, with the correction for choosing it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._bounds import average_bayes_accuracy_lower_bound
from neuroextrap.stats._validation import FloatArray


def best_model_lower_bound(  # noqa: PLR0913
    accuracy: ArrayLike,
    *,
    n_classes: int,
    n_repeats: ArrayLike,
    set_sizes: ArrayLike,
    confidence_level: float = 0.95,
    method: str = "subgaussian",
    n_regions: int = 1,
    n_set_sizes: int = 1,
    fold_weights: ArrayLike | None = None,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Bound average Bayes accuracy by the best of models tested on the same points.

    No model beats the Bayes classifier, so the bound of every model holds, and
    with ``n_models`` counted in the confidence the largest of them does. Choose
    the model that tests best and pay only for the choice.

    Parameters
    ----------
    accuracy : array of shape (n_models, ..., n_sizes), or (n_models, ...)
        Accuracy curve of each fitted model on the same test points.
    n_classes : int
        Number of classes K in the data.
    n_repeats : float, array (n_classes,) or array (n_folds, n_classes)
        Test points per class, see :func:`average_bayes_accuracy_lower_bound`.
    set_sizes : int or array of int, shape (n_sizes,)
        Sizes k of 2..n_classes.
    confidence_level : float, default=0.95
        Confidence of the best bound.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        Which bound.
    n_regions : int, default=1
        Number of regions whose bounds shall hold together.
    n_set_sizes : int, default=1
        Number of set sizes whose bounds shall hold together.
    fold_weights : array of shape (n_folds,), default=None
        Weights of the folds.

    Returns
    -------
    bound : array of shape (..., n_sizes) or (...)
        Never below 1/k; information follows by :func:`min_information`.
    model : array of int, of the same shape
        The (first) model that tests best there.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_bayes_accuracy_lower_bound`.
    ValueError
        If there is no axis of models, or it is empty.

    References
    ----------
    Zheng 2017, thesis, section 2.5 (log(4 l / alpha) for l models).

    Examples
    --------
    >>> bound, model = best_model_lower_bound(
    ...     [0.7, 0.9, 0.8], n_classes=100, n_repeats=1, set_sizes=100
    ... )
    >>> float(bound.round(3)), int(model)
    (0.698, 1)
    """
    models = np.asarray(accuracy, dtype=np.float64)
    sized = np.ndim(set_sizes) > 0
    if models.ndim < 1 + sized or len(models) == 0:
        raise ValueError(
            "accuracy must have shape (n_models, ..., n_sizes) with at least one "
            f"model; got {models.shape}"
        )
    bounds = average_bayes_accuracy_lower_bound(
        models,
        n_classes=n_classes,
        n_repeats=n_repeats,
        set_sizes=set_sizes,
        confidence_level=confidence_level,
        method=method,
        n_models=len(models),
        n_regions=n_regions,
        n_set_sizes=n_set_sizes,
        fold_weights=fold_weights,
    )
    return np.asarray(bounds.max(axis=0)), np.asarray(models.argmax(axis=0))
