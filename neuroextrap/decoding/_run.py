"""Everything about a run that is known before the work begins."""

from dataclasses import dataclass, replace

import numpy as np

from neuroextrap.analysis._doubts import tell
from neuroextrap.analysis._extrapolated_maps import trained_on_all
from neuroextrap.analysis._region_run import RegionRun
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.decoding._bounds import (
    BoundOptions,
    bound_design,
    without_forward_tests,
)
from neuroextrap.decoding._doubts import cross_notes, doubts_of_samples
from neuroextrap.decoding._labeled_samples import read_labeled_samples
from neuroextrap.decoding._labels import Labels, code_labels
from neuroextrap.decoding._permutations import permuted_codes
from neuroextrap.decoding._whitening import make_whitener
from neuroextrap.margins._engine import why_untrainable
from neuroextrap.margins._folds import fold_weightings, make_design
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import check_labelings_fit
from neuroextrap.margins._statistic import resolve_statistic
from neuroextrap.margins.algebra._grams import check_shrinkage
from neuroextrap.margins.classifiers._registry import resolve_classifier


@dataclass(frozen=True, kw_only=True)
class DecodingRun(RegionRun):
    """A run whose classifiers are cross-validated on labeled samples."""

    labels: Labels


def plan_decoding(searchlight, imgs, y, groups, order=None):
    """Check everything, then read the samples, choose regions and plan the run.

    Nothing is expensive but reading, and labels and parameters are checked before it.
    The arguments are those of :meth:`IdentificationSearchLight.fit`; returns
    DecodingRun. ValueError when they do not fit one another. Doubts about the design
    are warned of.
    """
    parameters = RunParameters.of(searchlight)
    check_shrinkage(searchlight.shrinkage)
    labels = code_labels(y, searchlight.classes, groups, searchlight.blocks, order)
    n_classes = len(labels.classes)
    set_sizes = parameters.resolve_set_sizes(n_classes)
    statistic = resolve_statistic(searchlight.statistic, n_classes, set_sizes)
    kernel = resolve_classifier(searchlight.estimator, shrinkage=searchlight.shrinkage)
    design = make_design(
        labels.codes, n_classes, cv=searchlight.cv, groups=labels.groups
    )
    check_labelings_fit(
        searchlight.n_permutations, len(labels.codes), searchlight.max_memory
    )
    permuted = permuted_codes(
        labels,
        design,
        searchlight.n_permutations,
        searchlight.random_state,
        cv=searchlight.cv,
    )
    options = BoundOptions.of(searchlight, kernel)
    bounds, tests = bound_design(labels, design, options)
    samples = read_labeled_samples(searchlight, kernel, imgs, labels)
    doubts = doubts_of_samples(samples.X[:, samples.usable], labels, design)
    doubts += permuted.doubts
    tell(doubts)
    choice = parameters.choose_regions(samples.masker, samples.X.shape[1])
    usable = parameters.usable_regions(choice, samples.usable)
    plan = Plan(
        kernel=kernel,
        design=design,
        codes=permuted.codes,
        statistic=statistic,
        pairing=permuted.pairing,
        whitener=make_whitener(
            searchlight.noise_covariance, samples.masker, samples.X.shape[1]
        ),
        keep_null=searchlight.save_null is not None,
        forward=tests,
    )
    reason = why_untrainable(samples.X, usable.regions, plan)
    if reason is not None:
        bounds = without_forward_tests(labels, design, options, reason)
        plan = replace(plan, forward=None)
    weightings = _weightings(searchlight, labels, design, bounds)
    plan = replace(plan, weightings=weightings)
    return DecodingRun(
        parameters=parameters,
        rows=samples.X,
        masker=samples.masker,
        choice=choice,
        usable=usable,
        plan=with_path(plan, usable.regions),
        bounds=bounds,
        classes=labels.classes,
        test_codes=labels.codes[design.test],
        set_sizes=set_sizes,
        notes=(
            *samples.notes,
            *permuted.notes,
            *(
                ()
                if kernel.marginal or n_classes == 2
                else (trained_on_all(n_classes),)
            ),
            *(cross_notes(design) if searchlight.n_permutations else ()),
            *bounds.notes,
        ),
        doubts=doubts,
        bg_img=samples.bg_img,
        labels=labels,
    )


def _weightings(estimator, labels, design, bounds):
    """Return further weightings of the test points: the bound's, then each fold's."""
    if not estimator.per_fold:
        return bounds.weighting
    folds, _ = fold_weightings(labels.codes, design)
    return np.concatenate([bounds.weighting, folds])
