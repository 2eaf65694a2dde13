"""Identification fold by fold: a run, and the rule that training data choose."""

import numpy as np

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._copies import check_copies_apart
from neuroextrap.encoding._encoding_run import planned_run
from neuroextrap.encoding._experiment import stack_folds
from neuroextrap.encoding._margins import RULES, EncodingMargins, separate_repeats
from neuroextrap.encoding._same_stimuli import (
    check_candidates,
    stimulus_numbers,
    training_groups,
)
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    candidate_names,
    check_features,
    pair_responses,
    response_rows,
    rows_of_stimuli,
)
from neuroextrap.encoding._training import (
    encoder_of_columns,
    noise_rows,
    train_encoder,
)
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats import win_distribution
from neuroextrap.stats._validation import check_integer

_LEFT_OVER = (
    "{n_left} of {n_stimuli} stimuli were trained on only, so that all folds have "
    "{n_candidates} candidates"
)
_N_FOLDS = 5
_FEWEST_STIMULI = 4
_MOST_REGIONS = 100
_SHARE = 0.5
"""Regions count that are explained at least this well, relative to the best one."""


def plan_folds(model, features, imgs, *, stimuli, n_folds):
    """Train on all folds but one, for each; plan the identification of all.

    `model` is an EncodingIdentification, the others came to ``identify_folds``. Returns
    EncodingRun.
    """
    RunParameters.of(model)  # refuses what no run could use
    _check_model(model)
    X, names = check_features(features), candidate_names(features)
    check_candidates(X, 0, names=names)
    stimuli = rows_of_stimuli(stimuli, names)
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
    paired = pair_responses(samples.X, len(X), stimuli=stimuli, repeats=model.repeats)
    codes = np.arange(len(X)) if stimuli is None else np.asarray(stimuli, dtype=int)
    _check_complete(codes, len(X))
    check_copies_apart(samples.X[:, samples.usable], codes, "stimuli")
    parts, notes = train_folds(model, X, samples, codes, paired, n_folds)
    experiment = stack_folds(paired, parts, samples.usable, n_candidates)
    experiment = experiment._replace(rule=model.rule)
    n_left = len(X) - n_folds * n_candidates
    left = _LEFT_OVER.format(n_left=n_left, n_stimuli=len(X), n_candidates=n_candidates)
    rows = np.concatenate([paired.codes[tested] for tested, *_ in parts])
    return planned_run(
        model,
        experiment,
        masker=samples.masker,
        classes=np.arange(n_candidates),
        notes=(*samples.notes, *notes, *([left] if n_left else [])),
        bg_img=samples.bg_img,
        location=samples.location,
        test_stimuli=rows if names is None else names[rows],
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
    """Raise if a stimulus has no response."""
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
        if model.repeats == "average":  # stimulus i of the fold is row i
            tested = tested[np.argsort(paired.codes[tested])]
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
    groups, notes = training_groups(stimulus_numbers(scaling.varying(x)), groups)
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


def training_rule(model, X, samples, groups, residuals):
    """Return the rule of a model's margins and notes; "auto" asks the training data.

    `X` are features of the training responses `samples`, `residuals` (n_samples,
    n_usable) those of the encoder. The stimuli are divided into folds, and those of
    each are identified by an encoder and a noise covariance of only the others:
    predictions and residuals of the encoder's own folds would not do, as a residual
    depends on the responses that its encoder was trained on, and a covariance of them
    knows the noise of the response to be identified. The rule that identifies more
    wins, on average over the regions that are predicted best: at most 100, of at least
    half the explained variance of the best one. The test data have no say, so bounds
    and p-values hold as without a choice.
    """
    if model.rule != "auto":
        return model.rule, ()
    regions = _best_regions(model, samples, residuals)
    needed = np.zeros(len(samples.usable), dtype=bool)
    needed[np.concatenate(regions)] = True
    few = samples._replace(usable=samples.usable & needed)
    experiment = _training_experiment(model, X, few, groups)
    accuracy = {rule: _accuracy(model, experiment, regions, rule) for rule in RULES}
    best = max(RULES, key=accuracy.__getitem__)  # the first of equal ones
    where = "in the region that is predicted best"
    if len(regions) > 1:
        where = f"average of the {len(regions)} regions that are predicted best"
    shares = ", ".join(f"{rule} {share:.3f}" for rule, share in accuracy.items())
    note = (
        f"rule={best!r} was chosen by the training data: accuracy among "
        f"{experiment.n_candidates} of the stimuli that were trained on, in folds, "
        f"{shares} ({where})"
    )
    return best, (note,)


def _training_experiment(model, X, samples, groups):
    """Make an Experiment of the training data, fold by fold."""
    codes = stimulus_numbers(X)
    n_stimuli = codes.max() + 1
    n_folds = min(_N_FOLDS, n_stimuli // 2)
    if n_stimuli < _FEWEST_STIMULI:
        raise ValueError(
            f"rule='auto' needs {_FEWEST_STIMULI} training stimuli or more to choose "
            f"by, got {n_stimuli}; name the rule"
        )
    _, first = np.unique(codes, return_index=True)
    paired = pair_responses(samples.X, n_stimuli, stimuli=codes, repeats=model.repeats)
    parts, _ = train_folds(model, X[first], samples, codes, paired, n_folds, groups)
    return stack_folds(paired, parts, samples.usable, n_stimuli // n_folds)


def _best_regions(model, samples, residuals):
    """Return the voxels of each region in which responses are predicted best."""
    parameters = RunParameters.of(model)
    choice = parameters.choose_regions(samples.masker, len(samples.usable))
    regions = parameters.usable_regions(choice, samples.usable).regions
    explained = np.zeros(len(samples.usable))
    total = np.square(samples.X[:, samples.usable], dtype=np.float64).sum(axis=0)
    left = np.square(residuals, dtype=np.float64).sum(axis=0)
    explained[samples.usable] = np.maximum(0, 1 - left / total)
    sizes = np.diff(regions.indptr)
    score = (regions.astype(float) @ explained) / np.maximum(1, sizes)
    order = np.argsort(-score, kind="stable")[:_MOST_REGIONS]
    kept = order[(sizes[order] > 0) & (score[order] >= _SHARE * score[order[0]])]
    return [
        regions.indices[regions.indptr[region] : regions.indptr[region + 1]]
        for region in kept
    ]


def _accuracy(model, experiment, regions, rule):
    """Return the accuracy among the candidates of a fold, averaged over regions."""
    source = EncodingMargins(experiment.repeats, model.covariance, rule)
    shares = [
        win_distribution(
            source.margins([experiment.rows[:, voxels]], experiment.layout)[..., 0],
            experiment.codes,
        )[-1]
        for voxels in regions
    ]
    return float(np.mean(shares))
