"""Asynchronous copies of 4, 8 or 16 bytes by each thread, and how their completion is known.

PTX ISA, Data Movement and Conversion Instructions: cp.async, cp.async.commit_group,
cp.async.wait_group, cp.async.wait_all; mbarrier: cp.async.mbarrier.arrive.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.modifiers import (
    SHARED_OF_CTA,
    CacheHint,
    CacheOp,
    Modifier,
    NoIncrement,
    PrefetchSize,
    ScalarType,
    Space,
)
from intrinsics.row import (
    Attribute,
    Attributes,
    By,
    Completion,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Operand,
    Row,
    address,
    number,
    predicate,
    value,
    when,
)
from intrinsics.rows.requirements import CTA_SPACE, SM80
from intrinsics.targets import at_least, since

_EFFECTS = Effects(
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT,
    completion=Completion.COPY_GROUP,
)
_SIZES: Numbers | By[Numbers] = By(
    "cache", {CacheOp.CG: Numbers(16, 16)}, Numbers(4, 16, power_of_two=True)
)
_FORMS = ((CacheOp.CA, 4), (CacheOp.CA, 8), (CacheOp.CA, 16), (CacheOp.CG, 16))
_PREFETCHES: dict[int, Attribute] = {
    0: None,
    64: PrefetchSize.B64,
    128: PrefetchSize.B128,
    256: PrefetchSize.B256,
}
_MODIFIERS = ".cache.space.global{.cache_hint}{.prefetch}"
_QUALIFIERS: dict[str, tuple[Modifier, ...]] = {
    "cache": (CacheOp.CA, CacheOp.CG),
    "space": SHARED_OF_CTA,
    "cache_hint": tuple(CacheHint),
    "prefetch": tuple(PrefetchSize),
}
_RULES = (
    when(cache_hint=tuple(CacheHint)).needs("cache-hint-version", since("7.4")),
    when(prefetch=tuple(PrefetchSize)).needs("prefetch-version", since("7.4")),
)


def _operands(third: Operand) -> tuple[Operand, ...]:
    return (
        address("dst", "space"),
        address("src", Space.GLOBAL),
        number("size", _SIZES),
        third,
        value("cache_policy", ScalarType.U64),
    )


def _spellings(suffix: str, third: str) -> Iterator[Llvm]:
    """nvgen's names, which take a cache policy and the bytes that L2 fetches."""
    for cache, size in _FORMS:
        given: Attributes = {"cache": cache, "space": Space.SHARED}
        yield Llvm(
            f"cp.async.{cache.value}.shared.global.{size}{suffix}.L2",
            f"p3:dst, p1:src, {third}i64:cache_policy, i1?cache_policy, i32#prefetch",
            given=given,
            codes={"prefetch": _PREFETCHES},
            numbers={"size": size},
            own=True,
        )


def _llvms_spellings(suffix: str, third: str) -> Iterator[Llvm]:
    for cache, size in _FORMS:
        yield Llvm(
            f"cp.async.{cache.value}.shared.global.{size}{suffix}",
            f"p3:dst, p1:src{third}",
            given={"cache": cache, "space": Space.SHARED},
            numbers={"size": size},
        )


# fmt: off
COPY = Row(
    "cp.async", _MODIFIERS, "[dst], [src], size {, src_size} {, cache_policy}",
    qualifiers=_QUALIFIERS,
    operands=_operands(
        value("src_size", ScalarType.U32, Numbers(0, 16), limit="size")),
    aligned={"dst": "size"},
    section="cp.async", needs=SM80, rules=_RULES, effects=_EFFECTS,
    tied={"cache_hint": "cache_policy"},
    llvm=(
        *_llvms_spellings("", ""),
        *_llvms_spellings(".s", ", i32:src_size"),
        *_spellings("", ""),
        *_spellings(".s", "i32:src_size, "),
    ),
)

COPY_OR_IGNORE = Row(
    "cp.async", _MODIFIERS, "[dst], [src], size, ignore_src {, cache_policy}",
    name="cp.async.ignore_src", opcode="CP_ASYNC_IGNORE_SRC",
    qualifiers=_QUALIFIERS,
    operands=_operands(predicate("ignore_src")),
    aligned={"dst": "size"},
    section="cp.async", needs=since("7.5", at_least(80)), rules=_RULES, effects=_EFFECTS,
    tied={"cache_hint": "cache_policy"},
    llvm=tuple(_spellings(".ignore_src", "i1:ignore_src, ")),
)

COMMIT_GROUP = Row(
    "cp.async.commit_group", section="cp.async.commit_group", needs=SM80,
    effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.commit.group"),),
)

WAIT_GROUP = Row(
    "cp.async.wait_group", "", "n", operands=(number("n"),),
    section="cp.async.wait_group / cp.async.wait_all", needs=SM80, effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.wait.group", "i32:n"),),
)

WAIT_ALL = Row(
    "cp.async.wait_all",
    section="cp.async.wait_group / cp.async.wait_all", needs=SM80, effects=Effects(Effect.BARRIER),
    llvm=(Llvm("cp.async.wait.all"),),
)

_NO_INCREMENT: dict[str, Attribute | Attributes] = {
    "": None, ".noinc": NoIncrement.NO_INCREMENT,
}

ARRIVE = Row(
    "cp.async.mbarrier.arrive", "{.noinc}{.space}.b64", "[mbar]",
    qualifiers={"noinc": NoIncrement, "space": SHARED_OF_CTA},
    operands=(address("mbar", "space"),),
    section="cp.async.mbarrier.arrive", needs=SM80, rules=(CTA_SPACE,),
    effects=Effects(
        Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.BARRIER),
    llvm=(
        Llvm("cp.async.mbarrier.arrive{noinc}", "p:mbar", holes={"noinc": _NO_INCREMENT}),
        Llvm("cp.async.mbarrier.arrive{noinc}.shared", "p3:mbar",
             given={"space": Space.SHARED}, holes={"noinc": _NO_INCREMENT}),
    ),
)
# fmt: on

ROWS = (COPY, COPY_OR_IGNORE, COMMIT_GROUP, WAIT_GROUP, WAIT_ALL, ARRIVE)
