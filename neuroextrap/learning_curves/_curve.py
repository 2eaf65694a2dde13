"""The information learning curve, and the reproducibility of its maps (NPAIRS)."""

from __future__ import annotations

import logging
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from neuroextrap.learning_curves._comparison import spread_of
from neuroextrap.learning_curves._curve_run import CurveOptions, prepare_run, read_scans
from neuroextrap.learning_curves._splits import (
    check_train_sizes,
    default_train_sizes,
    evaluate_splits,
    label_entropy,
    residual_freedom,
)
from neuroextrap.models._canonical_variates import CanonicalVariates
from neuroextrap.plotting._learning_curves import overfits
from neuroextrap.stats._shared_options import as_options, described_by, takes_options
from neuroextrap.stats._validation import brief, warn

_LOG = logging.getLogger(__name__)


@takes_options(CurveOptions)
def information_learning_curve(
    X: Any, y: ArrayLike, groups: ArrayLike, **options: Any
) -> Any:
    """Estimate the information in bits about unseen subjects, by training size.

    For every training size, many random splits by subject: a classifier is trained
    on some subjects, and its predicted probabilities for the scans of all others
    are scored by ``mean log2 p(g|x) / p(g)``. One singular value decomposition
    serves all splits of canonical variates: each split decomposes the small matrix
    of its training coordinates, with the same results as from the voxels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or images
        Scans; images (4-D, list of 3-D, paths) are read through ``mask``.
    y : array-like of shape (n_samples,)
        Label of every scan.
    groups : array-like of shape (n_samples,)
        Subject (or run, or other independent unit) of every scan.

    Returns
    -------
    sklearn.utils.Bunch
        - ``train_sizes``: (n_sizes,)
        - ``information``: (n_sizes, n_splits), bits per scan
        - ``error_rate``: (n_sizes, n_splits), of the most probable label
        - ``baseline_error_rate``: (n_sizes, n_splits), of always guessing the most
          common label
        - ``confusion``: (n_sizes, n_classes, n_classes), mean predicted
          probability; a row for each true class, rows sum to one
        - ``reproducibility``: (n_sizes, n_splits), correlation over the voxels of
          the maps from disjoint halves; NaN above half of the subjects
        - ``n_components``, ``prior_weight``: (n_sizes, n_splits), in use
        - ``label_entropy``: bits, the most that information can reach
        - ``classes``, ``priors``, ``n_groups``

    Raises
    ------
    ValueError
        For shapes that do not fit, options or sizes outside their allowed values, NaN,
        training sets too small for the classes, classes that too few subjects hold.
    TypeError
        For a classifier without probabilities, or without the requested pattern.

    Notes
    -----
    *Negative information with an error rate below the baseline* means overfitting,
    not absence of signal: the right label is often on top, but the few wrong
    predictions are far too confident, and each costs ``log2`` of its tiny probability.
    More subjects, fewer components, coarser labels or ``prior_weight`` help. Where
    the mean of a size is below -1 bit (or minus the label entropy, if that is less), a
    warning says so: such values describe too few residual degrees of freedom, not the
    data.

    The spread over splits is not a standard error: splits share subjects. See
    :func:`compare_learning_curves` for a correction. Information minus infinity
    means a true label that was given probability zero.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 9-12, 16-23 and appendix A.

    Examples
    --------
    >>> from neuroextrap.learning_curves import information_learning_curve
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=8, random_state=0)
    >>> curve = information_learning_curve(
    ...     data.X, data.coarse, data.groups, train_sizes=[2, 6], n_splits=20
    ... )
    >>> curve.information.shape, curve.confusion.shape
    ((2, 20), (2, 2, 2))
    >>> bool(curve.information[1].mean() > curve.information[0].mean())
    True
    """
    chosen = as_options(CurveOptions, information_learning_curve, options)
    scans = read_scans(X, chosen.mask, memory=chosen.memory)
    run = prepare_run(scans.X, y, groups, chosen)
    _check_prior_weight(chosen.prior_weight)
    n_left_out = int(str(chosen.prior_weight) == "cross-validated")
    if chosen.train_sizes is None:
        sizes = default_train_sizes(run, n_left_out)
    else:
        sizes = check_train_sizes(chosen.train_sizes, len(run.group_names))
    _check_smallest(run, sizes[0], n_left_out)
    curve = _collect(run, sizes, evaluate_splits(run, sizes, chosen))
    _report(curve, chosen.classifier)
    _warn_of_negative(curve, run, chosen.prior_weight)
    return curve


def _check_prior_weight(weight):
    """Raise ValueError for a weight of the prior that is none."""
    number = isinstance(weight, Real) and 0 <= float(weight) <= 1
    named = isinstance(weight, str) and weight == "cross-validated"
    if weight is not None and not named and not number:
        raise ValueError(
            f"prior_weight={brief(weight)} must be a number between 0 and 1, "
            "'cross-validated' or None (no regularization)"
        )


def _check_smallest(run, size, n_left_out):
    """Raise ValueError if so few training groups leave nothing to estimate noise by."""
    largest = np.sort(np.bincount(run.groups))[::-1]
    n_train, n_classes = int(largest[: size - n_left_out].sum()), len(run.classes)
    if n_train <= n_classes:
        raise ValueError(
            f"{size} training groups"
            + (
                ", one of them left out for prior_weight='cross-validated',"
                * n_left_out
            )
            + f" hold at most {n_train} samples of {n_classes} classes, which leaves "
            "nothing to estimate the noise; use larger train_sizes or coarser labels"
            + (", or prior_weight=None" * n_left_out)
        )


def _collect(run, sizes, results):
    """Return the curve of what all splits have found, (n_sizes, n_splits, ...)."""
    counts = results.pop("counts").sum(axis=1)[:, :, None]
    sums = results.pop("probabilities").sum(axis=1)
    return Bunch(
        train_sizes=sizes,
        **results,
        confusion=sums / np.where(counts > 0, counts, np.nan),
        label_entropy=label_entropy(run.priors),
        classes=run.classes,
        priors=run.priors,
        n_groups=len(run.group_names),
    )


def _report(curve, classifier):
    """Warn of lowered components and infinite information; log overfitting."""
    canonical = isinstance(classifier, CanonicalVariates)
    wanted = classifier.n_components if canonical else None
    if wanted is not None:
        lowered = curve.train_sizes[(curve.n_components < wanted).any(axis=1)]
        if len(lowered):
            warn(
                f"n_components={wanted} was lowered at train_sizes {lowered.tolist()} "
                "to what their scans support; see the curve's n_components"
            )
    infinite = curve.train_sizes[np.isinf(curve.information).any(axis=1)]
    if len(infinite):
        warn(
            f"a true label was given probability zero at train_sizes "
            f"{infinite.tolist()}: the information is minus infinity there; "
            "regularize with prior_weight"
        )
    overfitted = overfits(curve)
    if overfitted.any():
        _LOG.info(
            "information is negative although the error is below the baseline at "
            "train_sizes %s: the classifier overfits (overconfident when wrong); more "
            "subjects, fewer components or prior_weight help",
            curve.train_sizes[overfitted].tolist(),
        )


def _warn_of_negative(curve, run, prior_weight):
    """Warn if information is so negative that it only reflects overconfident errors."""
    means = curve.information.mean(axis=1)
    far = np.isfinite(means) & (means < -min(1.0, curve.label_entropy))
    if not far.any():
        return
    sizes, remedies = curve.train_sizes[far], ["larger train_sizes", "coarser labels"]
    cause = ""
    if run.is_canonical:
        cause = _little_freedom(run, sizes, curve.n_components[far])
        remedies.append("fewer n_components")
    if prior_weight != "cross-validated":
        remedies.append("prior_weight='cross-validated'")
    bits = ", ".join(f"{mean:.1f}" for mean in means[far])
    warn(
        f"information is strongly negative at train_sizes {sizes.tolist()} ({bits} "
        f"bits): the classifier is far too confident when it is wrong{cause}; use "
        f"{', '.join(remedies[:-1])} or {remedies[-1]}"
    )


def _little_freedom(run, sizes, n_components):
    """Say how few degrees of freedom the noise has at some sizes."""
    freedom = ", ".join(str(residual_freedom(run, size)) for size in sizes)
    components = ", ".join(f"{n:.0f}" for n in n_components.mean(axis=1))
    return f", with {freedom} residual degrees of freedom for {components} components"


@described_by(information_learning_curve)
@takes_options(CurveOptions, without="priors prior_weight")
def pattern_reproducibility(
    X: Any, y: ArrayLike, groups: ArrayLike, **options: Any
) -> Any:
    """Measure the agreement of maps of models trained on disjoint sets of subjects.

    Splits are those of :func:`information_learning_curve` with the same seed. Any
    classifier that has a sensitivity map will do.

    Parameters
    ----------
    pattern : {"sensitivity", "log_sensitivity", "canonical"}, default="sensitivity"
        Map compared: the sensitivity of p(g|x) or of log p(g|x) on the training
        scans, or the first canonical map, its sign set by the class means.
    train_sizes : array-like of int or None, default=None
        Subjects in each of the two sets. If None, half of all.
    n_splits : int, default=150
        Random pairs of sets at every size.

    Returns
    -------
    sklearn.utils.Bunch
        - ``train_sizes``: (n_sizes,)
        - ``reproducibility``: (n_sizes, n_splits), correlation over the voxels
        - ``mean``, ``spread``: (n_sizes,), its mean and standard deviation
        - ``signal_to_noise``: (n_sizes,), the global ratio sqrt(2 r / (1 - r)) that
          the mean r stands for, 0 where it is negative
        - ``z_map``: (n_sizes, n_features), reproducible Z map: the mean over splits
          of the average of both standardized maps divided by the standard deviation
          of their difference; NaN where a voxel was left out
        - ``masker``: for images, leads ``z_map`` back to them; None for arrays

    Raises
    ------
    ValueError
        For a size above half of the groups, and for input that
        :func:`information_learning_curve` refuses.
    TypeError
        For a classifier without the requested pattern.

    Notes
    -----
    Reproducibility measures the variance of a map and not its bias: a wrong model
    can reproduce perfectly. A map without direction (constant) agrees with nothing:
    NaN. Sensitivity maps have no sign, so their voxelwise values correlate less
    than canonical maps, and their Z map says where sensitivity is above its average
    over voxels.

    References
    ----------
    Strother et al. 2002, NeuroImage 15, 747-771 (NPAIRS); Kjems et al. 2002,
    NeuroImage 15, "Pattern reproducibility".

    Examples
    --------
    >>> from neuroextrap.learning_curves import pattern_reproducibility
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> data = simulate_hierarchical_scans(n_subjects=12)
    >>> agreement = pattern_reproducibility(
    ...     data.X, data.coarse, data.groups, n_splits=10, pattern="canonical"
    ... )
    >>> agreement.reproducibility.shape, agreement.z_map.shape
    ((1, 10), (1, 500))
    """
    plain: Any = {"priors": None, "prior_weight": None}
    chosen = as_options(CurveOptions, pattern_reproducibility, options, **plain)
    scans = read_scans(X, chosen.mask, memory=chosen.memory)
    run = prepare_run(scans.X, y, groups, chosen)
    sizes = _half_sizes(chosen.train_sizes, len(run.group_names), chosen.pattern)
    results = evaluate_splits(run, sizes, chosen, z=True)
    correlations = results["reproducibility"]
    return Bunch(
        train_sizes=sizes,
        reproducibility=correlations,
        mean=correlations.mean(axis=1),
        spread=spread_of(correlations),
        signal_to_noise=_signal_to_noise(correlations.mean(axis=1)),
        z_map=scans.expand(results["z_sum"].sum(axis=1) / chosen.n_splits),
        masker=scans.masker,
    )


def _signal_to_noise(correlation):
    """Return the ratio sqrt(S / (N / 2)) of two maps that correlate by S / (S + N)."""
    signal = np.clip(correlation, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * signal / (1 - signal))


def _half_sizes(sizes, n_groups, pattern):
    """Return the sizes of the two sets, at most half of the groups."""
    if pattern is None:
        raise ValueError(
            "pattern=None leaves no map to reproduce; use 'sensitivity', "
            "'log_sensitivity' or 'canonical'"
        )
    if n_groups < 2:
        raise ValueError(
            f"groups must name at least 2 subjects for disjoint halves, got {n_groups}"
            "; add subjects"
        )
    sizes = check_train_sizes(n_groups // 2 if sizes is None else sizes, n_groups)
    if 2 * sizes[-1] > n_groups:
        raise ValueError(
            f"train_sizes={sizes.tolist()}: two disjoint sets of {sizes[-1]} do not "
            f"fit into {n_groups} groups; use at most {n_groups // 2}"
        )
    return sizes
