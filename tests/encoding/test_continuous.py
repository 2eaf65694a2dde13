"""Films and stories: fits, scores and ceilings against scikit-learn and loops."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut
from sklearn.preprocessing import StandardScaler

from neuroextrap.encoding import ContinuousEncoding, RidgeEncoder
from neuroextrap.images import resolve_masker, to_img
from tests.analyses import series
from tests.images.seam import load_samples

DELAYS = (1, 2, 4)


def film(seed=0, *, lengths=(60, 70, 50), correlation=0.5, effect=1.0, n_voxels=6):
    """Return features and responses of some runs, autoregressive in time."""
    rng = np.random.default_rng(seed)
    weights = effect * rng.normal(size=(len(DELAYS), 3, n_voxels))
    features, responses = [], []
    for n in lengths:
        rows = series(rng, n, 3 + n_voxels, correlation)
        X, Y = rows[:, :3] * [1, 5, 0.1] + 7, rows[:, 3:]
        features.append(X)
        responses.append(Y + delayed((X - 7) / [1, 5, 0.1]) @ np.concatenate(weights))
    return features, [Y + 100 * rng.normal() for Y in responses]


def delayed(X, delays=DELAYS):
    """Delay a run by a loop over rows and delays."""
    rows = []
    for t in range(len(X)):
        parts = [X[t - d] if t - d >= 0 else np.zeros(X.shape[1]) for d in delays]
        rows.append(np.concatenate(parts))
    return np.array(rows)


def pipeline(features, responses, tested, model):
    """Scale by all training rows, delay run by run, regress, and predict each run."""
    scaler = StandardScaler().fit(np.concatenate(features))
    X = np.concatenate([delayed(scaler.transform(run)) for run in features])
    model.fit(X, np.concatenate(responses))
    return [model.predict(delayed(scaler.transform(run))) for run in tested]


def test_predictions_are_those_of_a_pipeline():
    """Standard scaling, delays and a ridge regression of scikit-learn."""
    features, responses = film()
    model = ContinuousEncoding(
        encoder=Ridge(alpha=30.0), delays=DELAYS, within_runs=None, cv=2
    ).fit(features[:2], responses[:2])
    maps = model.score(features[2:], responses[2:])
    (expected,) = pipeline(features[:2], responses[:2], features[2:], Ridge(alpha=30.0))
    for voxel in range(6):
        y, f = responses[2][:, voxel], expected[:, voxel]
        r = np.corrcoef(y, f)[0, 1]
        assert maps["correlation"][voxel] == pytest.approx(r, abs=1e-9)
        r2 = 1 - np.sum((y - f) ** 2) / np.sum((y - y.mean()) ** 2)
        assert maps["r2"][voxel] == pytest.approx(r2, abs=1e-9)


def test_kernel_ridge_gives_the_same():
    """As packages for wide features solve it, without an intercept."""
    features, responses = film()
    model = ContinuousEncoding(
        encoder=Ridge(alpha=5.0), delays=DELAYS, within_runs="center"
    ).fit(features[:2], responses[:2])
    maps = model.score(features[2:], responses[2:])
    scaler = StandardScaler().fit(np.concatenate(features[:2]))

    def centered(rows):
        return rows - rows.mean(axis=0)

    runs = [centered(delayed(scaler.transform(X))) for X in features]
    kernel = KernelRidge(alpha=5.0).fit(
        np.concatenate(runs[:2]), np.concatenate([centered(Y) for Y in responses[:2]])
    )
    predicted, true = kernel.predict(runs[2]), centered(responses[2])
    r = [np.corrcoef(true[:, v], predicted[:, v])[0, 1] for v in range(6)]
    np.testing.assert_allclose(maps["correlation"], r, atol=1e-9)
    r2 = 1 - np.square(true - predicted).sum(axis=0) / np.square(true).sum(axis=0)
    np.testing.assert_allclose(maps["r2"], r2, atol=1e-9)


def test_penalties_are_chosen_by_leaving_out_runs():
    """As a grid search of each voxel over whole runs."""
    features, responses = film(lengths=(40, 50, 45, 60), effect=0.2)
    alphas = np.logspace(-1, 4, 6)
    model = ContinuousEncoding(
        encoder=RidgeEncoder(alphas=alphas), delays=DELAYS, within_runs=None
    ).fit(features, responses)
    scaler = StandardScaler().fit(np.concatenate(features))
    X = np.concatenate([delayed(scaler.transform(run)) for run in features])
    runs = np.repeat(range(4), [40, 50, 45, 60])
    for voxel in range(6):
        search = GridSearchCV(
            Ridge(),
            {"alpha": alphas},
            cv=LeaveOneGroupOut(),
            scoring="neg_mean_squared_error",
        ).fit(X, np.concatenate(responses)[:, voxel], groups=runs)
        assert model.penalties_["alpha"][voxel] == search.best_params_["alpha"]


@pytest.mark.parametrize("within_runs", ["center", "zscore"])
def test_baselines_of_runs_do_not_matter(within_runs):
    """Nor, with zscore, their gains."""
    features, responses = film()
    options = {"delays": DELAYS, "within_runs": within_runs, "encoder": Ridge()}
    fitted = ContinuousEncoding(**options).fit(features[:2], responses[:2])
    gain = 3.0 if within_runs == "zscore" else 1.0
    other = [gain * responses[0] + 50, responses[1]]
    again = ContinuousEncoding(**options).fit(features[:2], other)
    for model, shift in ((fitted, 20.0), (again, 0.0)):
        maps = model.score(features[2:], [responses[2] + shift])
        expected = fitted.score(features[2:], responses[2:])
        np.testing.assert_allclose(maps["r2"], expected["r2"], atol=1e-8)


def test_a_single_run_is_cut_into_blocks():
    features, responses = film(lengths=(100, 60))
    model = ContinuousEncoding(delays=DELAYS).fit(features[0], responses[0])
    assert model.score(features[1], responses[1])["correlation"].min() > 0.4
    with pytest.raises(ValueError, match="5 blocks of 8, which are not longer than"):
        ContinuousEncoding(delays=DELAYS).fit(features[0][:40], responses[0][:40])


def test_noise_ceiling_is_that_of_repeated_runs():
    """From deviations about the means of repeats, by loops."""
    features, responses = film(lengths=(80, 80, 90, 70))
    rng = np.random.default_rng(1)
    repeats = [responses[2] + 2 * rng.normal(size=(90, 6)) for _ in range(3)]
    model = ContinuousEncoding(delays=DELAYS, within_runs="center")
    model.fit(features[:2], responses[:2])
    maps = model.score([features[2]] * 3 + features[3:], repeats + responses[3:])
    runs = [Y - Y.mean(axis=0) for Y in (*repeats, responses[3])]
    for voxel in range(6):
        squares = 0.0
        for t in range(90):
            values = [run[t, voxel] for run in runs[:3]]
            squares += sum((value - np.mean(values)) ** 2 for value in values)
        single = squares / (2 * 90)
        noise = single * (90 / 3 + 70) / 160
        mean = np.mean([run[:, voxel] for run in runs[:3]], axis=0)
        total = np.var([*mean, *runs[3][:, voxel]], ddof=1)
        assert maps["noise_ceiling"][voxel] == pytest.approx(1 - noise / total)


def test_tables_with_onsets_are_those_of_volumes():
    """Two samples a volume, which average to what a table of volumes says."""
    features, responses = film()
    timed = [
        pd.DataFrame(np.repeat(X, 2, axis=0) + np.tile([[-1], [1]], (len(X), 3)))
        .rename(columns=str)
        .assign(onset=np.arange(2 * len(X)) * 0.75)
        for X in features
    ]
    named = [pd.DataFrame(X).rename(columns=str) for X in features]
    found = []
    for tables in (timed, named):
        model = ContinuousEncoding(delays=DELAYS, t_r=1.5)
        model.fit(tables[:2], responses[:2])
        found.append(model.score(tables[2:], responses[2:])["r2"])
    np.testing.assert_allclose(*found, atol=1e-9)
    with pytest.raises(ValueError, match="arrays do not tell the time"):
        ContinuousEncoding().fit(timed[:2], responses[:2])


def test_columns_are_known_by_name():
    features, responses = film()
    tables = [pd.DataFrame(X, columns=["motion", "light", "faces"]) for X in features]
    model = ContinuousEncoding().fit(tables[:2], responses[:2])
    assert model.feature_names_in_.tolist() == ["motion", "light", "faces"]
    with pytest.raises(ValueError, match="must have the 3 columns of fit in their"):
        model.score([tables[2][["light", "motion", "faces"]]], responses[2:])
    swapped = [tables[0], tables[1][["light", "motion", "faces"]]]
    with pytest.raises(ValueError, match=r"features\[1\] has other columns"):
        ContinuousEncoding().fit(swapped, responses[:2])
    model.fit(features[:2], responses[:2])
    assert not hasattr(model, "feature_names_in_")


def test_bands_are_those_of_all_delays():
    """One weight a band, whatever is constant; the delays of a band share it."""
    features, responses = film()
    wide = [np.insert(X, 1, 3.0, axis=1) for X in features]
    weights = [[0.9, 0.1]]
    bands = ["a", "b", "b", "a"]
    encoder = RidgeEncoder(alphas=[10.0], bands=bands, band_weights=weights)
    options = {"delays": DELAYS, "within_runs": None}
    model = ContinuousEncoding(encoder=encoder, **options).fit(wide[:2], responses[:2])
    assert model.notes_[0].startswith("1 of 4 feature columns are constant")
    scaler = StandardScaler().fit(np.concatenate(features[:2]))
    scale = np.sqrt(np.tile([0.9, 0.1, 0.9], 3))
    X = [delayed(scaler.transform(run)) * scale for run in features]
    ridge = Ridge(alpha=10.0).fit(np.concatenate(X[:2]), np.concatenate(responses[:2]))
    maps = model.score(wide[2:], responses[2:])
    f, y = ridge.predict(X[2]), responses[2]
    r = [np.corrcoef(y[:, v], f[:, v])[0, 1] for v in range(6)]
    np.testing.assert_allclose(maps["correlation"], r, atol=1e-9)
    with pytest.raises(ValueError, match="bands of the encoder has 4 entries"):
        ContinuousEncoding(encoder=encoder).fit(features[:2], responses[:2])


def test_p_values_count_shifts():
    """Of all runs, each by its own offset; the largest correlation corrects."""
    features, responses = film(lengths=(60, 60, 9, 7), effect=0.3)
    model = ContinuousEncoding(delays=(1,), encoder=Ridge(), n_permutations=62)
    model.fit(features[:2], responses[:2])
    maps = model.score(features[2:], responses[2:])
    _, tested = model._test(model.score, features[2:], responses[2:])
    y, f = tested.responses, tested.predictions
    null = []
    for i in range(9):
        for j in range(7):
            shifted = np.concatenate(
                [np.roll(f[:9], i, axis=0), np.roll(f[9:], j, axis=0)]
            )
            null.append([np.corrcoef(y[:, v], shifted[:, v])[0, 1] for v in range(6)])
    null = np.array(null)
    p = (null >= null[0] - 1e-9).mean(axis=0)
    np.testing.assert_allclose(maps["p_value"], p)
    largest = null.max(axis=1)
    fwe = [(largest >= r - 1e-9).mean() for r in null[0]]
    np.testing.assert_allclose(maps["p_value_fwe"], fwe)


def test_short_runs_of_slow_films_are_marked():
    """In the warning and the notes."""
    features, responses = film(lengths=(60, 60, 40), correlation=0.9)
    model = ContinuousEncoding(n_permutations=39).fit(features[:2], responses[:2])
    with pytest.warns(UserWarning, match="runs of 40 test responses are short"):
        maps = model.score(features[2:], responses[2:])
    assert "short for how long neighbors depend" in maps.notes_[0]
    assert (
        not model.set_params(n_permutations=0)
        .score(features[2:], responses[2:])
        .findings_
    )


def volumes(rows, t_r=2.0):
    """Images of rows (n_volumes, 8) with a repetition time."""
    img = to_img(rows, resolve_masker(MASK))
    img.header.set_xyzt_units("mm", "sec")
    img.header["pixdim"][4] = t_r
    return img


MASK = nibabel.Nifti1Image(np.ones((2, 2, 2), dtype=np.int8), np.diag([3, 3, 3, 1]))


def test_images_give_images_with_sidecars(tmp_path):
    features, responses = film(n_voxels=8, lengths=(60, 60, 8))
    responses[0][:, 3] = 5.0  # constant in one run
    responses[2][2, 5] = np.nan
    paths = []
    for number, rows in enumerate(responses):
        paths.append(str(tmp_path / f"run{number}.nii.gz"))
        nibabel.save(volumes(rows), paths[-1])
    model = ContinuousEncoding(MASK, n_permutations=9).fit(features[:2], paths[:2])
    with pytest.warns(UserWarning, match="only 7 other shifts exist, 9 were"):
        maps = model.score(features[2:], paths[2:])
    values = load_samples(maps["correlation"], model.masker_)[0]
    assert np.isnan(values[[3, 5]]).all()
    assert np.isfinite(np.delete(values, [3, 5])).all()
    assert model.notes_[0].startswith("1 of 8 voxels were left out")
    arrays = ContinuousEncoding().fit(features[:2], responses[:2])
    expected = arrays.score(features[2:], responses[2:])
    np.testing.assert_allclose(values, expected["correlation"], atol=1e-4)
    maps.to_directory(tmp_path / "out")
    sidecar = json.loads((tmp_path / "out" / "p_value_fwe.json").read_text())
    assert [found["name"] for found in sidecar["findings"]] == ["few_exchanges"]
    assert json.loads((tmp_path / "out" / "r2.json").read_text())["findings"] == []
    assert sidecar["unit"] == "p"


def test_patterns_are_no_runs(tmp_path):
    """Several series would become one run, whose baseline is that of none."""
    features, responses = film(n_voxels=8)
    for number, rows in enumerate(responses):
        nibabel.save(volumes(rows), tmp_path / f"run{number}.nii.gz")
    with pytest.raises(ValueError, match="one series for every run"):
        ContinuousEncoding(MASK).fit(
            np.concatenate(features), str(tmp_path / "run*.nii.gz")
        )


REFUSED = {
    "other lengths": (lambda X, Y: ([X[0][:-1], X[1]], Y[:2]), "has 59 rows, its run"),
    "other columns": (lambda X, Y: ([X[0], X[1][:, :2]], Y[:2]), "has other columns"),
    "other voxels": (lambda X, Y: (X[:2], [Y[0], Y[1][:, :2]]), "numbers of voxels"),
    "other number of runs": (lambda X, Y: (X, Y[:2]), "features has 3 runs, imgs 2"),
    "no run": (lambda X, Y: (X, []), "imgs is empty"),
    "nothing varies": (lambda X, Y: (X[:1], [0 * Y[0]]), "no usable voxel"),
    "missing features": (lambda X, Y: ([X[0] * np.nan], Y[:1]), "NaN or infinity"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_runs_that_do_not_match(case):
    spoil, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        ContinuousEncoding().fit(*spoil(*film()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within_runs": "percent"}, "within_runs='percent' must be one of"),
        ({"delays": (1, 1)}, "holds a delay twice"),
        ({"delays": (2, -60)}, r"60 volumes is as long as run 2 \(50 volumes\)"),
        ({"n_permutations": -1}, "n_permutations"),
        ({"cv": 1}, "cv=1 must be at least 2"),
        ({"t_r": -2.0}, "t_r=-2.0 must be a positive"),
    ],
)
def test_parameters_are_checked(options, message):
    features, responses = film()
    with pytest.raises(ValueError, match=message):
        ContinuousEncoding(**options).fit(features, responses)


def test_trained_runs_are_no_test():
    """By features, by responses; and other columns or voxels are refused."""
    features, responses = film(n_voxels=9)
    model = ContinuousEncoding().fit(features[:2], responses[:2])
    with pytest.raises(ValueError, match="test run 0 has the features of training run"):
        model.score([features[1]], [-responses[1]])
    with pytest.raises(ValueError, match="is training response"):
        model.score([features[1] + 1], [responses[1]])
    with pytest.raises(ValueError, match="a delay of 4 volumes is as long as run 0"):
        model.score([features[2][:4]], [responses[2][:4]])
    with pytest.raises(ValueError, match="has 2 columns, the model was trained on 3"):
        model.score([features[2][:, :2]], responses[2:])
    with pytest.raises(ValueError, match="trained on 9"):
        model.score(features[2:], [responses[2][:, :2]])


@pytest.mark.parametrize("events", [False, True])
def test_parts_of_a_film_that_were_trained_on_are_told(events):
    """Half of a test run, by features up to rounding; equal blocks are no stimulus."""
    features, responses = film(lengths=(60, 70, 50))
    if events:  # 25 volumes of one condition, then of the other
        blocks = [(np.arange(len(X)) // 25 % 2)[:, np.newaxis] for X in features]
        features = [np.hstack([b, 1 - b]).astype(float) for b in blocks]
        features[1] = 1 - features[1]
    else:
        features[2][:25] = features[1][30:55] * (1 + 1e-9)
    model = ContinuousEncoding(encoder=Ridge(), delays=DELAYS, cv=2)
    model.fit(features[:2], responses[:2])
    tested = [features[2][:45]], [responses[2][:45]]
    if events:
        model.score(*tested)
        return
    with pytest.warns(UserWarning, match="test run 0 has in 56% of its volumes"):
        model.score(*tested)
    model.score([tested[0][0][20:]], [tested[1][0][20:]])
