"""Readers meet any bytes: a result, or one clear refusal, never another error."""

import gzip
import json

import nibabel
import numpy as np
import pytest

from neuroextrap.analysis._analysis_files import find_analysis
from neuroextrap.cli._stimulus_tables import read_features, read_table
from neuroextrap.images import resolve_masker
from neuroextrap.images._arrays import load_array
from neuroextrap.images._events import read_events
from neuroextrap.images._opening import open_image, read_image
from neuroextrap.maps import read_maps

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

REFUSALS = (ValueError, TypeError, OSError)
anything = hypothesis.settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
cells = st.sampled_from(
    ["onset", "duration", "trial_type", "run", "set", "train", "test", "stimulus", "f",
     "0", "1.5", "-1", "nan", "n/a", "inf", "1e999", "", " ", '"', "é", "\x00", "a\rb"]
)  # fmt: skip
tables = st.lists(st.lists(cells, max_size=6), max_size=6).map(
    lambda rows: "\n".join("\t".join(row) for row in rows).encode()
)
texts = st.one_of(st.binary(max_size=200), tables)
leaves = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers()
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "parameters", "classes", "maps", "name", "file"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def result_or_refusal(read):
    """Call a reader; its refusals must say something, on one line."""
    try:
        return read()
    except REFUSALS as error:
        refusal = str(error)
    assert refusal.strip()
    assert "allow_pickle" not in refusal
    return None


@anything
@hypothesis.given(content=texts)
def test_events(content, tmp_path):
    path = tmp_path / "events.tsv"
    path.write_bytes(content)
    result_or_refusal(lambda: read_events(path))


@anything
@hypothesis.given(content=texts)
def test_stimulus_tables(content, tmp_path):
    path = tmp_path / "stimuli.tsv"
    path.write_bytes(content)
    read = result_or_refusal(lambda: read_table(path))
    if read is not None:
        result_or_refusal(lambda: read_features(*read))


@anything
@hypothesis.given(content=st.one_of(texts, documents))
@pytest.mark.parametrize("name", ["analysis.json", "maps.json"])
def test_descriptions(name, content, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir(exist_ok=True)
    (folder / "results.npz").write_bytes(b"")
    if not isinstance(content, bytes):
        content = json.dumps(content).encode()
    (folder / name).write_bytes(content)
    read = {"analysis.json": find_analysis, "maps.json": read_maps}[name]
    result_or_refusal(lambda: read(folder))


def small_image():
    """Return the bytes of a small image."""
    img = nibabel.Nifti1Image(np.ones((2, 2, 2), "u1"), np.diag([3.0, 3, 3, 1]))
    return img.to_bytes()


@anything
@hypothesis.given(
    edits=st.lists(
        st.tuples(st.integers(0, 347), st.binary(min_size=1, max_size=4)),
        min_size=1,
        max_size=4,
    ),
    length=st.integers(0, 360),
    zipped=st.booleans(),
)
@pytest.mark.filterwarnings("ignore")
def test_headers_of_images(edits, length, zipped, tmp_path):
    content = bytearray(small_image())
    for place, new in edits:
        content[place : place + len(new)] = new
    content = bytes(content[:length] if length < 340 else content)
    path = tmp_path / ("mask.nii.gz" if zipped else "mask.nii")
    path.write_bytes(gzip.compress(content) if zipped else content)
    opened = result_or_refusal(lambda: open_image(path, "mask"))
    # a header may ask for more memory than there is; only small ones are read
    if opened is not None and np.prod(opened.img.shape, dtype=float) < 1e6:
        result_or_refusal(lambda: read_image(opened))
        result_or_refusal(lambda: resolve_masker(path))


@anything
@hypothesis.given(content=st.binary(max_size=200), magic=st.booleans())
def test_arrays(content, magic, tmp_path):
    path = tmp_path / "array.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" * magic + content)
    result_or_refusal(lambda: load_array(path))
