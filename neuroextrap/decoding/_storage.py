"""Fitted searchlights as folders of maps, tables and arrays."""

import json
from pathlib import Path

import numpy as np

from neuroextrap import images, maps


def write_fitted(fitted, path, *, overwrite):
    """Write maps with sidecars, the table, and the arrays to read them back.

    Parameters
    ----------
    fitted : IdentificationSearchLight
    path : path-like
    overwrite : bool
    """
    raise ValueError(f"{fitted} {path} {overwrite} {images} {json} {Path} {maps} {np}")


def read_fitted(empty, path):
    """Fill an estimator from what :func:`write_fitted` wrote.

    Parameters
    ----------
    empty : IdentificationSearchLight
    path : path-like

    Returns
    -------
    IdentificationSearchLight
    """
    raise ValueError(f"{empty} {path}")
