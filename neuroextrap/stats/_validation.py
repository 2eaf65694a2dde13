"""Checks shared by the functions of this package, and warnings: one line each."""

from __future__ import annotations

import errno
import inspect
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn from the user's own line, however deep in the package the warning arises."""
    frame, depth, level = inspect.currentframe(), 0, 1
    while frame is not None:
        depth += 1
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "neuroextrap":
            level = depth
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def one_line(error):
    """Return an exception's message on one line, or its type's name if it has none."""
    remedies: dict[int | None, str] = {
        errno.ENOSPC: "free space, or write to another disk",
        errno.EDQUOT: "free space, or write to another disk",
        errno.EACCES: "change its permissions, or choose another",
        errno.EROFS: "choose a folder that can be written to",
        errno.EISDIR: "give a file",
        errno.ENOTDIR: "give a folder",
    }
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}; {remedies.get(error.errno, 'check the path')}"
    return " ".join(str(error).split()) or type(error).__name__


FloatArray = NDArray[np.float64]
Seed = int | np.random.Generator | None
_LARGEST_INTEGER = 2**53  # of counts, up to which they are exact as floats
_LONGEST = 60  # text of a value in a message
_LARGEST_N_CLASSES = 1e100  # its cube is a number, too


def is_integer(value: Any) -> bool:
    """Return whether a value is a whole number by its type."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_integer(value: Any, name: str, *, minimum: int) -> int:
    """Return `value` as an int of at least `minimum`; TypeError if it is no integer."""
    if not is_integer(value):
        raise TypeError(
            f"{name} must be an integer >= {minimum}; got {brief(value)} "
            f"({type(value).__name__})"
        )
    if value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}; got {value}")
    if value > _LARGEST_INTEGER:
        raise ValueError(f"{name} must be at most {_LARGEST_INTEGER:,}; got {value}")
    return int(value)


def check_number(value: Any, name: str) -> float:
    """Return a real number as a float; TypeError for arrays, text and all else."""
    is_scalar = isinstance(value, np.ndarray) and value.ndim == 0
    scalar = value[()] if is_scalar else value
    if np.ma.is_masked(value) or not isinstance(
        scalar, int | float | np.integer | np.floating
    ):
        raise TypeError(f"{name} must be a number; got {_kind_of(value)}")
    return float(scalar)


def check_choice(value: Any, name: str, choices: Any) -> Any:
    """Return one of several texts (or None); ValueError unless it is among them."""
    is_text = value is None or isinstance(value, str)
    if not is_text or value not in choices:
        given = repr(value) if is_text else _kind_of(value)
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={given} must be one of {listed}")
    return value


def _kind_of(value: Any) -> str:
    """Show a value of the wrong kind, in short."""
    return f"{type(value).__name__} ({brief(value)})"


def brief(value: Any) -> str:
    """Show a value in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def check_flags(**flags: Any) -> None:
    """Raise TypeError for a flag that is no boolean: the text "no" would be true."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(
                f"{name}={brief(value)} must be True or False; got "
                f"{type(value).__name__}"
            )


def check_flags_of(estimator: Any) -> None:
    """Check each parameter of a class whose default is True or False."""
    parameters = inspect.signature(type(estimator)).parameters.values()
    names = [each.name for each in parameters if isinstance(each.default, bool)]
    check_flags(**{name: getattr(estimator, name) for name in names})


_MOST_JOBS = 4096


def check_n_jobs(n_jobs: Any) -> int:
    """Return a number of workers, as joblib counts them; None is one."""
    text = (
        f"n_jobs={brief(n_jobs)} must be a whole number other than 0; use 1 for no "
        "parallel work, or -1 for all processors"
    )
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs):
        raise TypeError(text)
    if n_jobs == 0 or not -_MOST_JOBS <= n_jobs <= _MOST_JOBS:
        raise ValueError(text)
    return int(n_jobs)


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a seed stands for: None, a whole number, or one."""
    text = (
        f"random_state={brief(random_state)} must be None, a whole number of at least "
        "0 or a numpy.random.Generator; give a seed such as 0"
    )
    generators = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    if random_state is None or isinstance(random_state, generators):
        return np.random.default_rng(random_state)
    if not is_integer(random_state):
        raise TypeError(text)
    if random_state < 0:
        raise ValueError(text)
    return np.random.default_rng(random_state)


def check_real(values: ArrayLike, name: str) -> ArrayLike:
    """Return `values` as they are; TypeError if complex, or masked somewhere."""
    _check_unmasked(values, name)
    try:
        is_complex = np.iscomplexobj(values)
    except ValueError as error:  # rows of unequal length
        raise _no_numbers(values, name) from error
    if is_complex:
        raise TypeError(
            f"{name} must be real numbers; got complex ones: take their absolute "
            "value, or real and imaginary parts by themselves"
        )
    return values


def real_array(
    values: ArrayLike, name: str, axes: str = "...", *, least: int = 1
) -> FloatArray:
    """Return `values` as a float64 array; TypeError if they are complex or masked.

    Its `axes` are named as in "..., n_classes", each of at least `least` entries.
    """
    checked = check_real(values, name)
    try:
        array = np.asarray(checked, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_numbers(values, name) from error
    named = [axis for axis in axes.replace(",", " ").split() if axis != "..."]
    extra = array.ndim - len(named)
    sizes = array.shape[extra:] if axes.startswith("...") else array.shape[: len(named)]
    if extra < 0 or (extra and "..." not in axes) or min(sizes, default=least) < least:
        raise ValueError(
            f"{name} must have shape ({axes}), {' and '.join(named)} at least {least}; "
            f"got shape {array.shape}"
        )
    return array


def _no_numbers(values: Any, name: str) -> ValueError:
    """Return the error of what is no array of numbers."""
    return ValueError(
        f"{name} must be a number, or an array of numbers with rows of equal length; "
        f"got {_kind_of(values)}"
    )


def check_level(value: float, name: str) -> float:
    """Return a number strictly between zero and one."""
    level = check_number(value, name)
    if not 0 < level < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {value!r}")
    return level


def nats_per_unit(base: float) -> float:
    """Return how many nats one unit of information in this base is."""
    base = check_number(base, "base")
    if not (math.isfinite(base) and base > 1):
        raise ValueError(
            f"base must be a number > 1 (2 = bits, math.e = nats); got {base!r}"
        )
    return math.log(base)


def check_set_sizes(
    set_sizes: ArrayLike, *, n_classes: int | None = None
) -> NDArray[np.int64]:
    """Return whole set sizes of 2..n_classes, a scalar or one axis."""
    allowed = "2" + (f"..{n_classes}" if n_classes is not None else " or more")
    sizes = check_real_set_sizes(set_sizes)
    whole = np.rint(sizes)
    top = np.inf if n_classes is None else n_classes
    if (whole != sizes).any() or (sizes > top).any():
        raise ValueError(
            f"set_sizes must be whole numbers of {allowed}; got {_brief(sizes)}"
        )
    return whole.astype(np.int64)


def check_real_set_sizes(set_sizes: ArrayLike, name: str = "set_sizes") -> FloatArray:
    """Return set sizes that are finite real numbers >= 2, a scalar or one axis."""
    sizes = real_array(set_sizes, name)
    if sizes.ndim > 1 or sizes.size == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional sequence; "
            f"got shape {sizes.shape}"
        )
    if not (np.isfinite(sizes).all() and (sizes >= 2).all()):
        raise ValueError(f"{name} must be at least 2; got {_brief(sizes)}")
    return sizes


def check_numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array of real numbers as it is; TypeError for masked or other ones."""
    _check_unmasked(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise _no_numbers(values, name) from error
    if array.dtype.kind not in "buif":
        how = f"{name}.toarray()" if hasattr(values, "toarray") else "them as float"
        kinds: Any = getattr(values, "dtypes", {})  # of a table's columns
        columns = kinds.items() if hasattr(kinds, "items") else ()
        text = [str(column) for column, kind in columns if kind.kind not in "buif"]
        where = f" (first in column {text[0]})" if text else ""
        raise TypeError(
            f"{name} must be real numbers, got dtype {array.dtype}{where}; give {how}"
        )
    return array


def _check_unmasked(values: Any, name: str) -> None:
    """Raise TypeError if an array has masked entries."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise TypeError(
            f"{name} is a masked array; leave masked samples out, or fill features "
            f"with NaN by {name}.filled(numpy.nan)"
        )


def check_accuracy(accuracy: ArrayLike, axes: str = "...") -> FloatArray:
    """Return numbers of [0, 1] (NaN passes, for regions without a value)."""
    array = real_array(accuracy, "accuracy", axes)
    # mean accuracies are sums of many terms: forgive their last digits
    wrong = (array < -1e-9) | (array > 1 + 1e-9)
    _refuse(array[wrong], "accuracy must lie in [0, 1] (a proportion, not per cent)")
    return np.clip(array, 0.0, 1.0)


def _refuse(wrong: FloatArray, text: str) -> None:
    """Raise ValueError with the first of wrong values, if there are any."""
    if wrong.size:
        raise ValueError(f"{text}; got {wrong.flat[0]}")


def check_curves(accuracy: ArrayLike, set_sizes: NDArray[Any]) -> FloatArray:
    """Return accuracies (..., n_sizes) of set sizes, or (...) of a single one."""
    curves = check_accuracy(accuracy)
    if set_sizes.ndim and (not curves.ndim or curves.shape[-1] != len(set_sizes)):
        raise ValueError(
            f"accuracy must have one value per set size ({len(set_sizes)}) on its last "
            f"axis; got shape {curves.shape}"
        )
    return curves


def check_information(information: ArrayLike) -> FloatArray:
    """Return information that is not negative (NaN and infinity pass)."""
    array = real_array(information, "information")
    _refuse(array[array < 0], "information must not be negative")
    return array


def check_n_classes(n_classes: ArrayLike) -> FloatArray:
    """Return numbers of classes, real numbers >= 2."""
    array = real_array(n_classes, "n_classes")
    good = (array >= 2) & (array <= _LARGEST_N_CLASSES)
    if array.size == 0 or not good.all():
        raise ValueError(
            f"n_classes must be at least 2, and at most {_LARGEST_N_CLASSES:g}; got "
            f"{_brief(array)}"
        )
    return array


def check_wins(wins: ArrayLike) -> FloatArray:
    """Return win distributions (..., K) that sum to one (all-NaN rows pass)."""
    array = real_array(wins, "wins", "..., n_classes", least=2)
    # a missing region is all NaN; a row that is part NaN is a mistake
    total = array.sum(axis=-1)
    if (np.isnan(total) != np.isnan(array).all(axis=-1)).any() or (array < 0).any():
        raise ValueError("wins must not be negative and NaN only in whole rows")
    wrong = total[np.abs(total - 1) > 1e-6]
    _refuse(wrong, "wins must sum to one over the last axis (see win_distribution)")
    return array


def check_margins(
    margins: ArrayLike, y_true: ArrayLike
) -> tuple[FloatArray | NDArray[np.float32], NDArray[np.intp]]:
    """Return finite margins (..., n_test, K) and column numbers (..., n_test)."""
    array: Any = np.asarray(check_real(margins, "margins"))
    if array.dtype != np.float32:
        array = real_array(array, "margins")
    if array.ndim < 2 or array.shape[-1] < 2 or array.shape[-2] < 1:
        raise ValueError(
            "margins must have shape (..., n_test, n_classes) with at least one "
            f"test point and 2 classes; got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(
            "margins must be finite; got NaN or infinity: drop the region, or clip "
            "the scores before ranking them"
        )
    return array, _check_columns(y_true, array.shape)


def check_one_region(margins: NDArray[Any], y_true: NDArray[Any]) -> None:
    """Raise ValueError for checked margins and labels with leading axes."""
    if margins.ndim != 2 or y_true.ndim != 1:
        raise ValueError(
            f"margins must have shape (n_test, n_classes) here; got {margins.shape} "
            f"with labels {y_true.shape}: call once per region"
        )


def _check_columns(y_true: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Return labels as column numbers of margins of this shape."""
    y = np.asarray(check_real(y_true, "y_true"))
    if y.ndim == 0 or y.shape[-1] != shape[-2]:
        raise ValueError(
            f"y_true must have one label per test point ({shape[-2]}); "
            f"got shape {y.shape}"
        )
    whole = y.astype(np.intp) if y.dtype.kind in "iufb" else np.full(y.shape, -1)
    if (whole != y).any() or (whole < 0).any() or (whole >= shape[-1]).any():
        raise ValueError(
            "y_true must hold column numbers of margins "
            f"(0..{shape[-1] - 1}); got {_brief(y)}: use numpy.unique(..., "
            "return_inverse=True)"
        )
    return whole


def _brief(array: NDArray[Any]) -> str:
    """Write an array in one short line."""
    return np.array2string(array, threshold=6, edgeitems=2).replace("\n", "")


def batches(n: int, size: int) -> list[slice]:
    """Return slices of a fixed length: memory stays bounded, results do not move."""
    size = max(1, size)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
