"""Samples as a classifier gets them, and what is known before the work begins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.analysis._samples import read_labeled_samples, read_residuals
from neuroextrap.design._doubts import (
    findings_of_tests,
    overdispersed_runs,
    shared_classifiers,
)
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import Labels, code_labels
from neuroextrap.design._tests import BoundOptions, Tests
from neuroextrap.maps._identification import not_marginal
from neuroextrap.margins._engine import chances, map_parts, why_untrainable
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import check_labelings_fit
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.algebra._grams import check_shrinkage
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.margins.running._checkpoint import array_hash
from neuroextrap.stats._extrapolation._method import log_spaced_set_sizes


class NoiseWhitener:
    """Whiten a region's samples by the covariance of residuals (array or images)."""

    def __init__(self, noise_covariance, masker, n_features):
        usable = np.ones(n_features, dtype=bool)
        residuals = read_residuals(noise_covariance, masker, usable)
        self.residuals = residuals - residuals.mean(axis=0)

    def __repr__(self):
        """Name what whitens; part of a checkpoint's identity."""
        return f"NoiseWhitener({array_hash(self.residuals)})"

    def workspace(self, n_features, n_samples):
        """Return the bytes that whitening a region of `n_features` takes."""
        rows = 3 * len(self.residuals) + 3 * n_samples
        return 8 * n_features * (rows + 4 * n_features)

    def __call__(self, features, x):
        """Return samples `x` (n_samples, n) of these n features, their noise white."""
        from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

        covariance, _ = schaefer_strimmer_covariance(self.residuals[:, features])
        lower = np.linalg.cholesky(covariance)
        return scipy.linalg.solve_triangular(lower, x.T.astype(float), lower=True).T


_MEASURED_SIZES = 8  # unless others are given, that of all classes included
_MOST_REGIONS = 500  # tested for outcomes that depend on their run


@dataclass(frozen=True, kw_only=True)
class DecodingRun(RegionRun):
    """A run whose classifiers are cross-validated on labeled samples."""

    labels: Labels
    whole_runs: bool  # whether these are the test units

    def all_notes(self, further=()):
        """Return notes of findings, and those of the run but that of bounds=None."""
        of_samples = (note for note in self.notes if "bounds=None" not in note)
        return *(finding.note for finding in (*self.findings, *further)), *of_samples

    def findings_of_outcomes(self):
        """Return Findings, 0 or 1, about outcomes that depend on their run.

        Some regions, the same in all parts, are tested by classifiers of half the runs.
        """
        unaffected = self.whole_runs or self.bounds.n_repeats is None
        shared = shared_classifiers(self.labels, self.plan.design)
        if unaffected or shared is None or not len(self.analyzed):
            return ()
        X, regions, plan = self.data
        plan = replace(plan, design=shared, codes=plan.codes[:1], by_sums=None)
        rows = self.analyzed[:: -(-len(self.analyzed) // _MOST_REGIONS)]
        try:
            given = X, regions, plan, rows, shared.n_classes
            parts = list(map_parts(chances, *given, n_jobs=1))
        except ValueError:  # half of the runs are too few for the classifier
            return ()
        outcomes = np.concatenate([values for _, values in parts])
        return overdispersed_runs(outcomes, self.labels, shared)


def check_row_order(imgs, **others):
    """Raise if data frames have the rows of the samples in another order."""
    rows: Any = getattr(imgs, "index", None)
    for name, values in others.items():
        own: Any = getattr(values, "index", None)
        if not hasattr(own, "equals") or not hasattr(rows, "equals"):
            continue
        if own.equals(rows) or len(own) != len(rows) or not own.is_unique:
            continue
        if own.isin(rows).all():
            raise ValueError(
                f"{name} has the rows of imgs in another order; give {name}.loc[imgs."
                f"index], or {name}.to_numpy() if they are meant in this one"
            )


def plan_decoding(
    searchlight, imgs, y, groups, order=None, *, strata=None, placed=True
):
    """Check everything, then read the samples, choose regions and plan the run.

    `strata` (n_samples,) are those within which labels are exchanged afterwards; unless
    features are `placed`, all of them are one region if none are given.
    """
    parameters = RunParameters.of(searchlight)
    check_shrinkage(searchlight.shrinkage)
    check_row_order(imgs, y=y, groups=groups)
    labels = code_labels(y, searchlight.classes, groups, searchlight.blocks, order)
    n_classes, n_labels = len(labels.classes), len(labels.codes)
    set_sizes, subsets = parameters.resolve_set_sizes(n_classes), None
    statistic = resolve_statistic(searchlight.statistic, n_classes, set_sizes)
    kernel = resolve_classifier(searchlight.estimator, shrinkage=searchlight.shrinkage)
    check_labelings_fit(searchlight.n_permutations, n_labels, searchlight.max_memory)
    if parameters.curves == "measured" and not kernel.marginal:
        if parameters.set_sizes is None and len(set_sizes) > _MEASURED_SIZES:
            set_sizes = log_spaced_set_sizes(n_classes, _MEASURED_SIZES)
        subsets = np.unique(set_sizes[set_sizes < n_classes]), parameters.n_partitions
    options = BoundOptions.of(vars(parameters), kernel)
    tests = Tests.of(labels, options, parameters, subsets)
    samples = read_labeled_samples(searchlight, kernel, imgs, labels)
    tests = replace(tests, labels=labels._replace(strata=strata))
    run = planned_run(parameters, samples, tests, kernel, statistic, placed=placed)
    about = {"labels": labels, "whole_runs": tests.options.whole_runs}
    return DecodingRun(**run, **about, set_sizes=set_sizes)


def planned_run(
    parameters, samples, tests, kernel, statistic, *, further=(), placed=True
):
    """Examine tests, choose regions and settle bounds; return the fields of a run.

    `further` are Findings of other kinds.
    """
    codes, pairing, _ = tests.permuted
    plan = Plan(kernel, tests.design, codes, statistic, pairing, subsets=tests.subsets)
    usable = samples.X[:, samples.usable]
    findings = findings_of_tests(tests, usable, kernel.frequent_first)
    findings = *findings, *not_marginal(plan), *further
    tell(findings)
    sampled = samples.masker, samples.X.shape[1]
    choice = parameters.choose_regions(samples.masker if placed else None, sampled[1])
    regions = parameters.usable_regions(choice, samples.usable)
    if parameters.noise_covariance is not None:
        whitener = NoiseWhitener(parameters.noise_covariance, *sampled)
        plan = replace(plan, whitener=whitener)
    forward = replace(plan, forward=tests.forward)
    reason = why_untrainable(samples.X, regions.regions, forward)
    tests = tests if reason is None else tests.without_forward(reason)
    weightings = tests.weightings(per_fold=parameters.per_fold)
    plan = replace(plan, forward=tests.forward, weightings=weightings)
    return samples.of_run | {
        "parameters": parameters,
        "choice": choice,
        "usable": regions,
        "plan": with_path(plan, regions.regions),
        "bounds": tests.bounds,
        "classes": tests.labels.classes,
        "test_codes": tests.test_codes,
        "notes": (*samples.notes, *tests.notes()),
        "findings": findings,
    }
