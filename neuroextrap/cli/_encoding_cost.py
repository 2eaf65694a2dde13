"""What ``neuroextrap encoding`` would take: a few regions, timed and extrapolated."""

import time

import numpy as np

_FEW, _MORE = 2, 8
"""Numbers of regions that are timed."""


def estimate_cost(make_model, data, region_options):
    """Train and identify in a few and in more regions; extrapolate to all.

    Training time grows with the voxels, identification time with the regions, both from
    what they take in any case.

    Parameters
    ----------
    make_model : callable
        ``make_model(regions)`` -> EncodingIdentification of arrays in these regions.
    data : EncodingData
        What was read.
    region_options : dict
        As ``neuroextrap.images.choose_regions`` takes them, and ``min_voxels``.

    Returns
    -------
    cost : dict
        n_regions, n_features, fitting and identifying (seconds on one core), and
        memory (bytes).
    """
    train, test, masker = _as_arrays(data)
    usable = np.isfinite(train).all(axis=0) & (train != train[:1]).any(axis=0)
    usable &= np.isfinite(test).all(axis=0)
    members = _filled_regions(masker, usable, **region_options)
    some = np.unique(np.linspace(0, members.shape[0] - 1, _MORE).astype(int))
    _timed(make_model, data, train, test, members[some[:1]])  # imports, compilation
    few, more = (
        _timed(make_model, data, train, test, members[some[:n]]) for n in (_FEW, _MORE)
    )
    wanted = usable.sum(), members.shape[0]
    fitting, identifying = map(_extrapolated, few, more, wanted)
    return {
        "n_regions": members.shape[0],
        "n_features": train.shape[1],
        "fitting": fitting,
        "identifying": identifying,
        "memory": _memory(train, test, len(data.tested), members),
    }


def _extrapolated(few, more, wanted):
    """Continue a line through two (number, seconds), which never falls."""
    slope = max(0.0, more[1] - few[1]) / max(1, more[0] - few[0])
    return more[1] + slope * max(0, wanted - more[0])


def _as_arrays(data):
    """Responses as arrays, and the masker that made them."""
    if data.mask is None:
        return data.train, data.test, None
    from neuroextrap.images import load_samples, resolve_masker

    masker = resolve_masker(data.mask)
    train, test = (load_samples(img, masker) for img in (data.train, data.test))
    return train, test, masker


def _filled_regions(masker, usable, *, min_voxels, **options):
    """Regions with enough usable voxels."""
    from neuroextrap.images._region_choice import choose_regions
    from neuroextrap.regions._usable import usable_regions

    chosen = choose_regions(masker, len(usable), **options)
    found = usable_regions(chosen.regions, usable, min_voxels).regions
    return found[np.flatnonzero(np.diff(found.indptr))]


def _timed(make_model, data, train, test, members):
    """Run regions; return (voxels, seconds of fitting), (regions, of identifying)."""
    voxels = np.unique(members.indices)
    model = make_model(members[:, voxels])
    start = time.perf_counter()
    model.fit(data.features, train[:, voxels], groups=data.repeated)
    middle = time.perf_counter()
    model.identify(data.tested, test[:, voxels], data.runs, stimuli=data.stimuli)
    end = time.perf_counter()
    return (len(voxels), middle - start), (members.shape[0], end - middle)


def _memory(train, test, n_candidates, members):
    """Bytes at the peak: images and arrays as read, and the table of the run."""
    n_features = train.shape[1]
    read = 4 * (train.nbytes + test.nbytes)
    table = 4 * n_features * (len(train) + len(test) + n_candidates)
    results = 8 * members.shape[0] * (n_candidates + 40)
    return read + 2 * table + 3 * members.indices.nbytes + results
