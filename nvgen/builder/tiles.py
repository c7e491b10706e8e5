"""Tiles, and `gemm_async`: a matrix multiply of tiles as tcgen05.mma instructions.

Layer: nvgen.builder.  A shared tile is an element type, a shape and a swizzle; a tensor tile is a
shape and columns of tensor memory.  `gemm_async` derives descriptors and the instruction
descriptor from them and unrolls the (mi, ni, ki) nest; it commits nothing, that is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.idesc import DENSE_K, SCALED_KINDS, InstructionDescriptor, m_values, n_values
from intrinsics.modifiers import CtaGroup, MmaKind
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle
from nvgen.builder.control import ControlFlow, Scope
from nvgen.builder.values import Int, IntLike, Pointer, refuse
from nvgen.tensor_map import SWIZZLES


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A K-major matrix in shared memory: `rows` of `k` elements, swizzled.

    A row longer than the swizzle span is cut into spans, each a block of all rows, one after the
    other, as one TMA copy a span leaves them.
    """

    name: str
    pointer: Pointer
    dtype: ElementType
    rows: int
    k: int
    swizzle: int

    @property
    def nbytes(self) -> int:
        """Size in bytes: what a TMA copy of the whole tile counts on its mbarrier."""
        return self.rows * self.k * self.dtype.bits // 8

    @property
    def span(self) -> int:
        """Elements in one swizzle span; without swizzling there is none.

        Raises: InputError then.
        """
        if not self.swizzle:
            raise refuse(f"tile {self.name} is not swizzled", expected="a swizzle of 32, 64 or 128")
        return self.swizzle * 8 // self.dtype.bits

    def offset(self, k: int) -> int:
        """Byte offset of the element (0, k)."""
        block, within = divmod(k, self.span)
        return (block * self.rows * self.span + within) * self.dtype.bits // 8

    def chunk(self, row: Int, number: int) -> Pointer:
        """Where 16 bytes of a row lie: chunk `number` of the row's first span, swizzled.

        Eight neighbouring rows have their chunks of one number in eight different places of the
        128 bytes that the banks of shared memory are wide.
        """
        lines = row >> (128 // self.swizzle).bit_length() - 1
        place = (lines & self.swizzle // 16 - 1) ^ number
        return self.pointer + (row * self.swizzle + place * 16)

    def descriptor(self, address: int = 0) -> SharedMemoryDescriptor:
        """The tcgen05 descriptor of the tile at a shared address."""
        mode = SWIZZLES[self.swizzle]
        return SharedMemoryDescriptor(address, lbo=16, sbo=8 * self.swizzle, swizzle=mode)


@dataclass(frozen=True, slots=True)
class SharedTiles:
    """Equal tiles in shared memory, one after the other: the buffers of a ring."""

    first: SharedTile
    count: int

    @property
    def nbytes(self) -> int:
        """Size in bytes of one of them."""
        return self.first.nbytes

    def __getitem__(self, number: IntLike) -> SharedTile:
        """One of them, by a number that the kernel may compute.

        Raises: InputError for a number that is known and too large.
        """
        if isinstance(number, int) and not 0 <= number < self.count:
            raise refuse(
                f"{self.first.name} has no such tile",
                got=str(number),
                expected=f"0..{self.count - 1}",
            )
        return replace(self.first, pointer=self.first.pointer + number * self.nbytes)


@dataclass(frozen=True, slots=True)
class TensorTile:
    """An accumulator in tensor memory: `m` rows and `n` columns of f32, from `pointer` on."""

    pointer: Pointer
    m: int
    n: int
    dtype: ElementType = ElementType.F32


# ---- requirements ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """Element types that one kind of MMA multiplies."""

    kind: MmaKind
    types: tuple[ElementType, ...]

    @property
    def k(self) -> int:
        """K of one instruction."""
        return DENSE_K[self.kind]

    @property
    def scaled(self) -> bool:
        """Whether A and B come with scale factors."""
        return self.kind in SCALED_KINDS

    @property
    def scales(self) -> int:
        """Scale factors that one instruction takes for each row: one for 32 elements of K."""
        return self.k // 32 if self.scaled else 0


FAMILIES = (
    Family(MmaKind.F16, (ElementType.F16,)),
    Family(MmaKind.F16, (ElementType.BF16,)),
    Family(MmaKind.TF32, (ElementType.TF32,)),
    Family(MmaKind.F8F6F4, (ElementType.E4M3, ElementType.E5M2)),
    Family(MmaKind.MXF8F6F4, (ElementType.E4M3, ElementType.E5M2)),
    Family(MmaKind.MXF4, (ElementType.E2M1,)),
)
"""What may be multiplied: A and B of one family, whose types may be mixed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call of gemm_async, as its requirements see it."""

    scope: Scope
    m: int
    n: int
    k: int
    a: SharedTile
    b: SharedTile
    d: TensorTile
    group: int
    family: Family | None
    scales: int = 0  # how many of sfa and sfb are there


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something gemm_async asks for: its id, whether it holds, what was there, what should be."""

    rule: str
    text: str
    holds: Callable[[Request], bool]
    got: Callable[[Request], str]
    expected: Callable[[Request], str]


def _m(r: Request) -> tuple[int, ...]:
    return m_values(r.family.kind if r.family else MmaKind.F16, r.group)


def _step(r: Request) -> int:
    return n_values(r.family.kind if r.family else MmaKind.F16, r.group)[0]


def _k(r: Request) -> int:
    return r.family.k if r.family else 16


REQUIREMENTS = (
    Requirement(
        "scope", "gemm_async is issued by a single thread or one warp",
        lambda r: r.scope is not Scope.CTA,
        lambda r: r.scope.value,
        lambda r: "inside `b.if_warp(…)` or `b.elect()`",
    ),
    Requirement(
        "dtype", "A and B have element types that no kind of MMA multiplies",
        lambda r: r.family is not None,
        lambda r: f"{r.a.dtype.value} x {r.b.dtype.value}",
        lambda r: "; ".join(_types(f) for f in FAMILIES),
    ),
    Requirement(
        "scales", "scale factors come for both matrices, of one CTA",
        lambda r: r.scales == 0 or (r.scales == 2 and r.group == 1),
        lambda r: f"{('none', 'one', 'both')[r.scales]}, cta_group::{r.group}",
        lambda r: "sfa and sfb with cta_group::1, or neither",
    ),
    Requirement(
        "accumulator", "the accumulator is f32 in tensor memory",
        lambda r: r.d.dtype is ElementType.F32,
        lambda r: r.d.dtype.value,
        lambda r: "f32",
    ),
    Requirement(
        "shape", "the shapes of A, B and D do not belong together",
        lambda r: r.a.k == r.b.k and (r.d.m, r.d.n) == (r.m, r.n),
        lambda r: f"A {r.a.rows}x{r.a.k}, B {r.b.rows}x{r.b.k}, D {r.d.m}x{r.d.n}",
        lambda r: f"A {r.a.rows}x{r.a.k}, B {r.b.rows}x{r.a.k}, D {r.m}x{r.n}",
    ),
    Requirement(
        "m", "M does not fit the tensor core",
        lambda r: r.m in _m(r),
        lambda r: str(r.m),
        lambda r: f"{' or '.join(map(str, _m(r)))} with cta_group::{r.group}",
    ),
    Requirement(
        "n", "N does not fit the tensor core",
        lambda r: r.n > 0 and r.n % _step(r) == 0,
        lambda r: str(r.n),
        lambda r: f"a multiple of {_step(r)} with cta_group::{r.group}",
    ),
    Requirement(
        "k", "K is no multiple of the instruction's K",
        lambda r: r.k > 0 and r.k % _k(r) == 0,
        lambda r: str(r.k),
        lambda r: f"a multiple of {_k(r)}",
    ),
    Requirement(
        "swizzle", "A and B lie swizzled, K-major, in whole spans",
        lambda r: all(t.swizzle in (32, 64, 128) and t.k % t.span == 0 for t in (r.a, r.b)),
        lambda r: f"swizzle {r.a.swizzle} and {r.b.swizzle}, K {r.a.k} and {r.b.k}",
        lambda r: "32, 64 or 128 bytes, and K a multiple of the span",
    ),
)  # fmt: skip
"""Everything gemm_async requires, as data; TVM's primitive of that name asks for the same."""


def check(request: Request) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    findings = [
        Finding(
            f"gemm_async/{requirement.rule}",
            Severity.ERROR,
            requirement.text,
            op="gemm_async",
            got=requirement.got(request),
            expected=requirement.expected(request),
            section="PTX ISA, Matrix Shape (Table 39)",
        )
        for requirement in REQUIREMENTS
        if not requirement.holds(request)
    ]
    if findings:
        raise InputError(findings)


def family_of(a: ElementType, b: ElementType, *, scaled: bool = False) -> Family | None:
    """The family that multiplies `a` by `b`, with or without scale factors."""
    return next((f for f in FAMILIES if a in f.types and b in f.types and f.scaled is scaled), None)


def _types(family: Family) -> str:
    types = " or ".join(t.value for t in family.types)
    return types + (" with scale factors" if family.scaled else "")


# ---- the multiply ----------------------------------------------------------------------------


class TileOperations(ControlFlow):
    """Operations on tiles."""

    def gemm_async(
        self,
        d: TensorTile,
        a: SharedTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        cta_group: CtaGroup = CtaGroup.ONE,
        sfa: Pointer | None = None,
        sfb: Pointer | None = None,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; the caller commits.

        `accumulate` may be a condition that the kernel computes.

        `a` is M × K and `b` is N × K, both K-major in shared memory; `d` is M × N in tensor memory.
        With `cta_group` 2 each CTA of the pair holds half of A's and of B's rows.  In warp scope
        one thread of the warp is elected to issue.

        `sfa` and `sfb` are UE8M0 scale factors in tensor memory, one for 32 elements of K: four of
        them, along K, in a word; a column of words for 32 rows; then those of the next 128 K.

        Raises: InputError when a requirement is not met.
        """
        group = 2 if cta_group is CtaGroup.TWO else 1
        scales = [s for s in (sfa, sfb) if s is not None]
        family = family_of(a.dtype, b.dtype, scaled=bool(scales))
        m, n = a.rows * group, b.rows * group
        check(Request(self.scope, m, n, a.k, a, b, d, group, family, len(scales)))
        assert family is not None
        if self.scope is Scope.WARP:
            with self.elect():
                self._issue(d, a, b, family, accumulate, cta_group, scales)
        else:
            self._issue(d, a, b, family, accumulate, cta_group, scales)

    def _issue(
        self,
        d: TensorTile,
        a: SharedTile,
        b: SharedTile,
        family: Family,
        accumulate: bool | Int,
        cta_group: CtaGroup,
        scales: list[Pointer],
    ) -> None:
        """The unrolled nest: M is one instruction's, N goes in pieces of 256, K in the kind's."""
        group = 2 if cta_group is CtaGroup.TWO else 1
        a_base, b_base = self.descriptor(a), self.descriptor(b)
        for ni, width in _columns(d.n, 256):
            accumulator = d.pointer + ni if ni else d.pointer
            for ki in range(a.k // family.k):
                k = ki * family.k
                rows = ni // group * b.swizzle
                word, scale_id = divmod(ki * family.scales, 4)
                sfa, sfb = _scales_at(scales, word, a.rows, d.n, ni)
                self.tcgen05_mma(
                    accumulator,
                    _advance(a_base, a.offset(k)),
                    _advance(b_base, b.offset(k) + rows),
                    _descriptor(family, a.rows * group, width, a, b, d, scale_id).encode(),
                    1 if ki else int(accumulate) if isinstance(accumulate, bool) else accumulate,
                    kind=family.kind,
                    cta_group=cta_group,
                    sfa=sfa,
                    sfb=sfb,
                )

    def descriptor(self, tile: SharedTile) -> Int:
        """The descriptor of a tile, whose address the kernel knows."""
        address = self.at_caller().ptrtoint(tile.pointer.value, self.int_type(32))
        low = (Int(self, address) & 0x3FFFF) >> 4
        constant = tile.descriptor().encode()
        return self.zext(low, 64) | constant


def _descriptor(
    family: Family, m: int, n: int, a: SharedTile, b: SharedTile, d: TensorTile, scale_id: int
) -> InstructionDescriptor:
    if not family.scaled:
        return InstructionDescriptor(family.kind, m, n, a.dtype, b.dtype, d.dtype)
    return InstructionDescriptor(
        family.kind,
        m,
        n,
        a.dtype,
        b.dtype,
        scale=ElementType.UE8M0,
        sfa_id=scale_id,
        sfb_id=scale_id,
    )


def _scales_at(
    scales: list[Pointer], word: int, m: int, n: int, first: int
) -> tuple[Pointer | None, Pointer | None]:
    """Where the scale factors of one instruction begin: `word` counts 128 elements of K."""
    if not scales:
        return None, None
    sfa, sfb = scales
    a, b = word * (m // 32), word * -(-n // 32) + first // 32
    return sfa + a if a else sfa, sfb + b if b else sfb


def _columns(n: int, most: int) -> Iterator[tuple[int, int]]:
    """N in pieces that one instruction can do: (first column, width)."""
    for first in range(0, n, most):
        yield first, min(most, n - first)


def _advance(descriptor: Int, offset: int) -> Int:
    """The descriptor of the same layout `offset` bytes further on."""
    if offset % 16:
        raise refuse("a descriptor moves in steps of 16 bytes", got=str(offset))
    return descriptor + (offset >> 4) if offset else descriptor


def swizzle_mode(span: int) -> Swizzle:
    """The swizzle whose span is `span` bytes.

    Raises: InputError when there is none.
    """
    mode = SWIZZLES.get(span)
    if mode is None:
        raise refuse("no such swizzle", got=str(span), expected="0, 32, 64 or 128 bytes")
    return mode
