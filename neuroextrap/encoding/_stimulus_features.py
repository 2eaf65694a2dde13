"""Features of stimuli: in parts, and which rows of them are the same stimulus."""

import itertools

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from neuroextrap.design._copies import check_new_rows
from neuroextrap.margins.running._execution import Progress
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.models._retinotopic import RetinotopicFeatures
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._validation import warn

_ROUNDING = 1e-5  # share of a column's largest value by which equal ones may differ
_FEWEST_COLUMNS = 3  # fewer agree so closely by chance: only equal rows are the same
_N_PROJECTIONS = 4
SOME_VOXELS = 64  # by which responses are known again
_STRETCH = 20  # volumes, of which more than half differ, that show what others show

REPEATS_NOTE = (
    "training stimuli are shown repeatedly; cross-validation keeps the repeats of a "
    "stimulus together"
)


def stimulus_numbers(X):
    """Tell the stimuli of rows (n_samples, n_columns) by numbers, in order of rows.

    Rows are one stimulus if they are equal or, in three or more columns, differ by
    rounding only, as features do that a program computes of the same picture twice.
    """
    rows = np.array([row.tobytes() for row in X + 0.0], dtype=object)
    equal, _ = pd.factorize(rows)
    if X.shape[1] < _FEWEST_COLUMNS:
        return equal
    distinct = X[np.unique(equal, return_index=True)[1]]
    pairs = _near_pairs(distinct)
    ones, shape = np.ones(len(pairs)), (len(distinct),) * 2
    near = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=shape)
    return pd.factorize(connected_components(near, directed=False)[1][equal])[0]


def _near_pairs(X):
    """Return the pairs of rows (n_pairs, 2) that differ by rounding only."""
    size = np.abs(X).max(axis=0)
    weights = np.random.default_rng(0).normal(size=(X.shape[1], _N_PROJECTIONS))
    scaled = np.divide(weights, size[:, None], where=size[:, None] > 0, out=0 * weights)
    projected = X.astype(np.float64) @ scaled
    # the sum of so many products is itself rounded
    width = 2 * _ROUNDING * np.abs(weights).sum(axis=0)
    tree = cKDTree(projected / width)
    pairs = tree.query_pairs(1.0, p=np.inf, output_type="ndarray")
    parts = np.array_split(pairs, 1 + len(pairs) * X.shape[1] // _PART)
    gaps = (np.abs(X[i] - X[j]) for i, j in (part.T for part in parts))
    near = [(gap <= _ROUNDING * size).all(axis=1) for gap in gaps]
    return pairs[np.concatenate(near)]


def names_of_stimuli(numbers, names):
    """Return the name of every stimulus, where responses were named by text."""
    if names is None:
        return None
    of_stimuli = names[np.unique(numbers, return_index=True)[1]]
    other = np.flatnonzero(names != of_stimuli[numbers])
    if other.size:
        pair = of_stimuli[numbers[other[0]]], names[other[0]]
        one, two = (str(n) if n.dtype.kind in "ui" else repr(str(n)) for n in pair)
        raise ValueError(
            f"stimuli {one} and {two} have the same features, so that one "
            "could be tested where the other was trained on; give each stimulus "
            "once and name its responses by `stimuli`"
        )
    return of_stimuli if of_stimuli.dtype.kind in "US" else None


def training_groups(stimuli, groups=None):
    """Return groups that keep repeats of a stimulus together, and notes."""
    n_samples, n_stimuli = len(stimuli), stimuli.max() + 1
    if groups is None:
        return (stimuli, (REPEATS_NOTE,)) if n_stimuli < n_samples else (None, ())
    groups = checked_entries(groups, "groups", stimuli, "responses")
    parted = (pd.Series(groups).groupby(stimuli).nunique() > 1).sum()
    if parted:
        raise ValueError(
            f"groups split the repeats of {parted} training stimuli, so that penalties "
            "would be chosen on stimuli that were trained on; give the stimuli as "
            "groups, or groups=None"
        )
    return groups, ()


def check_candidates(candidates, n_tested, trained=None, names=None):
    """Refuse candidates that are alike, and tested ones among features and names."""
    if len(candidates) < 2:
        raise ValueError(
            f"features has {len(candidates)} candidates, at least two are needed; "
            "give more test stimuli or distractors"
        )
    if trained is not None:
        _check_new(candidates[:n_tested], names, *trained)
    numbers = stimulus_numbers(candidates)
    first = np.unique(numbers, return_index=True)[1][numbers]
    copies = np.flatnonzero(first != np.arange(len(first)))
    if copies.size:
        one, two = (_called(row, names) for row in (first[copies[0]], copies[0]))
        raise ValueError(
            f"candidates {one} and {two} have identical features; give each stimulus "
            "once and say by `stimuli` which responses belong to it"
        )


def _check_new(tested, names, trained, trained_names):
    """Raise if a test stimulus was trained on, by its features or `trained_names`."""
    numbers = stimulus_numbers(np.concatenate([trained, tested]))
    seen = np.isin(numbers[len(trained) :], numbers[: len(trained)])
    if names is not None and trained_names is not None:
        seen |= np.isin(names[: len(tested)], trained_names)
    if seen.any():
        row = _called(np.flatnonzero(seen)[0], names)
        raise ValueError(
            f"{seen.sum()} of {len(tested)} test stimuli were trained on (first: "
            f"{'row ' if names is None else ''}{row}); leave them out, or train "
            "without them: identification is of stimuli that the model has not seen"
        )


def _called(row, names):
    """Return how a message calls a stimulus: its row or, in quotes, its name."""
    return row if names is None else repr(str(names[row]))


def check_new_runs(trained, tested):
    """Refuse, or in parts warn of, tested Runs whose stimulus was trained on."""
    columns = np.flatnonzero(trained.usable & tested.usable)[:SOME_VOXELS]
    check_new_rows(trained.responses[:, columns], tested.responses[:, columns])
    pairs = itertools.product(enumerate(tested.by_run), enumerate(trained.by_run))
    for (number, values), (other, trained_values) in pairs:
        if same_features(values, trained_values):
            raise ValueError(
                f"test run {number} has the features of training run {other}, so that "
                "the stimulus is not new to the model; test on runs of other stimuli"
            )
    for number, share in enumerate(_shares_known(trained, tested)):
        if share:
            warn(
                f"test run {number} has in {share:.0%} of its volumes features that "
                "follow each other so in a training run, too, so that these are not "
                "new to the model; leave them out (sample_mask)"
            )


def same_features(first, second):
    """Say whether features of two runs are equal, up to rounding."""
    if first.shape != second.shape:
        return False
    near = _ROUNDING * first.std(axis=0)
    return bool((np.abs(first - second) <= near).all())


def _shares_known(trained, tested):
    """Return the share of each tested run that lies in stretches shown in training."""
    scale = trained.features.std(axis=0)
    weights = np.random.default_rng(0).normal(size=(len(scale), _N_PROJECTIONS))
    weights /= np.where(scale > 0, scale, np.inf)[:, np.newaxis]
    both = [part @ weights for part in (*trained.by_run, *tested.by_run)]
    ends = np.cumsum([len(part) for part in both])[:-1]
    numbers = np.split(stimulus_numbers(np.concatenate(both)), ends)
    n_trained, stretches = len(trained.by_run), set()
    for own in numbers[:n_trained]:
        stretches.update(_stretches(own).values())
    for own in numbers[n_trained:]:
        seen = np.zeros(len(own), dtype=bool)
        for start, stretch in _stretches(own).items():
            seen[start : start + _STRETCH] |= stretch in stretches
        yield seen.mean()


def _stretches(numbers):
    """Return stretches of a run's volumes that change enough, bytes by first volume."""
    parts = ((v, numbers[v : v + _STRETCH]) for v in range(len(numbers) - _STRETCH + 1))
    return {v: p.tobytes() for v, p in parts if len(np.unique(p)) > _STRETCH // 2}


IMAGE_MODELS = {"gabor": GaborPyramid, "retinotopic": RetinotopicFeatures}
_PART = 2**24  # numbers (pixels and colors) in a part, which takes 24 bytes of each


def image_feature_kinds(images, model="gabor"):
    """Return the kind of each feature of images, such as "gabor"; (n_features,)."""
    blank = np.zeros((1, *images.shape[1:]), dtype=np.float32)
    return IMAGE_MODELS[model]().fit(blank).feature_kinds_


def image_features(images, model="gabor", train=None, *, verbose=0, part=_PART):
    """Compute features (n_images, n_features) in parts, scaled by the rows `train`."""
    transformer = IMAGE_MODELS[model]()
    train = np.arange(len(images)) if train is None else train
    step = max(1, int(part // np.prod(images.shape[1:])))
    if len(images) <= step:
        images = images[:]
        if len(train) == len(images):
            return transformer.fit_transform(images)
        return transformer.fit(images[train]).transform(images)
    progress, total = Progress(verbose, unit="images"), len(train) + len(images)
    for start in range(0, len(train), step):  # read twice: first for the scales
        transformer.partial_fit(images[train[start : start + step]])
        progress(min(start + step, len(train)), total)
    features = None
    for start in range(0, len(images), step):
        values = transformer.transform(images[start : start + step])
        if features is None:
            features = np.empty((len(images), values.shape[1]), values.dtype)
        features[start : start + step] = values
        progress(min(len(train) + start + step, total), total)
    return features
