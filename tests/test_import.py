"""Importing the package is cheap and brings nothing heavy along."""

import subprocess
import sys

import neuroextrap


def test_subpackages_are_loaded_when_asked_for():
    code = (
        "import sys, neuroextrap; "
        "heavy = {'numpy', 'scipy', 'sklearn', 'nilearn', 'pandas', 'matplotlib', "
        "'numba'}; "
        "assert not heavy & set(sys.modules); "
        "neuroextrap.stats; assert 'numpy' in sys.modules; "
        "assert 'nilearn' not in sys.modules; "
        "import neuroextrap.decoding; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version_is_that_of_the_installed_package():
    assert neuroextrap.__version__[0].isdigit()
    assert "decoding" in dir(neuroextrap)
