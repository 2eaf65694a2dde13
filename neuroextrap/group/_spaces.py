"""Maps of several subjects must lie in one space before voxels are compared."""

from neuroextrap.images._opening import same_affine
from neuroextrap.images._space import CODES, MNI, named_space, space_code

_NATIVE = frozenset(
    [
        "anat",
        "bold",
        "boldref",
        "epi",
        "fsnative",
        "func",
        "individual",
        "native",
        "orig",
        "scanner",
        "subject",
        "t1",
        "t1w",
        "t2w",
    ]
)
"""Labels of ``space`` that mean a subject's own space, in small letters."""

_REMEDY = (
    "bring the maps into a template's space first, or say that voxels correspond with "
    "allow_native_space=True (--allow-native-space)"
)


def check_one_space(named, name):
    """Raise if maps, a list of `NamedImage`, lie in the spaces of several subjects.

    That is so when a name says it (``space-T1w``), when names say different spaces, or
    when images of different affines neither have a name nor a header that says MNI.
    `name` is the argument's.
    """
    volumes = [img for img in named if not img.is_surface]
    labels = {img.name: named_space(img.file) for img in volumes}
    for place, label in labels.items():
        if label is not None and label.casefold() in _NATIVE:
            raise ValueError(
                f"{place} lies in the subject's own space (space-{label}), where the "
                f"voxels of two subjects do not correspond; {_REMEDY}"
            )
    spaces = sorted({label for label in labels.values() if label is not None})
    if len(spaces) > 1:
        raise ValueError(
            f"{name} lie in different spaces ({', '.join(spaces)}), where voxels do "
            f"not correspond; {_REMEDY}"
        )
    untold = [
        img
        for img in volumes
        if labels[img.name] is None and space_code(img.img) != MNI
    ]
    if untold:
        _check_same_place(untold[0], [img for img in volumes if img is not untold[0]])


def _check_same_place(first, others):
    """Raise if a map of unknown space has another grid than others."""
    for other in others:
        shapes = {tuple(img.img.shape[:3]) for img in (first, other)}
        affines = (img.img.affine for img in (other, first))
        if len(shapes) == 1 and same_affine(*affines, first.img.shape[:3]):
            continue
        code = space_code(first.img)
        raise ValueError(
            f"{first.name} and {other.name} have different grids, and neither a name "
            f"(space-MNI...) nor the header (code {code}, {CODES.get(code)}) says that "
            f"they lie in one space; {_REMEDY}"
        )
