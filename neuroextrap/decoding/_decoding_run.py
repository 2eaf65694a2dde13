"""Samples as a classifier gets them, and what is known before the work begins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from neuroextrap.analysis._region_run import RegionRun, RunParameters
from neuroextrap.analysis._samples import read_residuals, read_samples
from neuroextrap.design._doubts import overdispersed_runs, shared_classifiers
from neuroextrap.design._findings import tell
from neuroextrap.design._further_tests import class_subsets
from neuroextrap.design._labels import Labels, code_labels
from neuroextrap.design._tests import BoundOptions, Tests
from neuroextrap.maps._identification import is_measured, not_marginal
from neuroextrap.maps._records import flat_parameters
from neuroextrap.margins._engine import chances, map_parts, why_untrainable
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._resources import check_labelings_fit
from neuroextrap.margins._wins import resolve_statistic
from neuroextrap.margins.algebra._grams import check_shrinkage
from neuroextrap.margins.classifiers._classifier_names import resolve_classifier
from neuroextrap.margins.running._described import array_hash
from neuroextrap.stats._extrapolation._sample import log_spaced_set_sizes
from neuroextrap.stats._validation import check_choice, random_generator

# rms of samples within which products of float32 neither vanish nor overflow; rescaled
# only outside of it, so that ordinary data keep their bits
_LEAST, _MOST = 2.0**-20, 2.0**20


def read_labeled_samples(searchlight, kernel, imgs, labels, counted="y"):
    """Read the samples of the classes that are analyzed, for a kernel.

    They are centered over all samples, unless the kernel wants them as they are given;
    before that, each feature is centered or standardized within runs on request. Errors
    call what has an entry for each sample `counted`.
    """
    how = searchlight.within_runs
    check_within_runs(how, labels.groups)
    read = read_samples(
        searchlight.mask,
        imgs,
        n_samples=len(labels.keep),
        counted=counted,
        keep=labels.keep,
        center=not kernel.as_given,
        dtype=None if kernel.as_given else np.float32,
        memory=searchlight.memory,
    )
    if how is not None:
        read = within_runs(read, labels.groups, how)
    if kernel.as_given:
        return read
    X, scale = rescaled(read.X)
    return read._replace(X=X, scale=scale)


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


def check_within_runs(how, groups):
    """Raise unless `how` is known and runs are given."""
    check_choice(how, "within_runs", (None, "center", "zscore"))
    if how is not None and groups is None:
        raise ValueError(
            f"within_runs={how!r} needs the run of every sample; give groups=runs"
        )


def within_runs(samples, groups, how):
    """Center (and scale) every feature within each run; Samples in, Samples out.

    A feature that is constant in a run has no z-score there and cannot be used.
    """
    _, run, size = np.unique(groups, return_inverse=True, return_counts=True)
    X, usable = samples.X.astype(np.float64), samples.usable
    sums = np.zeros((len(size), X.shape[1]))
    np.add.at(sums, run, X)
    X -= (sums / size[:, None])[run]
    notes = samples.notes
    if how == "zscore":
        squares = np.zeros_like(sums)
        np.add.at(squares, run, X**2)
        spread = np.sqrt(squares / size[:, None])
        varies = (spread > 1e-12 * np.abs(sums / size[:, None])).all(axis=0)
        X = np.where(varies, X / np.where(varies, spread, 1)[run], 0)
        n_lost = int((usable & ~varies).sum())
        if n_lost:
            notes = (*notes, f"{n_lost} voxels were left out (constant within a run)")
        usable = usable & varies
    return samples._replace(X=X.astype(samples.X.dtype), usable=usable, notes=notes)


def rescaled(X):
    """Multiply by a power of two where squares would vanish or overflow in float32.

    This is exact, and does not affect the classifiers for which samples are centered.
    Also returned is the power.
    """
    largest = np.abs(X).max(initial=0.0)
    if largest == 0 or _LEAST < largest < _MOST:
        return X, 1.0
    power = -int(np.frexp(largest)[1])
    return np.ldexp(X, power), float(np.ldexp(1.0, power))


class NoiseWhitener:
    """Whiten a region's samples by the covariance of centered noise residuals.

    `residuals` of shape (n_observations, n_features) are such as those of a first-level
    model.
    """

    def __init__(self, residuals):
        self.residuals = residuals

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


def make_whitener(noise_covariance, masker, n_features):
    """Return the whitener by residuals (an array, or images); None for none."""
    if noise_covariance is None:
        return None
    everything = np.ones(n_features, dtype=bool)
    residuals = read_residuals(noise_covariance, masker, everything)
    return NoiseWhitener(residuals - residuals.mean(axis=0))


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
            given = X, regions, plan, rows, shared.n_classes
            parts = list(map_parts(chances, *given, n_jobs=1))
        except ValueError:  # half of the runs are too few for the classifier
            return ()
        outcomes = np.concatenate([values for _, values in parts])
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
