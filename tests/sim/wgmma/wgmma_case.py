"""A warpgroup's multiplies in PTX: matrices into shared memory and registers, D back.

Where elements lie is written down here as the manual draws it, and `tests.sim.layouts` says it of
shared memory; nothing of nvgen's is used but to run the text.  PTX ISA, Asynchronous Warpgroup
Level Matrix Instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.sim.layouts import k_major, mn_major, swizzled
from tests.sim.ptx import run
from tests.sim.tcgen05.mma_layouts import bits as bits_of

Codes = NDArray[np.unsignedinteger]
Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

VERSION = "8.6"
SWIZZLE_CODES = {0: 0, 128: 1, 64: 2, 32: 3}
"""Bits 62 and 63 of a descriptor (Matrix Descriptor Format)."""

DENSE_K = {16: 16, 32: 8, 8: 32, 1: 256}
"""K of a dense multiply by bits of an element."""

THREADS = 128


@dataclass(frozen=True)
class Lying:
    """How a matrix lies in shared memory: its span of swizzling, its strides, what is contiguous.

    Strides are those that keep its parts apart by so many bytes more than they must be.
    """

    span: int = 128
    transposed: bool = False
    more: int = 0

    def strides(self, rows: int, line: int) -> tuple[int, int]:
        """Leading and stride offsets in bytes of `rows` rows of `line` bytes."""
        width = self.span or 16
        atom = 8 * width
        gap = self.more * (atom if self.span else 16)
        if not self.transposed and self.span:
            return 16, atom + gap
        if not self.transposed:
            step = atom + gap
            return step, step * (line // 16) + gap
        across = -(-rows * 2 // width)
        step = atom + gap
        if self.span:
            return step, step * across + gap
        return step * across + gap, step

    def places(self, rows: int, line: int) -> NDArray[np.int64]:
        """Where each 16 bytes begin: rows by pieces of a row; transposed: pieces of rows by K."""
        lbo, sbo = self.strides(rows, line)
        how = {"span": self.span, "lbo": lbo, "sbo": sbo}
        if self.transposed:
            table = [
                [swizzled(mn_major(8 * p, k, 2, **how), self.span) for k in range(line // 2)]
                for p in range(-(-rows // 8))
            ]
        else:
            table = [
                [swizzled(k_major(row, 16 * p, **how), self.span) for p in range(line // 16)]
                for row in range(rows)
            ]
        return np.array(table, np.int64)

    def image(self, codes: Codes) -> Bytes:
        """A matrix in bytes of shared memory, from a multiple of 1024 on."""
        rows, line = codes.shape[0], codes.shape[1] * codes.dtype.itemsize
        where = self.places(rows, line)
        pieces = codes
        if self.transposed:
            pieces = np.ascontiguousarray(codes.reshape(-1, 8, codes.shape[1]).transpose(0, 2, 1))
        data = np.ascontiguousarray(pieces).view(np.uint8).reshape(-1, 16)
        size = -(-(int(where.max()) + 16) // 1024) * 1024
        found = np.full(size, 0x55, np.uint8)
        found[where.reshape(-1)[:, None] + np.arange(16)] = data
        return found

    def descriptor(self, rows: int, line: int) -> int:
        """All of the descriptor but the address."""
        lbo, sbo = self.strides(rows, line)
        return lbo >> 4 << 16 | sbo >> 4 << 32 | SWIZZLE_CODES[self.span] << 62


# ---- registers -------------------------------------------------------------------------------


def d_cells(n: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of each element that a thread holds of D, in order (Figure of wgmma's D)."""
    thread = np.arange(THREADS)[:, None]
    i = np.arange(n // 2)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2 % 2)
    column = i // 4 * 8 + thread % 4 * 2 + i % 2
    assert width in (16, 32)
    return row, np.broadcast_to(column, row.shape)


def to_registers(d: Codes, width: int) -> Words:
    """D, 64 × n codes, as the registers of 128 threads."""
    row, column = d_cells(d.shape[1], width)
    held = np.ascontiguousarray(d[row, column].astype(f"u{width // 8}"))
    return held.view(np.uint32)


def from_registers(words: Words, n: int, width: int) -> Codes:
    """The reverse."""
    row, column = d_cells(n, width)
    found = np.zeros((64, n), f"u{width // 8}")
    found[row, column] = np.ascontiguousarray(words).view(f"u{width // 8}")
    return found


def a_registers(stored: Codes) -> Words:
    """A, 64 rows of 32 bytes, as four registers of each of 128 threads."""
    words = np.ascontiguousarray(stored).view(np.uint32)
    assert words.shape == (64, 8)
    thread = np.arange(THREADS)
    row = thread // 32 * 16 + thread % 32 // 4
    word = thread % 4
    pairs = ((row, word), (row + 8, word), (row, word + 4), (row + 8, word + 4))
    return np.stack([words[r, w] for r, w in pairs], axis=1)


def metadata_registers(indices: NDArray[np.int64], width: int, selector: int) -> Words:
    """The indices of a sparse A, 64 × chunks, as a register of each of 128 threads.

    Threads that hold none have a pattern.
    """
    found = np.full(THREADS, 0xDEADBEEF, np.uint64)
    for thread in range(THREADS):
        row = thread // 32 * 16 + thread % 32 // 4
        of_four = thread % 4
        if width == 8:
            nibbles = indices[row + of_four % 2 * 8, of_four // 2 * 8 :][:8]
        elif of_four // 2 != selector:
            continue
        else:
            chunks = slice(of_four % 2 * 4, of_four % 2 * 4 + 4)
            nibbles = np.concatenate([indices[row, chunks], indices[row + 8, chunks]])
        found[thread] = sum(int(nibble) << 4 * i for i, nibble in enumerate(nibbles))
    return found.astype(np.uint32)


# ---- the kernel ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One multiply; `held` says that A is in registers, `scale_d` is 0, 1 or a predicate's value.

    A and B may lie in shared memory in any way.
    """

    n: int
    d: str
    a: str
    b: str = ""
    sparse: bool = False
    held: bool = False
    a_lies: Lying = Lying()
    b_lies: Lying = Lying()
    scale_a: int = 1
    scale_b: int = 1
    satfinite: bool = False
    selector: int = 0
    repeat: int = 1

    @property
    def width(self) -> int:
        """Bits of an element of A."""
        return 1 if self.a == "b1" else bits_of(self.a)

    @property
    def k(self) -> int:
        """K, zeros of a sparse A included."""
        return DENSE_K[self.width] * (1 + self.sparse)

    @property
    def d_width(self) -> int:
        """Bits of an element of D."""
        return 16 if self.d == "f16" else 32

    @property
    def registers(self) -> int:
        """Registers of D in a thread."""
        return self.n * self.d_width // 64

    @property
    def instruction(self) -> str:
        """The multiply, on %acc, %av, %rd8 and %rd9, %meta, and scale-d in %p8."""
        head = "wgmma.mma_async.sp" if self.sparse else "wgmma.mma_async"
        sat = ".satfinite" * self.satfinite
        bits = ".and.popc" * (self.a == "b1")
        types = f"{self.d}.{self.a}.{self.b or self.a}{bits}"
        sums = ", ".join(f"%acc{i}" for i in range(self.registers))
        a = "{%av0, %av1, %av2, %av3}" if self.held else "%rd8"
        operands = ["{" + sums + "}", a, "%rd9"]
        if self.sparse:
            operands += ["%meta", str(self.selector)]
        operands.append("%p8")
        if self.d != "s32":
            operands += [str(self.scale_a), str(self.scale_b)]
        if self.width == 16:
            turned = [self.a_lies.transposed] * (not self.held) + [self.b_lies.transposed]
            operands += [str(int(t)) for t in turned]
        shape = f".m64n{self.n}k{self.k}"
        return f"{head}.sync.aligned{shape}{sat}.{types} {', '.join(operands)};"


@dataclass
class Given:
    """What a multiply is given: codes of A (what is stored), B and D, indices of a sparse A."""

    a: Codes
    b: Codes
    d: Codes
    indices: NDArray[np.int64] | None = None
    accumulate: bool = True


FILL = """\
    // shared memory: 16 bytes of each of 128 threads at a time
    mul.lo.u32 %r1, %tx, 16;
    mov.u32 %r2, tile;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd1, %rd1, %a0;
    add.u32 %r3, %r2, %r1;
    mov.u32 %r4, %r1;
fill:
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd1];
    st.shared.v4.u32 [%r3], {{%r5, %r6, %r7, %r8}};
    add.u64 %rd1, %rd1, 2048;
    add.u32 %r3, %r3, 2048;
    add.u32 %r4, %r4, 2048;
    setp.lt.u32 %p1, %r4, {size};
    @%p1 bra fill;
"""
"""`tile` gets the `size` bytes that the first argument points to; %r2 is its address."""

REGISTERS = """
    .reg .{kind} %acc<{count}>;
    .reg .b32 %av<4>, %meta, %wide;
"""

OPERANDS = """\
    {proxy}
    bar.sync 0;
    // registers
    mul.wide.u32 %rd2, %tx, {pitch};
    add.u64 %rd2, %rd2, %a1;
    mul.wide.u32 %rd3, %tx, 20;
    add.u64 %rd3, %rd3, %a2;
{loads}
    ld.global.u32 %meta, [%rd3+16];
    setp.ne.u32 %p8, %a3, 0;
    // descriptors
    shr.u32 %r9, %r2, 4;
    and.b32 %r9, %r9, 0x3FFF;
    cvt.u64.u32 %rd4, %r9;
    add.u64 %rd8, %rd4, {a_start};
    add.u64 %rd9, %rd4, {b_start};
    or.b64 %rd8, %rd8, {a_desc};
    or.b64 %rd9, %rd9, {b_desc};
{multiply}
{stores}
"""

MULTIPLY = """
    wgmma.fence.sync.aligned;
{multiplies}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
"""


def body(case: Case, a: Bytes, b: Bytes, *, multiply: str = "", proxy: str = "") -> str:
    """The kernel's statements; `multiply` and `proxy` replace what they are usually."""
    count = case.registers
    kind = "f32" if case.d == "f32" else "b32"
    several = "\n".join("    " + case.instruction for _ in range(case.repeat))
    line = case.k * case.width // 8
    a_line = line // (1 + case.sparse)
    return (REGISTERS + FILL + OPERANDS).format(
        kind=kind,
        count=count,
        size=a.size + b.size,
        pitch=count * 4,
        proxy=proxy or "fence.proxy.async;",
        loads="\n".join(
            [
                *(f"    ld.global.{kind} %acc{i}, [%rd2+{4 * i}];" for i in range(count)),
                *(f"    ld.global.u32 %av{i}, [%rd3+{4 * i}];" for i in range(4)),
            ]
        ),
        a_start=0,
        b_start=a.size >> 4,
        a_desc=case.a_lies.descriptor(64, a_line),
        b_desc=case.b_lies.descriptor(case.n, line),
        multiply=multiply or MULTIPLY.format(multiplies=several),
        stores="\n".join(f"    st.global.{kind} [%rd2+{4 * i}], %acc{i};" for i in range(count)),
    )


def execute(
    case: Case,
    given: Given,
    schedule: str = "early",
    *,
    multiply: str = "",
    proxy: str = "",
    threads: int = THREADS,
) -> Codes:
    """Codes of D, 64 × n, after the multiply, which is issued `case.repeat` times.

    Raises: SimulationError.
    """
    a, b = case.a_lies.image(given.a), case.b_lies.image(given.b)
    image = np.concatenate([a, b, np.zeros(-(a.size + b.size) % 2048, np.uint8)])
    sums = to_registers(given.d, case.d_width)
    others = np.zeros((THREADS, 5), np.uint32)
    others[:, :4] = a_registers(given.a)
    if given.indices is not None:
        others[:, 4] = metadata_registers(given.indices, case.width, case.selector)
    run(
        body(case, a, b, multiply=multiply, proxy=proxy),
        image,
        sums,
        others,
        int(given.accumulate),
        variables=f".shared .align 1024 .b8 tile[{image.size}];",
        threads=threads,
        schedule=schedule,
        target="sm_90a",
        version=VERSION,
    )
    return from_registers(sums, case.n, case.d_width)
