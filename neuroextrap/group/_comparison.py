"""A contrast over subjects: their values and the design, and how it is tested."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import f as fisher
from scipy.stats import t as student

from neuroextrap.design._findings import P_VALUES, Finding, tell
from neuroextrap.group._contrast import as_expression, resolve_test
from neuroextrap.group._group_maps import group_maps
from neuroextrap.group._pairing import in_order_of, per_subject
from neuroextrap.group._second_level_options import SecondLevelOptions
from neuroextrap.group._subjects import SubjectMaps
from neuroextrap.images._loading import variance_smoother
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats import _linear_scores as linear_scores
from neuroextrap.stats._arrangements import flipped, permuted
from neuroextrap.stats._rearrangement_test import Corrections, rearrangement_test

_ROUNDING = 1e-9  # of weights of subjects, which are of the order of one
_NOTHING = 1e-10  # residuals smaller than this part of the values, and effects
_FEWEST = 20  # subjects of one variance with whom the level holds at .001


@dataclass(frozen=True)
class Comparison:
    """Values of subjects under a linear model, at the features that are tested."""

    asked: SecondLevelOptions
    test: linear_scores.LinearTest
    contrast: Any  # as it was given
    subjects: SubjectMaps
    values: np.ndarray  # (n_subjects, n_usable), 0 where unknown
    n_known: np.ndarray | None  # (n_usable,) subjects, None for all
    blocks: Any  # of exchangeable rows, (n_subjects,), or None
    groups: Any  # of variances, (n_subjects,), or None

    @classmethod
    def of(cls, subjects, asked, design_matrix, contrast, blocks):
        """Put a design into the order of subjects, and select what it can test."""
        contrast, files = as_expression(contrast), subjects.files
        blocks = per_subject(blocks, "blocks", files)
        groups = per_subject(asked.variance_groups, "variance_groups", files)
        design = in_order_of(files, design_matrix, "design_matrix")
        test = resolve_test(design, contrast, len(files))
        values = subjects.values - asked.baseline
        usable = _varying(values, subjects.usable, test)
        shown = np.where(usable, values + asked.baseline, np.nan)
        subjects = subjects._replace(usable=usable, values=shown)
        values = values[:, usable]
        known = np.isfinite(values)
        n_known = None
        if asked.min_subjects is not None:
            n_known = known.sum(axis=0).astype(float)
        values = np.where(known, values, 0.0)
        data = asked, test, contrast, subjects, values, n_known, blocks, groups
        compared = cls(*data)
        compared._check(design_matrix is not None)
        if test.effect.ndim > 1:  # F knows no direction
            return replace(compared, asked=replace(asked, two_sided=True))
        return compared

    @property
    def flips(self):
        """Whether signs are flipped; rows are permuted otherwise."""
        if self.asked.errors is None:
            return self.test.is_intercept or self.groups is not None
        return self.asked.errors == "symmetric"

    def _check(self, has_design):
        """Raise if options contradict one another or the design."""
        asked, of_t = self.asked, self.asked.statistic == "t"
        grouped, fewer = self.groups is not None, asked.min_subjects is not None
        smoothed, median = asked.variance_fwhm is not None, asked.statistic == "median"
        one_sample = self.test.is_intercept and self.flips
        contradictions = {
            "whole_blocks=True needs blocks; name each subject's block": (
                asked.whole_blocks and self.blocks is None
            ),
            "min_subjects is for the mean over subjects; with a design_matrix test "
            "the voxels that all subjects have, or leave subjects out": (
                fewer and has_design
            ),
            "several contrasts are tested by F with one variance; use statistic='t' "
            "without variance_groups and variance_fwhm": (
                self.test.effect.ndim > 1 and (not of_t or grouped or smoothed)
            ),
            "statistic='median' is for the mean over subjects and sign flips; use 't' "
            "or 'mean' with a design_matrix": median and not one_sample,
            "variance_groups make t the Aspin-Welch v; leave out variance_fwhm and use "
            "statistic='t'": grouped and (not of_t or smoothed),
            "min_subjects goes with the statistics 't' and 'mean', without "
            "variance_groups; leave one of them out": fewer and (grouped or median),
        }
        for message, holds in contradictions.items():
            if holds:
                raise ValueError(message)
        if not self.flips:
            self._check_effect_moves()

    def _check_effect_moves(self):
        """Raise if no permutation changes the effect."""
        effect = self.test.rows[:, : self.test.n_effects]
        within = self.blocks is not None and not self.asked.whole_blocks
        groups = self.blocks if within else np.zeros(len(effect))
        parts = [effect[groups == group] for group in np.unique(groups)]
        if any(np.ptp(part, axis=0).max() > _NOTHING for part in parts):
            return
        if within:
            raise ValueError(
                "the contrast does not vary within any block, so permutations within "
                "blocks change nothing; use whole_blocks=True to exchange blocks"
            )
        raise ValueError(
            "the contrast is the same number for all subjects, so permutations change "
            "nothing; use errors='symmetric' (sign flips)"
        )

    def maps(self):
        """Return the RegionMaps of the test."""
        asked, scorer = self.asked, self.scorer()
        tell(findings := self.findings())
        corrections, arrangements = self.corrections(), self.arrangements()
        tested, maxima, discoveries = rearrangement_test(
            scorer,
            arrangements,
            self.test.rows,
            corrections,
            run=partial(_in_threads, asked.n_jobs),
            progress=Progress(asked.verbose, unit="permutations"),
        )
        return group_maps(
            "second_level",
            self.estimates() | tested,
            self.subjects,
            discoveries=discoveries,
            null_maxima=maxima,
            findings=findings,
            options=self.described()
            | {
                "statistic": scorer.name,
                "all": arrangements.are_all,
                "n_permutations": arrangements.n_permutations,
            },
        )

    def scorer(self):
        """Return the statistic as a function of designs."""
        asked, test, freedom = self.asked, self.test, self.test.degrees_of_freedom
        residuals = test.residuals(self.values)
        if asked.statistic == "mean":
            length = np.linalg.norm(test.effect)
            return linear_scores.Mean(residuals, length, self.n_known)
        if asked.statistic == "median":
            return linear_scores.Median(residuals)
        if self.groups is not None:
            groups = np.unique(self.groups, return_inverse=True)[1]
            linear_scores.check_variance_groups(groups, test)
            return linear_scores.AspinWelch(residuals, groups)
        if asked.variance_fwhm is not None:
            masker, usable = self.subjects.masker, np.flatnonzero(self.subjects.usable)
            smooth = variance_smoother(masker, usable, asked.variance_fwhm)
            total = np.square(residuals).sum(axis=0)
            return linear_scores.SmoothedT(residuals, total, freedom, smooth)
        if test.effect.ndim > 1:
            unit = linear_scores.unit_length(residuals)
            return linear_scores.FRatio(unit, test.n_effects, freedom)
        return self._student()

    def _student(self):
        """Return Student's t as a function of designs."""
        unit = linear_scores.unit_length(self.test.residuals(self.values))
        freedom = self.test.degrees_of_freedom
        return linear_scores.StudentT(unit, freedom, self.n_known)

    def estimates(self):
        """Return the maps of any statistic but F: effect and Student's t."""
        test, observed = self.test, self.test.rows[np.newaxis]
        if test.effect.ndim > 1:
            return {}
        length = np.linalg.norm(test.effect)
        effect = linear_scores.Mean(self.values, length, self.n_known)
        t = self._student()
        maps = {"effect": effect(observed)[0], "t": t.heights(t(observed))[0]}
        return maps if self.n_known is None else maps | {"n_subjects": self.n_known}

    def findings(self):
        """Return a Finding about groups of too few subjects, if there are any."""
        if self.groups is None:
            return ()
        fewest = int(min(np.unique(self.groups, return_counts=True)[1]))
        if fewest >= _FEWEST:
            return ()
        few = Finding(
            "small_variance_groups",
            "doubtful",
            fewest,
            P_VALUES,
            f"variance_groups has a group of {fewest} subjects",
            "small p-values are too frequent if variances differ",
            f"have {_FEWEST} or more in every group, or leave variance_groups out if "
            "variances are alike",
        )
        return (few,)

    def arrangements(self):
        """Return how the rows of the design are rearranged."""
        names = ("whole_blocks", "n_permutations", "random_state")
        how = {name: getattr(self.asked, name) for name in names}
        if self.flips:
            two_sided = self.asked.two_sided
            return flipped(self.test, self.blocks, two_sided=two_sided, **how)
        return permuted(self.test, self.blocks, **how)

    def corrections(self):
        """Return what is corrected for, with the neighbors that clusters need."""
        asked = self.asked
        how: dict[str, Any] = {"two_sided": asked.two_sided, "enhance": asked.tfce}
        if asked.cluster_threshold is not None or asked.tfce:
            how["neighbors"] = self.subjects.neighbors(asked.adjacency)
            how["threshold"] = self._threshold()
        return Corrections(step_down=asked.step_down, **how)

    def _threshold(self):
        """Return the height (n_usable,) above which clusters are, None for none."""
        p, freedom = self.asked.cluster_threshold, self.test.degrees_of_freedom
        if p is None:
            return None
        if self.test.effect.ndim > 1:
            height = fisher.isf(p, self.test.n_effects, freedom)
        else:
            freedom = freedom if self.n_known is None else self.n_known - 1
            height = student.isf(p / (2 if self.asked.two_sided else 1), freedom)
        return height * np.ones(self.values.shape[1])

    def described(self):
        """Return what a page says of the options, by name."""
        asked, effect = self.asked, self.test.effect
        of_ones = effect.sum(axis=0) / np.square(effect).sum(axis=0)
        if effect.ndim > 1:  # F: whether the baseline matters at all
            of_ones = float((np.abs(of_ones) > _ROUNDING).any())
        # the estimate where every map is the baseline: of differences 0
        none = abs(of_ones) <= _ROUNDING
        return {
            "contrast": self.contrast,
            "paired": asked.paired_imgs is not None,
            "baseline": 0.0 if none else asked.baseline * float(of_ones),
            "two_sided": bool(asked.two_sided),
            "cluster_threshold": asked.cluster_threshold,
            "tfce": asked.tfce,
            "of_mean": self.test.is_intercept,
            "tested": self.test.rows[:, 0],
            "flips": self.flips,
        }


def _varying(values, usable, test):
    """Return which of the usable features the design does not fit exactly."""
    usable, tested = usable.copy(), values[:, usable]
    known = np.isfinite(tested)
    if known.all():
        residuals = tested - test.rows @ (test.rows.T @ tested)
    else:
        residuals = np.where(known, tested - np.nanmean(tested, axis=0), 0.0)
    size = np.abs(np.where(known, tested, 0.0)).max(axis=0)
    usable[usable] = np.abs(residuals).max(axis=0) > _NOTHING * size
    if not usable.any():
        raise ValueError(
            "imgs are the same in all subjects, or the design fits them exactly; check "
            "that maps differ"
        )
    return usable


def _in_threads(n_jobs, function, parts):
    """Yield what a function makes of parts, in threads."""
    calls = (delayed(function)(part) for part in parts)
    return Parallel(n_jobs, prefer="threads", return_as="generator")(calls)
