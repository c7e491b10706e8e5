"""Random programs of wgmma: several accumulators, groups under way, and what numpy makes of them.

A program multiplies tiles of four steps of K, in 128-byte swizzled rows of shared memory, into
accumulators of several shapes and types; it commits and waits as it likes, but never touches what
is under way.  Numbers are integers so small that every sum is exact.  PTX ISA, Asynchronous
Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.sim.ptx import run
from tests.sim.wgmma.wgmma_case import (
    FILL,
    THREADS,
    VERSION,
    Case,
    Lying,
    Words,
    a_registers,
    from_registers,
    to_registers,
)

Numbers = NDArray[np.float64]
Bytes = NDArray[np.uint8]

STEPS = 4
TYPES = ("f16", "bf16", "tf32", "e4m3", "s8")
WIDTHS = (8, 16, 24, 32, 48, 64)
CODES = {"f16": np.float16, "tf32": np.float32, "s8": np.int8, "f32": np.float32, "s32": np.int32}


def codes_of(numbers: Numbers, name: str) -> NDArray[np.unsignedinteger]:
    """The codes of small integers."""
    if name == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name == "e4m3":
        import ml_dtypes

        return numbers.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    found = numbers.astype(CODES[name])
    return found.view(f"u{found.dtype.itemsize}")


@dataclass
class Accumulator:
    """D of one shape, its registers' name and its numbers."""

    name: str
    case: Case
    numbers: Numbers
    under_way: bool = False
    clean: bool = False  # nobody touched it since a fence


@dataclass
class Tile:
    """A matrix of four steps of K in shared memory, or A in registers."""

    numbers: Numbers
    offset: int = 0
    registers: str = ""

    def step(self, number: int) -> Numbers:
        """The columns of one step."""
        if self.registers:
            return self.numbers
        width = self.numbers.shape[1] // STEPS
        return self.numbers[:, number * width : (number + 1) * width]


@dataclass
class Program:
    """Statements, what memory holds before, and accumulators after."""

    statements: list[str] = field(default_factory=list)
    shared: list[Bytes] = field(default_factory=list)
    accumulators: list[Accumulator] = field(default_factory=list)
    start: list[Words] = field(default_factory=list)
    held: list[Words] = field(default_factory=list)

    def place(self, numbers: Numbers, name: str) -> Tile:
        """A tile in shared memory."""
        offset = sum(part.size for part in self.shared)
        self.shared.append(Lying().image(codes_of(numbers, name)))
        return Tile(numbers, offset)

    def hold(self, numbers: Numbers, name: str) -> Tile:
        """One step of A in registers."""
        number = len(self.held)
        self.held.append(a_registers(codes_of(numbers, name)))
        return Tile(numbers, registers=f"%h{number}_")


def program_of(seed: int, length: int = 14) -> Program:
    """Any right program."""
    dice, draw = random.Random(seed), np.random.default_rng(seed)
    made = Program()
    tiles: list[tuple[list[Tile], Tile]] = []
    for number in range(dice.randint(1, 3)):
        name, n = dice.choice(TYPES), dice.choice(WIDTHS)
        case = Case(n, "s32" if name == "s8" else "f32", name)
        low = draw.integers(-50, 50, (64, n)).astype(np.float64)
        made.accumulators.append(Accumulator(f"%d{number}_", case, low))
        made.start.append(to_registers(codes_of(low, case.d), 32))
        k = case.k * STEPS
        a = [made.place(draw.integers(-2, 3, (64, k)).astype(np.float64), name) for _ in "ab"]
        a.append(made.hold(draw.integers(-2, 3, (64, case.k)).astype(np.float64), name))
        tiles.append((a, made.place(draw.integers(-2, 3, (n, k)).astype(np.float64), name)))
    _run(made, tiles, dice, length)
    return made


def _run(
    made: Program, tiles: list[tuple[list[Tile], Tile]], dice: random.Random, length: int
) -> None:
    say, all_ = made.statements, made.accumulators
    groups: list[list[Accumulator]] = []
    open_: list[Accumulator] = []
    for _ in range(length):
        which = dice.randrange(len(all_))
        chosen = all_[which]
        verb = dice.choice(("multiply", "multiply", "multiply", "commit", "wait", "touch"))
        if verb == "multiply":
            if not chosen.clean:
                say.append("wgmma.fence.sync.aligned;")
                for other in all_:
                    other.clean = True
            _multiply(say, chosen, dice.choice(tiles[which][0]), tiles[which][1], dice)
            chosen.under_way = True
            open_.append(chosen)
        elif verb == "commit":
            say.append("wgmma.commit_group.sync.aligned;")
            groups.append(open_)
            open_ = []
        elif verb == "wait":
            count = dice.randrange(3)
            say.append(f"wgmma.wait_group.sync.aligned {count};")
            del groups[: max(len(groups) - count, 0)]
            busy = [*open_, *(one for group in groups for one in group)]
            for other in all_:
                other.under_way = other in busy
        elif not chosen.under_way:
            kind = "s32" if chosen.case.d == "s32" else "f32"
            one = "1" if kind == "s32" else "0f3F800000"
            for i in range(chosen.case.registers):
                register = f"{chosen.name}{i}"
                say.append(f"add.{kind} {register}, {register}, {one};")
            chosen.numbers += 1
            chosen.clean = False
    say += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]


def _multiply(say: list[str], d: Accumulator, a: Tile, b: Tile, dice: random.Random) -> None:
    step, keeps = dice.randrange(STEPS), dice.random() < 0.8
    signs = [1, 1] if d.case.d == "s32" else [dice.choice((1, -1)), dice.choice((1, -1))]
    product = signs[0] * signs[1] * (a.step(step) @ b.step(step).T)
    d.numbers[:] = product + d.numbers if keeps else product
    left = "{" + ", ".join(f"{a.registers}{i}" for i in range(4)) + "}"
    if not a.registers:
        say.append(f"add.u64 %rd8, %rd7, {(a.offset >> 4) + 2 * step};")
        left = "%rd8"
    say.append(f"add.u64 %rd9, %rd7, {(b.offset >> 4) + 2 * step};")
    sums = "{" + ", ".join(f"{d.name}{i}" for i in range(d.case.registers)) + "}"
    more = [] if d.case.d == "s32" else [str(s) for s in signs]
    if d.case.width == 16:
        more += ["0"] if a.registers else ["0", "0"]
    types = f"{d.case.d}.{d.case.a}.{d.case.a}"
    shape = f"m64n{d.case.n}k{d.case.k}"
    operands = ", ".join([sums, left, "%rd9", str(int(keeps)), *more])
    say.append(f"wgmma.mma_async.sync.aligned.{shape}.{types} {operands};")


# ---- running ---------------------------------------------------------------------------------

HEAD = (
    FILL
    + """\
    fence.proxy.async;
    bar.sync 0;
    mul.wide.u32 %rd2, %tx, {pitch};
    add.u64 %rd2, %rd2, %a1;
    shr.u32 %r9, %r2, 4;
    and.b32 %r9, %r9, 0x3FFF;
    cvt.u64.u32 %rd4, %r9;
    or.b64 %rd7, %rd4, 0x4000004000010000;
"""
)
"""%rd7 is a descriptor of K-major matrices with 128-byte swizzling, 1024 bytes from 8 rows on."""


def text_of(program: Program, size: int, words: int) -> str:
    """The kernel's statements: all registers are loaded, and accumulators stored at the end."""
    body, stores = [HEAD.format(size=size, pitch=words * 4)], []
    at = 0
    for one in program.accumulators:
        kind = "f32" if one.case.d == "f32" else "b32"
        body.append(f"    .reg .{kind} {one.name}<{one.case.registers}>;")
        for i in range(one.case.registers):
            body.append(f"    ld.global.{kind} {one.name}{i}, [%rd2+{4 * at}];")
            stores.append(f"    st.global.{kind} [%rd2+{4 * at}], {one.name}{i};")
            at += 1
    for number in range(len(program.held)):
        body.append(f"    .reg .b32 %h{number}_<4>;")
        for i in range(4):
            body.append(f"    ld.global.b32 %h{number}_{i}, [%rd2+{4 * at}];")
            at += 1
    assert at == words
    return "\n".join([*body, *("    " + s for s in program.statements), *stores])


def execute(program: Program, schedule: str) -> list[NDArray[np.unsignedinteger]]:
    """The codes of each accumulator after the program.

    Raises: SimulationError.
    """
    image = np.concatenate(program.shared)
    image = np.concatenate([image, np.zeros(-image.size % 2048, np.uint8)])
    words = np.ascontiguousarray(np.concatenate([*program.start, *program.held], axis=1))
    run(
        text_of(program, image.size, words.shape[1]),
        image,
        words,
        smem=image.size,
        variables=".extern .shared .align 1024 .b8 tile[];",
        threads=THREADS,
        schedule=schedule,
        target="sm_90a",
        version=VERSION,
    )
    found, at = [], 0
    for one in program.accumulators:
        count = one.case.registers
        found.append(from_registers(words[:, at : at + count], one.case.n, 32))
        at += count
    return found
