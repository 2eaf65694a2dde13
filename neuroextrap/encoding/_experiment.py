"""Test responses and predictions: a table for loops over regions, scores of voxels."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from neuroextrap.design._course_of_runs import findings_of_series
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import of_unit_length
from neuroextrap.design._permutations import exchanged, few_exchanges, without_groups
from neuroextrap.design._tests import population_notes
from neuroextrap.encoding._margins import EncodingMargins, ResponseRows
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.stats._null_counts import NullCounts, spread_known, tie_floor
from neuroextrap.stats._permutation import FewLabelings

FOLDS_NOTE = (
    "every stimulus was tested in one of {n_folds} folds, among the stimuli of its "
    "fold, by a model trained on the others; no lower bounds: what is tested in one "
    "fold trains the models of the others"
)

EXCHANGE_NOTE = (
    "p-values exchange which stimulus goes with which response before anything is "
    "fitted: encoders, penalties, noise covariances and margins of all folds are made "
    "anew for every permutation; they are exact if responses are exchangeable within "
    "groups (in random order)"
)

AVERAGES_NOTE = (
    "test responses are averages of repeats, but residuals, of training stimuli shown "
    "once or of noise_covariance, do not tell the noise of a response from what the "
    "encoder misses: margins and posteriors take an average to be as noisy as one of "
    "them, and are too cautious if that is noisier"
)

NOISIER_NOTE = (
    "repeats of test stimuli spread more than all residuals of training, whose "
    "responses are averages, it seems: margins and posteriors take a test response to "
    "be as noisy as one of these, and are too certain; train on repeats as rows, or "
    "average those of the test (repeats='average')"
)
_NOISIER = 1.25  # median over voxels of the ratio of variances

_NO_BOUNDS = (
    "no lower bounds: some candidates have no test response, so that accuracy says "
    "nothing of theirs"
)
_UNGROUPED = (
    "over the whole test set",
    "stimuli",
    "responses",
    "groups (in a table of stimuli a column run)",
)
_EXACT = (
    "p-values permute which stimulus goes with which test response; they are exact if "
    "the model and the noise covariance come from other data and {}"
)


class Part(NamedTuple):
    """What one model adds to an experiment: a fold, or all of a test set."""

    tested: np.ndarray  # rows of the `TestSet` of all parts, (n_tested,)
    codes: np.ndarray  # candidate of the part that each is a response to
    predictions: np.ndarray  # of the candidates about `location`, (K, n_features)
    residuals: np.ndarray  # as `separate_repeats` returns them; 0 where not usable
    n_stimuli: int  # those that these start with
    location: np.ndarray  # training means, which float32 keeps its digits without


class Experiment(NamedTuple):
    """An identification experiment, ready for any region."""

    rows: np.ndarray  # float32, as `ResponseRows` has them, (n_rows, n_features)
    n_candidates: int  # K, of each fold
    codes: np.ndarray  # true candidate of every test point, (n_test,)
    repeats: np.ndarray  # responses averaged into it, (n_test,)
    groups: np.ndarray | None  # its exchangeability block, (n_test,)
    usable: np.ndarray  # (n_features,)
    noise_variance: np.ndarray | None = None  # of the test responses, if repeated
    folds: np.ndarray | None = None  # their responses and residuals, (n_folds, 2)
    rule: str = "mahalanobis"  # of margins, or of each fold's, separated by commas
    n_stimuli: np.ndarray | None = None  # of each fold; None: repeats not separated

    @classmethod
    def of(cls, paired, parts, usable, rule="mahalanobis"):
        """Stack what the `Part`s of a `TestSet` need in any region."""
        rows, codes, predictions, residuals, n_stimuli, locations = zip(
            *parts, strict=True
        )
        usable = usable & np.all([each.any(axis=0) for each in residuals], axis=0)
        of_parts = zip(rows, locations, strict=True)
        responses = [paired.responses[own] - location for own, location in of_parts]
        stacked = *responses, *predictions, *residuals
        table = np.concatenate([each.astype(np.float32) for each in stacked])
        table[:, ~usable] = 0
        counts = np.column_stack([[len(each) for each in x] for x in (rows, residuals)])
        rows, n_stimuli = np.concatenate(rows), np.array(n_stimuli)
        return cls(
            table,
            len(predictions[0]),
            np.concatenate(codes),
            paired.repeats[rows],
            None if paired.groups is None else paired.groups[rows],
            usable,
            paired.noise_variance,
            counts if len(parts) > 1 else None,
            rule,
            None if np.array_equal(n_stimuli, counts[:, 1]) else n_stimuli,
        )

    @property
    def responses(self):
        """Test responses about the training means, shape (n_test, n_features)."""
        return self.layout.split(self.rows)[0]

    @property
    def predictions(self):
        """Predictions about the training means, shape (K, n_features)."""
        return self.layout.split(self.rows)[1]

    @property
    def true_predictions(self):
        """Predictions of the stimuli that evoked the responses, as `responses`."""
        return self.predictions[self.stimuli]

    @property
    def stimuli(self):
        """Row of ``predictions`` of each response's stimulus, shape (n_test,)."""
        return self.fold * self.n_candidates + self.codes

    @property
    def fold(self):
        """Fold that tests each response, shape (n_test,); zeros without folds."""
        n_tested = self.layout.folds[:, 0]
        return np.repeat(np.arange(len(n_tested)), n_tested)

    @property
    def layout(self):
        """What each of the rows is."""
        counts, n_test = self.folds, len(self.codes)
        if counts is None:
            n_residuals = len(self.rows) - n_test - self.n_candidates
            counts = np.array([[n_test, n_residuals]])
        n_stimuli = counts[:, 1] if self.n_stimuli is None else self.n_stimuli
        return ResponseRows(self.n_candidates, np.column_stack([counts, n_stimuli]))

    def margins(self, rule, voxels=slice(None)):
        """Return margins (n_test, K) by a rule, of some voxels."""
        source = EncodingMargins(self.repeats, rule)
        return source.margins([self.rows[:, voxels]], self.layout)[..., 0]

    def bound_repeats(self):
        """Test points of every candidate, (1, K); None if some have none, or folds."""
        if self.folds is not None:
            return None
        counts = np.bincount(self.codes, minlength=self.n_candidates)
        return counts[None] if counts.all() else None


def make_plan(estimator, experiment, set_sizes):
    """Plan the loop over regions: the observed pairing, and permuted ones."""
    plan = observed_plan(estimator, experiment, set_sizes)
    if not estimator.n_permutations or experiment.folds is not None:
        return plan
    permuted = exchanged(
        experiment.codes,
        exchange=estimator.exchange,
        groups=experiment.groups,
        n_permutations=estimator.n_permutations,
        random_state=estimator.random_state,
    )
    return replace(plan, codes=np.concatenate([plan.codes, permuted], dtype=np.int32))


def observed_plan(estimator, experiment, set_sizes):
    """Plan margins and their statistic for the observed pairing only."""
    n_classes = experiment.n_candidates
    return Plan(
        kernel=EncodingMargins(experiment.repeats, experiment.rule),
        design=experiment.layout,
        codes=experiment.codes[None].astype(np.int32),
        statistic=resolve_statistic(estimator.statistic, n_classes, set_sizes),
        pairing=True,
    )


def findings_of_pairing(estimator, run, order):
    """Return Findings about other pairings of a run; `order` is that of acquisition."""
    if not estimator.n_permutations:
        return ()
    experiment, exchange = run.test, run.exchange
    n_others = run.plan.n_permutations if exchange is None else len(exchange.codes)
    ungrouped = experiment.groups is None and estimator.exchange == "rows"
    findings = [without_groups(*_UNGROUPED)] if ungrouped else []
    if n_others < estimator.n_permutations:
        findings.append(few_exchanges(FewLabelings(n_others, 1, "pairings")))
    findings += findings_of_rows(experiment, estimator.exchange, order)
    tell(findings)
    return tuple(findings)


def findings_of_rows(experiment, exchange, order=None):
    """Return Findings, 0 or 1, about test responses that follow each other in time."""
    order = np.arange(len(experiment.codes)) if order is None else order
    stimuli = experiment.stimuli[order]
    rows = order[np.sort(np.unique(stimuli, return_index=True)[1])]  # no repeats
    return findings_of_series(
        experiment.responses[rows][:, experiment.usable],
        experiment.true_predictions[rows][:, experiment.usable],
        None if experiment.groups is None else experiment.groups[rows],
        exchange=exchange,
    )


def _is_noisier(experiment):
    """Say whether test responses have more noise than residuals have variance."""
    if experiment.noise_variance is None:
        return False
    residuals = experiment.layout.split(experiment.rows)[2][:, experiment.usable]
    variance = np.mean(np.square(residuals), axis=0, dtype=np.float64)
    ratio = experiment.noise_variance[experiment.usable] / variance
    return ratio.size > 0 and np.median(ratio) > _NOISIER


def notes_of(estimator, experiment):
    """Say what margins, bounds and p-values rest on, a tuple of str."""
    of_noise = set(experiment.rule.split(",")) - {"euclidean", "correlation"}
    notes = []
    if of_noise and experiment.n_stimuli is None:
        notes += [AVERAGES_NOTE] if experiment.repeats.max() > 1 else []
        notes += [NOISIER_NOTE] if _is_noisier(experiment) else []
    notes += _bound_notes(estimator, experiment)
    if estimator.n_permutations:
        needed = {
            "rows": "responses are exchangeable within groups (in random order)",
            "shifts": "the series that were shifted as wholes are long and stationary",
        }
        blocks = f"blocks of {estimator.exchange} responses are exchangeable"
        exact = _EXACT.format(needed.get(estimator.exchange, blocks))
        notes.append(exact if experiment.folds is None else EXCHANGE_NOTE)
    return tuple(notes)


def _bound_notes(estimator, experiment):
    """Say whether lower bounds hold, and of which stimuli."""
    repeats, n_candidates = experiment.bound_repeats(), experiment.n_candidates
    if experiment.folds is not None:
        return [FOLDS_NOTE.format(n_folds=len(experiment.folds))]
    if repeats is None:
        return [_NO_BOUNDS]
    level = estimator.confidence_level
    return population_notes(n_candidates, repeats, level, "stimuli")


def prediction_scores(
    responses,
    predictions,
    *,
    groups=None,
    noise_variance=None,
    n_permutations=0,
    exchange="rows",
    random_state=0,
):
    """Compute explained variance and correlation of held-out responses by voxel.

    Of `responses` y and `predictions` f, both (n_test, n_features), and the
    `noise_variance` (n_features,) of the responses as they are, if it is known ::

        r2 = 1 - sum(y - f) ^ 2 / sum(y - mean(y)) ^ 2
        noise_ceiling = max(0, 1 - noise_variance / Var(y))
        r2_normalized = r2 / noise_ceiling
        correlation_normalized = correlation / sqrt(noise_ceiling)

    They are NaN where something is constant, or the ceiling is zero. p-values of the
    correlation (one-sided) exchange predictions within `groups`, in the same way in
    every voxel. (Schoppe et al. 2016, normalized correlation; Harris 2020, "A shift
    test for independence in generic time series".)
    """
    Y, F = (np.asarray(each, dtype=float) for each in (responses, predictions))
    if not (np.isfinite(Y).all() and np.isfinite(F).all()):
        raise ValueError("responses and predictions must be finite; drop these voxels")
    total = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(total > 0, 1 - ((Y - F) ** 2).sum(axis=0) / total, np.nan)
    y, f = standardized(Y), standardized(F)
    scores = {"r2": r2, "correlation": np.einsum("tv,tv->v", y, f)}
    if noise_variance is not None:
        scores |= _normalized(scores, Y, noise_variance)
    if n_permutations:
        orders = exchanged(
            np.arange(len(Y)),
            exchange=exchange,
            groups=groups,
            n_permutations=n_permutations,
            random_state=random_state,
        )
        tell(findings_of_series(Y, F, groups, exchange=exchange))
        scores |= p_values_of_correlation(y, f, scores["correlation"], orders)
    return scores


def _normalized(scores, Y, noise_variance):
    """Noise ceiling of responses, and scores divided by what it allows."""
    noise = np.asarray(noise_variance)
    total = Y.var(axis=0, ddof=1) if len(Y) > 1 else np.zeros(Y.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ceiling = np.where(total > 0, np.maximum(1 - noise / total, 0), np.nan)
        attainable = np.where(ceiling > 0, ceiling, np.nan)
        return {
            "noise_ceiling": ceiling,
            "r2_normalized": scores["r2"] / attainable,
            "correlation_normalized": scores["correlation"] / np.sqrt(attainable),
        }


def standardized(values):
    """Columns of mean zero and length one; NaN where constant."""
    varies = np.ptp(values, axis=0) > 0
    centered = np.where(varies, values - values.mean(axis=0), 0)
    return of_unit_length(centered, 0, of_zero=np.nan)


def p_values_of_correlation(y, f, observed, orders):
    """Count permuted correlations that reach the observed ones."""
    varies = ~np.isnan(observed)
    y, f = y[:, varies], f[:, varies]
    counts = NullCounts.start(tie_floor(observed[varies], 1.0), len(orders))
    for index, order in enumerate(orders):
        permuted = np.einsum("tv,tv->v", y, f[order])
        counts.add(permuted[:, np.newaxis], index)
    p_values = {"p_value": counts.p_value(), "p_value_fwe": counts.p_value_fwe()}
    return spread_known(varies, p_values)
