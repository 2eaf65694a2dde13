"""Maps of single voxels that an encoding analysis writes, with what they mean."""

from neuroextrap.maps._records import MapRecord

_SCORES = {
    "r2": "Explained variance of the test responses by the prediction",
    "correlation": "Correlation of test responses and prediction",
    "noise_ceiling": "Share of the variance of test responses that a perfect model "
    "explains, from repeats",
    "r2_normalized": "Explained variance divided by the noise ceiling",
    "correlation_normalized": "Correlation divided by the square root of the noise "
    "ceiling",
    "alpha": "Penalty of the encoder, chosen by cross-validation",
    "l1_ratio": "Mixing of the penalties of the elastic net (1: lasso), chosen by "
    "cross-validation",
}
_UNITS = {"r2": "proportion", "noise_ceiling": "proportion", "alpha": "penalty"}


def voxel_records(maps):
    """Return maps by the names of their files, and a record for each.

    Names say that these are numbers of voxels, not of regions around them.
    """
    named = {_file_name(name): name for name in maps}
    images = {file: maps[name] for file, name in named.items()}
    return images, {file: _record(file, name) for file, name in named.items()}


def _file_name(name):
    """Return the name of a map's file: letters, digits and underscores."""
    plain = "".join(c if c.isalnum() else "_" for c in name)
    return f"voxel_{plain}"


def _record(file, name):
    """Return the record of one map."""
    other = f"{name.replace('_', ' ')}, chosen by cross-validation"
    return MapRecord(
        name=file,
        description=f"{_SCORES.get(name, other)}; voxel by voxel",
        unit=_UNITS.get(name, "1"),
    )
