"""Test responses, predictions and residuals as one table for the loop over regions."""

import warnings
from typing import NamedTuple

import numpy as np

from neuroextrap import stats
from neuroextrap.encoding._margins import EncodingMargins
from neuroextrap.margins._design import Design
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins._task import Plan


class Experiment(NamedTuple):
    """An identification experiment, ready for any region.

    Attributes
    ----------
    rows : ndarray of float32, shape (n_test + K + n_residuals, n_features)
        Test responses, predictions of the candidates, residuals.
    n_candidates : int
        K.
    codes : ndarray of int, shape (n_test,)
        True candidate of every test point.
    repeats : ndarray of int, shape (n_test,)
        Responses averaged into each test point.
    groups : ndarray, shape (n_test,), or None
        Exchangeability blocks.
    usable : ndarray of bool, shape (n_features,)
        Voxels that can be analyzed.
    """

    rows: np.ndarray
    n_candidates: int
    codes: np.ndarray
    repeats: np.ndarray
    groups: np.ndarray | None
    usable: np.ndarray

    @classmethod
    def of(cls, test, predictions, residuals, *, usable, location):
        """Stack what regions need.

        Parameters
        ----------
        test : TestSet
            Test points.
        predictions : ndarray, shape (n_candidates, n_features)
            NaN where a voxel is not usable.
        residuals : ndarray, shape (n_residuals, n_features)
            Zero where a voxel is not usable.
        usable : ndarray of bool, shape (n_features,)
            Voxels usable in training and finite in test.
        location : ndarray, shape (n_features,)
            Training means, subtracted so that float32 keeps its digits.

        Returns
        -------
        experiment : Experiment
            Voxels without residual variance are not usable.
        """
        usable = usable & residuals.any(axis=0)
        stacked = [test.responses - location, predictions - location, residuals]
        rows = np.concatenate([part.astype(np.float32) for part in stacked])
        rows[:, ~usable] = 0
        n_candidates = len(predictions)
        return cls(rows, n_candidates, test.codes, test.repeats, test.groups, usable)

    @property
    def responses(self):
        """Test responses about the training means, shape (n_test, n_features)."""
        return self.rows[: len(self.codes)]

    @property
    def predictions(self):
        """Predictions about the training means, shape (K, n_features)."""
        return self.rows[len(self.codes) : len(self.codes) + self.n_candidates]

    def bound_repeats(self):
        """Test points of every candidate, shape (1, K); None if some have none."""
        counts = np.bincount(self.codes, minlength=self.n_candidates)
        return counts[None] if counts.all() else None


def make_plan(estimator, experiment):
    """Plan the loop over regions and say what its numbers rest on.

    Parameters
    ----------
    estimator : EncodingIdentification
        Its parameters.
    experiment : Experiment
        The data.

    Returns
    -------
    plan : Plan
        Permutes the pairing of responses and stimuli only.
    notes : tuple of str
        What a reader should know.

    Raises
    ------
    ValueError
        If the statistic is not known or nothing can be permuted.
    """
    n_test, n_rows = len(experiment.codes), len(experiment.rows)
    n_classes = experiment.n_candidates
    everything = np.arange(n_rows)
    design = Design(((everything[n_test:], everything[:n_test]),), n_rows, n_classes)
    observed = np.zeros((1, n_rows), dtype=np.int32)
    observed[0, :n_test] = experiment.codes
    codes = observed
    if estimator.n_permutations:
        permuted = _permuted(estimator, experiment)
        codes = np.tile(observed, (1 + len(permuted), 1))
        codes[1:, :n_test] = permuted
    kernel = EncodingMargins(
        n_test, n_classes, experiment.repeats, estimator.covariance
    )
    statistic = resolve_statistic(
        estimator.statistic, n_classes, np.asarray(estimator.set_sizes_)
    )
    plan = Plan(
        kernel=kernel,
        design=design,
        codes=codes,
        statistic=statistic,
        pairing=True,
        keep_null=estimator.save_null is not None,
    )
    return plan, _notes(estimator, experiment)


def _permuted(estimator, experiment):
    """Other pairings of responses and stimuli, within groups."""
    if experiment.groups is None:
        warnings.warn(
            "groups=None: responses and stimuli are paired anew over the whole test "
            "set; if responses were acquired in runs, give groups so that the pairing "
            "is permuted within runs",
            stacklevel=5,
        )
    repeated = len(np.unique(experiment.codes)) < len(experiment.codes)
    return stats.permute_labels(
        experiment.codes,
        groups=experiment.groups,
        # repeats of a stimulus move together
        blocks=experiment.codes if repeated else None,
        n_permutations=estimator.n_permutations,
        random_state=estimator.random_state,
    )


def _notes(estimator, experiment):
    """Say what bounds and p-values rest on."""
    notes = []
    repeats = experiment.bound_repeats()
    if repeats is None:
        notes.append(
            "no lower bounds: some candidates have no test response, so that accuracy "
            "says nothing of theirs"
        )
    elif stats.TestDesign(
        experiment.n_candidates, repeats, confidence_level=estimator.confidence_level
    ).is_vacuous:
        notes.append(
            "average_bayes_accuracy_bound is at chance everywhere: with "
            f"{experiment.n_candidates} stimuli even perfect accuracy says too little "
            "of stimuli that were not drawn"
        )
    if estimator.n_permutations:
        notes.append(
            "p-values permute which stimulus goes with which test response; they are "
            "exact if the model and the noise covariance come from other data and "
            "responses are exchangeable within groups (stimuli in random order)"
        )
    return tuple(notes)
