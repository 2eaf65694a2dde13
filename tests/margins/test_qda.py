"""Quadratic discriminant margins against refitted class covariances."""

import numpy as np
import pytest

from tests.margins.cases import K, correlated_regions, labels, unequal_design
from tests.margins.seam import Design, Labelings, QDAMargins, _qda
from tests.margins.twins import noise_gaps


def refit(x, codes, design, intensity, frequency=False):
    """Gaussian log densities with one shrunk covariance a class."""
    n_features = x.shape[1]
    target = x.var(axis=0).mean() * np.eye(n_features)
    rows = []
    for train, test in design.folds:
        scores = np.zeros((len(test), K))
        for label in range(K):
            members = x[train][codes[train] == label]
            centered = members - members.mean(axis=0)
            covariance = (1 - intensity) * centered.T @ centered / len(members)
            covariance += intensity * target
            shift = x[test] - members.mean(axis=0)
            squared = (shift * np.linalg.solve(covariance, shift.T).T).sum(axis=1)
            scores[:, label] = -0.5 * (squared + np.linalg.slogdet(covariance)[1])
            if not frequency:
                own = np.atleast_2d(np.cov(members, rowvar=False))
                share = np.trace(np.linalg.solve(covariance, own))
                scores[:, label] -= 0.5 * noise_gaps(codes[train])[label] * share
            else:
                scores[:, label] += np.log(len(members) / len(train))
        rows.append(scores)
    return np.concatenate(rows)


@pytest.mark.parametrize("shrinkage", [0.02, 1.0, 30.0])
def test_equals_refits(shrinkage):
    design, codes, xs = unequal_design(), labels(3), correlated_regions((5, 50, 1))
    kernel = QDAMargins(shrinkage=shrinkage)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, 9)
    column = 0
    for x in xs:
        for one in codes:
            expected = refit(x, one, design, shrinkage / (1 + shrinkage))
            np.testing.assert_allclose(margins[:, :, column], expected, rtol=1e-9)
            column += 1


def test_automatic_intensity_is_ledoit_wolf_times_the_number_of_classes():
    from sklearn.covariance import ledoit_wolf_shrinkage

    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((4,))
    x = x * np.array([1.0, 4.0, 8.0, 20.0])  # far from spherical: a small intensity
    intensity = K * ledoit_wolf_shrinkage(x)
    assert 1e-4 < intensity < 0.999
    kernel = QDAMargins(priors="frequency")
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = refit(x, codes[0], design, intensity, frequency=True)
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=1e-9)


def test_one_feature_has_the_least_intensity():
    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((1,))
    kernel = QDAMargins()
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    expected = refit(x, codes[0], design, 1e-4)
    np.testing.assert_allclose(margins[:, :, 0], expected, rtol=1e-9)


def test_batches_are_bit_identical(monkeypatch):
    design, xs = unequal_design(), correlated_regions((6, 50))
    blocks = np.random.default_rng(4).permuted(
        np.tile(np.arange(K), (9, 13, 1)), axis=2
    )
    codes = np.column_stack([blocks.reshape(9, 39), np.zeros(9, dtype=int)])
    folds = tuple(
        (np.delete(np.arange(40), np.arange(i, i + 3)), np.arange(i, i + 3))
        for i in range(0, 39, 3)
    )
    design = Design(folds, 40, K)
    kernel = QDAMargins()
    whole = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    whole = whole.reshape(len(design.test), K, 2, 9)
    monkeypatch.setattr(_qda, "LABELINGS", 2)
    for s, x in enumerate(xs):
        state = kernel.prepare([x], design)
        for start in (0, 3, 6):
            part = slice(start, start + 3)
            alone = kernel.margins(state, Labelings(codes[part], K))
            np.testing.assert_array_equal(whole[:, :, s, part], alone)


def test_bad_arguments():
    design, codes, (x,) = unequal_design(), labels(1), correlated_regions((6,))
    with pytest.raises(ValueError, match=r"priors=.* must be"):
        QDAMargins(priors="flat").prepare([x], design)
    with pytest.raises(ValueError, match=r"shrinkage=.* must be > 0"):
        QDAMargins(shrinkage=0.0).prepare([x], design)
    with pytest.raises(ValueError, match=r"shrinkage=.* must be"):
        QDAMargins(shrinkage="oas").prepare([x], design)
    with pytest.raises(TypeError, match=r"shrinkage=.* must be"):
        QDAMargins(shrinkage=None).prepare([x], design)
    with pytest.raises(ValueError, match="must vary"):
        QDAMargins().prepare([np.ones((40, 3))], design)
    with pytest.raises(ValueError, match="each region must have shape"):
        QDAMargins().prepare([x[:-1]], design)
    kernel = QDAMargins()
    codes[0, design.folds[2][0]] = 1
    with pytest.raises(ValueError, match="missing in fold"):
        kernel.margins(kernel.prepare([x], design), Labelings(codes, K))


def test_repr_names_the_options():
    assert repr(QDAMargins()) == "QDAMargins(shrinkage='auto', priors='equal')"
