"""wgmma: multiplies of a warpgroup with accumulators in registers, and what orders them.

PTX ISA, Asynchronous Warpgroup Level Matrix Instructions.

The manual gives `wgmma.mma_async` a syntax for each family of element types, with A in shared
memory or in registers: each is a row.  D is updated in place, so LLVM's names take the accumulators
as their first argument and give them back; those names are nvgen's own, since LLVM 22 has none:

    llvm.nvvm.wgmma.mma_async[.sp].<shape>.<D>.<A>.<B>[.satfinite][.registers]

Accumulators are vectors of `float`, or of `i32`, which holds an s32 or two f16; A in registers is
`<4 x i32>`, behind a name that ends in `.registers`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.multiplies.wgmma import BitOperation, MatrixType, WgmmaShape, shapes
from intrinsics.row import (
    Access,
    By,
    Completion,
    Effect,
    Effects,
    Fact,
    Facts,
    IssueScope,
    Llvm,
    Numbers,
    Operand,
    Row,
    Rule,
    number,
    per,
    predicate,
    register,
    value,
    vector,
    when,
)
from intrinsics.targets import Feature, since, with_feature

T = ScalarType
_HOPPER = with_feature(Feature.HAS_WGMMA)
_DENSE = since("8.0", _HOPPER)
_SPARSE = since("8.2", _HOPPER)
_ONLY_HOPPER = "wgmma runs on sm_90a only; later targets multiply with tcgen05.mma or mma.sync"

_MULTIPLIES = Effects(
    Effect.READS_MEMORY | Effect.CONVERGENT | Effect.ALIGNED | Effect.ASYNC_PROXY,
    IssueScope.WARPGROUP,
    Completion.WGMMA_GROUP,
)
_ORDERS = Effects(Effect.CONVERGENT | Effect.ALIGNED | Effect.BARRIER, IssueScope.WARPGROUP)

# ---- families --------------------------------------------------------------------------------

_FLOATS = (T.F16, T.F32)
_HALVES = (T.F16, T.BF16)
_BYTES = (MatrixType.E4M3, MatrixType.E5M2)
_INTEGERS = (T.S8, T.U8)


@dataclass(frozen=True, slots=True)
class _Family:
    """One syntax of the manual: the types of D, A and B, K, and the operands behind scale-d.

    `selectors` is how many threads of four may hold the metadata of a sparse A.
    """

    name: str
    k: int
    d: tuple[ScalarType, ...]
    a: tuple[Modifier, ...]
    words: tuple[str, ...]  # D, A and B in LLVM's names
    scaled: bool = False
    transposed: bool = False
    saturates: bool = False
    selectors: int = 1
    operations: bool = False
    rules: tuple[Rule, ...] = ()

    @property
    def integers(self) -> bool:
        return self.d == (T.S32,)


def _words(d: Iterable[Modifier], a: Iterable[Modifier]) -> tuple[str, ...]:
    factors = tuple(a)
    return tuple(f"{x.value}.{y.value}.{z.value}" for x in d for y in factors for z in factors)


# fmt: off
_SAME = "A and B are both of type .f16 or both of type .bf16"
_HALF_RULES = (
    when(atype=T.F16).must("types", _SAME, btype=T.F16),
    when(atype=T.BF16).must("types", _SAME, btype=T.BF16),
    when(dtype=T.F16).must(
        "accumulator-type", "products of .bf16 are summed in .f32", atype=T.F16),
)
_MIXED = since("8.4", _HOPPER)
_INTEGER_RULES = tuple(
    when(atype=a, btype=b).needs("mixed-signs-version", _MIXED)
    for a, b in ((T.S8, T.U8), (T.U8, T.S8))
)

_FAMILIES = (
    _Family("half", 16, _FLOATS, _HALVES, ("f32.f16.f16", "f16.f16.f16", "f32.bf16.bf16"),
            scaled=True, transposed=True, selectors=2, rules=_HALF_RULES),
    _Family("tf32", 8, (T.F32,), (T.TF32,), ("f32.tf32.tf32",), scaled=True, selectors=2),
    _Family("fp8", 32, _FLOATS, _BYTES, _words(_FLOATS, _BYTES), scaled=True),
    _Family("int", 32, (T.S32,), _INTEGERS, _words((T.S32,), _INTEGERS),
            saturates=True, rules=_INTEGER_RULES),
    _Family("b1", 256, (T.S32,), (MatrixType.B1,), ("s32.b1.b1.and.popc",),
            operations=True),
)
# fmt: on

# ---- operands --------------------------------------------------------------------------------

_SIGN = Numbers(-1, 1, nonzero=True)
_FLAG = Numbers(0, 1)

# Registers of A hold untyped bits: ptxas takes .b32 and .f16x2, and for integers any of 32 bits.
_OF_A = T.F16X2

_REGISTERS: dict[Fact, ScalarType] = {T.F16: T.F16X2, T.F32: T.F32, T.S32: T.S32}


def _accumulators(family: _Family, those: tuple[WgmmaShape, ...]) -> Operand:
    """Half of N registers for a thread: of two rows, two of eight neighbouring columns each."""
    types: dict[Fact, ScalarType] = {t: _REGISTERS[t] for t in family.d}
    quarters: dict[Fact, int] = {shape: shape.n // 4 for shape in those}
    pairs: dict[Fact, int] = {t: 1 if t is T.F16 else 2 for t in family.d}
    count = per(shape=quarters, dtype=pairs)
    kind = By("dtype", types, T.F32)
    return vector("d", kind, count, Access.UPDATE, distinct=True)


def _operands(
    family: _Family, those: tuple[WgmmaShape, ...], *, sparse: bool, held: bool
) -> tuple[Operand, ...]:
    bits = T.B32 if family.integers else _OF_A
    found = [
        _accumulators(family, those),
        vector("a", bits, per(shape=dict.fromkeys(those, 4))) if held else _descriptor("a"),
        _descriptor("b"),
    ]
    if sparse:
        selector = number("sp_sel", Numbers(0, family.selectors - 1))
        found += [register("sp_meta", T.B32), selector]
    found.append(predicate("scale_d", _FLAG, number_too=True))
    if family.scaled:
        found += [number("scale_a", _SIGN), number("scale_b", _SIGN)]
    if family.transposed:
        found += [number(f"trans_{x}", _FLAG) for x in ("b" if held else "ab")]
    return tuple(found)


def _descriptor(name: str) -> Operand:
    return value(name, T.U64, symbols=False)


# ---- LLVM's names ----------------------------------------------------------------------------


def _spellings(family: _Family, operands: tuple[Operand, ...], *, sparse: bool) -> tuple[Llvm, ...]:
    held = next(o for o in operands if o.name == "a").count is not None
    rest = ", ".join(_argument(o, held=held) for o in operands[1:])
    head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
    end = ".registers" if held else ""
    found = []
    for d in family.d:
        table = {w: _stated(family, w) for w in family.words if w.startswith(d.value)}
        word = "float" if d is T.F32 else "i32"
        for saturating in (False, True)[: 1 + family.saturates]:
            given: Facts = {"satfinite": SatFinite.SATFINITE} if saturating else {}
            found.append(
                Llvm(
                    f"{head}.{{shape}}.{{types}}{'.satfinite' * saturating}{end}",
                    f"v*{word}:d, {rest}",
                    f"v*{word}:d",
                    given=given,
                    holes={"types": table},
                    own=True,
                )
            )
    return tuple(found)


def _argument(operand: Operand, *, held: bool) -> str:
    types = {"a": "v*i32" if held else "i64", "b": "i64", "scale_d": "i1"}
    return f"{types.get(operand.name, 'i32')}:{operand.name}"


def _stated(family: _Family, words: str) -> Facts:
    """The types, and operations on bits, that words name."""
    choices: tuple[Modifier, ...] = (*family.d, *family.a, *BitOperation)
    named: dict[str, Fact] = {t.value: t for t in choices}
    axes = ("dtype", "atype", "btype", "op", "sum")
    return {axis: named[word] for axis, word in zip(axes, words.split("."), strict=False)}


# ---- the rows --------------------------------------------------------------------------------


def _row(family: _Family, *, sparse: bool, held: bool) -> Row:
    those = shapes(family.k * (1 + sparse), integers=family.integers)
    operands = _operands(family, those, sparse=sparse, held=held)
    head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
    axes: dict[str, Iterable[Modifier]] = {
        "shape": those,
        "dtype": family.d,
        "atype": family.a,
        "btype": family.a,
    }
    if family.saturates:
        axes["satfinite"] = SatFinite
    if family.operations:
        axes |= {"op": (BitOperation.AND,), "sum": (BitOperation.POPC,)}
    satfinite = "{.satfinite}" * family.saturates
    return Row(
        head,
        f".sync.aligned.shape{satfinite}.dtype.atype.btype{'.op.sum' * family.operations}",
        ", ".join(o.name for o in operands),
        name=f"{head}.{family.name}{'.registers' * held}",
        axes=axes,
        operands=operands,
        section=head,
        needs=_SPARSE if sparse else _DENSE,
        needs_text=_ONLY_HOPPER,
        rules=family.rules,
        effects=_MULTIPLIES,
        llvm=_spellings(family, operands, sparse=sparse),
        opcode=f"WGMMA_MMA_ASYNC{'_SP' * sparse}_*_{'RS' if held else 'SS'}",
        late={} if sparse else {"sp": "wgmma.mma_async.sp"},
    )


_PLACES = (False, True)
MULTIPLIES = tuple(
    _row(family, sparse=sparse, held=held)
    for sparse in (False, True)
    for family in (_FAMILIES[:-1] if sparse else _FAMILIES)
    for held in _PLACES
)
"""A by descriptor, then in registers, for each family; the manual has no sparse .b1."""

# fmt: off
FENCE = Row(
    "wgmma.fence", ".sync.aligned", section="wgmma.fence",
    needs=_DENSE, needs_text=_ONLY_HOPPER, effects=_ORDERS,
    llvm=(Llvm("wgmma.fence.sync.aligned"),),
)
COMMIT_GROUP = Row(
    "wgmma.commit_group", ".sync.aligned", section="wgmma.commit_group",
    needs=_DENSE, needs_text=_ONLY_HOPPER, effects=_ORDERS,
    llvm=(Llvm("wgmma.commit_group.sync.aligned"),),
)
WAIT_GROUP = Row(
    "wgmma.wait_group", ".sync.aligned", "n",
    operands=(number("n", Numbers(0)),), section="wgmma.wait_group",
    needs=_DENSE, needs_text=_ONLY_HOPPER, effects=_ORDERS,
    llvm=(Llvm("wgmma.wait_group.sync.aligned", "i64:n"),),
)
# fmt: on

ROWS = (*MULTIPLIES, FENCE, COMMIT_GROUP, WAIT_GROUP)
