"""Every equation of the documentation, evaluated as it is printed."""

import itertools
import re
from math import comb, log
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special
from scipy.stats import binom, norm

from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import (
    EncodingIdentification,
    RidgeEncoder,
    schaefer_strimmer_covariance,
)
from neuroextrap.group import prevalence_test
from neuroextrap.learning_curves import (
    CanonicalVariates,
    prediction_information,
    sensitivity_map,
)
from tests.seam import best_prior_weight, cyclic_orders, mahalanobis_margins

PAGE = Path(__file__).resolve().parents[1] / "docs" / "equations.rst"
rng = np.random.default_rng(0)
K, REPEATS = 6, 2
Y = np.repeat(np.arange(K), REPEATS)
MARGINS = np.round(rng.normal(size=(len(Y), K)) + 1.5 * np.eye(K)[Y], 1)  # with ties
WINS = stats.win_distribution(MARGINS, Y)
SIZES = np.arange(2, K + 1)
CURVE = stats.average_accuracy(WINS, SIZES)


def equations():
    """Number of displayed equations below every heading, by heading."""
    found, heading, previous = {}, None, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"[-~=]{4,}", line) and previous:
            heading = previous
        if line.startswith(".. math::"):
            found[heading] = found.get(heading, 0) + 1
        previous = line
    return found


EVALUATED: dict = {}


def evaluates(heading):
    """Register a function as what evaluates one more equation below a heading."""

    def register(function):
        EVALUATED.setdefault(heading, []).append(function)
        return function

    return register


def test_every_equation_is_evaluated():
    assert {name: len(tests) for name, tests in EVALUATED.items()} == equations()


def test_every_extrapolation_method_has_a_row():
    named = set(re.findall(r"``(\w+)``", PAGE.read_text(encoding="utf-8")))
    assert set(stats.EXTRAPOLATION_METHODS) <= named


@evaluates("Win distribution")
def test_wins():
    expected = np.zeros(K)
    for margins, label in zip(MARGINS, Y, strict=True):
        others = np.delete(margins, label)
        lower, tied = (others < margins[label]).sum(), (others == margins[label]).sum()
        expected[lower : lower + tied + 1] += 1 / (K * REPEATS * (tied + 1))
    np.testing.assert_allclose(WINS, expected, atol=1e-15)


@evaluates("Average accuracy")
def test_average_accuracy():
    expected = [
        sum(WINS[v] * comb(v, k - 1) / comb(K - 1, k - 1) for v in range(K))
        for k in SIZES
    ]
    np.testing.assert_allclose(CURVE, expected, rtol=1e-12)


@evaluates("Average risk, costs C")
def test_risk():
    cost = rng.uniform(1, 2, size=(K, K)) * (1 - np.eye(K))
    for k in (2, 4):
        expected = 0.0
        for margins, i in zip(MARGINS, Y, strict=True):
            for others in itertools.combinations(np.delete(np.arange(K), i), k - 1):
                among = np.array([i, *others])
                best = among[margins[among] == margins[among].max()]
                expected += cost[i, best].mean() / (REPEATS * comb(K, k) * k)
        found = stats.average_risk(MARGINS, Y, cost, [k])
        np.testing.assert_allclose(found, [expected], rtol=1e-12)


@evaluates("Extrapolation")
def test_conditional_accuracy_gives_the_curve():
    model = stats.AccuracyExtrapolator("gaussian_mixture").fit(MARGINS, Y)
    for k in (3, 20):
        below, _ = integrate.quad(
            lambda u, k=k: float(model.conditional_accuracy_cdf(u)) * u ** (k - 2),
            *(0, 1), limit=400, epsabs=1e-7,
        )  # fmt: skip
        assert model.predict([k])[0] == pytest.approx(1 - (k - 1) * below, abs=2e-3)


@evaluates("High-dimensional limit")
def test_gaussian_limit():
    for bits, k in ((1.0, 2), (3.0, 30)):
        c = np.sqrt(2 * bits * log(2))
        expected, _ = integrate.quad(
            lambda z, c=c, k=k: norm.pdf(z - c) * norm.cdf(z) ** (k - 1), -12, 20
        )
        found = stats.gaussian_identification_accuracy(bits, [k])
        np.testing.assert_allclose(found, [expected], rtol=1e-6)


@evaluates("Implied information")
def test_implied_information():
    found = float(stats.implied_information(CURVE, SIZES))

    def misfit(bits):
        ideal = stats.gaussian_identification_accuracy(bits, SIZES)
        return np.sum((CURVE - ideal) ** 2)

    assert misfit(found) <= min(misfit(found - 1e-3), misfit(found + 1e-3))


@evaluates("Largest accuracy at a given information")
def test_largest_accuracy():
    c, k = 5.0, 4
    total, _ = integrate.quad(lambda t: np.exp(c * t ** (k - 1)), 0, 1)
    weight = lambda t: np.exp(c * t ** (k - 1)) / total  # noqa: E731
    nats, _ = integrate.quad(lambda t: weight(t) * np.log(weight(t)), 0, 1)
    accuracy, _ = integrate.quad(lambda t: weight(t) * t ** (k - 1), 0, 1)
    found = stats.max_average_accuracy(nats / log(2), k)
    np.testing.assert_allclose(found, accuracy, rtol=1e-7)


@evaluates("Fano's inequality")
def test_fano():
    e = 0.3
    entropy = -e * log(e) - (1 - e) * log(1 - e)
    expected = (log(K) - entropy - e * log(K - 1)) / log(2)
    np.testing.assert_allclose(stats.fano_information(1 - e, K), expected, rtol=1e-12)


@evaluates("Confusion table")
def test_confusion():
    predicted = MARGINS.argmax(axis=1)
    table = np.zeros((K, K))
    np.add.at(table, (Y, predicted), 1 / len(Y))
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    expected = np.sum(table[seen] * np.log2(table[seen] / product[seen]))
    found = stats.confusion_information(Y, predicted)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


DESIGN = {"n_classes": 50, "n_repeats": 4, "n_regions": 10}


@evaluates("Bounds")
def test_subgaussian():
    found = stats.average_bayes_accuracy_lower_bound([0.8], set_sizes=[50], **DESIGN)
    expected = 0.8 - np.sqrt((1 + 1 / 4) * log(10 / 0.05) / (2 * 50))
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-12)


@evaluates("Bounds")
def test_hoeffding():
    found = stats.bayes_accuracy_lower_bound(0.8, method="hoeffding", **DESIGN)
    expected = 0.8 - np.sqrt(log(10 / 0.05) / 4 / (2 * 50))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@evaluates("Bounds")
def test_kl():
    bound = float(stats.bayes_accuracy_lower_bound(0.8, method="kl", **DESIGN))
    divergence = 0.8 * log(0.8 / bound) + 0.2 * log(0.2 / (1 - bound))
    assert 200 * divergence == pytest.approx(log(10 / 0.05), rel=1e-6)
    exact = stats.bayes_accuracy_lower_bound(0.8, method="clopper_pearson", **DESIGN)
    assert binom.sf(159, 200, float(exact)) == pytest.approx(0.05 / 10, rel=1e-6)


LAMBDAS = np.log([1.2, 1.5, 2, 3, 5, 10, 20])


@evaluates("Bounds")
def test_forward_e_value():
    n_correct, n_units, beta = np.array([[6, 7, 5]]), 8, 0.4
    right, units = n_correct.sum(), 3 * n_units
    expected = np.mean(
        np.exp(LAMBDAS * right - units * np.log(1 - beta + beta * np.exp(LAMBDAS)))
    )
    found = stats.forward_e_value(n_correct, n_units, beta)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@evaluates("Bounds")
def test_noise_of_the_average_of_forward_tests():
    repeats = np.array([[1, 2], [2, 2], [1, 1], [3, 1], [2, 4], [1, 1]])  # run x class
    y = np.concatenate([np.repeat([0, 1], each) for each in repeats])
    runs = np.repeat(np.arange(6), repeats.sum(axis=1))
    samples = rng.normal(size=(len(y), 4))
    light = IdentificationSearchLight().fit(samples, y, groups=runs)
    orders, n_first, _ = cyclic_orders(6)
    v = np.mean(1 / repeats, axis=1)
    expected = np.mean([np.sum(1 / v[order[n_first:]]) ** -0.5 for order in orders])
    found = float(light.results_.n_repeats) ** -0.5
    assert found == pytest.approx(expected, rel=1e-9)


@evaluates("Bounds")
def test_class_information():
    L = 0.7  # the bound
    entropy = -L * log(L) - (1 - L) * log(1 - L)
    expected = (log(8) - entropy - (1 - L) * log(7)) / log(2)
    found = float(stats.TestDesign(8, 20).class_information_bound(L))
    assert found == pytest.approx(expected, rel=1e-12)


@evaluates("Bounds")
def test_information_beyond_a_confound():
    n_classes, n_levels, gaps = 3, 4, []
    for spread in (0.1, 0.3, 1, 3):
        law = np.random.default_rng(7).dirichlet(  # of 5 responses, by class and level
            np.full(5, spread), size=(n_classes, n_levels)
        )
        mean = law.mean(axis=0)  # by level, classes equally frequent
        terms = np.where(law > 0, law * np.log2(np.maximum(law, 1e-300) / mean), 0)
        information = terms.sum() / (n_classes * n_levels)  # I(Y; X | s)
        bayes = law.max(axis=0).sum() / (n_classes * n_levels)
        gaps.append(information - stats.fano_information(bayes, n_classes))
    assert 0 <= min(gaps) < 0.3


@evaluates("Bounds")
def test_population_information():
    bound = stats.average_bayes_accuracy_lower_bound([0.9], set_sizes=[50], **DESIGN)
    expected = stats.min_information(np.ravel(bound)[0], 50)
    found = stats.information_lower_bound([0.9], set_sizes=[50], **DESIGN)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-9)


NULL = rng.normal(size=199)


@evaluates("Tests")
def test_permutation_p_value():
    expected = (1 + (NULL >= 1.0).sum()) / 200
    assert stats.permutation_p_value(1.0, NULL) == pytest.approx(expected)


@evaluates("Tests")
def test_true_discoveries():
    scores, thresholds = np.array([5.0, 3.0, 2.5, 0.1]), np.array([4.0, 2.8, 2.0])
    expected = max((scores > c).sum() - k for k, c in enumerate(thresholds))
    assert stats.true_discoveries(scores, thresholds) == expected


SCORES, NULLS = rng.normal(0.8, 1, size=(5, 1)), rng.normal(size=(5, 7, 1))


@evaluates("Tests")
def test_prevalence():
    maps = prevalence_test(SCORES, NULLS, gamma=0.3)
    own = [(1 + (NULLS[s, :, 0] >= SCORES[s, 0]).sum()) / 8 for s in range(5)]
    expected = (0.7 * max(own) + 0.3) ** 5
    found = np.ravel(maps["p_value_prevalence"])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@evaluates("Tests")
def test_nobody_has_any():
    maps = prevalence_test(SCORES, NULLS, gamma=0.3)
    every = np.concatenate([SCORES[:, None, 0], NULLS[..., 0]], axis=1)
    expected = np.prod([(row >= SCORES.min()).mean() for row in every])
    found = np.ravel(maps["p_value"])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


X = rng.normal(size=(12, 30))


@evaluates("Exact cross-validation")
def test_exact_cross_validation():
    from sklearn.linear_model import Ridge

    targets, penalty = np.eye(3)[np.tile([0, 1, 2], 4)], 2.0
    centered = X - X.mean(axis=0)
    kernel = centered @ centered.T
    hat = kernel @ np.linalg.inv(kernel + penalty * np.eye(12)) + 1 / 12
    errors, fold = targets - hat @ targets, np.arange(3)
    inside = np.linalg.inv(np.eye(3) - hat[np.ix_(fold, fold)])
    expected = targets[fold] - inside @ errors[fold]
    refit = Ridge(alpha=penalty).fit(X[3:], targets[3:]).predict(X[:3])
    np.testing.assert_allclose(refit, expected, rtol=1e-8)


@evaluates("Noise covariance")
def test_noise_covariance():
    residuals = rng.normal(size=(20, 4)) + rng.normal(size=(20, 1))
    n = len(residuals)
    S = residuals.T @ residuals / n
    squares = np.einsum("ti,tj->ij", residuals**2, residuals**2)
    variance = (squares - (n * S) ** 2 / n) / (n * (n - 1))
    off = ~np.eye(4, dtype=bool)
    shrinkage = np.clip(variance[off].sum() / (S[off] ** 2).sum(), 0, 1)
    covariance, found = schaefer_strimmer_covariance(residuals)
    assert found == pytest.approx(shrinkage, rel=1e-10)
    expected = (1 - shrinkage) * S + shrinkage * np.diag(np.diag(S))
    np.testing.assert_allclose(covariance, expected, rtol=1e-10)


@evaluates("Encoding margins")
def test_encoding_margins():
    responses, predictions = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    covariance = np.cov(rng.normal(size=(20, 4)), rowvar=False)
    inverse = np.linalg.inv(covariance)
    away = responses[:, None] - predictions
    expected = -0.5 * np.einsum("ijp,pq,ijq->ij", away, inverse, away)
    found = mahalanobis_margins(responses, predictions, covariance)
    difference = found - expected  # the same for all candidates of a response
    np.testing.assert_allclose(difference - difference[:, :1], 0, atol=1e-9)


@evaluates("Encoding margins")
def test_posterior():
    features = rng.normal(size=(60, 5))
    responses = features @ rng.normal(size=(5, 4)) + rng.normal(size=(60, 4))
    model = EncodingIdentification(encoder=RidgeEncoder())
    model.fit(features[:40], responses[:40]).identify(features[40:], responses[40:])
    margins, prior = model.region_margins(0), rng.uniform(1, 2, size=20)
    posterior = model.posterior(0, prior)
    # one temperature T for all responses and candidates
    away = np.log(posterior / prior)
    slopes = (away - away[:, :1]) / np.where(margins == margins[:, :1], 1, margins
                                             - margins[:, :1])  # fmt: skip
    temperature = 1 / slopes[:, 1:].max()
    expected = prior * np.exp((margins - margins.max(axis=1)[:, None]) / temperature)
    expected /= expected.sum(axis=1)[:, None]
    np.testing.assert_allclose(posterior, expected, atol=1e-6)


@evaluates("Elastic net")
def test_elastic_net():
    from sklearn.linear_model import ElasticNet

    y, alpha, ratio = X[:, 0] + rng.normal(size=12), 0.3, 0.4
    model = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-10, max_iter=100_000)
    best = model.fit(X, y).coef_

    def cost(b):
        rest = y - y.mean() - (X - X.mean(axis=0)) @ b
        first = 2 * 12 * alpha * ratio * np.abs(b).sum()
        return rest @ rest + first + 12 * alpha * (1 - ratio) * b @ b

    for _ in range(50):
        step = 1e-4 * rng.normal(size=len(best))
        assert cost(best) <= cost(best + step) + 1e-9


LABELS = np.tile(["a", "b", "c"], 4)


@evaluates("Learning curves")
def test_prediction_information():
    posterior = special.softmax(rng.normal(size=(12, 3)), axis=1)
    codes = np.tile([0, 1, 2], 4)
    expected = np.mean(np.log2(posterior[np.arange(12), codes] / (1 / 3)))
    found = prediction_information(posterior, codes, priors=np.full(3, 1 / 3))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@evaluates("Learning curves")
def test_canonical_variates():
    model = CanonicalVariates(n_components=4).fit(X, LABELS)
    scores = model.transform(X)
    centers = np.array([scores[g == LABELS].mean(axis=0) for g in "abc"])
    rest = scores - centers[np.tile([0, 1, 2], 4)]
    within = rest.T @ rest  # L'WL
    np.testing.assert_allclose(within, (12 - 3) * np.eye(2), atol=1e-8)
    away = ((scores[:, None] - centers) ** 2).sum(axis=-1)
    expected = special.softmax(-away / 2, axis=1)  # equal priors
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-8)


@evaluates("Learning curves")
def test_sensitivity():
    model = CanonicalVariates(n_components=4).fit(X, LABELS)
    codes, step = np.tile([0, 1, 2], 4), 1e-5

    def truth(moved):
        return model.predict_proba(moved)[np.arange(12), codes]

    unit = step * np.eye(30)[7]
    slopes = (truth(X + unit) - truth(X - unit)) / (2 * step)
    found = sensitivity_map(model, X, LABELS)[7]
    assert found == pytest.approx(np.mean(slopes**2), rel=1e-4)


@evaluates("Learning curves")
def test_prior_weight():
    """The weight that is chosen maximizes the information of what is printed."""
    posterior, prior = np.linspace(0.02, 0.8, 40), 1 / 3
    chosen = best_prior_weight(posterior / prior)
    assert 0 < chosen < 1

    def information(e):
        return np.mean(np.log2(((1 - e) * posterior + e * prior) / prior))

    assert information(chosen) >= max(information(chosen + d) for d in (-1e-3, 1e-3))
