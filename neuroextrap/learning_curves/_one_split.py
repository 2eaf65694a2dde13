"""Train on some subjects, predict the others: one split of a learning curve."""

import dataclasses
import warnings

import numpy as np
from sklearn.base import clone

from neuroextrap.learning_curves._information import best_prior_weight, log_ratio
from neuroextrap.models._canonical_variates import CanonicalVariates


@dataclasses.dataclass(frozen=True)
class SplitScore:
    """What the predictions of one split are worth.

    Attributes
    ----------
    information : float
        Bits a scan.
    error_rate, baseline_error_rate : float
        Of the most probable label, and of guessing the most common one.
    prior_weight : float
        Weight of the prior in the predictions.
    probabilities : ndarray of shape (n_classes, n_classes)
        Sums of predicted probabilities, a row for each true class.
    counts : ndarray of shape (n_classes,)
        Test samples of each class.
    """

    information: float
    error_rate: float
    baseline_error_rate: float
    prior_weight: float
    probabilities: np.ndarray
    counts: np.ndarray


def train(problem, members):
    """Fit a fresh classifier on the samples of some groups.

    Parameters
    ----------
    problem : Problem
        Samples and classifier.
    members : array of int
        Training groups.

    Returns
    -------
    classifier
        Fitted, its classes those of the whole problem.
    """
    rows = np.flatnonzero(np.isin(problem.groups, members))
    model = clone(problem.classifier)
    options = {"groups": problem.groups[rows]} if problem.takes_groups else {}
    with warnings.catch_warnings():
        # recorded split by split and reported once at the end of the curve
        warnings.filterwarnings("ignore", message="n_components=.* lowered")
        return model.fit(
            problem.X[rows], problem.classes[problem.codes[rows]], **options
        )


def log_posterior(model, X):
    """Natural logarithm of the predicted probabilities.

    Parameters
    ----------
    model : fitted classifier
        With predict_log_proba or predict_proba.
    X : ndarray of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Minus infinity where a probability is zero.
    """
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(X))
        return np.log(model.predict_proba(X))


def cross_validated_weight(problem, members):
    """Weight of the prior, chosen by leaving out one training group at a time.

    Parameters
    ----------
    problem : Problem
        Samples and classifier.
    members : array of int
        Training groups; the test groups are never looked at.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        A class that only one of the training groups holds.
    """
    ratios = []
    for member in members:
        others = members[members != member]
        if not problem.holds[others].any(axis=0).all():
            raise ValueError(
                f"prior_weight='cross-validated': group "
                f"{problem.group_names.tolist()[member]!r} alone holds a class among "
                f"{len(members)} training groups; use larger train_sizes."
            )
        rows = problem.groups == member
        logs = log_posterior(train(problem, others), problem.X[rows])
        ratios.append(log_ratio(logs, problem.codes[rows], problem.priors))
    return best_prior_weight(np.exp(np.concatenate(ratios)))


def score_split(problem, model, members, prior_weight):
    """Score the predictions for all groups that did not train the model.

    Parameters
    ----------
    problem : Problem
        Samples.
    model : fitted classifier
        Trained on ``members``.
    members : array of int
        Training groups.
    prior_weight : None, float or "cross-validated"
        How predictions are regularized towards the prior.

    Returns
    -------
    SplitScore
        Ties of the most probable label are broken at random in expectation.
    """
    rows = ~np.isin(problem.groups, members)
    codes, priors = problem.codes[rows], problem.priors
    logs = log_posterior(model, problem.X[rows])
    weight = 0.0 if prior_weight is None else prior_weight
    if weight == "cross-validated":
        weight = cross_validated_weight(problem, members)
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
    """Share of samples whose label is not the top one, ties counted in part."""
    top = scores >= scores.max(axis=1, keepdims=True) - 1e-12
    hit = np.sum(indicator * top, axis=1) / top.sum(axis=1)
    return float(1 - hit.mean())


def components_in_use(model):
    """Count the singular vectors in use; NaN for classifiers without any.

    Parameters
    ----------
    model : fitted classifier
        Of one split.

    Returns
    -------
    float
        ``n_components_`` of canonical variates.
    """
    if isinstance(model, CanonicalVariates):
        return float(model.n_components_)
    return np.nan
