"""
Where the accuracy curve comes from: a model in which everything is known
=========================================================================

Classes are numbers y, features numbers x, both normal with correlation rho; the rule
takes the class whose mean is nearest to x. Every quantity of the theory has a formula,
from one classification problem to the accuracy among thousands of classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from neuroextrap.datasets import BivariateNormalProblem
from neuroextrap.stats import win_distribution

problem = BivariateNormalProblem(0.7)
rho, spread = problem.correlation, np.sqrt(1 - problem.correlation**2)
x = np.linspace(-3, 3, 301)

# %%
# One problem is three classes drawn at random; another draw is easier or harder.
figure, (joint, one) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
density = norm.pdf(x) * norm.pdf(x[:, None], rho * x, spread)
joint.contour(x, x, density, cmap="viridis")
joint.set(xlabel="label y", ylabel="feature x", title="joint density")
for label in np.random.default_rng(3).normal(size=3):
    one.plot(x, norm.pdf(x, rho * label, spread), label=f"y = {label:.2f}")
one.set(xlabel="feature x", ylabel="density", title="a problem of three classes")
one.legend(frameon=False)

# %%
# The risk of random problems scatters; its mean over problems is the curve, exactly.
sizes = np.arange(2, 11)


def risk(n_classes, seed):
    drawn = problem.sample(n_classes, n_repeats=200, random_state=seed)
    return 1 - win_distribution(*drawn)[-1]  # the share that beats all others


risks = [[risk(k, seed) for seed in range(100)] for k in sizes]
figure, axis = plt.subplots(layout="constrained")
axis.boxplot(risks, positions=sizes, showfliers=False, manage_ticks=False)
axis.plot(sizes, np.mean(risks, axis=1), "o", label="mean of 100 problems")
axis.plot(sizes, 1 - problem.average_accuracy(sizes), label="theory")
axis.set(xlabel="number of classes", ylabel="risk", ylim=(0, 1))
axis.legend(frameon=False)

# %%
# A test point's strength is the probability U of beating a random other class. Its
# distribution D gives the accuracy among any number of classes: the mean of U^(k - 1).
u = np.linspace(0, 1, 101)
figure, (levels, law) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
shown = levels.contourf(
    x, x, problem.win_probability(x[:, None], x), np.linspace(0, 1, 11)
)
figure.colorbar(shown, ax=levels, label="U")
levels.set(xlabel="label y", ylabel="feature x", title="win probability")
law.plot(u, problem.conditional_accuracy_cdf(u))
law.set(xlabel="u", ylabel="D(u)", title="share of test points with U ≤ u")

# %%
# The better the features, the more D bends near one, and the harder it is to describe
# by a polynomial: the reason why extrapolation needs better families of functions.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
degrees = np.arange(1, 9)
nodes = (1 - np.cos(np.pi * (np.arange(64) + 0.5) / 64)) / 2
for correlation in (0.3, 0.5, 0.7, 0.9):
    other = BivariateNormalProblem(correlation)
    law = other.conditional_accuracy_cdf
    fits = [np.polynomial.Chebyshev.fit(nodes, law(nodes), d) for d in degrees]
    errors = [np.abs(fit(u) - law(u)).max() for fit in fits]
    axes[0].plot(sizes, 1 - other.average_accuracy(sizes), label=f"rho {correlation}")
    axes[1].plot(u, law(u))
    axes[2].semilogy(degrees, errors, "o-")
axes[0].set(xlabel="number of classes", ylabel="average risk", ylim=(0, 1))
axes[1].set(xlabel="u", ylabel="D(u)")
axes[2].set(xlabel="degree of the polynomial", ylabel="largest error of D")
axes[0].legend(frameon=False)
plt.show()
