"""Brain templates that ship with nilearn: no network."""


def mni152_mask(resolution=3):
    """Brain mask of the MNI152 template that ships with nilearn.

    Parameters
    ----------
    resolution : int, default=3
        Voxel size in mm, at least 1.

    Returns
    -------
    nibabel.Nifti1Image
        Of int8, 1 inside the brain; 69,765 voxels at 3 mm.

    Raises
    ------
    ValueError
        If ``resolution`` is not an integer of at least 1.

    References
    ----------
    Fonov et al. 2011, "Unbiased average age-appropriate atlases for pediatric studies",
    NeuroImage 54, 313-327 (the template).

    Examples
    --------
    >>> from neuroextrap.images import mni152_mask
    >>> mni152_mask(8).shape
    (26, 30, 25)
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int):
        raise ValueError(f"resolution must be an integer (mm), got {resolution!r}")
    if resolution < 1:
        raise ValueError(f"resolution must be at least 1 mm, got {resolution}")
    from nilearn.datasets import load_mni152_brain_mask

    return load_mni152_brain_mask(resolution=resolution)
