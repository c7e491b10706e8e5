"""Matrices that a warp loads from shared memory, stores there, or transposes in registers.

Layer: nvgen.sim.semantics.  All threads of a warp execute these together.  A byte of shared memory
is read or written by the thread whose register it comes to or from, not by the one that gives its
address; elements of 6 and 4 bits are read by the latter.  Threads beyond those that give addresses
may give anything, as from sm_80 on.  PTX ISA, ldmatrix; stmatrix; movmatrix.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.fragments_matrix import LINE, matrix_bytes
from intrinsics.layouts.packing import widened
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Op
from intrinsics.modifiers import CopyFormat, ScalarType, Space
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, gather, scatter, window_of
from nvgen.sim.semantics.memory.accesses import find
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand, Warp

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]

_ALL = (1 << WARP) - 1
_PACKED = {None: LINE, CopyFormat.B6X16_P32: 12, CopyFormat.B4X16_P64: 8}
"""Bytes of a line that elements stand in; the rest is padding."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """What an instruction moves: the line and the byte of each byte of the threads' registers.

    Memory is accessed in units of `size` bytes: `starts` in each line, by `lanes`.
    """

    line: Indices
    byte: Indices
    starts: Indices
    lanes: NDArray[np.intp]
    size: int

    @property
    def lines(self) -> int:
        """The number of its 16-byte lines."""
        return len(self.lanes)


@functools.cache
def _cells(shape: MatrixShape, count: int, transposed: bool, source: CopyFormat | None) -> _Cells:
    line, byte = matrix_bytes(shape, count, transposed=transposed)
    lines = shape.lines * count
    packed = _PACKED[source]
    if source is not None:
        lanes = np.arange(lines, dtype=np.intp)[:, None]
        return _Cells(line, byte, np.zeros(1, np.int64), lanes, packed)
    owner = np.empty((lines, LINE), np.intp)
    owner[line, byte] = np.arange(WARP)[:, None]
    size = 1
    while size < 4 and (owner[:, :: 2 * size] == owner[:, size :: 2 * size]).all():
        size *= 2
    starts = np.arange(0, LINE, size, dtype=np.int64)
    return _Cells(line, byte, starts, owner[:, ::size], size)


class _Matrices:
    """The matrices of a record, where they lie in memory."""

    def __init__(self, c: Compiler, mi: MachineInstr) -> None:
        attributes = mi.form.attributes
        shape, num, source = attributes["shape"], attributes["num"], attributes.get("src_fmt")
        space = attributes["space"]
        assert isinstance(shape, MatrixShape)
        assert isinstance(num, MatrixNum)
        assert source is None or isinstance(source, CopyFormat)
        assert (source is None) is (attributes.get("dst_fmt") is None)
        assert (attributes["type"] is ScalarType.B16) is (
            shape is MatrixShape.M8N8
        )  # by default, as in the rows
        self.head, self.section = mi.row.head, mi.row.section
        self.source = source
        self.space = space if isinstance(space, Space) else None
        self.cells = _cells(shape, num.count, attributes["trans"] is not None, source)
        self._address = c.address(mi["a"])

    def lines(self, strand: Strand) -> Indices:
        """The addresses of the lines.

        Raises: Fault for one that is no address of shared memory, or no multiple of 16.
        """
        _whole(strand, self.head)
        found = self._address(strand.warp)[: self.cells.lines]
        if self.space is None:
            self._check_windows(found)
        wrong = found % LINE != 0
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise fault(
                "misaligned",
                f"{self.agent(strand.warp)}: the line of lane {lane} is misaligned",
                got=f"{int(found[lane]):#x}",
                expected=f"a multiple of {LINE}",
                section=self.section,
            )
        return found

    def _check_windows(self, addresses: Indices) -> None:
        for lane, address in enumerate(addresses):
            window = window_of(int(address))
            if window is not Space.SHARED:
                raise fault(
                    "state-space",
                    f"{self.head}: the line of lane {lane} is not in shared memory",
                    got=f"{int(address):#x}, in .{window.value}",
                    expected="a generic address of shared memory",
                    section=self.section,
                )

    def agent(self, warp: Warp) -> str:
        """The accessing warp, for messages."""
        return f"{self.head} of warp {warp.number}"

    def read(self, strand: Strand) -> Bytes:
        """The lines, and the padding of those that have some as zeros."""
        cells, warp = self.cells, strand.warp
        addresses, lanes = self._units(strand)
        found = np.zeros((addresses.size, cells.size), np.uint8)
        agent, memory = self.agent(warp), warp.cta.machine.memory
        for region, where, part in find(warp.cta, addresses, self.space, agent, Access.READ):
            offsets = memory.access(
                region, where, cells.size, Access.READ, Proxy.GENERIC, agent, lanes=lanes[part]
            )
            found[part] = gather(region, offsets, cells.size)
        lines = found.reshape(cells.lines, -1)
        if self.source is None:
            return lines
        padded = np.zeros((cells.lines, LINE), np.uint8)
        padded[:, : lines.shape[1]] = lines
        return widened(padded, self.source)

    def write(self, strand: Strand, lines: Bytes) -> None:
        """Write all lines."""
        cells, warp = self.cells, strand.warp
        addresses, lanes = self._units(strand)
        data = lines.reshape(-1, cells.size)
        agent, memory = self.agent(warp), warp.cta.machine.memory
        for region, where, part in find(warp.cta, addresses, self.space, agent, Access.WRITE):
            offsets = memory.access(
                region,
                where,
                cells.size,
                Access.WRITE,
                Proxy.GENERIC,
                agent,
                lanes=lanes[part],
                data=data[part],
            )
            scatter(region, offsets, data[part])

    def _units(self, strand: Strand) -> tuple[Indices, NDArray[np.intp]]:
        """The addresses that are accessed, and by which lanes."""
        addresses = self.lines(strand)[:, None] + self.cells.starts[None, :]
        return addresses.reshape(-1), self.cells.lanes.reshape(-1)


def _whole(strand: Strand, head: str) -> None:
    """Whether a whole warp executes it.

    Raises: Fault.
    """
    if strand.mask != _ALL:
        raise fault(
            "partial-warp",
            f"{head} by a warp of fewer than 32 threads",
            got=f"lanes {strand.mask:#010x}",
            expected="32 threads, each with its part of the matrices",
            hint="an H100 moves other bytes then: launch blocks of a multiple of 32 threads",
            section=head,
        )


def _words(data: Bytes) -> NDArray[np.uint32]:
    """The registers that 32 threads' bytes make."""
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


def _registers(op: Op) -> tuple[Op, ...]:
    return op if isinstance(op, tuple) else (op,)


def load(c: Compiler, mi: MachineInstr) -> Step:
    """Give each thread its part of the matrices."""
    matrices = _Matrices(c, mi)
    writers = [c.set(r) if type(r) is int else None for r in _registers(mi["d"])]

    def run(strand: Strand) -> Outcome:
        lines = matrices.read(strand)
        words = _words(lines[matrices.cells.line, matrices.cells.byte])
        for i, write in enumerate(writers):
            if write is not None:
                write(strand, words[:, i])
        return None

    return run


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Put each thread's part of the matrices into memory."""
    matrices = _Matrices(c, mi)
    getters = [c.get(r, ScalarType.B32) for r in _registers(mi["r"])]

    def run(strand: Strand) -> Outcome:
        words = np.stack([get(strand.warp) for get in getters], axis=1).astype("<u4")
        lines = np.empty((matrices.cells.lines, LINE), np.uint8)
        lines[matrices.cells.line, matrices.cells.byte] = words.view(np.uint8)
        matrices.write(strand, lines)
        return None

    return run


def transpose(c: Compiler, mi: MachineInstr) -> Step:
    """Give each thread its part of the matrix whose columns the rows were."""
    target = mi["d"]
    assert type(target) is int
    write, get = c.set(target), c.get(mi["a"], ScalarType.B32)
    head = mi.row.head

    def run(strand: Strand) -> Outcome:
        _whole(strand, head)
        data = get(strand.warp).astype("<u4")[:, None].view(np.uint8)
        rows = np.empty((8, LINE), np.uint8)
        rows[matrix_bytes(MatrixShape.M8N8)] = data
        turned = rows[matrix_bytes(MatrixShape.M8N8, transposed=True)]
        write(strand, _words(turned)[:, 0])
        return None

    return run


SEMANTICS: dict[str, Maker] = {"ldmatrix": load, "stmatrix": store, "movmatrix": transpose}
