"""Errors and interval coverage of the extrapolations over families of populations.

Called by ``python benchmarks/extrapolation.py --families``, with "fresh" (populations
written after the last change of a rule), "held_out" (those that earlier rules were
measured on) or "tuning" (those that rules were tuned on). Omniglot is added to the
first two where its drawings are at hand (the folder ``omniglot_small`` under the
environment variable ``NEUROEXTRAP_DATA``).
"""

import io
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
from further_populations import FRESH, FURTHER_TUNING
from populations import HELD_OUT, TUNING
from scipy import special
from scipy.ndimage import gaussian_filter

from neuroextrap.stats import (
    AccuracyExtrapolator,
    average_accuracy,
    win_distribution,
)

SEED = 2026
SIDES = {
    "fresh": FRESH,
    "held_out": HELD_OUT,
    "tuning": {**TUNING, **FURTHER_TUNING},
}
RATIOS = np.array([2, 4, 10, 100])
REPEATS = {8: 2, 20: 2, 50: 2, 100: 2, 500: 1}
SINGLE = (
    "gaussian",
    "gaussian_mixture",
    "logistic",
    "tail",
    "pitman_yor",
    "radial_basis",
    "kde_ucv",
)
FIXED_MEANS = (
    ("gaussian_mixture", "tail"),
    ("gaussian_mixture", "logistic"),
    ("gaussian_mixture", "tail", "logistic"),
)


def fit_all(margins, y_true, sizes):
    """Predictions by method, and intervals of the default with scores and without."""
    wins = win_distribution(margins, y_true)
    default = AccuracyExtrapolator().fit(margins, y_true)
    blind = AccuracyExtrapolator().fit_wins(wins, len(y_true))
    found = {"auto": default.predict(sizes), "auto, wins": blind.predict(sizes)}
    for method in SINGLE:
        model = AccuracyExtrapolator(method).fit(margins, y_true)
        found[method] = model.predict(sizes)
    for members in FIXED_MEANS:
        inside = [np.clip(found[m], 0.5 / sizes, 1 - 1e-4) for m in members]
        found["mean of " + ", ".join(members)] = special.expit(
            np.mean(special.logit(inside), axis=0)
        )
    ends = {
        "scores": default.predict_interval(sizes),
        "wins": blind.predict_interval(sizes),
    }
    return found, ends


def records_of_family(name, population, seed, repeats):
    """Fit samples of three levels of noise; one record per sample."""
    for level in range(3):
        law = population(level, [seed, level])
        wanted = np.unique(np.outer([k for k in repeats if repeats[k]], RATIOS))
        truth = dict(zip(wanted, law.truth(wanted, [seed, level, 1]), strict=True))
        for n_classes, n_sets in repeats.items():
            sizes = n_classes * RATIOS
            for repeat in range(n_sets):
                sample = law.sample(n_classes, [seed, level, n_classes, repeat])
                yield record(name, law.group, n_classes, sample, sizes, truth)


def record(family, group, n_classes, sample, sizes, truth):
    """Everything the tables need of one sample."""
    found, ends = fit_all(*sample, sizes)
    return {
        "family": family,
        "group": group,
        "n_classes": n_classes,
        "ratio": sizes / n_classes,
        "truth": np.array([truth[k] for k in sizes]),
        "found": found,
        "ends": ends,
    }


def shrink(image):
    """Average 105 x 105 pixels down to 28 x 28, then blur."""
    edges = np.linspace(0, image.shape[0], 29)
    pixels = np.arange(image.shape[0])
    low, high = edges[:-1, None], edges[1:, None]
    share = np.clip(np.minimum(pixels + 1, high) - np.maximum(pixels, low), 0, None)
    share /= share.sum(axis=1, keepdims=True)
    return gaussian_filter(share @ image @ share.T, 1.0)


def read_drawings(folder):
    """All drawings of Omniglot's small sets, shape (n_characters, 20, 784)."""
    from matplotlib.image import imread

    drawings = {}
    for path in sorted(Path(folder).glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith(".png") or "__MACOSX" in name:
                    continue
                ink = 1.0 - imread(io.BytesIO(archive.read(name))).reshape(105, 105)
                character = drawings.setdefault(Path(name).parts[-3:-1], {})
                character[int(name[-6:-4]) - 1] = shrink(ink).ravel()
    return np.array([[d[i] for i in range(20)] for _, d in sorted(drawings.items())])


def drawing_scores(drawings, n_train=15):
    """Margins of three marginal classifiers among all characters, and labels."""
    train, test = drawings[:, :n_train], drawings[:, n_train:]
    labels = np.arange(len(drawings)).repeat(test.shape[1])
    test = test.reshape(len(labels), -1)
    every = train.reshape(-1, train.shape[-1])
    squares = (test**2).sum(1)[:, None] + (every**2).sum(1) - 2 * test @ every.T
    nearest = -np.sqrt(np.maximum(squares, 0)).reshape(len(test), -1, n_train)
    mean, variance = train.mean(1), train.var(1) + 0.2 * every.var(0).max()
    distance = (test**2) @ (1 / variance).T - 2 * test @ (mean / variance).T
    distance += (mean**2 / variance + np.log(variance)).sum(1)
    squares = (test**2).sum(1)[:, None] + (mean**2).sum(1) - 2 * test @ mean.T
    return {
        "omniglot, nearest neighbor": nearest.max(axis=2),
        "omniglot, nearest mean": -np.sqrt(np.maximum(squares, 0)),
        "omniglot, naive Bayes": -distance,
    }, labels


def records_of_drawings(seed, repeats):
    """Random subsets of the characters; the truth is looked up among all of them."""
    folder = Path(os.environ.get("NEUROEXTRAP_DATA", "")) / "omniglot_small"
    if not (os.environ.get("NEUROEXTRAP_DATA") and folder.is_dir()):
        return
    scores, labels = drawing_scores(read_drawings(folder))
    n_all = labels.max() + 1
    for name, margins in scores.items():
        wins = win_distribution(margins, labels)
        for n_classes, n_sets in repeats.items():
            sizes = n_classes * RATIOS
            sizes = sizes[sizes <= n_all]
            if not sizes.size:
                continue
            truth = dict(zip(sizes, average_accuracy(wins, sizes), strict=True))
            for repeat in range(3 * n_sets):
                rng = np.random.default_rng([seed, n_classes, repeat])
                some = np.sort(rng.permutation(n_all)[:n_classes])
                rows = np.isin(labels, some)
                sample = (
                    margins[np.ix_(rows, some)],
                    np.searchsorted(some, labels[rows]),
                )
                yield record(name, "real", n_classes, sample, sizes, truth)


def collect(side, seed, repeats, names=None):
    """All records of one of the `SIDES`, or of some families of it."""
    warnings.simplefilter("ignore", UserWarning)  # 100 K is past what was calibrated
    records = []
    for name, population in SIDES[side].items():
        if names is None or name in names:
            records += records_of_family(name, population, seed, repeats)
    if side != "tuning" and (names is None or "omniglot" in names):
        records += records_of_drawings(seed, repeats)
    return records


def error_table(records, factors=(2, 4, 10), by="n_classes"):
    """Errors of each method by K or by ratio, every family weighing one.

    Mean absolute error; 95th percentile and maximum are those over all sets.
    """
    if by == "n_classes":
        columns = {f"K = {k}": (k, factors) for k in sizes_of(records)}
    else:
        columns = {f"{factor} K": (None, (factor,)) for factor in factors}
    named = ", ".join(f"{factor}" for factor in factors)
    print(f"\nmean absolute error over {named} times K [95th percentile, maximum]")
    print(f"  {'':46s}" + "".join(f"{name:>18s}" for name in columns) + " average")
    for method in records[0]["found"]:
        means, cells = [], ""
        for k, used in columns.values():
            errors = by_family(records, k, method, used)
            means.append(np.mean([e.mean() for e in errors.values()]))
            everything = np.concatenate(list(errors.values()))
            worst = f"{np.quantile(everything, 0.95):.2f}, {everything.max():.2f}"
            cells += f"{means[-1]:6.3f} [{worst}]"
        print(f"  {method:46s}{cells}{np.mean(means):8.4f}")


def sizes_of(records):
    """Numbers of classes that samples were drawn of."""
    return sorted({r["n_classes"] for r in records})


def by_family(records, n_classes, method, factors):
    """Absolute errors of one method by family, and by K where that is None.

    With all K together, families and K weigh alike however many sets they have.
    """
    errors = {}
    for r in records:
        if n_classes in (None, r["n_classes"]):
            used = np.isin(r["ratio"], factors)
            gap = np.abs(r["found"][method] - r["truth"])[used]
            cell = r["family"] if n_classes else (r["family"], r["n_classes"])
            errors[cell] = np.r_[errors.get(cell, []), gap]
    return {cell: e for cell, e in errors.items() if e.size}


def group_table(records, factors=(2, 4, 10)):
    """Mean absolute error of each method by group of families, over all K."""
    groups = sorted({r["group"] for r in records})
    print("\nmean absolute error by group of families")
    print(f"  {'':46s}" + "".join(f"{g:>12s}" for g in groups))
    for method in records[0]["found"]:
        cells = ""
        for group in groups:
            some = [r for r in records if r["group"] == group]
            sizes = {r["n_classes"] for r in some}
            error = np.mean(
                [
                    e.mean()
                    for k in sizes
                    for e in by_family(some, k, method, factors).values()
                ]
            )
            cells += f"{error:12.3f}"
        print(f"  {method:46s}{cells}")


def interval_table(records):
    """Coverage of 90% intervals and their median half-width in logits."""
    for kind in ("scores", "wins"):
        print(f"\n90% intervals from {kind}: coverage, [median half-width in logits]")
        factors = [f for f in RATIOS if any(f in r["ratio"] for r in records)]
        print(f"  {'':20s}" + "".join(f"{f'{f} K':>15s}" for f in factors))
        rows = {f"K = {k}": k for k in sorted({r["n_classes"] for r in records})}
        rows["all K"] = None
        for label, k in rows.items():
            some = [r for r in records if k in (None, r["n_classes"])]
            print(f"  {label:20s}{interval_cells(some, kind, factors)}")
        for family in dict.fromkeys(r["family"] for r in records):
            some = [r for r in records if r["family"] == family]
            print(f"  {family[:19]:20s}{interval_cells(some, kind, factors)}")


def interval_cells(records, kind, factors):
    """Coverage and half-width at every factor, every family weighing one."""
    cells = ""
    for factor in factors:
        covered, widths = {}, []
        for r in records:
            if factor not in r["ratio"]:
                continue
            at = list(r["ratio"]).index(factor)
            low, high = (end[at] for end in r["ends"][kind])
            hit = low <= r["truth"][at] <= high
            covered.setdefault(r["family"], []).append(hit)
            ends = np.clip([low, high], 1e-9, 1 - 1e-9)
            widths.append(np.diff(special.logit(ends))[0] / 2)
        if not covered:
            cells += f"{'':>15s}"
            continue
        share = np.mean([np.mean(c) for c in covered.values()])
        cells += f"{share:8.2f} [{np.median(widths):.2f}]"
    return cells


def benchmark_families(side, seed=SEED, repeats=None):
    """Print all tables of one side."""
    records = collect(side, seed, repeats or REPEATS)
    print(f"\nfamilies of populations ({side}), {len(records)} sets, seed {seed}")
    print_tables(records)


def print_tables(records):
    """Print errors by K, by ratio, far out and by group, and intervals."""
    error_table(records)
    error_table(records, factors=tuple(RATIOS), by="ratio")
    error_table(records, factors=(100,))
    group_table(records)
    interval_table(records)
