"""Training in folds of stimuli, and what training data choose by it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone

from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.encoding._experiment import stack_folds
from neuroextrap.encoding._margins import EncodingMargins, separate_repeats
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    pair_responses,
    paired_in_blocks,
)
from neuroextrap.encoding._stimulus_features import stimulus_numbers, training_groups
from neuroextrap.encoding._training import (
    chosen_encoder,
    encoder_of_columns,
    noise_rows,
    train_encoder,
)
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats import win_distribution

_FEWEST = 4
"""Temperatures are learned from at least as many responses."""
_RANGE = (-3.0, 5.0)
"""Of the logarithm of the temperature, about that of the squared distances."""
_CALIBRATION = 20.0
"""Weight of calibration in the large beside the likelihood, which is flat about its
best: nats for each squared difference of mean largest posterior and accuracy."""


def temperature(margins, codes, n_features):
    """Return the temperature T by which margins become calibrated log likelihoods.

    Margins take the estimated covariance for the true one, and predictions for free of
    error, so that a posterior made of them as they are is too certain, the more so the
    fewer training data there are for the `n_features` voxels. T maximizes the mean log
    posterior of the true candidates `codes` (n,) of `margins` (n, K), less a penalty
    for a mean largest posterior that is not the accuracy. Margins come from responses
    whose predictions and covariance were made without them. 1 for fewer than four.

    Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural networks".
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

    return start * float(
        np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x)
    )


_N_FOLDS, _N_CALIBRATION_FOLDS = 5, 10
_FEWEST_STIMULI = 4
_OF_TRAINING = ("standardize", "cv", "repeats", "random_state")
_AUTO = ("mahalanobis", "correlation")  # what rule="auto" chooses from
_MOST_REGIONS = 100
_SHARE = 0.5
"""Regions count that are explained at least this well, relative to the best one."""


class Shown(NamedTuple):
    """Responses, and the stimuli that they belong to."""

    X: np.ndarray  # features of every stimulus, (n_stimuli, n_columns)
    samples: Any  # Samples: the responses
    codes: np.ndarray  # row of the features of each response, (n_samples,)
    groups: np.ndarray | None = None  # that cross-validation keeps together

    @classmethod
    def of(cls, X, samples, groups):
        """Tell stimuli by the features of every response, (n_samples, n_columns)."""
        codes = stimulus_numbers(X)
        return cls(X[np.unique(codes, return_index=True)[1]], samples, codes, groups)


class TrainedFold(NamedTuple):
    """What a fold adds to an Experiment, and the data that it was trained on."""

    part: tuple  # what ``stack_folds`` takes
    notes: tuple
    X: np.ndarray  # features of the training responses
    samples: Any  # Samples: these responses, about their means
    groups: np.ndarray | None  # that cross-validation keeps together
    residuals: np.ndarray  # of the encoder, (n_train, n_usable)

    def rule(self, model):
        """Return the rule that a model names, or its training data choose; notes."""
        return training_rule(model, self.X, self.samples, self.groups, self.residuals)


def train_folds(model, shown, paired, folds):
    """Train without the stimuli of each fold in turn; yield TrainedFold.

    `shown` are the Shown stimuli and responses, `paired` their TestSet, `folds` the
    stimuli tested in each.
    """
    for held_out in folds:
        tested = np.flatnonzero(np.isin(paired.codes, held_out))
        if model.repeats == "average":  # stimulus i of the fold is row i
            tested = tested[np.argsort(paired.codes[tested])]
        places = np.searchsorted(held_out, paired.codes[tested])
        trained = _trained_fold(model, shown, held_out)
        yield trained._replace(part=(tested, places, *trained.part))


def _trained_fold(model, shown, held_out):
    """Train without the stimuli of one fold; return TrainedFold.

    Its ``part`` is (predictions, residuals, location): of all voxels, about the mean
    training response `location` (n_features,); residuals with repeats separated. Rows
    are trained on in the order of their stimuli, whatever their own: the encoder's
    folds are then folds of stimuli in every permutation as in the data, as an exact
    test requires.
    """
    X, samples, codes, groups = shown
    train = np.flatnonzero(~np.isin(codes, held_out))
    train = train[np.argsort(codes[train], kind="stable")]
    x = X[codes[train]]
    scaling = FeatureScaling.of(x, model.standardize)
    groups = None if groups is None else groups[train]
    groups, notes = training_groups(stimulus_numbers(scaling.varying(x)), groups)
    usable = samples.usable
    location = samples.X[train].mean(axis=0, dtype=np.float64)
    responses = (samples.X[train] - location).astype(samples.X.dtype)
    given = {"cv": model.cv, "random_state": model.random_state}
    # by all folds' stimuli, so that it is the same in all of them
    encoder, more = chosen_encoder(model.encoder, len(np.unique(codes)), **given)
    trained = train_encoder(
        encoder_of_columns(encoder, scaling.kept),
        scaling(x),
        responses[:, usable],
        groups=groups,
        **given,
    )
    predictions = np.zeros((len(held_out), len(usable)))
    values = trained.encoder.predict(scaling(X[held_out]))
    predictions[:, usable] = values.reshape(len(held_out), -1)
    residuals = noise_rows(
        model.noise_covariance, trained.residuals, usable, samples.masker
    )
    stimuli = codes[train] if model.noise_covariance is None else None
    return TrainedFold(
        (predictions, separate_repeats(residuals, stimuli), location),
        (*scaling.notes, *notes, *more),
        x,
        samples._replace(X=responses),
        groups,
        trained.residuals,
    )


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
    shown = Shown.of(X, few, groups)
    if len(shown.X) < _FEWEST_STIMULI:
        raise ValueError(
            f"rule='auto' needs {_FEWEST_STIMULI} training stimuli or more to choose "
            f"by, got {len(shown.X)}; name the rule"
        )
    n_folds = min(_N_FOLDS, len(shown.X) // 2)
    experiment = _training_experiment(model, shown, n_folds)
    accuracy = {rule: _accuracy(experiment, regions, rule) for rule in _AUTO}
    best = max(_AUTO, key=accuracy.__getitem__)  # the first of equal ones
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


def _training_experiment(model, shown, n_folds, number=None, candidates=None):
    """Make an Experiment of the training data, fold by fold.

    `number` responses to a stimulus (at most as many as there are) are averaged into
    a test point; None averages, or keeps, them as the model says. Features of further
    `candidates` (K, n_columns) come after those of the fold.
    """
    n_stimuli = len(shown.X)
    given = {"stimuli": shown.codes, "repeats": model.repeats}
    paired = pair_responses(shown.samples.X, n_stimuli, **given)
    if number is not None:
        paired = paired_in_blocks(shown.samples.X, shown.codes, number)
    folds = deal_folds(n_stimuli, n_folds, model.random_state)
    folds = [fold[: min(map(len, folds))] for fold in folds]
    if candidates is not None:
        shown = shown._replace(X=np.concatenate([shown.X, candidates]))
        more = np.arange(n_stimuli, len(shown.X))
        folds = [np.concatenate([fold, more]) for fold in folds]
    parts = [fold.part for fold in train_folds(model, shown, paired, folds)]
    return stack_folds(paired, parts, shown.samples.usable, len(folds[0]))


@dataclass(frozen=True)
class TrainingData:
    """Training stimuli and responses, by which posteriors learn how certain to be.

    ``model`` is an EncodingIdentification that need not be fitted; ``noise``
    (n_observations, n_features) are its residuals, if the user gave them, and
    ``candidates`` (K, n_columns) features of the test.
    """

    model: Any
    shown: Shown
    noise: np.ndarray | None = None
    candidates: Any = None

    @classmethod
    def of(cls, model, encoder, shown, noise, candidates=None):
        """Keep copies of the parameters of `model` that matter, with this encoder."""
        given = {name: getattr(model, name) for name in _OF_TRAINING}
        copy = clone(type(model)(encoder=encoder, **given))
        return cls(copy, shown, noise, candidates)

    def margins(self, voxels, number, rule):
        """Identify averages of `number` training responses in a region, in folds.

        Beside the true one, candidates are those of the test: their number and
        likeness decide what a temperature has to be. `voxels` are those of the region,
        `rule` that of the margins. Returns margins (n, K), the true candidate first;
        none of fewer than four stimuli.
        """
        if len(self.shown.X) < _FEWEST_STIMULI:
            return np.empty((0, len(self.candidates)))
        samples = self.shown.samples
        part = samples._replace(
            X=samples.X[:, voxels], usable=samples.usable[voxels], masker=None
        )
        noise = None if self.noise is None else self.noise[:, voxels]
        model = with_parameters(self.model, noise_covariance=noise)
        experiment = _training_experiment(
            model,
            self.shown._replace(samples=part),
            _N_CALIBRATION_FOLDS,
            number,
            self.candidates,
        )
        source = EncodingMargins(experiment.repeats, rule)
        margins = source.margins([experiment.rows], experiment.layout)[..., 0]
        true = np.take_along_axis(margins, experiment.codes[:, np.newaxis], axis=1)
        others = margins[:, margins.shape[1] - len(self.candidates) + 1 :]
        return np.concatenate([true, others], axis=1)


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


def _accuracy(experiment, regions, rule):
    """Return the accuracy among the candidates of a fold, averaged over regions."""
    source = EncodingMargins(experiment.repeats, rule)
    shares = [
        win_distribution(
            source.margins([experiment.rows[:, voxels]], experiment.layout)[..., 0],
            experiment.codes,
        )[-1]
        for voxels in regions
    ]
    return float(np.mean(shares))
