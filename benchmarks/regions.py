"""Building regions: time, memory and growth, against nilearn's sphere look-up.

Spheres around every voxel of nilearn's MNI152 brain mask. nilearn's look-up (as its
SearchLight uses it) is timed on a stated sample of centers, must find the same spheres,
and is extrapolated to all centers. The exponent is the slope of log time against log
number of (center, member) pairs: 1 is linear.

    python benchmarks/regions.py [--quick]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from _table import add_row
from nilearn.datasets import load_fsaverage
from nilearn.maskers.nifti_spheres_masker import apply_mask_and_get_affinity

from neuroextrap.images import resolve_masker
from neuroextrap.images._loading import feature_coordinates, mask_lattice
from neuroextrap.images._maskers import mni152_mask
from neuroextrap.regions import coordinate_spheres
from neuroextrap.regions._regions import (
    lattice_spheres,
    nearest_features,
    surface_discs,
)

SETTINGS = [(3, 6.0), (3, 9.0), (2, 6.0), (2, 9.0)]
ROW = "{:<34}{:>10}{:>14}{:>10}{:>12}"


def seconds(function, *args, **options):
    """Run once; return the result and its CPU time."""
    start = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - start


def memory(field):
    """Resident memory of this process (bytes), now or at most; Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if field in line)


def extra_memory(function, *args):
    """Run once; return the result, its time, and how far memory rose (bytes)."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from now
    before = memory("VmRSS")
    result, spent = seconds(function, *args)
    return result, spent, memory("VmHWM") - before


def spheres_of_nilearn(masker, places, radius):
    """Members of the spheres around a few places, by nilearn."""
    _, members = apply_mask_and_get_affinity(
        places, None, radius, allow_overlap=True, mask_img=masker.mask_img_
    )
    return members.tocsr()


def against_nilearn(masker, radius, n_sample):
    """Check equality on sampled centers; return nilearn's seconds a center."""
    places = feature_coordinates(masker)
    rng = np.random.default_rng(0)
    centers = np.sort(rng.choice(len(places), n_sample, replace=False))
    theirs, once = seconds(spheres_of_nilearn, masker, places[centers], radius)
    _, fewer = seconds(
        spheres_of_nilearn, masker, places[centers[: n_sample // 5]], radius
    )
    ours = lattice_spheres(*mask_lattice(masker), radius, centers=centers)
    if (ours.astype(np.int8) != theirs.astype(np.int8)).nnz:
        sys.exit("spheres differ from nilearn's")
    return (once - fewer) / (n_sample - n_sample // 5)


def volumes(settings, n_sample):
    """Print the rows of the volume settings; return pairs and times."""
    pairs, times = [], []
    for resolution, radius in settings:
        masker = resolve_masker(mni152_mask(resolution))
        mask, affine = mask_lattice(masker)
        spheres, spent, extra = extra_memory(lattice_spheres, mask, affine, radius)
        name = f"lattice_spheres {resolution} mm, {radius:g} mm"
        print(row(name, spheres, spent, f"{extra / 2**20:.0f} MB"))
        pairs.append(spheres.nnz)
        times.append(spent)
        del spheres
        if (resolution, radius) == settings[0]:
            per_center = against_nilearn(masker, radius, n_sample)
            theirs = per_center * mask.sum()
            print(
                f"    nilearn's look-up: {1e3 * per_center:.2f} ms a center "
                f"({n_sample} sampled), {theirs:.0f} s for all: "
                f"{theirs / spent:.0f} times as long"
            )
            size = f"{mask.sum():,} spheres of {radius:g} mm"
            add_row("spheres", size, spent, "nilearn", theirs, "spheres of a sample")
    return pairs, times


def row(name, regions, spent, memory=""):
    """One line of the table."""
    return ROW.format(name, regions.shape[0], regions.nnz, f"{spent:.2f} s", memory)


def others(resolution):
    """Print the rows of the other kinds of regions."""
    places = feature_coordinates(resolve_masker(mni152_mask(resolution)))
    balls, spent = seconds(coordinate_spheres, places, 9.0)
    print(row(f"coordinate_spheres {resolution} mm, 9 mm", balls, spent))
    nearest, spent = seconds(nearest_features, places, 100)
    print(row(f"nearest_features {resolution} mm, 100", nearest, spent))
    mesh = load_fsaverage("fsaverage5")["white_matter"].parts["left"]
    discs, spent = seconds(surface_discs, mesh.coordinates, mesh.faces, 10.0)
    print(row("surface_discs fsaverage5 L, 10 mm", discs, spent))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="coarse brains only")
    quick = parser.parse_args().quick
    settings = [(4, 8.0), (4, 12.0)] if quick else SETTINGS
    print(ROW.format("", "regions", "pairs", "time", "extra peak"))
    pairs, times = volumes(settings, 100 if quick else 500)
    slope = np.polyfit(np.log(pairs), np.log(times), 1)[0]
    print(f"    exponent of time against pairs: {slope:.2f}")
    others(5 if quick else 3)


if __name__ == "__main__":
    main()
