"""Checks of stimulus features, and which response belongs to which stimulus."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neuroextrap.design._folds import counts_of, means_of
from neuroextrap.stats._label_checks import check_labels, checked_entries
from neuroextrap.stats._validation import check_integer, check_numbers, warn


class TestSet(NamedTuple):
    """Responses of an identification experiment, one row for each test point."""

    responses: np.ndarray  # (n_test, n_features), repeats averaged or kept
    codes: np.ndarray  # candidate that each row is a response to, (n_test,)
    repeats: np.ndarray  # responses averaged into each row, (n_test,)
    groups: np.ndarray | None  # exchangeability block of each row, (n_test,)
    # of the rows, (n_features,), from the spread of repeats; None without repeats
    noise_variance: np.ndarray | None = None


def check_features(features, name="features", n_columns=None):
    """Return finite features (n_stimuli, n_columns) as float32 or else float64."""
    X = check_numbers(features, name)
    if X.ndim != 2 or not len(X):
        raise ValueError(
            f"{name} must have shape (n_stimuli, n_columns), got {X.shape}; turn "
            "images into features with GaborPyramid or RetinotopicFeatures"
        )
    if X.dtype != np.float32:
        X = X.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if bad.size:
        first = getattr(features, "columns", range(X.shape[1]))[bad[0]]
        raise ValueError(
            f"{name} hold NaN or infinity in {bad.size} columns (first: {first}); "
            "drop or repair them"
        )
    check_as_trained(f"{name} have", "columns", X.shape[1], n_columns)
    return X


def check_as_trained(who_has, what, n_given, n_known):
    """Raise ValueError unless there are as many as in training, where that is known."""
    if n_known is not None and n_given != n_known:
        raise ValueError(
            f"{who_has} {n_given} {what}, the model was trained on {n_known}; give "
            "the same ones"
        )


def feature_names(features):
    """Return the names of the columns (n_columns,) if all are text, else None."""
    names = list(getattr(features, "columns", ()))
    named = names and all(isinstance(name, str) for name in names)
    return np.array(names, dtype=object) if named else None


def check_feature_names(features, names, name="features"):
    """Raise ValueError if columns are not `names`, those of fit, in their order."""
    if names is None or features is None:
        return
    if not hasattr(features, "columns"):
        warn(
            f"{name} have no names of columns, those in fit had (first: {names[0]!r}): "
            "whether they are in the same order cannot be checked; give a DataFrame"
        )
        return
    given, names = list(features.columns), list(names)
    if given != names:
        unknown = list(pd.Index(given).difference(names, sort=False))[:3]
        missing = list(pd.Index(names).difference(given, sort=False))[:3]
        raise ValueError(
            f"{name} must have the {len(names)} columns of fit in their order, got "
            f"{len(given)} (unknown: {unknown}, missing: {missing}); give "
            f"{name}[trained.columns], if `trained` is the table in fit"
        )


def stimulus_names(features):
    """Return the index of features if it is text, not numbers, which could be rows."""
    if not hasattr(features, "columns"):
        return None
    names = check_labels(features.index.to_numpy(), "the index of features")
    if names.dtype.kind not in "US":
        return None
    counts = pd.Series(names).value_counts()
    if counts.iloc[0] > 1:
        raise ValueError(
            f"features has {counts.iloc[0]} rows of stimulus {counts.index[0]!r} in "
            "its index; give each stimulus once and say by `stimuli` which responses "
            "belong to it"
        )
    return names


def candidate_names(features, distractors=None):
    """Return the names of test stimuli and distractors, or None without any."""
    names = stimulus_names(features)
    if names is None or distractors is None:
        return names
    more = stimulus_names(distractors)
    if more is None:
        more = np.array([f"distractor{i}" for i in range(len(distractors))])
    both = np.intersect1d(names, more)
    if both.size:
        raise ValueError(
            f"distractors: {str(both[0])!r} is the name of a test stimulus; rename it"
        )
    return np.concatenate([names, more])


def rows_of_stimuli(stimuli, features):
    """Return `stimuli` as rows of `features`: names are looked up in its index."""
    if stimuli is None:
        return None
    given = check_labels(stimuli, "stimuli")
    if given.dtype.kind not in "USO":
        _check_not_numbered(given, features)
        return response_rows(given, len(given), len(features))
    given, names = given.astype(str), stimulus_names(features)
    if names is None:
        raise ValueError(
            "stimuli holds names, but features has none; give a DataFrame of features "
            "with the names as its index, or rows of features"
        )
    rows = pd.Index(names).get_indexer(given)
    if (rows < 0).any():
        raise ValueError(
            f"stimuli: {str(given[rows < 0][0])!r} is not in the index of features "
            f"({(rows < 0).sum()} responses in all); give features of every stimulus"
        )
    return rows


def _check_not_numbered(given, features):
    """Raise if stimuli may be numbers in the index of `features`, or rows of it."""
    numbers: Any = getattr(features, "index", None)
    if given.dtype.kind not in "ui" or not hasattr(numbers, "to_numpy"):
        return
    place = numbers.get_indexer_for(given) if numbers.is_unique else given
    if (place >= 0).all() and not np.array_equal(place, given):
        number = given[place != given][0]
        raise ValueError(
            f"stimuli: {number} is a number in the index of features, where it stands "
            f"in row {place[place != given][0]}; for rows give "
            "features.reset_index(drop=True), for names make both text "
            "(index.astype(str))"
        )


def features_of_responses(features, stimuli=None):
    """Return the features of each response, and its stimulus if that is told."""
    X = check_features(features)
    if stimuli is None:
        return X, None
    names = stimulus_names(features)
    rows = rows_of_stimuli(stimuli, features)
    return X[rows], rows if names is None else names[rows]


class FeatureScaling(NamedTuple):
    """What of the features varies in training, and how it is scaled."""

    kept: np.ndarray  # columns that vary, (n_columns,)
    mean: np.ndarray  # of these in training, (n_kept,)
    scale: np.ndarray  # their standard deviations

    @classmethod
    def of(cls, X, standardize):
        """Learn from training features (n_stimuli, n_columns)."""
        kept = np.ptp(X, axis=0) > 0
        if not kept.any():
            raise ValueError(
                f"features: all {X.shape[1]} columns are constant over the training "
                "stimuli; give features that differ between stimuli"
            )
        X = X[:, kept]
        if not standardize:
            return cls(kept, np.zeros_like(X[0]), np.ones_like(X[0]))
        with np.errstate(over="ignore"):
            scale = X.std(axis=0, dtype=np.float64)
        large = np.flatnonzero(kept)[~np.isfinite(scale)]
        if large.size:
            raise ValueError(
                f"features overflow in column {large[0]}: too large to square; rescale"
            )
        return cls(kept, X.mean(axis=0, dtype=np.float64), scale)

    @property
    def notes(self):
        """What a reader should know about the features, a tuple of str."""
        dropped = np.flatnonzero(~self.kept)
        if not dropped.size:
            return ()
        return (
            f"{dropped.size} of {len(self.kept)} feature columns are constant over the "
            f"training stimuli and were dropped (first: {dropped[0]})",
        )

    def varying(self, X):
        """Return the columns (n_stimuli, n_kept) that varied in training."""
        return X if self.kept.all() else X[:, self.kept]

    def __call__(self, X):
        """Return scaled features (n_stimuli, n_kept), in the precision of `X`."""
        scaled = (self.varying(X) - self.mean) / self.scale
        return scaled.astype(X.dtype, copy=False)


def pair_responses(
    responses, n_stimuli, *, stimuli=None, groups=None, repeats, averaged=1
):
    """Pair responses with stimuli, and "average" or "keep" repeats; a TestSet."""
    check_integer(averaged, "averaged", minimum=1)
    codes = response_rows(stimuli, len(responses), n_stimuli)
    groups = checked_entries(groups, "groups", codes, "responses")
    place, stimulus = pd.factorize(codes)  # in the order in which they first come
    first, counts = np.unique(place, return_index=True, return_counts=True)[1:]
    groups = None if groups is None else same_runs(groups, place)
    means, freedom, single = means_of(responses, place), len(codes) - len(counts), None
    if freedom:  # the variance of repeats about their means
        single = np.square(responses - means[place]).sum(axis=0) / freedom
    if repeats == "keep":
        each = np.full(len(codes), averaged)
        return TestSet(responses, codes, each, groups, single)
    noise = None if single is None else single * np.mean(1 / counts)
    groups = None if groups is None else groups[first]
    return TestSet(means, stimulus, counts * averaged, groups, noise)


def paired_in_blocks(responses, codes, number):
    """Average `number` responses to a stimulus, or all of fewer, at a time; TestSet."""
    block = pd.Series(codes).groupby(codes).cumcount().to_numpy() // number
    kept = (block == 0) | ((block + 1) * number <= np.bincount(codes)[codes])
    unit = np.unique([codes[kept], block[kept]], axis=1, return_inverse=True)[1].ravel()
    given = {"stimuli": unit, "repeats": "average"}
    paired = pair_responses(responses[kept], unit.max() + 1, **given)
    first = np.unique(unit, return_index=True)[1]
    return paired._replace(codes=codes[kept][first][paired.codes])


def same_runs(groups, place):
    """Return blocks (n_responses,) of stimuli, numbered by `place`, of the same groups.

    Where each stimulus is shown in one group, blocks are the groups.
    """
    first = np.unique(place, return_index=True)[1]
    if (groups == groups[first][place]).all():
        return groups
    occurs = counts_of(place, np.unique(groups, return_inverse=True)[1]) > 0
    return np.unique(occurs, axis=0, return_inverse=True)[1].ravel()[place]


def response_rows(stimuli, n_responses, n_stimuli):
    """Return the row of the features (n_responses,) that each response belongs to."""
    if stimuli is None and n_responses != n_stimuli:
        raise ValueError(
            f"imgs hold {n_responses} responses, features {n_stimuli} stimuli; "
            "say by `stimuli` which response belongs to which row of features"
        )
    codes = np.arange(n_stimuli) if stimuli is None else np.asarray(stimuli)
    if codes.shape != (n_responses,) or codes.dtype.kind not in "ui":
        raise ValueError(
            f"stimuli must be {n_responses} integers, one per response, got shape "
            f"{codes.shape} of dtype {codes.dtype}"
        )
    if codes.min() < 0 or codes.max() >= n_stimuli:
        raise ValueError(
            f"stimuli must be rows of features, 0 to {n_stimuli - 1}, got "
            f"{codes.min()} to {codes.max()}"
        )
    return codes.astype(int)
