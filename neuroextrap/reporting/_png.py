"""Smaller files of the same pictures."""

import io

_OPAQUE = (255, 255)


def few_colors(data):
    """Return a picture (bytes of a PNG) with a table of at most 256 colors."""
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    if image.getextrema()[-1] == _OPAQUE:
        image = image.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    else:
        image = image.quantize(256, Image.Quantize.FASTOCTREE)
    return _written(image)


def gray_png(data):
    """Return an opaque gray picture (bytes of a PNG) with one byte for every pixel.

    Pixels stay as they are; pictures that are not gray are returned unchanged.
    """
    from PIL import Image, ImageChops

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    red, green, blue, alpha = image.split()
    differs = ImageChops.lighter(
        ImageChops.difference(red, green), ImageChops.difference(red, blue)
    )
    if alpha.getextrema() != _OPAQUE or differs.getextrema() != (0, 0):
        return data
    return _written(red)


def _written(image):
    """Return a picture as bytes of a PNG."""
    target = io.BytesIO()
    image.save(target, format="png", optimize=True)
    return target.getvalue()
