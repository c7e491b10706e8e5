"""Steps that use memory: what is defined of it, on every machine alike.

Typed memory is read as what was written there.  Only `BYTES` are read as another type than they
were written as, and only by types that fill whole bytes.
"""

from __future__ import annotations

from tests.property.irtypes import (
    I8,
    I32,
    I64,
    Array,
    Float,
    Int,
    Simple,
    Struct,
    Type,
    Vector,
    parts,
    size,
)
from tests.property.irtypes import align as abi_align
from tests.property.irtypes import bits as bit_count
from tests.property.operations import simple_of
from tests.property.plans import Picks
from tests.property.writer import Object, Scope, Value, Writer, constant_text, pointer_type

BYTES = Array(64, I8)
THREADS = 32


def alloca(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Object:
    """Local memory, with something in it."""
    name = "%" + w.name("mem")
    least = 16 if type_ == BYTES else abi_align(type_)
    w.allocas.append(f"  {name} = alloca {type_}, align {max(least, picks.one((1, 16, 32)))}")
    found = Object(name, 0, type_)
    initialise(w, scope, found, picks)
    scope.objects.append(found)
    return found


def initialise(w: Writer, scope: Scope, found: Object, picks: Picks) -> None:
    """The first store into an object."""
    choice = picks.below(3)
    if found.type == BYTES or (choice == 1 and "copies" in w.features):
        if "copies" in w.features:
            fill_bytes(w, found, Value(str(choice % 2 * 37 if found.type == BYTES else 0), I8))
            return
        for word in range(8):
            where = gep(w, found, I8, Value(str(8 * word), I64))
            w.emit(f"store i64 {word * 0x0101}, {where}, align 8")
        return
    content = Value("zeroinitializer", found.type)
    if not isinstance(found.type, Array | Struct | Vector):
        content = w.constant(found.type, Picks(b""))
    if choice == 2:
        content = w.operand(scope, found.type, picks)
    w.emit(f"store {content}, {found.pointer}, align {abi_align(found.type)}")


def fill_bytes(w: Writer, found: Object, byte: Value, count: int = 0) -> None:
    intrinsic(
        w,
        f"llvm.memset.p{found.space}.i64",
        (found.pointer, str(byte), f"i64 {count or size(found.type)}", "i1 false"),
    )


def intrinsic(w: Writer, name: str, arguments: tuple[str, ...]) -> None:
    """A call without a result."""
    shape = ", ".join(a.rsplit(" ", 1)[0] for a in arguments)
    w.module.declares[name] = f"declare void @{name}({shape})"
    w.emit(f"call void @{name}({', '.join(arguments)})")


def gep(w: Writer, base: Object, type_: Type, *indices: Value) -> str:
    """The pointer to a part, with its type in front."""
    name = "%" + w.name("p")
    path = "".join(f", {i}" for i in indices)
    w.emit(f"{name} = getelementptr {type_}, {base.pointer}{path}")
    return f"{pointer_type(base.space)} {name}"


def place(w: Writer, scope: Scope, base: Object, picks: Picks) -> tuple[str, Type]:
    """A pointer to a part of an object, at computed indices, and the part's type."""
    indices: list[Value] = []
    inner: Type = base.type
    while isinstance(inner, Array | Struct):
        if indices and picks.below(4) == 3:
            break
        if isinstance(inner, Array):
            indices.append(w.index(scope, inner.count, picks))
            inner = inner.element
        else:
            indices.append(Value(str(picks.below(len(inner.elements))), I32))
            inner = parts(inner)[int(indices[-1].name)]
    if not indices:
        return base.pointer, inner
    return gep(w, base, base.type, Value("0", picks.one((I64, I32))), *indices), inner


def alignment(type_: Type, picks: Picks) -> str:
    """The type's own alignment, written or not, or a smaller one."""
    known = abi_align(type_)
    return picks.one(["", f", align {known}", f", align {max(known // 2, 1)}", ", align 1"])


def natural(base: Object, type_: Type, picks: Picks) -> str:
    """An alignment that a part of this object has: packed structs promise nothing."""
    return ", align 1" if is_packed(base.type) else alignment(type_, picks)


def is_packed(type_: Type) -> bool:
    """Whether parts may lie at any byte."""
    match type_:
        case Array():
            return is_packed(type_.element)
        case Struct():
            return type_.packed or any(is_packed(e) for e in type_.elements)
        case _:
            return False


def writable(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Object:
    """An object that can be stored to; a new one when there is none."""
    known = [o for o in scope.objects if o.mutable]
    if known and picks.below(3):
        return known[-1 - picks.below(len(known))]
    return alloca(w, scope, type_, picks)


def store(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    base = writable(w, scope, type_, picks)
    where, inner = place(w, scope, base, picks)
    value = w.operand(scope, inner, picks)
    if base.type == BYTES:
        value = w.canonical(value)
    w.emit(f"store {value}, {where}{natural(base, inner, picks)}")
    # what was stored is looked at as a whole some time
    return [w.value(base.type, f"load {base.type}, {base.pointer}")] if picks.below(3) == 0 else []


def load(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    known = scope.objects
    base = known[-1 - picks.below(len(known))] if known else alloca(w, scope, type_, picks)
    where, inner = place(w, scope, base, picks)
    return [w.value(inner, f"load {inner}, {where}{natural(base, inner, picks)}")]


# ---- bytes ---------------------------------------------------------------------------------


def whole_bytes(type_: Type) -> Simple:
    """The type, or one like it that fills whole bytes, at most 64."""
    found = simple_of(type_)
    match found:
        case Int(width):
            return found if width % 8 == 0 else I64
        case Float():
            return found
        case Vector(count, scalar):
            if scalar.bits % 8 or scalar.bits & (scalar.bits - 1):
                scalar = I32
            return Vector(min(count, 512 // scalar.bits), scalar)


def bytes_object(w: Writer, scope: Scope, picks: Picks) -> Object:
    known = [o for o in scope.objects if o.type == BYTES and o.mutable]
    return known[-1 - picks.below(len(known))] if known else alloca(w, scope, BYTES, picks)


def somewhere(w: Writer, scope: Scope, base: Object, type_: Simple, picks: Picks) -> str:
    """A place in bytes where a value of a type fits, and how it is aligned there."""
    count = (bit_count(type_) + 7) // 8
    unit = picks.one([u for u in (1, 2, 4, 8, 16) if u <= abi_align(type_)])
    index = w.index(scope, (64 - count) // unit + 1, picks)
    if index.name.startswith("%"):
        offset = w.op("mul", index, Value(str(unit), index.type)) if unit > 1 else index
    else:
        offset = Value(str(int(index.name) * unit), index.type)
    return f"{gep(w, base, I8, offset)}, align {unit}"


def poke(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    base, found = bytes_object(w, scope, picks), whole_bytes(type_)
    value = w.canonical(w.operand(scope, found, picks))
    w.emit(f"store {value}, {somewhere(w, scope, base, found, picks)}")
    return peek(w, scope, I64, picks) if picks.below(3) == 0 else []


def peek(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    base, found = bytes_object(w, scope, picks), whole_bytes(type_)
    value = w.value(found, f"load {found}, {somewhere(w, scope, base, found, picks)}")
    return [w.canonical(value)]


# ---- other memories ------------------------------------------------------------------------


def global_(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """A constant in global or constant memory, and a load from it."""
    space = picks.one((1, 4, 1, 4, 0))
    count = picks.one((3, 1, 4, 8))
    content = Array(count, initialised(type_))
    name = f"@g{len(w.module.globals)}"
    start = constant_text(
        content, Picks(bytes((picks.below(256) * 37 + 7 * i) & 255 for i in range(64)))
    )
    where = f"addrspace({space}) " if space else ""
    linkage = picks.one(("internal ", "", "private "))
    w.module.globals.append(f"{name} = {linkage}{where}constant {content} {start}")
    scope.objects.append(Object(name, space, content, mutable=False))
    return load(w, scope, type_, Picks(b"\0" + bytes(picks.below(256) for _ in range(6))))


def initialised(type_: Type) -> Type:
    """The type, or one like it of which LLVM's NVPTX back end prints initialisers.

    It fails an assertion of its own at a vector whose elements are no whole bytes.
    """
    match type_:
        case Vector(count, scalar) if scalar.bits % 8:
            return Vector(count, I8)
        case Array(count, part):
            return Array(count, initialised(part))
        case Struct(elements, packed):
            return Struct(tuple(initialised(e) for e in elements), packed)
        case _:
            return type_


def shared(w: Writer, scope: Scope, type_: Type, picks: Picks, tid: Value | None) -> list[Value]:
    """A slot of shared or global memory for each thread."""
    if tid is None:
        return load(w, scope, type_, picks)
    space = picks.one((3, 3, 1))
    content = BYTES if "bytes" in w.features and picks.below(4) == 3 else type_
    start = "undef" if space == 3 else "zeroinitializer"
    name = f"@s{len(w.module.globals)}"
    slots = Array(THREADS, content)
    w.module.globals.append(
        f"{name} = internal addrspace({space}) global {slots} {start}, align 16"
    )
    whole = Object(name, space, slots)
    pointer = gep(w, whole, slots, Value("0", I64), tid)
    found = Object(pointer.rsplit(" ", 1)[1], space, content)
    initialise(w, scope, found, picks)
    scope.objects.append(found)
    return []


def generic(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """An object by a pointer of another address space; local memory as generic and back."""
    known = scope.objects or [alloca(w, scope, type_, picks)]
    base = known[-1 - picks.below(len(known))]
    name = "%" + w.name("c")
    if base.space == 0 and not base.name.startswith("%mem"):
        return load(w, scope, type_, picks)  # of what memory it is is not known
    to = 0 if base.space else 5
    w.emit(f"{name} = addrspacecast {base.pointer} to {pointer_type(to)}")
    scope.objects.append(Object(name, to, base.type, base.mutable))
    return []


def choose(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """A pointer to one of two objects."""
    first = (scope.objects or [alloca(w, scope, type_, picks)])[-1]
    known = [o for o in scope.objects if (o.space, o.type) == (first.space, first.type)]
    if len(known) < 2 and first.space == 0:
        known.append(alloca(w, scope, first.type, picks))
    other = known[picks.below(len(known))]
    test = w.operand(scope, Int(1), picks)
    name = "%" + w.name("o")
    w.emit(f"{name} = select {test}, {first.pointer}, {other.pointer}")
    found = Object(name, first.space, first.type, first.mutable and other.mutable)
    scope.objects.append(found)
    return load(w, scope, type_, picks)


def copy(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """memcpy of equal objects, or memmove between places in bytes."""
    known = [o for o in scope.objects if o.type != BYTES]
    if "padding" not in w.features:
        known = [o for o in known if not has_padding(o.type)]
    if known and picks.below(2) == 0:
        source = known[-1 - picks.below(len(known))]
        others = [o for o in known if o.mutable and o.type == source.type and o != source]
        target = others[-1] if others else alloca(w, scope, source.type, picks)
        transfer(w, "memcpy", target, source, size(source.type))
        return []
    source = bytes_object(w, scope, picks)
    known = [o for o in scope.objects if o.type == BYTES and o.mutable]
    target = known[picks.below(len(known))]
    count = picks.one((8, 1, 3, 4, 7, 16, 24, 31, 32, 48))
    if picks.below(2):
        source = at(w, scope, source, count, picks)
        target = at(w, scope, target, count, picks)
    transfer(w, "memmove", target, source, count)
    return []


def has_padding(type_: Type) -> bool:
    """Whether there are bytes or bits that a store of the type does not write."""
    match type_:
        case Array():
            return has_padding(type_.element)
        case Struct(elements):
            inner = sum(size(e) for e in elements)
            return inner < size(type_) or any(has_padding(e) for e in elements)
        case _:
            return bit_count(type_) < 8 * size(type_)


def at(w: Writer, scope: Scope, base: Object, count: int, picks: Picks) -> Object:
    """A place in bytes, `count` before the end or earlier."""
    pointer = gep(w, base, I8, w.index(scope, 64 - count + 1, picks))
    return Object(pointer.rsplit(" ", 1)[1], base.space, BYTES)


def transfer(w: Writer, name: str, target: Object, source: Object, count: int) -> None:
    intrinsic(
        w,
        f"llvm.{name}.p{target.space}.p{source.space}.i64",
        (target.pointer, source.pointer, f"i64 {count}", "i1 false"),
    )


def fill(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """memset of a part of bytes."""
    base = bytes_object(w, scope, picks)
    count = picks.one((8, 1, 3, 4, 7, 16, 24, 31, 32, 48))
    target = at(w, scope, base, count, picks) if picks.below(2) else base
    fill_bytes(w, target, w.operand(scope, I8, picks), count)
    return []
