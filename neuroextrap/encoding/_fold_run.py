"""Identification fold by fold: every stimulus is tested once."""

import numpy as np

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._doubts import check_copies_apart
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._encoder_groups import training_groups
from neuroextrap.encoding._experiment import make_plan, stack_folds
from neuroextrap.encoding._response_noise import separate_repeats
from neuroextrap.encoding._run import EncodingRun, residual_notes
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    candidate_names,
    check_candidates,
    check_features,
    pair_responses,
    rows_of_stimuli,
)
from neuroextrap.encoding._training import (
    encoder_of_columns,
    noise_rows,
    train_encoder,
)
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats._validation import check_integer

_LEFT_OVER = (
    "{n_left} of {n_stimuli} stimuli were trained on only, so that all folds have "
    "{n_candidates} candidates"
)


def plan_folds(model, features, imgs, *, stimuli, n_folds):
    """Train on all folds but one, for each; plan the identification of all.

    `model` is an EncodingIdentification, the others came to ``identify_folds``. Returns
    EncodingRun.
    """
    parameters = RunParameters.of(model)
    _check_model(model)
    X, names = check_features(features), candidate_names(features)
    stimuli = rows_of_stimuli(stimuli, names)
    check_candidates(X, 0, frozenset())
    n_candidates = _candidates_per_fold(len(X), n_folds)
    samples = read_samples(
        model.mask,
        imgs,
        n_samples=len(X) if stimuli is None else len(stimuli),
        counted="features" if stimuli is None else "stimuli",
        dtype=None,
        memory=model.memory,
    )
    paired = pair_responses(samples.X, len(X), stimuli=stimuli, repeats=model.repeats)
    codes = np.arange(len(X)) if stimuli is None else np.asarray(stimuli, dtype=int)
    _check_complete(codes, len(X))
    check_copies_apart(samples.X[:, samples.usable], codes, "stimuli")
    parts, notes = train_folds(model, X, samples, codes, paired, n_folds)
    experiment = stack_folds(paired, parts, samples.usable, n_candidates)
    experiment = experiment._replace(rule=model.rule)
    set_sizes = parameters.resolve_set_sizes(n_candidates)
    plan, plan_notes = make_plan(model, experiment, set_sizes)
    choice = parameters.choose_regions(samples.masker, len(samples.usable))
    usable = parameters.usable_regions(choice, experiment.usable)
    n_left = len(X) - n_folds * n_candidates
    left = _LEFT_OVER.format(n_left=n_left, n_stimuli=len(X), n_candidates=n_candidates)
    notes = (
        *samples.notes,
        *notes,
        *([left] if n_left else []),
        *plan_notes,
        *residual_notes(model, experiment, usable),
    )
    return EncodingRun(
        parameters=parameters,
        rows=experiment.rows,
        masker=samples.masker,
        choice=choice,
        usable=usable,
        plan=plan,
        bounds=BoundDesign(None, np.empty((0, len(experiment.codes))), plan_notes),
        classes=np.arange(n_candidates),
        test_codes=experiment.codes,
        set_sizes=set_sizes,
        notes=notes,
        bg_img=samples.bg_img,
        test=experiment,
        location=samples.location,
        test_stimuli=_tested(paired.codes, parts, names),
    )


def _check_model(model):
    """Raise ValueError for what folds cannot give."""
    if model.rule == "auto":
        raise ValueError(
            "rule='auto' chooses by training data and needs a test set of its own; in "
            "folds, compare the rules, or name one"
        )
    if model.n_permutations:
        raise ValueError(
            f"n_permutations={model.n_permutations} must be 0 in folds: p-values would "
            "come out too small, as what is tested in one fold trains the models of "
            "the others; use fit and identify with a test set of its own"
        )


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
    """Raise where a stimulus has no response."""
    missing = np.setdiff1d(np.arange(n_stimuli), codes)
    if missing.size:
        raise ValueError(
            f"{missing.size} stimuli have no response (first: row {missing[0]} of "
            "features); leave them out"
        )


def train_folds(model, X, samples, codes, paired, n_folds, groups=None):
    """Train without the stimuli of each random fold in turn; return parts and notes.

    `X` are features of the stimuli, `codes` (n_samples,) the stimulus of each of the
    `samples`, `paired` their TestSet, `groups` those of ``fit``. Parts are what
    ``stack_folds`` takes.
    """
    parts, notes = [], ()
    n_candidates = len(X) // n_folds
    for fold in deal_folds(len(X), n_folds, model.random_state):
        held_out = fold[:n_candidates]
        part, notes = _fold(model, X, samples, codes, held_out, groups)
        tested = np.flatnonzero(np.isin(paired.codes, held_out))
        places = np.searchsorted(held_out, paired.codes[tested])
        parts.append((tested, places, *part))
    return parts, notes


def _fold(model, X, samples, codes, held_out, groups):
    """Train without the stimuli of one fold.

    Returns ((predictions, residuals, location), notes): of all voxels, about the mean
    training response `location` (n_features,); residuals with repeats separated.
    """
    train = ~np.isin(codes, held_out)
    x = X[codes[train]]
    scaling = FeatureScaling.of(x, model.standardize)
    groups = None if groups is None else groups[train]
    groups, notes = training_groups(scaling.varying(x), groups)
    usable = samples.usable
    location = samples.X[train].mean(axis=0, dtype=np.float64)
    trained = train_encoder(
        encoder_of_columns(model.encoder, scaling.kept),
        scaling(x),
        (samples.X[train] - location)[:, usable].astype(samples.X.dtype),
        residuals=model.residuals,
        cv=model.cv,
        groups=groups,
        random_state=model.random_state,
    )
    predictions = np.zeros((len(held_out), len(usable)))
    values = trained.encoder.predict(scaling(X[held_out]))
    predictions[:, usable] = values.reshape(len(held_out), -1)
    residuals = noise_rows(
        model.noise_covariance, trained.residuals, usable, samples.masker
    )
    stimuli = codes[train] if model.noise_covariance is None else None
    found = predictions, separate_repeats(residuals, stimuli), location
    return found, (*scaling.notes, *notes, *trained.notes)


def _tested(codes, parts, names):
    """Names, or rows, of the stimuli of all test points, (n_test,)."""
    rows = np.concatenate([codes[tested] for tested, *_ in parts])
    return rows if names is None else names[rows]
