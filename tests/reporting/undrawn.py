"""Pages without pictures, for tests that read words, tables and data."""

import contextlib
import functools
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from tests.reporting.seam import _maps_section, _pictures, _viewer

_FRAME = "<body><script>x = brainsprite()</script></body>"
_outline = functools.cache(_pictures.glass_outline.__wrapped__)


def _closed(figure, kind="svg"):
    plt.close(figure)
    return f"data:image/{kind};base64,"


@contextlib.contextmanager
def pages_undrawn():
    """Make the figures of pages, but do not draw them; leave nilearn's viewer empty."""
    frame = SimpleNamespace(html=_FRAME, width=900, height=300)
    with pytest.MonkeyPatch.context() as patch:
        for file in (_pictures, _maps_section):
            patch.setattr(file, "data_uri", _closed)
        patch.setattr(_viewer, "glass_outline", _outline)
        patch.setattr("nilearn.plotting.view_img", lambda *args, **options: frame)
        yield
