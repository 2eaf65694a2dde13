"""Test responses, predictions and residuals as one table for the loop over regions."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from neuroextrap import stats
from neuroextrap.design._findings import P_VALUES, TOO_SMALL, Finding, tell
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.design._series import exchanged, findings_of_series
from neuroextrap.design._tests import POPULATION_NOTE
from neuroextrap.encoding._margins import (
    EncodingMargins,
    ResponseRows,
    separate_repeats,
)
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import resolve_statistic
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

REPEATS_NOTE = (
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


class Experiment(NamedTuple):
    """An identification experiment, ready for any region.

    ``rows``, float32 of shape (n_test + K + n_residuals, n_features), are test
    responses, predictions of the K candidates and residuals, as `ResponseRows` has
    them. ``codes`` (n_test,) is the true candidate of every test point, ``repeats``
    (n_test,) the number of responses averaged into it, ``groups`` (n_test,) its
    exchangeability block, or None. ``usable`` (n_features,) marks the voxels that can
    be analyzed, ``noise_variance`` (n_features,) is that of the test responses, or None
    where no test stimulus is repeated. Test points of ``folds``, pairs of their numbers
    of responses and of residuals, (n_folds, 2), are identified among the K candidates
    of their fold; None is a single test set. ``rule`` is that of the margins, or those
    of the folds, separated by commas. Of the
    residuals of each fold the first ``n_stimuli`` (n_folds or 1,) are those of stimuli,
    see `separate_repeats`; None if repeats were not separated.
    """

    rows: np.ndarray
    n_candidates: int
    codes: np.ndarray
    repeats: np.ndarray
    groups: np.ndarray | None
    usable: np.ndarray
    noise_variance: np.ndarray | None = None
    folds: np.ndarray | None = None
    rule: str = "mahalanobis"
    n_stimuli: np.ndarray | None = None

    @classmethod
    def of(cls, test, predictions, residuals, *, usable, location, stimuli=None):
        """Stack what regions need; voxels without residual variance are not usable.

        ``test`` is a `TestSet`. ``predictions`` (n_candidates, n_features) are NaN and
        ``residuals`` (n_residuals, n_features) zero where a voxel is not usable;
        ``usable`` (n_features,) are voxels usable in training and finite in test.
        ``location`` (n_features,), the training means, is subtracted so that float32
        keeps its digits. ``stimuli`` (n_residuals,) say which residuals are of the same
        stimulus, where that is known.
        """
        usable = usable & residuals.any(axis=0)
        residuals, n_stimuli = separate_repeats(residuals, stimuli)
        stacked = [test.responses - location, predictions - location, residuals]
        rows = np.concatenate([part.astype(np.float32) for part in stacked])
        rows[:, ~usable] = 0
        n_candidates = len(predictions)
        return cls(
            rows,
            n_candidates,
            test.codes,
            test.repeats,
            test.groups,
            usable,
            test.noise_variance,
            n_stimuli=_separated([n_stimuli], [len(residuals)]),
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
        if self.folds is None:
            return np.zeros(len(self.codes), dtype=int)
        return np.repeat(np.arange(len(self.folds)), self.folds[:, 0])

    @property
    def layout(self):
        """What each of the rows is."""
        n_test = len(self.codes)
        folds = () if self.folds is None else tuple(map(tuple, self.folds.tolist()))
        n_predictions = self.n_candidates * max(1, len(folds))
        n_residuals = len(self.rows) - n_test - n_predictions
        n_stimuli = () if self.n_stimuli is None else tuple(self.n_stimuli.tolist())
        return ResponseRows(n_test, self.n_candidates, n_residuals, folds, n_stimuli)

    def bound_repeats(self):
        """Test points of every candidate, (1, K); None if some have none, or folds."""
        if self.folds is not None:
            return None
        counts = np.bincount(self.codes, minlength=self.n_candidates)
        return counts[None] if counts.all() else None


def stack_folds(paired, parts, usable, n_candidates):
    """Return an Experiment in folds.

    `paired` is the TestSet of all folds; `parts` has of each its rows in it, the
    candidate of its fold that each is, the predictions of its candidates, what
    `separate_repeats` returns of the residuals of its training data, and what is
    subtracted from its responses.
    """
    rows = np.concatenate([tested for tested, *_ in parts])
    responses = [paired.responses[part[0]] - part[-1] for part in parts]
    residuals, n_stimuli = zip(*(part[3] for part in parts), strict=True)
    usable = usable & np.all([part.any(axis=0) for part in residuals], axis=0)
    stacked = [*responses, *(part[2] for part in parts), *residuals]
    table = np.concatenate([part.astype(np.float32) for part in stacked])
    table[:, ~usable] = 0
    n_residuals = [len(part) for part in residuals]
    counts = [(len(part[0]), n) for part, n in zip(parts, n_residuals, strict=True)]
    return Experiment(
        table,
        n_candidates,
        np.concatenate([part[1] for part in parts]),
        paired.repeats[rows],
        None if paired.groups is None else paired.groups[rows],
        usable,
        paired.noise_variance,
        np.array(counts),
        n_stimuli=_separated(n_stimuli, n_residuals),
    )


def _separated(n_stimuli, n_residuals):
    """Return the numbers of stimuli; None if every residual is one."""
    return None if tuple(n_stimuli) == tuple(n_residuals) else np.array(n_stimuli)


def refuse_folds(experiment):
    """Raise ValueError if test points come from folds, for which no test holds."""
    if experiment.folds is not None:
        raise ValueError(
            "stimuli were tested in folds (identify_folds), whose outcomes depend on "
            "each other through the training data, so that p-values would come out too "
            "small; use fit and identify with a test set of its own"
        )


def make_plan(estimator, experiment, set_sizes):
    """Plan the loop over regions and say what its numbers rest on.

    Permutations change only which stimulus is paired with which response. Returns the
    plan and notes for the reader, a tuple of str.
    """
    codes = experiment.codes[None].astype(np.int32)
    if estimator.n_permutations and experiment.folds is None:
        permuted = _permuted(estimator, experiment)
        codes = np.concatenate([codes, permuted.astype(np.int32)])
    plan = replace(
        observed_plan(estimator, experiment, set_sizes),
        codes=codes,
    )
    return plan, _notes(estimator, experiment)


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


def findings_of_pairing(estimator, experiment, n_others, order=None):
    """Return Findings about the `n_others` other pairings, and warn of them.

    `order` (n_test,) are the test points as they were acquired, if not as they are.
    """
    if not estimator.n_permutations:
        return ()
    ungrouped = experiment.groups is None and estimator.exchange == "rows"
    found = [_NO_GROUPS] if ungrouped else []
    if n_others < estimator.n_permutations:
        found.append(few_exchanges(FewLabelings(n_others, 1, "pairings")))
    found += findings_of_rows(experiment, estimator.exchange, order)
    tell(found)
    return tuple(found)


def findings_of_rows(experiment, exchange, order=None):
    """Return Findings, 0 or 1, about test responses that follow each other in time.

    `order` (n_test,) are the test points as they were acquired, if not as they are.
    """
    order = np.arange(len(experiment.codes)) if order is None else order
    stimuli = experiment.stimuli[order]
    rows = order[np.sort(np.unique(stimuli, return_index=True)[1])]  # no repeats
    return findings_of_series(
        experiment.responses[rows][:, experiment.usable],
        experiment.true_predictions[rows][:, experiment.usable],
        None if experiment.groups is None else experiment.groups[rows],
        exchange=exchange,
    )


_NO_GROUPS = Finding(
    "no_groups",
    "doubtful",
    0.0,
    P_VALUES,
    "no runs were given (groups=None) and stimuli were exchanged over the whole test "
    "set",
    f"{TOO_SMALL} if responses were acquired in runs",
    "give groups (in a table of stimuli a column run), so that stimuli are exchanged "
    "within runs",
)


def _permuted(estimator, experiment):
    """Other pairings of responses and stimuli, within groups."""
    return exchanged(
        experiment.codes,
        exchange=estimator.exchange,
        groups=experiment.groups,
        n_permutations=estimator.n_permutations,
        random_state=estimator.random_state,
    )


def _is_noisier(experiment):
    """Say whether test responses have more noise than residuals have variance."""
    if experiment.noise_variance is None:
        return False
    residuals = experiment.layout.split(experiment.rows)[2][:, experiment.usable]
    variance = np.mean(np.square(residuals), axis=0, dtype=np.float64)
    ratio = experiment.noise_variance[experiment.usable] / variance
    return ratio.size > 0 and np.median(ratio) > _NOISIER


def _notes(estimator, experiment):
    """Say what bounds and p-values rest on."""
    needed = set(experiment.rule.split(",")) - {"euclidean", "correlation"}
    unknown = experiment.n_stimuli is None and experiment.repeats.max() > 1
    notes = [REPEATS_NOTE] if needed and unknown else []
    if needed and experiment.n_stimuli is None and _is_noisier(experiment):
        notes.append(NOISIER_NOTE)
    repeats = experiment.bound_repeats()
    if experiment.folds is not None:
        notes.append(FOLDS_NOTE.format(n_folds=len(experiment.folds)))
    elif repeats is None:
        notes.append(
            "no lower bounds: some candidates have no test response, so that accuracy "
            "says nothing of theirs"
        )
    else:
        notes.append(POPULATION_NOTE.format(classes="stimuli"))
        tested = stats.TestDesign(
            experiment.n_candidates,
            repeats,
            confidence_level=estimator.confidence_level,
        )
        if tested.is_vacuous:
            notes.append(
                "average_bayes_accuracy_bound is at chance everywhere: with "
                f"{experiment.n_candidates} stimuli even perfect accuracy says too "
                "little about stimuli that were not shown; use bayes_accuracy_bound, "
                "which holds for the given stimuli"
            )
    if estimator.n_permutations and experiment.folds is not None:
        notes.append(EXCHANGE_NOTE)
    elif estimator.n_permutations:
        needed = {
            "rows": "responses are exchangeable within groups (in random order)",
            "shifts": "the series that were shifted as wholes are long and stationary",
            "blocks": f"blocks of {estimator.exchange} responses are exchangeable",
        }
        notes.append(
            "p-values permute which stimulus goes with which test response; they are "
            "exact if the model and the noise covariance come from other data and "
            f"{needed.get(estimator.exchange, needed['blocks'])}"
        )
    return tuple(notes)
