"""From what a user says of a second-level design to the contrast that is tested."""

import numpy as np
import pandas as pd

from neuroextrap.stats._linear_test import linear_test


def resolve_test(design_matrix, contrast, n_subjects):
    """Return the `LinearTest` of a design (one row a subject) and a contrast.

    Without a design it is the mean over subjects. The contrast is a weight per column,
    the name of a column, or an expression of names ("patients - controls").
    """
    if design_matrix is None:
        if contrast is not None:
            raise ValueError(
                f"contrast={contrast!r} needs a design_matrix; without one the mean "
                "over subjects is tested"
            )
        return linear_test(np.ones((n_subjects, 1)), [1.0])
    names = [str(name) for name in getattr(design_matrix, "columns", ())]
    matrix = _as_numbers(design_matrix)
    if matrix.ndim != 2 or len(matrix) != n_subjects:
        raise ValueError(
            f"design_matrix has shape {matrix.shape}, and imgs hold {n_subjects} "
            "subjects; give one row per subject, in the order of imgs"
        )
    return linear_test(matrix, _weights(contrast, names, matrix.shape[1]))


def _as_numbers(design_matrix):
    """Return the design as floating point numbers."""
    try:
        return np.asarray(design_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "design_matrix must hold numbers only; code groups as columns of 0 and 1 "
            "(pandas.get_dummies, or nilearn's make_second_level_design_matrix)"
        ) from None


def _weights(contrast, names, n_columns):
    """Return one weight per column."""
    if contrast is None:
        if n_columns == 1:
            return np.ones(1)
        columns = ", ".join(names) or f"{n_columns} columns"
        raise ValueError(
            "contrast=None is only for a design of one column; name what is tested: a "
            f"column, an expression, or a weight for each of: {columns}"
        )
    if not isinstance(contrast, str):
        return np.asarray(contrast, dtype=np.float64)
    if contrast in names:
        return (np.array(names) == contrast).astype(np.float64)
    if not names:
        raise ValueError(
            f"contrast={contrast!r} is a name, and design_matrix is an array; give a "
            "DataFrame, or one weight per column"
        )
    return _expressed(contrast, names)


def _expressed(contrast, names):
    """Return the weights of an expression, which must be linear in the columns."""
    if "@" in contrast or "__" in contrast:
        raise ValueError(
            f"contrast={contrast!r} must combine columns by + - * / and numbers only"
        )
    columns = pd.DataFrame(np.eye(len(names)), columns=names)
    try:
        weights, twice = (
            (scale * columns).eval(contrast, engine="python").to_numpy(dtype=float)
            for scale in (1, 2)
        )
    except Exception as error:
        raise ValueError(
            f"contrast={contrast!r} is neither a column of design_matrix "
            f"({', '.join(names)}) nor an expression of columns such as "
            f"{' - '.join(names[:2])!r}; put names that hold spaces into backticks"
        ) from error
    if not np.allclose(twice, 2 * weights, rtol=1e-12, atol=0):
        raise ValueError(
            f"contrast={contrast!r} must be a sum of columns with weights, such as "
            f"{' - '.join(names[:2])!r}; leave out constants, powers and products"
        )
    return weights
