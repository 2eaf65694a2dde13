"""Maps of what held-out runs of films and stories show, by voxel and segment."""

import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from neuroextrap._parameter_table import taken_by
from neuroextrap.analysis._region_maps import maps_of_regions
from neuroextrap.design._course_of_runs import correlation_length, findings_of_series
from neuroextrap.design._findings import tell
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.encoding._experiment import (
    p_values_of_correlation,
    prediction_scores,
    standardized,
)
from neuroextrap.encoding._training import TrainedRuns
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.maps._identification import accuracy_statistics
from neuroextrap.maps._named_records import (
    band_names,
    band_records,
    segment_record,
    series_record,
)
from neuroextrap.maps._records import described_parameters
from neuroextrap.regions._regions import usable_regions
from neuroextrap.reporting._maps_section import features_as_regions, words_of_features
from neuroextrap.reporting._region_page import continuous_page
from neuroextrap.stats import average_accuracy
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings, shift_rows
from neuroextrap.stats._validation import check_number


class Segments(NamedTuple):
    """Windows of runs, and which of them are candidates beside each other."""

    rows: np.ndarray  # rows of every window, (n_windows, width)
    run: np.ndarray  # run of every window, (n_windows,)
    rivals: np.ndarray  # whether column is a candidate if row is the truth, square

    @property
    def n_candidates(self):
        """Candidates that every window has at least, the true one among them."""
        return int(self.rivals.sum(axis=1).min()) + 1

    @property
    def by_run(self):
        """The windows of every run, a list of (n_own,)."""
        return [np.flatnonzero(self.run == number) for number in np.unique(self.run)]


def cut_segments(run, width, apart):
    """Cut runs into windows of `width` rows; rivals are `apart` rows away or more."""
    rows = []
    for number in np.unique(run):
        members = np.flatnonzero(run == number)
        rows.append(members[: len(members) // width * width].reshape(-1, width))
    windows = np.concatenate(rows)
    start = windows[:, 0]
    of_run = run[start]
    gap = np.abs(start[:, None] - start) - width
    rivals = (of_run[:, None] == of_run) & (gap >= apart)
    if not len(windows) or not rivals.any(axis=1).all():
        raise ValueError(
            f"runs of {np.bincount(run).min()} volumes or more have windows of {width} "
            f"volumes without any other that is {apart} volumes (the correlation "
            "length) away; identify shorter segments, or test longer runs"
        )
    return Segments(windows, of_run, rivals)


def score_segments(model, tested, segments, members, sizes):
    """Identify segments in all regions (n_regions, n_voxels): wins and scores."""
    place, variance = np.cumsum(tested.usable) - 1, model.residual_variance_
    wins = np.full((members.shape[0], segments.n_candidates), np.nan)
    has_voxels, shifted = np.diff(members.indptr) > 0, []
    n, seed = model.n_permutations, model.random_state
    for region in np.flatnonzero(has_voxels):
        voxels = members.indices[slice(*members.indptr[region : region + 2])]
        y, f = (each[:, place[voxels]] for each in tested[:2])
        margins = segment_margins(y, f, variance[voxels], segments)
        wins[region] = segment_wins(margins, segments)
        if n:
            shifted.append(shifted_scores(margins, segments))
    scores = accuracy_statistics(wins, n_test=len(segments.run), set_sizes=sizes)
    if n:
        runs = [np.stack(part) for part in zip(*shifted, strict=True)]
        tests = segment_p_values(runs, segments, n_permutations=n, random_state=seed)
        scores |= spread_known(has_voxels, tests)
    return wins, scores


def segment_margins(responses, predictions, variance, segments):
    """Return log likelihoods of windows given those predicted, (n_windows, n_windows).

    Up to a constant of each row, under Gaussian noise that is independent over voxels
    and time, of `variance` (n_voxels,). NaN between runs.
    """
    scale = 1 / np.sqrt(variance)
    y = (responses * scale)[segments.rows].reshape(len(segments.rows), -1)
    f = (predictions * scale)[segments.rows].reshape(len(segments.rows), -1)
    margins = np.full((len(y), len(y)), np.nan)
    for own in segments.by_run:
        squares = np.einsum("wt,wt->w", f[own], f[own])
        margins[np.ix_(own, own)] = y[own] @ f[own].T - squares / 2
    return margins


def segment_wins(margins, segments):
    """Return the win distribution (K,) among as many candidates as every window has.

    A window that beats b of its n other candidates beats as many of K - 1 random ones
    as drawing without replacement says. Ties spread evenly.
    """
    beaten, tied = _counts(margins, margins.diagonal(), segments.rivals)
    n_others, n_drawn = segments.rivals.sum(axis=1), segments.n_candidates - 1
    wins = np.zeros(n_drawn + 1)
    for b, t, n in zip(beaten, tied, n_others, strict=True):
        possible = np.arange(b, b + t + 1)[:, None]
        wins += hypergeom.pmf(np.arange(n_drawn + 1), n, possible, n_drawn).mean(axis=0)
    return wins / len(margins)


def shifted_scores(margins, segments):
    """Return pairwise accuracy, summed over windows, at every shift of every run.

    Shift s pairs response window i with predicted window i + s of its run, circularly,
    which then is the truth. A list of arrays (n_windows of the run,).
    """
    scores = []
    for own in segments.by_run:
        part, rivals = margins[np.ix_(own, own)], segments.rivals[np.ix_(own, own)]
        shares = np.empty_like(part)
        for truth, others in enumerate(rivals):
            beaten, tied = _counts(part, part[:, truth], others)
            shares[:, truth] = (beaten + tied / 2) / others.sum()
        place = np.arange(len(own))
        scores.append(
            np.array([shares[place, (place + s) % len(own)].sum() for s in place])
        )
    return scores


def segment_p_values(scores, segments, *, n_permutations, random_state):
    """Test pairwise accuracy by circular shifts of the windows of every run."""
    orders = shift_rows(len(segments.run), segments.run, n_permutations, random_state)
    total = sum(part[:, 0] for part in scores) / len(segments.run)
    counts = NullCounts.start(round_ties(total), len(orders))
    for index, order in enumerate(orders):
        shifts = [order[own[0]] - own[0] for own in segments.by_run]
        shifted = sum(part[:, s] for part, s in zip(scores, shifts, strict=True))
        counts.add(round_ties(shifted / len(segments.run))[:, np.newaxis], index)
    return {"p_value": counts.p_value(), "p_value_fwe": counts.p_value_fwe()}


def _counts(margins, truth, rivals):
    """Count candidates below and level with the `truth` of each row, of its rivals."""
    truth = truth[:, np.newaxis]
    return (
        ((margins < truth) & rivals).sum(axis=1),
        ((margins == truth) & rivals).sum(axis=1),
    )


def voxel_scores(model, tested):
    """Score the predictions of HeldOut; returns a dict of (n_usable,) by name."""
    return prediction_scores(
        tested.responses,
        tested.predictions,
        groups=tested.run,
        noise_variance=tested.noise_variance,
        n_permutations=model.n_permutations,
        exchange="shifts",
        random_state=model.random_state,
    )


def partition_scores(model, trained, runs, tested):
    """Return parts of r2 by band and their p-values, a dict of (n_usable,) by name."""
    kept = np.ix_(tested.rows, runs.usable[trained.runs.usable])
    y, bands = tested.responses, np.unique(trained.runs.bands)
    r2, pairs, unique = prediction_scores(y, tested.predictions)["r2"], [], {}
    scores, centered = {"r2": r2}, y - y.mean(axis=0)
    rest = 2 * centered - (tested.predictions - tested.predictions.mean(axis=0))
    for band in bands:
        own = trained.predict(runs, band)[kept]
        own = own - own.mean(axis=0)
        others = TrainedRuns.of(model, _without(trained.runs, band))
        without = others.predict(_without(runs, band))[kept]
        product, name, *_ = band_names(band)
        scores[product] = (own * rest).sum(axis=0) / np.square(centered).sum(axis=0)
        unique[name] = scores[name] = r2 - prediction_scores(y, without)["r2"]
        pairs.append((_beyond(centered, without), _beyond(own, without)))
    scores["r2_shared"] = r2 - sum(unique.values())
    unique = np.hstack(list(unique.values()))
    return scores | _p_values(model, bands, pairs, unique, tested.run)


def _p_values(model, bands, pairs, unique, run):
    """Test partial correlations of `pairs` by shifts; p is 1 where not `unique`."""
    if not model.n_permutations:
        return {}
    y, f = (standardized(np.hstack(each)) for each in zip(*pairs, strict=True))
    observed = np.where(unique > 0, np.einsum("tv,tv->v", y, f), -np.inf)
    orders = shift_rows(len(y), run, model.n_permutations, model.random_state)
    tested = p_values_of_correlation(y, f, observed, orders)
    return {
        band_names(band)[place]: values
        for place, name in ((2, "p_value"), (3, "p_value_fwe"))
        for band, values in zip(bands, np.split(tested[name], len(bands)), strict=True)
    }


def _without(runs, band):
    """Return Runs without the features of a band."""
    kept = runs.bands != band
    return runs._replace(features=runs.features[:, kept], bands=runs.bands[kept])


def _beyond(values, predictions):
    """Subtract from columns what a regression on the same column explains of them."""
    f = predictions - predictions.mean(axis=0)
    squares = np.square(f).sum(axis=0)
    slope = (values * f).sum(axis=0) / np.where(squares > 0, squares, 1)
    return values - slope * f


def voxel_maps(model, tested, scores, segments=None):
    """Return `scores` (n_usable,) of voxels as RegionMaps, perhaps with segments'."""
    bands, words = model._trained.runs.bands, words_of_features(model.masker_)
    of_bands = {} if bands is None else band_records(np.unique(bands))
    return _placed(
        model,
        features_as_regions(model.n_elements_),
        spread_known(tested.usable, scores),
        records={name: of_bands.get(name) or series_record(name) for name in scores},
        table_file="voxels.tsv",
        further=() if segments is None else (segments,),
        findings=_findings(model, tested, tested.run),
        page=continuous_page,
        classes_=(),
        segments_=segments,
        bands_=bands,
        words_=words,
        rows=words[1],
        n_runs_=tested.run.max() + 1,
    )


def segment_maps(model, tested, seconds):
    """Identify segments of held-out runs; returns RegionMaps."""
    _check_segments(tested, seconds)
    apart = correlation_length(tested.responses, tested.predictions, tested.run)
    segments = cut_segments(tested.run, max(1, round(seconds / tested.t_r)), apart)
    given = taken_by(choose_regions, model.get_params(deep=False))
    choice = choose_regions(model.masker_, model.n_elements_, **given)
    members = usable_regions(choice.regions, tested.usable, 1).regions
    sizes = default_set_sizes(segments.n_candidates)
    wins, scores = score_segments(model, tested, segments, members, sizes)
    return _placed(
        model,
        choice,
        scores,
        records={name: segment_record(name) for name in scores},
        table_file="segments.tsv",
        findings=_findings(model, tested, segments.run),
        n_candidates_=segments.n_candidates,
        n_segments_=len(segments.run),
        correlation_length_=apart,
        wins_=wins,
        set_sizes_=sizes,
        curves_=average_accuracy(wins, sizes),
        seconds_=seconds,
    )


def _check_segments(tested, seconds):
    """Raise ValueError where no segments of so many seconds can be cut."""
    if tested.t_r is None:
        raise ValueError(
            "seconds cannot be counted in volumes, because the time between them is "
            "not known; give t_r, in seconds"
        )
    if not 0 < check_number(seconds, "seconds") < np.inf:
        raise ValueError(f"seconds={seconds!r} must be positive; give 20, for example")
    holes = (np.diff(tested.rows) != 1) & (np.diff(tested.run) == 0)
    if holes.any():
        raise ValueError(
            f"a tested run has a hole ({holes.sum()} in all, sample_mask), and volumes "
            "beside it are no segment; keep all but the first and last ones"
        )


def _placed(model, choice, scores, **about):
    """Return numbers of regions, or voxels, as RegionMaps."""
    return maps_of_regions(
        SimpleNamespace(choice=choice, masker=model.masker_, bg_img=None),
        scores,
        parameters=described_parameters(model),
        random_state=model.random_state,
        n_permutations_=model.n_permutations,
        **about,
    )


def _findings(model, tested, shifted):
    """Return what makes p-values by shifts of rows doubtful, and warn of it."""
    if not model.n_permutations:
        return ()
    findings = findings_of_series(
        tested.responses, tested.predictions, tested.run, exchange="shifts"
    )
    tell(findings)  # of few shifts those who draw them have warned
    n_others = math.prod(np.bincount(shifted)) - 1
    if n_others >= model.n_permutations:
        return findings
    return (*findings, few_exchanges(FewLabelings(n_others, 1, "shifts")))
