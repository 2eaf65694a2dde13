"""Populations of classes whose accuracy curves are known by large simulation.

A population is a law of classes: a class has a template and test points, and the score
of a test point for a class depends on that class alone. From a sample of K classes the
methods predict; the truth comes from tens of thousands of classes of the same law.

`TUNING` and `HELD_OUT` were written down before any rule was tuned: constants of the
default method and of its intervals may look at the first only. Real drawings
(Omniglot) are held out as well.
"""

import numpy as np

from neuroextrap.stats._accuracy import accuracy_weights, spread_ties

N_POOL = 50_000
N_TARGETS = 3000
_BATCH_NUMBERS = 5_000_000


def negative_distances(tests, templates):
    """Minus the Euclidean distance of every test point to every template."""
    squares = (tests**2).sum(1)[:, None] + (templates**2).sum(1)
    return -np.sqrt(np.maximum(squares - 2 * tests @ templates.T, 0))


def correlations(tests, templates):
    """Pearson correlation of every test point with every template."""
    a, b = (x - x.mean(1, keepdims=True) for x in (tests, templates))
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    return a @ b.T


class Population:
    """A law of classes with three levels of noise, from easy to hard.

    The levels give accuracies of about .85, .6 and .3 among 100 classes.
    A subclass gives `centers`; or `draw` and `scores`, where that is not enough. What
    the population consists of (clusters, prototypes, weights) `build` draws once.
    """

    noises: tuple
    n_repeats = 1
    group = "gaussian"

    def __init__(self, level, seed):
        self.noise = self.noises[level]
        self.build(np.random.default_rng(seed))

    def build(self, rng):
        """Draw what all classes of the population share."""

    def draw(self, n_classes, rng):
        """Templates (n_classes, p) and test points (n_classes * n_repeats, p)."""
        centers = self.centers(n_classes, rng)
        tests = centers.repeat(self.n_repeats, axis=0)
        return (
            centers + self.noise * rng.normal(size=centers.shape),
            tests + self.noise * rng.normal(size=tests.shape),
        )

    def scores(self, tests, templates):
        """Score of every test point for every class."""
        return negative_distances(tests, templates)

    def sample(self, n_classes, seed):
        """Margins (n_test, n_classes) of a sample of classes, and true classes."""
        templates, tests = self.draw(n_classes, np.random.default_rng(seed))
        return self.scores(tests, templates), np.arange(n_classes).repeat(
            self.n_repeats
        )

    def truth(self, set_sizes, seed, n_pool=N_POOL, n_targets=N_TARGETS):
        """Average accuracy at the set sizes, unbiased, from a large pool of classes."""
        templates, tests = self.draw(n_pool, np.random.default_rng(seed))
        tests = tests[:: self.n_repeats][:n_targets]
        wins, width = np.zeros(n_pool), max(1, _BATCH_NUMBERS // n_pool)
        for start in range(0, len(tests), width):
            scores = self.scores(tests[start : start + width], templates)
            rows = np.arange(len(scores))
            own = scores[rows, start + rows][:, None]
            beaten, tied = (scores < own).sum(1), (scores == own).sum(1) - 1
            wins += spread_ties(beaten[None], tied[None], rows[None], n_pool)[0] * (
                len(rows) / len(tests)
            )
        return wins @ accuracy_weights(n_pool, set_sizes)


class Gaussian10(Population):
    """Ten independent normal dimensions."""

    noises = (0.43, 0.57, 0.8)
    n_dims = 10

    def centers(self, n_classes, rng):
        return rng.normal(size=(n_classes, self.n_dims))


class Gaussian30(Gaussian10):
    """Thirty independent normal dimensions."""

    noises = (0.8, 1.0, 1.3)
    n_dims = 30


class HeavyTails(Population):
    """Class means with Student's t of two degrees of freedom in each dimension."""

    noises = (0.72, 1.06, 1.7)
    group = "noise"

    def centers(self, n_classes, rng):
        return rng.standard_t(2, size=(n_classes, 10))


class Clusters(Population):
    """Sixty clusters of classes."""

    noises = (0.46, 0.7, 1.1)
    group = "structured"

    def build(self, rng):
        self.clusters = 1.5 * rng.normal(size=(60, 10))

    def centers(self, n_classes, rng):
        chosen = self.clusters[rng.integers(60, size=n_classes)]
        return chosen + 0.5 * rng.normal(size=chosen.shape)


class Circle(Population):
    """Classes on a circle, as orientations or hues."""

    noises = (0.004, 0.015, 0.045)
    group = "manifold"

    def centers(self, n_classes, rng):
        angle = rng.uniform(0, 2 * np.pi, n_classes)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)


class Sheet(Population):
    """Classes in a cube of three dimensions, with edges."""

    noises = (0.062, 0.1, 0.17)
    group = "manifold"

    def centers(self, n_classes, rng):
        return rng.uniform(-1, 1, size=(n_classes, 3))


class NearDuplicates(Population):
    """Classes that are slight variations of 3,000 prototypes."""

    noises = (0.43, 0.58, 0.8)
    group = "structured"

    def build(self, rng):
        self.prototypes = rng.normal(size=(3000, 10))

    def centers(self, n_classes, rng):
        chosen = self.prototypes[rng.integers(3000, size=n_classes)]
        return chosen + 0.1 * rng.normal(size=chosen.shape)


class Lapses(Gaussian10):
    """Fifteen in a hundred test points have nothing to do with their class."""

    noises = (0.41, 0.58, 0.8)
    group = "noise"

    def draw(self, n_classes, rng):
        templates, tests = super().draw(n_classes, rng)
        lapse = rng.random(len(tests)) < 0.15
        tests[lapse] = super().draw(lapse.sum(), rng)[1]
        return templates, tests


class ClassNoise(Gaussian10):
    """Every class has a noise level of its own, lognormal."""

    noises = (0.25, 0.53, 1.1)
    group = "noise"

    def draw(self, n_classes, rng):
        centers = self.centers(n_classes, rng)
        scale = self.noise * np.exp(0.8 * rng.normal(size=(n_classes, 1)))
        noise = scale * rng.normal(size=(2, *centers.shape))
        return centers + noise[0], centers + noise[1]


class Ties(Gaussian10):
    """Scores rounded to some ten levels."""

    noises = (0.41, 0.57, 0.8)
    group = "discrete"

    def scores(self, tests, templates):
        return np.round(2.5 * negative_distances(tests, templates))


class Correlation(Population):
    """Fifty voxels, correlation with a clean template, little signal."""

    noises = (1.8, 2.4, 3.4)

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 50))
        return centers, centers + self.noise * rng.normal(size=centers.shape)

    def scores(self, tests, templates):
        return correlations(tests, templates)


class Votes(Population):
    """Number of a class's ten exemplars within a radius of the test point."""

    noises = (0.47, 0.67, 1.0)
    group = "discrete"
    n_repeats = 4

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 8))
        noise = self.noise * rng.normal(size=(10 + self.n_repeats, n_classes, 8))
        exemplars = centers + noise
        tests = exemplars[10:].swapaxes(0, 1).reshape(-1, 8)
        return exemplars[:10].swapaxes(0, 1), tests

    def scores(self, tests, templates):
        flat = templates.reshape(-1, templates.shape[-1])
        near = negative_distances(tests, flat) > -self.noise * 4.0
        return near.reshape(len(tests), -1, 10).sum(2)

    def truth(self, set_sizes, seed, n_pool=N_POOL, n_targets=N_TARGETS // 3):
        """The same from fewer targets: ten distances a class."""
        return super().truth(set_sizes, seed, n_pool, n_targets)


class Hierarchy(Population):
    """Superordinate, basic and subordinate categories."""

    noises = (0.67, 0.96, 1.4)
    group = "structured"

    def build(self, rng):
        above = 1.5 * rng.normal(size=(12, 1, 12))
        self.basic = (above + rng.normal(size=(12, 8, 12))).reshape(-1, 12)

    def centers(self, n_classes, rng):
        chosen = self.basic[rng.integers(len(self.basic), size=n_classes)]
        return chosen + 0.7 * rng.normal(size=chosen.shape)


class EasyAndHard(Population):
    """A third of the classes lie far apart, the others crowd together."""

    noises = (0.4, 0.6, 1.2)
    group = "structured"

    def centers(self, n_classes, rng):
        spread = np.where(rng.random((n_classes, 1)) < 1 / 3, 2.5, 0.8)
        return spread * rng.normal(size=(n_classes, 10))


class Hubs(Gaussian10):
    """Some classes attract every test point."""

    noises = (0.27, 0.44, 0.67)
    group = "structured"

    def draw(self, n_classes, rng):
        templates, tests = super().draw(n_classes, rng)
        hub = 0.4 * rng.exponential(size=(n_classes, 1))
        return np.hstack([templates, hub]), tests

    def scores(self, tests, templates):
        return negative_distances(tests, templates[:, :-1]) + templates[:, -1]


class LearnedCentroids(Population):
    """Centroids of five examples; unequal, correlated features; four repeats."""

    noises = (0.56, 0.75, 1.0)
    group = "noise"
    n_repeats = 4

    def build(self, rng):
        self.scale = (1 + np.arange(25)) ** -0.5
        self.mixing = np.eye(25) + 0.3 * rng.normal(size=(25, 25)) / 5

    def centers(self, n_classes, rng):
        return self.scale * rng.normal(size=(n_classes, 25)) @ self.mixing

    def draw(self, n_classes, rng):
        centers = self.centers(n_classes, rng)
        noise = rng.normal(size=(5 + self.n_repeats, n_classes, 25))
        drawn = centers + self.noise * noise * self.scale**0.5
        tests = drawn[5:].swapaxes(0, 1).reshape(-1, 25)
        return drawn[:5].mean(0), tests


class EncodingModel(Population):
    """Responses of sixty voxels, predicted by imperfect weights, correlation."""

    noises = (2.2, 3.2, 4.8)

    def build(self, rng):
        scale = (1 + np.arange(40)[:, None]) ** -0.5
        self.weights = scale * rng.normal(size=(40, 60))
        self.learned = self.weights + 0.15 * rng.normal(size=(40, 60))
        self.mixing = np.eye(60) + rng.normal(size=(60, 60)) / 10

    def draw(self, n_classes, rng):
        features = rng.normal(size=(n_classes, 40))
        noise = rng.normal(size=(n_classes, 60)) @ self.mixing
        return features @ self.learned, features @ self.weights + self.noise * noise

    def scores(self, tests, templates):
        return correlations(tests, templates)


class Repeats(Gaussian10):
    """Twenty repeats of every class, of classes that differ in difficulty."""

    noises = (0.38, 0.53, 0.75)
    group = "noise"
    n_repeats = 20

    def draw(self, n_classes, rng):
        templates, tests = super().draw(n_classes, rng)
        offset = 0.7 * self.noise * rng.normal(size=templates.shape)
        return templates, tests + offset.repeat(self.n_repeats, axis=0)


class BinaryCodes(Population):
    """Codes of 64 related bits, some flipped; minus the Hamming distance."""

    noises = (0.27, 0.33, 0.38)
    group = "discrete"

    def build(self, rng):
        self.mixing = rng.normal(size=(16, 64))

    def draw(self, n_classes, rng):
        latent = rng.normal(size=(n_classes, 16)) @ self.mixing
        codes = np.where(latent > 0, 1.0, -1.0)
        flips = np.where(rng.random(codes.shape) < self.noise, -1.0, 1.0)
        return codes, codes * flips

    def scores(self, tests, templates):
        return np.round(tests @ templates.T)


class Poisson(Population):
    """Spike counts of twenty-five neurons, log-likelihood; four repeats."""

    noises = (1.2, 0.64, 0.29)
    group = "noise"
    n_repeats = 4

    def draw(self, n_classes, rng):
        log_rate = np.log(self.noise) + 0.7 * rng.normal(size=(n_classes, 25))
        counts = rng.poisson(np.exp(log_rate.repeat(self.n_repeats, axis=0)))
        return log_rate, counts.astype(float)

    def scores(self, tests, templates):
        return tests @ templates.T - np.exp(templates).sum(1)


class Faces(Population):
    """Unit vectors of forty unequal features; some photographs are poor."""

    noises = (0.83, 1.27, 2.0)
    group = "noise"

    def draw(self, n_classes, rng):
        scale = (1 + np.arange(40)) ** -0.5
        people = scale * rng.normal(size=(n_classes, 40))
        poor = self.noise * np.exp(0.5 * rng.normal(size=(2, n_classes, 1)))
        photographs = people + poor * rng.normal(size=(2, n_classes, 40)) / 4
        return tuple(photographs)

    def scores(self, tests, templates):
        a, b = (
            x / np.linalg.norm(x, axis=1, keepdims=True) for x in (tests, templates)
        )
        return a @ b.T


TUNING = {
    "gaussian_10": Gaussian10,
    "heavy_tails": HeavyTails,
    "lapses": Lapses,
    "learned_centroids": LearnedCentroids,
    "poisson": Poisson,
    "hierarchy": Hierarchy,
    "easy_and_hard": EasyAndHard,
    "circle": Circle,
    "ties": Ties,
    "votes": Votes,
}
HELD_OUT = {
    "gaussian_30": Gaussian30,
    "correlation": Correlation,
    "encoding": EncodingModel,
    "class_noise": ClassNoise,
    "repeats": Repeats,
    "faces": Faces,
    "clusters": Clusters,
    "near_duplicates": NearDuplicates,
    "hubs": Hubs,
    "sheet": Sheet,
    "binary_codes": BinaryCodes,
}
