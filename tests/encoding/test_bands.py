"""What each band of features explains, against fits without it and loops."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import ContinuousEncoding, RidgeEncoder
from tests.analyses import series

N_VOXELS, DELAYS = 5, (1, 2)


def film(seed=0, *, lengths=(80, 70, 60, 50), effects=(1.0, 0.3), mix=0.4, slow=0.5):
    """Return features of two bands that go together (`mix`), and responses."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(5, N_VOXELS)) * np.repeat(effects, [3, 2])[:, None]
    turn = rng.normal(size=(3, 2)) / np.sqrt(3)
    scale = np.sqrt(1 - slow**2)  # of variance one
    features, responses = [], []
    for n in lengths:
        motion, words, Y = (scale * series(rng, n, k, slow) for k in (3, 2, N_VOXELS))
        words = np.sqrt(1 - mix**2) * words + mix * motion @ turn
        Y[1:] += np.hstack([motion, words])[:-1] @ weights
        features.append({"motion": motion, "words": words})
        responses.append(Y + 10)
    return features, responses


def model(**options):
    return ContinuousEncoding(**{"delays": DELAYS, "encoder": Ridge(20.0)} | options)


def test_parts_add_up_and_unique_ones_are_lost_without_the_band():
    """Products by coefficients, unique variance by fits of arrays without the band."""
    features, responses = film()
    fitted = model().fit(features[:2], responses[:2])
    maps = fitted.partition(features[2:], responses[2:])
    whole = fitted.score(features[2:], responses[2:])
    np.testing.assert_allclose(maps["r2"], whole["r2"])
    products = maps["r2_product_of_motion"] + maps["r2_product_of_words"]
    np.testing.assert_allclose(products, whole["r2"], atol=1e-6)
    for band, other in (("motion", "words"), ("words", "motion")):
        arrays = [run[other] for run in features]
        without = model().fit(arrays[:2], responses[:2])
        r2 = without.score(arrays[2:], responses[2:])["r2"]
        lost = maps[f"r2_unique_of_{band}"]
        np.testing.assert_allclose(lost, whole["r2"] - r2, atol=1e-9)
    unique = maps["r2_unique_of_motion"] + maps["r2_unique_of_words"]
    np.testing.assert_allclose(maps["r2_shared"], whole["r2"] - unique)
    assert (maps["r2_unique_of_motion"] > maps["r2_unique_of_words"]).all()


def parts_by_loops(features, responses):
    """Return responses and the parts of both bands, by loops over rows and delays."""
    both = [np.hstack([run["motion"], run["words"]]) for run in features]
    mean, scale = (
        np.mean([*both[0], *both[1]], axis=0),
        np.std([*both[0], *both[1]], axis=0),
    )

    def delayed(X):
        rows = []
        for t in range(len(X)):
            row = []
            for delay in DELAYS:
                row += [*((X[t - delay] - mean) / scale)] if t >= delay else [0.0] * 5
            rows.append(row)
        rows = np.array(rows)
        return rows - rows.mean(axis=0)

    def scaled(Y):
        return (Y - Y.mean(axis=0)) / Y.std(axis=0)

    X, Y = [delayed(X) for X in both], [scaled(Y) for Y in responses]
    ridge = Ridge(20.0).fit(np.concatenate(X[:2]), np.concatenate(Y[:2]))
    test, parts = np.concatenate(X[2:]), {}
    for band, columns in (("motion", [0, 1, 2, 5, 6, 7]), ("words", [3, 4, 8, 9])):
        parts[band] = test[:, columns] @ ridge.coef_[:, columns].T
    return np.concatenate(Y[2:]), parts


def test_product_measure_by_loops():
    features, responses = film()
    maps = model().fit(features[:2], responses[:2])
    maps = maps.partition(features[2:], responses[2:])
    y, parts = parts_by_loops(features, responses)
    for band, part in parts.items():
        for v in range(N_VOXELS):
            f = parts["motion"][:, v] + parts["words"][:, v]
            expected = part[:, v] @ (2 * y[:, v] - f) / (y[:, v] @ y[:, v])
            assert maps[f"r2_product_of_{band}"][v] == pytest.approx(expected, abs=1e-8)


def beyond(values, f):
    return values - f * (f @ values) / (f @ f)


@pytest.mark.filterwarnings("ignore")
def test_p_values_by_enumeration():
    """Partial correlations at all shifts of two short runs; the largest of all."""
    features, responses = film(seed=2, lengths=(80, 70, 9, 7), effects=(0.6, 0.6))
    fitted = model(n_permutations=62).fit(features[:2], responses[:2])
    maps = fitted.partition(features[2:], responses[2:])
    y, parts = parts_by_loops(features, responses)
    observed, null = [], []
    for band, other in (("motion", "words"), ("words", "motion")):
        arrays = [run[other] for run in features]
        without = model().fit(arrays[:2], responses[:2])
        f = without._test(without.score, arrays[2:], responses[2:])[1].predictions
        for v in range(N_VOXELS):
            e, d = beyond(y[:, v], f[:, v]), beyond(parts[band][:, v], f[:, v])
            length = np.sqrt(e @ e * (d @ d))
            lost = maps[f"r2_unique_of_{band}"][v]
            observed.append(e @ d / length if lost > 0 else -np.inf)
            null.append(
                [
                    e @ np.r_[np.roll(d[:9], i), np.roll(d[9:], j)] / length
                    for i in range(9)
                    for j in range(7)
                ][1:]
            )
    assert -np.inf in observed
    observed, null = np.array(observed), np.array(null)
    p = (1 + (null >= observed[:, None]).sum(axis=1)) / 63
    fwe = (1 + (null.max(axis=0) >= observed[:, None]).sum(axis=1)) / 63
    for kind, expected in (("p_value", p), ("p_value_fwe", fwe)):
        found = [maps[f"{kind}_unique_of_{band}"] for band in ("motion", "words")]
        np.testing.assert_allclose(np.concatenate(found), expected)


def test_a_search_of_weights_is_one_of_kernels():
    """As packages of kernels solve it: every weight and penalty, by leaving out runs.

    Kernels of bands are weighted and added, dual weights solved for, run by run.
    """
    features, responses = film(lengths=(60, 50, 55, 70))
    weights, alphas = (
        np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]),
        np.logspace(0, 3, 7),
    )
    encoder = RidgeEncoder(alphas=alphas, band_weights=weights)
    fitted = model(encoder=encoder).fit(features[:3], responses[:3])
    found = fitted.score(features[3:], responses[3:])["correlation"]

    bands = {}
    for name in ("motion", "words"):
        rows = np.concatenate([run[name] for run in features[:3]])
        runs = [(run[name] - rows.mean(axis=0)) / rows.std(axis=0) for run in features]
        late = [
            np.hstack([np.r_[np.zeros((d, X.shape[1])), X[:-d]] for d in DELAYS])
            for X in runs
        ]
        bands[name] = np.concatenate([X - X.mean(axis=0) for X in late])
    y = np.concatenate([(Y - Y.mean(axis=0)) / Y.std(axis=0) for Y in responses])
    run = np.repeat(np.arange(4), [60, 50, 55, 70])
    kernels = [X @ X.T for X in bands.values()]

    def predict(train, test, weight, alpha):
        kernel = weight[0] * kernels[0] + weight[1] * kernels[1]
        inner = kernel[np.ix_(train, train)] + alpha * np.eye(len(train))
        return kernel[np.ix_(test, train)] @ np.linalg.solve(inner, y[train])

    errors = np.zeros((3, 7, N_VOXELS))
    for w, a, held in np.ndindex(3, 7, 3):
        train = np.flatnonzero((run < 3) & (run != held))
        test = np.flatnonzero(run == held)
        rest = y[test] - predict(train, test, weights[w], alphas[a])
        errors[w, a] += (rest**2).mean(axis=0) / 3
    for v in range(N_VOXELS):
        w, a = np.unravel_index(errors[:, :, v].argmin(), (3, 7))
        assert fitted.penalties_["alpha"][v] == alphas[a]
        assert fitted.penalties_["weight_of_motion"][v] == weights[w, 0]
        f = predict(
            np.flatnonzero(run < 3), np.flatnonzero(run == 3), weights[w], alphas[a]
        )
        assert found[v] == pytest.approx(np.corrcoef(f[:, v], y[run == 3, v])[0, 1])


def test_bands_of_the_encoder_are_those_of_a_dict():
    """Every band has a penalty of its own, in both ways."""
    features, responses = film()
    encoder = RidgeEncoder(band_weights=4)
    of_dict = model(encoder=encoder).fit(features[:2], responses[:2])
    arrays = [np.hstack([run["motion"], run["words"]]) for run in features]
    names = np.repeat(["motion", "words"], [3, 2])
    banded = RidgeEncoder(bands=names, band_weights=4)
    of_names = model(encoder=banded).fit(arrays[:2], responses[:2])
    found = [
        each.partition(given[2:], responses[2:])["r2_unique_of_words"]
        for each, given in ((of_dict, features), (of_names, arrays))
    ]
    np.testing.assert_array_equal(*found)
    assert "weight_of_motion" in of_dict.penalties_
    assert of_dict.feature_names_in_[3] == "words.0"
    single = RidgeEncoder(bands=["all"] * 5)
    single = model(encoder=single).fit(arrays[:2], responses[:2])
    plain = model(encoder=RidgeEncoder()).fit(arrays[:2], responses[:2])
    np.testing.assert_array_equal(single.encoder_.coef_, plain.encoder_.coef_)
    with pytest.raises(ValueError, match="by the features and by the encoder"):
        model(encoder=banded).fit(features[:2], responses[:2])


def test_bands_are_needed_and_the_same_in_all_runs():
    features, responses = film()
    plain = model().fit([run["motion"] for run in features[:2]], responses[:2])
    with pytest.raises(ValueError, match="no bands to be told apart"):
        plain.partition([run["motion"] for run in features[2:]], responses[2:])
    turned = {"words": features[1]["words"], "motion": features[1]["motion"]}
    with pytest.raises(ValueError, match=r"features\[1\] has bands \['words', 'motion"):
        model().fit([features[0], turned], responses[:2])
    fitted = model().fit(features[:2], responses[:2])
    with pytest.raises(ValueError, match="must have the 5 columns of fit"):
        fitted.score(
            [{"a": X["motion"], "b": X["words"]} for X in features[2:]], responses[2:]
        )


def test_every_band_has_a_rate_of_its_own(tmp_path):
    """Files of volumes and of half volumes, and events: as arrays say."""
    rng = np.random.default_rng(3)
    arrays, tables, responses = [], [], []
    for run, n in enumerate((60, 60, 50)):
        X, shown = rng.normal(size=(n, 2)), rng.integers(0, 3, size=n)
        np.save(tmp_path / f"motion{run}.npy", X)
        values = np.repeat(X[:, :1], 2, axis=0) + np.tile([[-1], [1]], (n, 1))
        sound = pd.DataFrame({"onset": np.arange(2 * n), "pitch": values[:, 0]})
        events = pd.DataFrame({"onset": 2 * np.arange(n), "duration": 2.0})
        names = np.array(["cat", "n/a", "dog"])[shown]
        if run == 2:
            names[names == "dog"] = "n/a"  # a condition that is not in this run
        events.assign(trial_type=names).to_csv(
            tmp_path / f"events{run}.tsv", sep="\t", index=False
        )
        cats, dogs = (names == "cat").astype(float), (names == "dog").astype(float)
        arrays.append({"motion": X, "sound": X[:, :1], "events": np.c_[cats, dogs]})
        files = {
            k: str(tmp_path / f"{k}{run}.{e}")
            for k, e in (("motion", "npy"), ("events", "tsv"))
        }
        tables.append(
            {"motion": files["motion"], "sound": sound, "events": files["events"]}
        )
        responses.append(X @ rng.normal(size=(2, 4)) + rng.normal(size=(n, 4)))
    found = []
    for given in (arrays, tables):
        fitted = model(t_r=2.0).fit(given[:2], responses[:2])
        found.append(fitted.partition(given[2:], responses[2:]))
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-9)
    names = ["motion.0", "motion.1", "sound.pitch", "events.cat", "events.dog"]
    assert fitted.feature_names_in_.tolist() == names


def test_a_table_of_runs_is_one_call(tmp_path):
    """Its maps are those of the methods, its files have all of them."""
    features, responses = film(lengths=(80, 70, 60, 60))
    rows = [
        {"set": name, "imgs": Y, **X}
        for name, X, Y in zip(
            ["test", "train", "train", "test"], features, responses, strict=True
        )
    ]
    options = {"t_r": 2.0, "n_permutations": 19}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maps = model(**options).fit_runs(pd.DataFrame(rows), seconds=8)
        fitted = model(**options).fit(features[1:3], responses[1:3])
        tested = features[::3], responses[::3]
        parts, scores = fitted.partition(*tested), fitted.score(*tested)
        segments = fitted.identify_segments(*tested, seconds=8)
    assert maps.keys() == parts.keys() | scores.keys()
    for name, values in {**parts, **scores}.items():
        np.testing.assert_array_equal(maps[name], values)
    for name, values in segments.items():
        np.testing.assert_array_equal(maps.segments_[name], values)
    maps.to_directory(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "voxels.tsv", sep="\t")
    np.testing.assert_allclose(table["r2_unique_of_words"], maps["r2_unique_of_words"])
    assert len(pd.read_csv(tmp_path / "out" / "segments.tsv", sep="\t")) == 1
    page = str(maps.generate_report())
    assert "Without words, up to" in page
    untested = model().fit(features[1:3], responses[1:3]).partition(*tested)
    page = str(untested.generate_report())
    assert "Predictions were not tested" in page
    assert "of the variance is explained no longer." in page


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.drop(columns="set"), "runs has columns imgs, motion"),
        (lambda t: t.drop(columns=["motion", "words"]), "one for each band"),
        (lambda t: t.assign(set="train"), "must hold train and test, got train"),
        (lambda t: t.assign(words="n/a"), "column words lacks an entry"),
    ],
)
def test_tables_of_runs_that_cannot_be(spoil, message):
    features, responses = film()
    rows = [{"imgs": Y, **X} for X, Y in zip(features, responses, strict=True)]
    table = pd.DataFrame(rows).assign(set=["train", "train", "test", "test"])
    with pytest.raises(ValueError, match=message):
        model().fit_runs(spoil(table))
