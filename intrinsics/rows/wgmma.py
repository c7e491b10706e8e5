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

import itertools
from collections.abc import Iterable

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.modifiers.wgmma import BitOperation, WgmmaShape, shapes
from intrinsics.row import (
    Access,
    Attribute,
    Attributes,
    By,
    Completion,
    Effect,
    Effects,
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
from intrinsics.rows import wgmma_families as families
from intrinsics.rows.wgmma_families import WgmmaFamily
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


@dataclass(frozen=True, slots=True)
class _Syntax:
    """A family with what only its rows have.

    `words` are D, A and B in LLVM's names, `selectors` how many threads of four may hold the
    metadata of a sparse A.
    """

    family: WgmmaFamily
    words: tuple[str, ...]
    saturates: bool = False
    selectors: int = 1
    operations: bool = False
    rules: tuple[Rule, ...] = ()


def _words(family: WgmmaFamily) -> tuple[str, ...]:
    types = itertools.product(family.d, family.a, family.a)
    return tuple(f"{d.value}.{a.value}.{b.value}" for d, a, b in types)


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

_SYNTAXES = (
    _Syntax(families.HALF, ("f32.f16.f16", "f16.f16.f16", "f32.bf16.bf16"), selectors=2,
            rules=_HALF_RULES),
    _Syntax(families.TF32, ("f32.tf32.tf32",), selectors=2),
    _Syntax(families.FP8, _words(families.FP8)),
    _Syntax(families.INT, _words(families.INT), saturates=True, rules=_INTEGER_RULES),
    _Syntax(families.B1, ("s32.b1.b1.and.popc",), operations=True),
)
# fmt: on

# ---- operands --------------------------------------------------------------------------------

_SIGN = Numbers(-1, 1, nonzero=True)
_FLAG = Numbers(0, 1)

# Registers of A hold untyped bits: ptxas takes .b32 and .f16x2, and for integers any of 32 bits.
_OF_A = T.F16X2

_REGISTERS: dict[Attribute, ScalarType] = {T.F16: T.F16X2, T.F32: T.F32, T.S32: T.S32}


def _accumulators(family: WgmmaFamily, those: tuple[WgmmaShape, ...]) -> Operand:
    """Half of N registers for a thread: of two rows, two of eight neighbouring columns each."""
    types: dict[Attribute, ScalarType] = {t: _REGISTERS[t] for t in family.d}
    quarters: dict[Attribute, int] = {shape: shape.n // 4 for shape in those}
    pairs: dict[Attribute, int] = {t: 1 if t is T.F16 else 2 for t in family.d}
    count = per(shape=quarters, dtype=pairs)
    kind = By("dtype", types, T.F32)
    return vector("d", kind, count, Access.UPDATE, distinct=True)


def _operands(
    syntax: _Syntax, those: tuple[WgmmaShape, ...], *, sparse: bool, held: bool
) -> tuple[Operand, ...]:
    family = syntax.family
    bits = T.B32 if family.integers else _OF_A
    found = [
        _accumulators(family, those),
        vector("a", bits, per(shape=dict.fromkeys(those, 4))) if held else _descriptor("a"),
        _descriptor("b"),
    ]
    if sparse:
        selector = number("sp_sel", Numbers(0, syntax.selectors - 1))
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


def _spellings(syntax: _Syntax, operands: tuple[Operand, ...], *, sparse: bool) -> tuple[Llvm, ...]:
    held = next(o for o in operands if o.name == "a").count is not None
    rest = ", ".join(_argument(o, held=held) for o in operands[1:])
    head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
    end = ".registers" if held else ""
    found = []
    for d in syntax.family.d:
        table = {w: _stated(syntax.family, w) for w in syntax.words if w.startswith(d.value)}
        word = "float" if d is T.F32 else "i32"
        for saturating in (False, True)[: 1 + syntax.saturates]:
            given: Attributes = {"satfinite": SatFinite.SATFINITE} if saturating else {}
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


def _stated(family: WgmmaFamily, words: str) -> Attributes:
    """The types, and operations on bits, that words name."""
    choices: tuple[Modifier, ...] = (*family.d, *family.a, *BitOperation)
    named: dict[str, Attribute] = {t.value: t for t in choices}
    qualifiers = ("dtype", "atype", "btype", "op", "sum")
    return {
        qualifier: named[word]
        for qualifier, word in zip(qualifiers, words.split("."), strict=False)
    }


# ---- the rows --------------------------------------------------------------------------------


def _row(syntax: _Syntax, *, sparse: bool, held: bool) -> Row:
    family = syntax.family
    those = shapes(family.k * (1 + sparse), integers=family.integers)
    operands = _operands(syntax, those, sparse=sparse, held=held)
    head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
    qualifiers: dict[str, Iterable[Modifier]] = {
        "shape": those,
        "dtype": family.d,
        "atype": family.a,
        "btype": family.a,
    }
    if syntax.saturates:
        qualifiers["satfinite"] = SatFinite
    if syntax.operations:
        qualifiers |= {"op": (BitOperation.AND,), "sum": (BitOperation.POPC,)}
    satfinite = "{.satfinite}" * syntax.saturates
    return Row(
        head,
        f".sync.aligned.shape{satfinite}.dtype.atype.btype{'.op.sum' * syntax.operations}",
        ", ".join(o.name for o in operands),
        name=f"{head}.{family.name}{'.registers' * held}",
        qualifiers=qualifiers,
        operands=operands,
        section=head,
        needs=_SPARSE if sparse else _DENSE,
        needs_text=_ONLY_HOPPER,
        rules=syntax.rules,
        effects=_MULTIPLIES,
        llvm=_spellings(syntax, operands, sparse=sparse),
        opcode=f"WGMMA_MMA_ASYNC{'_SP' * sparse}_*_{'RS' if held else 'SS'}",
        late={} if sparse else {"sp": "wgmma.mma_async.sp"},
    )


_PLACES = (False, True)
MULTIPLIES = tuple(
    _row(syntax, sparse=sparse, held=held)
    for sparse in (False, True)
    for syntax in (_SYNTAXES[:-1] if sparse else _SYNTAXES)
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
