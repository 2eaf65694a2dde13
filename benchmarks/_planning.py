"""The table of a large study, from what a region, a voxel and a permutation cost."""

# centers in the MNI152 template of 1 mm, every one, every second, every third
CENTERS = {
    "every voxel": 1_882_989,
    "``--stride 2``": 235_374,
    "``--stride 3``": 69_740,
}
VOXELS = 257  # of 1 mm in a sphere of 4 mm
SAMPLES, N_PERMUTATIONS, N_SUBJECTS, N_WORKERS = 96, 10_000, 100, 200
HEAD = """\
.. list-table::
   :header-rows: 1
   :widths: 34 22 22 22
"""


def seconds_of_a_sphere(units, n_permutations):
    """Return CPU seconds from units in microseconds: region, voxel, permutation."""
    once, voxel, permutation = units
    return 1e-6 * (once + VOXELS * voxel + n_permutations * permutation)


def planning_table(units):
    """Return the page's table, from units by classifier, in reStructuredText."""
    centers = CENTERS.values()
    rows = [[f"{N_PERMUTATIONS:,} permutations", *CENTERS]]
    rows.append(["centers", *(f"{n:,}" for n in centers)])
    hours = {
        name.replace("_", " "): [
            n * seconds_of_a_sphere(unit, N_PERMUTATIONS) / 3600 for n in centers
        ]
        for name, unit in units.items()
    }
    for name, of_classifier in hours.items():
        rows.append([f"CPU hours a subject: {name}", *map(_short, of_classifier)])
    first = next(iter(hours))
    all_subjects = [N_SUBJECTS * value for value in hours[first]]
    rows.append(
        [f"CPU hours, {N_SUBJECTS} subjects: {first}", *map(_short, all_subjects)]
    )
    on_workers = [f"{_short(value / N_WORKERS)} hours" for value in all_subjects]
    rows.append([f"{N_SUBJECTS} subjects on {N_WORKERS} workers", *on_workers])
    voxels = max(centers)
    images = [12 * SAMPLES * voxels + 10 * VOXELS * n for n in centers]
    rows.append(["memory, images and spheres", *map(_gigabytes, images)])
    null = [4 * n * N_PERMUTATIONS for n in centers]
    rows.append(["permuted maps of a subject", *map(_gigabytes, null)])
    null = [N_SUBJECTS * n_bytes for n_bytes in null]
    rows.append([f"permuted maps, {N_SUBJECTS} subjects", *map(_gigabytes, null)])
    lines = [
        f"   {'  ' if position else '* '}- {cell}"
        for row in rows
        for position, cell in enumerate(row)
    ]
    return "\n".join([HEAD, *lines])


def _short(number):
    """Write a number with two or three digits."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _gigabytes(n_bytes):
    """Write bytes as GB."""
    return f"{_short(n_bytes / 1e9)} GB"
