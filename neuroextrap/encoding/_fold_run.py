"""Identification fold by fold, every stimulus tested once: its run, its p-values."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.analysis._values import Keep
from neuroextrap.design._copies import check_copies_apart
from neuroextrap.design._series import exchanged
from neuroextrap.encoding._encoding_run import planned_run
from neuroextrap.encoding._experiment import stack_folds
from neuroextrap.encoding._stimuli import (
    candidate_names,
    check_features,
    pair_responses,
    response_rows,
    rows_of_stimuli,
)
from neuroextrap.encoding._stimulus_features import check_candidates
from neuroextrap.encoding._training_folds import Shown, train_folds
from neuroextrap.maps._records import value_of
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats._validation import check_integer

_LEFT_OVER = (
    "{n_left} of {n_stimuli} stimuli were trained on only, so that all folds have "
    "{n_candidates} candidates"
)
_CHOSEN = "rule='auto' chose, in each fold by its own training data: {rules}"


@dataclass(frozen=True)
class FoldExchange:
    """Experiments in folds of stimuli that were exchanged before anything was fitted.

    `codes` (n_permutations, n_samples) are the stimuli that responses are taken to be
    of; the folds of stimuli stay.
    """

    model: Any
    shown: Shown
    codes: np.ndarray
    folds: list

    def experiment(self, number):
        """Return the Experiment of a permutation."""
        shown = self.shown._replace(codes=self.codes[number])
        return fold_experiment(self.model, shown, self.folds)[0]

    def __len__(self):
        """Return the number of permutations."""
        return len(self.codes)


def plan_folds(model, features, imgs, *, stimuli, groups, n_folds):
    """Train on all folds but one, for each; plan the identification of all.

    `model` is an EncodingIdentification, the others came to ``identify_folds``. Returns
    EncodingRun.
    """
    RunParameters.of(model)  # refuses what no run could use
    _check_model(model)
    X, names = check_features(features), candidate_names(features)
    check_candidates(X, 0, names=names)
    stimuli = rows_of_stimuli(stimuli, features)
    if names is not None and stimuli is not None:  # whatever the order of the table
        stimuli = response_rows(stimuli, len(np.atleast_1d(stimuli)), len(X))
        order = np.argsort(names)
        X, names, stimuli = X[order], names[order], np.argsort(order)[stimuli]
    n_candidates = _candidates_per_fold(len(X), n_folds)
    samples = read_samples(
        model.mask,
        imgs,
        n_samples=len(X) if stimuli is None else len(stimuli),
        counted="features" if stimuli is None else "stimuli",
        dtype=None,
        memory=model.memory,
    )
    codes = response_rows(stimuli, len(samples.X), len(X))
    _check_complete(codes, len(X))
    check_copies_apart(samples.X[:, samples.usable], codes, "stimuli")
    shown = Shown(X, samples, codes)
    groups = groups if model.n_permutations else None  # of permutations only
    folds = deal_folds(len(X), n_folds, model.random_state)
    folds = [fold[:n_candidates] for fold in folds]
    exchange = _exchange(model, shown, groups, folds)
    experiment, (tested, order), notes = fold_experiment(model, shown, folds, groups)
    n_left = len(X) - n_folds * n_candidates
    left = _LEFT_OVER.format(n_left=n_left, n_stimuli=len(X), n_candidates=n_candidates)
    return planned_run(
        model,
        experiment,
        masker=samples.masker,
        classes=np.arange(n_candidates),
        notes=(*samples.notes, *notes, *([left] if n_left else [])),
        bg_img=samples.bg_img,
        location=samples.location,
        test_stimuli=tested if names is None else names[tested],
        exchange=exchange,
        order=order,
    )


def _check_model(model):
    """Raise ValueError for what folds cannot give."""
    if not model.n_permutations:
        return
    if model.exchange != "rows":
        raise ValueError(
            f"exchange={model.exchange!r} must be 'rows' in folds, which take stimuli "
            "in any order; test series by fit and identify"
        )
    if value_of(Keep, model.keep).save_null is not None:
        raise ValueError(
            "keep=Keep(save_null=...) must be None in folds: permuted maps are counted "
            "as they are made; leave it out, or use fit and identify"
        )


def _exchange(model, shown, groups, folds):
    """Return the FoldExchange of a test; None if there is none.

    `groups` (n_samples,) are runs within which stimuli are exchanged, or None.
    """
    if not model.n_permutations:
        return None
    X, samples, codes, _ = shown
    given = {"stimuli": codes, "groups": groups, "repeats": "average"}
    paired = pair_responses(samples.X, len(X), **given)
    others = exchanged(
        paired.codes,
        exchange="rows",
        groups=paired.groups,
        n_permutations=model.n_permutations,
        random_state=model.random_state,
    )
    stimulus = np.empty((len(others), len(X)), dtype=int)
    stimulus[:, paired.codes] = others
    return FoldExchange(model, shown, stimulus[:, codes], folds)


def fold_experiment(model, shown, folds, groups=None):
    """Return an Experiment in folds, what its test points are, and notes.

    That is the stimuli tested (n_test,), and their order in the responses (n_test,).
    `shown` are the Shown stimuli and responses, `folds` the stimuli tested in each,
    `groups` those of the responses in permutations, for the record.
    """
    X, samples, codes, _ = shown
    given = {"stimuli": codes, "groups": groups, "repeats": model.repeats}
    paired = pair_responses(samples.X, len(X), **given)
    parts, rules = [], []
    for fold in train_folds(model, shown, paired, folds):
        parts.append(fold.part)
        rules.append(fold.rule(model)[0])
        notes = fold.notes
    experiment = stack_folds(paired, parts, samples.usable, len(folds[0]))
    if model.rule == "auto":
        notes = (*notes, _CHOSEN.format(rules=", ".join(rules)))
    rule = rules[0] if len(set(rules)) == 1 else ",".join(rules)
    rows = np.concatenate([rows for rows, *_ in parts])
    tested = paired.codes[rows], np.argsort(rows)
    return experiment._replace(rule=rule), tested, notes


def _candidates_per_fold(n_stimuli, n_folds):
    """Return how many stimuli each fold tests; ValueError if they are too few."""
    check_integer(n_folds, "n_folds", minimum=2)
    n_candidates = n_stimuli // n_folds
    if n_candidates < 2:
        raise ValueError(
            f"n_folds={n_folds} folds of {n_stimuli} stimuli leave fewer than two "
            "candidates in each; lower n_folds"
        )
    return n_candidates


def _check_complete(codes, n_stimuli):
    """Raise if a stimulus has no response."""
    missing = np.setdiff1d(np.arange(n_stimuli), codes)
    if missing.size:
        raise ValueError(
            f"{missing.size} stimuli have no response (first: row {missing[0]} of "
            "features); leave them out"
        )
