"""Files with random bytes: a result, or one line that names the file and a remedy.

Seeds are fixed. Nothing here asks for one particular message; what is asked is that no
error of another library, no hang and no traceback comes through.
"""

import functools
import io

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from neuroextrap.images import load_betas
from tests.bad_calls.calls import refusal
from tests.bad_calls.seam import (
    Photographs,
    open_image,
    read_configuration,
    read_events,
    read_image,
)


def spoiled(content, rng):
    """Return bytes with some of them changed, or cut, or both."""
    content = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(0, 12)):
        content[place] = rng.integers(256)
    cut = rng.integers(len(content) + 1) if rng.random() < 0.5 else len(content)
    return bytes(content[:cut])


TOML = b"""\
radius = 4.0
samples = "blocks"
confounds = ["motion", "wm_csf"]
[pipeline.small]
n_permutations = 19
[[runs]]
bold = "sub-01_bold.nii.gz"
"""
EVENTS = b"""\
onset\tduration\ttrial_type\trun
0.0\t2.5\tface\t1
4.0\t2.5\thouse\t1
8.0\t1.5\tface\t2
"""


FEAT = b"""\
set fmri(level) 1
set fmri(evs_orig) 1
set fmri(evs_real) 1
set fmri(evtitle1) "face"
set fmri(convolve1) 3
set fmri(deriv_yn1) 0
set fmri(ncon_real) 1
set fmri(con_real1.1) 1
"""


def png(size=(9, 7)):
    """Return a small picture as bytes."""
    image = pytest.importorskip("PIL.Image")
    file, values = io.BytesIO(), np.random.default_rng(3).integers(256, size=size)
    image.fromarray(values.astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def nifti():
    """Return a small image as bytes."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return nibabel.Nifti1Image(values, np.diag([3.0, 3, 3, 1])).to_bytes()


def spm():
    """Return an SPM.mat as bytes."""
    names = ["Sn(1) face*bf(1)", "Sn(1) R1", "Sn(1) constant"]
    file = io.BytesIO()
    savemat(file, {"SPM": {"xX": {"name": np.array(names, dtype=object)}}})
    return file.getvalue()


def hdf5():
    """Return a result of GLMsingle as bytes."""
    file = io.BytesIO()
    with pytest.importorskip("h5py").File(file, "w") as written:
        written["betasmd"] = np.zeros((2, 2, 2, 3), "float32")
    return file.getvalue()


def array():
    """Return an array of betas as bytes."""
    file = io.BytesIO()
    np.save(file, np.zeros((2, 2, 2, 3), "float32"))
    return file.getvalue()


def betas(path):
    """Read the betas of a model; images that a changed model names are not there."""
    ones = nibabel.Nifti1Image(np.ones((2, 2, 2), "uint8"), np.eye(4))
    for name in ("beta_0001.nii", "mask.nii", "pe1.nii", "stats/pe1.nii"):
        (path.parent / name).parent.mkdir(exist_ok=True)
        nibabel.save(ones, path.parent / name)
    table = pd.DataFrame({"trial_type": ["a", "b", "c"], "run": 1})
    if path.suffix in (".mat", ".fsf"):
        table = None
    load_betas(path.parent if path.suffix == ".fsf" else path, table, mask=ones)


def photographs(path):
    """Read a picture as stimuli are."""
    return Photographs([path])[:]


def image(path):
    """Read an image with its data."""
    return read_image(open_image(path, "imgs"))


FILES = {
    "a.toml": (lambda: TOML, read_configuration, 300),
    "a.tsv": (lambda: EVENTS, lambda path: read_events(str(path)), 300),
    "a.png": (png, photographs, 300),
    "a.nii": (nifti, image, 300),
    "SPM.mat": (spm, betas, 300),
    "a.hdf5": (hdf5, betas, 300),
    "a.npy": (array, betas, 300),
    "design.fsf": (lambda: FEAT, betas, 300),
}


@pytest.mark.parametrize("name", FILES)
def test_files_with_wrong_bytes(name, tmp_path):
    make, read, n_times = FILES[name]
    content, path, wrong = make(), tmp_path / name, []
    path.write_bytes(content)
    read(path)
    changed = [spoiled(content, np.random.default_rng(seed)) for seed in range(n_times)]
    for seed, other in enumerate(changed):
        path.write_bytes(other)
        told = refusal(functools.partial(read, path), str(path), str(path.parent))
        wrong += [(seed, told)] if told else []
    assert not wrong


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{b=" * 5_000])
def test_deep_toml(text, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"deep\.toml is no TOML .*correct it"):
        read_configuration(path)


def test_pictures_that_claim_too_many_pixels(tmp_path):
    """A PNG of few bytes whose header says 100,000 x 100,000."""
    import zlib

    content = bytearray(png())
    content[16:24] = (100_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    path = tmp_path / "bomb.png"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bomb\.png has too many pixels .*smaller"):
        photographs(path)
