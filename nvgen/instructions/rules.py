"""What follows from the arguments of a verb's call: modifiers, operands, and what is refused.

Layer: nvgen.instructions.  Input: a draft of the call.  Output: the draft with what LLVM's
intrinsic wants besides.  `table` says which verb follows which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from llvmlite import ir

from intrinsics import catalog
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import (
    AtomicOp,
    BlockScale,
    CopyFormat,
    Decompress,
    Dim,
    LdStNum,
    LdStShape,
    MapField,
    NoFtz,
    ReduceOp,
    ScalarType,
    Scope,
    Sem,
    Shuffle,
    Vec,
    Vote,
    WarpReduce,
)
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
from intrinsics.row import Attribute, Residency
from intrinsics.targets import Feature
from nvgen.calling.refusals import described, refuse, whole
from nvgen.instructions.base import BuilderBase
from nvgen.launching.tensor_map import SIZE
from nvgen.values.numbers import Float, Int, WordLike, as_float
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector

T = ScalarType

Operand: TypeAlias = WordLike | Pointer | Vector | Sequence[WordLike] | float
"""What an operand of an instruction may be."""


@dataclass(slots=True)
class Draft:
    """One call of a verb: the arguments, and what they make; `row` where they choose it."""

    builder: BuilderBase
    given: Mapping[str, object]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    operands: dict[str, Operand] = field(default_factory=dict)
    row: str = ""


@dataclass(frozen=True, slots=True)
class Follow:
    """What follows from the arguments of a call; it decides the qualifiers that it `sets`."""

    act: Callable[[Draft], None]
    sets: tuple[str, ...] = ()


def following(*sets: str) -> Callable[[Callable[[Draft], None]], Follow]:
    """Make a function of a draft something that follows, and decides these qualifiers."""
    return lambda act: Follow(act, sets)


# ---- rules -------------------------------------------------------------------------------------


def _ordered(strong: Sem) -> Follow:
    """Scope and ordering: LLVM's names leave out the strong one at CTA scope."""

    def act(draft: Draft) -> None:
        scope, relaxed = draft.given["scope"], draft.given["relaxed"]
        if not isinstance(scope, Scope):
            raise refuse("no scope of an arrival or a wait", got=described(scope), expected="Scope")
        said = {"sem": Sem.RELAXED if relaxed else strong, "scope": scope}
        draft.attributes |= said if relaxed or scope is not Scope.CTA else dict.fromkeys(said)

    return Follow(act, ("sem", "scope"))


RELEASES, ACQUIRES = _ordered(Sem.RELEASE), _ordered(Sem.ACQUIRE)


@following()
def one_arrival(draft: Draft) -> None:
    """One arrival without a count, where the target has only that form."""
    target = draft.builder.target
    if target is None or Feature.HAS_CLUSTERS in target.features:
        return
    if draft.given["count"] == 1:
        draft.operands.pop("count", None)


def _unless_relaxed(strong: Sem | None) -> Follow:
    def act(draft: Draft) -> None:
        draft.attributes["sem"] = Sem.RELAXED if draft.given["relaxed"] else strong

    return Follow(act, ("sem",))


relaxed, only_relaxed = _unless_relaxed(Sem.RELEASE), _unless_relaxed(None)
"""An arrival that releases, and one without an ordering of its own, unless they are `relaxed`."""


@following("dim")
def rank(draft: Draft) -> None:
    """As many dimensions as there are coordinates."""
    draft.attributes["dim"] = rank_of(draft.given["coords"])


def rank_of(coords: object) -> Dim:
    """The rank of a tensor copy with these coordinates."""
    if not isinstance(coords, Sequence):
        raise refuse("no coordinates", got=described(coords), expected="(x, y), innermost first")
    if not 1 <= len(coords) <= 5:
        raise refuse("TMA rank must be in the range 1..5", got=str(len(coords)), expected="1..5")
    return Dim(f"{len(coords)}d")


@following("dim")
def four_rows(draft: Draft) -> None:
    """The column and the four rows are the coordinates of a copy of two dimensions."""
    rows = draft.given["rows"]
    if not isinstance(rows, Sequence):
        raise refuse("no rows", got=described(rows), expected="four of them")
    draft.operands["coords"] = (draft.given["column"], *rows)  # type: ignore[arg-type]  # raw()
    draft.attributes["dim"] = Dim.D2


@following()
def in_window(draft: Draft) -> None:
    """The mbarrier's address as one of shared memory, which is what LLVM's intrinsics take.

    The number is the same: the window of the cluster holds that of the CTA.
    """
    b, pointer = draft.builder, draft.operands["mbar"]
    if isinstance(pointer, Pointer) and pointer.space != 3:
        number = b.at_caller().ptrtoint(pointer.value, ir.IntType(64))
        moved = b.at_caller().inttoptr(number, ir.PointerType(addrspace=3))
        draft.operands["mbar"] = Pointer(b, moved)


@following()
def both_ends(draft: Draft) -> None:
    """Of the bytes that are ignored at both ends the one that is not given is 0."""
    if {"ignore_left", "ignore_right"} & draft.operands.keys():
        del draft.attributes["dst_space"]
        for name in ("ignore_left", "ignore_right"):
            draft.operands.setdefault(name, 0)


@following("noftz")
def halves_keep_small_numbers(draft: Draft) -> None:
    """Sums of f16 and bf16 have .noftz in their name."""
    if draft.attributes["op"] is AtomicOp.ADD and draft.attributes["type"] in (T.F16, T.BF16):
        draft.attributes["noftz"] = NoFtz.NOFTZ


@following("vec")
def vector(draft: Draft) -> None:
    """The values are one, or a vector."""
    values, sizes = draft.given["values"], {1: None, 2: Vec.V2, 4: Vec.V4}
    count = len(values) if isinstance(values, Sequence) else 0
    if count not in sizes:
        raise refuse("st.async stores 1, 2 or 4 values", got=str(count))
    draft.attributes["vec"] = sizes[count]


_ELEMENTS = {MatrixShape.M8N8: T.B16, MatrixShape.M16N16: T.B8, MatrixShape.M16N8: T.B8}


@following("type", "dst_fmt")
def elements(draft: Draft) -> None:
    """The type of a matrix's elements, by its shape and how they lie in memory."""
    shape = draft.attributes["shape"]
    draft.attributes["type"] = _ELEMENTS.get(shape) if isinstance(shape, MatrixShape) else None
    if draft.attributes.get("src_fmt") is not None:
        draft.attributes |= {"type": None, "dst_fmt": CopyFormat.B8X16}


@following("num")
def matrices(draft: Draft) -> None:
    """As many matrices as there are registers."""
    values = draft.operands["r"]
    registers = list(values) if isinstance(values, (Sequence, Vector)) else []
    num = next((n for n in MatrixNum if n.count == len(registers)), None)
    if num is None:
        raise refuse("so many matrices", got=str(len(registers)), expected="1, 2 or 4")
    draft.attributes["num"], draft.operands["r"] = num, registers


@following("dst_fmt")
def unpacked(draft: Draft) -> None:
    """Elements of a format become bytes."""
    packed = draft.attributes["src_fmt"] is not None
    draft.attributes["dst_fmt"] = CopyFormat.B8X16 if packed else None


@following("a", "block_scale", "decompress")
def multiply(draft: Draft) -> None:
    """Where A lies, and what scale factors and a table of numbers are called."""
    is_address = isinstance(draft.operands["a"], Pointer)
    draft.attributes["a"] = Residency.TENSOR if is_address else Residency.SHARED
    draft.attributes["block_scale"] = BlockScale.BLOCK_SCALE if "sfa" in draft.operands else None
    draft.attributes["decompress"] = Decompress.LUT_B if "lut" in draft.operands else None


@following()
def to_several(draft: Draft) -> None:
    """Only of several CTAs the width of the mask is said."""
    if "cta_mask" not in draft.operands:
        draft.attributes["multicast"] = None


@following()
def few_registers(draft: Draft) -> None:
    """One instruction moves 128 registers at most."""
    from intrinsics.rows.tcgen05 import REGISTERS

    shape, num = draft.attributes["shape"], draft.attributes["num"]
    count = REGISTERS.of({"shape": shape, "num": num})
    if isinstance(shape, LdStShape) and isinstance(num, LdStNum) and count > 128:
        what = f".{shape.value} repeated {num.times} times takes more than 128 registers"
        raise refuse(what, got=f"{count} registers", expected="at most 128")


@following("type")
def shuffle(draft: Draft) -> None:
    """Without bounds the whole warp; a float's bits."""
    value = draft.given["value"]
    if not isinstance(value, (Int, Float)):
        raise refuse(
            "a number is shuffled", got=described(value), expected="an Int or a Float",
            hint="of several each: [b.shfl_sync(mode, x, lane) for x in several]; of a matrix "
            "p.map(lambda x: b.shfl_sync(mode, x, lane))",
        )  # fmt: skip
    if draft.given["bounds"] is None:
        draft.operands["c"] = 0 if draft.attributes["mode"] is Shuffle.UP else 31
    draft.operands["a"] = value if isinstance(value, Int) else value.word


@following("type")
def match(draft: Draft) -> None:
    """The type is the width of the value."""
    wide = getattr(draft.given["value"], "bits", None) == T.B64.bits
    draft.attributes["type"] = T.B64 if wide else T.B32


@following("type")
def ballot(draft: Draft) -> None:
    """A ballot gives a word, the other votes a condition."""
    draft.attributes["type"] = T.B32 if draft.attributes["mode"] is Vote.BALLOT else None


@following()
def reduced(draft: Draft) -> None:
    """Sums of .u32 are those of .s32; an f32 may come as its bits."""
    type_, value = draft.attributes["type"], draft.given["value"]
    if (draft.attributes["op"], type_) == (WarpReduce.ADD, T.U32):
        draft.attributes["type"] = T.S32
    if type_ is T.F32:
        draft.operands["a"] = Float(draft.builder, as_float(draft.builder, value, T.F32), T.F32)
    elif not isinstance(value, Int):
        words = type_.value if isinstance(type_, ScalarType) else ""
        raise refuse("an f32 is reduced as one", got=f".{words}", expected=".f32")


@following("type")
def answer(draft: Draft) -> None:
    """`popc` gives a u32, `and` and `or` a predicate; `aligned` selects bar.red or barrier.red."""
    draft.attributes["type"] = T.U32 if draft.attributes["op"] is ReduceOp.POPC else T.PRED
    draft.row = "bar.red" if draft.given["aligned"] else "barrier.red"


@following()
def part_of_all(draft: Draft) -> None:
    """A part of what is accessed."""
    fraction = draft.given["fraction"]
    if not isinstance(fraction, (int, float)) or not 0 < fraction <= 1:
        raise refuse("no fraction", got=str(fraction), expected="above 0, and 1 at most")


@following("type")
def map_field(draft: Draft) -> None:
    """The operand of a field's new value, and its type."""
    from intrinsics.rows.tensormap import type_of

    field, new = draft.attributes["field"], draft.given["new"]
    assert isinstance(field, MapField)
    draft.attributes["type"] = type_of(field)
    if isinstance(new, Pointer):
        b = draft.builder
        new = Int(b, b.at_caller().ptrtoint(new.value, ir.IntType(64)))
    rows = map(catalog.row, REPLACES.split())
    row = next(row for row in rows if field in row.qualifier["field"].values)
    draft.operands[row.operands[-1].name] = new  # type: ignore[assignment]  # raw() checks it
    draft.row = row.id


@following()
def groups_left(draft: Draft) -> None:
    """How many groups may be under way: none or more; ptxas takes numbers below 0 too."""
    whole(draft.given["n"], "number of groups", 0)


def _of_bytes(size: int) -> Follow:
    return Follow(lambda draft: draft.operands.update(size=size))


whole_map, sixteen_bytes = _of_bytes(SIZE), _of_bytes(16)
"""Operations on all bytes of a tensor map; copies past L1, which have one size."""

REPLACES = "tensormap.replace tensormap.replace.dimension tensormap.replace.code"


def alike(found: object, given: object) -> object:
    """What an instruction gives, of the type of one of its arguments."""
    if isinstance(found, tuple):
        return (alike(found[0], given), *found[1:])
    if isinstance(given, Pointer) and isinstance(found, Pointer):
        return replace(found, dtype=given.dtype)
    if isinstance(given, Int) and isinstance(found, Float):
        return found.word
    if isinstance(given, Int) and isinstance(found, Int):
        return given.like(found.value)
    if isinstance(given, Float) and isinstance(found, Int):
        return Float(given.builder, as_float(given.builder, found, given.type), given.type)
    return found
