"""Identification against the number of voxels, or of stimulus features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.encoding._margins import (
    mahalanobis_margins,
    response_covariance,
    separate_repeats,
)
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    check_feature_names,
    check_features,
    feature_names,
)
from neuroextrap.encoding._stimulus_features import stimulus_numbers, training_groups
from neuroextrap.encoding._training import (
    chosen_encoder,
    encoder_of_columns,
    train_encoder,
)
from neuroextrap.maps._identification import accuracy_statistics
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._label_checks import plain_types_checked
from neuroextrap.stats._validation import check_choice, check_numbers, random_generator


class EnsembleCurve(NamedTuple):
    """Identification for random subsets of several sizes."""

    sizes: np.ndarray  # voxels or features in a subset of shape (n_sizes,)
    accuracy: np.ndarray  # among all test stimuli of shape (n_sizes, n_draws)
    information: np.ndarray  # implied information in bits of shape (n_sizes, n_draws)


@plain_types_checked
def ensemble_size_curve(  # noqa: PLR0913
    train: tuple,
    test: tuple,
    *,
    sizes: Any,
    vary: str = "voxels",
    encoder: Any = None,
    groups: ArrayLike | None = None,
    n_draws: int = 10,
    random_state: Any = 0,
) -> Any:
    """Identify test stimuli from random subsets of voxels or of features.

    Parameters
    ----------
    train : tuple of (features, responses)
        Arrays of shapes (n_samples, n_columns) and (n_samples, n_voxels).
    test : tuple of (features, responses)
        The same for stimuli that were not trained on, one response each.
    sizes : sequence of int
        Sizes of the subsets.
    vary : {"voxels", "features"}, default="voxels"
        Whether voxels or features are drawn. Subsets of features refit the encoder.
    encoder : scikit-learn multi-output regressor or None, default=None
        Model that predicts responses. If None, that of
        :class:`EncodingIdentification`.
    groups : array-like of shape (n_samples,) or None, default=None
        Training stimuli or runs that cross-validation keeps together. If None, repeats
        of a stimulus (equal rows of features) are.
    n_draws : int, default=10
        Number of subsets of each size, drawn without replacement.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the draws.

    Returns
    -------
    curve : EnsembleCurve
        Named tuple of ``sizes``, and of ``accuracy`` among all test stimuli
        (proportions) and implied ``information`` (bits), both of shape (n_sizes,
        n_draws).

    Raises
    ------
    ValueError
        When a size is out of range, `vary` unknown, or `n_draws` below one.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error" (implied information).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X, W = rng.normal(size=(100, 5)), rng.normal(size=(5, 30))
    >>> Y = X @ W + 2 * rng.normal(size=(100, 30))
    >>> train, test = (X[:60], Y[:60]), (X[60:], Y[60:])
    >>> curve = ensemble_size_curve(train, test, sizes=[2, 30], encoder=Ridge())
    >>> bool(curve.accuracy[1].mean() > curve.accuracy[0].mean())
    True
    """
    check_choice(vary, "vary", ("voxels", "features"))
    for name, pair in (("train", train), ("test", test)):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{name} must be a pair (features, responses)")
    X = check_features(train[0], "train: features")
    Y = check_numbers(train[1], "train: responses")
    # repeats are equal rows of all features: few of them may be equal by chance
    stimuli = stimulus_numbers(X)
    groups, _ = training_groups(stimuli, groups)
    encoder, _ = chosen_encoder(encoder, stimuli.max() + 1)
    check_feature_names(test[0], feature_names(train[0]), "test features")
    X_test = check_features(test[0], "test: features", X.shape[1])
    most = (Y if vary == "voxels" else X).shape[1]
    sizes = _check_sizes(sizes, most, n_draws)
    rng = random_generator(random_state)
    drawn = [
        rng.choice(most, size, replace=False) for size in sizes for _ in range(n_draws)
    ]
    data = X, Y, X_test, np.asarray(test[1])
    wins = _wins(data, encoder, groups, stimuli, **{vary: drawn})
    n, shape = len(X_test), (len(sizes), n_draws)
    statistics = accuracy_statistics(wins, n_test=n, set_sizes=default_set_sizes(n))
    names = ("accuracy", "implied_information")
    return EnsembleCurve(sizes, *(statistics[name].reshape(shape) for name in names))


def _check_sizes(sizes, most, n_draws):
    """Sizes as integers in range."""
    sizes = np.atleast_1d(check_numbers(sizes, "sizes"))
    good = sizes.dtype.kind in "ui" and sizes.size and sizes.min() >= 1
    if not good or sizes.max() > most or n_draws < 1:
        raise ValueError(
            f"sizes must be integers from 1 to {most} and n_draws at least 1, got "
            f"{sizes.tolist()} and {n_draws}"
        )
    return sizes


def _wins(data, encoder, groups, stimuli, *, voxels=None, features=(None,)):
    """Return win distributions (n_drawn, n_test) by subsets of voxels or features."""
    wins, (X, Y, X_test, Y_test) = [], data
    for columns in features:
        if columns is not None:
            X, X_test = data[0][:, columns], data[2][:, columns]
        own = encoder if columns is None else encoder_of_columns(encoder, columns)
        scaling = FeatureScaling.of(X, standardize=True)
        own = encoder_of_columns(own, scaling.kept)
        fitted, residuals = train_encoder(own, scaling(X), Y, groups=groups)
        residuals, n_stimuli = separate_repeats(residuals, stimuli)
        predicted = fitted.predict(scaling(X_test)).reshape(len(X_test), -1)
        for some in [slice(None)] if voxels is None else voxels:
            sigma = response_covariance(residuals[:, some], n_stimuli, 1)
            margins = mahalanobis_margins(Y_test[:, some], predicted[:, some], sigma)
            wins.append(stats.win_distribution(margins, np.arange(len(margins))))
    return np.array(wins)
