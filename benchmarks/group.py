"""Tests over subjects against nilearn's, on real or simulated contrasts: CPU time.

The mean over subjects is tested by sign flips: the largest statistic, clusters (extent
and mass), and threshold-free cluster enhancement. Both sides first must find the same
t in every voxel and the same sizes of clusters. CPU time of this process is linear in
the flips, so each side does a stated number and the ratio is that of CPU time a flip.

    python benchmarks/group.py [--quick] [--data DIR]

`DIR` holds one map of each subject, ``faces_*.nii.gz``; without it sixteen maps of
smooth noise with a blob in MNI space at 3 mm are made.
"""

import argparse
import time
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
from _table import add_row
from nilearn.glm.second_level import non_parametric_inference
from nilearn.image import smooth_img

from neuroextrap.group import second_level_test
from neuroextrap.images._maskers import mni152_mask

ROW = "{:<34}{:>12}{:>14}{:>12}{:>14}{:>9}"
SETTINGS = [
    # name, ours, nilearn's, flips of ours, flips of nilearn
    ("largest t", {}, {}, 10_000, 1000),
    ("clusters", {"cluster_threshold": 0.001}, {"threshold": 0.001}, 500, 100),
    ("threshold-free enhancement", {"tfce": True}, {"tfce": True}, 100, 10),
]


def simulated(n_subjects=16):
    """Return maps of smooth noise with a blob, and the mask."""
    mask = mni152_mask(resolution=3)
    rng, imgs = np.random.default_rng(0), []
    for _ in range(n_subjects):
        data = rng.normal(size=mask.shape)
        data[10:14, 20:24, 15:19] += 1
        imgs.append(smooth_img(nibabel.Nifti1Image(data, mask.affine), 8))
    return imgs, mask


def real(folder):
    """Return the maps of a folder, and where all of them have values."""
    imgs = [nibabel.load(path) for path in sorted(Path(folder).glob("faces_*.nii.gz"))]
    data = np.stack([img.get_fdata() for img in imgs])
    common = (np.isfinite(data) & (data != 0)).all(axis=0)
    return imgs, nibabel.Nifti1Image(common.astype(np.int8), imgs[0].affine)


def cpu_seconds(function, *args, **options):
    """Run once; return the result and its CPU time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*args, **options)
    return result, time.process_time() - start


def nilearn_test(imgs, mask, n_flips, **options):
    """Test the mean by nilearn; a dict of maps."""
    design = pd.DataFrame({"intercept": np.ones(len(imgs))})
    found = non_parametric_inference(
        imgs, design_matrix=design, mask=mask, n_perm=n_flips, random_state=0, **options
    )
    return found if isinstance(found, dict) else {"logp_max_t": found}


def check(ours, theirs, mask):
    """Stop unless both have the same statistic and sizes of clusters."""
    inside = np.asarray(mask.dataobj) > 0
    for name, other, tolerance in (("t", "t", 1e-3), ("cluster_extent", "size", 0)):
        if name in ours and other in theirs:
            pair = (each.get_fdata()[inside] for each in (ours[name], theirs[other]))
            np.testing.assert_allclose(*pair, atol=tolerance, err_msg=name)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the flips")
    parser.add_argument("--data", metavar="DIR", help="folder of real maps")
    args = parser.parse_args()
    imgs, mask = simulated() if args.data is None else real(args.data)
    n_voxels = int(np.asarray(mask.dataobj).sum())
    print(f"{len(imgs)} subjects, {n_voxels:,} voxels; CPU seconds")
    print(ROW.format("test", "our flips", "ours", "its flips", "nilearn", "ratio"))
    second_level_test(imgs, mask=mask, n_permutations=10)  # imports
    for name, own, other, n_own, n_other in SETTINGS:
        if args.quick:
            n_own, n_other = n_own // 10, n_other // 10
        ours, spent = cpu_seconds(
            second_level_test, imgs, mask=mask, n_permutations=n_own, **own
        )
        theirs, spent_there = cpu_seconds(nilearn_test, imgs, mask, n_other, **other)
        check(ours, theirs, mask)
        ratio = spent_there / n_other / (spent / n_own)
        cells = [f"{n_own:,}", f"{spent:.1f}", f"{n_other:,}", f"{spent_there:.1f}"]
        print(ROW.format(name, *cells, f"{ratio:.1f}"), flush=True)
        size = f"{len(imgs)} subjects, {n_voxels:,} voxels; a flip"
        each, theirs_each = spent / n_own, spent_there / n_other
        add_row(f"{name}", size, each, "nilearn", theirs_each, "statistic, clusters")


if __name__ == "__main__":
    main()
