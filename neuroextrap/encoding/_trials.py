"""Responses and features of trials, split into training and test or into folds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class EncodingData:
    """What was read, split into training and test.

    `features` and `train` are features and responses of the training volumes;
    `repeated` holds their stimuli if some are repeated, else None. `tested` holds
    features of every test stimulus once, with names in its index where stimuli have
    names, `test` the responses of the test volumes, `stimuli` the row of `tested` that
    each belongs to (or None) and `runs` their runs (or None). `mask` is the mask image
    used; None for arrays.
    """

    features: Any
    train: Any
    repeated: Any
    tested: Any
    test: Any
    stimuli: Any
    runs: Any
    mask: Any
    n_folds: int = 1

    def identify(self, model):
        """Train a model, and identify the test stimuli."""
        model.fit(self.features, self.train, groups=self.repeated)
        return model.identify(self.tested, self.test, self.runs, stimuli=self.stimuli)


@dataclass(frozen=True)
class FoldData(EncodingData):
    """What was read, to be tested fold by fold: `tested` and `test` hold everything."""

    def identify(self, model):
        """Train and identify fold by fold."""
        return model.identify_folds(
            self.tested, self.test, stimuli=self.stimuli, n_folds=self.n_folds
        )

    def first_fold(self):
        """Return training and test data of a fold, as EncodingData; arrays only."""
        n_stimuli = len(self.tested)
        stimuli = np.arange(n_stimuli) if self.stimuli is None else self.stimuli
        is_test = stimuli < n_stimuli // self.n_folds
        features = np.asarray(self.tested)
        repeated = stimuli[~is_test]
        unique = len(np.unique(repeated)) == len(repeated)
        return EncodingData(
            features=features[repeated],
            train=self.test[~is_test],
            repeated=None if unique else repeated,
            tested=features[: n_stimuli // self.n_folds],
            test=self.test[is_test],
            stimuli=stimuli[is_test],
            runs=None if self.runs is None else self.runs[is_test],
            mask=self.mask,
            n_folds=self.n_folds,
        )

    def with_responses(self, responses):
        """Return the same with responses as an array."""
        return replace(self, test=responses)
