import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.maskers import NiftiMasker

from neuroextrap.images import labeled_samples, resolve_masker
from tests.images.seam import load_samples, mask_lattice


@pytest.fixture
def mask_img(volume, mask_data):
    return volume(mask_data.astype("uint8"))


def test_features_are_in_c_order_of_the_mask(volume, mask_img, mask_data, bold_data):
    masker = resolve_masker(mask_img)
    found = load_samples(volume(bold_data), masker)
    twin = np.array([bold_data[tuple(voxel)] for voxel in np.argwhere(mask_data)]).T
    np.testing.assert_array_equal(found, twin)
    theirs = NiftiMasker(mask_img, standardize=None).fit().transform(volume(bold_data))
    np.testing.assert_array_equal(found, theirs)


def test_every_form_of_imgs_gives_the_same_samples(
    volume, mask_img, bold_data, tmp_path
):
    masker = resolve_masker(mask_img)
    wanted = load_samples(volume(bold_data), masker)
    for i in range(8):
        nibabel.save(volume(bold_data[..., i]), tmp_path / f"beta_{i}.nii.gz")
    forms = [
        [volume(bold_data[..., i]) for i in range(8)],
        str(tmp_path / "beta_*.nii.gz"),
        sorted(tmp_path.glob("beta_*.nii.gz")),
        [
            volume(bold_data[..., :3]),
            volume(bold_data[..., 3]),
            volume(bold_data[..., 4:]),
        ],
    ]
    for form in forms:
        np.testing.assert_array_equal(load_samples(form, masker), wanted)


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing_fwhm": 4.0},
        {"detrend": True},
        {"standardize": "zscore_sample", "smoothing_fwhm": 3.0},
        {"t_r": 2.0, "high_pass": 0.05, "standardize": "psc"},
    ],
)
def test_the_maskers_cleaning_is_nilearns(volume, mask_img, settings):
    bold_data = np.random.default_rng(2).normal(size=(4, 5, 3, 24)) + 100
    theirs = NiftiMasker(mask_img, **({"standardize": None} | settings)).fit()
    masker = resolve_masker(theirs)
    img = volume(bold_data)
    np.testing.assert_array_equal(load_samples(img, masker), theirs.transform(img))
    single = [volume(bold_data[..., i]) for i in range(24)]
    np.testing.assert_allclose(
        load_samples(single, masker), theirs.transform(img), rtol=1e-9, atol=1e-9
    )
    runs = np.concatenate([theirs.transform(img), theirs.transform(img)])
    np.testing.assert_array_equal(load_samples([img, img], masker), runs)


def test_confounds_one_a_run_beside_the_maskers_own_cleaning(
    volume, mask_img, bold_data
):
    masker = resolve_masker(NiftiMasker(mask_img, standardize=None, detrend=True))
    noise = np.random.default_rng(2).normal(size=bold_data.shape)
    imgs = [volume(bold_data), volume(bold_data + noise)]
    tables = [pd.DataFrame({"trial_type": ["a", "b"] * 4})] * 2
    confounds = [np.random.default_rng(i).normal(size=(8, 1)) for i in range(2)]

    def samples(imgs, tables, **options):
        return labeled_samples(
            imgs, tables, masker=masker, samples="volumes", **options
        ).data

    together = samples(imgs, tables, confounds=confounds)
    pairs = list(zip(imgs, tables, confounds, strict=True))
    apart = [samples(img, table, confounds=own) for img, table, own in pairs]
    np.testing.assert_array_equal(together, np.concatenate(apart))
    wanted = [masker.transform(img, confounds=own) for img, _, own in pairs]
    np.testing.assert_array_equal(together, np.concatenate(wanted))
    with pytest.raises(ValueError, match="confounds must hold one entry for each of"):
        samples(imgs, tables, confounds=confounds[0])
    with pytest.raises(ValueError, match="sample_mask and high_pass need a masker"):
        samples(imgs[0], tables[0], sample_mask=np.arange(6))
    plain = {"masker": resolve_masker(mask_img), "samples": "volumes"}
    with pytest.raises(ValueError, match="sample_mask must hold one entry"):
        labeled_samples(imgs, tables, sample_mask=[np.arange(6)] * 3, **plain)


def test_integers_become_floats(volume, mask_img, bold_data):
    counts = bold_data.astype("int16")
    found = load_samples(volume(counts), resolve_masker(mask_img))
    assert found.dtype == np.float32


def test_what_is_not_finite_stays_nan(volume, mask_img, mask_data, bold_data):
    bold_data[..., 2][mask_data] = np.where(
        np.arange(mask_data.sum()) == 5, np.inf, bold_data[..., 2][mask_data]
    )
    bold_data[..., 4][mask_data] = np.where(
        np.arange(mask_data.sum()) == 9, np.nan, bold_data[..., 4][mask_data]
    )
    plain = resolve_masker(mask_img)
    for img in (volume(bold_data), [volume(bold_data[..., i]) for i in range(8)]):
        holes = np.isnan(load_samples(img, plain))
        assert np.argwhere(holes).tolist() == [[2, 5], [4, 9]]
    over_time = resolve_masker(NiftiMasker(mask_img, detrend=True, standardize=None))
    holes = np.isnan(load_samples(volume(bold_data), over_time))
    assert holes.all(axis=0).nonzero()[0].tolist() == [5, 9]
    assert holes.sum() == 16


def test_holes_outside_the_mask_do_not_matter(volume, mask_img, mask_data, bold_data):
    bold_data[~mask_data] = np.nan
    found = load_samples(volume(bold_data), resolve_masker(mask_img))
    assert np.isfinite(found).all()


def test_surface_samples(surface, surface_mask):
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(30, 4)), rng.normal(size=(24, 4))
    left[np.flatnonzero(surface_mask.data.parts["left"])[2], 1] = np.nan
    masker = resolve_masker(surface_mask)
    kept = [surface_mask.data.parts[side] for side in ("left", "right")]
    wanted = np.concatenate([left[kept[0]], right[kept[1]]]).T
    img = surface(left, right)
    np.testing.assert_array_equal(load_samples(img, masker), wanted)
    single = [surface(left[:, i], right[:, i]) for i in range(4)]
    np.testing.assert_array_equal(load_samples(single, masker), wanted)


def test_bad_images_are_refused(volume, mask_img, bold_data, tmp_path):
    masker = resolve_masker(mask_img)
    with pytest.raises(ValueError, match=r"imgs\[1\] has shape .* but the mask"):
        load_samples([volume(bold_data), volume(bold_data[:2])], masker)
    path = tmp_path / "cut.nii.gz"
    nibabel.save(volume(bold_data), path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(
        ValueError, match=r"imgs\[1\] \(.*cut\.nii\.gz\) cannot be read"
    ):
        load_samples([volume(bold_data), path], masker)
    with pytest.raises(TypeError, match="imgs must be an image"):
        load_samples(bold_data, masker)
    over_time = resolve_masker(NiftiMasker(mask_img, detrend=True, standardize=None))
    mixed = [volume(bold_data), volume(bold_data[..., 0])]
    with pytest.raises(ValueError, match=r"mixes single samples \(imgs\[1\]\)"):
        load_samples(mixed, over_time)


def test_holes_and_resampling_are_refused(volume, mask_img, bold_data):
    bold_data[0, 0, 0, 0] = np.nan
    resampling = NiftiMasker(mask_img, target_affine=mask_img.affine, standardize=None)
    with pytest.raises(ValueError, match="holds NaN or infinity and the masker resamp"):
        load_samples(volume(bold_data), resolve_masker(resampling))


@pytest.mark.real_data
def test_real_slices_and_coarse_brains(real_data):
    folder = real_data("haxby2001_subject1")
    masker = resolve_masker(folder / "mask.nii.gz", folder / "bold.nii.gz")
    samples = load_samples(folder / "bold.nii.gz", masker)
    assert samples.shape == (1452, 530)
    bold = nibabel.load(folder / "bold.nii.gz")
    mask, affine = mask_lattice(masker)
    np.testing.assert_array_equal(samples, bold.get_fdata()[mask].T)
    assert np.abs(np.diag(affine)[:3]).round(2).tolist() == [3.1, 3.75, 3.75]
    subject = folder / "haxby2001" / "sub001"
    coarse = resolve_masker(
        subject / "masks" / "25mm" / "brain.nii.gz",
        str(subject / "BOLD" / "task001_run*" / "bold_25mm.nii.gz"),
    )
    runs = load_samples(str(subject / "BOLD" / "*" / "bold_25mm.nii.gz"), coarse)
    assert runs.shape == (1452, 129)
