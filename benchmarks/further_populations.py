"""More populations of classes, to tune on, or written after the rules were fixed.

`FURTHER_TUNING` joins the families of `populations.TUNING` in the choice of rules. The
populations of `FRESH` were written after the last change of a rule was committed, and
nothing has been tuned on them since.
"""

import numpy as np
from populations import Population, correlations, negative_distances


class CubeLaplace(Population):
    """Classes in a cube of five dimensions, with Laplace noise."""

    noises = (0.06, 0.12, 0.2)
    group = "manifold"

    def draw(self, n_classes, rng):
        centers = rng.uniform(-1, 1, (n_classes, 5))
        noise = self.noise * rng.laplace(size=(2, *centers.shape))
        return centers + noise[0], centers + noise[1]


class ZipfClusters(Population):
    """Clusters of unequal size."""

    noises = (0.35, 0.55, 0.9)
    group = "structured"

    def build(self, rng):
        self.clusters = 1.5 * rng.normal(size=(400, 8))
        self.share = 1 / (1 + np.arange(400))
        self.share /= self.share.sum()

    def centers(self, n_classes, rng):
        chosen = self.clusters[rng.choice(400, n_classes, p=self.share)]
        return chosen + 0.5 * rng.normal(size=chosen.shape)


class HeavyNoise(Population):
    """Some test points are far noisier than others: Student's t, 2.5 degrees."""

    noises = (0.45, 0.8, 1.3)
    group = "noise"

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 10))
        noise = self.noise * rng.normal(size=(2, *centers.shape))
        scale = np.sqrt(2.5 / rng.chisquare(2.5, (n_classes, 1)))
        return centers + 0.3 * noise[0], centers + scale * noise[1]


class SmallTraining(Population):
    """Templates noisier in the weak of twelve features; three repeats."""

    noises = (0.3, 0.45, 0.65)
    group = "noise"
    n_repeats = 3

    def draw(self, n_classes, rng):
        scale = (1 + np.arange(12)) ** -0.4
        centers = scale * rng.normal(size=(n_classes, 12))
        tests = centers.repeat(self.n_repeats, axis=0)
        return (
            centers + 0.6 * self.noise * scale * rng.normal(size=centers.shape),
            tests + self.noise * (0.5 + scale) * rng.normal(size=tests.shape),
        )


class Silent(Population):
    """A third of the classes evoke nothing."""

    noises = (0.5, 0.75, 1.1)
    group = "noise"

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 10))
        evoked = np.where(rng.random((n_classes, 1)) > 1 / 3, centers, 0)
        return centers, evoked + self.noise * rng.normal(size=centers.shape)


class Spectrum(Population):
    """Eighty dimensions of unequal variance, correlation; two repeats."""

    noises = (0.75, 1.1, 1.6)
    n_repeats = 2

    def draw(self, n_classes, rng):
        scale = (1 + np.arange(80)) ** -0.5
        centers = scale * rng.normal(size=(n_classes, 80))
        tests = centers.repeat(self.n_repeats, axis=0)
        return (
            centers + 0.1 * self.noise * rng.normal(size=centers.shape),
            tests + 0.6 * self.noise * rng.normal(size=tests.shape),
        )

    def scores(self, tests, templates):
        return correlations(tests, templates)


class Walk(Population):
    """Moments of a film: a random walk in ten dimensions."""

    noises = (0.3, 0.6, 1.1)
    group = "manifold"

    def build(self, rng):
        path = 0.15 * np.cumsum(rng.normal(size=(4000, 10)), axis=0)
        self.path = path - path.mean(axis=0)

    def centers(self, n_classes, rng):
        time = rng.uniform(0, 3998, n_classes)
        before, share = time.astype(int), (time % 1)[:, None]
        return self.path[before] * (1 - share) + self.path[before + 1] * share


class Ratings(Population):
    """Ratings in whole numbers on eight scales of seven steps; two repeats."""

    noises = (0.7, 1.0, 1.5)
    group = "discrete"
    n_repeats = 2

    def draw(self, n_classes, rng):
        centers = 1.5 * rng.normal(size=(n_classes, 8))
        tests = centers.repeat(self.n_repeats, axis=0)
        learned = centers + 0.3 * self.noise * rng.normal(size=centers.shape)
        given = tests + self.noise * rng.normal(size=tests.shape)
        return tuple(np.clip(np.round(x), -3, 3) for x in (learned, given))

    def scores(self, tests, templates):
        return -np.round(negative_distances(tests, templates) ** 2)


class Torus(Population):
    """Two angles: orientation and hue."""

    noises = (0.09, 0.16, 0.28)
    group = "manifold"

    def centers(self, n_classes, rng):
        angles = rng.uniform(0, 2 * np.pi, (n_classes, 2))
        return np.hstack([np.cos(angles), np.sin(angles)])


class Topics(Population):
    """Texts: mixtures of twenty topics, few of them in each; cosine."""

    noises = (1.1, 1.8, 3.0)
    group = "structured"

    def build(self, rng):
        self.topics = rng.gamma(0.3, size=(20, 40))

    def draw(self, n_classes, rng):
        mixed = rng.dirichlet(np.full(20, 0.15), n_classes) @ self.topics
        noise = self.noise * rng.normal(size=mixed.shape) * mixed.std()
        return mixed, mixed + noise

    def scores(self, tests, templates):
        a, b = (
            x / np.linalg.norm(x, axis=1, keepdims=True) for x in (tests, templates)
        )
        return a @ b.T


class Tolerance(Population):
    """Number of sixteen features that agree within a tolerance; two repeats."""

    noises = (0.5, 0.75, 1.4)
    group = "discrete"
    n_repeats = 2

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 16))
        tests = centers.repeat(self.n_repeats, axis=0)
        return centers, tests + self.noise * rng.normal(size=tests.shape)

    def scores(self, tests, templates):
        agree = np.zeros((len(tests), len(templates)), np.int16)
        for test, template in zip(tests.T, templates.T, strict=True):
            agree += np.abs(test[:, None] - template) < self.noise
        return agree


class Vigilance(Population):
    """Attention comes and goes: every test point has a noise level of its own."""

    noises = (0.55, 1.0, 2.0)
    group = "noise"
    n_repeats = 2

    def draw(self, n_classes, rng):
        centers = rng.normal(size=(n_classes, 15))
        tests = centers.repeat(self.n_repeats, axis=0)
        level = self.noise * np.exp(0.7 * rng.normal(size=(len(tests), 1)))
        return centers, tests + level * rng.normal(size=tests.shape)


class Tree(Population):
    """A tree of eleven forks, every branch shorter than the one before."""

    noises = (0.2, 0.33, 0.5)
    group = "structured"

    def build(self, rng):
        leaves = np.zeros((1, 10))
        for length in 0.8 ** np.arange(11):
            leaves = leaves.repeat(2, axis=0)
            leaves = leaves + 0.7 * length * rng.normal(size=leaves.shape)
        self.leaves = leaves

    def centers(self, n_classes, rng):
        chosen = self.leaves[rng.integers(len(self.leaves), size=n_classes)]
        return chosen + 0.1 * rng.normal(size=chosen.shape)


class Rectified(Population):
    """Fifty rectified voxels of twelve features, learned with error; four repeats."""

    noises = (0.8, 1.1, 1.8)
    n_repeats = 4

    def build(self, rng):
        self.weights = rng.normal(size=(12, 50)) / 12**0.5
        self.learned = self.weights + 0.05 * rng.normal(size=(12, 50))

    def draw(self, n_classes, rng):
        features = rng.normal(size=(n_classes, 12))
        evoked = np.maximum(features @ self.weights, 0).repeat(self.n_repeats, axis=0)
        noise = self.noise * rng.normal(size=evoked.shape)
        return np.maximum(features @ self.learned, 0), evoked + noise


FURTHER_TUNING = {
    "cube_laplace": CubeLaplace,
    "zipf_clusters": ZipfClusters,
    "heavy_noise": HeavyNoise,
    "small_training": SmallTraining,
    "silent": Silent,
    "spectrum": Spectrum,
    "walk": Walk,
    "ratings": Ratings,
}
FRESH = {
    "torus": Torus,
    "topics": Topics,
    "tolerance": Tolerance,
    "vigilance": Vigilance,
    "tree": Tree,
    "rectified": Rectified,
}
