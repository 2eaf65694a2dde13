"""Which encoder, rule and statistic identify most, on data of different kinds.

    PYTHONPATH=. python benchmarks/encoding_defaults.py [--quick] [--only WORD ...]
        [--v4 FOLDER] [--fingers FILE]

prints, for each kind of data, the accuracy of the default and by how much others are
better (mean and 95% interval over draws of the data), and the voxels that each
statistic finds. Measured data are given as files: images.npy (n, height, width, 3) and
responses.npy (n, n_neurons) of photographs, and the betas of finger presses of the
pattern component modelling toolbox. docs/guide/encoding_defaults.rst has the results.
"""

import argparse
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import sem, t

from benchmarks.encoding import simulated as sparse_weights
from benchmarks.validity.encoding_models import SPEED, embeddings, fingers, plain_wins
from benchmarks.validity.series import series
from neuroextrap.datasets import simulate_visual_cortex
from neuroextrap.encoding import (
    ContinuousEncoding,
    ElasticNetEncoder,
    EncodingIdentification,
    GaborPyramid,
    RidgeEncoder,
)
from neuroextrap.stats import average_accuracy

RULES = "mahalanobis", "diagonal", "correlation", "auto"
OF_REPEATS = "averaged rows", "noise within conditions"
ONCE, BOTH, REFERENCE = "shown once", (2, 27), "reference"
STATISTICS = "accuracy", 20, "pairwise_accuracy", "implied_information"


class Trial(NamedTuple):
    """Training and test data, one row for each response."""

    X: np.ndarray  # features of every stimulus
    train: np.ndarray  # stimulus of every training response
    Y: np.ndarray
    test: np.ndarray
    Y_test: np.ndarray
    among: Any = None  # numbers of candidates; None: all
    single: bool = False  # test responses are not averaged


def split(rng, X, Y, n_train, n_test, among=None):
    """Draw training and test stimuli, with one response each."""
    order = rng.permutation(len(X))
    old, new = order[:n_train], order[n_train : n_train + n_test]
    return Trial(X, old, Y[old], new, Y[new], among)


def objects(rng):
    """81 objects, each shown once, 400 voxels, and 1,000 features of a network."""
    return split(rng, *embeddings(rng, 81, 1000, 400, 0.2), 54, 27, BOTH)


def weak_objects(rng):
    """81 objects, each shown once, 700 voxels, and 300 features of their names."""
    return split(rng, *embeddings(rng, 81, 300, 700, 0.06), 54, 27, BOTH)


def words(rng):
    """600 words, 300 features, 60 voxels."""
    return split(rng, *embeddings(rng, 600, 300, 60, 0.1), 500, 100)


def sparse(rng):
    """Features of which each voxel depends on 20 of 500."""
    X, Y = sparse_weights(500, 500, 30, seed=rng)
    return split(rng, X, Y, 400, 100)


def cortex(rng):
    """Complex cells of a simulated cortex, 60 voxels, which see gray patches."""
    data = simulate_visual_cortex(n_train=300, n_test=100, random_state=rng)
    Y = data.masker.transform(data.imgs)
    voxels = rng.permutation(np.flatnonzero(data.responsive))[:60]
    X = GaborPyramid().fit_transform(data.stimuli)
    return split(rng, X, Y[:, voxels], 300, 100)


def few_conditions(n_voxels, order):
    """15 conditions of 8 repeats, listed by finger, by speed, or at random."""

    def draw(rng):
        X, Y, shown = fingers(rng, n_voxels)
        new = rng.integers(4) == SPEED
        listed = {
            "by finger": np.arange(20),
            "by speed": np.argsort(SPEED, kind="stable"),
            "at random": rng.permutation(20),
        }[order]
        rows = np.concatenate([np.flatnonzero(shown == c) for c in listed])
        X, Y, shown, new = (
            X[listed],
            Y[rows],
            np.argsort(listed)[shown[rows]],
            new[listed],
        )
        old = ~new[shown]
        return Trial(X, shown[old], Y[old], shown[~old], Y[~old], None, True)

    return draw


def photographs(folder, n_train, n_test=200, among=100):
    """Neurons of macaque V4: default features of photographs, some of them held out."""

    def draw(rng):
        return split(rng, *features_and_responses(folder), n_train, n_test, among)

    return draw


@cache
def features_and_responses(folder):
    """Return the default features of photographs, and the responses to them."""
    images = np.load(Path(folder) / "images.npy").astype(np.float32) / 255
    Y = np.load(Path(folder) / "responses.npy")
    return GaborPyramid().fit_transform(images), Y


def two_hands(path):
    """Presses of five fingers of two hands: two fingers of a hand are held out."""
    from scipy.io import loadmat

    data = loadmat(path)
    X = np.c_[np.tile(np.eye(5), (2, 1)), np.repeat([0, 1], 5)]

    def draw(rng):
        subject = rng.integers(12)
        Y = data["Data"][0, subject].astype(float)
        shown = data["condVec"][0, subject].ravel() - 1
        runs = data["partVec"][0, subject].ravel()
        for run in np.unique(runs):
            Y[runs == run] -= Y[runs == run].mean(axis=0)
        tested = rng.permutation(5)[:2] + 5 * rng.integers(2)
        new = np.isin(shown, tested)
        return Trial(X, shown[~new], Y[~new], shown[new], Y[new], None, True)

    return draw


def encoders(name=""):
    """Return the encoders that are compared in a kind of data."""
    own = {"own penalties": RidgeEncoder(shared_samples=0)} if ONCE in name else {}
    return {"ridge": RidgeEncoder(), **own, "elastic net": ElasticNetEncoder()}


def accuracies(trial, encoder, rules):
    """Return accuracies of a trial by rule, and CPU seconds of training."""
    candidates = np.unique(trial.test)
    repeats = "keep" if trial.single else "average"
    found, start = {}, time.process_time()
    for rule in rules:
        train, Y, options = trial.train, trial.Y, {"rule": rule}
        if rule not in RULES:
            unique, place = np.unique(train, return_inverse=True)
            means = np.array([Y[train == stimulus].mean(axis=0) for stimulus in unique])
            options = {"noise_covariance": Y - means[place]}
        if rule == "averaged rows":
            train, Y, options = unique, means, {}
        model = EncodingIdentification(encoder=encoder, repeats=repeats, **options)
        model.fit(trial.X, Y, stimuli=train)
        if rule == rules[0]:
            spent = time.process_time() - start
        shown = np.searchsorted(candidates, trial.test)
        model.identify(trial.X[candidates], trial.Y_test, stimuli=shown)
        sizes = np.atleast_1d(trial.among or len(candidates))
        found[rule] = average_accuracy(model.wins_[0], sizes)
    return found, spent


def interval(values):
    """Format means of values, and 95% intervals, for each number of candidates."""
    told = []
    for column in np.transpose([np.atleast_1d(value) for value in values]):
        half = t.ppf(0.975, len(column) - 1) * sem(column)
        mean = column.mean()
        told.append(f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]")
    return "; ".join(told)


def compare(name, draw, n_draws, n_elastic):
    """Print what encoders and rules gain over ridge and the Mahalanobis distance."""
    print(f"\n{name}, {n_draws} draws ({n_elastic} of the elastic net)", flush=True)
    gains, base, cpu = {}, [], {}
    for number in range(n_draws):
        trial = draw(np.random.default_rng(number))
        for encoder, model in encoders(name).items():
            if encoder == "elastic net" and number >= n_elastic:
                continue
            rules = RULES + OF_REPEATS * trial.single
            rules = rules if encoder == "ridge" else RULES[:1]
            found, spent = accuracies(trial, model, rules)
            if encoder == "ridge":
                base.append(found["mahalanobis"])
            cpu.setdefault(encoder, []).append(spent)
            for rule, accuracy in found.items():
                key = f"{encoder}, {rule}"
                gains.setdefault(key, []).append(accuracy - base[-1])
        if ONCE in name:
            plain = plain_wins(
                trial.X[trial.train], trial.Y, trial.X[trial.test], trial.Y_test
            )
            plain = average_accuracy(plain, trial.among)
            gains.setdefault(REFERENCE, []).append(plain - base[-1])
    print(f"  ridge, mahalanobis: {np.mean(base, axis=0).round(3)}")
    for key, values in gains.items():
        if key != "ridge, mahalanobis" and len(values) > 1:
            print(f"  {key:28s} {interval(values)}")
    print("  CPU s: " + ", ".join(f"{k} {np.median(v):.2f}" for k, v in cpu.items()))


def kinds_of_features(folder, n_draws, n_elastic):
    """Print what kinds of features of photographs add, by encoder."""
    images = np.load(Path(folder) / "images.npy").astype(np.float32) / 255
    Y = np.load(Path(folder) / "responses.npy")
    pyramid = GaborPyramid()
    start = time.process_time()
    X = pyramid.fit_transform(images)
    print(
        f"\nfeatures of {len(images)} photographs: {time.process_time() - start:.1f} s"
    )
    kinds = pyramid.feature_kinds_
    texture = kinds == "texture"
    energies = np.char.endswith(kinds, "_gabor")
    color = np.char.startswith(kinds, "red") | np.char.startswith(kinds, "blue")
    plain = ~texture & ~energies
    chosen = {
        "without colors": plain & ~color,
        "texture, without colors": (plain & ~color) | texture,
        "texture": plain | texture,
        "energies of colors": plain | energies,
        "both": np.ones_like(plain),
    }
    for n_train in (300, 1000):
        for encoder, model in encoders().items():
            base, gains = [], {name: [] for name in chosen}
            for number in range(n_draws if encoder == "ridge" else n_elastic):
                trial = split(np.random.default_rng(number), X, Y, n_train, 200, 100)

                def accuracy(columns, trial=trial, model=model):
                    part = trial._replace(X=trial.X[:, columns])
                    return accuracies(part, model, RULES[:1])[0]["mahalanobis"][0]

                base.append(accuracy(plain))
                for name, columns in chosen.items():
                    if encoder == "ridge" or name == "both":
                        gains[name].append(accuracy(columns) - base[-1])
            print(f"  {n_train} to train, {encoder}: {np.mean(base):.3f}", flush=True)
            for name, values in gains.items():
                if values:
                    print(f"    {name:24s} {chosen[name].sum():5d} {interval(values)}")


def films(n_draws):
    """Print what elastic nets gain for films: r, and segments among two."""
    print(f"\nfilms, 4 runs to train and 2 to test, {n_draws} draws", flush=True)
    gains = {"correlation": [], "segments among two": []}
    for number in range(n_draws):
        rng = np.random.default_rng(number)
        weights = rng.normal(size=(80, 40)) * (rng.uniform(size=(80, 40)) < 0.3)
        features = [series(rng, 150, 0.9, 20) for _ in range(6)]
        responses = []
        for X in features:
            past = np.concatenate([np.roll(X, d, axis=0) for d in (1, 2, 3, 4)], axis=1)
            noise = series(rng, 150, 0.5, 40)
            signal = past @ weights
            responses.append(0.3 * signal / signal.std() + noise / noise.std())
        found = []
        for encoder in encoders().values():
            model = ContinuousEncoding(encoder=encoder, t_r=2.0)
            model.fit(features[:4], responses[:4])
            scores = model.score(features[4:], responses[4:])
            cut = model.identify_segments(features[4:], responses[4:], seconds=20)
            pair = cut["pairwise_accuracy"][0]
            found.append((np.nan_to_num(scores["correlation"]).mean(), pair))
        for values, ridge, elastic in zip(gains.values(), *found, strict=True):
            values.append(elastic - ridge)
    for key, values in gains.items():
        print(f"  elastic net, {key:20s} {interval(values)}")


def statistics(n_candidates, signal, share, n_draws):
    """Print the planted regions that each statistic finds, family-wise.

    60 regions of 6 voxels, 20 of them with responses to the features; of these a
    `share` of the stimuli evokes responses, three times as strong if that is a third.
    """
    n_train, n_regions, planted = 200, 60, 20
    regions = csr_array(np.kron(np.eye(n_regions), np.ones((1, 6))))
    hits = {name: [] for name in STATISTICS}
    for number in range(n_draws):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(n_train + n_candidates, 20))
        mean = X @ rng.normal(size=(20, 6 * n_regions))
        mean[:, 6 * planted :] = 0
        strong = rng.uniform(size=len(X)) < share
        strong[:n_train] = True
        Y = np.sqrt(signal / 20) * mean * (strong / share**0.5)[:, None]
        Y += rng.normal(size=mean.shape)
        model = EncodingIdentification(
            encoder=RidgeEncoder(), regions=regions, n_permutations=200
        ).fit(X[:n_train], Y[:n_train])
        for name in STATISTICS:
            size = min(name, n_candidates) if isinstance(name, int) else name
            model.set_params(statistic=size)
            model.identify(X[n_train:], Y[n_train:])
            found = model.region_scores_["p_value_fwe"] <= 0.05
            hits[name].append((found[:planted].mean(), found[planted:].any()))
    print(f"  {n_candidates} candidates, signal {signal}, share {share:.2f}:")
    for name, values in hits.items():
        found, false = np.mean(values, axis=0)
        print(f"    {name!s:20s} {found:.2f} (a false one: {false:.2f})", flush=True)


def kinds_of_data(args):
    """Return how each kind is drawn, how often, and how often for the elastic net."""
    kinds = {
        f"fingers at speeds, {n} voxels, listed {order}": (
            few_conditions(n, order),
            40,
            4 * (order == "at random"),
        )
        for n in (15, 60, 200, 400)
        for order in ("by finger", "by speed", "at random")
    }
    kinds |= {
        f"objects, 54 {ONCE}": (objects, 200, 8),
        f"weak objects, 54 {ONCE}": (weak_objects, 200, 8),
        "words, embeddings": (words, 12, 4),
        "sparse weights": (sparse, 12, 6),
        "simulated cortex": (cortex, 12, 6),
    }
    if args.fingers:
        kinds["two hands, measured"] = two_hands(args.fingers), 48, 12
    if args.v4:
        kinds[f"photographs, 54 {ONCE}"] = photographs(args.v4, 54, 27, BOTH), 400, 12
        kinds["photographs, 300 to train"] = photographs(args.v4, 300), 8, 8
        kinds["photographs, 1,000 to train"] = photographs(args.v4, 1000), 8, 4
    return kinds


def main():
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--v4")
    parser.add_argument("--fingers")
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    few = args.quick
    for name, (draw, *numbers) in kinds_of_data(args).items():
        if any(word in name for word in args.only):
            compare(name, draw, *(min(n, 2) if few else n for n in numbers))
    if args.v4 and any(word in "kinds of features" for word in args.only):
        kinds_of_features(args.v4, *((2, 1) if few else (8, 4)))
    if any(word in "films" for word in args.only):
        films(2 if few else 10)
    if any(word in "statistics" for word in args.only):
        print("\nstatistics: planted regions found, family-wise")
        for n_candidates in (20, 100, 400):
            for signal, share in ((0.1, 1.0), (0.3, 1.0), (0.1, 1 / 3)):
                statistics(n_candidates, signal, share, 1 if few else 5)


if __name__ == "__main__":
    main()
