"""How labeled samples are tested: folds, labelings, bounds and doubts as one value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from neuroextrap.design._bounds import (
    BoundDesign,
    BoundOptions,
    bound_design,
    without_forward_tests,
)
from neuroextrap.design._design import Design
from neuroextrap.design._doubts import Doubt, cross_notes, doubts_of_samples
from neuroextrap.design._folds import fold_weightings, make_design
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.design._labels import Labels
from neuroextrap.design._permutations import Permuted, permuted_codes


@dataclass(frozen=True)
class Tests:
    """Everything about the tests of a run that follows from labels, runs and blocks."""

    __test__ = False  # pytest shall not collect it

    labels: Labels
    design: Design  # the folds
    permuted: Permuted  # the observed labeling and the permuted ones
    options: BoundOptions
    bounds: BoundDesign
    forward: ForwardFolds | None  # tests behind the bounds, where folds are not

    @classmethod
    def of(
        cls,
        labels: Labels,
        options: BoundOptions,
        *,
        cv: Any,
        n_permutations: int,
        random_state: Any,
    ) -> Self:
        """Make them; ValueError where labels, runs, blocks and options do not fit."""
        n_classes = len(labels.classes)
        design = make_design(labels.codes, n_classes, cv=cv, groups=labels.groups)
        permuted = permuted_codes(labels, design, n_permutations, random_state, cv=cv)
        bounds, forward = bound_design(labels, design, options)
        return cls(labels, design, permuted, options, bounds, forward)

    def without_forward(self, reason: str) -> Self:
        """Return the tests with bounds from the folds, because of `reason`."""
        bounds = without_forward_tests(self.labels, self.design, self.options, reason)
        return replace(self, bounds=bounds, forward=None)

    def weightings(self, per_fold: bool) -> np.ndarray:
        """Return further weightings of the test points: the bound's, then each fold's.

        Shape (n_weightings, n_test).
        """
        if not per_fold:
            return self.bounds.weighting
        folds, _ = fold_weightings(self.labels.codes, self.design)
        return np.concatenate([self.bounds.weighting, folds])

    @property
    def test_codes(self) -> np.ndarray:
        """Class of every test point; shape (n_test,)."""
        return self.labels.codes[self.design.test]

    def doubts(self, X: np.ndarray) -> tuple[Doubt, ...]:
        """Return what is doubtful of samples X (n_samples, n_features) in these tests.

        ValueError where a sample is trained on and a copy of it is tested.
        """
        of_samples = doubts_of_samples(X, self.labels, self.design)
        return of_samples + self.permuted.doubts

    def notes(self, more: Sequence[str] = ()) -> tuple[str, ...]:
        """Return notes of labelings and folds, more notes, and those of the bounds."""
        crossed = cross_notes(self.design) if len(self.permuted.codes) > 1 else ()
        return (*self.permuted.notes, *more, *crossed, *self.bounds.notes)
