"""Plans of identification: of a test set, or of every stimulus, fold by fold."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.analysis._values import Keep
from neuroextrap.design._copies import check_copies_apart, check_new_rows
from neuroextrap.design._series import exchanged
from neuroextrap.encoding._encoding_run import planned_run
from neuroextrap.encoding._experiment import Experiment, Part
from neuroextrap.encoding._margins import separate_repeats
from neuroextrap.encoding._stimuli import (
    candidate_names,
    check_feature_names,
    check_features,
    pair_responses,
    response_rows,
    rows_of_stimuli,
)
from neuroextrap.encoding._stimulus_features import check_candidates
from neuroextrap.encoding._training import some_responses
from neuroextrap.encoding._training_folds import Shown, train_folds, training_rule
from neuroextrap.maps._records import value_of
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats._validation import check_integer

_LEFT_OVER = (
    "{n_left} of {n_stimuli} stimuli were trained on only, so that all folds have "
    "{n_candidates} candidates"
)
_CHOSEN = "rule='auto' chose, in each fold by its own training data: {rules}"


def plan_identification(model, training, candidates, test):
    """Plan the run of a test set, by what came to ``identify``; return EncodingRun.

    `training` is what the `model` keeps of its training data; `candidates` are features
    and distractors, `test` images, stimuli, groups and the number averaged.
    """
    RunParameters.of(model)  # refuses what no run could use
    imgs, stimuli, groups, averaged = test
    for table, name in zip(candidates, ("features", "distractors"), strict=True):
        check_feature_names(table, getattr(model, "feature_names_in_", None), name)
    features, distractors = candidates
    names = candidate_names(features, distractors)
    tested, candidates = _candidates(features, distractors, training, names)
    stimuli = rows_of_stimuli(stimuli, features)
    samples = read_samples(model.masker_, imgs, dtype=None)
    if samples.X.shape[1] != model.n_elements_:
        raise ValueError(
            f"imgs has {samples.X.shape[1]} voxels, the model was trained on "
            f"{model.n_elements_}; give responses of the same voxels"
        )
    finite = model.usable_ & samples.finite
    if finite.sum() == model.usable_.sum():
        check_new_rows(training.responses, some_responses(samples, model.usable_))
    paired = pair_responses(
        samples.X + samples.location,
        len(tested),
        stimuli=stimuli,
        groups=groups,
        repeats=model.repeats,
        averaged=averaged,
    )
    tested, codes = np.arange(len(paired.codes)), paired.codes
    predictions = model._predict(candidates) - training.location
    residuals, n_stimuli = separate_repeats(model.residuals_, training.stimuli)
    part = Part(tested, codes, predictions, residuals, n_stimuli, training.location)
    experiment = Experiment.of(
        paired, [part], finite, in_folds=False, rule=training.rule
    )
    classes = np.arange(len(candidates)) if names is None else names
    return planned_run(
        model,
        experiment,
        masker=model.masker_,
        classes=classes,
        notes=training.notes,
        bg_img=samples.bg_img,
        location=training.location,
        test_stimuli=classes[experiment.codes],
        training=replace(training.data, candidates=candidates),
    )


def _candidates(features, distractors, training, names):
    """Return features of the tested stimuli, and of these with the distractors."""
    scaling = training.scaling
    n_columns = len(scaling.kept)
    tested = candidates = check_features(features, n_columns=n_columns)
    if distractors is not None:
        more = check_features(distractors, "distractors", n_columns)
        candidates = np.concatenate([tested, more])
    # candidates that differ only in dropped columns are the same to the model
    varying = scaling.varying(candidates)
    check_candidates(varying, len(tested), training.shown, names)
    return tested, candidates


@dataclass(frozen=True)
class FoldExchange:
    """Experiments in folds of stimuli that are exchanged before anything is fitted."""

    model: Any
    shown: Shown
    codes: np.ndarray  # stimuli of the responses, (n_permutations, n_samples)
    folds: list  # of stimuli, whatever the permutation

    def experiment(self, codes):
        """Return the Experiment of a permutation, of stimuli (n_samples,)."""
        shown = self.shown._replace(codes=codes)
        return fold_experiment(self.model, shown, self.folds)[0]


def plan_folds(model, features, imgs, *, stimuli, groups, n_folds):
    """Plan the run of all folds, by what came to ``identify_folds``; EncodingRun."""
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
    """Return the FoldExchange of a test within `groups`; None if there is none."""
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
    """
    X, samples, codes, _ = shown
    given = {"stimuli": codes, "groups": groups, "repeats": model.repeats}
    paired = pair_responses(samples.X, len(X), **given)
    parts, rules = [], []
    for part, learned in train_folds(model, shown, paired, folds):
        parts.append(part)
        rules.append(training_rule(model, learned)[0])
    notes = learned.notes
    if model.rule == "auto":
        notes = (*notes, _CHOSEN.format(rules=", ".join(rules)))
    rule = rules[0] if len(set(rules)) == 1 else ",".join(rules)
    experiment = Experiment.of(paired, parts, samples.usable, in_folds=True, rule=rule)
    rows = np.concatenate([part.tested for part in parts])
    return experiment, (paired.codes[rows], np.argsort(rows)), notes


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
