"""memcpy, memmove and memset as loads and stores.

Layer: isel.lower.  A short copy of a known length is unrolled, in units as wide as both alignments
allow; any other is a loop over such units and one over the bytes that are left.
LLVM Language Reference, Standard C/C++ Library Intrinsics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I8, I32, I64, PTR, IntType, PointerType, Type, VectorType
from isel.llvm.vocabulary import IntPredicate as Icmp
from isel.llvm.vocabulary import Opcode
from isel.lower.rewriter import Replacement, Rewriter, number

COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
_UNROLLED = 128
"""Bytes up to which a copy is unrolled; LLVM's NVPTX back end has the same number."""

Body = Callable[[llvm.Value], None]


def lowered(i: ir.Instruction, layout: TypeLayout) -> Replacement | None:
    """The replacement of a memory intrinsic; None for other instructions."""
    if not isinstance(i, ir.Call):
        return None
    name = i.callee_name
    if name is None or not name.startswith(COPIES):
        return None
    if name.startswith("llvm.memset."):
        return lambda out: _set(out, i)
    if name.startswith("llvm.memmove."):
        return lambda out: _move(out, i, layout)
    return lambda out: _copy(out, i)


def _alignment(call: ir.Call, argument: int) -> int:
    found = call.argument_attributes.get(argument)
    return (found.integer("align") if found is not None else None) or 1


def _is_volatile(call: ir.Call) -> bool:
    flag = call.arguments[3]
    return isinstance(flag, llvm.ConstInt) and bool(flag.value)


def _unit(size: int) -> Type:
    return VectorType(I32, 4) if size == 16 else IntType(8 * size)


def _spans(length: int, aligned: int) -> Iterator[tuple[int, int]]:
    """(offset, bytes) of aligned units that make up `length` bytes."""
    at = 0
    while at < length:
        size = min(16, aligned, 1 << (length - at).bit_length() - 1)
        yield at, size
        at += size


def _at(out: Rewriter, pointer: llvm.Value, offset: int) -> llvm.Value:
    return out.offset(pointer, number(I64, offset)) if offset else pointer


# ---- copies ----------------------------------------------------------------------------------


def _copy(out: Rewriter, call: ir.Call) -> None:
    target, source, length, _ = call.arguments
    volatile = _is_volatile(call)
    aligned = min(_alignment(call, 0), _alignment(call, 1), 16)
    if isinstance(length, llvm.ConstInt) and length.value <= _UNROLLED:
        _unrolled(out, target, source, length.value, aligned, volatile=volatile)
        return

    def body(size: int) -> Body:
        def copy(at: llvm.Value) -> None:
            value = out.load(_unit(size), out.offset(source, at), size, volatile=volatile)
            out.store(value, out.offset(target, at), size, volatile=volatile)

        return copy

    _forward(out, length, aligned, body)


def _unrolled(
    out: Rewriter, target: llvm.Value, source: llvm.Value, length: int, aligned: int, *,
    volatile: bool,
) -> None:  # fmt: skip
    """All loads before all stores: the two may overlap."""
    spans = list(_spans(length, aligned))
    values = [
        out.load(_unit(size), _at(out, source, at), size, volatile=volatile) for at, size in spans
    ]
    for (at, size), value in zip(spans, values, strict=True):
        out.store(value, _at(out, target, at), size, volatile=volatile)


def _forward(out: Rewriter, length: llvm.Value, aligned: int, body: Callable[[int], Body]) -> None:
    """Units from the first to the last, then bytes."""
    type_ = length.type
    assert isinstance(type_, IntType)
    if isinstance(length, llvm.ConstInt):
        whole: llvm.Value = number(type_, length.value - length.value % aligned)
    elif aligned == 1:
        whole = length
    else:
        whole = out.binary(Opcode.AND, length, number(type_, -aligned))
    _count_up(out, number(type_, 0), whole, aligned, body(aligned))
    if isinstance(length, llvm.ConstInt):
        assert isinstance(whole, llvm.ConstInt)
        for at, size in _spans(length.value - whole.value, aligned):
            body(size)(number(type_, whole.value + at))
    elif aligned > 1:
        _count_up(out, whole, length, 1, body(1))


def _count_up(out: Rewriter, first: llvm.Value, end: llvm.Value, step: int, body: Body) -> None:
    """`for at in range(first, end, step)`, where that may be no times."""
    type_ = end.type
    assert isinstance(type_, IntType)
    start, loop, done = out.here, out.name("copy"), out.name("copied")
    after = out.name("t")
    out.branch_if(out.compare(Icmp.ULT, first, end), loop, done)
    out.open(loop)
    at = out.phi(type_, (first, start), (llvm.Local(after, type_), loop))
    body(at)
    following = out.binary(Opcode.ADD, at, number(type_, step), after)
    out.branch_if(out.compare(Icmp.ULT, following, end), loop, done)
    out.open(done)


def _move(out: Rewriter, call: ir.Call, layout: TypeLayout) -> None:
    """Forward, or backward where the target begins behind the source."""
    target, source, length, _ = call.arguments
    volatile = _is_volatile(call)
    aligned = min(_alignment(call, 0), _alignment(call, 1), 16)
    if isinstance(length, llvm.ConstInt) and length.value <= _UNROLLED:
        _unrolled(out, target, source, length.value, aligned, volatile=volatile)
        return
    forward, backward, done = (out.name(n) for n in ("forward", "backward", "moved"))
    first, other = (_generic(out, p, layout) for p in (source, target))
    behind = out.compare(Icmp.ULT, first, other)
    out.branch_if(behind, backward, forward)
    out.open(backward)
    _count_down(out, length, aligned, target, source, volatile=volatile)
    out.branch(done)
    out.open(forward)
    _copy(out, call)
    out.branch(done)
    out.open(done)


def _generic(out: Rewriter, pointer: llvm.Value, layout: TypeLayout) -> llvm.Value:
    assert isinstance(pointer.type, PointerType)
    if pointer.type.address_space:
        pointer = out.cast(Opcode.ADDRSPACECAST, pointer, PTR)
    return out.cast(Opcode.PTRTOINT, pointer, IntType(layout.pointer_bits(0)))


def _count_down(
    out: Rewriter, length: llvm.Value, aligned: int, target: llvm.Value, source: llvm.Value, *,
    volatile: bool,
) -> None:  # fmt: skip
    """The bytes behind the last whole unit first, then units, from the last to the first."""
    type_ = length.type
    assert isinstance(type_, IntType)
    whole = out.binary(Opcode.AND, length, number(type_, -aligned))
    parts = [(whole, length, 1), (number(type_, 0), whole, aligned)]
    for end, first, step in parts[aligned == 1 :]:
        start, loop, done = out.here, out.name("copy"), out.name("copied")
        after = out.name("t")
        out.branch_if(out.compare(Icmp.ULT, end, first), loop, done)
        out.open(loop)
        above = out.phi(type_, (first, start), (llvm.Local(after, type_), loop))
        at = out.binary(Opcode.SUB, above, number(type_, step), after)
        value = out.load(_unit(step), out.offset(source, at), step, volatile=volatile)
        out.store(value, out.offset(target, at), step, volatile=volatile)
        out.branch_if(out.compare(Icmp.ULT, end, at), loop, done)
        out.open(done)


# ---- memset ----------------------------------------------------------------------------------


def _set(out: Rewriter, call: ir.Call) -> None:
    target, value, length, _ = call.arguments
    volatile = _is_volatile(call)
    aligned = min(_alignment(call, 0), 8)
    if isinstance(length, llvm.ConstInt) and length.value <= _UNROLLED:
        words = {size: _repeated(out, value, size) for _, size in _spans(length.value, aligned)}
        for at, size in _spans(length.value, aligned):
            out.store(words[size], _at(out, target, at), size, volatile=volatile)
        return
    known = {size: _repeated(out, value, size) for size in {1, 2, 4, 8} if size <= aligned}

    def body(size: int) -> Body:
        return lambda at: out.store(known[size], out.offset(target, at), size, volatile=volatile)

    _forward(out, length, aligned, body)


def _repeated(out: Rewriter, value: llvm.Value, size: int) -> llvm.Value:
    """A byte `size` times."""
    wide = IntType(8 * size)
    pattern = int.from_bytes(b"\1" * size, "little")
    if isinstance(value, llvm.ConstInt):
        return number(wide, value.value * pattern)
    if wide == I8:
        return value
    return out.binary(Opcode.MUL, out.resize(value, wide), number(wide, pattern))
