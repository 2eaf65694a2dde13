"""Films and stories: responses and features that depend on their neighbors in time."""

import warnings
from itertools import chain, permutations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import EncodingIdentification
from tests.analyses import series
from tests.encoding.seam import exchanged, prediction_scores


def film(seed, *, n_test=150, correlation=0.9, effect=0.0, n_runs=1):
    """Return features and responses to train on, then those to test, and runs."""
    rng = np.random.default_rng(seed)
    weights = effect * rng.normal(size=(5, 8))

    def run(n_rows):
        rows = series(rng, n_rows, 13, correlation)
        features, responses = rows[:, :5], rows[:, 5:]
        return features, responses + features @ weights

    tested = [run(n_test // n_runs) for _ in range(n_runs)]
    features, responses = (np.concatenate(part) for part in zip(*tested, strict=True))
    return *run(90), features, responses, np.repeat(np.arange(n_runs), n_test // n_runs)


def scored(*args, exchange, n_permutations=99, **options):
    """Return p-values of the voxels of a film, (8,)."""
    features, responses, *tested, runs = film(*args, **options)
    predicted = Ridge().fit(features, responses).predict(tested[0])
    return prediction_scores(
        tested[1],
        predicted,
        groups=runs,
        n_permutations=n_permutations,
        exchange=exchange,
    )["p_value"]


def fitted(exchange, repeats="average", **options):
    """Return a model that has identified the moments of a film, and its warnings."""
    features, responses, *tested, runs = film(0, **options)
    model = EncodingIdentification(
        encoder=Ridge(),
        n_permutations=39,
        exchange=exchange,
        repeats=repeats,
        statistic="pairwise_accuracy",
    ).fit(features, responses)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.identify(*tested, groups=runs)
    return model, " ".join(str(warning.message) for warning in seen)


def test_free_exchange_of_a_film_is_marked_and_shifts_are_not():
    """In the warning, the notes and the first sentence of the page."""
    model, warned = fitted("rows")
    assert "give exchange='shifts'" in warned
    assert any("exchange='shifts'" in note for note in model.notes_)
    assert "test responses that follow each other" in str(model.generate_report())
    model, warned = fitted("shifts", n_test=200, correlation=0.5)
    assert not warned
    assert not model.findings_
    assert any("shifted as wholes" in note for note in model.notes_)


def test_random_order_is_not_marked():
    """Independent rows."""
    _, warned = fitted("rows", correlation=0.0)
    assert not warned


def test_prediction_maps_shift_as_the_model_does():
    """p-values of the correlation are those of prediction_scores."""
    model, _ = fitted("shifts")
    maps = model.prediction_maps(n_permutations=39)
    expected = prediction_scores(
        model.run_.test.responses,
        model.run_.test.true_predictions,
        groups=model.run_.test.groups,
        exchange="shifts",
        n_permutations=39,
    )
    np.testing.assert_array_equal(maps["p_value"], expected["p_value"])


def test_shifted_statistics_are_those_of_shifted_responses(tmp_path):
    """The null maps have the statistic of every circular shift of the codes."""
    features, responses, *tested, _ = film(0, n_test=12)
    model = EncodingIdentification(
        encoder=Ridge(),
        n_permutations=11,
        exchange="shifts",
        keep=tmp_path / "null.npy",
        statistic="pairwise_accuracy",
    ).fit(features, responses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a short run
        model.identify(*tested)
    margins, found = model.region_margins(0), []
    for shift in range(1, 12):
        codes = np.roll(np.arange(12), shift)
        truth = margins[np.arange(12), codes][:, None]
        found.append(((margins < truth).sum(axis=1) / 11).mean())
    np.testing.assert_allclose(np.load(tmp_path / "null.npy")[:, 0], found, rtol=1e-6)


def test_kept_repeats_are_not_shifted():
    """The repeats of a series do not move together if each run is shifted by itself."""
    features, responses, *tested, _ = film(0, n_test=20)
    model = EncodingIdentification(
        encoder=Ridge(), n_permutations=9, exchange="shifts", repeats="keep"
    ).fit(features, responses)
    twice = np.tile(np.arange(20), 2)
    with pytest.raises(ValueError, match="one response to each stimulus"):
        model.identify(tested[0], tested[1][twice], stimuli=twice)


def test_unknown_exchanges_are_refused():
    """With the known ones."""
    features, responses, *tested, _ = film(0, n_test=20)
    with pytest.raises(ValueError, match=r"'blocks' is unknown.*number of rows"):
        prediction_scores(tested[1], tested[1], n_permutations=9, exchange="blocks")
    with pytest.raises(ValueError, match=r"'blocks' is unknown.*number of rows"):
        EncodingIdentification(exchange="blocks").fit(features, responses)


@pytest.mark.filterwarnings("ignore:only 11 other labelings")
def test_blocks_change_places_as_wholes_within_runs():
    """Every pairing is a new order of the blocks of each run, the last one shorter."""
    runs, codes = np.repeat([0, 1], [7, 6]), np.arange(13)
    found = exchanged(
        codes, exchange=3, groups=runs, n_permutations=200, random_state=0
    )
    blocks = [[0, 1, 2], [3, 4, 5], [6]], [[7, 8, 9], [10, 11, 12]]
    every = {
        tuple(chain(*first, *second))
        for first in permutations(blocks[0])
        for second in permutations(blocks[1])
    }
    assert set(map(tuple, found)) == every - {tuple(codes)}


def test_blocks_that_are_short_beside_the_correlation_are_marked():
    """As single rows are; blocks of many correlation lengths are not."""
    for size, correlation, marked in ((5, 0.9, True), (25, 0.5, False)):
        model, warned = fitted(size, n_test=300, correlation=correlation)
        assert (f"blocks of {size} test responses are short" in warned) == marked
        assert any(f"blocks of {size} responses" in note for note in model.notes_)


def level(exchange, n_sets, **options):
    """Return the proportion of p-values of at most 0.05 in films without relation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = [scored(s, exchange=exchange, **options) for s in range(n_sets)]
    return np.mean(np.array(p) <= 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"correlation": 0.5},
        {"n_test": 300, "n_runs": 2},
        {"n_test": 300, "n_runs": 4, "correlation": 0.5},
        {"correlation": 0.0},
    ],
)
def test_level_of_shifts(options):
    """Runs that are not said to be short, 300 sets: at most 0.06 (standard error)."""
    assert level("shifts", 300, **options) < 0.06 + 2 * 0.005


def test_shifts_have_power():
    """A relation is found in most voxels."""
    p = [
        scored(seed, exchange="shifts", effect=0.3, correlation=0.5)
        for seed in range(5)
    ]
    assert np.mean(np.array(p) <= 0.05) > 0.7
