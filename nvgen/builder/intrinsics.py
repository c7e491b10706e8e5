"""The builder's verbs: one method for each of LLVM's nvvm intrinsics that the rows spell.

Layer: nvgen.builder.  Methods are named as the intrinsics are, operands come first, axes are
keyword arguments with the enum's values.  Which intrinsic a call becomes, with which arguments in
which order, is looked up in the row's spellings, so nothing here repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from llvmlite import ir

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding, InputError, Severity
from intrinsics.legality import describe, expected, got, judge, section_of
from intrinsics.modifiers import CtaGroup, Dim, LoadMode, ReadOnly, Scope, Sem, Space, StoreMode
from intrinsics.row import Code, Fact, Row
from isel.select.intrinsics import (
    PAIRS,
    PREFIX,
    Argument,
    arguments,
    element_type,
    results,
)
from nvgen.builder.base import BuilderBase
from nvgen.builder.map_checks import check_copy
from nvgen.builder.registers import Register, Vector, WordLike
from nvgen.builder.values import Barrier, Int, IntLike, Pointer, pointer_of, refuse
from nvgen.callers import place_of_caller

Operand: TypeAlias = WordLike | Pointer | Vector | Sequence[WordLike]


def llvm_type(text: str, count: int = 1) -> ir.Type:
    """The llvmlite type of an argument in a pattern; `count` is the length of `v*i32`."""
    if text.startswith("n*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.LiteralStructType([element] * count)
    if text in PAIRS:
        return ir.VectorType(ir.HalfType(), 2)
    if text.startswith("v*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.VectorType(element, count)
    if text.startswith("p"):
        return ir.PointerType(addrspace=int(text[1:] or 0))
    if text == "float":
        return ir.FloatType()
    if text == "double":
        return ir.DoubleType()
    return ir.IntType(int(text[1:]))


class IntrinsicCalls(BuilderBase):
    """Calls of intrinsics by row, facts and operands."""

    def _call(
        self,
        row_id: str,
        facts: Mapping[str, Fact],
        operands: Mapping[str, Operand],
    ) -> ir.Value:
        """Emit the intrinsic of a row that has `facts` and takes `operands`."""
        wanted = {name: fact for name, fact in facts.items() if fact is not None}
        if facts.get("mode") in (LoadMode.TILE, StoreMode.TILE):
            check_copy(self._maps, operands)
        spelling = find_spelling(row_id, wanted, operands)
        formal = arguments(spelling.pattern.args)
        types: list[ir.Type] = []
        values: list[ir.Value] = []
        for argument in formal:
            for type_, value in self._arguments(spelling, argument, facts, operands):
                types.append(type_)
                values.append(value)
        result = _result_type(spelling, facts)
        function = self.declare(PREFIX + spelling.name, ir.FunctionType(result, types))
        produced = results(spelling.pattern.result)
        name = produced[0].name if len(produced) == 1 else spelling.row.head.split(".")[0]
        return self.at_caller().call(function, values, name=name)

    def _arguments(
        self,
        spelling: Spelling,
        argument: Argument,
        facts: Mapping[str, Fact],
        operands: Mapping[str, Operand],
    ) -> list[tuple[ir.Type, ir.Value]]:
        if argument.sign == "#":
            table = spelling.pattern.codes[argument.name]
            number = _code(table, facts.get(argument.name), argument.name)
            sign, factor = argument.scale
            part = number // factor if sign == "/" else number % factor if sign == "%" else number
            type_ = llvm_type(argument.type)
            return [(type_, ir.Constant(type_, part))]
        if argument.sign == "?":
            flag = ir.IntType(1)
            return [(flag, ir.Constant(flag, int(argument.name in operands)))]
        operand = operands.get(argument.name)
        if argument.type.endswith("*") and isinstance(operand, Sequence):
            type_ = llvm_type(argument.type[:-1])
            return [(type_, self.raw(part, type_)) for part in operand]
        if argument.type.startswith("n*"):
            assert isinstance(operand, (Vector, Sequence))
            type_ = llvm_type(element_type(argument.type))
            _check_length(spelling, argument.name, operand)
            return [(type_, self._of_bits(part, type_)) for part in operand]
        if isinstance(operand, Vector):
            return [(llvm_type(argument.type, operand.count), operand.value)]
        type_ = llvm_type(argument.type)
        if operand is None and argument.name not in operands:
            return [(type_, ir.Constant(type_, 0))]
        if operand is None or isinstance(operand, Sequence):
            raise refuse(f"no {argument.name}", got=repr(operand), expected=str(type_))
        return [(type_, self.raw(operand, type_))]

    def _of_bits(self, value: WordLike, type_: ir.Type) -> ir.Value:
        """A value of a type that has the bits of an integer."""
        if isinstance(value, Register) and value.value.type == type_:
            return value.value
        if isinstance(type_, ir.IntType):
            return self.raw(value, type_)
        bits = ir.IntType(64 if isinstance(type_, ir.DoubleType) else 32)
        return self.at_caller().bitcast(self.raw(value, bits), type_)

    # ---- mbarrier ----------------------------------------------------------------------------

    def mbarrier_init(self, mbar: Barrier, count: IntLike) -> None:
        """Make an mbarrier that expects `count` arrivals a phase."""
        operands = of_mbarrier(mbar, count=count)
        self._call("mbarrier.init", {"space": Space.SHARED}, operands)

    def mbarrier_inval(self, mbar: Barrier) -> None:
        """End an mbarrier; its memory is free again."""
        self._call("mbarrier.inval", {"space": Space.SHARED}, {"mbar": pointer_of(mbar)})

    def mbarrier_arrive(
        self,
        mbar: Barrier,
        count: IntLike = 1,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Arrive; returns the phase's token."""
        facts = ordering(Sem.RELEASE, scope, relaxed=relaxed)
        operands = of_mbarrier(mbar, count=count)
        return Int(self, self._call("mbarrier.arrive", facts, operands))

    def mbarrier_arrive_expect_tx(
        self,
        mbar: Barrier,
        tx_count: IntLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Expect bytes in this phase, and arrive; returns the phase's token."""
        facts = ordering(Sem.RELEASE, scope, relaxed=relaxed)
        operands = of_mbarrier(mbar, tx_count=tx_count)
        return Int(self, self._call("mbarrier.arrive.expect_tx", facts, operands))

    def mbarrier_expect_tx(
        self, mbar: Barrier, tx_count: IntLike, *, scope: Scope = Scope.CTA
    ) -> None:
        """Expect bytes in this phase."""
        facts: dict[str, Fact] = {"sem": Sem.RELAXED, "scope": scope, "space": Space.SHARED}
        operands = of_mbarrier(mbar, tx_count=tx_count)
        self._call("mbarrier.expect_tx", facts, operands)

    def mbarrier_test_wait(self, mbar: Barrier, state: Int) -> Int:
        """Whether the phase of a token has completed."""
        facts: dict[str, Fact] = {"space": Space.SHARED}
        operands = of_mbarrier(mbar, state=state)
        return Int(self, self._call("mbarrier.test_wait", facts, operands))

    def mbarrier_test_wait_parity(
        self,
        mbar: Barrier,
        phase: IntLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a parity has completed."""
        facts = ordering(Sem.ACQUIRE, scope, relaxed=relaxed)
        operands = of_mbarrier(mbar, phase=phase)
        return Int(self, self._call("mbarrier.test_wait.parity", facts, operands))

    def mbarrier_try_wait_parity(
        self,
        mbar: Barrier,
        phase: IntLike,
        *,
        hint: IntLike | None = None,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a parity has completed, after waiting a while for it."""
        facts = ordering(Sem.ACQUIRE, scope, relaxed=relaxed)
        operands = of_mbarrier(mbar, phase=phase)
        if hint is not None:
            operands["hint"] = hint
        return Int(self, self._call("mbarrier.try_wait.parity", facts, operands))

    # ---- TMA, fences, barriers ---------------------------------------------------------------

    def cp_async_bulk_tensor_g2s_tile(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        coords: Sequence[IntLike],
        *,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Bring a tile into shared memory; `coords` are elements, innermost dimension first."""
        facts: dict[str, Fact] = {
            "dim": rank_of(coords),
            "dst_space": Space.SHARED_CLUSTER,
            "mode": LoadMode.TILE,
            "cta_group": cta_group,
        }
        optional = {"cta_mask": cta_mask, "cache_policy": cache_policy}
        operands: dict[str, Operand] = {
            "dst": dst,
            "mbar": pointer_of(mbar),
            "tmap": tmap,
            "coords": coords,
            **{name: value for name, value in optional.items() if value is not None},
        }
        self._call("cp.async.bulk.tensor.load", facts, operands)

    def cp_async_bulk_tensor_g2s_cta_tile(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        coords: Sequence[IntLike],
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring a tile into the CTA's own shared memory (PTX 8.6)."""
        facts: dict[str, Fact] = {
            "dim": rank_of(coords),
            "dst_space": Space.SHARED_CTA,
            "mode": LoadMode.TILE,
        }
        operands: dict[str, Operand] = {
            "dst": dst,
            "mbar": pointer_of(mbar),
            "tmap": tmap,
            "coords": coords,
        }
        if cache_policy is not None:
            operands["cache_policy"] = cache_policy
        self._call("cp.async.bulk.tensor.load", facts, operands)

    def cp_async_bulk_tensor_s2g_tile(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Store a tile from shared memory; `coords` are elements, innermost dimension first.

        What threads wrote there needs `fence_proxy_async` before; the store is complete when a
        `cp_async_bulk_wait_group` of this thread covers the group that it was committed to.
        """
        facts: dict[str, Fact] = {"dim": rank_of(coords), "mode": StoreMode.TILE}
        operands: dict[str, Operand] = {"src": src, "tmap": tmap, "coords": coords}
        if cache_policy is not None:
            operands["cache_policy"] = cache_policy
        self._call("cp.async.bulk.tensor.store", facts, operands)

    def cp_async_bulk_commit_group(self) -> None:
        """Make a group of this thread's bulk stores since the last one."""
        self._call("cp.async.bulk.commit_group", {}, {})

    def cp_async_bulk_wait_group(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread are complete."""
        self._call("cp.async.bulk.wait_group", {}, {"n": n})

    def cp_async_bulk_wait_group_read(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread have read shared memory."""
        self._call("cp.async.bulk.wait_group", {"read": ReadOnly.READ}, {"n": n})

    def fence_proxy_async(self, space: Space | None = None) -> None:
        """Order generic accesses before those of the async proxy."""
        self._call("fence.proxy.async", {"space": space}, {})

    def fence_mbarrier_init_release_cluster(self) -> None:
        """Make mbarrier initialisation visible to the cluster and the async proxy."""
        self._call("fence.mbarrier_init", {}, {})

    def elect_sync(self, membermask: IntLike = -1) -> Int:
        """True in one thread of the warp."""
        value = self._call("elect.sync", {}, {"membermask": membermask})
        return Int(self, self.at_caller().extract_value(value, 1))

    def barrier_cta_sync_aligned(self, barrier: IntLike = 0, count: IntLike | None = None) -> None:
        """Wait for all threads of the CTA (or `count` of them); whole warps only."""
        self._call("bar.sync", {}, _barrier(barrier, count))

    def barrier_cta_sync(self, barrier: IntLike = 0, count: IntLike | None = None) -> None:
        """Wait for all threads of the CTA (or `count` of them)."""
        self._call("barrier.sync", {}, _barrier(barrier, count))

    def barrier_cta_arrive_aligned(self, barrier: IntLike, count: IntLike) -> None:
        """Arrive at a barrier of the CTA without waiting; whole warps only."""
        self._call("bar.arrive", {}, _barrier(barrier, count))

    def bar_warp_sync(self, membermask: IntLike = -1) -> None:
        """Wait for the threads of the warp in `membermask`."""
        self._call("bar.warp.sync", {}, {"membermask": membermask})


def _barrier(barrier: IntLike, count: IntLike | None) -> dict[str, Operand]:
    return {"barrier": barrier} if count is None else {"barrier": barrier, "count": count}


def of_mbarrier(mbar: Barrier, **others: IntLike) -> dict[str, Operand]:
    """The operands of an instruction on an mbarrier.

    Raises: InputError for what is no mbarrier.
    """
    return {"mbar": pointer_of(mbar), **others}


def ordering(strong: Sem, scope: Scope, *, relaxed: bool) -> dict[str, Fact]:
    """The ordering facts that LLVM's names spell: the strong one at CTA scope is the default."""
    if relaxed:
        return {"sem": Sem.RELAXED, "scope": scope, "space": Space.SHARED}
    if scope is Scope.CTA:
        return {"space": Space.SHARED}
    return {"sem": strong, "scope": scope, "space": Space.SHARED}


def _check_length(spelling: Spelling, name: str, operand: Vector | Sequence[WordLike]) -> None:
    """Whether a list has as many values as the instruction takes.

    Raises: InputError.
    """
    count = spelling.row.operand[name].count
    assert count is not None
    wanted = max(count.of(spelling.facts), 1)  # 0 is a value without braces
    if isinstance(operand, Sequence) and len(operand) != wanted:
        raise refuse(
            f"{name} of {spelling.name} has another length",
            got=str(len(operand)),
            expected=str(wanted),
        )


def rank_of(coords: Sequence[IntLike]) -> Dim:
    """The rank of a tensor copy with these coordinates.

    Raises: InputError.
    """
    if not isinstance(coords, Sequence):
        raise refuse("no coordinates", got=repr(coords), expected="(x, y), innermost first")
    if not 1 <= len(coords) <= 5:
        raise refuse("TMA rank must be in the range 1..5", got=str(len(coords)), expected="1..5")
    return Dim(f"{len(coords)}d")


def _result_type(spelling: Spelling, facts: Mapping[str, Fact]) -> ir.Type:
    """What the intrinsic gives: a structure where there are several results."""
    text = spelling.pattern.result
    if not text:
        return ir.VoidType()
    types = []
    for part in results(text):
        count = spelling.row.operand[part.name].count
        types.append(llvm_type(part.type, count.of(facts) if count is not None else 1))
    return ir.LiteralStructType(types) if text.startswith("{") else types[0]


def _code(table: Code, fact: Fact, axis: str) -> int:
    for code, known in table.items():
        if known is fact:
            return code
    choices = ", ".join(sorted(describe(f) for f in table.values()))
    raise refuse(f"LLVM has no {axis} {describe(fact)}", got=describe(fact), expected=choices)


def find_spelling(
    row_id: str, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]
) -> Spelling:
    """LLVM's intrinsic for a row with facts and operands.

    Raises: InputError when LLVM has none, with the words of the rule that forbids the form, if one
    does.
    """
    row = catalog.row(row_id)
    fitting = [s for s in catalog.spellings_of(row) if _fits(s, wanted, operands)]
    for spelling in fitting:
        if _has_codes(spelling, wanted):
            return spelling
    _check_rules(row, wanted, operands)
    if fitting:
        return fitting[0]
    shown = row.spell(wanted)
    names = ", ".join(s.name for s in catalog.spellings_of(row)[:6])
    finding = Finding(
        "builder/no-intrinsic",
        Severity.ERROR,
        f"LLVM has no intrinsic for {shown} with {', '.join(operands) or 'no operand'}",
        op=shown,
        expected=f"one of {names} …",
        section=f"PTX ISA, {row.section}",
    )
    raise InputError([finding])


def _check_rules(row: Row, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]) -> None:
    """Whether a form that LLVM has no intrinsic for is one at all.

    Raises: InputError with the rules that it breaks.
    """
    facts: dict[str, Fact] = dict.fromkeys(row.fact_names)
    facts |= {name: name in operands for name in row.optional}
    facts |= wanted
    broken = [rule for rule in judge(row, facts).broken if rule.text]
    if broken:
        raise InputError(
            [
                Finding(
                    f"{row.head}/{rule.id}",
                    Severity.ERROR,
                    rule.text,
                    place_of_caller(),
                    op=row.spell(facts),
                    got=got(rule, facts),
                    expected=expected(rule),
                    hint=rule.hint,
                    section=f"PTX ISA, {section_of(row, rule)}",
                )
                for rule in broken
            ]
        )


def _fits(spelling: Spelling, wanted: Mapping[str, Fact], operands: Mapping[str, Operand]) -> bool:
    formal = arguments(spelling.pattern.args)
    immediates = {a.name for a in formal if a.sign == "#"}
    flagged = {a.name for a in formal if a.sign == "?"}
    required = {a.name for a in formal if a.sign == ":"} - flagged
    given = set(operands) - set(spelling.pattern.numbers)
    if any(operands.get(n) != number for n, number in spelling.pattern.numbers.items()):
        return False
    if not required <= given <= required | flagged:
        return False
    stated = {n: f for n, f in spelling.facts.items() if f is not None and n not in given}
    for name, fact in stated.items():
        if name != "state" and wanted.get(name) is not fact:
            return False
    return all(
        name in stated or name in immediates or _implied(spelling, name, fact)
        for name, fact in wanted.items()
    )


def _has_codes(spelling: Spelling, wanted: Mapping[str, Fact]) -> bool:
    """Whether the numbers that the intrinsic takes can say all that is wanted."""
    return all(
        any(known is wanted.get(a.name) for known in spelling.pattern.codes[a.name].values())
        for a in arguments(spelling.pattern.args)
        if a.sign == "#"
    )


def _implied(spelling: Spelling, name: str, fact: Fact) -> bool:
    if spelling.facts.get(name) is fact or name in spelling.row.tied:
        return True
    return fact is True and name in {result.name for result in results(spelling.pattern.result)}
