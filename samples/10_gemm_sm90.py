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

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

import numpy as np

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, Severity, VerificationError
from intrinsics.modifiers import Scope, Space
from nvgen import Kernel, KernelBuilder
from nvgen.tuning import Candidate

ROW = 128  # bytes of a row of A or B that a step of K takes: one span of the swizzling
WARPGROUP, ROWS = 128, 64  # threads of a warpgroup, and rows of one multiply
STORED_ROWS, STORED_COLUMNS = 16, 64  # of D, that a warp stores at once
READY = 1  # the named barrier behind which the mbarriers are there

TARGET = "sm_90a"
TARGETS = (TARGET,)


@dataclass(frozen=True, slots=True)
class Config:
    """How the work is cut: what `nvgen tune` tries.

    A CTA has tiles of `m` by `n` of D, `consumers` warpgroups and a ring of `stages` buffers.
    `cluster` CTAs, one below the other, share B.  Tiles follow one another down `group` clusters
    before the next column begins.  A warp has `staged` buffers for what it stores.
    """

    m: int = 128
    n: int = 256
    consumers: int = 2
    stages: int = 4
    cluster: int = 1
    group: int = 8
    staged: int = 2

    @property
    def threads(self) -> int:
        """Threads of a CTA: the consumers, and a warpgroup of which one warp is the producer."""
        return (self.consumers + 1) * WARPGROUP

    @property
    def clusters(self) -> tuple[int, int]:
        """Rows and columns of D that a cluster has."""
        return self.m * self.cluster, self.n


class Gemm:
    """The kernel under construction."""

    def __init__(self, config: Config, dtype: ElementType) -> None:
        """Parameters, shared memory and mbarriers."""
        self.config, self.k = config, ROW * 8 // dtype.bits
        self.out = ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16
        b = self.b = KernelBuilder(
            "gemm_sm90", block=config.threads, cluster=config.cluster, dynamic_shared=True
        )
        self.shared_rows = config.n // config.cluster  # of B, that a CTA brings for all
        b.tensor_map("a", dtype=dtype, box=(config.m, self.k), swizzle=128)
        b.tensor_map("b", dtype=dtype, box=(self.shared_rows, self.k), swizzle=128)
        box = (STORED_ROWS, STORED_COLUMNS)
        b.tensor_map("d", dtype=self.out, box=box, swizzle=128, output=True)
        for name in ("m", "n", "k"):
            b.integer(name)
        self.args = b.begin()
        stages = config.stages
        self.a_ring = b.shared_tiles("a_ring", dtype, (config.m, self.k), stages)
        self.b_ring = b.shared_tiles("b_ring", dtype, (config.n, self.k), stages)
        warps = config.consumers * 4
        self.staging = b.shared_tiles("staging", self.out, box, warps * config.staged)
        self.full, self.empty = b.mbarriers("full", stages), b.mbarriers("empty", stages)
        self.rank = b.cluster_ctarank if config.cluster > 1 else b.const(0)
        self.scope = Scope.CLUSTER if config.cluster > 1 else Scope.CTA

    def finish(self) -> Kernel:
        """The two roles."""
        b, config = self.b, self.config
        producer = config.consumers * 4
        self.prepare(producer)
        with b.if_warpgroup(config.consumers):
            if config.consumers == 2:
                b.setmaxnreg_dec(24)
            with b.if_warp(producer), b.elect():
                self.produce()
        with b.if_(b.warpgroup < config.consumers):
            if config.cluster == 1:
                b.barrier_cta_sync_aligned(READY, config.consumers * WARPGROUP + 32)
            if config.consumers == 2:  # 128·24 + 256·240 = 384·168, what a CTA begins with
                b.setmaxnreg_inc(240)
            self.consume()
        if config.cluster > 1:  # the others still arrive at this CTA's mbarriers
            b.bar_warp_sync()
            b.barrier_cluster_arrive(relaxed=True)
            b.barrier_cluster_wait()
        return b.finish()

    def prepare(self, producer: int) -> None:
        """Make the mbarriers; alone, the producer does not wait until all know of them."""
        b, config = self.b, self.config
        with b.if_warp(producer):
            with b.elect():
                for stage in range(config.stages):
                    b.mbarrier_init(self.full[stage], 1)
                    b.mbarrier_init(self.empty[stage], config.consumers * config.cluster)
                b.fence_mbarrier_init_release_cluster()
            b.bar_warp_sync()
            if config.cluster == 1:
                b.barrier_cta_arrive_aligned(READY, config.consumers * WARPGROUP + 32)
        if config.cluster > 1:
            b.barrier_cluster_arrive(relaxed=True)
            b.barrier_cluster_wait()

    @contextmanager
    def tiles(self) -> Iterator[tuple]:
        """Every tile of this CTA, by its first row and column."""
        b, config, (rows, columns) = self.b, self.config, self.config.clusters
        down = (self.args["m"] + (rows - 1)) // rows
        across = (self.args["n"] + (columns - 1)) // columns
        first, step = b.ctaid_x // config.cluster, b.nctaid_x // config.cluster
        with b.range(down * across, start=first, step=step) as number:
            top = number // (across * config.group) * config.group
            inside = number % (across * config.group)
            height = b.select(down - top < config.group, down - top, config.group)
            row = (top + inside % height) * config.cluster + self.rank
            yield row * config.m, inside // height * config.n

    @property
    def steps(self):
        """Steps of K."""
        return (self.args["k"] + (self.k - 1)) // self.k

    def produce(self) -> None:
        """Bring the tiles of A and B, a step of K at a time; every CTA brings a part of B."""
        b, config, ring = self.b, self.config, self.b.ring(self.config.stages)
        share = self.rank * self.shared_rows
        mask = b.const((1 << config.cluster) - 1, 16) if config.cluster > 1 else None
        b.griddepcontrol_wait()  # where the launch did not wait for the one before it
        b.griddepcontrol_launch_dependents()
        with self.tiles() as (row, column), b.range(self.steps) as step:
            b.wait(self.empty[ring.stage], ring.parity ^ 1, scope=self.scope)
            full, k = self.full[ring.stage], step * self.k
            b.mbarrier_arrive_expect_tx(full, self.a_ring.nbytes + self.b_ring.nbytes)
            a, part = self.a_ring[ring.stage].pointer, self.b_ring[ring.stage].pointer + share * ROW
            b.cp_async_bulk_tensor_g2s_tile(a, full, self.args["a"], (k, row))
            b.cp_async_bulk_tensor_g2s_tile(
                part, full, self.args["b"], (k, column + share), cta_mask=mask
            )
            ring.advance()

    def consume(self) -> None:
        """Multiply and store; the buffer of a step is released when the next one is under way."""
        b, config, ring = self.b, self.config, self.b.ring(self.config.stages)
        height, slots = config.m // config.consumers, b.ring(config.staged)
        b.griddepcontrol_wait()
        with self.tiles() as (row, column):
            d = b.warpgroup_tile(height, config.n)
            self.multiply(d, ring, accumulate=False)
            held = b.variable(ring.stage)
            ring.advance()
            with b.range(self.steps, start=1):
                self.multiply(d, ring, accumulate=True)
                b.wgmma_wait_group(1)
                self.release(held.value)
                held.set(ring.stage)
                ring.advance()
            b.wgmma_wait_group(0)
            self.release(held.value)
            self.store(d, row + b.warpgroup * height, column, slots)
        with b.elect():
            b.cp_async_bulk_wait_group_read(0)

    def multiply(self, d, ring, *, accumulate: bool) -> None:
        """Start the multiplies of one step of K."""
        b = self.b
        b.wait(self.full[ring.stage], ring.parity)
        a = self.a_ring[ring.stage].part(b.warpgroup * d.m, d.m)
        b.wgmma_fence()
        b.gemm_async(d, a, self.b_ring[ring.stage], accumulate=accumulate)
        b.wgmma_commit_group()

    def release(self, stage) -> None:
        """Tell each producer that writes this buffer that it has been read."""
        b, config = self.b, self.config
        thread = b.tid_x % WARPGROUP
        with b.if_(thread < config.cluster):
            if config.cluster > 1:
                theirs = b.of_cta(self.empty[stage], thread)
                b.mbarrier_arrive_space_cluster(theirs, relaxed=True)
            else:
                b.mbarrier_arrive(self.empty[stage])

    def store(self, d, row, column, slots) -> None:
        """Round D and store it, each warp 16 rows of 64 columns at a time."""
        b, config = self.b, self.config
        warp, lane = b.warp, b.tid_x % 32
        pack = b.pack_f16x2 if self.out is ElementType.F16 else b.pack_bf16x2
        line, half = lane % 16, lane // 16  # where a lane's eight values lie, of 16 by 16
        for part, sums in enumerate(d.parts):
            values = sums.registers
            for block in range(config.n // STORED_COLUMNS):
                with b.elect():  # the last store out of this buffer has read it
                    b.cp_async_bulk_wait_group_read(config.staged - 1)
                b.bar_warp_sync()
                staged = self.staging[warp * config.staged + slots.stage]
                for chunk in range(STORED_COLUMNS // 16):
                    first = block * 32 + chunk * 8
                    pairs = [pack(values[i], values[i + 1]) for i in range(first, first + 8, 2)]
                    b.stmatrix(staged.chunk(line, half + 2 * chunk), b.words(pairs))
                b.fence_proxy_async(Space.SHARED_CTA)
                b.bar_warp_sync()
                with b.elect():
                    top = row + part * ROWS + warp % 4 * STORED_ROWS
                    at = (column + block * STORED_COLUMNS, top)
                    b.cp_async_bulk_tensor_s2g_tile(self.args["d"], at, staged.pointer)
                    b.cp_async_bulk_commit_group()
                slots.advance()


def build(config: Config = Config(), dtype: ElementType = ElementType.BF16) -> Kernel:
    """The kernel, as LLVM IR."""
    return Gemm(config, dtype).finish()


# ---- launching ---------------------------------------------------------------------------------


def check(n: int, k: int, dtype: ElementType) -> None:
    """Whether TMA can walk over A, B and D: rows are multiples of 16 bytes.

    Raises: InputError.
    """
    widths = {"K": (k, 128 // dtype.bits), "N": (n, 8)}
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
        for name, (size, unit) in widths.items()
        if size % unit or size < 1
    ]
    if findings:
        raise InputError(findings)


def choose(m: int, n: int) -> Config:
    """A configuration that does well: what `nvgen tune` found on an H200."""
    if -(-m // 128) * -(-n // 256) >= 100:  # enough large tiles for most of 132 multiprocessors
        return Config()
    if -(-m // 128) * -(-n // 128) >= 100:
        return Config(n=128, stages=5)
    return Config(m=64, n=128, consumers=1, stages=6)


def grid(config: Config, m: int, n: int, multiprocessors: int = 132) -> int:
    """How many CTAs: one for each multiprocessor, or for each tile if they are fewer."""
    rows, columns = config.clusters
    tiles = -(-m // rows) * -(-n // columns)
    return min(tiles, multiprocessors // config.cluster) * config.cluster


def operands(
    m: int, n: int, k: int, dtype: ElementType = ElementType.BF16
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, so that every sum is exact, and their product, rounded as the kernel does."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (m, k)).astype(dtype.numpy)
    b = rng.integers(-4, 5, (n, k)).astype(dtype.numpy)
    out = ElementType.F16 if dtype is ElementType.F16 else ElementType.BF16
    return a, b, (a.astype(np.float32) @ b.astype(np.float32).T).astype(out.numpy)


# ---- tuning ------------------------------------------------------------------------------------


class Tuning:
    """The problem for `nvgen tune`: which configuration is fastest for M, N, K on this GPU."""

    target, opt = TARGET, 3

    def __init__(self, m: int, n: int, k: int, dtype: ElementType) -> None:
        check(n, k, dtype)
        self.shape, self.dtype = (m, n, k), dtype
        self.name = f"gemm_sm90 {m}x{n}x{k} {dtype.value}"
        self.flops = 2.0 * m * n * k

    def configs(self) -> list[Config]:
        """Tiles, stages, clusters and orders that fit into shared memory."""
        tiles = ((64, 128, 1), (128, 64, 2), (128, 128, 2), (128, 256, 2), (256, 128, 2))
        found = []
        for (m, n, consumers), cluster, group in product(tiles, (1, 2), (4, 8, 16)):
            room = 220 * 1024 - consumers * 4 * 2 * 2048
            stages = min(room // ((m + n) * ROW), 8)
            found.append(Config(m, n, consumers, stages, cluster, group))
        return found

    def build(self, config: Config) -> Kernel:
        """The kernel of a configuration."""
        return build(config, self.dtype)

    def measure(self, candidate: Candidate[Config]) -> float:
        """The median of nine timings of some launches each, after a look at the result."""
        import torch

        m, n, k = self.shape
        torch.manual_seed(0)
        types = {ElementType.F16: torch.float16, ElementType.BF16: torch.bfloat16}
        stored = types.get(self.dtype, torch.float8_e4m3fn)
        a, b = (torch.randn(rows, k, device="cuda").to(stored) for rows in (m, n))
        d = torch.empty(m, n, device="cuda", dtype=types.get(self.dtype, torch.bfloat16))
        kernel = candidate.code.load()
        bytes_of = (lambda x: x.view(torch.uint8)) if stored.itemsize == 1 else (lambda x: x)
        arguments = candidate.kernel.arguments((bytes_of(a), bytes_of(b), d, m, n, k), {})
        config = candidate.config
        shape = {"grid": grid(config, m, n), "cluster": config.cluster}
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
