"""Fingerprints of images: values and space, not file formats."""

import numpy as np

from neuroextrap.images._opening import is_surface_image
from neuroextrap.margins.running._described import array_hash


def is_image(value):
    """Return whether a value is a volume or a surface image in memory."""
    volume = hasattr(value, "dataobj") and hasattr(value, "affine")
    return volume or is_surface_image(value)


def image_hash(img):
    """Fingerprint the values and the space of an image: a dict of hashes by name."""
    if not is_surface_image(img):
        return {
            "values": array_hash(np.asanyarray(img.dataobj)),
            "affine": array_hash(np.asarray(img.affine, dtype=float)),
        }
    hashes = {}
    for side, values in img.data.parts.items():
        mesh = img.mesh.parts[side]
        hashes[f"{side} values"] = array_hash(np.asarray(values))
        hashes[f"{side} coordinates"] = array_hash(np.asarray(mesh.coordinates))
        hashes[f"{side} faces"] = array_hash(np.asarray(mesh.faces))
    return hashes


def grid_hash(masker):
    """Fingerprint what a masker's features are: its mask and space, None without."""
    return None if masker is None else image_hash(masker.mask_img_)
