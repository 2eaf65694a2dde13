"""No figure is left open."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")
