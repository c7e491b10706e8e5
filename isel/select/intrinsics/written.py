"""Intrinsics that are statements of PTX, written out: what no pattern of a row describes.

Layer: isel.select.  Input: a call.  Output: the same as a call of inline assembly, which becomes
records where nvgen has rows for its statements.  numba writes libNVVM's names, whose mode is an
argument; clang writes conversions of halves that are integers; LLVM's own names here have no row,
or vectors where PTX has one register.  NVVM IR Specification, Warp-level Intrinsics; LLVM Language
Reference, Half Precision Floating-Point Intrinsics; User Guide for NVPTX Back-end.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

from intrinsics.targets import Feature, Ptx, Target, named, since, with_feature
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.types import PTR
from isel.select.intrinsics.statement import Statement
from isel.select.intrinsics.table import check_capability
from isel.select.intrinsics.textures import texture_statement

_SHUFFLE = ("idx", "up", "down", "bfly")
_VOTE = (
    "vote.sync.all.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.any.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.uni.pred $1, $3, $2; selp.b32 $0, 1, 0, $1;",
    "vote.sync.ballot.b32 $0, $3, $2; setp.ne.u32 $1, $0, 0;",
)
_LIBNVVM = {
    "shfl.sync.i32": Statement(
        tuple(f"shfl.sync.{mode}.b32 $0|$1, $3, $4, $5, $2;" for mode in _SHUFFLE),
        "=r,=b,r,r,r,r",
    ),
    "vote.sync": Statement(_VOTE, "=r,=b,r,b"),
    "match.all.sync.i32": Statement(("match.all.sync.b32 $0|$1, $3, $2;",), "=r,=b,r,r"),
    "match.all.sync.i64": Statement(("match.all.sync.b64 $0|$1, $3, $2;",), "=r,=b,r,l"),
}
_CONVERSIONS = {
    "from.fp16.f32": Statement(("cvt.f32.f16 $0, $1;",), "=f,h"),
    "from.fp16.f64": Statement(("cvt.f64.f16 $0, $1;",), "=d,h"),
    "to.fp16.f32": Statement(("cvt.rn.f16.f32 $0, $1;",), "=h,f"),
    "to.fp16.f64": Statement(("cvt.rn.f16.f64 $0, $1;",), "=h,d"),
}
_OWN = {
    "fshl.clamp.i32": Statement(("shf.l.clamp.b32 $0, $2, $1, $3;",), "=r,r,r,r"),
    "fshr.clamp.i32": Statement(("shf.r.clamp.b32 $0, $2, $1, $3;",), "=r,r,r,r"),
}
_RANDOM = since("8.7", named("100a 103a 107a"))
"""`.rs`: PTX ISA, cvt, Target ISA Notes; of sm_107a ptxas 13.5."""
_FOUR_BITS = since("8.6", with_feature(Feature.HAS_NARROW_FLOATS))


def _narrow() -> Iterator[tuple[str, Statement]]:
    """Conversions of four numbers at once and of pairs, by random bits or of four bits each."""
    parts = "mov.b128 {%xy, %zw}, $1; mov.b64 {%x, %y}, %xy; mov.b64 {%z, %w}, %zw;"
    registers = ".reg .b64 %xy, %zw; .reg .b32 %x, %y, %z, %w;"
    for relu in ("", ".relu"):
        for to in ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"):
            convert = f"cvt.rs{relu}.satfinite.{to}.f32 $0, {{%x, %y, %z, %w}}, $2;"
            result = "h" if to == "e2m1x4" else "r"
            text = f"{{ {registers} {parts} {convert} }}"
            yield f"f32x4.to.{to}.rs{relu}.satfinite", Statement((text,), f"={result},q,r", _RANDOM)
        for to, sat in itertools.product(("f16x2", "bf16x2"), ("", ".satfinite")):
            text = f"cvt.rs{relu}{sat}.{to}.f32 $0, $1, $2, $3;"
            yield f"ff2{to}.rs{relu}{sat}", Statement((text,), "=r,f,f,r", _RANDOM)
        convert = f"cvt.rn.satfinite{relu}.e2m1x2.f32 %pair, $1, $2;"
        text = f"{{ .reg .b8 %pair; {convert} cvt.u16.u8 $0, %pair; }}"
        yield f"ff.to.e2m1x2.rn{relu}.satfinite", Statement((text,), "=h,f,f", _FOUR_BITS)
        convert = f"cvt.rn{relu}.f16x2.e2m1x2 $0, %pair;"
        text = f"{{ .reg .b8 %pair; cvt.u8.u16 %pair, $1; {convert} }}"
        yield f"e2m1x2.to.f16x2.rn{relu}", Statement((text,), "=r,h", _FOUR_BITS)


_BY_NAME = {
    **{f"llvm.nvvm.{name}": statement for name, statement in {**_LIBNVVM, **_OWN}.items()},
    **{f"llvm.nvvm.{name}": statement for name, statement in _narrow()},
    **{f"llvm.convert.{name}": statement for name, statement in _CONVERSIONS.items()},
}


@functools.lru_cache(1 << 12)
def statement_of(name: str) -> Statement | None:
    """The statements of PTX that an intrinsic is; None for one that is none of these."""
    return _BY_NAME.get(name) or texture_statement(name.removeprefix("llvm.nvvm."))


def as_assembly(call: Call, name: str, target: Target, ptx: Ptx | None) -> Call | None:
    """The call as one of inline assembly; None for an intrinsic that is none of these.

    Raises: Unselectable for a mode that there is not, or that the target has not got.
    """
    statement = statement_of(name)
    if statement is None:
        return None
    if statement.needs is not None:
        check_capability(statement.needs, f"@{name}", target, ptx, section="cvt, Target ISA Notes")
    text, arguments = statement.texts[0], call.arguments
    if len(statement.texts) > 1:
        mode = arguments[1]
        if not isinstance(mode, llvm.ConstInt) or mode.value >= len(statement.texts):
            raise Unselectable(
                "immediate",
                f"the mode of @{name} is no mode",
                op=name,
                got=str(mode.value) if isinstance(mode, llvm.ConstInt) else "no constant",
                expected=f"0 to {len(statement.texts) - 1}",
            )
        text, arguments = statement.texts[mode.value], (arguments[0], *arguments[2:])
    arguments = arguments[: statement.inputs]
    callee = llvm.InlineAsm(text, statement.constraints, frozenset(), PTR)
    return replace(call, callee=callee, arguments=arguments, argument_attributes={})
