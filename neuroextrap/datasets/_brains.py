"""Simulated brains: planted regions of known information, as images."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.datasets._samples import PlantedSamples, plant_codes

DEMO_COORDINATES = ((33.0, -51.0, -18.0), (-42.0, -72.0, -6.0), (12.0, -90.0, 0.0))
"""Centers (mm, MNI152) of the three regions planted unless others are named."""


@dataclass(frozen=True)
class SimulatedBrain:
    """Images of a simulated experiment and what was planted in them.

    Parameters
    ----------
    imgs : nibabel.Nifti1Image
        4-D, float32, one volume a sample, NaN outside the mask.
    y : ndarray of str of shape (n_samples,)
        Class of each volume, "s00", "s01", ...
    runs : ndarray of int of shape (n_samples,)
        Run of each volume.
    masker : nilearn.maskers.NiftiMasker
        Fitted on the mask.
    coordinates : ndarray of shape (n_planted, 3)
        Centers of the planted spheres (mm), snapped to voxel centers.
    radius : float
        Radius of the planted spheres (mm).
    samples : PlantedSamples
        The same experiment as arrays, with the planted features, information and SNR.

    Examples
    --------
    >>> from neuroextrap.datasets import simulate_brain
    >>> brain = simulate_brain(resolution=8, radius=16, n_classes=2, n_runs=2)
    >>> brain.y
    array(['s00', 's01', 's00', 's01'], dtype='<U3')
    """

    imgs: Any
    y: np.ndarray
    runs: np.ndarray
    masker: Any
    coordinates: np.ndarray
    radius: float
    samples: PlantedSamples


def simulate_brain(  # noqa: PLR0913
    mask_img=None,
    *,
    information=(3.0, 6.0, 12.0),
    coordinates=DEMO_COORDINATES,
    radius=8.0,
    n_classes=8,
    n_runs=12,
    resolution=3,
    random_state=0,
):
    """Simulate a whole-brain experiment with spheres of known information.

    Each class has a pattern drawn once from a Gaussian population; each volume is the
    response to one class in one run: pattern plus unit noise inside the planted
    spheres, noise alone elsewhere. A searchlight of the same radius centered on a
    planted sphere sees exactly its voxels, so that what it should find is known: see
    ``gaussian_code_information`` and ``gaussian_code_accuracy`` with the region's
    ``snr`` and number of voxels.

    Parameters
    ----------
    mask_img : Niimg, path or None, default=None
        Brain mask; None takes the MNI152 mask that ships with nilearn.
    information : sequence of float, default=(3.0, 6.0, 12.0)
        Bits that one response (volume) of each sphere carries about its stimulus.
    coordinates : sequence of (x, y, z)
        Centers (mm), one a sphere; moved to the nearest voxel of the mask.
    radius : float, default=8.0
        Radius of the spheres (mm).
    n_classes : int, default=8
        Number of classes (categories, stimuli).
    n_runs : int, default=12
        Number of runs; each shows every class once.
    resolution : int, default=3
        Voxel size (mm) of the MNI152 mask; not used with ``mask_img``.
    random_state : None, int or numpy.random.Generator, default=0
        Source of randomness.

    Returns
    -------
    brain : SimulatedBrain
        Images, classes, runs, and the truth.

    Raises
    ------
    ValueError
        If spheres overlap, or there is not one center per information.

    References
    ----------
    Cover & Thomas 2006, "Elements of Information Theory", section 9.4
    (parallel Gaussian channels).

    Examples
    --------
    >>> from neuroextrap.datasets import simulate_brain
    >>> brain = simulate_brain(resolution=8, radius=16, n_classes=4, n_runs=2)
    >>> brain.imgs.shape
    (26, 30, 25, 8)
    >>> [len(region) for region in brain.samples.planted]
    [33, 33, 31]
    """
    from neuroextrap.images import mni152_mask, resolve_masker, to_img

    coordinates = np.asarray(coordinates, dtype=float)
    if coordinates.shape != (len(information), 3):
        raise ValueError(
            f"coordinates must hold (x, y, z) for each of the {len(information)} "
            f"numbers of information, got shape {coordinates.shape}"
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
    names = np.array([f"s{number:0{digits}d}" for number in range(n_classes)])
    return SimulatedBrain(
        imgs=to_img(samples.X, masker),
        y=names[samples.y],
        runs=samples.runs,
        masker=masker,
        coordinates=centers,
        radius=float(radius),
        samples=samples,
    )


def _spheres(masker, coordinates, radius):
    """Return the features of each sphere and the centers they really have."""
    from neuroextrap.images import feature_coordinates
    from neuroextrap.images._geometry import mask_lattice
    from neuroextrap.regions import lattice_spheres

    mask, affine = mask_lattice(masker)
    places = feature_coordinates(masker)
    nearest = [int(np.argmin(((places - c) ** 2).sum(axis=1))) for c in coordinates]
    spheres = lattice_spheres(mask, affine, radius, centers=np.array(nearest))
    bounds = zip(spheres.indptr[:-1], spheres.indptr[1:], strict=True)
    return [spheres.indices[a:b] for a, b in bounds], places[nearest]
