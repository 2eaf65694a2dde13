"""Identification fold by fold: a run, and the rule that training data choose."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.analysis._values import Keep
from neuroextrap.design._copies import check_copies_apart
from neuroextrap.design._series import exchanged
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
    paired_in_blocks,
    response_rows,
    rows_of_stimuli,
)
from neuroextrap.encoding._training import (
    encoder_of_columns,
    noise_rows,
    train_encoder,
)
from neuroextrap.maps._described_parameters import value_of
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats import win_distribution
from neuroextrap.stats._validation import check_integer

_LEFT_OVER = (
    "{n_left} of {n_stimuli} stimuli were trained on only, so that all folds have "
    "{n_candidates} candidates"
)
_CHOSEN = "rule='auto' chose, in each fold by its own training data: {rules}"
_N_FOLDS, _N_CALIBRATION_FOLDS = 5, 10
_FEWEST_STIMULI = 4
_OF_TRAINING = (
    "covariance",
    "residuals",
    "standardize",
    "cv",
    "repeats",
    "random_state",
)
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
    parts, rules, notes = train_folds(model, shown, paired, folds, choose=True)
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


def train_folds(model, shown, paired, folds, *, choose=False):
    """Train without the stimuli of each fold in turn; return parts, rules and notes.

    `shown` are the Shown stimuli and responses, `paired` their TestSet, `folds` the
    stimuli tested in each. Parts are what ``stack_folds`` takes. Rules are those that
    ``model.rule`` names, or chooses by the training data of each fold; () unless
    `choose`.
    """
    parts, rules, notes = [], [], ()
    for held_out in folds:
        part, rule, notes = _fold(model, shown, held_out, choose=choose)
        rules += rule
        tested = np.flatnonzero(np.isin(paired.codes, held_out))
        if model.repeats == "average":  # stimulus i of the fold is row i
            tested = tested[np.argsort(paired.codes[tested])]
        places = np.searchsorted(held_out, paired.codes[tested])
        parts.append((tested, places, *part))
    return parts, rules, notes


def _fold(model, shown, held_out, *, choose):
    """Train without the stimuli of one fold.

    Returns ((predictions, residuals, location), rules, notes): of all voxels, about the
    mean training response `location` (n_features,); residuals with repeats separated;
    one rule, or none unless it is to `choose`. Rows are trained on in the order of
    their stimuli, whatever their own: the encoder's folds are then folds of stimuli in
    every permutation as in the data, as an exact test requires.
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
    trained = train_encoder(
        encoder_of_columns(model.encoder, scaling.kept),
        scaling(x),
        responses[:, usable],
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
    rules = []
    if choose:
        of_training = samples._replace(X=responses)
        rules = [training_rule(model, x, of_training, groups, trained.residuals)[0]]
    return found, rules, (*scaling.notes, *notes, *trained.notes)


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
    parts, *_ = train_folds(model, shown, paired, folds)
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

    def margins(self, voxels, number):
        """Identify averages of `number` training responses in a region, in folds.

        Beside the true one, candidates are those of the test: their number and
        likeness decide what a temperature has to be. `voxels` are those of the region.
        Returns margins (n, K), the true candidate first; none of fewer than four
        stimuli.
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
        source = EncodingMargins(experiment.repeats, model.covariance)
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
