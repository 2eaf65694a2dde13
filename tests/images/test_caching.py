"""What was read is not read again; what has changed is."""

import os
import stat

import joblib
import nibabel
import numpy as np
import pytest
from nilearn.maskers import NiftiMasker
from sklearn.base import clone

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from neuroextrap.images import resolve_masker
from tests.images.seam import (
    _loading,
    list_images,
    load_opened,
    load_samples,
    read_scans,
)


@pytest.fixture
def reads(monkeypatch):
    """Names of the images whose data were read."""
    found = []

    def counted(named):
        found.append(named.name)
        return read(named)

    read = _loading.read_image
    monkeypatch.setattr(_loading, "read_image", counted)
    # the picture behind the maps is not cached, and not of interest here
    monkeypatch.setattr("neuroextrap.analysis._samples.mean_gray_levels", no_picture)
    return found


def no_picture(named, mask_img):
    return None


@pytest.fixture
def paths(volume, bold_data, tmp_path):
    """Two runs on disk; the first has a hole."""
    bold_data[1, 1, 1, 2] = np.nan
    for run in (0, 1):
        nibabel.save(volume(bold_data + run), tmp_path / f"run-{run}.nii.gz")
    return [str(tmp_path / f"run-{run}.nii.gz") for run in (0, 1)]


@pytest.fixture
def mask_img(volume, mask_data):
    return volume(mask_data.astype("uint8"))


def test_a_second_reading_reads_no_file_and_is_equal(paths, mask_img, tmp_path, reads):
    plain = load_samples(paths, resolve_masker(mask_img))
    assert np.isnan(plain).any()
    del reads[:]
    for n_read in (2, 2):
        masker = resolve_masker(mask_img, paths, memory=tmp_path / "cache")
        np.testing.assert_array_equal(load_samples(paths, masker), plain)
        assert len(reads) == n_read


def test_a_computed_mask_is_remembered_too(paths, tmp_path, reads):
    plain = resolve_masker(None, paths).mask_img_
    del reads[:]
    for n_read in (2, 2):
        found = resolve_masker(None, paths, memory=str(tmp_path / "cache")).mask_img_
        np.testing.assert_array_equal(found.get_fdata(), plain.get_fdata())
        assert len(reads) == n_read


def test_what_has_changed_is_read_anew(paths, mask_img, volume, tmp_path, reads):
    memory = joblib.Memory(tmp_path / "cache", verbose=0)

    def load(mask=mask_img, **cleaning):
        before = len(reads)
        masker = resolve_masker(mask, paths, memory=memory)
        data = load_opened(list_images(paths), masker, **cleaning)
        return data, len(reads) - before

    first, n_read = load()
    assert n_read == 2
    assert load()[1] == 0
    smaller = mask_img.get_fdata()
    smaller[np.unravel_index(smaller.argmax(), smaller.shape)] = 0
    assert load(volume(smaller.astype("uint8")))[1] == 2
    assert load(NiftiMasker(mask_img, smoothing_fwhm=4, standardize=None))[1] == 2
    for power in (1, 2):
        confounds = [np.arange(8.0)[:, np.newaxis] ** power, None]
        assert load(confounds=confounds)[1] == 2
    nibabel.save(volume(np.zeros((4, 5, 3, 8))), paths[1])
    changed, n_read = load()
    assert n_read == 2
    np.testing.assert_array_equal(changed[:8], first[:8])
    assert not changed[8:].any()


def test_images_in_memory_go_to_nilearns_own_cache(
    bold_data, volume, mask_img, tmp_path
):
    own = {"memory": str(tmp_path / "cache"), "memory_level": 2}
    masker = resolve_masker(NiftiMasker(mask_img, standardize=None, **own))
    assert masker.memory_level == 2
    plain = load_samples(volume(bold_data), resolve_masker(mask_img))
    for _ in range(2):
        np.testing.assert_array_equal(load_samples(volume(bold_data), masker), plain)
    assert any("nilearn" in str(path) for path in (tmp_path / "cache").rglob("*"))


def test_nothing_is_remembered_unless_asked_for(paths, mask_img, tmp_path, reads):
    own = joblib.Memory(tmp_path / "own", verbose=0)
    given = NiftiMasker(mask_img, memory=own, standardize=None)
    assert resolve_masker(given, paths).memory.location == own.location
    for memory in (None, joblib.Memory(None)):
        masker = resolve_masker(mask_img, memory=memory)
        del reads[:]
        load_samples(paths, masker)
        load_samples(paths, masker)
        assert len(reads) == 4


def test_a_memory_that_is_none_is_refused(mask_img):
    with pytest.raises(TypeError, match=r"must be None, a folder or a joblib"):
        resolve_masker(mask_img, memory=3)


@pytest.fixture
def brains(volume, mask_data, tmp_path):
    """Sixteen volumes of four stimuli in a file."""
    y = np.tile(np.arange(4), 4)
    patterns = np.random.default_rng(0).normal(size=(4, 5, 3, 4))
    data = patterns[..., y] + np.random.default_rng(1).normal(size=(4, 5, 3, 16))
    nibabel.save(volume(data), tmp_path / "brains.nii.gz")
    return str(tmp_path / "brains.nii.gz"), y


def test_a_second_fit_of_the_searchlight_reads_nothing(
    brains, mask_img, tmp_path, reads
):
    imgs, y = brains
    groups = np.repeat(np.arange(4), 4)
    plain = IdentificationSearchLight(mask_img, radius=4).fit(imgs, y, groups)
    del reads[:]
    for _ in range(2):
        light = IdentificationSearchLight(mask_img, radius=4, memory=tmp_path / "cache")
        light.fit(imgs, y, groups)
        np.testing.assert_array_equal(light.wins_, plain.wins_)
        assert reads == [f"imgs ({imgs})"]


def test_a_second_fit_of_an_encoding_model_reads_nothing(
    brains, mask_img, tmp_path, reads
):
    from sklearn.linear_model import Ridge

    imgs, y = brains
    features = np.random.default_rng(2).normal(size=(16, 2)) + y[:, None]
    options = {"encoder": Ridge(), "cv": 4, "radius": 4}
    plain = EncodingIdentification(mask_img, **options).fit(features, imgs)
    del reads[:]
    for _ in range(2):
        cache = str(tmp_path / "cache")
        model = EncodingIdentification(mask_img, memory=cache, **options)
        model.fit(features, imgs)
        np.testing.assert_array_equal(model.residuals_, plain.residuals_)
    with pytest.raises(ValueError, match="is training response"):  # once it is read
        model.identify(features + 1, imgs)
    assert reads == [f"imgs ({imgs})"]


def test_scans_of_a_learning_curve_are_remembered(brains, mask_img, tmp_path, reads):
    imgs, _ = brains
    for _ in range(2):
        found = read_scans(imgs, mask_img, memory=tmp_path / "cache")
    assert len(reads) == 1
    np.testing.assert_array_equal(found.X, read_scans(imgs, mask_img).X)


@pytest.mark.parametrize("kind", [IdentificationSearchLight, EncodingIdentification])
def test_memory_is_a_parameter_like_others(kind, tmp_path):
    memory = joblib.Memory(tmp_path, verbose=0)
    for given in (None, str(tmp_path), memory):
        again = clone(kind(memory=given))
        assert getattr(again.memory, "location", again.memory) == getattr(
            given, "location", given
        )


def searchlight(imgs, mask_img, y, memory):
    groups = np.repeat(np.arange(4), 4)
    return IdentificationSearchLight(mask_img, radius=4, memory=memory).fit(
        imgs, y, groups
    )


READERS = {
    "masker": lambda imgs, mask, y, memory: resolve_masker(mask, memory=memory),
    "masker's own": lambda imgs, mask, y, memory: resolve_masker(
        NiftiMasker(mask, memory=memory, standardize=None), imgs
    ),
    "searchlight": searchlight,
    "encoding": lambda imgs, mask, y, memory: EncodingIdentification(
        mask, radius=4, memory=memory, cv=4
    ).fit(np.eye(4)[y], imgs),
    "learning curve": lambda imgs, mask, y, memory: read_scans(
        imgs, mask, memory=memory
    ),
}
KINDS_OF_MEMORY = {
    "text": str,
    "path": lambda folder: folder,
    "joblib": lambda folder: joblib.Memory(folder, verbose=0),
}
posix = pytest.mark.skipif(os.name != "posix", reason="no POSIX permissions")


@pytest.fixture
def cache(tmp_path):
    """A folder of the user's own, with a function and a pickle of joblib in it."""
    os.chmod(tmp_path, 0o755)
    deep = tmp_path / "cache" / "joblib" / "module" / "name"
    deep.mkdir(parents=True)
    (deep / "output.pkl").write_bytes(b"not to be read")
    for path in (tmp_path / "cache", *(tmp_path / "cache").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path / "cache"


@pytest.fixture
def colleagues(monkeypatch):
    """Every group has two members."""
    import grp

    group = grp.struct_group(("staff", "x", 1000, ["ada", "emmy"]))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)


@posix
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KINDS_OF_MEMORY)
@pytest.mark.parametrize("bit", [stat.S_IWGRP, stat.S_IWOTH], ids=["group", "world"])
def test_a_memory_that_others_can_write_to_is_refused(
    brains, mask_img, cache, colleagues, reader, kind, bit
):
    imgs, y = brains
    cache.chmod(0o755 | bit)
    memory = KINDS_OF_MEMORY[kind](cache)
    message = r"holds pickles, which run code .* others can write to .*chmod -R go-w"
    with pytest.raises(ValueError, match=message):
        READERS[reader](imgs, mask_img, y, memory)


@posix
@pytest.mark.parametrize("bit", [stat.S_IWGRP, stat.S_IWOTH], ids=["group", "world"])
@pytest.mark.parametrize(
    "place",
    [
        "..",
        "joblib",
        "joblib/module",
        "joblib/module/name",
        "joblib/module/name/output.pkl",
    ],
)
def test_nothing_in_a_memory_may_be_writable_by_others(
    mask_img, cache, colleagues, place, bit
):
    resolve_masker(mask_img, memory=cache)
    path = (cache / place).resolve()
    path.chmod(stat.S_IMODE(path.stat().st_mode) | bit)
    with pytest.raises(ValueError, match=f"others can write to {path};"):
        resolve_masker(mask_img, memory=cache)


@posix
def test_what_is_the_users_alone_is_taken(mask_img, cache, monkeypatch, tmp_path):
    import grp
    import pwd

    user = pwd.getpwuid(cache.stat().st_uid).pw_name
    monkeypatch.setattr(
        grp, "getgrgid", lambda gid: grp.struct_group((user, "x", gid, [user]))
    )
    cache.chmod(0o775)  # a group of this user's alone, as many systems make them
    assert resolve_masker(mask_img, memory=cache).memory is not None
    tmp_path.chmod(0o1777)  # as /tmp is
    assert resolve_masker(mask_img, memory=cache).memory is not None
    resolve_masker(mask_img, memory=tmp_path / "none yet")


@posix
def test_a_memory_of_somebody_else_is_refused(mask_img, cache, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    status = cache.stat()
    if status.st_uid == 0:
        os.chown(cache, 54321, -1)
    with pytest.raises(ValueError, match=f"others can write to {cache};"):
        resolve_masker(mask_img, memory=cache)
