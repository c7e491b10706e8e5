"""Random scalar programs, as LLVM IR: straight lines, and structured control flow with phis.

Every program is a kernel `@k(ptr addrspace(1) %in, ptr addrspace(1) %out)`.  A thread reads its own
row of `INPUTS` 64-bit words, computes, and writes every value it made to its own row of the output,
one value in each 8 bytes.  Nothing in a program is undefined: no poison flags, shift amounts are
in range, no division, loops run a bounded number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

INPUTS = 4
"""64-bit words that one thread reads."""

WIDTHS = (1, 8, 16, 32, 64)
ARITHMETIC = ("add", "sub", "mul", "and", "or", "xor")
SHIFTS = ("shl", "lshr", "ashr")
PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")

HEADER = """\
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
FOOTER = """\
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


def edges(width: int) -> list[int]:
    """The numbers of a width where arithmetic goes wrong: 0, -1, the extremes, powers of two."""
    if width == 1:
        return [0, 1]
    half = 1 << (width - 1)
    powers = [1 << n for n in (3, width // 2 - 1, width // 2, width - 2)]
    extremes = [0, 1, 2, -1, -2, half - 1, -half, half - 2, -half + 1]
    return list(dict.fromkeys([*extremes, *powers, *(p - 1 for p in powers)]))


@dataclass(frozen=True)
class Program:
    """A kernel and how many 8-byte slots of output each thread writes."""

    text: str
    slots: int


@dataclass
class Value:
    """An SSA name, or a constant."""

    name: str
    width: int


@dataclass
class Writer:
    """LLVM IR under construction."""

    lines: list[str] = field(default_factory=list)
    block: str = "entry"
    slots: int = 0
    _count: int = 0

    def name(self, stem: str = "v") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def value(self, width: int, text: str) -> Value:
        """An instruction with a result."""
        found = Value("%" + self.name(), width)
        self.emit(f"{found.name} = {text}")
        return found

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def inputs(self) -> list[Value]:
        """The thread's row of input words."""
        self.emit(f"%row = mul i32 %tid, {INPUTS * 8}")
        self.emit("%base = getelementptr i8, ptr addrspace(1) %in, i32 %row")
        found = []
        for index in range(INPUTS):
            pointer = f"%in{index}"
            self.emit(f"{pointer} = getelementptr i64, ptr addrspace(1) %base, i64 {index}")
            found.append(self.value(64, f"load i64, ptr addrspace(1) {pointer}, align 8"))
        return found

    def resize(self, value: Value, width: int, *, signed: bool = False) -> Value:
        """The value in another width."""
        if value.width == width:
            return value
        cast = "trunc" if width < value.width else "sext" if signed else "zext"
        return self.value(width, f"{cast} i{value.width} {value.name} to i{width}")

    def output(self, values: list[Value]) -> None:
        """Write values to the thread's row of the output."""
        self.slots = len(values)
        self.emit(f"%outrow = mul i32 %tid, {8 * len(values)}")
        self.emit("%outbase = getelementptr i8, ptr addrspace(1) %out, i32 %outrow")
        for index, value in enumerate(values):
            stored = self.resize(value, 8) if value.width == 1 else value
            pointer = f"%out{index}"
            self.emit(f"{pointer} = getelementptr i8, ptr addrspace(1) %outbase, i64 {8 * index}")
            self.emit(f"store i{stored.width} {stored.name}, ptr addrspace(1) {pointer}")

    def finish(self) -> Program:
        return Program(HEADER + "\n".join(self.lines) + "\n" + FOOTER, self.slots)


def operands(draw: st.DrawFn, pool: list[Value], width: int, count: int) -> list[str]:
    """Names or constants of a width; values made late are preferred, so that chains get long."""
    known = [value for value in pool if value.width == width]
    found: list[str] = []
    for _ in range(count):
        if known and (draw(st.integers(0, 3)) or all(not t.startswith("%") for t in found)):
            back = draw(st.integers(0, min(len(known), 6) - 1))
            found.append(known[-1 - back].name)
        else:
            found.append(constant(draw(st.sampled_from(edges(width))), width))
    return found


def constant(number: int, width: int) -> str:
    """LLVM's spelling of a constant."""
    return ("true" if number & 1 else "false") if width == 1 else str(number)


def instruction(draw: st.DrawFn, writer: Writer, pool: list[Value]) -> Value:
    """One more instruction over the values there are."""
    kind = draw(st.sampled_from(("arith", "arith", "shift", "icmp", "select", "cast", "cast")))
    width = draw(st.sampled_from((8, 16, 32, 32, 64, 64, 1)))
    if not any(v.width == width for v in pool):
        kind = "cast"
    if kind == "arith":
        name = draw(st.sampled_from(ARITHMETIC))
        a, b = operands(draw, pool, width, 2)
        return writer.value(width, f"{name} i{width} {a}, {b}")
    if kind == "shift" and width > 1:
        name = draw(st.sampled_from(SHIFTS))
        a, b = operands(draw, pool, width, 2)
        if b.startswith("%"):
            b = writer.value(width, f"and i{width} {b}, {width - 1}").name
        else:
            b = str(int(b) % width)
        return writer.value(width, f"{name} i{width} {a}, {b}")
    if kind == "icmp":
        predicate = draw(st.sampled_from(PREDICATES))
        a, b = operands(draw, pool, width, 2)
        return writer.value(1, f"icmp {predicate} i{width} {a}, {b}")
    if kind == "select" and any(v.width == 1 for v in pool):
        test = operands(draw, pool, 1, 1)[0]
        a, b = operands(draw, pool, width, 2)
        return writer.value(width, f"select i1 {test}, i{width} {a}, i{width} {b}")
    sources = [value for value in pool if value.width != width]
    if not sources:
        return writer.value(64, f"add i64 {pool[-1].name}, {pool[0].name}")
    source = sources[-1 - draw(st.integers(0, min(len(sources), 8) - 1))]
    return writer.resize(source, width, signed=draw(st.booleans()))


@st.composite
def straight_lines(draw: st.DrawFn) -> Program:
    """A program without branches; every value that it makes is written out."""
    writer = Writer()
    pool = writer.inputs()
    for _ in range(draw(st.integers(8, 24))):
        pool.append(instruction(draw, writer, pool))
    writer.output(pool)
    return writer.finish()


# ---- control flow ----------------------------------------------------------------------------

VARIABLES = {"a": 32, "b": 32, "c": 32, "x": 64, "y": 64, "h": 16, "q": 8, "p": 1}
"""The variables of a structured program and their widths."""

Scope = dict[str, Value]


@st.composite
def structured(draw: st.DrawFn) -> Program:
    """A program of nested branches and loops over `VARIABLES`, each a phi where paths meet."""
    writer = Writer()
    words = writer.inputs()
    scope = {
        name: writer.resize(words[index % INPUTS], width)
        for index, (name, width) in enumerate(VARIABLES.items())
    }
    for _ in range(draw(st.integers(2, 4))):
        scope = statement(draw, writer, scope, depth=2)
    writer.output(list(scope.values()))
    return writer.finish()


def statement(draw: st.DrawFn, writer: Writer, scope: Scope, depth: int) -> Scope:
    """An assignment, an exchange, a branch or a loop; gives the variables' new values."""
    flat = ("assign", "assign", "swap")
    nested = ("if", "if", "loop", "loop") if depth else ()
    match draw(st.sampled_from((*flat, *nested))):
        case "assign":
            made = instruction(draw, writer, list(scope.values()))
            names = [name for name, width in VARIABLES.items() if width == made.width]
            return {**scope, draw(st.sampled_from(names)): made}
        case "swap":
            one, other = draw(st.sampled_from((("a", "b"), ("b", "c"), ("x", "y"))))
            return {**scope, one: scope[other], other: scope[one]}
        case "if":
            return branch(draw, writer, scope, depth)
        case _:
            return loop(draw, writer, scope, depth)


def body(draw: st.DrawFn, writer: Writer, scope: Scope, depth: int) -> Scope:
    """One to three statements."""
    for _ in range(draw(st.integers(1, 3))):
        scope = statement(draw, writer, scope, depth - 1)
    return scope


def condition(draw: st.DrawFn, writer: Writer, scope: Scope) -> str:
    """A comparison that differs from thread to thread."""
    width = draw(st.sampled_from((8, 16, 32, 64)))
    names = [name for name, w in VARIABLES.items() if w == width]
    left = scope[draw(st.sampled_from(names))].name
    right = draw(st.sampled_from([scope[n].name for n in names] + [str(e) for e in edges(width)]))
    predicate = draw(st.sampled_from(PREDICATES))
    return writer.value(1, f"icmp {predicate} i{width} {left}, {right}").name


def merge(writer: Writer, paths: list[tuple[str, Scope]]) -> Scope:
    """Phis for every variable, in the block that begins here."""
    found = {}
    for name, width in VARIABLES.items():
        incoming = ", ".join(f"[ {scope[name].name}, %{block} ]" for block, scope in paths)
        found[name] = writer.value(width, f"phi i{width} {incoming}")
    return found


def branch(draw: st.DrawFn, writer: Writer, scope: Scope, depth: int) -> Scope:
    """`if` with or without an `else`."""
    test = condition(draw, writer, scope)
    then, otherwise, after = (writer.name(s) for s in ("then", "else", "after"))
    before = writer.block
    has_else = draw(st.booleans())
    writer.emit(f"br i1 {test}, label %{then}, label %{otherwise if has_else else after}")
    writer.label(then)
    made = body(draw, writer, scope, depth)
    paths = [(writer.block, made)]
    writer.emit(f"br label %{after}")
    if has_else:
        writer.label(otherwise)
        made = body(draw, writer, scope, depth)
        paths.append((writer.block, made))
        writer.emit(f"br label %{after}")
    else:
        paths.append((before, scope))
    writer.label(after)
    return merge(writer, paths)


def loop(draw: st.DrawFn, writer: Writer, scope: Scope, depth: int) -> Scope:
    """A loop of up to three rounds, tested at the top, perhaps left from its middle."""
    header, inside, latch, after = (writer.name(s) for s in ("head", "body", "latch", "done"))
    limit = writer.value(32, f"and i32 {scope[draw(st.sampled_from('abc'))].name}, 3").name
    before = writer.block
    writer.emit(f"br label %{header}")
    writer.label(header)
    at_phis = len(writer.lines)
    counter = writer.name("%i")
    carried = {name: Value("%" + writer.name("phi"), width) for name, width in VARIABLES.items()}
    test = writer.value(1, f"icmp ult i32 {counter}, {limit}").name
    writer.emit(f"br i1 {test}, label %{inside}, label %{after}")
    writer.label(inside)
    made = body(draw, writer, carried, depth)
    exits = [(header, carried)]
    if draw(st.booleans()):
        leave = condition(draw, writer, made)
        exits.append((writer.block, made))
        writer.emit(f"br i1 {leave}, label %{after}, label %{latch}")
    else:
        writer.emit(f"br label %{latch}")
    writer.label(latch)
    following = writer.value(32, f"add i32 {counter}, 1").name
    writer.emit(f"br label %{header}")
    phis = [f"  {counter} = phi i32 [ 0, %{before} ], [ {following}, %{latch} ]"]
    phis += [
        f"  {phi.name} = phi i{phi.width} [ {scope[name].name}, %{before} ],"
        f" [ {made[name].name}, %{latch} ]"
        for name, phi in carried.items()
    ]
    writer.lines[at_phis:at_phis] = phis
    writer.label(after)
    return merge(writer, exits)
