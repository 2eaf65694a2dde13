"""Runs of identification: planned of a test set or folds, scored, stored and read."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuroextrap.analysis._parameters import Keep
from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._copies import check_copies_apart, check_new_rows
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._experiment import (
    Experiment,
    Part,
    findings_of_pairing,
    make_plan,
    notes_of,
    observed_plan,
)
from neuroextrap.encoding._margins import separate_repeats
from neuroextrap.encoding._stimuli import (
    candidate_names,
    check_as_trained,
    check_feature_names,
    check_features,
    pair_responses,
    response_rows,
    rows_of_stimuli,
)
from neuroextrap.encoding._stimulus_features import SOME_VOXELS, check_candidates
from neuroextrap.encoding._training import read_responses
from neuroextrap.encoding._training_folds import (
    Trials,
    fold_exchange,
    fold_experiment,
    temperature,
)
from neuroextrap.maps._records import value_of
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._resources import parse_shard
from neuroextrap.margins.running._checkpoint import array_hash
from neuroextrap.margins.running._execution import Progress
from neuroextrap.models._splitters import deal_folds
from neuroextrap.stats._null_counts import NullCounts
from neuroextrap.stats._validation import check_integer, warn

_FAR_FEWER = 2  # residuals are far fewer than voxels if so many times them are


@dataclass(frozen=True, kw_only=True)
class EncodingRun(RegionRun):
    """A run that compares test responses with predictions of the candidates."""

    test: Experiment
    location: np.ndarray  # mean training response of every voxel, (n_features,)
    test_stimuli: np.ndarray  # name, or row, of the stimulus of each test point
    exchange: Any = None  # FoldExchange of p-values in folds
    training: Any = None  # Training, of a test set
    candidates: Any = None  # their features, (K, n_columns)

    @classmethod
    def of(cls, parameters, test, choice, *, n_repeats, **others):
        """Make the run of an Experiment in the regions chosen; `others` are fields."""
        return cls(
            parameters=parameters,
            rows=test.rows,
            choice=choice,
            usable=parameters.usable_regions(choice, test.usable),
            bounds=BoundDesign(n_repeats, np.empty((0, len(test.codes))), ()),
            test_codes=test.codes,
            test=test,
            **others,
        )

    @cached_property
    def identity(self):
        """What makes the run what it is, and what was exchanged in folds."""
        codes = None if self.exchange is None else array_hash(self.exchange.codes)
        return super().identity | {"exchanged in folds": codes}

    def score(self):
        """Score every region; in folds, also what is fitted to exchanged stimuli."""
        scores, from_null = super().score()
        if self.exchange is None:
            return scores, from_null
        regions, parameters = self.usable.regions, self.parameters
        model, trials, permuted_codes, folds = self.exchange
        n_permutations, shard = len(permuted_codes), parse_shard(parameters.shard)
        counts = NullCounts.start(scores.score, n_permutations)
        progress = Progress(parameters.verbose, unit="permutations")
        for number, codes in enumerate(permuted_codes):
            experiment = fold_experiment(model, trials._replace(codes=codes), folds)[0]
            plan = observed_plan(model, experiment, self.set_sizes)
            permuted = score_regions(
                experiment.rows, regions, plan, n_jobs=self.n_workers, shard=shard
            )
            of = np.flatnonzero(permuted.done)
            counts.add(permuted.score[of, None], number, of)
            progress(number + 1, n_permutations)
        return replace(scores, n_reached=counts.n_reached, maxima=counts.maxima), {}

    def responses(self):
        """Return the test responses (n_test, n_features), in folds about their mean."""
        return self.test.responses + self.location

    def log_likelihoods(self, region):
        """Return calibrated log likelihoods (n_test, K), up to a constant."""
        source = self.test.folds is not None or getattr(self.training, "model", None)
        if source is None:
            raise ValueError(
                "the encoder was not saved with the results (only those of this "
                "package and of sklearn.linear_model are), and posteriors train it on "
                "parts of the training data to learn how certain they are; fit and "
                "identify again"
            )
        margins, members = self.margins(region).astype(float), self.usable.regions
        voxels = members.indices[slice(*members.indptr[region : region + 2])]
        scaled = np.empty_like(margins)
        for number in np.unique(self.test.repeats):
            for rows, learned, codes in self._calibrations(margins, voxels, number):
                scaled[rows] = margins[rows] / temperature(learned, codes, len(voxels))
        return scaled

    def _calibrations(self, margins, voxels, number):
        """Yield tests of `number` repeats, and margins and codes to learn from."""
        of, fold = self.test.repeats == number, self.test.fold
        if self.training is not None:
            given = voxels, number, self.test.rule, self.candidates
            learned = self.training.margins(*given)
            yield of, learned, np.zeros(len(learned), dtype=int)
            return
        for tested in np.unique(fold[of]):
            others = fold != tested
            others = others & of if (others & of).any() else others
            yield of & (fold == tested), margins[others], self.test.codes[others]


def planned_run(model, experiment, *, masker, notes, order=None, **others):
    """Plan an Experiment, of a test set or of folds; `others` are fields of the run.

    `order` (n_test,) are the test points as they were acquired, if not as they are.
    """
    parameters = RunParameters.of(model)
    set_sizes = parameters.resolve_set_sizes(experiment.n_candidates)
    plan = make_plan(model, experiment, set_sizes)
    run = EncodingRun.of(
        parameters,
        experiment,
        parameters.choose_regions(masker, len(experiment.usable)),
        n_repeats=experiment.bound_repeats(),
        masker=masker,
        plan=plan,
        set_sizes=set_sizes,
        notes=(),
        **others,
    )
    notes = (*notes, *notes_of(model, experiment), *_residual_notes(run))
    findings = findings_of_pairing(model, run, order)
    return replace(run, notes=notes, findings=findings)


def _residual_notes(run):
    """Warn, and say in a note, where residuals are far fewer than voxels."""
    experiment = run.test
    if not set(experiment.rule.split(",")) & {"mahalanobis", "ledoit_wolf", "oas"}:
        return ()
    sizes = np.diff(run.usable.regions.indptr)
    largest, n_residuals = sizes.max(), experiment.layout.folds[:, 1].min()
    if n_residuals * _FAR_FEWER > largest:
        return ()
    text = (
        f"the noise covariance of up to {largest} voxels rests on {n_residuals} "
        "residuals; rule='correlation' needs none, rule='auto' asks the training data"
    )
    warn(text)
    return (text,)


_LEFT_OVER = (
    "{} of {} stimuli were trained on only, so that all folds have {} candidates"
)


def plan_identification(model, training, candidates, test):
    """Plan the run of a test set, by what came to ``identify``; return EncodingRun."""
    names, n_tested, features = _candidates(model, training, *candidates)
    imgs, stimuli, groups, averaged = test
    stimuli = rows_of_stimuli(stimuli, candidates[0])
    samples = read_samples(model.masker_, imgs, dtype=None)
    finite = _check_test_samples(model, training, samples)
    responses = samples.X + samples.location
    how = {"groups": groups, "averaged": averaged, "repeats": model.repeats}
    paired = pair_responses(responses, n_tested, stimuli=stimuli, **how)
    tested, codes = np.arange(len(paired.codes)), paired.codes
    predictions = model._predict(features) - training.location
    of_residuals = training.trials.codes if training.noise is None else None
    residuals, n_stimuli = separate_repeats(model.residuals_, of_residuals)
    part = Part(tested, codes, predictions, residuals, n_stimuli, training.location)
    experiment = Experiment.of(paired, [part], finite, training.rule)
    classes = np.arange(len(features)) if names is None else names
    return planned_run(
        model,
        experiment,
        masker=model.masker_,
        classes=classes,
        notes=training.notes,
        bg_img=samples.bg_img,
        location=training.location,
        test_stimuli=classes[codes],
        training=training,
        candidates=features,
    )


def _candidates(model, training, features, distractors):
    """Return names of the candidates, how many are tested, and features of all."""
    fitted, n_columns = getattr(model, "feature_names_in_", None), training.scaling.kept
    for table, name in ((features, "features"), (distractors, "distractors")):
        check_feature_names(table, fitted, name)
    names = candidate_names(features, distractors)
    X = check_features(features, n_columns=len(n_columns))
    n_tested = len(X)
    if distractors is not None:
        more = check_features(distractors, "distractors", len(n_columns))
        X = np.concatenate([X, more])
    # candidates that differ only in dropped columns are the same to the model
    varying = training.scaling.varying
    trained = varying(training.trials.X), training.names
    check_candidates(varying(X), n_tested, trained, names)
    return names, n_tested, X


def _check_test_samples(model, training, samples):
    """Return voxels that are finite in new samples; raise unless they can be tested."""
    check_as_trained("imgs has", "voxels", samples.X.shape[1], model.n_elements_)
    finite = model.usable_ & samples.finite
    if finite.sum() == model.usable_.sum():
        columns = np.flatnonzero(model.usable_)[:SOME_VOXELS]
        both = training.trials.samples, samples
        check_new_rows(*(x.X[:, columns] + x.location[columns] for x in both))
    return finite


def plan_folds(model, features, imgs, *, stimuli, groups, n_folds):
    """Plan the run of all folds, by what came to ``identify_folds``; EncodingRun."""
    _check_model(model)
    n_candidates = _candidates_per_fold(len(check_features(features)), n_folds)
    trials, names = _read_trials(model, features, imgs, stimuli)
    samples, n_stimuli = trials.samples, len(trials.X)
    groups = groups if model.n_permutations else None  # of permutations only
    folds = deal_folds(n_stimuli, n_folds, model.random_state)
    folds = [fold[:n_candidates] for fold in folds]
    exchange = fold_exchange(model, trials, groups, folds)
    experiment, (tested, order), notes = fold_experiment(model, trials, folds, groups)
    n_left = n_stimuli - n_folds * n_candidates
    left = _LEFT_OVER.format(n_left, n_stimuli, n_candidates)
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


def _read_trials(model, features, imgs, stimuli):
    """Return the Trials of stimuli, and the names of these or None."""
    X, names = check_features(features), candidate_names(features)
    check_candidates(X, 0, names=names)
    rows = rows_of_stimuli(stimuli, features)
    if names is not None and rows is not None:  # whatever the order of the table
        order = np.argsort(names)
        X, names, rows = X[order], names[order], np.argsort(order)[rows]
    samples = read_responses(model, imgs, X if rows is None else rows, stimuli)
    codes = response_rows(rows, len(samples.X), len(X))
    missing = np.setdiff1d(np.arange(len(X)), codes)
    if missing.size:
        raise ValueError(
            f"{missing.size} stimuli have no response (first: row {missing[0]} of "
            "features); leave them out"
        )
    check_copies_apart(samples.X[:, samples.usable], codes, "stimuli")
    return Trials(X, samples, codes), names


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
