"""Atlas labels of a masker's features, and the names that belong to them."""

import numpy as np

from neuroextrap.images._geometry import feature_values
from neuroextrap.images._grids import same_affine
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._opening import NamedImage, open_image, read_image
from neuroextrap.stats._warn import warn


def atlas_labels(labels_img, masker, names=None):
    """Read the atlas label of every feature, and the names of the labels.

    Parameters
    ----------
    labels_img : path-like, Niimg, SurfaceImage, or atlas fetched by nilearn
        Whole numbers; 0 is background. Of a fetched atlas (a Bunch) ``maps`` is read,
        and ``lut`` or ``labels`` give the names unless ``names`` is given. A volume on
        another grid is resampled to the mask's (nearest neighbor), with a warning.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.
    names : list of str, dict, DataFrame, Bunch, or None, default=None
        A list holds one name per label in ascending order, with or without a first
        entry for the background, or is indexed by the label itself; a dict maps label
        to name; a DataFrame has columns ``index`` and ``name``. If None, labels are
        named by their number.

    Returns
    -------
    labels : ndarray of int64 of shape (n_features,)
        Label of every feature.
    table : dict of int to str
        Name of every label that occurs in the mask, without the background.

    Raises
    ------
    TypeError
        If ``labels_img`` is a volume and the masker is of surfaces, or the reverse, or
        ``names`` is none of the above.
    ValueError
        If the image has several samples (a probabilistic atlas), labels that are not
        whole numbers >= 0, or no label in the mask; or if ``names`` do not fit.

    Warns
    -----
    UserWarning
        When the atlas is resampled to the mask's grid.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import atlas_labels, resolve_masker
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 3)), np.eye(4)))
    >>> img = nibabel.Nifti1Image(np.array([[[0, 1, 2]]], "uint8"), np.eye(4))
    >>> atlas_labels(img, masker, ["V1", "FFA"])
    (array([0, 1, 2]), {1: 'V1', 2: 'FFA'})
    """
    labels_img, names = unpack_atlas(labels_img, names)
    opened = read_image(open_image(labels_img, "labels_img"))
    image_labels = whole_numbers(opened)
    labels = _at_features(opened, masker)
    present = np.unique(labels[labels != 0])
    if not len(present):
        raise ValueError(
            f"{opened.name} has no label inside the mask; check that the two overlap"
        )
    name_of = names_by_label(names, image_labels[image_labels != 0])
    missing = [int(value) for value in present if int(value) not in name_of]
    if missing:
        raise ValueError(
            f"names lack label(s) {missing[:5]} that occur in the mask; name every "
            "label or give names=None"
        )
    return labels, {int(value): name_of[int(value)] for value in present}


def unpack_atlas(labels_img, names):
    """Take image and names out of a fetched atlas."""
    if names is not None and hasattr(names, "maps"):
        names = _names_of_atlas(names)
    if hasattr(labels_img, "maps"):
        names = _names_of_atlas(labels_img) if names is None else names
        labels_img = labels_img.maps
    return labels_img, names


def _names_of_atlas(atlas):
    """Return the look-up table of a fetched atlas, else its list of labels."""
    table = getattr(atlas, "lut", None)
    return getattr(atlas, "labels", None) if table is None else table


def whole_numbers(opened):
    """Return the distinct labels of an atlas, after checking them."""
    if opened.n_samples not in (None, 1):
        raise ValueError(
            f"{opened.name} has {opened.n_samples} maps, a labels image has one; use "
            "the maximum-probability atlas"
        )
    if opened.is_surface:
        data = np.concatenate([np.ravel(p) for p in opened.img.data.parts.values()])
    else:
        data = np.asanyarray(opened.img.dataobj)
    values = np.unique(data)
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        raise ValueError(
            f"{opened.name} must hold whole numbers, got {values[:4].tolist()}...; "
            "give a labels image, not a probability map"
        )
    if values.min() < 0:
        raise ValueError(
            f"{opened.name} must hold labels >= 0, got {values.min():g}; renumber them"
        )
    return values.astype(np.int64)


def _at_features(opened, masker):
    """Labels at the features, resampled when the grids differ."""
    if not opened.is_surface and not is_surface_masker(masker):
        opened = _resampled(opened, masker.mask_img_)
    values = feature_values(opened.img, masker, opened.name)
    return np.round(values).astype(np.int64)


def _resampled(opened, mask_img):
    """Return the atlas on the mask's grid, with a warning if it had to be resampled."""
    same = tuple(opened.img.shape[:3]) == tuple(mask_img.shape[:3])
    if same and same_affine(opened.img.affine, mask_img.affine, mask_img.shape[:3]):
        return opened
    from nilearn.image import resample_to_img

    warn(
        f"{opened.name} is on another grid than the mask: resampled to it, nearest "
        "neighbor"
    )
    resampled = resample_to_img(
        opened.img,
        mask_img,
        interpolation="nearest",
        copy_header=True,
        force_resample=True,
    )
    return NamedImage(opened.name, resampled)


def names_by_label(names, values):
    """Return a dict label -> name for the labels ``values`` (ascending)."""
    if names is None:
        return {int(value): str(value) for value in values}
    if isinstance(names, dict):
        return {int(value): str(name) for value, name in names.items()}
    if hasattr(names, "columns"):
        return _names_of_frame(names)
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise TypeError(
            f"names must be a list, dict, DataFrame or fetched atlas, got "
            f"{type(names).__name__}; give one name per label"
        )
    return _names_of_list([_text(name) for name in names], values)


def _names_of_frame(frame):
    """Read a look-up table with columns index and name."""
    missing = [column for column in ("index", "name") if column not in frame.columns]
    if missing:
        raise ValueError(
            f"names lack column(s) {missing}, got {list(frame.columns)}; give a table "
            "with columns index and name"
        )
    pairs = zip(frame["index"], frame["name"], strict=True)
    return {int(value): str(name) for value, name in pairs}


def _names_of_list(names, values):
    """Match a list of names with the labels."""
    if len(names) == len(values):
        return dict(zip(values.tolist(), names, strict=True))
    if len(names) == len(values) + 1 and names[0].lower() == "background":
        return dict(zip(values.tolist(), names[1:], strict=True))
    if len(names) == values.max() + 1:
        return {value: names[value] for value in values.tolist()}
    raise ValueError(
        f"names has {len(names)} entries for {len(values)} labels (largest "
        f"{values.max()}); give one per label, or one for every number from 0 to the "
        "largest, or a dict"
    )


def _text(name):
    """Return a name as text; older atlases hold bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)
