"""Runs of identification: planned from a test set or folds, stored as arrays, read."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._experiment import (
    Experiment,
    findings_of_pairing,
    make_plan,
    notes_of,
    observed_plan,
)
from neuroextrap.encoding._trained_model import of_prefix, with_prefix
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
        regions, asked = self.usable.regions, self.parameters
        n_permutations, shard = len(self.exchange.codes), parse_shard(asked.shard)
        counts = NullCounts.start(scores.score, n_permutations)
        progress = Progress(asked.verbose, unit="permutations")
        for number, codes in enumerate(self.exchange.codes):
            experiment = self.exchange.experiment(codes)
            plan = observed_plan(self.exchange.model, experiment, self.set_sizes)
            permuted = score_regions(
                experiment.rows, regions, plan, n_jobs=self.n_workers, shard=shard
            )
            of = np.flatnonzero(permuted.done)
            counts.add(permuted.score[of, None], number, of)
            progress(number + 1, n_permutations)
        return replace(scores, n_reached=counts.n_reached, maxima=counts.maxima), {}

    def responses(self):
        """Return the test responses (n_test, n_features) in their own units.

        Of folds, about the mean training response of each.
        """
        return self.test.responses + self.location

    def log_likelihoods(self, region):
        """Return calibrated log likelihoods (n_test, K) of a region, up to a constant.

        Margins divided by a `temperature`.
        """
        if self.test.folds is None and self.training is None:
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
            for rows, known, codes in self._calibrations(margins, voxels, number):
                scaled[rows] = margins[rows] / temperature(known, codes, len(voxels))
        return scaled

    def _calibrations(self, margins, voxels, number):
        """Yield test points (n_test,) of `number` repeats, and what to learn from.

        These are margins and codes of training responses, identified in folds, or, for
        test points in folds, of the test points of the other folds.
        """
        of, fold = self.test.repeats == number, self.test.fold
        if self.training is not None:
            learned = self.training.margins(voxels, number, self.test.rule)
            yield of, learned, np.zeros(len(learned), dtype=int)
            return
        for tested in np.unique(fold[of]):
            others = fold != tested
            others = others & of if (others & of).any() else others
            yield of & (fold == tested), margins[others], self.test.codes[others]


def planned_run(model, experiment, *, masker, notes, order=None, **others):
    """Plan an Experiment, of a test set or of folds; return EncodingRun.

    `notes` are those of the samples and of training; `order` (n_test,) are the test
    points as they were acquired, if not as they are; `others` are fields of the run.
    """
    parameters = RunParameters.of(model)
    set_sizes = parameters.resolve_set_sizes(experiment.n_candidates)
    plan = make_plan(model, experiment, set_sizes)
    choice = parameters.choose_regions(masker, len(experiment.usable))
    notes = (*notes, *notes_of(model, experiment))
    run = EncodingRun.of(
        parameters,
        experiment,
        choice,
        n_repeats=experiment.bound_repeats(),
        masker=masker,
        plan=plan,
        set_sizes=set_sizes,
        notes=notes,
        **others,
    )
    exchange = others.get("exchange")
    n_others = plan.n_permutations if exchange is None else len(exchange.codes)
    notes = (*notes, *_residual_notes(run))
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


def run_arrays(run, penalties):
    """Return what makes an EncodingRun, a dict of arrays without Python objects."""
    test = run.test
    arrays = {name: getattr(test, name) for name in Experiment._fields}
    arrays |= {"location": run.location, "test_stimuli": run.test_stimuli}
    return with_prefix("", arrays) | with_prefix(_PENALTY, penalties)


def read_run(model, results, arrays):
    """Make the EncodingRun of a model's results of stored arrays; and the penalties."""
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
    return run, of_prefix(_PENALTY, arrays)
