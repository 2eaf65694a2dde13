"""Everything about a run that is known before the work begins."""

from dataclasses import dataclass, replace

import numpy as np

from neuroextrap.analysis._region_run import RegionRun
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.decoding._reading import (
    check_row_order,
    make_whitener,
    read_labeled_samples,
)
from neuroextrap.design._cross_folds import class_subsets
from neuroextrap.design._findings import tell
from neuroextrap.design._labels import Labels, code_labels
from neuroextrap.design._overdispersion import overdispersed_runs, shared_classifiers
from neuroextrap.design._tests import BoundOptions, Tests
from neuroextrap.maps._described_parameters import flat_parameters
from neuroextrap.maps._trained_on_all import is_measured, not_marginal
from neuroextrap.margins._engine import region_outcomes, why_untrainable
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import check_labelings_fit
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins.algebra._grams import check_shrinkage
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.stats._extrapolation._sample import log_spaced_set_sizes
from neuroextrap.stats._validation import random_generator

# set sizes that are measured unless others are given, that of all classes included
_MEASURED_SIZES = 8
_MOST_REGIONS = 500  # tested for outcomes that depend on their run


@dataclass(frozen=True, kw_only=True)
class DecodingRun(RegionRun):
    """A run whose classifiers are cross-validated on labeled samples."""

    labels: Labels
    whole_runs: bool  # whether these are the test units

    def findings_of_outcomes(self):
        """Return Findings, 0 or 1, about outcomes that depend on their run.

        Some regions, the same in all parts, are tested by classifiers of half the runs.
        """
        unaffected = self.whole_runs or self.bounds.n_repeats is None
        shared = shared_classifiers(self.labels, self.plan.design)
        if unaffected or shared is None or not len(self.analyzed):
            return ()
        X, regions, plan = self._data
        plan = replace(plan, design=shared, codes=plan.codes[:1], by_sums=None)
        rows = self.analyzed[:: -(-len(self.analyzed) // _MOST_REGIONS)]
        try:
            parts = list(region_outcomes(X, regions, plan, rows, shared.n_classes))
        except ValueError:  # half of the runs are too few for the classifier
            return ()
        outcomes = np.concatenate([chances for _, chances in parts])
        return overdispersed_runs(outcomes, self.labels, shared)


def plan_decoding(searchlight, imgs, y, groups, order=None, strata=None):
    """Check everything, then read the samples, choose regions and plan the run.

    Nothing is expensive but reading, and labels and parameters are checked before it.
    The arguments are those of :meth:`IdentificationSearchLight.fit`; returns
    DecodingRun. ValueError when they do not fit one another, or the
    examination of the design refuses them; what is doubtful is warned of. `strata`
    (n_samples,) are those within which labels are exchanged afterwards.
    """
    parameters, given = RunParameters.of(searchlight), flat_parameters(searchlight)
    check_shrinkage(searchlight.shrinkage)
    check_row_order(imgs, y=y, groups=groups)
    labels = code_labels(y, searchlight.classes, groups, searchlight.blocks, order)
    n_classes, n_labels = len(labels.classes), len(labels.codes)
    set_sizes = parameters.resolve_set_sizes(n_classes)
    statistic = resolve_statistic(searchlight.statistic, n_classes, set_sizes)
    kernel = resolve_classifier(searchlight.estimator, shrinkage=searchlight.shrinkage)
    check_labelings_fit(searchlight.n_permutations, n_labels, searchlight.max_memory)
    tests = Tests.of(
        labels,
        BoundOptions.of(given, kernel),
        cv=searchlight.cv,
        n_permutations=searchlight.n_permutations,
        random_state=searchlight.random_state,
    )
    samples = read_labeled_samples(searchlight, kernel, imgs, labels)
    examined = samples.X[:, samples.usable]
    findings = tests.findings(examined, kernel.frequent_first, strata)
    tell(findings)
    sampled = samples.masker, samples.X.shape[1]
    choice = parameters.choose_regions(*sampled)
    usable = parameters.usable_regions(choice, samples.usable)
    plan = Plan(
        kernel=kernel,
        design=tests.design,
        codes=tests.permuted.codes,
        statistic=statistic,
        pairing=tests.permuted.pairing,
        whitener=make_whitener(searchlight.noise_covariance, *sampled),
        forward=tests.forward,
    )
    reason = why_untrainable(samples.X, usable.regions, plan)
    if reason is not None:
        tests = tests.without_forward(reason)
    weightings = tests.weightings(given["per_fold"])
    plan = replace(plan, forward=tests.forward, weightings=weightings)
    if is_measured(given["curves"], kernel):
        set_sizes, subsets = _measured(parameters, given, tests)
        plan = replace(plan, subsets=subsets)
    of_curves = not_marginal(plan)
    tell(of_curves)
    return DecodingRun(
        parameters=parameters,
        **samples.of_run,
        choice=choice,
        usable=usable,
        plan=with_path(plan, usable.regions),
        bounds=tests.bounds,
        classes=labels.classes,
        test_codes=tests.test_codes,
        set_sizes=set_sizes,
        notes=(*samples.notes, *tests.notes()),
        findings=(*findings, *of_curves),
        labels=labels,
        whole_runs=tests.options.whole_runs,
    )


def _measured(parameters, given, tests):
    """Return the set sizes of curves, and random subsets of classes to measure them.

    Permutations are drawn as without them.
    """
    n_classes = len(tests.labels.classes)
    sizes = parameters.resolve_set_sizes(n_classes)
    if parameters.set_sizes is None and len(sizes) > _MEASURED_SIZES:
        sizes = log_spaced_set_sizes(n_classes, _MEASURED_SIZES)
    rng = random_generator(parameters.random_state).spawn(1)[0]
    few, codes = np.unique(sizes[sizes < n_classes]), tests.labels.codes
    return sizes, class_subsets(codes, tests.design, few, given["n_partitions"], rng)
