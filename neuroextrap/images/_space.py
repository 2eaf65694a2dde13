"""Which space a volume lies in: what its header and its BIDS name say."""

import numpy as np

from neuroextrap.images._bids_names import loose_entities

MNI = 4
_ALIGNED = 2
_TELLING = (1, 3, MNI)
CODES = {0: "unknown", 1: "scanner", 2: "aligned", 3: "Talairach", MNI: "MNI"}
"""NIfTI's names of coordinate systems (nifti1.h, NIFTI_XFORM). "Aligned" is what
nibabel, nilearn and many pipelines write when they do not know better."""


def space_code(img):
    """Return the NIfTI code of the affine that is in use; 0 where there is none."""
    if not hasattr(img, "get_sform"):
        return 0
    sform, qform = (
        int(get(coded=True)[1] or 0) for get in (img.get_sform, img.get_qform)
    )
    return sform or qform


def named_space(path):
    """Return the label of ``space`` in a file's name, or None.

    >>> named_space("sub-01_task-x_space-MNI152NLin6Asym_bold.nii.gz")
    'MNI152NLin6Asym'
    """
    return None if path is None else loose_entities(path).get("space")


def is_mni_label(label):
    """Return whether a label of ``space`` is one of the MNI templates."""
    return label is not None and label.lower().startswith("mni")


def agreed_code(named, mask):
    """Return the code of images and their mask, all `NamedImage` of volumes.

    A name (``space-MNI...``, ``space-T1w``) counts before a header, and images before
    the mask. Images that contradict one another are "aligned" to something only.
    """
    for group in (named, [mask]):
        labels = {named_space(img.file) for img in group} - {None}
        if labels:
            each = all(named_space(img.file) for img in group)
            return MNI if each and all(map(is_mni_label, labels)) else _ALIGNED
    for group in (named, [mask]):
        told = {space_code(img.img) for img in group} & set(_TELLING)
        if told:
            return told.pop() if len(told) == 1 else _ALIGNED
    return _ALIGNED


def new_volume(data, like, code=None):
    """Return a NIfTI volume with the affine of another, and its code (or `code`)."""
    from nibabel import Nifti1Image

    img = Nifti1Image(data, like.affine)
    code = (space_code(like) if code is None else code) or _ALIGNED
    for set_form in (img.set_sform, img.set_qform):
        set_form(np.asarray(like.affine), code=code)
    img.header.set_xyzt_units("mm")
    return img
