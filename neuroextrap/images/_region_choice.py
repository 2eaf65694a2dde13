"""The regions of an analysis, and which features carry their values in an image."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse

from neuroextrap.images._atlas import atlas_labels
from neuroextrap.images._caching import memory_of
from neuroextrap.images._loading import (
    feature_coordinates,
    feature_values,
    is_surface_masker,
    mask_lattice,
    surface_mesh,
)
from neuroextrap.regions._regions import (
    check_centers,
    check_regions,
    label_regions,
    lattice_spheres,
    nearest_features,
    strided_centers,
    surface_discs,
)


@dataclass(frozen=True)
class RegionChoice:
    """Regions (n_regions, n_features) and the features that carry their values."""

    regions: scipy.sparse.csr_array
    centers: np.ndarray | None = None
    owner: np.ndarray | None = None  # (n_features,) regions, -1 for none
    names: list | None = None

    @property
    def n_regions(self):
        """Number of regions."""
        return self.regions.shape[0]

    @property
    def has_place(self):
        """Whether every region's value belongs somewhere in an image."""
        return self.centers is not None or self.owner is not None

    def places(self, masker):
        """Return the centers in mm, (n_regions, 3); None without centers or masker."""
        if masker is None or self.centers is None:
            return None
        return feature_coordinates(masker)[self.centers]

    def to_features(self, values):
        """Spread values (..., n_regions) over (..., n_features), NaN elsewhere."""
        values = np.asarray(values, dtype=float)
        out = np.full((*values.shape[:-1], self.regions.shape[1]), np.nan)
        if self.centers is not None:
            out[..., self.centers] = values
        elif self.owner is not None:
            owned = self.owner >= 0
            out[..., owned] = values[..., self.owner[owned]]
        else:
            raise ValueError(
                "regions given as a matrix with another number of rows than features "
                "have no place in an image; read region_scores_ or table_ instead"
            )
        return out

    def regions_of(self, inside):
        """Return which regions lie in a set of features, by center or most features."""
        if self.centers is not None:
            return inside[self.centers]
        if self.owner is None:
            raise ValueError(
                "these regions have no place in an image; give indices instead"
            )
        owner, n_regions = self.owner[self.owner >= 0], self.n_regions
        weights = inside[self.owner >= 0]
        n_inside = np.bincount(owner, weights=weights, minlength=n_regions)
        return 2 * n_inside > np.bincount(owner, minlength=n_regions)

    def regions_in(self, inside):
        """Return the same; ValueError if no region lies in the set."""
        chosen = self.regions_of(inside)
        if not chosen.any():
            raise ValueError(
                "the mask or label holds no region; check that it overlaps the mask of "
                "the analysis"
            )
        return chosen


def choose_regions(  # noqa: PLR0913
    masker,
    n_features,
    *,
    radius=8.0,
    n_nearest=None,
    labels_img=None,
    regions=None,
    process_mask_img=None,
    stride=1,
    names=None,
):
    """Return the RegionChoice of an analysis: a matrix, an atlas, or around centers."""
    if regions is not None:
        if labels_img is not None:
            raise ValueError("labels_img and regions were both given; give one of them")
        members = check_regions(regions, n_features)
        centers = np.arange(n_features) if members.shape[0] == n_features else None
        return RegionChoice(members, centers=centers)
    if masker is None:
        all_features = scipy.sparse.csr_array(np.ones((1, n_features), dtype=bool))
        owner = np.zeros(n_features, dtype=int)
        return RegionChoice(all_features, owner=owner, names=["all features"])
    if labels_img is not None:
        return _atlas_choice(labels_img, masker, names)
    centers = _choose_centers(masker, process_mask_img, stride)
    return RegionChoice(
        _neighborhoods(masker, radius, n_nearest, centers),
        centers=np.arange(n_features) if centers is None else centers,
    )


def _atlas_choice(labels_img, masker, names):
    """Return the regions of an atlas."""
    labels, table = atlas_labels(labels_img, masker, names=names)
    members, values = label_regions(labels)
    owner = np.where(labels == 0, -1, np.searchsorted(values, labels))
    names = [str(table[value]) for value in values]
    return RegionChoice(members, owner=owner, names=names)


def _choose_centers(masker, process_mask_img, stride):
    """Return the center features, or None for all."""
    centers = None
    if stride != 1:
        mask, _ = mask_lattice(masker)
        centers = strided_centers(mask, stride)
    if process_mask_img is not None:
        allowed = center_features(process_mask_img, masker)
        centers = allowed if centers is None else np.intersect1d(centers, allowed)
    if centers is not None and len(centers) == 0:
        raise ValueError(
            "no center is left after process_mask_img and stride; give a larger "
            "process_mask_img or a smaller stride"
        )
    return centers


def center_features(process_mask_img, masker):
    """Return the ascending indices of the features inside a second mask."""
    values = feature_values(process_mask_img, masker, "process_mask_img")
    if np.isnan(values).any():
        raise ValueError("process_mask_img must not hold NaN; use 0 outside the mask")
    centers = np.flatnonzero(values)
    if not len(centers):
        raise ValueError(
            "process_mask_img selects no voxel of the mask; check that the two overlap"
        )
    return centers


def _neighborhoods(masker, radius, n_nearest, centers):
    """Return spheres, nearest voxels or surface discs around centers."""
    if is_surface_masker(masker):
        if n_nearest is not None:
            raise ValueError(
                "n_nearest is for volumes; on a surface give radius (mm along the mesh)"
            )
        return surface_regions(masker, radius, centers=centers)
    if n_nearest is not None:
        coordinates = feature_coordinates(masker)
        return nearest_features(coordinates, n_nearest, centers=centers)
    mask, affine = mask_lattice(masker)
    return lattice_spheres(mask, affine, radius, centers=centers)


def surface_regions(masker: Any, radius: float, *, centers: Any = None) -> Any:
    """Return discs along the whole mesh, (n_regions, n_features), radius in mm."""
    location, discs = memory_of(masker).location, []
    for side in surface_mesh(masker):
        mesh, vertices = (side.coordinates, side.faces), side.vertices
        if not len(vertices):  # the mask may lie in one hemisphere
            continue
        if location is None:
            own = surface_discs(*mesh, radius, centers=vertices)
        else:  # of all vertices, for every mask
            memory = joblib.Memory(Path(location), verbose=0)  # a str is put elsewhere
            own = memory.cache(surface_discs)(*mesh, radius)[vertices]
        whole = len(vertices) == len(side.coordinates)
        discs.append(own if whole else own[:, vertices])
    blocks = scipy.sparse.block_diag(discs, format="csr")
    regions = check_regions(scipy.sparse.csr_array(blocks), masker.n_elements_)
    if centers is None:
        return regions
    return regions[check_centers(centers, masker.n_elements_)]
