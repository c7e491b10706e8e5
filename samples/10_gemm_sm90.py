"""A GEMM for Hopper, D = A·Bᵀ in bf16, f16 or fp8 with f32 sums: TMA, mbarriers, wgmma, clusters.

One warp brings tiles of A and B into a ring of buffers, warpgroups multiply them into their
registers, and store their part of D while the others still multiply:

      producer: one thread             consumers: warpgroups of 128 threads
     ┌─────────────────────────┐ full ┌───────────────────────────────────────────────┐
     │ TMA: a step of K, 128   │ ───► │ wgmma: 64 rows of D, 256 columns, K = 16, 4   │
     │ bytes of each row of A  │      │ for each step; one step stays in flight       │
     │ and B; with a cluster a │ ◄─── │ registers → bf16 → stmatrix → staging → TMA   │
     │ part of B for all CTAs  │ empty│ store of 16 rows by 64 columns for each warp  │
     └─────────────────────────┘      └───────────────────────────────────────────────┘

A brings rows to a multiply and B columns; with `swap` it is the other way round and D is stored
transposed, so that few rows of A make narrow tiles.  With `split` several CTAs of a
cluster share a tile.  Each multiplies a part of K, sends the others their columns of its sums by
st.async, and adds up its own columns of what comes, always in the same order.

CTAs stay and walk over the tiles of D, in groups of rows whose operands L2 holds.  A warpgroup that
is ahead stores its part while the other one has the tensor cores for itself: so much skew as the
ring has buffers hides the stores.  TMA fills what lies beyond the edges of A and B with zeros and
does not store beyond those of D, so that any M is possible, and any N and K whose rows are a
multiple of 16 bytes.

An arrival at `empty` releases nothing but the buffer, whose reads the wait for the multiplies has
seen complete: it is relaxed, which spares a fence over the whole GPU in each step.

Runs on the CPU simulator and on an H200.  What each step gave there on 22 November 2026, in TFLOP/s
and as a share of cuBLAS (all alternating in one process, bf16, random normal inputs, medians of 20
to 25 timings):

                                                    4096³         8192×8192×1024
    tiles of 128×128, one buffer                202   0.28       210   0.33
    two buffers                                 382   0.53       365   0.57
    four buffers                                644   0.89       524   0.81
    one step left in flight                     627   0.87       521   0.81
    tiles of 128×256                            705   0.98       587   0.91
    CTAs that stay, with a look at L2           717   1.00       664   1.03
    LLVM's passes (-O3)                         733   1.02       677   1.05
    a producer that does not wait to begin      732   1.02       679   1.05
    clusters of two, relaxed arrivals           717   0.99       672   1.04
    the same, arrivals that release             504   0.70       528   0.82

In the large shapes the GPU lowers its clock to stay within 700 W: what is left is energy.
In 1024³ the producer's early begin is worth 3.5 %, and launches that overlap another 7 %.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np

from nvgen import (
    Candidate,
    ElementType,
    Finding,
    InputError,
    Kernel,
    KernelBuilder,
    Major,
    ScalarType,
    Scope,
    Severity,
    Space,
    VerificationError,
    f32,
    u16,
)

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_plan import (
    BF16,
    LARGE,
    ROW,
    ROWS,
    WARPGROUP,
    Config,
    Kind,
    candidates,
    grid,
)

STORED = 16  # rows of wgmma's, or columns of D, of which a warp holds sums
READY = 1  # the named barrier behind which the mbarriers are there

TARGET = "sm_90a"
TARGETS = (TARGET,)


class Gemm:
    """The kernel under construction.

    `x` is the operand whose rows are wgmma's M, `y` the one whose rows are its N.
    """

    ranks = {"a": 2, "b": 2, "d": 2}  # noqa: RUF012
    more_bytes = 0  # of a step, that come beside x and y
    copies = 1  # of its sums, that a thread holds
    loads = False  # whether warps load from a buffer, beside the multiplies of all four

    def __init__(self, config: Config, kind: Kind) -> None:
        """Parameters, shared memory and mbarriers."""
        self.config, self.kind = config, kind
        self.k = ROW * config.depth * 8 // kind.dtype.bits
        self.b = KernelBuilder(
            "gemm_sm90", block=config.threads, cluster=config.ctas, dynamic_shared=True,
            minctasm=config.resident,
        )  # fmt: skip
        self.left, self.right = ("b", "a") if config.swap else ("a", "b")
        self.majors = {"a": kind.a_major, "b": kind.b_major}
        self.shared_rows = config.n // config.cluster  # of y, that a CTA brings for all
        self.rows = {self.left: config.m, self.right: self.shared_rows}  # of a copy
        self.piece = config.piece(kind.out)
        self.readers = config.consumers * (4 if self.loads else 1)  # that release a buffer
        self.declare()
        self.args = self.b.begin()
        self.allocate()
        self.scope = Scope.CLUSTER if config.cluster > 1 else Scope.CTA
        rank, zero = self.b.cluster_ctarank, self.b.const(0)
        self.rank = rank % config.cluster if config.cluster > 1 else zero
        self.part = rank // config.cluster if config.split > 1 else zero
        (rows, columns), wide = config.clusters, "m" if config.swap else "n"
        self.down = (self.args["n" if config.swap else "m"] + (rows - 1)) // rows
        self.across = (self.args[wide] + (columns - 1)) // columns

    def declare(self) -> None:
        """Parameters: the matrices, what the epilogue reads, and the sizes."""
        b, kind = self.b, self.kind
        for name in ("a", "b"):
            shape = self.rows[name], self.k
            b.tile_map(name, kind.dtype, shape, **self.lies(name), rank=self.ranks[name])
        b.tile_map(
            "d", kind.out, self.piece, swizzle=self.span_of_d, rank=self.ranks["d"], output=True
        )
        for name, dtype in kind.reads:
            b.pointer(name, dtype)
        for name in ("m", "n", "k"):
            b.integer(name)

    def allocate(self) -> None:
        """Shared memory: the ring, what is stored, and what CTAs send each other."""
        b, config, kind = self.b, self.config, self.kind
        stages, warps = config.stages, config.consumers * 4
        self.x_ring, self.y_ring = (
            b.shared_tiles(f"{name}_ring", kind.dtype, (rows, self.k), stages, **self.lies(name))
            for name, rows in ((self.left, config.m), (self.right, config.n))
        )
        self.staging = b.shared_tiles(
            "staging", kind.out, self.piece, warps * config.staged, swizzle=self.span_of_d
        )
        self.full, self.empty = b.mbarriers("full", stages), b.mbarriers("empty", stages)
        if config.split > 1:
            shape = config.split * config.m * config.slice // 4, 4
            self.partials = b.shared_tile("partials", ElementType.F32, shape, swizzle=0).pointer
            self.sent, self.added = b.mbarrier("sent"), b.mbarrier("added")

    @property
    def span_of_d(self) -> int:
        """The swizzling of a piece of D: as wide as its rows."""
        span = self.piece[1] * self.kind.out.bits // 8
        return span if span > 16 else 0

    def lies(self, name: str) -> dict:
        """How a tile of an operand lies in shared memory: MN-major rows make whole spans."""
        major, span = self.majors[name], ROW
        if major is Major.MN:
            span = math.gcd(self.rows[name] * self.kind.dtype.bits // 8, ROW)
        return {"major": major, "swizzle": span if span > 16 else 0}

    def finish(self) -> Kernel:
        """The two roles."""
        b, config = self.b, self.config
        producer, registers = config.consumers * 4, config.registers(self.copies)
        self.prepare(producer)
        with b.if_warpgroup(config.consumers):
            if registers:
                b.setmaxnreg_dec(registers[0])
            if config.cluster > 1:  # its copies go to the others
                b.barrier_cluster_wait()
            with b.if_warp(producer), b.elect():
                self.produce()
            if config.ctas > config.cluster == 1:
                b.bar_warp_sync()
                b.barrier_cluster_wait()
        with b.if_(b.warpgroup < config.consumers):
            if config.ctas > 1:
                b.barrier_cluster_wait()
            else:
                b.barrier_cta_sync_aligned(READY, config.consumers * WARPGROUP + 32)
            if registers:
                b.setmaxnreg_inc(registers[1])
            self.consume()
        if config.cluster > 1:  # no arrival of the others' is still on its way to this CTA
            b.bar_warp_sync()
            b.barrier_cluster_sync()
        return b.finish()

    def prepare(self, producer: int) -> None:
        """Make the mbarriers; alone, the producer does not wait until all know of them."""
        b, config = self.b, self.config
        with b.if_warp(producer):
            with b.elect():
                for stage in range(config.stages):
                    b.mbarrier_init(self.full[stage], 1)
                    b.mbarrier_init(self.empty[stage], self.readers * config.cluster)
                if config.split > 1:
                    b.mbarrier_init(self.sent, 1)
                    b.mbarrier_init(self.added, config.slices * config.consumers * 4)
                b.fence_mbarrier_init_release_cluster()
            b.bar_warp_sync()
            if config.ctas == 1:
                b.barrier_cta_arrive_aligned(READY, config.consumers * WARPGROUP + 32)
        if config.ctas > 1:
            b.barrier_cluster_arrive(relaxed=True)

    @contextmanager
    def tiles(self) -> Iterator[tuple]:
        """Every tile of this CTA: its first row and column as wgmma sees them, and whether it is
        the last one."""
        b, count = self.b, self.down * self.across
        first, step = b.ctaid_x // self.config.ctas, b.nctaid_x // self.config.ctas
        with b.range(count, start=first, step=step) as number:
            yield *self.place(number), number + step >= count

    def place(self, number) -> tuple:
        """The first row and column of a tile by its number: `group` rows of tiles at a time."""
        b, config, across = self.b, self.config, self.across
        top = number // (across * config.group) * config.group
        inside, left = number % (across * config.group), self.down - top
        height = b.select(left < config.group, left, config.group)
        row = (top + inside % height) * config.cluster + self.rank
        return row * config.m, inside // height * config.n

    def steps(self) -> tuple:
        """The first step of K of this CTA, and the one behind its last; beyond K are zeros."""
        deep = self.k * self.config.split
        count = (self.args["k"] + (deep - 1)) // deep
        return self.part * count, (self.part + 1) * count

    # ---- the producer ----------------------------------------------------------------------------

    def produce(self) -> None:
        """Bring the tiles of A and B, a step of K at a time; every CTA brings a part of y."""
        b, config, ring = self.b, self.config, self.b.ring(self.config.stages)
        share = self.rank * self.shared_rows
        others = b.const((1 << config.cluster) - 1, 16) if config.cluster > 1 else None
        if config.split > 1 and others is not None:
            others = others << (self.part * config.cluster).to(u16)
        first, end = self.steps()
        b.griddepcontrol_wait()  # where the launch did not wait for the one before it
        b.griddepcontrol_launch_dependents()
        with self.tiles() as (row, column, _), b.range(end, start=first) as step:
            b.wait(self.empty[ring.stage], ring.parity ^ 1, scope=self.scope)
            full, x, y = self.full[ring.stage], self.x_ring[ring.stage], self.y_ring[ring.stage]
            b.mbarrier_arrive_expect_tx(
                full, self.more_bytes + self.x_ring.nbytes + self.y_ring.nbytes
            )
            b.load_tile(x, self.args[self.left], self.at(self.left, row, step), full)
            place = self.at(self.right, column + share, step)
            b.load_tile(self.brought(y), self.args[self.right], place, full, cta_mask=others)
            self.bring_more(ring.stage, row, column, step)
            ring.advance()

    def bring_more(self, stage, row, column, step) -> None:
        """Bring what else a step needs."""

    def brought(self, y):
        """The part of y that this CTA brings for all that share it."""
        rows = self.shared_rows
        return y.part(self.rank * rows, rows) if self.config.cluster > 1 else y

    def at(self, name: str, row, step) -> tuple:
        """Coordinates of a tile of an operand, innermost first."""
        k = step * self.k
        return (k, row) if self.majors[name] is Major.K else (row, k)

    # ---- the consumers ---------------------------------------------------------------------------

    def consume(self) -> None:
        """Multiply and store."""
        b, config, ring = self.b, self.config, self.b.ring(self.config.stages)
        height, slots, rounds = config.m // config.consumers, b.ring(config.staged), b.ring(1)
        b.griddepcontrol_wait()
        with self.tiles() as (row, column, is_last):
            sums = self.sums_of(row, column, height, ring)
            top = row + b.warpgroup * height
            if config.split == 1:
                self.store(sums, top, column, slots)
            else:
                self.send(sums, rounds)
                with b.if_(self.part < config.slices):
                    mine = self.add(len(sums), rounds, is_last)
                    self.store(mine, top, column + self.part * config.slice, slots)
                rounds.advance()
        with b.elect():
            b.cp_async_bulk_wait_group_read(0)

    def sums_of(self, row, column, height: int, ring) -> list:
        """The sums of a warpgroup's part of a tile: for every 64 rows a thread's registers.

        The buffer of a step is released when the next one is under way.
        """
        b, (first, end) = self.b, self.steps()
        d = b.warpgroup_tile(height, self.config.n)
        self.multiply(d, ring, accumulate=False)
        held = b.variable(ring.stage)
        ring.advance()
        with b.range(end, start=first + 1):
            self.multiply(d, ring, accumulate=True)
            b.wgmma_wait_group(1)
            self.release(held.value)
            held.set(ring.stage)
            ring.advance()
        b.wgmma_wait_group(0)
        self.release(held.value)
        return [list(part.registers) for part in d.parts]

    def multiply(self, d, ring, *, accumulate: bool) -> None:
        """Start the multiplies of one step of K."""
        b = self.b
        b.wait(self.full[ring.stage], ring.parity)
        x = self.x_ring[ring.stage].part(b.warpgroup * d.m, d.m)
        b.wgmma_fence()
        b.gemm_async(d, x, self.y_ring[ring.stage], accumulate=accumulate)
        b.wgmma_commit_group()

    def release(self, stage) -> None:
        """Tell each producer that writes this buffer that it has been read."""
        b, config = self.b, self.config
        if self.loads:
            b.bar_warp_sync()
        thread = b.tid_x % (32 if self.loads else WARPGROUP)
        with b.if_(thread < config.cluster):
            if config.cluster > 1:
                to = self.part * config.cluster + thread
                mbarrier = b.of_cta(self.empty[stage], to)
                b.mbarrier_arrive_space_cluster(mbarrier, relaxed=not self.loads)
            else:
                b.mbarrier_arrive(self.empty[stage])

    # ---- a tile that several CTAs share ----------------------------------------------------------

    def partial(self, part, number):
        """Where a thread's four sums of that number lie, that CTA `part` of the split has sent."""
        config, threads = self.config, self.config.consumers * WARPGROUP
        fours = config.m * config.slice // 4 // threads  # that a thread has of a slice
        return self.partials + ((part * fours + number) * threads + self.b.tid_x) * 16

    def send(self, sums, rounds) -> None:
        """Send each CTA that adds up its slice of columns, four sums of a thread at a time."""
        b, config = self.b, self.config
        nbytes = config.split * config.m * config.slice * 4
        with b.if_thread(0):
            b.mbarrier_arrive_expect_tx(
                self.sent, b.select(self.part < config.slices, b.const(nbytes), 0)
            )
        b.wait(self.added, rounds.parity ^ 1, scope=Scope.CLUSTER)
        blocks = config.slice // 8
        for to in range(config.slices):
            cta = self.rank + to * config.cluster
            begin = b.mapa_shared_cluster(self.partial(self.part, 0), cta)
            sent = b.of_cta(self.sent, cta)
            for number, (part, block) in enumerate(product(range(len(sums)), range(blocks))):
                four = sums[part][(to * blocks + block) * 4 :][:4]
                place = begin + number * config.consumers * WARPGROUP * 16
                b.st_async_shared_cluster(ScalarType.B32, place, [x.word for x in four], sent)

    def add(self, parts: int, rounds, is_last) -> list:
        """Add up what all CTAs of the split have sent, in their order, and tell them so.

        Not behind the last tile, when they may have exited.
        """
        b, config = self.b, self.config
        b.wait(self.sent, rounds.parity, scope=Scope.CLUSTER)
        found = []
        for part in range(parts):
            found.append([])
            for block in range(config.slice // 8):
                number = part * config.slice // 8 + block
                fours = [
                    b.load(self.partial(cta, number), f32, 4, align=16)
                    for cta in range(config.split)
                ]
                for element in range(4):
                    total = fours[0][element]
                    for four in fours[1:]:
                        total = total + four[element]
                    found[-1].append(total)
        b.bar_warp_sync()
        lane = b.tid_x % 32
        with b.if_((lane < config.split) & (is_last ^ 1)):
            cta = lane * config.cluster + self.rank
            b.mbarrier_arrive_space_cluster(b.of_cta(self.added, cta))
        return found

    # ---- D ---------------------------------------------------------------------------------------

    def store(self, sums, row, column, slots) -> None:
        """Round sums and store them, each warp a piece of its 16 rows at a time."""
        b, config = self.b, self.config
        wide = self.piece[0 if config.swap else 1]
        for part, values in enumerate(sums):
            top = row + part * ROWS + b.warp % 4 * STORED
            for first in range(0, config.slice, wide):
                with b.elect():  # the last store out of this buffer has read it
                    b.cp_async_bulk_wait_group_read(config.staged - 1)
                b.bar_warp_sync()
                staged = self.staging[b.warp * config.staged + slots.stage]
                for begin in range(first, first + wide, 16):
                    some = values[begin // 2 : min(begin + 16, first + wide) // 2]
                    self.put(staged, begin - first, self.finished(some, top, column + begin))
                b.fence_proxy_async(Space.SHARED_CTA)
                b.bar_warp_sync()
                with b.elect():
                    at = (top, column + first) if config.swap else (column + first, top)
                    b.store_tile(staged, self.args["d"], self.at_d(*at))
                slots.advance()

    def at_d(self, column, row) -> tuple:
        """Coordinates of a piece of D, innermost first."""
        return column, row

    def finished(self, values, row, column) -> list:
        """What the epilogue makes of the sums of 16 rows from `row` on, by their places in D."""
        if self.kind.epilogue is None:
            return values
        lane, args, made = self.b.tid_x % 32, self.args, []
        for i, value in enumerate(values):
            at = row + lane // 4 + i // 2 % 2 * 8, column + lane % 4 * 2 + i // 4 * 8 + i % 2
            down, along = reversed(at) if self.config.swap else at
            inside = down.min(args["m"] - 1), along.min(args["n"] - 1)  # beyond, nothing is stored
            made.append(self.kind.epilogue(args, value, *inside))
        return made

    def put(self, staged, begin: int, values) -> None:
        """Put sums of 16 rows and up to 16 columns from `begin` on, where a piece of D has them."""
        b, swap = self.b, self.config.swap
        lane = b.tid_x % 32
        if self.kind.out is ElementType.F32:
            self.put_f32(staged, begin, values)
            return
        pack = b.pack_f16x2 if self.kind.out is ElementType.F16 else b.pack_bf16x2
        pairs = [pack(values[i], values[i + 1]) for i in range(0, len(values), 2)]
        line, lower, right = lane % 8, lane // 8 % 2, lane // 16 if len(pairs) == 4 else 0
        if swap:  # each matrix of 8 by 8 is transposed
            place = staged.chunk(line + right * 8 + begin, lower)
        else:
            place = staged.chunk(line + lower * 8, right + begin // 8)
        b.stmatrix(place, b.words(pairs), trans=swap)

    def put_f32(self, staged, begin: int, values) -> None:
        """The same of f32, which stmatrix does not store."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(0, len(values), 2):
            row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i // 4 * 8 + begin
            if not self.config.swap:
                place = staged.chunk(row, column // 4) + column % 4 * 4
                b.store(b.vector(values[i : i + 2]), place, align=8)
                continue
            for j in range(2):
                place = staged.chunk(column + j, row // 4) + row % 4 * 4
                b.store(values[i + j], place)


def build(config: Config = LARGE, kind: Kind = BF16) -> Kernel:
    """The kernel, as LLVM IR."""
    return Gemm(config, kind).finish()


# ---- launching ---------------------------------------------------------------------------------


def check(m: int, n: int, k: int, kind: Kind = BF16) -> None:
    """Whether TMA can walk over A, B and D: rows in memory are multiples of 16 bytes.

    Raises: InputError.
    """
    unit = 128 // kind.dtype.bits
    rows = [("K" if kind.a_major is Major.K else "M", k if kind.a_major is Major.K else m, unit)]
    rows += [("K" if kind.b_major is Major.K else "N", k if kind.b_major is Major.K else n, unit)]
    rows += [("N", n, 128 // kind.out.bits)]
    findings = [
        Finding(
            "gemm/stride",
            Severity.ERROR,
            f"TMA cannot walk over a matrix with such rows: {name} is no multiple of {unit}",
            got=f"{name} = {size}",
            expected=f"{size // unit * unit} or {-(-size // unit) * unit}",
            hint="pad the rows of the matrix",
            section="PTX ISA, Tensors",
        )
        for name, size, unit in dict.fromkeys(rows)
        if size % unit or size < 1
    ]
    if findings:
        raise InputError(findings)


def operands(
    m: int, n: int, k: int, kind: Kind = BF16
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and their product, rounded as the kernel does."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (m, k)).astype(kind.dtype.numpy)
    b = rng.integers(-4, 5, (n, k)).astype(kind.dtype.numpy)
    d = (a.astype(np.float32) @ b.astype(np.float32).T).astype(kind.out.numpy)
    lies = zip((a, b), (kind.a_major, kind.b_major), strict=True)
    return *(x if major is Major.K else np.ascontiguousarray(x.T) for x, major in lies), d


# ---- tuning ------------------------------------------------------------------------------------


class Tuning:
    """The problem for `nvgen tune`: which configuration is fastest for M, N, K on this GPU."""

    target, opt = TARGET, 3

    def __init__(self, m: int, n: int, k: int, dtype: ElementType) -> None:
        self.kind = Kind(dtype, ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16)
        check(m, n, k, self.kind)
        self.shape = (m, n, k)
        self.name = f"gemm_sm90 {m}x{n}x{k} {dtype.value}"
        self.flops = 2.0 * m * n * k

    def configs(self) -> list[Config]:
        """The 64 configurations that the model thinks the fastest."""
        table = candidates(self.kind)
        return [table.configs[i] for i in np.argsort(table.times(*self.shape))[:64]]

    def build(self, config: Config) -> Kernel:
        """The kernel of a configuration."""
        return build(config, self.kind)

    def measure(self, candidate: Candidate[Config]) -> float:
        """The median of nine timings of some launches each, after a look at the result."""
        import torch

        m, n, k = self.shape
        torch.manual_seed(0)
        types = {ElementType.F16: torch.float16, ElementType.BF16: torch.bfloat16}
        stored = types.get(self.kind.dtype, torch.float8_e4m3fn)
        a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
        d = torch.empty(m, n, device="cuda", dtype=types[self.kind.out])
        kernel = candidate.code.load()
        bytes_of = (lambda x: x.view(torch.uint8)) if stored.itemsize == 1 else (lambda x: x)
        arguments = candidate.kernel.arguments((bytes_of(a), bytes_of(b), d, m, n, k), {})
        config = candidate.config
        shape = {"grid": grid(config, m, n), "cluster": config.ctas}
        kernel.launch(*arguments, **shape)
        expected = a[:256].float() @ b.float().T
        error = (d[:256].float() - expected).abs().max().item()
        if error > 0.01 * expected.abs().max().item():
            raise VerificationError(
                [Finding("gemm/wrong", Severity.ERROR, "a wrong product", got=f"off by {error}")]
            )
        launches = max(1, int(2e11 / self.flops))
        times = [kernel.time(*arguments, **shape, launches=launches) for _ in range(9)]
        return sorted(times)[4]


def tuning(m: int = 4096, n: int = 4096, k: int = 4096, dtype: str = "bf16") -> Tuning:
    """What `nvgen tune samples/10_gemm_sm90.py m=… n=… k=… dtype=…` tunes."""
    return Tuning(m, n, k, ElementType(dtype))


def main() -> None:
    """Run 200×136×152 by two CTAs on the simulator and compare with numpy."""
    m, n, k = 200, 136, 152
    a, b, expected = operands(m, n, k)
    d = np.zeros((m, n), expected.dtype)
    config = Config(m=64, n=64, consumers=1, stages=2)
    build(config).compile(target=TARGET).run(a, b, d, m, n, k, grid=2, device="sim")
    assert np.array_equal(d, expected), "the product differs from numpy"
    print(f"D = A·Bᵀ, {m}x{n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()
