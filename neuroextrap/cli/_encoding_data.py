"""What ``neuroextrap encoding`` reads: stimuli, features and responses."""

import logging

from neuroextrap.cli import _stimulus_tables as tables
from neuroextrap.encoding._trials import EncodingData, FoldData

logger = logging.getLogger(__name__)


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
