"""Training, on all stimuli or in folds of them, and what training data choose by it."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone

from neuroextrap.analysis._analysis_files import source_files
from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.design._permutations import exchanged
from neuroextrap.encoding._experiment import Experiment, Part
from neuroextrap.encoding._margins import separate_repeats
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    feature_names,
    features_of_responses,
    pair_responses,
    paired_in_blocks,
)
from neuroextrap.encoding._stimulus_features import (
    names_of_stimuli,
    stimulus_numbers,
    training_groups,
)
from neuroextrap.encoding._training import (
    chosen_encoder,
    encoder_of_columns,
    noise_rows,
    read_responses,
    train_encoder,
    voxel_penalties,
)
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats import win_distribution

_FEWEST = 4  # responses that temperatures are learned from
_RANGE = (-3.0, 5.0)  # of log temperature, about that of the squared distances
# weight of calibration in the large beside the likelihood, which is flat about its
# best: nats for each squared difference of mean largest posterior and accuracy
_CALIBRATION = 20.0


def temperature(margins, codes, n_features):
    """Return the temperature T by which margins become calibrated log likelihoods.

    Margins take covariance and predictions for free of error, and are too certain. T
    maximizes the mean log posterior of the true candidates `codes` (n,) of `margins`
    (n, K), of responses that did not train, less a penalty for a mean largest posterior
    that is not the accuracy (Guo, Pleiss, Sun & Weinberger 2017). 1 for fewer than 4.
    """
    if len(codes) < _FEWEST:
        return 1.0
    true = margins[np.arange(len(codes)), codes]
    # were all as it is taken to be, -2 M of the true candidate would be chi-squared
    start = max(-2 * true.mean() / n_features, np.finfo(float).tiny)
    accuracy = np.mean(margins.argmax(axis=1) == codes)

    def loss(log_ratio):
        logs = log_softmax(np.exp(-log_ratio) / start * margins, axis=1)
        likelihood = logs[np.arange(len(codes)), codes].mean()
        excess = np.exp(logs.max(axis=1)).mean() - accuracy
        # held where nothing is ever confused, which any small temperature explains
        return log_ratio**2 / len(true) - likelihood + _CALIBRATION * excess**2

    best = minimize_scalar(loss, bounds=_RANGE, method="bounded").x
    return start * float(np.exp(best))


_N_FOLDS, _N_CALIBRATION_FOLDS = 5, 10
_FEWEST_STIMULI = 4
_AUTO = ("mahalanobis", "correlation")  # what rule="auto" chooses from
_MOST_REGIONS = 100
_CHOSEN = "rule='auto' chose, in each fold by its own training data: {rules}"
_SHARE = 0.5  # of what the best region explains, from which others count


class Trials(NamedTuple):
    """Responses, and the stimuli that they belong to."""

    X: np.ndarray  # features of every stimulus, (n_stimuli, n_columns)
    samples: Any  # Samples: the responses
    codes: np.ndarray  # row of the features of each response, (n_samples,)
    groups: np.ndarray | None = None  # that cross-validation keeps together

    @classmethod
    def of(cls, X, samples, codes, groups):
        """Take stimuli from the features of every response, (n_samples, n_columns)."""
        return cls(X[np.unique(codes, return_index=True)[1]], samples, codes, groups)

    def paired(self, repeats, groups=None):
        """Pair all responses with their stimuli; a TestSet."""
        given = {"stimuli": self.codes, "groups": groups, "repeats": repeats}
        return pair_responses(self.samples.X, len(self.X), **given)


class Learned(NamedTuple):
    """What an EncodingIdentification has learned from responses, and these."""

    trials: Trials  # the responses about their means, and their stimuli
    scaling: FeatureScaling
    encoder: Any  # fitted on the usable voxels
    residuals: np.ndarray  # of these out of fold, float32 (n_samples, n_usable)
    noise: np.ndarray  # residuals of all voxels, (n_observations, n_features)
    notes: tuple

    @classmethod
    def of(cls, model, X, trials, scaling, n_stimuli) -> Self:
        """Train the model's encoder, or the default one of `n_stimuli`."""
        given = {"cv": model.cv, "random_state": model.random_state}
        encoder, notes = chosen_encoder(
            model.encoder, n_stimuli, n_jobs=model.n_jobs, **given
        )
        samples, given = trials.samples, given | {"groups": trials.groups}
        responses = samples.X[:, samples.usable]
        encoder = encoder_of_columns(encoder, scaling.kept)
        fitted, residuals = train_encoder(encoder, scaling(X), responses, **given)
        how = residuals, samples.usable, samples.masker
        noise = noise_rows(model.noise_covariance, *how)
        return cls(trials, scaling, fitted, residuals, noise, notes)


def train_folds(model, trials, paired, folds):
    """Train without the stimuli of each fold; yield its `Part` and what is Learned."""
    for held_out in folds:
        tested = np.flatnonzero(np.isin(paired.codes, held_out))
        if model.repeats == "average":  # stimulus i of the fold is row i
            tested = tested[np.argsort(paired.codes[tested])]
        places = np.searchsorted(held_out, paired.codes[tested])
        learned, stimuli = _learn_others(model, trials, held_out)
        usable = learned.trials.samples.usable
        location = learned.trials.samples.location
        predictions = np.zeros((len(held_out), len(usable)))
        predicted = learned.encoder.predict(learned.scaling(trials.X[held_out]))
        predictions[:, usable] = predicted.reshape(len(held_out), -1)
        noise, n_stimuli = separate_repeats(learned.noise, stimuli)
        yield Part(tested, places, predictions, noise, n_stimuli, location), learned


def _learn_others(model, trials, held_out):
    """Return what is Learned without some stimuli, and the stimuli of its noise.

    Rows are trained on in the order of their stimuli, whatever their own: the encoder's
    folds are then folds of stimuli in every permutation as in the data, as an exact
    test requires.
    """
    X, samples, codes, groups = trials
    train = np.flatnonzero(~np.isin(codes, held_out))
    train = train[np.argsort(codes[train], kind="stable")]
    x = X[codes[train]]
    scaling = FeatureScaling.of(x, model.standardize)
    numbers = stimulus_numbers(scaling.varying(x))
    groups = None if groups is None else groups[train]
    groups, notes = training_groups(numbers, groups)
    location = samples.X[train].mean(axis=0, dtype=np.float64)
    responses = (samples.X[train] - location).astype(samples.X.dtype)
    samples = samples._replace(X=responses, location=location)
    others = Trials.of(x, samples, numbers, groups)
    # an encoder for all folds' stimuli is the same in all of them
    learned = Learned.of(model, x, others, scaling, len(np.unique(codes)))
    learned = learned._replace(notes=(*scaling.notes, *notes, *learned.notes))
    return learned, codes[train] if model.noise_covariance is None else None


def training_rule(model, learned):
    """Return the rule of a model's margins and notes; "auto" asks the training data.

    The stimuli of a fold are identified by an encoder and a covariance of only the
    others: a covariance of residuals of the encoder's own folds knows the noise of the
    response to be identified. The test data have no say: bounds and p-values hold.
    """
    if model.rule != "auto":
        return model.rule, ()
    regions, trials = _best_regions(model, learned), learned.trials
    needed = np.zeros_like(trials.samples.usable)
    needed[np.concatenate(regions)] = True
    few = trials.samples._replace(usable=trials.samples.usable & needed)
    if len(trials.X) < _FEWEST_STIMULI:
        raise ValueError(
            f"rule='auto' needs {_FEWEST_STIMULI} training stimuli or more to choose "
            f"by, got {len(trials.X)}; name the rule"
        )
    n_folds = min(_N_FOLDS, len(trials.X) // 2)
    experiment = _training_experiment(model, trials._replace(samples=few), n_folds)
    accuracy = {rule: _accuracy(experiment, regions, rule) for rule in _AUTO}
    best = max(_AUTO, key=accuracy.__getitem__)  # the first of equal ones
    return best, (_note_of_choice(best, accuracy, experiment, len(regions)),)


def _note_of_choice(best, accuracy, experiment, n_regions):
    """Say which rule the training data have chosen, and by what accuracies."""
    where = "in the region that is predicted best"
    if n_regions > 1:
        where = f"average of the {n_regions} regions that are predicted best"
    shares = ", ".join(f"{rule} {share:.3f}" for rule, share in accuracy.items())
    return (
        f"rule={best!r} was chosen by the training data: accuracy among "
        f"{experiment.n_candidates} of the stimuli that were trained on, in folds, "
        f"{shares} ({where})"
    )


def _training_experiment(model, trials, n_folds, number=None, candidates=None):
    """Make an Experiment in folds of training data, of averages of `number`."""
    n_stimuli, paired = len(trials.X), trials.paired(model.repeats)
    if number is not None:
        paired = paired_in_blocks(trials.samples.X, trials.codes, number)
    folds = deal_folds(n_stimuli, n_folds, model.random_state)
    folds = [fold[: min(map(len, folds))] for fold in folds]
    if candidates is not None:
        trials = trials._replace(X=np.concatenate([trials.X, candidates]))
        more = np.arange(n_stimuli, len(trials.X))
        folds = [np.concatenate([fold, more]) for fold in folds]
    parts = [part for part, _ in train_folds(model, trials, paired, folds)]
    return Experiment.of(paired, parts, trials.samples.usable)


def fold_experiment(model, trials, folds, groups=None):
    """Return an Experiment in folds, its tests' stimuli and order, and notes."""
    paired, usable = trials.paired(model.repeats, groups), trials.samples.usable
    parts, rules = [], []
    for part, learned in train_folds(model, trials, paired, folds):
        parts.append(part)
        rules.append(training_rule(model, learned)[0])
    notes = learned.notes
    if model.rule == "auto":
        notes = (*notes, _CHOSEN.format(rules=", ".join(rules)))
    rule = rules[0] if len(set(rules)) == 1 else ",".join(rules)
    experiment = Experiment.of(paired, parts, usable, rule)
    rows = np.concatenate([part.tested for part in parts])
    return experiment, (paired.codes[rows], np.argsort(rows)), notes


class FoldExchange(NamedTuple):
    """Stimuli in folds that are exchanged before anything is fitted."""

    model: Any
    trials: Trials
    codes: np.ndarray  # stimuli of the responses, (n_permutations, n_samples)
    folds: list  # of stimuli, whatever the permutation


def fold_exchange(model, trials, groups, folds):
    """Return the FoldExchange of a test within `groups`; None if there is none."""
    if not model.n_permutations:
        return None
    paired = trials.paired("average", groups)
    others = exchanged(
        paired.codes,
        exchange="rows",
        groups=paired.groups,
        n_permutations=model.n_permutations,
        random_state=model.random_state,
    )
    stimulus = np.empty((len(others), len(trials.X)), dtype=int)
    stimulus[:, paired.codes] = others
    return FoldExchange(model, trials, stimulus[:, trials.codes], folds)


class Training(NamedTuple):
    """What is kept of the training data, and by which posteriors are calibrated."""

    scaling: FeatureScaling  # of the stimulus features
    location: np.ndarray  # mean response of every voxel of shape (n_features,)
    model: Any = None  # EncodingIdentification, not fitted; None if it was not saved
    trials: Any = None  # Trials
    noise: np.ndarray | None = None  # (n_observations, n_features), if the user's own
    names: Any = None  # of the stimuli, where ``fit`` was told
    notes: tuple = ()
    rule: str = ""  # of the margins

    @classmethod
    def of(cls, model, encoder, scaling, trials, noise, **about) -> Self:
        """Keep copies of the parameters of `model` that matter, with this encoder."""
        of_training = type(model)(
            encoder=encoder,
            standardize=model.standardize,
            cv=model.cv,
            repeats=model.repeats,
            random_state=model.random_state,
        )
        copy = clone(of_training)
        return cls(scaling, trials.samples.location, copy, trials, noise, **about)

    def margins(self, voxels, number, rule, candidates):
        """Identify averages of `number` training responses by some voxels, in folds.

        Beside the true one, candidates (features) are those of the test: their number
        and likeness decide what a temperature has to be. Shape (n, K), the true first.
        """
        if len(self.trials.X) < _FEWEST_STIMULI:
            return np.empty((0, len(candidates)))
        samples = self.trials.samples
        part = samples._replace(
            X=samples.X[:, voxels], usable=samples.usable[voxels], masker=None
        )
        noise = None if self.noise is None else self.noise[:, voxels]
        model = with_parameters(self.model, noise_covariance=noise)
        trials, more = self.trials._replace(samples=part), (number, candidates)
        experiment = _training_experiment(model, trials, _N_CALIBRATION_FOLDS, *more)
        margins = experiment.margins(rule)
        true = np.take_along_axis(margins, experiment.codes[:, np.newaxis], axis=1)
        others = margins[:, margins.shape[1] - len(candidates) + 1 :]
        return np.concatenate([true, others], axis=1)


def trained_attributes(model, features, imgs, groups, stimuli):
    """Train an analysis on what came to ``fit``; return its attributes by name."""
    X, names = features_of_responses(features, stimuli)
    scaling = FeatureScaling.of(X, model.standardize)
    numbers = stimulus_numbers(scaling.varying(X))
    names = names_of_stimuli(numbers, names)
    groups, group_notes = training_groups(numbers, groups)
    samples = read_responses(model, imgs, X, stimuli)
    trials = Trials.of(X, samples, numbers, groups)
    learned = Learned.of(model, X, trials, scaling, len(trials.X))
    rule, rule_notes = training_rule(model, learned)
    noise = None if model.noise_covariance is None else learned.noise
    notes = (*samples.notes, *scaling.notes, *group_notes, *learned.notes, *rule_notes)
    given = model, model.encoder, scaling, trials, noise
    usable = samples.usable
    columns = feature_names(features)
    return ({} if columns is None else {"feature_names_in_": columns}) | {
        "encoder_": learned.encoder,
        "masker_": samples.masker,
        "penalties_": voxel_penalties(learned.encoder, usable),
        "usable_": usable,
        "n_elements_": len(usable),
        "residuals_": learned.noise,
        "_training_files": source_files(imgs),
        "_training": Training.of(*given, names=names, notes=notes, rule=rule),
    }


def _best_regions(model, learned):
    """Return the voxels of each region in which responses are predicted best."""
    parameters, samples = RunParameters.of(model), learned.trials.samples
    choice = parameters.choose_regions(samples.masker, len(samples.usable))
    regions = parameters.usable_regions(choice, samples.usable).regions
    explained = np.zeros(len(samples.usable))
    total = np.square(samples.X[:, samples.usable], dtype=np.float64).sum(axis=0)
    left = np.square(learned.residuals, dtype=np.float64).sum(axis=0)
    explained[samples.usable] = np.maximum(0, 1 - left / total)
    sizes = np.diff(regions.indptr)
    score = (regions.astype(float) @ explained) / np.maximum(1, sizes)
    order = np.argsort(-score, kind="stable")[:_MOST_REGIONS]
    kept = order[(sizes[order] > 0) & (score[order] >= _SHARE * score[order[0]])]
    return [regions.indices[slice(*regions.indptr[r : r + 2])] for r in kept]


def _accuracy(experiment, regions, rule):
    """Return the accuracy among the candidates of a fold, averaged over regions."""
    margins = (experiment.margins(rule, voxels) for voxels in regions)
    wins = [win_distribution(each, experiment.codes) for each in margins]
    return float(np.mean([distribution[-1] for distribution in wins]))
