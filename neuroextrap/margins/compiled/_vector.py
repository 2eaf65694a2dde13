"""Rows of numbers that compiled loops keep in registers.

Loops of numba over short rows ask each time whether arrays overlap, and write a sum
back after every term: that takes longer than the arithmetic. Here a row of `LANES`
numbers (float64) is one value, which the instructions below read from memory, calculate
with and write back. They are given addresses, in bytes, which nothing checks: whoever
calls a loop with an address keeps the array, since numba forgets arrays after their
last use. Everything is done lane by lane, so that no lane depends on its neighbors.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 16
ROW = 8 * LANES  # bytes

_HALF = LANES // 2
_INDEX = ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_HALF_VECTOR = ir.VectorType(ir.DoubleType(), _HALF)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)
_CODES = ir.VectorType(ir.IntType(8), LANES)


class _Lanes(types.Type):
    """A row of numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    """A row as processors know it."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


_LANES, _ADDRESS = _Lanes(), types.intp


def _instruction(result: Any, *kinds: Any) -> Callable[[Any], Any]:
    """Return a decorator for functions that write instructions into compiled loops.

    ``result`` and ``kinds`` are the types of what comes out and goes in.
    """

    def decorate(write: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            del signature
            value = write(builder, *args)
            return context.get_dummy_value() if value is None else value

        def typed(typing: Any, *args: Any) -> Any:
            del typing, args
            return result(*kinds), generate

        # numba asks for the names of all arguments; the builder's place is its own
        update_wrapper(typed, write)
        return intrinsic(typed)

    return decorate


@_instruction(_LANES, _ADDRESS)
def load(builder: Any, address: Any) -> Any:
    """Read a row."""
    return _read(builder, address, _VECTOR)


@_instruction(types.void, _ADDRESS, _LANES)
def store(builder: Any, address: Any, value: Any) -> None:
    """Write a row."""
    _write(builder, value, address)


@_instruction(types.float64, _ADDRESS)
def load_number(builder: Any, address: Any) -> Any:
    """Read one number (float64)."""
    return _read(builder, address, ir.DoubleType())


@_instruction(types.intp, _ADDRESS)
def load_index(builder: Any, address: Any) -> Any:
    """Read one index (uint32)."""
    return builder.zext(_read(builder, address, ir.IntType(32), 4), _INDEX)


@_instruction(_LANES, types.float64)
def spread(builder: Any, number: Any) -> Any:
    """Return a row of one number."""
    return _filled(builder, number, _VECTOR)


@_instruction(_LANES, _LANES, _LANES)
def add(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left + right``."""
    return builder.fadd(left, right)


@_instruction(_LANES, _LANES, _LANES)
def multiply(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left * right``."""
    return builder.fmul(left, right)


@_instruction(_LANES, _LANES, _LANES)
def divide(builder: Any, left: Any, right: Any) -> Any:
    """Return ``left / right``."""
    return builder.fdiv(left, right)


@_instruction(_LANES, _LANES, _LANES, _LANES)
def add_product(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """Return ``total + left * right``, rounded once where the processor can."""
    return _multiply_add(builder, left, right, total)


@_instruction(_LANES, _LANES, _LANES, _LANES)
def take_product(builder: Any, total: Any, left: Any, right: Any) -> Any:
    """Return ``total - left * right``, rounded once where the processor can."""
    return _multiply_add(builder, builder.fneg(left), right, total)


@_instruction(_LANES, _LANES)
def to_single(builder: Any, value: Any) -> Any:
    """Round to single precision."""
    return builder.fpext(builder.fptrunc(value, _SINGLES), _VECTOR)


@_instruction(_LANES, _LANES, _LANES, _LANES, _LANES)
def where_above(builder: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:
    """Return numbers of ``yes`` where ``left`` is above ``right``, else of ``no``."""
    return builder.select(builder.fcmp_ordered(">", left, right), yes, no)


@_instruction(_LANES, _LANES, _LANES, _LANES, _LANES)
def where_equal(builder: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:
    """Return numbers of ``yes`` where ``left`` equals ``right``, else of ``no``."""
    return builder.select(builder.fcmp_ordered("==", left, right), yes, no)


@_instruction(_LANES, _ADDRESS, types.intp, _LANES, _LANES)
def where_code(builder: Any, codes: Any, code: Any, yes: Any, no: Any) -> Any:
    """Return numbers of ``yes`` where a row of codes (uint8) has this one.

    ``codes`` is the address of the row.
    """
    one = _filled(builder, builder.trunc(code, _CODES.element), _CODES)
    same = builder.icmp_unsigned("==", _read(builder, codes, _CODES, 1), one)
    return builder.select(same, yes, no)


@_instruction(_LANES, _ADDRESS, _ADDRESS, _LANES, _LANES)
def where_same(builder: Any, codes: Any, others: Any, yes: Any, no: Any) -> Any:
    """Return numbers of ``yes`` where two rows of codes (uint8) agree.

    ``codes`` and ``others`` are the addresses of the rows.
    """
    one, other = (_read(builder, row, _CODES, 1) for row in (codes, others))
    return builder.select(builder.icmp_unsigned("==", one, other), yes, no)


@_instruction(types.boolean, _LANES, _LANES)
def all_above(builder: Any, left: Any, right: Any) -> Any:
    """Return whether all numbers are above others; False if one is no number."""
    above = builder.fcmp_ordered(">", left, right)
    bits = builder.bitcast(above, ir.IntType(LANES))
    return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, -1))


@_instruction(types.void, _ADDRESS, _ADDRESS, types.intp)
def transpose(builder: Any, rows: Any, out: Any, step: Any) -> None:
    """Write `LANES` rows, one after the other, as columns of rows ``step`` apart."""

    def moved(address: Any, n_bytes: int) -> Any:
        return builder.add(address, ir.Constant(_INDEX, n_bytes))

    for i in (0, _HALF):
        for j in (0, _HALF):
            block = [
                _read(builder, moved(rows, (i + r) * ROW + j * 8), _HALF_VECTOR)
                for r in range(_HALF)
            ]
            for c, column in enumerate(_transposed(builder, block)):
                row = builder.mul(step, ir.Constant(_INDEX, j + c))
                _write(builder, column, moved(builder.add(out, row), i * 8))


def _transposed(builder: Any, rows: list) -> list:
    """Transpose as many rows as each has numbers, by exchanging ever smaller blocks."""
    size, kind = len(rows), ir.VectorType(ir.IntType(32), len(rows))
    distance = size // 2
    while distance:
        behind = [p & distance for p in range(size)]
        low = [size + p - b if b else p for p, b in enumerate(behind)]
        high = [size + p if b else p + distance for p, b in enumerate(behind)]
        for i in (i for i in range(size) if not behind[i]):
            one, other = rows[i], rows[i + distance]
            for j, places in ((i, low), (i + distance, high)):
                order = ir.Constant(kind, places)
                rows[j] = builder.shuffle_vector(one, other, order)
        distance //= 2
    return rows


def _read(builder: Any, address: Any, kind: Any, align: int = 8) -> Any:
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def _write(builder: Any, value: Any, address: Any, align: int = 8) -> None:
    place = builder.inttoptr(address, value.type.as_pointer())
    builder.store(value, place, align=align)


def _multiply_add(builder: Any, left: Any, right: Any, total: Any) -> Any:
    name = f"llvm.fmuladd.v{LANES}f64"
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        function = ir.Function(builder.module, kind, name)
    return builder.call(function, [left, right, total])


def _filled(builder: Any, number: Any, kind: Any) -> Any:
    """Return a vector of one number."""
    nothing, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    places = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
    one = builder.insert_element(nothing, number, first)
    return builder.shuffle_vector(one, nothing, places)
