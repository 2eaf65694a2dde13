"""What ``neuroextrap encoding`` reads: stimuli, features and responses."""

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroextrap.cli import _stimulus_tables as tables

logger = logging.getLogger(__name__)


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


def read_data(args):
    """Read table, features and responses."""
    in_folds = args.folds is not None
    table, is_train = tables.read_table(args.stimuli, in_folds=in_folds)
    features = tables.read_features(table, is_train, args.stimuli, args)
    names = table["stimulus"].to_numpy(dtype=str) if "stimulus" in table else None
    unique, rows = tables.unique_stimuli(features, names)  # repeats agree, before work
    train, test, mask = tables.read_responses(args.imgs, args.mask, is_train)
    runs = table["run"].to_numpy(dtype=str) if "run" in table else None
    if in_folds:
        logger.info("%d volumes, %d features", len(table), features.shape[1])
        every = tables.named(unique, rows, names)
        return FoldData(
            None, None, None, every, train, rows, runs, mask, n_folds=args.folds
        )
    counts = (is_train.sum(), (~is_train).sum(), features.shape[1])
    logger.info("%d training and %d test volumes, %d features", *counts)
    test_names = None if names is None else names[~is_train]
    tested, stimuli = tables.unique_stimuli(features[~is_train], test_names)
    return EncodingData(
        features=features[is_train],
        train=train,
        repeated=_repeated(names, is_train),
        tested=tables.named(tested, stimuli, test_names),
        test=test,
        stimuli=stimuli,
        runs=None if runs is None else runs[~is_train],
        mask=mask,
    )


def _repeated(names, is_train):
    """Return the stimuli of training volumes if some are repeated, else None."""
    if names is None or len(set(names[is_train])) == is_train.sum():
        return None
    return names[is_train]
