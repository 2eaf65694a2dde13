"""Rows of short integers, and of singles, that compiled loops keep in registers.

What ``_vector.py`` does with rows of float64, this does with `LANES` integers of 16
bits, four times as many to a register, and with float32 where these are too short.
Addresses are in bytes, and nothing checks them.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from neuroextrap.margins.compiled._vector import (
    _ADDRESS,
    _INDEX,
    LANES,
    _filled,
    _instruction,
    _read,
    _write,
)

SHORT_ROW, SINGLE_ROW = 2 * LANES, 4 * LANES  # bytes
LARGEST = 2**15 - 1

_SHORTS = ir.VectorType(ir.IntType(16), LANES)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)
_LONGS = ir.VectorType(ir.IntType(32), LANES)
_EIGHTHS = 8  # short integers in 128 bits, within which processors move them at once


class _Row(types.Type):
    """A row of numbers of one kind."""


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    """A row as processors know it."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _SHORTS if fe_type is _SHORT else _SINGLES)


_SHORT, _SINGLE = _Row(f"Shorts{LANES}"), _Row(f"Singles{LANES}")


@_instruction(_SHORT, _ADDRESS)
def load_shorts(builder: Any, address: Any) -> Any:
    """Read a row of short integers."""
    return _read(builder, address, _SHORTS, 2)


@_instruction(types.void, _ADDRESS, _SHORT)
def store_shorts(builder: Any, address: Any, value: Any) -> None:
    """Write a row of short integers."""
    _write(builder, value, address, 2)


@_instruction(_SHORT, types.intp)
def spread_short(builder: Any, number: Any) -> Any:
    """Return a row of one short integer."""
    return _filled(builder, builder.trunc(number, _SHORTS.element), _SHORTS)


@_instruction(_SHORT, _SHORT, _SHORT)
def add_shorts(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left + right``, which has to be in range."""
    return builder.add(left, right)


@_instruction(_SHORT, _SHORT, _SHORT)
def take_shorts(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left - right``, or what is nearest to it in range."""
    name = f"llvm.ssub.sat.v{LANES}i16"
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(_SHORTS, [_SHORTS] * 2)
        function = ir.Function(builder.module, kind, name)
    return builder.call(function, [left, right])


@_instruction(_SHORT, _SHORT, _SHORT)
def larger_shorts(builder: Any, left: Any, right: Any) -> Any:
    """Return the larger of two numbers."""
    return builder.select(builder.icmp_signed(">", left, right), left, right)


@_instruction(_SHORT, _SHORT, types.intp, _SHORT, _SHORT)
def where_short(builder: Any, codes: Any, code: Any, yes: Any, no: Any) -> Any:
    """Return numbers of ``yes`` where codes are this one, else of ``no``."""
    return builder.select(_is_code(builder, codes, code), yes, no)


@_instruction(_SHORT, _SHORT, _SHORT, _SHORT)
def count_above(builder: Any, counts: Any, left: Any, right: Any) -> Any:
    """Return ``counts`` with one more where ``left`` is above ``right``."""
    above = builder.icmp_signed(">", left, right)
    return builder.sub(counts, builder.sext(above, _SHORTS))


@_instruction(_SINGLE, _ADDRESS)
def load_singles(builder: Any, address: Any) -> Any:
    """Read a row of singles."""
    return _read(builder, address, _SINGLES, 4)


@_instruction(types.void, _ADDRESS, _SINGLE)
def store_singles(builder: Any, address: Any, value: Any) -> None:
    """Write a row of singles."""
    _write(builder, value, address, 4)


@_instruction(_SINGLE, types.float32)
def spread_single(builder: Any, number: Any) -> Any:
    """Return a row of one single."""
    return _filled(builder, number, _SINGLES)


@_instruction(_SINGLE, _SINGLE, _SINGLE)
def add_singles(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left + right``."""
    return builder.fadd(left, right)


@_instruction(_SINGLE, _SINGLE, _SINGLE)
def take_singles(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left - right``."""
    return builder.fsub(left, right)


@_instruction(_SINGLE, _SINGLE, _SINGLE)
def multiply_singles(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left * right``."""
    return builder.fmul(left, right)


@_instruction(_SINGLE, _SINGLE, _SINGLE)
def larger_size(builder: Any, size: Any, value: Any) -> Any:
    """Return ``value`` without its sign where that is larger than ``size``."""
    for one in (value, builder.fneg(value)):
        size = builder.select(builder.fcmp_ordered(">", one, size), one, size)
    return size


@_instruction(_SINGLE, _SINGLE, _SHORT, types.intp, _SINGLE)
def add_where_code(builder: Any, total: Any, codes: Any, code: Any, value: Any) -> Any:
    """Return ``total + value`` where codes are this one, else ``total``."""
    nothing = ir.Constant(_SINGLES, [0.0] * LANES)
    same = _is_code(builder, codes, code)
    return builder.fadd(total, builder.select(same, value, nothing))


@_instruction(_SINGLE, _SINGLE, _SHORT, _SHORT, types.float32)
def add_where_same(
    builder: Any, total: Any, codes: Any, others: Any, number: Any
) -> Any:
    """Return ``total`` plus a number where two rows of codes agree."""
    nothing = ir.Constant(_SINGLES, [0.0] * LANES)
    same = builder.icmp_signed("==", codes, others)
    value = builder.select(same, _filled(builder, number, _SINGLES), nothing)
    return builder.fadd(total, value)


@_instruction(_SINGLE, _SHORT)
def to_singles(builder: Any, value: Any) -> Any:
    """Turn short integers into singles."""
    return builder.sitofp(builder.sext(value, _LONGS), _SINGLES)


@_instruction(_SHORT, _SINGLE)
def to_shorts(builder: Any, value: Any) -> Any:
    """Cut singles off at the point; they have to be in range."""
    return builder.trunc(builder.fptosi(value, _LONGS), _SHORTS)


@_instruction(types.void, _ADDRESS, _ADDRESS, types.intp)
def transpose_shorts(builder: Any, rows: Any, out: Any, step: Any) -> None:
    """Write `LANES` rows, one after the other, as columns of rows ``step`` apart."""

    def moved(address: Any, n_bytes: int) -> Any:
        return builder.add(address, ir.Constant(_INDEX, n_bytes))

    upper, lower = (
        _interleaved(
            builder,
            [
                _read(builder, moved(rows, row * SHORT_ROW), _SHORTS, 2)
                for row in range(start, start + _EIGHTHS)
            ],
        )
        for start in (0, _EIGHTHS)
    )
    kind, half = ir.VectorType(ir.IntType(32), LANES), list(range(_EIGHTHS))
    for c in range(LANES):
        first = [place + c // _EIGHTHS * _EIGHTHS for place in half]
        order = ir.Constant(kind, first + [LANES + place for place in first])
        pair = upper[c % _EIGHTHS], lower[c % _EIGHTHS]
        column = builder.shuffle_vector(*pair, order)
        place = builder.mul(step, ir.Constant(_INDEX, c))
        _write(builder, column, builder.add(out, place), 2)


def _interleaved(builder: Any, rows: list) -> list:
    """Transpose eight rows, eight columns at a time, by taking turns three times.

    Numbers of one row and of the fourth after it take turns: after three times the
    place in a row has become the row. Each step is one instruction.
    """
    kind = ir.VectorType(ir.IntType(32), LANES)
    orders = [
        ir.Constant(
            kind,
            [
                side + eight + start + i
                for eight in range(0, LANES, _EIGHTHS)
                for i in range(_EIGHTHS // 2)
                for side in (0, LANES)
            ],
        )
        for start in (0, _EIGHTHS // 2)
    ]
    for _ in range(3):
        rows = [
            builder.shuffle_vector(rows[r], rows[r + _EIGHTHS // 2], order)
            for r in range(_EIGHTHS // 2)
            for order in orders
        ]
    return rows


def _is_code(builder: Any, codes: Any, code: Any) -> Any:
    """Return whether codes are this one."""
    one = _filled(builder, builder.trunc(code, _SHORTS.element), _SHORTS)
    return builder.icmp_signed("==", codes, one)
