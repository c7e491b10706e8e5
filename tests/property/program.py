"""From a plan to a program: functions, control flow, what is written out.

A program is a kernel `@k(ptr addrspace(1) %in, ptr addrspace(1) %out)` for a block of 32 threads.
A thread reads its row of four 64-bit words, computes, and writes every value that it made to the
output: value after value, of each value thread after thread, 16 bytes for each scalar.

Nothing in a program is undefined, and no bit of the output depends on what LLVM leaves open: NaNs
are made one NaN before their bits are seen, a zero of minnum or maxnum is made +0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.oracle.integer_edges import PREDICATES, edges
from tests.property.irtypes import I1, I8, I32, I64, Float, Int, Type
from tests.property.irtypes import align as abi_align
from tests.property.library_steps import LIBRARY
from tests.property.memory_steps import (
    THREADS,
    alloca,
    choose,
    copy,
    fill,
    generic,
    global_,
    load,
    peek,
    poke,
    shared,
    store,
)
from tests.property.operations import COMPUTATIONS
from tests.property.plans import FunctionPlan, Picks, Plan, Step
from tests.property.writer import ModuleText, Object, Scope, Value, Writer

INPUTS = 4
SLOT = 16
"""Bytes of output for one scalar of one thread."""
BUDGET = 2000
"""About how many instructions one thread may execute."""
LINES = 160
"""How long a function gets, about."""

_COMPUTATIONS = COMPUTATIONS | LIBRARY
MEMORY = {
    "load": load,
    "store": store,
    "peek": peek,
    "poke": poke,
    "global": global_,
    "generic": generic,
    "choose": choose,
    "copy": copy,
    "fill": fill,
}


@dataclass(frozen=True)
class Program:
    """LLVM IR, and how many 16-byte slots of output each thread writes at most."""

    text: str
    slots: int
    seed: int = 0

    def memory(self) -> list[NDArray[np.generic]]:
        """Input and output, before the kernel runs."""
        return [rows(self.seed), np.full(self.slots * SLOT * THREADS, 0xA5, np.uint8)]

    def reproduction(self, *remarks: str) -> str:
        """A file of LLVM IR that `python -m tests.property.soak --replay` runs by itself."""
        head = [f"; {remark}" for remark in (*remarks, f"slots: {self.slots}")]
        return "\n".join([*head, f"; seed: {self.seed}", self.text])


_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1 / 3, 100.5, 65504.0, 65520.0, 1e-5,
           6e-8, 1e10, 3e38, 1e-40, 1e300, float("inf"), -float("inf"), float("nan"))  # fmt: skip


def rows(seed: int) -> NDArray[np.generic]:
    """Input of 32 threads: rows of edge values, of floating-point patterns, of random words."""
    rng = np.random.default_rng(seed)
    known = [e & ((1 << 64) - 1) for w in (8, 16, 32, 64) for e in edges(w)]
    words = rng.integers(0, 1 << 64, (THREADS, INPUTS), np.uint64)
    words[:10] = rng.choice(np.array(known, np.uint64), (10, INPUTS))
    with np.errstate(over="ignore"):
        for first, dtype in ((10, np.float64), (14, np.float32), (20, np.float16)):
            count = 8 // np.dtype(dtype).itemsize
            drawn = rng.choice(np.array(_FLOATS), (4, INPUTS * count)).astype(dtype)
            words[first : first + 4] = drawn.view(np.uint64)
    words[24:28] = rng.integers(0, 12, (4, INPUTS))
    return words


@dataclass(frozen=True)
class Known:
    """A function that can be called."""

    name: str
    plan: FunctionPlan
    result: Type | None
    cost: int


class Builder:
    """The program of a plan, one function at a time."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.module = ModuleText()
        self.known: list[Known] = []

    def program(self) -> Program:
        for index, function in enumerate(self.plan.functions):
            _Function(self, function, f"f{index}").write()
        slots = _Kernel(self).write()
        parts = [*self.module.globals, *self.module.functions, *self.module.declares.values()]
        return Program("\n".join(parts) + "\n", slots, len(self.plan.body))


def build(plan: Plan) -> Program:
    """The program of a plan."""
    return Builder(plan).program()


class _Body:
    """Statements of one function."""

    tid: Value | None = None

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.w = Writer(builder.module, builder.plan.features)

    def leave(self, scope: Scope, picks: Picks) -> None:
        """Return from the middle."""
        raise NotImplementedError

    def run(self, scope: Scope, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if self.w.cost < BUDGET and len(self.w.lines) < LINES:
                self.step(scope, step)

    def step(self, scope: Scope, step: Step) -> None:
        kind, picks = step.kind, step.picks
        if kind in _COMPUTATIONS:
            made = _COMPUTATIONS[kind](self.w, scope, step.type, picks)
            scope.add(*(made if isinstance(made, list) else [made]))
        elif kind in MEMORY:
            scope.add(*MEMORY[kind](self.w, scope, step.type, picks))
        elif kind == "shared":
            scope.add(*shared(self.w, scope, step.type, picks, self.tid))
        else:
            getattr(self, f"_{kind}")(scope, step, picks)

    # ---- control flow --------------------------------------------------------------------

    def condition(self, scope: Scope, picks: Picks) -> Value:
        """A comparison that differs from thread to thread."""
        if picks.below(4) == 3:
            return self.w.operand(scope, I1, picks)
        type_ = picks.one((I32, I64, I8))
        left = self.w.operand(scope, type_, picks)
        right = self.w.operand(scope, type_, picks)
        return self.w.value(I1, f"icmp {picks.one(PREDICATES)} {left}, {right.name}")

    def joined(self, scope: Scope, type_: Type, paths: list[tuple[str, list[Value]]]) -> None:
        """Phis in the block that begins here."""
        for position in range(len(paths[0][1])):
            arms = [(values[position], block) for block, values in paths]
            incoming = ", ".join(f"[ {value.name}, %{block} ]" for value, block in arms)
            type_ = arms[0][0].type
            scope.add(self.w.value(type_, f"phi {type_} {incoming}"))

    def arm(
        self, scope: Scope, label: str, steps: tuple[Step, ...], types: list[Type], picks: Picks
    ) -> tuple[str, list[Value]]:
        """A block and what it gives to the block behind."""
        self.w.label(label)
        inner = scope.inner()
        self.run(inner, steps)
        made = [self.w.operand(inner, t, picks) for t in types]
        return self.w.block, made

    def _if(self, scope: Scope, step: Step, picks: Picks) -> None:
        w = self.w
        test = self.condition(scope, picks)
        types: list[Type] = [step.type, picks.one((I32, I64, I1))][: 1 + picks.below(2)]
        then, otherwise, after = (w.name(s) for s in ("then", "else", "after"))
        if len(step.bodies) == 1:
            before = (w.block, [w.operand(scope, t, picks) for t in types])
            w.emit(f"br {test}, label %{then}, label %{after}")
            paths = [before, self.arm(scope, then, step.bodies[0], types, picks)]
            w.emit(f"br label %{after}")
        else:
            w.emit(f"br {test}, label %{then}, label %{otherwise}")
            paths = [self.arm(scope, then, step.bodies[0], types, picks)]
            w.emit(f"br label %{after}")
            paths.append(self.arm(scope, otherwise, step.bodies[1], types, picks))
            w.emit(f"br label %{after}")
        w.label(after)
        self.joined(scope, step.type, paths)

    def _switch(self, scope: Scope, step: Step, picks: Picks) -> None:
        w = self.w
        type_ = picks.one((I32, I64, I8, Int(16)))
        on = w.operand(scope, type_, picks)
        if picks.below(3):
            on = w.below(on, picks.one((4, 8, 5)))
        cases = self._cases(type_, picks)
        types: list[Type] = [step.type]
        labels = [w.name("case") for _ in step.bodies]
        after = w.name("after")
        table = " ".join(
            f"{type_} {number}, label %{labels[i % len(labels)]}" for i, number in enumerate(cases)
        )
        default = labels[0] if picks.below(3) == 0 else after
        # a phi has one entry for each edge, also from the same block
        direct = [(w.block, [w.operand(scope, t, picks) for t in types])]
        w.emit(f"switch {on}, label %{default} [ {table} ]")
        paths = direct if default == after else []
        used = {i % len(labels) for i in range(len(cases))} | ({0} if default != after else set())
        for index, body in enumerate(step.bodies):
            if index in used:
                paths.append(self.arm(scope, labels[index], body, types, picks))
                w.emit(f"br label %{after}")
        w.label(after)
        self.joined(scope, step.type, paths)

    def _cases(self, type_: Int, picks: Picks) -> list[int]:
        count = picks.below(8) + 1
        if picks.below(2) == 0:
            first = picks.one((0, 1, -2))
            return [first + i for i in range(count)]
        return list(dict.fromkeys(picks.one(edges(type_.bits)) for _ in range(count)))

    def _loop(self, scope: Scope, step: Step, picks: Picks) -> None:
        """A bounded loop: tested at its top or its bottom, perhaps left from its middle."""
        w = self.w
        most = 4 if w.rounds > 1 else 8
        if w.cost + w.rounds * most * 40 > BUDGET:
            return
        trips = Value(str(picks.below(most) + 1), I32)
        if picks.below(2) and scope.values:
            trips = w.op("and", w.operand(scope, I32, picks), Value(str(most - 1), I32))
        types: list[Type] = [step.type, picks.one((I32, I64, step.type))][: 1 + picks.below(2)]
        first = [w.operand(scope, t, picks) for t in types]
        head, inside, middle, after = (w.name(s) for s in ("head", "body", "middle", "after"))
        before = w.block
        w.emit(f"br label %{head}")
        w.label(head)
        counter = Value("%" + w.name("i"), I32)
        carried = [Value("%" + w.name("x"), t) for t in types]
        hole = len(w.lines)
        w.rounds *= most
        top = picks.below(2) == 0
        if top:
            more = w.value(I1, f"icmp ult {counter}, {trips.name}")
            w.emit(f"br {more}, label %{inside}, label %{after}")
            w.label(inside)
        inner = scope.inner()
        inner.add(counter, *carried)
        paths: list[tuple[str, list[Value]]] = [(head, [*carried])] if top else []
        self.run(inner, step.bodies[0])
        if len(step.bodies) > 1:
            test = self.condition(inner, picks)
            given = [w.operand(inner, t, picks) for t in types]
            paths.append((w.block, given))
            w.emit(f"br {test}, label %{after}, label %{middle}")
            w.label(middle)
            self.run(inner, step.bodies[1])
        following = [w.operand(inner, t, picks) for t in types]
        up = w.op("add", counter, Value("1", I32))
        last = w.block
        if top:
            w.emit(f"br label %{head}")
        else:
            more = w.value(I1, f"icmp ult {up}, {trips.name}")
            paths.append((last, following))
            w.emit(f"br {more}, label %{head}, label %{after}")
        w.rounds //= most
        phis = [
            f"  {c.name} = phi {c.type} [ {a.name}, %{before} ], [ {b.name}, %{last} ]"
            for c, a, b in zip(
                [counter, *carried], [Value("0", I32), *first], [up, *following], strict=True
            )
        ]
        w.lines[hole:hole] = phis
        w.label(after)
        self.joined(scope, step.type, paths)

    def _return(self, scope: Scope, step: Step, picks: Picks) -> None:
        w = self.w
        test = self.condition(scope, picks)
        early, after = w.name("early"), w.name("after")
        w.emit(f"br {test}, label %{early}, label %{after}")
        w.label(early)
        self.leave(scope.inner(), picks)
        w.label(after)

    def _never(self, scope: Scope, step: Step, picks: Picks) -> None:
        """A branch that no thread takes, to a block that has no end."""
        w = self.w
        small = w.op("and", w.operand(scope, I32, picks), Value("7", I32))
        test = w.value(I1, f"icmp ugt {small}, 7")
        dead, after = w.name("dead"), w.name("after")
        w.emit(f"br {test}, label %{dead}, label %{after}")
        w.label(dead)
        w.emit("unreachable")
        w.label(after)

    # ---- calls ---------------------------------------------------------------------------

    def _call(self, scope: Scope, step: Step, picks: Picks) -> None:
        known = self.builder.known
        if known:
            self.invoke(scope, known[-1 - picks.below(len(known))], picks)

    def invoke(self, scope: Scope, callee: Known, picks: Picks) -> None:
        w = self.w
        if w.cost + w.rounds * callee.cost > BUDGET:
            return
        w.cost += w.rounds * callee.cost
        arguments = [self.argument(scope, *p, picks) for p in callee.plan.parameters]
        if callee.plan.recursive:
            fuel = w.op("and", w.operand(scope, I32, picks), Value("3", I32))
            arguments.insert(0, str(fuel))
        text = f"@{callee.name}({', '.join(arguments)})"
        if callee.result is None:
            w.emit(f"call void {text}")
        else:
            scope.add(w.value(callee.result, f"call {callee.result} {text}"))

    def argument(self, scope: Scope, kind: str, type_: Type, picks: Picks) -> str:
        if kind == "value":
            return str(self.w.operand(scope, type_, picks))
        known = [o for o in scope.objects if o.type == type_ and not o.space and o.mutable]
        found = known[-1] if known else alloca(self.w, scope, type_, picks)
        if kind == "byval":
            # an object that lies in a packed struct is never passed, so it is aligned
            return f"ptr byval({type_}) align {abi_align(type_)} {found.name}"
        return f"ptr {found.name}"


class _Function(_Body):
    """A device function."""

    def __init__(self, builder: Builder, plan: FunctionPlan, name: str) -> None:
        super().__init__(builder)
        self.function, self.name = plan, name

    def write(self) -> None:
        w, plan, picks = self.w, self.function, Picks(self.function.data)
        scope, parameters = Scope(), []
        for index, (kind, type_) in enumerate(plan.parameters):
            name = f"%arg{index}"
            if kind == "value":
                parameters.append(f"{type_} {name}")
                scope.add(Value(name, type_))
                continue
            attribute = f" byval({type_}) align {abi_align(type_)}" if kind == "byval" else ""
            parameters.append(f"ptr{attribute} {name}")
            scope.objects.append(Object(name, 0, type_))
        attribute = picks.one((" noinline", " noinline", "", " alwaysinline"))
        if plan.recursive:
            attribute = " noinline"
            parameters.insert(0, "i32 %fuel")
            scope.add(Value("%fuel", I32))
            self.stop(scope, picks)
        self.run(scope, plan.body)
        if plan.recursive:
            self.again(scope, picks)
        self.leave(scope, picks)
        shape = f"{plan.result or 'void'} @{self.name}({', '.join(parameters)})"
        lines = [f"define internal {shape}{attribute} {{", "entry:", *w.allocas, *w.lines, "}"]
        self.builder.module.functions.append("\n".join(lines))
        cost = w.cost * (4 if plan.recursive else 1)
        self.builder.known.append(Known(self.name, plan, plan.result, cost + 5))

    def leave(self, scope: Scope, picks: Picks) -> None:
        result = self.function.result
        self.w.emit(f"ret {self.w.operand(scope, result, picks) if result else 'void'}")

    def stop(self, scope: Scope, picks: Picks) -> None:
        """The end of the recursion."""
        w = self.w
        test = w.value(I1, "icmp eq i32 %fuel, 0")
        w.emit(f"br {test}, label %empty, label %work")
        w.label("empty")
        self.leave(scope.inner(), picks)
        w.label("work")

    def again(self, scope: Scope, picks: Picks) -> None:
        """The function calls itself with less fuel."""
        w, plan = self.w, self.function
        less = w.op("sub", Value("%fuel", I32), Value("1", I32))
        given = [str(less)] + [self.argument(scope, *p, picks) for p in plan.parameters]
        text = f"@{self.name}({', '.join(given)})"
        if plan.result is None:
            w.emit(f"call void {text}")
        else:
            scope.add(w.value(plan.result, f"call {plan.result} {text}"))


class _Kernel(_Body):
    """The kernel, whose values are written out."""

    def write(self) -> int:
        w = self.w
        self.tid = Value("%tid", I32)
        self.builder.module.declares["tid"] = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
        w.emit("%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
        w.emit("%base = getelementptr [4 x i64], ptr addrspace(1) %in, i32 %tid")
        scope = Scope([self.tid])
        for index in range(INPUTS):
            pointer = f"%in{index}"
            w.emit(f"{pointer} = getelementptr i64, ptr addrspace(1) %base, i64 {index}")
            scope.add(w.value(I64, f"load i64, ptr addrspace(1) {pointer}, align 8"))
        w.emit("%own = mul i32 %tid, 16")
        w.emit("%row = getelementptr i8, ptr addrspace(1) %out, i32 %own")
        given = len(scope.values)
        self.run(scope, self.builder.plan.body)
        slots = 1
        for value in scope.values[given:][-40:]:
            for leaf in w.leaves(value):
                self.output(leaf, slots)
                slots += 1
        w.emit("ret void")
        head = "define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {"
        lines = [head, "entry:", *w.allocas, *w.lines, "}"]
        self.builder.module.functions.append("\n".join(lines))
        return slots

    def leave(self, scope: Scope, picks: Picks) -> None:
        """The first slot is of those that leave early."""
        self.output(self.w.operand(scope, I64, picks), 0)
        self.w.emit("ret void")

    def output(self, value: Value, slot: int) -> None:
        """Store one scalar, an integer in a width that every machine stores."""
        w = self.w
        name = "%" + w.name("q")
        w.emit(f"{name} = getelementptr i8, ptr addrspace(1) %row, i64 {slot * SLOT * THREADS}")
        assert isinstance(value.type, Int | Float)
        if isinstance(value.type, Float):
            value = w.canonical(value)
        elif value.type.bits > 64:
            low = w.value(I64, f"trunc {value} to i64")
            w.emit(f"store {low}, ptr addrspace(1) {name}")
            above = w.op("lshr", value, Value("64", value.type))
            value = w.value(I64, f"trunc {above} to i64")
            high = "%" + w.name("q")
            w.emit(f"{high} = getelementptr i8, ptr addrspace(1) {name}, i64 8")
            name = high
        else:
            width = next(n for n in (8, 16, 32, 64) if n >= value.type.bits)
            value = w.resize(value, Int(width))
        w.emit(f"store {value}, ptr addrspace(1) {name}")
