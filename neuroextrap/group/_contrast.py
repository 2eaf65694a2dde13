"""From what a user says of a second-level design to the contrast that is tested."""

import ast
from collections.abc import Mapping

import numpy as np
import pandas as pd

from neuroextrap.stats._linear_scores import linear_test
from neuroextrap.stats._validation import brief


def resolve_test(design_matrix, contrast, n_subjects):
    """Return the `LinearTest` of a design (None: the mean) and a contrast."""
    if design_matrix is None:
        if contrast is not None:
            raise ValueError(
                f"contrast={brief(contrast)} needs a design_matrix; without one the "
                "mean over subjects is tested"
            )
        return linear_test(np.ones((n_subjects, 1)), [1.0])
    names = [str(name) for name in getattr(design_matrix, "columns", ())]
    matrix = _as_numbers(design_matrix)
    if matrix.ndim != 2 or len(matrix) != n_subjects:
        raise ValueError(
            f"design_matrix has shape {matrix.shape}, and imgs hold {n_subjects} "
            "subjects; give one row per subject, in the order of imgs"
        )
    weights = _weights(contrast, names, matrix.shape[1])
    return linear_test(matrix, weights)


def _as_numbers(design_matrix):
    """Return the design as floating point numbers."""
    try:
        return np.asarray(design_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "design_matrix must hold numbers only; code groups as columns of 0 and 1 "
            "(pandas.get_dummies, or nilearn's make_second_level_design_matrix)"
        ) from None


def as_expression(contrast):
    """Return weights with names (a Series or a dict) as an expression of columns."""
    if isinstance(contrast, Mapping):
        contrast = pd.Series(dict(contrast))
    if not isinstance(contrast, pd.Series):
        return contrast
    if contrast.index.equals(pd.RangeIndex(len(contrast))):
        return contrast
    return " + ".join(f"{float(w)!r} * `{name}`" for name, w in contrast.items())


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
    if isinstance(contrast, (list, tuple)) and isinstance(contrast[0], str):
        return np.stack([_weights(each, names, n_columns) for each in contrast])
    if isinstance(contrast, str):
        return _named_weights(contrast, names)
    return np.asarray(contrast, dtype=np.float64)


def _named_weights(contrast, names):
    """Return the weights of a column's name or an expression of columns."""
    if not names:
        raise ValueError(
            f"contrast={contrast!r} is a name, and design_matrix is an array; give a "
            "DataFrame, or one weight per column"
        )
    if len(set(names)) < len(names):
        raise ValueError(
            f"design_matrix has two columns of one name ({', '.join(names)}), so "
            f"contrast={contrast!r} is not clear; rename one, or give weights"
        )
    if contrast in names:
        return (np.array(names) == contrast).astype(np.float64)
    return _expressed(contrast, names)


def _expressed(contrast, names):
    """Return the weights of an expression, which must be linear in the columns."""
    try:
        *weights, constant = _read(contrast, names)
        if constant:
            raise ArithmeticError
    except ArithmeticError:
        raise ValueError(
            f"contrast={contrast!r} must be a sum of columns with weights, such as "
            f"{' - '.join(names[:2])!r}; leave out constants, powers and products"
        ) from None
    except (LookupError, SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"contrast={contrast!r} is neither a column of design_matrix "
            f"({', '.join(names)}) nor an expression of columns by + - * / ( ) and "
            f"numbers, such as {' - '.join(names[:2])!r}; put names that are no plain "
            "words into backticks"
        ) from None
    return np.array(weights)


def _read(contrast, names):
    """Return the weights of the columns, and last the constant, of an expression."""
    *units, one = np.eye(len(names) + 1)
    known = dict(zip(names, units, strict=True))
    pieces, mark = contrast.split("`"), "_"
    if len(pieces) % 2 == 0:
        raise SyntaxError
    while mark in contrast:
        mark += "_"
    for number in range(1, len(pieces), 2):
        word = f"{mark}{number}"
        known[word] = known[pieces[number]]
        pieces[number] = f" {word} "
    tree = ast.parse("".join(pieces).strip(), mode="eval").body
    with np.errstate(over="raise", invalid="raise"):
        return _evaluated(tree, known, one)


def _evaluated(node, known, one):
    """Return the weights of the columns, and last the constant, of a syntax tree.

    LookupError or SyntaxError for what is no expression of columns, ArithmeticError for
    what is not linear in them.
    """
    if isinstance(node, ast.Name):
        return known[node.id]
    number = node.value if isinstance(node, ast.Constant) else None
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return float(number) * one
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluated(node.operand, known, one)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp):
        raise SyntaxError
    sides = (node.left, node.right)
    return _combined(node.op, *(_evaluated(side, known, one) for side in sides))


def _combined(operator, left, right):
    """Return what two sides make; ArithmeticError unless it is linear in columns."""
    if isinstance(operator, (ast.Add, ast.Sub)):
        return left + right if isinstance(operator, ast.Add) else left - right
    if isinstance(operator, ast.Mult) and not left[:-1].any():
        left, right = right, left
    if right[:-1].any() or not isinstance(operator, (ast.Mult, ast.Div)):
        raise ArithmeticError
    if isinstance(operator, ast.Mult):
        return left * right[-1]
    if not right[-1]:
        raise ZeroDivisionError
    return left / right[-1]
