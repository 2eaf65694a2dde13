"""A simulated visual cortex that looks at patches of two photographs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from neuroextrap.models._gabor import GaborPyramid
from neuroextrap.stats._validation import (
    check_integer,
    check_level,
    check_number,
    random_generator,
)


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
    from neuroextrap.images import resolve_masker, to_img
    from neuroextrap.images._loading import feature_coordinates
    from neuroextrap.images._maskers import mni152_mask

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
