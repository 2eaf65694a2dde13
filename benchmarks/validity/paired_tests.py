"""Tests of encoding models and of pairs: pairing, model comparison, sign flips."""

import warnings

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.validity.registry import Row, check
from neuroextrap import stats
from neuroextrap.encoding import EncodingIdentification, compare_encoding_models

FAMILY = "Tests of encoding models and of pairs"
LEVEL = 0.05 + 1e-12
REGIONS = np.tile(np.kron(np.eye(5), np.ones((1, 3))), 2)  # alike in both halves


def identify(train, test, *, groups=None, n_permutations=0, **options):
    """Fit on training pairs (features, responses), identify the test responses."""
    model = EncodingIdentification(
        encoder=Ridge(), regions=REGIONS, n_permutations=n_permutations, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*train).identify(*test, groups=groups)


@check(FAMILY, n_sets=800, quick=10)
def pairing(rng, n_sets, *, mistake=False):
    """Responses that say nothing; mistake: trained on the responses it identifies."""
    for drift in (False,) if mistake else (False, True):
        local, family = [], []
        runs = np.repeat([0, 1, 2, 3], 6)
        for _ in range(n_sets):
            x, y = rng.normal(size=(84, 4)), rng.normal(size=(84, 30))
            if drift:  # of the runs, shared by all voxels
                y[60:] += 3 * rng.normal(size=(4, 1))[runs]
            train = slice(60, 84) if mistake else slice(0, 60)
            model = identify(
                (x[train] + 1e-3, y[train] * 1.001 if mistake else y[train]),
                (x[60:], y[60:]),
                groups=runs if drift else None,
                n_permutations=19,
                statistic="pairwise_accuracy",
                random_state=rng.integers(2**31),
            )
            scores = model.region_scores_
            local.append((scores["p_value"] <= LEVEL).mean())
            family.append(scores["p_value_fwe"].min() <= LEVEL)
        where = "60 training, 24 test stimuli"
        where += ", runs that drift, pairs moved within" if drift else ""
        yield Row("Pairing test, one region", where, local)
        yield Row("Pairing test, 5 regions at once", where, family)


@check(FAMILY, n_sets=800, quick=5, mistakes=12)
def model_comparison(rng, n_sets, *, mistake=False):
    """Exchangeable outcomes; mistake: one response counted as five stimuli.

    The second model is trained on responses whose halves of voxels are swapped. Every
    test response is as it is, or swapped, by the toss of a coin, and noise is alike in
    both halves: swapping a response exchanges its two outcomes.
    """
    swap = np.roll(np.arange(30), 15)
    for signal in (1.0,) if mistake else (0.0, 1.0):
        local, family = [], []
        for _ in range(n_sets):
            x, weights = rng.normal(size=(84, 4)), rng.normal(size=(4, 30))
            y = signal * x @ weights
            tossed = rng.random((24, 1)) < 0.5
            y[60:] = np.where(tossed, y[60:, swap], y[60:])
            y += 3 * rng.normal(size=y.shape)
            x_test, y_test = x[60:], y[60:]
            if mistake:
                many = np.repeat(np.arange(8), 5)
                x_test = x_test[many] + 0.01 * rng.normal(size=(40, 4))
                y_test = y_test[many]
            pair = [
                identify((x[:60], responses), (x_test, y_test))
                for responses in (y[:60], y[:60, swap])
            ]
            with warnings.catch_warnings():  # of models trained on other responses
                warnings.simplefilter("ignore")
                maps = compare_encoding_models(
                    *pair,
                    statistic="pairwise_accuracy",
                    n_permutations=99,
                    random_state=rng.integers(2**31),
                )
            local.append((maps["p_value"] <= LEVEL).mean())
            family.append(maps["p_value_fwe"].min() <= LEVEL)
        where = "24 test stimuli, "
        where += "either model's by a coin" if signal else "no signal"
        yield Row("Model comparison, one region", where, local)
        yield Row("Model comparison, 5 regions at once", where, family)


@check(FAMILY, n_sets=4000, quick=100)
def paired_sign_flips(rng, n_sets, *, mistake=False):
    """Exchangeable pairs; mistake: every region's own p-value for all at once."""
    laws = {
        "normal": lambda shape: rng.normal(size=shape),
        "outcomes 0 and 1, many ties": lambda shape: rng.integers(
            -1, 2, size=shape
        ).astype(float),
        "t, 2 degrees of freedom, units alike in all regions": lambda shape: (
            rng.standard_t(2, size=(1, shape[1])) + 0.3 * rng.normal(size=shape)
        ),
    }
    for law, draw in laws.items():
        for n_units in (5, 24):
            if mistake and (law != "normal" or n_units != 24):
                continue
            local, family = [], []
            for _ in range(n_sets):
                test = stats.paired_sign_flip_test(
                    draw((20, n_units)),
                    n_permutations=199,
                    random_state=rng.integers(2**31),
                )
                local.append((test.p_value <= LEVEL).mean())
                p = test.p_value if mistake else test.p_value_fwe
                family.append(p.min() <= LEVEL)
            where = f"{n_units} units, {law}"
            if not mistake:
                yield Row("Paired sign flips, one region", where, local)
            yield Row("Paired sign flips, 20 regions at once", where, family)
