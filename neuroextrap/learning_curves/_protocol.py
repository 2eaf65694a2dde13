"""Label schemes of the same scans, and the protocol of Kjems et al. 2002."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from neuroextrap.design._folds import counts_of
from neuroextrap.learning_curves._curve import information_learning_curve
from neuroextrap.learning_curves._curve_run import balanced_scans, scale_scans
from neuroextrap.models._canonical_space import check_priors
from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.stats._label_checks import (
    check_labels,
    checked_entries,
    plain_types_checked,
)
from neuroextrap.stats._validation import (
    check_choice,
    check_integer,
    check_level,
    random_generator,
    real_array,
)


def binary_gaussian_information(separation):
    """Return the bits that a Gaussian tells about a fair label, by means in SD."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    # log odds of the true class are Gaussian with mean d^2 / 2 and variance d^2
    log_odds = 0.5 * separation**2 + separation * nodes
    return float(1 - weights @ np.logaddexp(0, -log_odds) / np.log(2))


@plain_types_checked
def simulate_hierarchical_scans(
    *,
    n_subjects: int = 18,
    n_repeats: int = 1,
    n_features: int = 500,
    coarse_separation: float = 6.0,
    fine_separation: float = 4.0,
    subject_spread: float = 2.0,
    random_state: Any = 0,
) -> Any:
    """Simulate scans of four states: two conditions, each early or late.

    The class means form a rectangle: the conditions lie ``coarse_separation`` noise
    standard deviations apart along a random pattern in the first tenth of the voxels,
    early and late ``fine_separation`` along one in the second tenth. A two-label model
    (conditions) cannot see the second; a four-label model must learn twice as much,
    and needs more subjects to pay off.

    Parameters
    ----------
    n_subjects : int, default=18
        Number of subjects.
    n_repeats : int, default=1
        Scans of each of the four states in each subject.
    n_features : int, default=500
        Number of voxels, at least 2, each with independent noise of unit variance.
    coarse_separation : float, default=6.0
        Distance of the conditions' means in noise standard deviations.
    fine_separation : float, default=4.0
        Distance of the early and late means in noise standard deviations.
    subject_spread : float, default=2.0
        Standard deviation of each subject's own mean scan.
    random_state : None, int or Generator, default=0
        Seed of the simulation.

    Returns
    -------
    sklearn.utils.Bunch
        - ``X``: (n_samples, n_features)
        - ``coarse``, ``fine``: (n_samples,), two and four labels
        - ``groups``: (n_samples,), subjects
        - ``coarse_information``, ``fine_information``: bits that one scan, its
          subject's mean removed, tells about the labels when the true distribution
          is known

    Notes
    -----
    Removing the mean of a subject's m scans leaves the distances of the (balanced)
    class means as they are and the noise variance 1 - 1/m in every direction.

    Examples
    --------
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=3)
    >>> data.X.shape, sorted(set(data.fine.tolist()))
    ((12, 500), ['A1', 'A2', 'B1', 'B2'])
    >>> data.coarse_information, data.fine_information
    (0.999, 1.958)
    """
    sizes = {"n_subjects": n_subjects, "n_repeats": n_repeats, "n_features": n_features}
    for name, value in sizes.items():
        check_integer(value, name, minimum=1)
    rng = random_generator(random_state)
    axes = _two_patterns(n_features, rng)
    states = np.tile(np.repeat(np.arange(4), n_repeats), n_subjects)
    groups = np.repeat(np.arange(n_subjects), 4 * n_repeats)
    signs = np.stack([2 * (states // 2) - 1, 2 * (states % 2) - 1], axis=1)
    offsets = 0.5 * signs * np.array([coarse_separation, fine_separation])
    X = rng.standard_normal((len(states), n_features)) + offsets @ axes.T
    X += subject_spread * rng.standard_normal((n_subjects, n_features))[groups]
    noise = np.sqrt(1 - 1 / (4 * n_repeats))
    coarse = binary_gaussian_information(coarse_separation / noise)
    fine = coarse + binary_gaussian_information(fine_separation / noise)
    return Bunch(
        X=X,
        coarse=np.array(["A", "B"])[states // 2],
        fine=np.array(["A1", "A2", "B1", "B2"])[states],
        groups=groups,
        coarse_information=coarse,
        fine_information=fine,
    )


def _two_patterns(n_features, rng):
    """Return two orthonormal patterns that share no voxel, shape (n_features, 2)."""
    width = max(1, n_features // 10)
    axes = np.zeros((n_features, 2))
    for i in range(2):
        weights = rng.standard_normal(width)
        axes[i * width : (i + 1) * width, i] = weights / np.linalg.norm(weights)
    return axes


def agnostic_labels(groups):
    """Label every scan by its place within its subject: 0, 1, 2, ..."""
    groups = np.asarray(groups)
    return pd.Series(groups).groupby(groups).cumcount().to_numpy()


def _coarse_of_fine(fine, coarse):
    """Return the column of the coarse label that every sorted fine label belongs to."""
    fine, coarse = check_labels(fine, "fine"), check_labels(coarse, "coarse")
    fine_names, fine_codes = np.unique(fine, return_inverse=True)
    coarse_names, coarse_codes = np.unique(coarse, return_inverse=True)
    if len(fine_codes) != len(coarse_codes):
        raise ValueError("fine and coarse must hold labels of the same samples")
    table = counts_of(fine_codes, coarse_codes) > 0
    split = table.sum(axis=1) > 1
    if split.any():
        raise ValueError(
            f"the fine label {fine_names[split].tolist()[0]!r} belongs to several "
            f"coarse labels ({coarse_names[table[split][0]].tolist()}); give "
            "nested schemes"
        )
    return np.argmax(table, axis=1)


def fine_probabilities(
    probabilities: ArrayLike, fine: ArrayLike, coarse: ArrayLike, fine_priors: ArrayLike
) -> np.ndarray:
    """Translate predictions of coarse labels into predictions of fine labels.

    Each coarse label's probability is divided among its fine labels in proportion to
    their priors, which leaves the information unchanged: models of different label
    schemes can be compared in bits.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_coarse)
        Predicted p(coarse|x).
    fine, coarse : array-like of shape (n,)
        Fine and coarse labels of the same scans (or each fine label once, beside its
        coarse one). Columns of probabilities are in the order of the sorted labels.
    fine_priors : array-like of shape (n_fine,)
        Known probabilities of the sorted fine labels.

    Returns
    -------
    ndarray of shape (n_samples, n_fine)
        ``p(coarse|x) p(fine) / p(coarse)``.

    Raises
    ------
    ValueError
        If a fine label belongs to two coarse ones, labels are not those of the
        columns, or priors are no probabilities.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eq. 13 (which spreads evenly: the same thing
    for equal fine priors only).

    Examples
    --------
    >>> from neuroextrap.learning_curves import fine_probabilities
    >>> fine = ["a1", "a2", "b1", "b2"]
    >>> fine_probabilities([[0.8, 0.2]], fine, ["a", "a", "b", "b"], [0.25] * 4)
    array([[0.4, 0.4, 0.1, 0.1]])
    """
    probabilities = np.atleast_1d(real_array(probabilities, "probabilities"))
    mapping, n_coarse = _coarse_of_fine(fine, coarse), probabilities.shape[-1]
    priors = check_priors(fine_priors, len(mapping), "fine_priors")
    if mapping.max() + 1 != n_coarse:
        raise ValueError(
            f"coarse must hold one label for each of the {n_coarse} columns of "
            f"probabilities, got {mapping.max() + 1}; give labels of all of them"
        )
    coarse_priors = np.bincount(mapping, weights=priors)
    return probabilities[..., mapping] * (priors / coarse_priors[mapping])


def protocol_setups(y, groups, *, per_label=2):
    """Choose scans (rows), labels and n_components of the four setups (table 1)."""
    groups = check_labels(groups, "groups")
    y = checked_entries(check_labels(y, "y"), "y", groups, "groups")
    check_integer(per_label, "per_label", minimum=1)
    states = len(np.unique(y))
    rows = balanced_scans(y, groups, per_label=per_label)
    few = {"rows": rows, "n_components": per_label * states}
    every = {"rows": np.arange(len(y)), "labels": agnostic_labels(groups)}
    n_scans = int(np.unique(groups, return_counts=True)[1].min())
    name = f"{'two' if states == 2 else states} labels, balanced"
    return [
        Bunch(**few, name=name, labels=y[rows]),
        Bunch(**few, name="agnostic, balanced", labels=agnostic_labels(groups[rows])),
        Bunch(**few | every, name="agnostic, all scans, few components"),
        Bunch(
            **every, name="agnostic, all scans, all components", n_components=n_scans
        ),
    ]


def protocol_learning_curves(
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike,
    *,
    scale: str | None = "mean",
    per_label: int = 2,
    significance_level: float | None = None,
    **options: Any,
) -> dict:
    """Compute the learning curves of the four setups of Kjems et al. 2002.

    Each scan is divided by its mean over the voxels, the subject's mean scan over
    the chosen scans is removed, and canonical variates are trained with the labels
    and components of each setup.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Scans, in the order in which they were made within each subject.
    y : array-like of shape (n_samples,)
        State of every scan.
    groups : array-like of shape (n_samples,)
        Subject of every scan.
    scale : {"mean", None}, default="mean"
        None for scans whose mean is not positive (contrasts, centered data).
    per_label : int, default=2
        Scans of each state in the balanced subset.
    significance_level : float or None, default=None
        Keep only canonical directions significant at this level. If None, keep all.
    **options : dict
        Further options of :func:`information_learning_curve`. As in the paper,
        predictions are not regularized and curves start at two training subjects,
        unless ``prior_weight`` and ``train_sizes`` are given.

    Returns
    -------
    dict of str to sklearn.utils.Bunch
        Curve of each setup. With few training subjects, components are lowered to
        what the scans support, with a warning (see ``n_components`` of the curve).

    Raises
    ------
    ValueError
        For a subject with too few scans of a state, and for input that
        :func:`information_learning_curve` refuses.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, table 1 and figure 4.

    Examples
    --------
    >>> from neuroextrap.learning_curves import protocol_learning_curves
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=6, n_repeats=2)
    >>> options = {"scale": None, "train_sizes": [5], "n_splits": 4, "pattern": None}
    >>> curves = protocol_learning_curves(data.X, data.coarse, data.groups, **options)
    >>> [len(curve.classes) for curve in curves.values()]
    [2, 4, 8, 8]
    """
    check_choice(scale, "scale", ("mean", None))
    X = real_array(X, "X")
    X = scale_scans(X) if scale == "mean" else X
    groups = check_labels(groups, "groups")
    if X.ndim != 2 or len(X) != len(groups):
        raise ValueError(
            f"X of shape {X.shape} must have a row for each of {len(groups)} groups"
        )
    if significance_level is not None:
        check_level(significance_level, "significance_level")
    curves = {}
    n_groups = len(np.unique(groups))
    published = {"prior_weight": None, "train_sizes": np.arange(2, n_groups)}
    options = {**published, **options}
    for setup in protocol_setups(y, groups, per_label=per_label):
        model = CanonicalVariates(
            setup.n_components, significance_level=significance_level
        )
        curves[setup.name] = information_learning_curve(
            X[setup.rows],
            setup.labels,
            groups[setup.rows],
            classifier=model,
            **options,
        )
    return curves
