"""Photographs from files, as arrays of pixels."""

import os

import numpy as np


def read_photographs(paths, *, max_size=128):
    """Read image files (.jpg, .png, ...) into one array of pixels.

    Images are reduced, by averaging, so that no side exceeds `max_size` pixels. They
    are gray, float32 (n_images, height, width) of 0 to 255, where all files are; with
    red, green and blue on a fourth axis where one is in color. A transparent background
    is taken as it is stored. A file that is listed several times is read once.
    ModuleNotFoundError without pillow; ValueError where a file is no image, or images
    differ in size.
    """
    listed = [os.fspath(path) for path in paths]
    pixels = {path: _read(path, max_size) for path in dict.fromkeys(listed)}
    color = any(values.ndim == 3 for values in pixels.values())
    first = listed[0]
    for path, values in pixels.items():
        if values.shape[:2] != pixels[first].shape[:2]:
            raise ValueError(
                f"{path} has {_size(values)} pixels, {first} {_size(pixels[first])} "
                "(height x width, after reduction); crop images to one shape"
            )
        if color and values.ndim == 2:
            pixels[path] = np.repeat(values[..., np.newaxis], 3, axis=2)
    return np.stack([pixels[path] for path in listed])


def photograph_files(folder, names):
    """Return the file of every name in a folder: a file's name, without suffix or not.

    FileNotFoundError names the first that is missing, ValueError one that two files
    answer to.
    """
    files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    by_name = {name: [name] for name in files}
    for name in files:
        stem = os.path.splitext(name)[0]
        if stem not in files:
            by_name.setdefault(stem, []).append(name)
    for name in names:
        found = by_name.get(name, [])
        if not found:
            raise FileNotFoundError(
                f"{folder} holds no image of stimulus {name!r}; name the file like the "
                "stimulus, or give its name in a column stim_file"
            )
        if len(found) > 1:
            raise ValueError(
                f"{folder} holds {' and '.join(found)}: which is stimulus {name!r}; "
                "give the name of the file in a column stim_file"
            )
    return [os.path.join(folder, by_name[name][0]) for name in names]


def _read(path, max_size):
    """Read one file as float32, (height, width) or (height, width, 3)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "image files are read by pillow, which is not installed; install it with "
            "matplotlib: pip install 'neuroextrap[plotting]'"
        ) from error
    try:
        with Image.open(path) as image:
            is_gray = image.mode in ("1", "L", "LA", "I;16", "I", "F")
            image = image.convert("L" if is_gray else "RGB")
            longest = max(image.size)
            if longest > max_size:
                size = [max(1, round(side * max_size / longest)) for side in image.size]
                image = image.resize(size, Image.Resampling.BOX)
            return np.asarray(image, dtype=np.float32)
    except UnidentifiedImageError as error:
        raise ValueError(
            f"{path} is no image that can be read; give .png or .jpg files"
        ) from error


def _size(values):
    """Height and width as text."""
    return f"{values.shape[0]} x {values.shape[1]}"
