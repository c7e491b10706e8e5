"""Small kernels of ordinary LLVM IR: one instruction each, in every type, space and operand kind.

``cases`` has the kernels of a family by their labels.  Each reads its inputs from parameters or
memory and stores its result where the last parameter points to, so that nothing can be left out.
An i1 comes in as the question whether an i32 is greater than a number, another one for each,
because LLVM merges questions that are alike, and goes out as an i32.  A generic address comes out
of memory, because LLVM takes a generic parameter of a kernel for a global address.

In labels ``r`` is an operand in a register and a number is that constant.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from tests.oracle import llvm

GLOBAL = "ptr addrspace(1)"
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
SPACES = {0: "ptr", 1: GLOBAL} | {n: f"ptr addrspace({n})" for n in (3, 4, 5, 7)}
DIVISIONS = ("udiv", "sdiv", "urem", "srem")
BINARY = ("add", "sub", "mul", *DIVISIONS, "and", "or", "xor", "shl", "lshr", "ashr")
PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
BIG = {
    "i1": 1,
    "i8": 0x12,
    "i16": -0x7FFE,
    "i32": -0x7FFFFFFE,
    "i64": 0x123456789ABCDEF0,
}
"""A constant of each type that needs all of its bits."""

MEMORY = (
    "i1", "i8", "i16", "i32", "i64", "half", "bfloat", "float", "double", "ptr", "ptr addrspace(3)",
    "ptr addrspace(6)", "<2 x i8>", "<4 x i8>", "<8 x i8>", "<16 x i8>", "<2 x i16>", "<4 x i16>",
    "<8 x i16>", "<2 x half>", "<4 x half>", "<2 x bfloat>", "<2 x i32>", "<3 x i32>", "<4 x i32>",
    "<8 x i32>", "<2 x float>", "<4 x float>", "<2 x i64>", "<4 x i64>", "<2 x double>",
    "<2 x ptr>",
)  # fmt: skip
"""Types that are loaded and stored."""

Cases = Mapping[str, str]


def kernel(params: Sequence[str], body: Sequence[str]) -> str:
    """A module with one kernel ``k``; the body has no ``ret``, one is added at its end."""
    lines = "".join(f"  {line}\n" for line in body)
    return (
        f"{llvm.HEADER}define ptx_kernel void @k({', '.join(params)}) {{\n{lines}  ret void\n}}\n"
    )


class _Body:
    """A kernel's parameters and lines while it is written down."""

    def __init__(self) -> None:
        self.params: list[str] = []
        self.lines: list[str] = []

    def param(self, type_: str) -> str:
        name = f"%p{len(self.params)}"
        self.params.append(f"{type_} {name}")
        return name

    def input(self, type_: str, constant: int | None = None) -> str:
        """An operand of a type: a parameter, or a constant."""
        if constant is not None:
            return "true" if type_ == "i1" else str(constant)
        if type_ == "i1":
            return self.line(f"icmp ugt i32 {self.param('i32')}, {9 + len(self.params)}")
        return self.param(type_)

    def address(self, pointer: str) -> str:
        """An operand that is an address."""
        if pointer == "ptr":
            return self.line(f"load ptr, {GLOBAL} {self.param(GLOBAL)}")
        return self.param(pointer)

    def line(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def store(self, type_: str, value: str) -> str:
        """The finished module, with ``value`` as its result."""
        if type_ == "i1":
            type_, value = "i32", self.line(f"zext i1 {value} to i32")
        self.lines.append(f"store {type_} {value}, {GLOBAL} {self.param(GLOBAL)}")
        return kernel(self.params, self.lines)

    def choose(self, condition: str) -> str:
        """The finished module, with a choice between two parameters as its result."""
        yes, no = self.param("i32"), self.param("i32")
        return self.store("i32", self.line(f"select i1 {condition}, i32 {yes}, i32 {no}"))


def _operands(type_: str) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """Both operands in registers, or one a constant."""
    yield "r,r", (None, None)
    for number in (1,) if type_ == "i1" else (5, BIG[type_]):
        yield f"r,{number}", (None, number)
    if type_ != "i1":
        # a negative one, or LLVM shifts it without a sign
        yield "-5,r", (-5, None)


def arithmetic() -> Iterator[tuple[str, str]]:
    """add, sub, mul, divisions, and, or, xor, shl, lshr, ashr."""
    for op, type_ in itertools.product(BINARY, INTEGERS):
        for label, constants in _operands(type_):
            if op in ("shl", "lshr", "ashr") and constants[1] not in (None, 5):
                continue  # shifted by more than the width: poison
            if op in DIVISIONS and constants[1] is not None:
                continue  # LLVM multiplies by the inverse, ptxas does it for nvgen
            body = _Body()
            lhs, rhs = (body.input(type_, constant) for constant in constants)
            result = body.line(f"{op} {type_} {lhs}, {rhs}")
            yield f"{op} {type_} {label}", body.store(type_, result)


def compare() -> Iterator[tuple[str, str]]:
    """icmp of integers and of pointers."""
    for predicate, type_ in itertools.product(PREDICATES, (*INTEGERS, "ptr", "ptr addrspace(3)")):
        kinds = [("r,r", (None, None))] if type_.startswith("ptr") else _operands(type_)
        for label, constants in kinds:
            body = _Body()
            lhs, rhs = (body.input(type_, constant) for constant in constants)
            result = body.line(f"icmp {predicate} {type_} {lhs}, {rhs}")
            yield f"icmp {predicate} {type_} {label}", body.store("i1", result)


def select() -> Iterator[tuple[str, str]]:
    """select by an i1."""
    for type_ in (*INTEGERS, "ptr", "float", "double"):
        for label, constants in (("r,r", (None, None)), ("r,5", (None, 5)), ("5,7", (5, 7))):
            if label != "r,r" and type_ not in ("i8", "i16", "i32", "i64"):
                continue  # an i1 that is a constant is no choice
            body = _Body()
            condition = body.input("i1")
            yes, no = (body.input(type_, constant) for constant in constants)
            result = body.line(f"select i1 {condition}, {type_} {yes}, {type_} {no}")
            yield f"select {type_} {label}", body.store(type_, result)


def convert() -> Iterator[tuple[str, str]]:
    """trunc, zext, sext, ptrtoint, inttoptr: of a parameter, and of what was computed or loaded."""
    for source, target in itertools.product(INTEGERS, INTEGERS):
        ops = ("trunc",) if BITS[source] > BITS[target] else ("zext", "sext")
        for op, origin in itertools.product(ops, ("parameter", "computed", "loaded")):
            if source == target or (origin != "parameter" and source == "i1"):
                continue
            body = _Body()
            value = _from(body, source, origin)
            if value:
                result = body.line(f"{op} {source} {value} to {target}")
                # LLVM turns a widened bit into an `and`
                done = body.choose(result) if target == "i1" else body.store(target, result)
                yield f"{op} {source} to {target}, {origin}", done
    spaces = {**SPACES, 6: "ptr addrspace(6)"}
    for integer, (space, pointer) in itertools.product(("i32", "i64"), spaces.items()):
        body = _Body()
        result = body.line(f"ptrtoint {pointer} {body.param(pointer)} to {integer}")
        yield f"ptrtoint as{space} to {integer}", body.store(integer, result)
        body = _Body()
        result = body.line(f"inttoptr {integer} {body.input(integer)} to {pointer}")
        yield f"inttoptr {integer} to as{space}", body.store(pointer, result)


def _from(body: _Body, type_: str, origin: str) -> str:
    if origin == "parameter":
        return body.input(type_)
    if origin == "loaded":
        return body.line(f"load {type_}, {GLOBAL} {body.param(GLOBAL)}")
    if type_ == "i8":
        return ""  # there is no arithmetic of eight bits
    return body.line(f"mul {type_} {body.input(type_)}, {body.input(type_)}")


def bitcast() -> Iterator[tuple[str, str]]:
    """bitcast between scalars and vectors, of what was loaded and of what was computed."""
    vectors = {
        32: ("<2 x i16>", "<4 x i8>", "<2 x half>", "float"),
        64: ("<2 x i32>", "<4 x i16>", "<8 x i8>", "<2 x float>", "double"),
    }
    for bits, types in vectors.items():
        for type_ in types:
            for source, target in ((f"i{bits}", type_), (type_, f"i{bits}")):
                body = _Body()
                value = body.line(f"load {source}, {GLOBAL} {body.param(GLOBAL)}")
                result = body.line(f"bitcast {source} {value} to {target}")
                yield f"bitcast {source} to {target}", body.store(target, result)
    for wide, narrow in (("i32", "i16"), ("i64", "i32")):
        body = _Body()
        value = body.line(f"mul {wide} {body.input(wide)}, {body.input(wide)}")
        vector = body.line(f"bitcast {wide} {value} to <2 x {narrow}>")
        high = body.line(f"extractelement <2 x {narrow}> {vector}, i32 1")
        yield f"bitcast {wide} to <2 x {narrow}>, high half", body.store(narrow, high)


def memory() -> Iterator[tuple[str, str]]:
    """load and store of every type in every address space, volatile too, at lower alignments."""
    for (space, pointer), type_ in itertools.product(SPACES.items(), MEMORY):
        yield f"load {type_} as{space}", _load(pointer, type_)
        if space != 4:
            yield f"store {type_} as{space}", _store(pointer, type_)
    for (space, pointer), type_ in itertools.product(SPACES.items(), ("i8", "i32", "i64", "float")):
        yield f"load volatile {type_} as{space}", _load(pointer, type_, "volatile ")
        if space != 4:
            yield f"store volatile {type_} as{space}", _store(pointer, type_, "volatile ")
    for type_, size in (("i16", 2), ("i32", 4), ("i64", 8), ("ptr", 8), ("double", 8),
                        ("<2 x i16>", 4), ("<2 x i32>", 8), ("<4 x i32>", 16), ("<2 x i64>", 16),
                        ("<8 x i32>", 32)):  # fmt: skip
        for align in (1, 2, 4, 8, 16):
            if align < size:
                yield f"load {type_} align {align}", _load(GLOBAL, type_, "", align)
                yield f"store {type_} align {align}", _store(GLOBAL, type_, "", align)


def alignment(label: str) -> int | None:
    """The alignment that a case of ``memory`` states, None when it is the type's own."""
    match = re.fullmatch(r"(?:load|store) .* align (\d+)", label)
    return int(match[1]) if match else None


def branches(label: str) -> bool:
    """Whether a kernel has branches: a division of 64 bits asks first whether 32 are enough."""
    return label in cases("control") or bool(re.fullmatch(r"[us](div|rem) i64 r,r", label))


def _load(pointer: str, type_: str, volatile: str = "", align: int = 0) -> str:
    body = _Body()
    how = f", align {align}" if align else ""
    value = body.line(f"load {volatile}{type_}, {pointer} {body.address(pointer)}{how}")
    return body.choose(value) if type_ == "i1" else body.store(type_, value)


def _store(pointer: str, type_: str, volatile: str = "", align: int = 0) -> str:
    body = _Body()
    how = f", align {align}" if align else ""
    address = body.address(pointer)
    if type_ == "i1":
        value = body.input("i1")
    else:
        value = body.line(f"load {type_}, {GLOBAL} {body.param(GLOBAL)}")
    body.lines.append(f"store {volatile}{type_} {value}, {pointer} {address}{how}")
    return kernel(body.params, body.lines)


def address() -> Iterator[tuple[str, str]]:
    """getelementptr: constant steps up and down, indices of every width, arrays and structs."""
    for space, pointer in SPACES.items():
        for offset in (4, -4, 65536):
            yield f"gep {offset} as{space}", _element(pointer, "i8", f"i64 {offset}")
        for element, index in itertools.product(
            ("i8", "i32", "[3 x i32]", "{ i32, i64 }"), ("i16", "i32", "i64")
        ):
            yield f"gep {element} by {index} as{space}", _element(pointer, element, index)
    nested = "[4 x { i32, [8 x i32] }]"
    for text, element, step in (
        ("field", nested, "i64 0, i64 2, i32 1, i64 3"),
        ("index and field", nested, "i64 0, i64 INDEX, i32 1, i64 3"),
        ("index and negative step", "[8 x i32]", "i64 INDEX, i64 -3"),
        ("negative element", "i32", "i64 -3"),
        ("packed", "<{ i8, i32, i8, i32 }>", "i64 1, i32 2"),
    ):
        yield f"gep {text}", _element(GLOBAL, element, step, "i8" if text == "packed" else "i32")
    for space, offset in itertools.product((1, 3, 4), (0, 12)):
        yield f"global as{space} at {offset}", _variable(space, offset)


def _variable(space: int, offset: int) -> str:
    """A load from a global variable."""
    pointer = f"ptr addrspace({space})"
    body = _Body()
    where = f"getelementptr (i8, {pointer} @g{space}, i64 {offset})"
    module = body.store("i32", body.line(f"load i32, {pointer} {where}"))
    # shared memory cannot be initialised
    linkage, initial = ("external ", "") if space == 3 else ("", " zeroinitializer")
    variable = f"@g{space} = {linkage}addrspace({space}) global [8 x i32]{initial}, align 16\n"
    return module.replace("define", variable + "define")


def _element(pointer: str, element: str, step: str, type_: str = "i32") -> str:
    """A load through a getelementptr; ``step`` is its indices, or the type of the only one."""
    body = _Body()
    base = body.address(pointer)
    if "INDEX" in step:
        step = step.replace("INDEX", body.param("i64"))
    elif " " not in step:
        step = f"{step} {body.param(step)}"
    where = body.line(f"getelementptr {element}, {pointer} {base}, {step}")
    return body.store(type_, body.line(f"load {type_}, {pointer} {where}"))


def space_cast() -> Iterator[tuple[str, str]]:
    """addrspacecast to and from the generic space, and between the two shared ones."""
    pairs = [(s, 0) for s in SPACES if s] + [(0, s) for s in SPACES if s] + [(3, 7)]
    for source, target in pairs:
        body = _Body()
        pointer = body.address(SPACES[source])
        cast = body.line(f"addrspacecast {SPACES[source]} {pointer} to {SPACES[target]}")
        result = body.line(f"ptrtoint {SPACES[target]} {cast} to i64")
        yield f"addrspacecast as{source} to as{target}", body.store("i64", result)


def parameters() -> Iterator[tuple[str, str]]:
    """A kernel's parameters: how they are declared, and how they are read."""
    types = (*INTEGERS, "half", "float", "double", "<2 x i32>", "<4 x i32>", "[2 x i64]")
    for type_ in types:
        body = [f"store {type_} %p0, {GLOBAL} %p1"]
        yield f"param {type_}", kernel([f"{type_} %p0", f"{GLOBAL} %p1"], body)
    for space, pointer in {**SPACES, 6: "ptr addrspace(6)"}.items():
        for align in ("", " align 16"):
            body = [f"store {pointer} %p0, {GLOBAL} %p1"]
            yield (
                f"param as{space}{align}",
                kernel([f"{pointer}{align} %p0", f"{GLOBAL} %p1"], body),
            )
    body = ["%f = getelementptr { i32, i64 }, ptr %p0, i64 0, i32 1", "%v = load i64, ptr %f",
            f"store i64 %v, {GLOBAL} %p1"]  # fmt: skip
    struct = "ptr byval({ i32, i64 }) align 8 %p0"
    yield "param byval", kernel([struct, f"{GLOBAL} %p1"], body)


FLOWS = {
    "if": """
  %c = icmp slt i32 %p0, %p1
  br i1 %c, label %then, label %end
then:
  store volatile i32 %p0, ptr addrspace(1) %out
  br label %end
end:
""",
    "if else with a phi": """
  %c = icmp slt i32 %p0, %p1
  br i1 %c, label %then, label %else
then:
  %a = mul i32 %p0, %p0
  store volatile i32 %a, ptr addrspace(1) %out
  br label %end
else:
  %b = xor i32 %p1, %p0
  store volatile i32 %b, ptr addrspace(1) %out
  br label %end
end:
  %r = phi i32 [ %a, %then ], [ %b, %else ]
  store i32 %r, ptr addrspace(1) %out
""",
    "loop": """
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %out
  %next = add i32 %i, %p0
  %c = icmp ult i32 %next, %p1
  br i1 %c, label %loop, label %end
end:
""",
    "loop that swaps": """
  br label %loop
loop:
  %x = phi i32 [ %p0, %0 ], [ %y, %loop ]
  %y = phi i32 [ %p1, %0 ], [ %x, %loop ]
  store volatile i32 %x, ptr addrspace(1) %out
  %c = icmp ult i32 %x, %y
  br i1 %c, label %loop, label %end
end:
""",
    "loop in a loop": """
  br label %outer
outer:
  %i = phi i32 [ 0, %0 ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  store volatile i32 %j, ptr addrspace(1) %out
  %j1 = add i32 %j, %p0
  %cj = icmp ult i32 %j1, %i
  br i1 %cj, label %inner, label %latch
latch:
  %i1 = add i32 %i, %p0
  %ci = icmp ult i32 %i1, %p1
  br i1 %ci, label %outer, label %end
end:
""",
}
"""Bodies with branches, in a kernel of two i32, ``%p0`` and ``%p1``, and a pointer ``%out``."""


def control() -> Iterator[tuple[str, str]]:
    """br, phi, ret: compared by their instructions alone."""
    for name, text in FLOWS.items():
        params = ["i32 %p0", "i32 %p1", f"{GLOBAL} %out"]
        yield name, kernel(params, [text.strip()])


FAMILIES = {
    family.__name__: family
    for family in (arithmetic, compare, select, convert, bitcast, memory, address, space_cast,
                   parameters, control)
}  # fmt: skip


@functools.cache
def cases(family: str) -> Cases:
    """The kernels of a family, by label."""
    found = list(FAMILIES[family]())
    assert len(dict(found)) == len(found), family
    return dict(found)
