import nibabel
import numpy as np
import pytest
from nilearn.maskers import MultiNiftiMasker, NiftiMasker, SurfaceMasker

from neuroextrap.images import resolve_masker
from tests.images.seam import finite_mask, load_samples, mask_lattice, mni152_mask


def _mask_of(masker):
    return mask_lattice(masker)[0]


def test_every_form_of_a_mask_gives_the_same_features(volume, mask_data, tmp_path):
    img = volume(mask_data.astype("uint8"))
    nibabel.save(img, tmp_path / "mask.nii.gz")
    forms = [
        img,
        tmp_path / "mask.nii.gz",
        str(tmp_path / "mask.nii.gz"),
        volume(mask_data * 255.0),
        NiftiMasker(img, standardize=None),
        NiftiMasker(img, standardize=None).fit(),
    ]
    for form in forms:
        assert (_mask_of(resolve_masker(form)) == mask_data).all()
        assert resolve_masker(form).n_elements_ == mask_data.sum()


@pytest.mark.parametrize("fitted", [False, True])
def test_the_users_masker_is_untouched_and_its_settings_kept(
    volume, mask_data, bold_data, fitted
):
    theirs = NiftiMasker(
        volume(mask_data.astype("uint8")), smoothing_fwhm=3, detrend=True, t_r=2.0
    )
    if fitted:
        theirs.fit()
    before = dict(vars(theirs))
    ours = resolve_masker(theirs, volume(bold_data))
    load_samples(volume(bold_data), ours)
    assert ours is not theirs
    assert vars(theirs) == before
    assert (ours.smoothing_fwhm, ours.detrend, ours.t_r) == (3, True, 2.0)


def test_booleans_of_standardize_mean_what_nilearn_says(volume, mask_data, bold_data):
    img = volume(mask_data.astype("uint8"))
    ours = resolve_masker(NiftiMasker(img, standardize=True))
    theirs = NiftiMasker(img, standardize="zscore_sample").fit()
    found = load_samples(volume(bold_data), ours)
    np.testing.assert_array_equal(found, theirs.transform(volume(bold_data)))


def test_no_mask_is_nilearns_background_mask(volume):
    data = np.zeros((9, 9, 9, 6))
    noise = np.random.default_rng(0).normal(size=(5, 6, 4, 6))
    data[2:7, 2:8, 3:7] = 100 + noise
    img = volume(data, np.eye(4))
    wanted = NiftiMasker(standardize=None).fit(img).mask_img_.get_fdata()
    forms = [
        img,
        [volume(data[..., i], np.eye(4)) for i in range(6)],
        [volume(data[..., :2], np.eye(4)), volume(data[..., 2:], np.eye(4))],
    ]
    for form in forms:
        assert (_mask_of(resolve_masker(None, form)) == wanted).all()
        assert (_mask_of(resolve_masker(NiftiMasker(), form)) == wanted).all()


def test_no_mask_on_a_surface_keeps_vertices_ever_finite(surface):
    left, right = np.ones((30, 3)), np.ones((24, 3))
    left[0] = np.nan  # never finite: no feature
    left[1, 0] = np.nan  # once not finite: a feature, with its NaN
    masker = resolve_masker(None, surface(left, right))
    assert isinstance(masker, SurfaceMasker)
    assert masker.n_elements_ == 53
    samples = load_samples(surface(left, right), masker)
    assert np.isnan(samples).sum() == 1
    with pytest.raises(ValueError, match="no finite vertex"):
        resolve_masker(None, surface(left * np.nan, right * np.nan))


@pytest.mark.parametrize("fitted", [False, True])
def test_surface_masks_and_maskers(surface_mask, fitted):
    n_features = sum(part.sum() for part in surface_mask.data.parts.values())
    theirs = SurfaceMasker(surface_mask, standardize=None)
    if fitted:
        theirs.fit()
    for form in (surface_mask, theirs):
        assert resolve_masker(form).n_elements_ == n_features


@pytest.mark.real_data
def test_one_voxel_thick_and_coarse_real_masks(real_data):
    folder = real_data("haxby2001_subject1")
    assert resolve_masker(folder / "mask.nii.gz").n_elements_ == 530
    coarse = folder / "haxby2001" / "sub001" / "masks" / "25mm"
    assert resolve_masker(coarse / "brain.nii.gz").n_elements_ == 129
    assert resolve_masker(coarse / "vt.nii.gz").n_elements_ == 1
    with pytest.raises(ValueError, match=r"mask \(.*hoc\.nii\.gz\) is not a binary"):
        resolve_masker(coarse / "hoc.nii.gz")


def test_masks_that_are_none_are_refused(volume, surface, mask_data):
    empty = volume(np.zeros((4, 5, 3), "uint8"))
    with pytest.raises(ValueError, match="mask is an empty mask"):
        resolve_masker(empty)
    with pytest.raises(ValueError, match="mask is an empty mask"):
        resolve_masker(NiftiMasker(empty))
    graded = volume(np.arange(60.0).reshape(4, 5, 3))
    with pytest.raises(ValueError, match="mask is not a binary mask: it holds 60"):
        resolve_masker(graded)
    with pytest.raises(ValueError, match=r"it holds 3 values \(0, 1, 2, ...\)"):
        resolve_masker(volume(np.arange(60).reshape(4, 5, 3) % 3.0))
    holed = mask_data.astype(float)
    holed[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="not a binary mask"):
        resolve_masker(volume(holed))
    with pytest.raises(ValueError, match="must be one image, got 2 samples"):
        resolve_masker(volume(np.ones((4, 5, 3, 2))))
    with pytest.raises(ValueError, match="empty mask"):
        resolve_masker(surface(np.zeros(30, bool), np.zeros(24, bool)))


def test_masks_of_the_wrong_kind_are_refused(volume, surface_mask, bold_data):
    with pytest.raises(TypeError, match="mask must be an image or the path"):
        resolve_masker(3)
    with pytest.raises(TypeError, match="got MultiNiftiMasker"):
        resolve_masker(MultiNiftiMasker(standardize=None))
    with pytest.raises(TypeError, match="not both volumes or both surfaces"):
        resolve_masker(surface_mask, volume(bold_data))
    with pytest.raises(TypeError, match="a SurfaceMasker cannot use mask"):
        resolve_masker(SurfaceMasker(volume(bold_data[..., 0])))
    with pytest.raises(TypeError, match="a NiftiMasker cannot read imgs"):
        resolve_masker(NiftiMasker(), surface_mask)
    with pytest.raises(ValueError, match="mask=None needs images"):
        resolve_masker(None)


def test_other_grids_are_refused_naming_the_image(volume, mask_data, bold_data):
    mask = volume(mask_data.astype("uint8"))
    good = volume(bold_data)
    other_shape = volume(bold_data[:3])
    shifted = good.affine.copy()
    shifted[0, 3] += 1
    other_place = volume(bold_data, shifted)
    with pytest.raises(ValueError, match=r"imgs\[1\] has shape \(3, 5, 3\) but mask"):
        resolve_masker(mask, [good, other_shape])
    with pytest.raises(ValueError, match=r"imgs\[2\] has another affine than mask"):
        resolve_masker(mask, [good, good, other_place])
    with pytest.raises(ValueError, match=r"imgs\[1\] has shape .* but imgs\[0\]"):
        resolve_masker(None, [good, other_shape])
    with pytest.raises(ValueError, match="must have 3 or 4 dimensions"):
        resolve_masker(mask, volume(bold_data[..., None]))
    resampling = NiftiMasker(mask, target_affine=mask.affine, standardize=None)
    assert resolve_masker(resampling, [other_place]).n_elements_ == mask_data.sum()


def test_a_masker_with_a_target_shape_can_be_fitted(volume, bold_data):
    mask = volume(np.ones(bold_data.shape[:3], dtype="int16"))
    shape = tuple(n // 2 for n in mask.shape)
    masker = NiftiMasker(mask, target_affine=mask.affine, target_shape=shape)
    assert resolve_masker(masker, [volume(bold_data)]).n_elements_ == np.prod(shape)


def test_other_meshes_are_refused(surface, surface_mask, mesh):
    from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

    sides = {s: mesh.parts[s] for s in ("left", "right")}
    shuffled = InMemoryMesh(sides["left"].coordinates, sides["left"].faces[:, ::-1])
    other = SurfaceImage(
        PolyMesh(left=shuffled, right=sides["right"]),
        {"left": np.ones(30), "right": np.ones(24)},
    )
    with pytest.raises(ValueError, match="imgs has another mesh"):
        resolve_masker(surface_mask, other)


def test_rounding_in_an_affine_is_no_other_grid(volume, mask_data, bold_data):
    mask = volume(mask_data.astype("uint8"))
    wobbly = mask.affine + 1e-6
    wobbly[3] = [0, 0, 0, 1]
    masker = resolve_masker(mask, volume(bold_data, wobbly))
    found = load_samples(volume(bold_data, wobbly), masker)
    np.testing.assert_array_equal(found, bold_data[mask_data].T)


def test_mask_is_binary_and_has_the_known_number_of_voxels():
    data = np.asanyarray(mni152_mask(3).dataobj)
    assert set(np.unique(data)) == {0, 1}
    assert data.sum() == 69_765


@pytest.mark.parametrize("resolution", [0, 2.5, True])
def test_resolution_is_checked(resolution):
    with pytest.raises(ValueError, match="resolution must be"):
        mni152_mask(resolution)


def test_finite_mask_is_an_8_bit_image_of_finite_voxels():
    img = nibabel.Nifti1Image(np.array([[[0.0, np.nan]]]), np.eye(4))
    data = np.asarray(finite_mask(img).dataobj)
    assert data.dtype == np.uint8
    np.testing.assert_array_equal(data, [[[1, 0]]])
