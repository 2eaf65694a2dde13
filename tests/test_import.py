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


def test_compiling_works_where_no_folder_can_be_written(tmp_path, monkeypatch):
    """What was compiled before is copied to a folder of its own."""
    import os

    import neuroextrap

    before = tmp_path / "compiled"
    before.mkdir()
    (before / "loop.nbi").write_text("compiled")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(before))
    neuroextrap._allow_compiling()
    assert os.environ["NUMBA_CACHE_DIR"] == str(before)
    monkeypatch.setattr(os, "access", lambda *_: False)
    neuroextrap._allow_compiling()
    folder = os.environ["NUMBA_CACHE_DIR"]
    assert folder != str(before)
    assert os.listdir(folder) == ["loop.nbi"]
