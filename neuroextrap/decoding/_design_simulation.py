"""Level and power of a planned analysis, by simulating its own design."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._parameters import Regions, of_arrays, with_parameters
from neuroextrap.decoding._comparable import check_searchlight
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._ensemble import rows_of_sets
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._folds import (
    Labels,
    centered_within,
    runs_in_time,
    without_means,
)
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    brief,
    check_integer,
    random_generator,
    real_array,
)

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = 1e6  # standard deviations
_MOST_FEATURES = 400  # of one region: more change little, and take long
_MOST_NUMBERS = 2**24  # of samples that are simulated together


@described_by(IdentificationSearchLight.fit)
def simulate_design(  # noqa: PLR0913 - the analysis, what fit takes, and the simulation
    searchlight: Any,
    imgs: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    order: ArrayLike | None = None,
    effects: ArrayLike = (0.1, 0.2, 0.4),
    n_simulations: int = 500,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Simulate how often a planned analysis of this very design finds something.

    Regions of the data are drawn at random and filled with noise that has the spatial
    covariance of the region and the correlation of successive samples, both of the
    samples without the means of their runs and classes. Patterns of the classes are
    added to it, and the planned analysis is made of each.

    Parameters
    ----------
    searchlight : IdentificationSearchLight
        The planned analysis; it is not changed.
    effects : array-like, default=(0.1, 0.2, 0.4)
        Standard deviation of the means of classes in each voxel, in standard deviations
        of the noise. Without a class effect (0) the analysis is always made too.
    n_simulations : int, default=500
        Number of regions that are simulated for each effect.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the simulation.

    Returns
    -------
    table : pandas.DataFrame
        One row for each effect, the first without. ``accuracy`` is the mean accuracy;
        ``p_value`` the proportion of regions with p at most .05 (in the first row: the
        level), ``p_value_fwe`` with family-wise p at most .05 among the simulated
        regions, ``bayes_accuracy_bound`` with a lower bound above chance. Proportions
        are NaN where the analysis has no such map. ``table.attrs["correlation"]`` is
        the correlation of successive samples.

    Raises
    ------
    ValueError
        If the analysis cannot be made, or an effect is not positive.

    Notes
    -----
    Signals that change in the course of a run are noise here only as far as successive
    samples correlate. A drift that coincides with the classes, because they come in the
    same order in all runs, cannot be told apart from them, and is not simulated.

    Examples
    --------
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> rng = np.random.default_rng(0)
    >>> y = rng.permuted(np.tile([0, 1, 2, 3], (6, 2)), axis=1)
    >>> X, runs = rng.normal(size=(48, 30)), np.repeat(np.arange(6), 8)
    >>> planned = IdentificationSearchLight(n_permutations=99)
    >>> table = simulate_design(
    ...     planned, X, y.ravel(), runs, effects=[1.0], n_simulations=40
    ... )
    >>> bool(table["p_value"][0.0] < 0.2), float(table["p_value"][1.0])
    (True, 1.0)
    """
    check_searchlight(searchlight, "searchlight")
    sizes = _checked_effects(effects)
    n_regions = check_integer(n_simulations, "n_simulations", minimum=1)
    rng = random_generator(random_state)
    run = plan_decoding(searchlight, imgs, y, groups, order)
    drawn = rng.choice(run.analyzed, n_regions, replace=n_regions > len(run.analyzed))
    noise, planned = _Noise.of(run, drawn, rng), _planned(searchlight, run.labels)
    simulated: dict[float, list[dict]] = {effect: [] for effect in (0.0, *sizes)}
    size = min(int(np.diff(run.usable.regions.indptr).max()), _MOST_FEATURES)
    n_parts = min(n_regions, -(-n_regions * size * len(run.rows) // _MOST_NUMBERS))
    for some in np.array_split(drawn, n_parts):
        samples = [noise.draw(run.rows[:, _members(run, i, rng)], rng) for i in some]
        for effect, parts in simulated.items():
            parts.append(_analyze(planned, samples, effect, run.labels, rng))
    table = _proportions(simulated, chance=1 / len(run.classes))
    table.attrs["correlation"] = noise.correlation
    return table


def _checked_effects(effects):
    """Return sizes of effects as an array; ValueError unless all are above 0."""
    sizes = np.atleast_1d(real_array(effects, "effects"))
    if not ((sizes > 0) & (sizes < _LARGEST)).all():
        raise ValueError(
            f"effects={brief(effects)} must be numbers above 0, at most {_LARGEST:g}"
        )
    return sizes


def _members(run, region, rng):
    """Return the features of a region, some of them if it is very large."""
    bounds = run.usable.regions.indptr[region : region + 2]
    members = run.usable.regions.indices[slice(*bounds)]
    few = len(members) <= _MOST_FEATURES
    return members if few else rng.choice(members, _MOST_FEATURES, replace=False)


class _Noise(NamedTuple):
    """What samples have in common with those before them."""

    labels: Labels
    acquired: np.ndarray  # samples in the order of acquisition, run by run
    first: np.ndarray  # of bool: whether each of these begins a run
    correlation: float  # of successive samples of a run
    spread: float  # standard deviation of noise without means, if that of noise is 1

    @classmethod
    def of(cls, run, regions, rng):
        """Measure the correlation in regions of a run."""
        labels = run.labels
        runs = np.zeros(len(labels.codes)) if labels.groups is None else labels.groups
        acquired, number = runs_in_time(runs, labels.order)
        first = np.append(True, number[1:] != number[:-1])
        some = np.unique(np.concatenate([_members(run, i, rng) for i in regions[:20]]))
        rest = without_means(run.rows[:, some], labels)[acquired]
        products = (rest[1:] * rest[:-1])[~first[1:]].mean() if len(rest) > 1 else 0.0
        seen = products / (rest**2).mean()

        where = labels.codes[acquired], number, first
        correlation = _inverse(lambda value: _without_means(value, *where)[0], seen)
        spread = np.sqrt(_without_means(correlation, *where)[1])
        return cls(labels, acquired, first, correlation, float(spread))

    def draw(self, samples, rng):
        """Draw noise like that of `samples` (n_samples, n_features) of a region."""
        rest = without_means(samples, self.labels)
        _, spread, patterns = np.linalg.svd(rest, full_matrices=False)
        new = rng.normal(size=(len(rest), len(spread)))
        innovation = np.sqrt(1 - self.correlation**2)
        for i in np.flatnonzero(~self.first):
            new[i] = self.correlation * new[i - 1] + new[i] * innovation
        drawn, scale = np.empty_like(rest), spread / np.sqrt(len(rest)) / self.spread
        drawn[self.acquired] = new * scale @ patterns
        return drawn


def _without_means(correlation, codes, runs, first):
    """Return what is seen of a correlation when means are subtracted; the variance."""
    n_samples = len(codes)
    lags = np.abs(np.subtract.outer(np.arange(n_samples), np.arange(n_samples)))
    covariance = np.where(runs[:, None] == runs, correlation**lags, 0)
    rest = centered_within(centered_within(covariance, codes, runs).T, codes, runs)
    variance = np.trace(rest) / n_samples
    return np.diag(rest, 1)[~first[1:]].mean() / variance, variance


def _inverse(function, value):
    """Return where an increasing function of 0 to .99 has a value, by bisection."""
    low, high = 0.0, 0.99
    if not function(low) < value:  # NaN too
        return low
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return (low + high) / 2


def _planned(searchlight, labels):
    """Return the planned analysis as one of arrays and class codes."""
    kept = {"n_jobs": searchlight.n_jobs, "blocks": labels.blocks}
    return with_parameters(of_arrays(searchlight), classes=None, random_state=0, **kept)


def _analyze(planned, samples, effect, labels, rng):
    """Analyze noise with patterns of the classes; return scores and their maxima."""
    responses = [
        x + effect * rng.normal(size=(labels.codes.max() + 1, x.shape[1]))[labels.codes]
        for x in samples
    ]
    edges = np.cumsum([x.shape[1] for x in responses])
    regions = rows_of_sets(np.split(np.arange(edges[-1]), edges[:-1]), edges[-1])
    planned.set_params(regions=Regions(regions=regions, min_voxels=1))
    with warnings.catch_warnings():  # the examination has said what is doubtful
        warnings.simplefilter("ignore", UserWarning)
        planned.fit(np.hstack(responses), labels.codes, groups=labels.groups)
    score = planned.results_.scores.score
    return planned.region_scores_ | {"score": score, "maxima": planned.null_maxima_}


def _proportions(simulated, *, chance):
    """Return the table of effects and how often they are found."""
    import pandas as pd

    rows = {}
    for effect, parts in simulated.items():
        names = {"score", *_COLUMNS} & parts[0].keys() - {"p_value_fwe"}
        of_all = {n: np.concatenate([part[n] for part in parts]) for n in names}
        row = rows[effect] = {"accuracy": of_all["accuracy"].mean()}
        if "p_value" in of_all:
            maxima = np.max([part["maxima"] for part in parts], axis=0)
            corrected = stats.max_statistic_p_value(of_all["score"], maxima)
            row["p_value"] = np.mean(of_all["p_value"] <= LEVEL)
            row["p_value_fwe"] = np.mean(corrected <= LEVEL)
        if (bound := of_all.get("bayes_accuracy_bound")) is not None:
            row["bayes_accuracy_bound"] = np.mean(bound > chance)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(_COLUMNS))
    return table.rename_axis("effect")


_COLUMNS = "accuracy", "p_value", "p_value_fwe", "bayes_accuracy_bound"
