"""Readers meet any bytes: a result, or one clear refusal, never another error."""

import gzip
import json

import nibabel
import numpy as np
import pytest

from neuroextrap.encoding import read_features
from neuroextrap.images import resolve_masker
from neuroextrap.maps import read_maps
from tests.images.seam import (
    NamedImage,
    SampleOptions,
    find_analysis,
    finish_interrupted,
    load_array,
    open_image,
    read_about_null,
    read_configuration,
    read_events,
    read_image,
    read_table,
    repetition_times,
)

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
huge = st.just(10**400)
deep = st.just(b"[" * 100_000)
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


def assert_result_or_refusal(read):
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
    assert_result_or_refusal(lambda: read_events(path))


@anything
@hypothesis.given(content=texts)
def test_stimulus_tables(content, tmp_path):
    path = tmp_path / "stimuli.tsv"
    path.write_bytes(content)
    read = assert_result_or_refusal(lambda: read_table(path))
    if read is not None:
        assert_result_or_refusal(lambda: read_features(*read))


@anything
@hypothesis.given(content=st.one_of(texts, deep, documents))
@pytest.mark.parametrize("name", ["analysis.json", "maps.json"])
def test_descriptions(name, content, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir(exist_ok=True)
    (folder / "results.npz").write_bytes(b"")
    write_document(folder / name, content)
    read = {"analysis.json": find_analysis, "maps.json": read_maps}[name]
    assert_result_or_refusal(lambda: read(folder))


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
    opened = assert_result_or_refusal(lambda: open_image(path, "mask"))
    # a header may ask for more memory than there is; only small ones are read
    if opened is not None and np.prod(opened.img.shape, dtype=float) < 1e6:
        assert_result_or_refusal(lambda: read_image(opened))
        assert_result_or_refusal(lambda: resolve_masker(path))


@anything
@hypothesis.given(content=st.binary(max_size=200), magic=st.booleans())
def test_arrays(content, magic, tmp_path):
    path = tmp_path / "array.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" * magic + content)
    assert_result_or_refusal(lambda: load_array(path))


@anything
@hypothesis.given(
    content=st.one_of(
        texts,
        deep,
        st.fixed_dictionaries({"RepetitionTime": leaves | huge | st.lists(leaves)}),
        documents,
    )
)
def test_sidecars_of_images(content, tmp_path):
    img = nibabel.Nifti1Image(np.ones((2, 2, 2, 3), "u1"), np.diag([3.0, 3, 3, 1]))
    img.header.set_xyzt_units("mm")  # no unit of time: the sidecar must tell
    path = tmp_path / "bold.nii"
    img.to_filename(path)
    write_document(tmp_path / "bold.json", content)
    named = NamedImage("imgs", nibabel.load(path))
    times = assert_result_or_refusal(lambda: repetition_times([named], SampleOptions()))
    assert times is None or np.isfinite(times).all()
    assert times is None or min(times) > 0


@anything
@hypothesis.given(content=st.one_of(texts, deep, documents))
def test_what_stands_beside_permuted_maps(content, tmp_path):
    write_document(tmp_path / "null.npy.json", content)
    read = assert_result_or_refusal(
        lambda: read_about_null(tmp_path / "null.npy", np.ones((2, 3)))
    )
    assert read is None  # nothing of this is their fingerprint


names = st.sampled_from(["a", "b", "..", ".", "../a", "/etc/hosts", "c/d", ""])


@anything
@hypothesis.given(
    content=st.one_of(
        texts,
        deep,
        documents,
        st.fixed_dictionaries(
            {"move": st.dictionaries(names, names), "remove": st.lists(names)}
        ),
    )
)
@pytest.mark.filterwarnings("ignore:.*completed the results of a run")
def test_lists_of_what_an_interrupted_run_moves(content, tmp_path):
    folder = tmp_path / "out"
    staging = folder / ".neuroextrap-partial-x"
    staging.mkdir(parents=True, exist_ok=True)
    for path in (tmp_path / "a", folder / "b", staging / "a"):
        path.write_text(path.parent.name)
    write_document(staging / "commit.json", content)
    assert_result_or_refusal(lambda: finish_interrupted(folder))
    assert (tmp_path / "a").read_text() == tmp_path.name  # others' files stay
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "out"]


@anything
@hypothesis.given(content=texts)
def test_configurations(content, tmp_path):
    path = tmp_path / "options.toml"
    path.write_bytes(content)
    assert_result_or_refusal(lambda: read_configuration(path))


def write_document(path, content):
    """Write bytes, or values as JSON."""
    if not isinstance(content, bytes):
        content = json.dumps(content).encode()
    path.write_bytes(content)
