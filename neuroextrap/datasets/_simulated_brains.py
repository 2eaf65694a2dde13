"""Simulated experiments and brains, with regions and cells of known information."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._loading import feature_coordinates, mask_lattice
from neuroextrap.images._maskers import mni152_mask
from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.regions._regions import lattice_spheres
from neuroextrap.stats._label_checks import plain_types_checked
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    check_integer,
    check_level,
    check_number,
    check_numbers,
    random_generator,
    real_array,
)


@plain_types_checked
def plant_codes(
    n_features: int,
    planted: Any,
    information: ArrayLike,
    *,
    n_classes: int = 8,
    n_runs: int = 12,
    random_state: Any = 0,
) -> Any:
    """Simulate an experiment in which some regions carry known information.

    Every sample is the response to one class in one run. Outside the planted regions it
    is noise N(0, 1); in a planted region of d features the class mean N(0, snr I_d) is
    added, snr = 2^(2 I / d) - 1, so that one response carries I bits about a stimulus
    drawn from the population of patterns. Regions are independent of each other.

    Parameters
    ----------
    n_features : int
        Number of features (voxels).
    planted : sequence of array-like of int
        Feature indices of each planted region; regions must not overlap.
    information : array-like of shape (n_planted,)
        Bits that one response of each planted region carries about its stimulus.
    n_classes : int, default=8
        Number of classes, at least 2.
    n_runs : int, default=12
        Number of runs; every run shows every class once, in random order.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the simulation.

    Returns
    -------
    samples : sklearn.utils.Bunch
        Responses ``X`` (n_samples, n_features), float32, of noise variance 1; classes
        ``y`` and ``runs`` (n_samples,), counted from 0; and the truth: ``planted``, a
        tuple of feature indices of each region, ``information`` and ``snr`` per feature
        (n_planted,).

    Raises
    ------
    ValueError
        If planted regions overlap, are empty or exceed the features, if information is
        not given for every region, or if there are fewer than two classes or no run.

    References
    ----------
    Cover & Thomas 2006, "Elements of Information Theory", section 9.4
    (parallel Gaussian channels).

    Examples
    --------
    >>> from neuroextrap.datasets import plant_codes
    >>> samples = plant_codes(200, [range(80)], [6.0], n_classes=8, n_runs=3)
    >>> samples.X.shape, samples.X.dtype
    ((24, 200), dtype('float32'))
    >>> samples.snr.round(4)
    array([0.1096])
    """
    planted = _check_planted(planted, n_features)
    information = real_array(information, "information")
    if information.shape != (len(planted),):
        raise ValueError(
            f"information must hold one number for each of the {len(planted)} planted "
            f"regions, got shape {information.shape}; pass as many"
        )
    if not np.all(np.isfinite(information) & (information >= 0)):
        raise ValueError(f"information={information} must be finite and not negative")
    if n_classes < 2 or n_runs < 1:
        raise ValueError(
            f"n_classes={n_classes} must be >= 2 and n_runs={n_runs} must be >= 1"
        )
    rng = random_generator(random_state)
    y = np.concatenate([rng.permutation(n_classes) for _ in range(n_runs)])
    runs = np.repeat(np.arange(n_runs), n_classes)
    X = rng.standard_normal((len(y), n_features), dtype=np.float32)
    sizes = np.array([len(region) for region in planted])
    snr = np.expm1(2 * information * np.log(2) / sizes)
    for ratio, region in zip(snr, planted, strict=True):
        means = rng.standard_normal((n_classes, len(region)), dtype=np.float32)
        X[:, region] += np.float32(np.sqrt(ratio)) * means[y]
    truth = {"planted": planted, "information": information, "snr": snr}
    return Bunch(X=X, y=y, runs=runs, **truth)


def _check_planted(planted, n_features):
    """Return the regions as index arrays, disjoint and within the features."""
    if not isinstance(planted, Iterable) or not getattr(planted, "ndim", 1):
        raise TypeError("planted must be a list of regions, each a list of features")
    planted = tuple(check_numbers(each, "planted").astype(np.intp) for each in planted)
    for number, region in enumerate(planted):
        if region.ndim != 1 or region.size == 0:
            raise ValueError(f"planted[{number}] must be a non-empty list of features")
        if region.min() < 0 or region.max() >= n_features:
            raise ValueError(
                f"planted[{number}] reaches from feature {region.min()} to "
                f"{region.max()}, but must lie in 0..{n_features - 1}"
            )
    together = np.concatenate([np.zeros(0, np.intp), *planted])
    if len(np.unique(together)) < len(together):
        raise ValueError(
            "planted regions overlap; put every feature in one region only (spheres: "
            "a finer resolution, a smaller radius, or centers farther apart)"
        )
    return planted


DEMO_COORDINATES = ((33.0, -51.0, -18.0), (-42.0, -72.0, -6.0), (12.0, -90.0, 0.0))
"""Centers (mm, MNI152) of the three regions planted unless others are named."""


@described_by(plant_codes)
def simulate_brain(  # noqa: PLR0913
    mask_img: Any = None,
    *,
    information: Any = (3.0, 6.0, 12.0),
    coordinates: ArrayLike = DEMO_COORDINATES,
    radius: float = 8.0,
    n_classes: int = 8,
    n_runs: int = 12,
    resolution: int = 3,
    random_state: Any = 0,
) -> Any:
    """Simulate a whole-brain experiment with spheres of known information.

    Each class has a pattern drawn once from a Gaussian population; each volume is the
    response to one class in one run: pattern plus unit noise inside the planted
    spheres, only noise elsewhere. A searchlight of the same radius centered on a
    planted sphere sees exactly its voxels, so that its true information and accuracy
    are known: ``gaussian_code_information`` and ``gaussian_code_accuracy`` of the
    region's ``snr`` and number of voxels.

    Parameters
    ----------
    mask_img : Niimg-like, path-like or None, default=None
        Brain mask. If None, the MNI152 mask that ships with nilearn.
    information : sequence of float, default=(3.0, 6.0, 12.0)
        Bits that one response (volume) of each sphere carries about its stimulus.
    coordinates : array-like of shape (n_planted, 3), default=DEMO_COORDINATES
        Centers (x, y, z) of the spheres in mm, moved to the nearest voxel of the mask.
        By default (33, -51, -18), (-42, -72, -6) and (12, -90, 0).
    radius : float, default=8.0
        Radius of the spheres in mm.
    resolution : int, default=3
        Voxel size of the MNI152 mask in mm; not used with ``mask_img``.

    Returns
    -------
    brain : sklearn.utils.Bunch
        ``imgs`` (4-D, float32, one volume per sample, NaN outside the mask), classes
        ``y`` ("s00", "s01", ...), ``runs``, the fitted ``masker``, the ``coordinates``
        (n_planted, 3) and ``radius`` of the spheres in mm, and ``samples``, the same
        experiment as arrays with the truth (as from ``plant_codes``).

    Raises
    ------
    ValueError
        If spheres overlap, or the numbers of centers and of information values differ.

    Examples
    --------
    >>> from neuroextrap.datasets import simulate_brain
    >>> brain = simulate_brain(resolution=8, radius=16, n_classes=4, n_runs=2)
    >>> brain.imgs.shape
    (26, 30, 25, 8)
    >>> [len(region) for region in brain.samples.planted]
    [33, 33, 31]
    """
    information = real_array(information, "information")
    coordinates = real_array(coordinates, "coordinates")
    if coordinates.shape != (*information.shape, 3):
        raise ValueError(
            f"coordinates must hold (x, y, z) for each of the {information.size} "
            f"values of information, got shape {coordinates.shape}; pass as many"
        )
    masker = resolve_masker(mni152_mask(resolution) if mask_img is None else mask_img)
    planted, centers = _spheres(masker, coordinates, radius)
    samples = plant_codes(
        masker.n_elements_,
        planted,
        information,
        n_classes=n_classes,
        n_runs=n_runs,
        random_state=random_state,
    )
    digits = max(2, len(str(n_classes - 1)))
    class_names = np.array([f"s{number:0{digits}d}" for number in range(n_classes)])
    return Bunch(
        imgs=to_img(samples.X, masker),
        y=class_names[samples.y],
        runs=samples.runs,
        masker=masker,
        coordinates=centers,
        radius=float(radius),
        samples=samples,
    )


def _spheres(masker, coordinates, radius):
    """Return the features of each sphere and its center, moved to a voxel."""
    mask, affine = mask_lattice(masker)
    voxels = feature_coordinates(masker)
    nearest = [int(np.argmin(((voxels - c) ** 2).sum(axis=1))) for c in coordinates]
    spheres = lattice_spheres(mask, affine, radius, centers=np.array(nearest))
    return np.split(spheres.indices, spheres.indptr[1:-1]), voxels[nearest]


def simulate_visual_cortex(
    *,
    n_train: int = 400,
    n_test: int = 60,
    size: int = 16,
    resolution: int = 8,
    back: float = -80.0,
    ceiling: float = 0.5,
    random_state: Any = 0,
) -> Any:
    """Simulate a brain whose occipital pole responds to natural image patches.

    Stimuli are patches of scikit-learn's two sample photographs. Voxels behind `back`
    are complex cells: each pools log Gabor energies about one place, orientation and
    frequency, so that :class:`neuroextrap.encoding.GaborPyramid` holds the true model.
    All others contain only noise. A tenth of the noise is shared between voxels.

    Parameters
    ----------
    n_train : int, default=400
        Number of training stimuli.
    n_test : int, default=60
        Number of test stimuli.
    size : int, default=16
        Side of a patch in pixels (of photographs reduced by two).
    resolution : int, default=8
        Voxel size in mm.
    back : float, default=-80.0
        Voxels whose y coordinate (mm, MNI152) is smaller respond to the stimuli.
    ceiling : float, default=0.5
        Noise ceiling (explainable variance) of responsive voxels, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=0
        Seed of patches, receptive fields and noise.

    Returns
    -------
    cortex : sklearn.utils.Bunch
        ``stimuli`` (n_stimuli, size, size), gray levels from 0 to 1, all different;
        ``imgs`` (4-D, float32, one volume per stimulus, NaN outside the mask); the
        fitted ``masker``; ``is_train`` and ``runs`` (n_stimuli,): training stimuli, of
        five runs, come first, then test stimuli, of two; the ``responsive`` voxels
        (n_voxels,) and the ``ceiling``.

    Raises
    ------
    ValueError
        If `ceiling` is not in (0, 1), the photographs hold too few patches, or no
        voxel lies behind `back`.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity" (the experiment that this imitates).

    Examples
    --------
    >>> from neuroextrap.datasets import simulate_visual_cortex
    >>> cortex = simulate_visual_cortex(n_train=8, n_test=4, resolution=10)
    >>> cortex.stimuli.shape, int(cortex.is_train.sum())
    ((12, 16, 16), 8)
    """
    ceiling, back = check_level(ceiling, "ceiling"), check_number(back, "back")
    n_train = check_integer(n_train, "n_train", minimum=1)
    n_test = check_integer(n_test, "n_test", minimum=0)
    size = check_integer(size, "size", minimum=4)
    masker = resolve_masker(mni152_mask(resolution))
    responsive = feature_coordinates(masker)[:, 1] < back
    if not responsive.any():
        raise ValueError(f"back={back} leaves no responsive voxel behind it; raise it")
    rng = random_generator(random_state)
    n_stimuli = n_train + n_test
    stimuli = photo_patches(n_stimuli, size, random_state=rng)
    data = _noise(n_stimuli, len(responsive), rng)
    data[:, responsive] *= np.sqrt(1 - ceiling)
    cells = _complex_cells(stimuli, int(responsive.sum()), rng)
    data[:, responsive] += np.sqrt(ceiling) * cells
    train, test = np.arange(n_train), np.arange(n_test)
    return Bunch(
        stimuli=stimuli,
        imgs=to_img(data.astype(np.float32), masker),
        masker=masker,
        is_train=np.arange(n_stimuli) < n_train,
        runs=np.r_[train * 5 // n_train, 5 + test * 2 // max(n_test, 1)],
        responsive=responsive,
        ceiling=ceiling,
    )


def photo_patches(n_patches, size, *, random_state=0):
    """Return distinct patches (n_patches, size, size) of two photographs, 0 to 1."""
    from sklearn.datasets import load_sample_images

    step = max(1, size // 4)
    places: list = []
    for photo in load_sample_images().images:
        gray = photo.mean(axis=2)[:426] / 255
        gray = sum(gray[i::2, j::2] for j in (0, 1) for i in (0, 1)) / 4
        corners = product(*(range(0, n - size + 1, step) for n in gray.shape))
        places += [gray[r : r + size, c : c + size] for r, c in corners]
    if n_patches > len(places):
        raise ValueError(
            f"size={size} leaves {len(places)} patches of the photographs for "
            f"{n_patches} stimuli (n_train, n_test); ask for fewer or smaller ones"
        )
    chosen = random_generator(random_state).permutation(len(places))[:n_patches]
    return np.array([places[i] for i in chosen], dtype=np.float32)


def _complex_cells(stimuli, n_voxels, rng):
    """Noise-free responses of mean zero and variance one over the stimuli."""
    pyramid = GaborPyramid(max_grid=None, luminance=False).fit(stimuli)
    features = pyramid.transform(stimuli).astype(float)
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    positions, widths = pyramid.feature_positions_, pyramid.feature_widths_
    frequencies, angles = pyramid.feature_frequencies_, pyramid.feature_orientations_
    responses = np.empty((len(stimuli), n_voxels))
    for v, cell in enumerate(rng.integers(features.shape[1], size=n_voxels)):
        near = ((positions - positions[cell]) ** 2).sum(axis=1)
        octave = np.log2(frequencies / frequencies[cell])
        turn = np.radians(angles - angles[cell])
        near = near / (2 * widths[cell] ** 2)
        pool = np.exp(-near - octave**2 + 2 * (np.cos(2 * turn) - 1))
        responses[:, v] = features @ np.where(pool > 0.05, pool, 0)
    return (responses - responses.mean(axis=0)) / responses.std(axis=0)


def _noise(n_stimuli, n_voxels, rng):
    """Unit-variance noise that voxels share to a tenth."""
    private = rng.normal(size=(n_stimuli, n_voxels))
    sources = rng.normal(size=(n_stimuli, 5))
    common = sources @ rng.choice([-1, 1], size=(5, n_voxels)) / np.sqrt(5)
    return np.sqrt(0.9) * private + np.sqrt(0.1) * common
