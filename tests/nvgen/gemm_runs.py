"""One gemm_async on the simulator: operands by lot, the kernel around it, and what must come out.

Operands go into memory as bytes by formulas of this file; the kernel brings them by TMA (A in
tensor memory: by threads), multiplies, and dumps the accumulator's columns, lane by lane.  Numbers
are small integers, scale factors powers of two, so that float64 and f32 hold every sum exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.modifiers import CtaGroup, LdStNum
from nvgen import Kernel, KernelBuilder
from nvgen.multiplies.tensor_tiles import OperandTile, SparseTile
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from nvgen.values.vectors import Vector
from tests.oracle.block_scaled import numbers

Bytes = npt.NDArray[np.uint8]
Matrix = npt.NDArray[np.float64]

COLUMNS = 512
_SMALL = {E.E2M1: (0, 2, 4, 6, 10, 12, 14), E.E2M3: (0, 8, 16, 24, 40, 48), E.E3M2: (0, 12, 16, 20)}
"""Codes of integers of narrow types: E2M1 0, 1, 2, 4, E2M3 0, 1, 2, 4, E3M2 0, 1, 2, 4; signed."""


@dataclass(frozen=True)
class Form:
    """What is multiplied; `size` is how many elements share a factor, 0 for none."""

    m: int = 128
    n: int = 128
    k: int = 64
    types: tuple[E, E] = (E.F16, E.F16)
    majors: tuple[Major, Major] = (Major.K, Major.K)
    padded: tuple[bool, bool] = (False, False)
    swizzle: int = 128
    in_tensor_memory: bool = False
    size: int = 0
    factor: E = E.UE8M0
    loop: bool = False
    stationary: bool = False
    pair: bool = False
    sparse: bool = False
    atoms: tuple[int, int] = (16, 16)
    half: bool = False
    """Sums in f16, each in the low half of a cell."""
    before: float | None = None
    """What stands in D already and is added to; None for nothing."""
    masked: tuple[int, ...] = ()
    """Lanes of each CTA that are not written."""
    options: tuple[tuple[str, object], ...] = ()
    """More options of gemm_async, by name."""

    @property
    def stored(self) -> int:
        """Elements of A's rows that are stored."""
        return self.k // 2 if self.sparse else self.k

    @property
    def ctas(self) -> int:
        """CTAs that hold equal parts of A's and of B's rows."""
        return 2 if self.pair else 1

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of A and of B in a CTA."""
        return self.m // self.ctas, self.n // self.ctas

    @property
    def step(self) -> int:
        """K of an instruction."""
        bits = self.types[0].bits
        if bits == 4 and not self.padded[0]:
            return 96 if self.chosen("k96") else 64
        return 256 // max(bits, 8) * (2 if self.sparse else 1)

    @property
    def parts(self) -> int:
        """In how many parts the factors of B lie."""
        return 2 if self.pair and self.m == 128 else 1

    @property
    def integers(self) -> bool:
        """Whether sums are integers."""
        return self.types[0] in (E.S8, E.U8)

    @property
    def columns(self) -> int:
        """Columns of the accumulator: those of each 128 rows of a CTA, and of fewer."""
        blocks, rest = divmod(self.rows[0], 128)
        folded = rest if self.stationary else 64 if self.pair and rest == 64 else 128
        return blocks * self.n + (self.n * folded // 128 if rest else 0)

    def chosen(self, name: str, default: object = False) -> object:
        """One of the options."""
        return dict(self.options).get(name, default)


@dataclass
class Data:
    """A matrix: its numbers with their factors, its codes, and the factors' blocks."""

    meant: Matrix
    codes: npt.NDArray[np.uint32]
    blocks: npt.NDArray[np.int32] | None
    words: npt.NDArray[np.int32] | None = None


def pruned(form: Form, whole: Data, rng: np.random.Generator) -> Data:
    """A with two of each four elements left out by lot: what is stored, and the metadata's words.

    For f16 sixteen rows share sixteen lanes of a column for 32 elements; for bytes a row has its
    own lane, and a column for each 32 elements.
    """
    chunks = form.k // 4
    places = np.sort(rng.permuted(np.tile(np.arange(4), (form.m, chunks, 1)), axis=2)[:, :, :2])
    stored = np.take_along_axis(whole.codes.reshape(form.m, chunks, 4), places, axis=2)
    kept = np.zeros((form.m, chunks, 4))
    np.put_along_axis(kept, places, 1.0, axis=2)
    words = np.zeros((form.m, chunks // 8), np.int64)
    for row in range(form.m):
        for chunk in range(chunks):
            bits = int(places[row, chunk, 0] | places[row, chunk, 1] << 2)
            if form.types[0].bits == 16:
                lane = row // 16 * 16 + chunk % 8 // 4 * 8 + row % 8
                words[lane, chunk // 8] |= bits << row // 8 % 2 * 16 + chunk % 4 * 4
            else:
                words[row, chunk // 8] |= bits << chunk % 8 * 4
    meant = whole.meant * kept.reshape(form.m, form.k)
    return Data(meant, stored.reshape(form.m, -1), None, words.astype(np.uint32).view(np.int32))


def matrix(form: Form, rows: int, which: int, rng: np.random.Generator) -> Data:
    """A or B by lot."""
    type_ = form.types[which]
    if type_ in _SMALL:
        codes = rng.choice(np.array(_SMALL[type_], np.uint32), (rows, form.k))
    else:
        low, high = {E.S8: (-128, 128), E.U8: (0, 256)}.get(type_, (-4, 5))
        values = rng.integers(low, high, (rows, form.k)).astype(type_.numpy)
        codes = values.view(f"u{type_.bits // 8}").astype(np.uint32)
    meant = numbers(codes, type_.value)
    if not form.size:
        return Data(meant, codes, None)
    exponents = rng.integers(-1, 3, (rows, form.k // form.size))
    scale = np.exp2(exponents)
    factors = scale.astype(form.factor.numpy).view(np.uint8)
    meant = meant * scale.repeat(form.size, axis=1)
    if which == 0:
        own = [blocked(rows) for rows in np.split(factors, form.ctas)]
        return Data(meant, codes, np.concatenate(own))
    if form.parts == 1:
        return Data(meant, codes, blocked(factors))
    even, odd = np.split(factors[by_cta(form)], 2)
    return Data(meant, codes, np.stack([blocked(even), blocked(odd)], axis=1).reshape(-1, 128))


def blocked(factors: Bytes) -> npt.NDArray[np.int32]:
    """The factors in blocks of 128 rows by four, each 512 bytes; a short block has zeros behind."""
    rows, count = factors.shape
    down, along = -(-rows // 128), -(-count // 4)
    found = np.zeros((down * along, 512), np.uint8)
    for row in range(rows):
        for factor in range(count):
            place = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
            found[row // 128 * along + factor // 4, place] = factors[row, factor]
    return found.view(np.int32)


def in_bytes(form: Form, which: int, codes: npt.NDArray[np.uint32], *, cells: bool) -> Bytes:
    """Rows of codes as bytes, elements from the lowest bits upwards.

    Padded elements, and those of 6 bits: in tensor memory (`cells`) a byte each, four bits in its
    middle; in shared memory 16 of them in the first of 16 bytes.
    """
    type_ = form.types[which]
    rows = len(codes)
    narrow = type_.bits == 6 or (type_.bits == 4 and form.padded[which])
    if narrow and cells:
        return (codes << (2 if type_.bits == 4 else 0)).astype(np.uint8)
    bits = (codes[:, :, None] >> np.arange(type_.bits, dtype=np.uint32) & 1).astype(np.uint8)
    if not narrow:
        return np.packbits(bits.reshape(rows, -1), axis=1, bitorder="little")
    packed = np.packbits(bits.reshape(rows, -1, 16 * type_.bits), axis=2, bitorder="little")
    padding = np.zeros((*packed.shape[:2], 16 - packed.shape[2]), np.uint8)
    return np.concatenate([packed, padding], axis=2).reshape(rows, -1)


def in_memory(form: Form, which: int, codes: npt.NDArray[np.uint32]) -> Bytes:
    """A matrix as it lies in global memory: K or rows innermost."""
    if form.majors[which] is Major.K:
        return in_bytes(form, which, codes, cells=False)
    return in_bytes(form, which, np.ascontiguousarray(codes.T), cells=False)


def kernel(form: Form) -> Kernel:
    """The kernel: a, b, then the factors if there are any, then the dump, then the steps."""
    b = KernelBuilder("k", block=128, cluster=form.ctas, dynamic_shared=True)
    group = CtaGroup.TWO if form.pair else CtaGroup.ONE
    boxes = [
        (_box(rows if major is Major.K else form.k), form.swizzle or 16)
        for rows, major in zip(form.rows, form.majors, strict=True)
    ]
    if form.in_tensor_memory:
        b.pointer("a")
    else:
        b.tensor_map("a", dtype=E.U8, box=boxes[0], swizzle=form.swizzle, atom=form.atoms[0])
    b.tensor_map("b", dtype=E.U8, box=boxes[1], swizzle=form.swizzle, atom=form.atoms[1])
    if form.sparse:
        b.pointer("words")
    scales = ("sfa", "sfb") if form.size else ()
    scaled = dict(zip(scales, (form.rows[0], form.n), strict=False))  # of B each CTA has all
    parts = {"sfa": 1, "sfb": form.parts}
    for name, rows in scaled.items():
        down, along = -(-rows // parts[name] // 128), -(-form.k // (4 * form.size))
        b.tensor_map(name, dtype=E.S32, box=(down * along * parts[name], 128))
    b.pointer("d", output=True)
    b.integer("steps")
    args = b.begin()
    rank = b.cluster_ctarank if form.pair else b.const(0)

    loaded, done = b.mbarrier("loaded"), b.mbarrier("done")
    tiles = {
        name: b.shared_tile(
            name, form.types[i], (form.rows[i], (form.stored, form.k)[i]), swizzle=form.swizzle,
            major=form.majors[i], padded=form.padded[i], atom=form.atoms[i],
        )
        for i, name in enumerate("ab") if not (name == "a" and form.in_tensor_memory)
    }  # fmt: skip
    factors = {
        name: b.shared_scales(
            name, rows, form.k, dtype=form.factor, size=form.size, parts=parts[name]
        ).first
        for name, rows in scaled.items()
    }
    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.mbarrier_init(done, 1)
        b.fence_mbarrier_init_release_cluster()
    if form.pair:
        b.barrier_cluster_sync()
    tmem = b.tensor_memory("tmem", COLUMNS, cta_group=group)
    sums = E.S32 if form.integers else E.F16 if form.half else E.F32
    d = tmem.tile(form.m, form.n, sums, stationary=form.stationary)
    _clear(b, form, d.pointer)
    left: SharedTile | OperandTile | SparseTile
    more: dict[str, object] = dict(form.options)
    if form.sparse and form.in_tensor_memory:
        left = tmem.sparse_tile(form.rows[0], form.k, form.types[0])
        values = OperandTile(left.values, form.rows[0], form.stored, form.types[0])
        _fill(b, form, values, args["a"], left.pitch)
        _fill(b, form, _words(form, left.metadata), args["words"], left.pitch)
    elif form.in_tensor_memory:
        left = tmem.operand_tile(form.rows[0], form.k, form.types[0], padded=form.padded[0])
        _fill(b, form, left, args["a"], left.pitch)
    else:
        left = tiles["a"]
    if form.sparse and not form.in_tensor_memory:
        place = tmem.metadata(form.k, form.types[0], form.rows[0])
        more["metadata"] = place
        _fill(b, form, _words(form, place), args["words"], -(-form.k // 128) * 4)
    if form.pair:
        b.barrier_cluster_sync()
    if form.masked:
        masks = [sum(1 << lane % 32 for lane in form.masked if lane // 32 == i) for i in range(4)]
        more["lane_mask"] = masks * form.ctas
    held = {
        name: tmem.scale_tiles(rows, form.k, 1, form.factor, form.size, parts=parts[name])[0]
        for name, rows in scaled.items()
    }
    with b.if_thread(0):
        whole = [*tiles.values(), *factors.values()]
        with b.if_(rank == 0):
            nbytes = form.ctas * sum(tile.nbytes for tile in whole)  # type: ignore[attr-defined]
            b.mbarrier_arrive_expect_tx(loaded, nbytes)
        there = b.of_even_cta(loaded) if form.pair else loaded
        for name, tile in tiles.items():
            _bring(b, tile, args[name], there, rank, group if form.pair else None)
        for name, scale in factors.items():
            first = rank * scale.blocks[0] * scale.blocks[1] if name == "sfa" else b.const(0)
            b.cp_async_bulk_tensor_g2s_tile(
                scale.pointer, there, args[name], (0, first),
                cta_group=group if form.pair else None,
            )  # fmt: skip
    with b.if_warp(0), b.if_(rank == 0):
        b.wait(loaded, 0)
        b.tcgen05_fence_after_thread_sync()
        with b.elect():
            for name, target in held.items():
                b.copy_scales(target, factors[name], cta_group=group)
            if form.loop:
                with b.range(args["steps"]) as step:
                    b.gemm_async(
                        d, left, tiles["b"], step=step,
                        accumulate=(step != 0) if form.before is None else True,
                        stationary=form.stationary, cta_group=group, **held, **more,
                    )  # fmt: skip
            else:
                b.gemm_async(
                    d,
                    left,
                    tiles["b"],
                    accumulate=form.before is not None,
                    stationary=form.stationary,
                    cta_group=group,
                    **held,
                    **more,
                )
            b.tcgen05_commit(done, cta_group=group, cta_mask=3 if form.pair else None)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    _dump(b, form, d.pointer, args["d"], rank)
    if form.pair:
        b.barrier_cluster_sync()
    tmem.free()
    return b.finish()


def _bring(
    b: KernelBuilder, tile: SharedTile, tensor: Pointer | Int, loaded: Barrier, rank: Int,
    group: CtaGroup | None,
) -> None:  # fmt: skip
    """A CTA's tile, a span at a time, in boxes that TMA can do."""
    by_rows = tile.major is Major.K
    bytes_before = rank * (0 if by_rows else tile.rows * tile.bits // 8)
    rows_before = rank * (tile.rows if by_rows else 0)
    across = tile.rows if tile.major is Major.K else tile.k
    along = (tile.k if tile.major is Major.K else tile.rows) * tile.bits // 8
    width = tile.swizzle or 16
    for span in range(along // width):
        for first in range(0, across, _box(across)):
            target = tile.pointer + (span * across + first) * width
            assert isinstance(tensor, Pointer)
            place = bytes_before + span * width, rows_before + first
            b.cp_async_bulk_tensor_g2s_tile(target, loaded, tensor, place, cta_group=group)


def _box(rows: int) -> int:
    """Rows of a box: all, or half of them where they are more than 256."""
    return rows if rows <= 256 else rows // 2


def _words(form: Form, place: Pointer) -> OperandTile:
    """The metadata of a sparse A, a word for each 32 elements."""
    return OperandTile(place, form.rows[0], form.k // 32, E.S32)


def _fill(
    b: KernelBuilder, form: Form, tile: OperandTile, source: Pointer | Int, pitch: int
) -> None:
    """A into tensor memory: a row for each thread, 32 columns at a time or what there is.

    Each 128 rows of a CTA are `pitch` columns behind those before.
    """
    assert isinstance(source, Pointer)
    own = tile.k * tile.bits // 32
    width = min(own, 32)
    for block in range(-(-tile.m // 128)):
        rank = b.cluster_ctarank if form.pair else b.const(0)
        row = source + (rank * tile.m + block * 128 + b.tid_x).zext(64) * (4 * own)
        for first in range(0, own, width):
            type_ = ir.VectorType(ir.IntType(32), width)
            address = (row + 4 * first).value
            values = Vector(b, b.at_caller().load(address, typ=type_, align=16), width)
            target = tile.pointer + ((b.tid_x >> 5) << 21) + (block * pitch + first)
            b.tcgen05_st(target, values, num=LdStNum[f"X{width}"])
    b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def _clear(b: KernelBuilder, form: Form, columns: Pointer) -> None:
    """What is before the multiply, or zeros, in every lane: layout F writes half of them only."""
    type_ = ir.VectorType(ir.IntType(32), 8)
    word = int(np.array(form.before or 0, np.int32 if form.integers else np.float32).view(np.int32))
    zeros = Vector(b, ir.Constant(type_, [word] * 8), 8)
    for first in range(0, form.columns, 8):
        b.tcgen05_st(columns + ((b.tid_x >> 5) << 21) + first, zeros, num=LdStNum.X8)
    b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def _dump(b: KernelBuilder, form: Form, columns: Pointer, target: Pointer | Int, rank: Int) -> None:
    """The accumulator's columns of every lane, eight at a time."""
    assert isinstance(target, Pointer)
    row = target + (rank * 128 + b.tid_x).zext(64) * (4 * form.columns)
    for first in range(0, form.columns, 8):
        values = b.tcgen05_ld(columns + ((b.tid_x >> 5) << 21) + first, num=LdStNum.X8)
        b.tcgen05_wait_ld()
        b.store(values, row + 4 * first, align=16)


def cells(form: Form) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The lane and the column of each element of D; lanes of an odd CTA are 128 and more.

    Each 128 rows of a CTA are a block of n columns.  Layouts D, E, F and G, and of pairs A and B.
    """
    lanes, columns = (np.zeros((form.m, form.n), np.int64) for _ in range(2))
    rows = form.rows[0]
    for row in range(form.m):
        rank, own = divmod(row, rows)
        block, lane = divmod(own, 128)
        height = min(128, rows - 128 * block)
        for first in range(0, form.n, 256):
            width = min(256, form.n - first)
            within = np.arange(width)
            here = slice(first, first + width)
            if height == 64 and not form.pair and not form.stationary:
                lanes[row, here] = lane // 16 * 32 + lane % 16
                columns[row, here] = block * form.n + first + within
                continue
            parts = 128 // height
            lanes[row, here] = rank * 128 + lane + within // (width // parts) * height
            columns[row, here] = block * form.n + first // parts + within % (width // parts)
    return lanes, columns


def by_cta(form: Form) -> npt.NDArray[np.int64]:
    """Columns of D in the order of B's rows: the even CTA's, then the odd one's.

    Of each 256 columns the first half are rows of the even CTA's B.
    """
    if not form.pair:
        return np.arange(form.n)
    halves: tuple[list[int], list[int]] = ([], [])
    for first in range(0, form.n, 256):
        width = min(256, form.n - first)
        for rank in range(2):
            begin = first + rank * width // 2
            halves[rank].extend(range(begin, begin + width // 2))
    return np.array(halves[0] + halves[1])


def result(form: Form, a: Data, b: Data) -> Matrix:
    """What D should be, but for masked lanes."""
    signs = (-1) ** (bool(form.chosen("negate_a")) + bool(form.chosen("negate_b")))
    power = form.chosen("scale_d", 0)
    assert isinstance(power, int)
    return signs * (a.meant @ b.meant.T) + (form.before or 0) / 2**power


def run(form: Form, *, target: str, schedule: str = "early", opt: int = 0, seed: int = 0) -> None:
    """Run a form and compare all of D, lanes that are masked with what was there before.

    Raises: AssertionError when an element differs, VerificationError for what rules find.
    """
    rng = np.random.default_rng(seed)
    a, b = matrix(form, form.m, 0, rng), matrix(form, form.n, 1, rng)
    if form.sparse:
        a = pruned(form, a, rng)
    if form.in_tensor_memory:
        first = in_bytes(form, 0, a.codes, cells=True)
    else:
        first = in_memory(form, 0, a.codes)
    inputs: list[object] = [first, in_memory(form, 1, b.codes[by_cta(form)])]
    inputs += [] if a.words is None else [a.words]
    inputs += [data.blocks for data in (a, b) if data.blocks is not None]
    type_ = np.int32 if form.integers else np.float32
    dump = np.full((128 * form.ctas, form.columns), -1, type_)
    steps = form.k // form.step
    kernel(form).compile(target=target, opt=opt, level="function").run(
        *inputs, dump, steps, grid=form.ctas, schedule=schedule
    )
    lanes, columns = cells(form)
    expected = result(form, a, b).astype(type_)
    expected[np.isin(lanes % 128, form.masked)] = form.before or 0
    found = dump[lanes, columns]
    if form.half:
        found = found.view(np.uint32).astype(np.uint16).view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
