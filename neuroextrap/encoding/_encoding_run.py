"""Runs of identification: planned from a test set or folds, stored as arrays, read."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._copies import check_new_rows
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._experiment import (
    Experiment,
    findings_of_pairing,
    make_plan,
    observed_plan,
)
from neuroextrap.encoding._stimuli import (
    candidate_names,
    check_feature_names,
    check_features,
    pair_responses,
    rows_of_stimuli,
)
from neuroextrap.encoding._stimulus_features import check_candidates
from neuroextrap.encoding._training import some_responses
from neuroextrap.encoding._training_folds import temperature
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._resources import parse_shard
from neuroextrap.margins.running._described import array_hash
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats._null_counts import NullCounts
from neuroextrap.stats._warn import warn

_PENALTY = "penalty of "  # before the names of penalties among stored arrays
_FAR_FEWER = 2
"""Residuals are far fewer than voxels if this many times them are not more."""


@dataclass(frozen=True, kw_only=True)
class EncodingRun(RegionRun):
    """A run that compares test responses with predictions of the candidates."""

    test: Experiment
    location: np.ndarray  # mean training response of every voxel, (n_features,)
    test_stimuli: np.ndarray  # name, or row, of the stimulus of each test point
    exchange: Any = None  # FoldExchange of p-values in folds
    training: Any = None  # TrainingData, of a test set

    @classmethod
    def of(cls, parameters, test, choice, *, n_repeats, **others):
        """Make the run of an Experiment in the regions chosen; return EncodingRun.

        `n_repeats` are those of the bounds, `others` fields that `test` does not hold.
        """
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
        """Score every region; in folds, also under exchanged stimuli, all fitted anew.

        Returns RegionScores and a dict, as that of any run.
        """
        scores, from_null = super().score()
        if self.exchange is None:
            return scores, from_null
        regions, asked = self.usable.regions, self.parameters
        counts = NullCounts.start(scores.score, len(self.exchange))
        progress = Progress(asked.verbose, unit="permutations")
        for number in range(len(self.exchange)):
            experiment = self.exchange.experiment(number)
            plan = observed_plan(self.exchange.model, experiment, self.set_sizes)
            permuted = score_regions(
                experiment.rows,
                regions,
                plan,
                n_jobs=self.n_workers,
                shard=parse_shard(asked.shard),
            )
            of = np.flatnonzero(permuted.done)
            counts.add(permuted.score[of, None], number, of)
            progress(number + 1, len(self.exchange))
        return replace(scores, n_reached=counts.n_reached, maxima=counts.maxima), {}

    def responses(self):
        """Return the test responses in their own units, shape (n_test, n_features).

        Of folds, about the mean training response of each.
        """
        return self.test.responses + self.location

    def log_likelihoods(self, region):
        """Return calibrated log likelihoods (n_test, K) of a region, up to a constant.

        Margins divided by a `temperature` for every number of repeats: that of the
        training responses, identified in folds, or, for test points that come from
        folds, of the test points of the other folds.
        """
        margins, members = self.margins(region).astype(float), self.usable.regions
        voxels = members.indices[slice(*members.indptr[region : region + 2])]
        if self.test.folds is None and self.training is None:
            raise ValueError(
                "the encoder was not saved with the results (only those of this "
                "package and of sklearn.linear_model are), and posteriors train it on "
                "parts of the training data to learn how certain they are; fit and "
                "identify again"
            )
        scaled, fold = np.empty_like(margins), self.test.fold
        for number in np.unique(self.test.repeats):
            of = self.test.repeats == number
            if self.training is not None:
                learned = self.training.margins(voxels, number, self.test.rule)
                true = np.zeros(len(learned), dtype=int)
                scaled[of] = margins[of] / temperature(learned, true, len(voxels))
                continue
            for tested in np.unique(fold[of]):
                others = fold != tested
                others = others & of if (others & of).any() else others
                learned = margins[others], self.test.codes[others]
                of_fold = of & (fold == tested)
                scaled[of_fold] = margins[of_fold] / temperature(*learned, len(voxels))
        return scaled


def plan_identification(model, training, candidates, test):
    """Check everything, read the responses, choose regions and plan the run.

    `model` is a fitted EncodingIdentification and `training` what it keeps of its
    training data; `candidates` are features and distractors, `test` are images,
    stimuli, groups, and the number of responses averaged in each image, as they came to
    ``identify``. Returns EncodingRun.
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
    experiment = Experiment.of(
        paired,
        model._predict(candidates),
        model.residuals_,
        usable=finite,
        location=training.location,
        stimuli=training.stimuli,
    )._replace(rule=training.rule)
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


def planned_run(model, experiment, *, masker, notes, order=None, **others):
    """Plan an Experiment, of a test set or of folds; return EncodingRun.

    `notes` are those of the samples and of training; `order` (n_test,) are the test
    points in the order of the responses, if they are in another; `others` are fields of
    the run.
    """
    parameters = RunParameters.of(model)
    set_sizes = parameters.resolve_set_sizes(experiment.n_candidates)
    plan, plan_notes = make_plan(model, experiment, set_sizes)
    run = EncodingRun.of(
        parameters,
        experiment,
        parameters.choose_regions(masker, len(experiment.usable)),
        n_repeats=experiment.bound_repeats(),
        masker=masker,
        plan=plan,
        set_sizes=set_sizes,
        notes=(*notes, *plan_notes),
        **others,
    )
    notes = (*run.notes, *_residual_notes(run))
    exchange = others.get("exchange")
    n_others = plan.n_permutations if exchange is None else len(exchange)
    findings = findings_of_pairing(model, experiment, n_others, order)
    return replace(run, notes=notes, findings=findings)


def _residual_notes(run):
    """Warn, and say in a note, where residuals are far fewer than voxels."""
    experiment = run.test
    if not set(experiment.rule.split(",")) & {"mahalanobis", "ledoit_wolf", "oas"}:
        return ()
    sizes = np.diff(run.usable.regions.indptr)
    layout, largest = experiment.layout, int(sizes.max())
    n_residuals = min([n for _, n in layout.folds], default=layout.n_residuals)
    if n_residuals * _FAR_FEWER > largest:
        return ()
    text = (
        f"the noise covariance of up to {largest} voxels rests on {n_residuals} "
        "residuals; rule='correlation' needs none, rule='auto' asks the training data"
    )
    warn(text)
    return (text,)


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


def run_arrays(run, penalties):
    """Return what makes an EncodingRun, a dict of arrays without Python objects."""
    test = run.test
    arrays = {name: getattr(test, name) for name in Experiment._fields}
    arrays |= {"location": run.location, "test_stimuli": run.test_stimuli}
    arrays |= {_PENALTY + name: values for name, values in penalties.items()}
    return {
        name: np.asarray(value) for name, value in arrays.items() if value is not None
    }


def read_run(model, results, arrays):
    """Make an EncodingRun of stored arrays; return it and the penalties.

    `model` has the parameters of the analysis, and masker and classes; `results` are
    its RegionResults.
    """
    parts = {name: arrays.get(name) for name in Experiment._fields}
    parts["n_candidates"] = int(parts["n_candidates"])
    parts["rule"] = str(parts["rule"])
    test = Experiment(**parts)
    run = EncodingRun.of(
        RunParameters.of(model),
        test,
        results.choice,
        n_repeats=results.n_repeats,
        masker=model.masker_,
        plan=observed_plan(model, test, results.set_sizes),
        classes=model.classes_,
        set_sizes=results.set_sizes,
        notes=results.notes,
        bg_img=model.bg_img_,
        location=arrays["location"],
        test_stimuli=arrays["test_stimuli"],
    )
    penalties = {
        name.removeprefix(_PENALTY): values
        for name, values in arrays.items()
        if name.startswith(_PENALTY)
    }
    return run, penalties
