"""One split of a learning curve: train on some subjects, predict the others."""

import dataclasses
import warnings

import numpy as np
from sklearn.base import clone

from neuroextrap.learning_curves._information import best_prior_weight, log_ratio
from neuroextrap.models._canonical_variates import CanonicalVariates


@dataclasses.dataclass(frozen=True)
class SplitScore:
    """Scores of the predictions of one split.

    `information` is in bits per scan; the error rates are those of the most probable
    label and of guessing the most common one. `probabilities` (n_classes, n_classes)
    sums predicted probabilities, one row per true class, over `counts` (n_classes,)
    test samples.
    """

    information: float
    error_rate: float
    baseline_error_rate: float
    prior_weight: float
    probabilities: np.ndarray
    counts: np.ndarray


def train(run, members):
    """Fit a fresh classifier on the samples of the groups `members`."""
    rows = np.flatnonzero(np.isin(run.groups, members))
    model = clone(run.classifier)
    options = {"groups": run.groups[rows]} if run.takes_groups else {}
    with warnings.catch_warnings():
        # recorded split by split and reported once at the end of the curve
        warnings.filterwarnings("ignore", message="n_components=.* lowered")
        return model.fit(run.X[rows], run.classes[run.codes[rows]], **options)


def log_posterior(model, X):
    """Return natural logarithms of predicted probabilities; minus infinity for zero."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(X))
        return np.log(model.predict_proba(X))


def cross_validated_weight(run, members):
    """Choose the weight of the prior by leaving out one training group at a time.

    The test groups are never looked at. Splits are drawn so that every class is in two
    training groups.
    """
    ratios = []
    for member in members:
        others = members[members != member]
        rows = run.groups == member
        logs = log_posterior(train(run, others), run.X[rows])
        ratios.append(log_ratio(logs, run.codes[rows], run.priors))
    return best_prior_weight(np.exp(np.concatenate(ratios)))


def score_split(run, model, members, prior_weight):
    """Score the predictions for all groups but `members`, which trained the model.

    Ties of the most probable label are broken at random, in expectation.
    """
    rows = ~np.isin(run.groups, members)
    codes, priors = run.codes[rows], run.priors
    logs = log_posterior(model, run.X[rows])
    weight = 0.0 if prior_weight is None else prior_weight
    if weight == "cross-validated":
        weight = cross_validated_weight(run, members)
    if weight > 0:
        with np.errstate(divide="ignore"):
            keep = np.log1p(-weight) if weight < 1 else -np.inf
            logs = np.logaddexp(keep + logs, np.log(weight * priors))
    indicator = codes[:, None] == np.arange(len(priors))
    return SplitScore(
        information=np.mean(log_ratio(logs, codes, priors)) / np.log(2),
        error_rate=_error_rate(logs, indicator),
        baseline_error_rate=_error_rate(np.log(priors)[None], indicator),
        prior_weight=weight,
        probabilities=indicator.T.astype(np.float64) @ np.exp(logs),
        counts=indicator.sum(axis=0),
    )


def _error_rate(scores, indicator):
    """Return the share of samples whose label is not on top; ties count in part."""
    top = scores >= scores.max(axis=1, keepdims=True) - 1e-12
    hit = np.sum(indicator * top, axis=1) / top.sum(axis=1)
    return float(1 - hit.mean())


def components_in_use(model):
    """Return the number of singular vectors in use; NaN if there are none."""
    if isinstance(model, CanonicalVariates):
        return float(model.n_components_)
    return np.nan
