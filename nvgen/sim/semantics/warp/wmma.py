"""wmma: a warp loads matrices, multiplies them, stores the result.

Layer: nvgen.sim.semantics.  Which thread has which elements the manual leaves open.  Here the
threads have them one after the other: of A, C and D row by row, of B column by column; where
registers have more room than a matrix has elements they begin anew.  PTX ISA, wmma.load;
wmma.store; wmma.mma.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Modifier, Rounding, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wmma import WmmaShape
from intrinsics.row import Attribute, Attributes
from nvgen.sim.faults import not_simulated
from nvgen.sim.memory.regions import Access, Proxy, gather, scatter
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.semantics.warp.mma_sync_numbers import multiplier
from nvgen.sim.semantics.warp.mma_sync_registers import (
    Registers,
    bits_of,
    elements,
    matrices,
    too_few,
    writer,
)
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import FULL, WARP, Outcome, Step, Strand

T = ScalarType
Indices = NDArray[np.int64]
_SUMS = {T.F16: 16, T.F32: 32, T.S32: 32, T.F64: 64}
_BYTE = 8
_WORD = 32


@functools.cache
def _places(shape: WmmaShape, name: str, each: int) -> tuple[Indices, Indices]:
    """(row, column) of each of the `each` elements of 32 threads."""
    rows, columns = shape.size(name)
    flat = np.arange(WARP * each, dtype=np.int64).reshape(WARP, each) % (rows * columns)
    if name == "b":
        column, row = np.divmod(flat, rows)
    else:
        row, column = np.divmod(flat, columns)
    return row, column


def _bits(type_: object, name: str) -> int:
    """How many bits an element takes in memory, and in a register."""
    assert isinstance(type_, Modifier)
    if name in "cd":
        assert isinstance(type_, ScalarType)
        return _SUMS[type_]
    return _WORD if type_ is T.TF32 else bits_of(type_)


class _Matrix:
    """A matrix in memory: the address of each part that a thread moves, `size` bytes long."""

    def __init__(self, c: Compiler, mi: MachineInstr, name: str) -> None:
        attributes, registers = mi.form.attributes, mi["r"]
        shape, space = attributes["shape"], attributes["space"]
        assert isinstance(shape, WmmaShape)
        assert isinstance(registers, tuple)
        self.mi, self.head = mi, mi.row.head
        self.space = space if isinstance(space, Space) else None
        self.address = c.address(mi["p"])
        self.stride = c.get(mi["stride"], T.U32) if attributes["stride"] else None
        bits, held = _bits(attributes["type"], name), 64 if attributes["type"] is T.F64 else _WORD
        self.word = np.dtype("<u8" if held == 64 else "<u4")
        row, column = _places(shape, name, len(registers) * held // bits)
        rows, columns = shape.size(name)
        by_row = attributes["layout"] is MmaLayout.ROW
        self.line, self.at = (row, column) if by_row else (column, row)
        self.usual = columns if by_row else rows
        self.bits, self.size = bits, bits // _BYTE
        if bits < _BYTE:  # whole words of adjacent elements
            self.size = _WORD // _BYTE
            self.line, self.at = (part[:, :: _WORD // bits] for part in (self.line, self.at))
        self.lanes = np.repeat(np.arange(WARP, dtype=np.intp), self.at.shape[1])

    def addresses(self, strand: Strand) -> Indices:
        """The address of each part, thread by thread."""
        if strand.mask != FULL:
            raise too_few(self.mi, strand)
        stride: Indices | int = self.usual
        if self.stride is not None:
            stride = self.stride(strand.warp).astype(np.int64)[:, None]
        offsets = (self.line * stride + self.at) * self.bits // _BYTE
        found: Indices = (self.address(strand.warp)[:, None] + offsets).reshape(-1)
        return found


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Give each thread its part of a matrix."""
    matrix = _Matrix(c, mi, mi.row.head[-1])
    registers = mi["r"]
    assert isinstance(registers, tuple)
    setters = [c.set(reg) if type(reg) is int else None for reg in registers]

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        agent, memory = f"{matrix.head} of warp {warp.number}", warp.cta.machine.memory
        addresses, size = matrix.addresses(strand), matrix.size
        found = np.zeros((addresses.size, size), np.uint8)
        for region, where, part in find(warp.cta, addresses, matrix.space, agent, Access.READ):
            lanes = matrix.lanes[part]
            offsets = memory.access(
                region, where, size, Access.READ, Proxy.GENERIC, agent, align=size, lanes=lanes
            )
            found[part] = gather(region, offsets, size)
        words = np.ascontiguousarray(found.reshape(WARP, -1)).view(matrix.word)
        for number, write in enumerate(setters):
            if write is not None:
                write(strand, words[:, number].astype(matrix.word.newbyteorder("=")))
        return None

    return run


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Put each thread's part of D into memory."""
    matrix = _Matrix(c, mi, "d")
    registers = mi["r"]
    assert isinstance(registers, tuple)
    held = mi.row.operand["r"].type_under(mi.form.attributes)
    getters = [c.get(reg, held) for reg in registers]

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        agent, memory = f"{matrix.head} of warp {warp.number}", warp.cta.machine.memory
        words = np.stack([get(warp) for get in getters], axis=1)
        data = np.ascontiguousarray(words.view(matrix.word.newbyteorder("=")).astype(matrix.word))
        parts = data.view(np.uint8).reshape(-1, matrix.size)
        addresses, size = matrix.addresses(strand), matrix.size
        for region, where, part in find(warp.cta, addresses, matrix.space, agent, Access.WRITE):
            offsets = memory.access(
                region, where, size, Access.WRITE, Proxy.GENERIC, agent,
                align=size, lanes=matrix.lanes[part], data=parts[part],
            )  # fmt: skip
            scatter(region, offsets, parts[part])
        return None

    return run


def _types(mi: MachineInstr) -> Attributes:
    """What the numbers are; the row of f16 does not say the types of A and B."""
    attributes = mi.form.attributes
    found: dict[str, Attribute] = {"atype": T.F16, "btype": T.F16}
    names = ("atype", "btype", "ctype", "dtype", "op", "sum", "satfinite", "rnd")
    return found | {name: attributes[name] for name in names if name in attributes}


def multiply(c: Compiler, mi: MachineInstr) -> Step:
    """D = A·B + C.

    Raises: NotSimulatedError for sums of f64 that are not rounded to nearest.
    """
    attributes = _types(mi)
    shape = mi.form.attributes["shape"]
    assert isinstance(shape, WmmaShape)
    if attributes.get("rnd") not in (None, Rounding.RN):
        raise not_simulated("wmma.mma of f64 that does not round to nearest even")
    m, n, k = shape.mnk
    a, b, before = (_held(c, mi, name, attributes, shape) for name in "abc")
    old, at = before
    compute = multiplier(attributes)
    write = writer(c, mi["d"], _bits(attributes["dtype"], "d"))

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        if strand.mask != FULL:
            raise too_few(mi, strand)
        left = matrices(a[0](warp), a[1], (m, k))
        right = matrices(b[0](warp), b[1][::-1], (n, k))
        found = compute(left, right, matrices(old(warp), at, (m, n)), None)
        write(strand, found[at])
        return None

    return run


def _held(
    c: Compiler, mi: MachineInstr, name: str, attributes: Attributes, shape: WmmaShape
) -> tuple[Registers, tuple[Indices, Indices]]:
    """The elements that registers hold, and where they stand in the matrix."""
    type_, op = attributes[f"{name}type"], mi[name]
    assert isinstance(op, tuple)
    bits = _bits(type_, name)
    held = mi.row.operand[name].type_under(mi.form.attributes)
    each = len(op) * (64 if type_ is T.F64 else _WORD) // bits
    return elements(c, op, held, bits), _places(shape, name, each)


SEMANTICS: dict[str, Maker] = {
    **{f"wmma.load.{name}": load for name in "abc"},
    "wmma.store.d": store,
    **{f"wmma.mma.{family}": multiply for family in ("f16", "typed", "b1")},
}
