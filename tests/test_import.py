"""Importing the package is cheap and brings nothing heavy along."""

import ast
import subprocess
import sys
from pathlib import Path

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


def test_private_names_come_from_the_seam_of_a_room():
    """What tests import is public, or named in tests/ROOM/seam.py."""
    found = []
    files = [*Path(__file__).parent.rglob("*.py")]
    for path in (file for file in files if file.name != "seam.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            names = [*node.module.split("."), *(each.name for each in node.names)]
            private = [n for n in names if n[0] == "_" and n != "__version__"]
            if private and names[0] == "neuroextrap":
                found.append((path.name, *private))
    assert len(files) > 100
    assert found == []


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
