"""Maps of what held-out runs of films and stories show, by voxel and by segment."""

import math
from types import SimpleNamespace

import numpy as np

from neuroextrap.analysis._region_maps import maps_of_regions
from neuroextrap.design._findings import tell
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.design._series import correlation_length, findings_of_series
from neuroextrap.encoding._response_predictions import prediction_scores
from neuroextrap.encoding._segments import cut_segments, score_segments
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.maps._described_parameters import described_parameters
from neuroextrap.maps._named_records import band_records, segment_record, series_record
from neuroextrap.regions._membership import usable_regions
from neuroextrap.reporting._finding import words_of_features
from neuroextrap.reporting._maps_section import features_as_regions
from neuroextrap.reporting._region_page import continuous_page
from neuroextrap.stats import average_accuracy
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import check_number


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


def voxel_maps(model, tested, scores, segments=None):
    """Return `scores` (n_usable,) of voxels as RegionMaps, perhaps with segments'."""
    bands, words = model._trained.runs.bands, words_of_features(model.masker_)
    known = {} if bands is None else band_records(np.unique(bands))
    return _placed(
        model,
        features_as_regions(model.n_elements_),
        spread_known(tested.usable, scores),
        records={name: known.get(name) or series_record(name) for name in scores},
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
    apart = correlation_length(tested.responses, tested.predictions, tested.run)
    segments = cut_segments(tested.run, max(1, round(seconds / tested.t_r)), apart)
    choice = choose_regions(
        model.masker_,
        model.n_elements_,
        radius=model.radius,
        labels_img=model.labels_img,
        regions=model.regions,
        process_mask_img=model.process_mask_img,
    )
    scored = score_segments(
        tested,
        model.residual_variance_,
        segments,
        usable_regions(choice.regions, tested.usable, 1).regions,
        n_permutations=model.n_permutations,
        random_state=model.random_state,
    )
    return _placed(
        model,
        choice,
        scored.scores,
        records={name: segment_record(name) for name in scored.scores},
        table_file="segments.tsv",
        findings=_findings(model, tested, segments.run),
        n_candidates_=segments.n_candidates,
        n_segments_=len(segments.run),
        correlation_length_=apart,
        wins_=scored.wins,
        set_sizes_=scored.set_sizes,
        curves_=average_accuracy(scored.wins, scored.set_sizes),
        seconds_=seconds,
    )


def _placed(model, choice, scores, **about):
    """Return numbers of regions, or voxels, as RegionMaps."""
    seed = model.random_state
    return maps_of_regions(
        SimpleNamespace(choice=choice, masker=model.masker_, bg_img=None),
        scores,
        parameters=described_parameters(model),
        random_state=seed if isinstance(seed, int) else None,
        n_permutations_=model.n_permutations,
        **about,
    )


def _findings(model, tested, shifted):
    """Return what makes p-values by shifts doubtful, and warn of it.

    `shifted` (n_rows,) is the run of every row, or window, that is shifted.
    """
    if not model.n_permutations:
        return ()
    found = findings_of_series(
        tested.responses, tested.predictions, tested.run, exchange="shifts"
    )
    tell(found)  # of few shifts those who draw them have warned
    n_others = math.prod(np.bincount(shifted)) - 1
    if n_others >= model.n_permutations:
        return found
    return (*found, few_exchanges(FewLabelings(n_others, 1, "shifts")))
