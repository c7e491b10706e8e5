"""The oracle "LLVM's back end" is right: what it refuses, what it compares, what it would notice.

Only LLVM and the oracle's own parts are tested here, nothing of nvgen's: the child that compiles,
the enumeration of intrinsics against LLVM's verifier, the normal form of PTX texts (equal texts
stay equal, and every change to an instruction changes it), and the comparison of machine code.
"""

from __future__ import annotations

import itertools
import os
import re

import pytest
from llvmlite import binding

from tests.oracle import (
    llvm,
    llvm_forms,
    llvm_intrinsics,
    llvm_sass,
    llvm_scalar,
    llvm_signatures,
    ptxas,
)
from tests.oracle.llvm_deviations import INTRINSICS, SCALAR
from tests.oracle.llvm_forms import effects

TARGET, PTX = "sm_100a", "9.0"

pytestmark = pytest.mark.skipif(
    llvm.VERSION != 22 or not hasattr(os, "fork"),
    reason=f"the oracle is LLVM 22 in a forked child; this is LLVM {llvm.VERSION} on {os.name}",
)

GOOD = llvm_intrinsics.plain("fence.sc.cluster").module()
BAD = llvm_intrinsics.plain("tcgen05.alloc.cg1").module()
"""A module that sm_90 has, and one that it has not."""


# --- the child -----------------------------------------------------------------------------------


def test_a_refusal_costs_no_other_module():
    modules = [GOOD, BAD, BAD, GOOD, BAD, GOOD]
    outcomes = llvm.compile_all(modules, "sm_90", "8.6")
    assert [bool(outcome.ptx) for outcome in outcomes] == [m is GOOD for m in modules]
    assert [outcome.refusal for outcome in outcomes if outcome.refusal] == [
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.alloc.cg1"
    ] * 3
    assert len({outcome.ptx for outcome in outcomes}) == 2
    assert llvm.compile_all([], "sm_90", "8.6") == []


def test_one_child_answers_all_jobs(monkeypatch: pytest.MonkeyPatch):
    llvm.compile_all([GOOD], TARGET, PTX)
    monkeypatch.setattr("subprocess.Popen", None)
    assert llvm.compile_all([GOOD], TARGET, PTX) == llvm.compile_all([GOOD], TARGET, PTX)
    with pytest.raises(llvm.LlvmFailedError):
        llvm.compile_all([GOOD], "sm_107a", PTX)
    assert llvm.rejections([GOOD]) == [""]


def test_target_and_version_reach_llvm():
    (outcome,) = llvm.compile_all([BAD], "sm_103f", "8.8")
    assert outcome.ptx.split("\n")[4:6] == [".version 8.8", ".target sm_103f"]


@pytest.mark.parametrize(
    ("target", "ptx"), [("sm_107a", "9.0"), ("sm_90", "9.1"), ("sm_90", "7.0")]
)
def test_an_unknown_target_or_version_is_an_error(target: str, ptx: str):
    with pytest.raises(llvm.LlvmFailedError, match=r"not a recognized|does not support target"):
        llvm.compile_all([GOOD, GOOD], target, ptx)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (GOOD.replace("ret void", "ret i32"), "expected"),
        (GOOD.replace("ptx_kernel void", "ptx_kernel i32"), "result type"),
        (BAD.replace("(ptr, i32)", "(ptr, i64)"), "incompatible signature"),
        (GOOD.replace("fence.sc.cluster", "fence.sc.clutser"), "no intrinsic"),
    ],
)
def test_an_invalid_module_is_an_error(module: str, said: str):
    with pytest.raises(llvm.LlvmRejectedError, match=said):
        llvm.compile_all([GOOD, module], TARGET, PTX)


def test_the_data_layout_is_that_of_the_back_end():
    binding.initialize_all_targets()
    machine = binding.Target.from_triple(llvm.TRIPLE).create_target_machine(cpu=TARGET)
    assert str(machine.target_data) == llvm.DATA_LAYOUT


# --- the enumeration -----------------------------------------------------------------------------


def test_the_table_is_complete():
    names = llvm.intrinsic_names()
    assert len(set(names)) == len(names)
    assert all(name.startswith("llvm.") for name in names)
    assert {"llvm.abs", "llvm.memcpy", "llvm.nvvm.barrier.cta.sync.all", "llvm.xcore.zext"} <= {
        *names
    }
    found = re.findall(rb"\0(llvm\.nvvm\.[\w.]+)(?=\0)", llvm.library().read_bytes())
    assert {name.decode() for name in found} <= {*names}


def test_no_enumeration_shrinks_unnoticed():
    cases = {f: len(list(llvm_intrinsics.cases(f))) for f in llvm_signatures.FAMILIES}
    assert all(cases[f] >= len(llvm_signatures.names(f)) > 0 for f in cases)
    assert sum(cases.values()) > 5000
    kernels = {f: len(llvm_scalar.cases(f)) for f in llvm_scalar.FAMILIES}
    assert all(kernels.values())
    assert sum(kernels.values()) > 1000


ALL_NAMES = [name for family in llvm_signatures.FAMILIES for name in llvm_signatures.names(family)]
OTHER_TYPE = {"i1": "i8", "i16": "i32", "i32": "i64", "i64": "i32"}


@pytest.mark.turns(3)
def test_llvm_confirms_every_signature():
    """It takes each one, and would take no other: any type changed, left out or added."""
    wrong = []
    for name, signature in _signatures():
        types = [arg.type for arg in signature.args]
        others = [[*types, "i32"], *([types[:-1]] if types else [])]
        for place, type_ in enumerate(types):
            other = OTHER_TYPE.get(type_, "ptr addrspace(4)" if type_[0] == "p" else "<3 x i32>")
            others.append([*types[:place], other, *types[place + 1 :]])
        wrong += [(name, signature.result, args) for args in others]
        wrong.append((name, "i16" if signature.result == "void" else "void", types))
    said = llvm.rejections([_call(*case) for case in wrong])
    taken = [(n, types) for (n, _, types), reason in zip(wrong, said, strict=True) if not reason]
    # the one older form that LLVM brings up to date when it reads it: without a CTA group
    older = [f"cp.async.bulk.tensor.g2s.tile.{rank}d" for rank in range(1, 6)]
    older += [f"cp.async.bulk.tensor.g2s.im2col.{rank}d" for rank in range(3, 6)]
    expected = [(n, [a.type for a in llvm_signatures.signature(n).args[:-1]]) for n in older]
    # those that are overloaded: LLVM puts the address space into the name as it reads it
    for name in filter(llvm_signatures.is_overloaded, ALL_NAMES):
        types = [a.type for a in llvm_signatures.signature(name).args]
        expected.append((name, ["ptr addrspace(4)", *types[1:]]))
    assert taken == expected
    right = [(n, s.result, [arg.type for arg in s.args]) for n, s in _signatures()]
    assert {*llvm.rejections([_call(*case) for case in right])} == {""}


def _signatures() -> list[tuple[str, llvm_signatures.Signature]]:
    return [(name, llvm_signatures.signature(name)) for name in ALL_NAMES]


def _call(name: str, result: str, types: list[str]) -> str:
    """A function that calls an intrinsic with arguments of these types; only calls are verified."""
    numbers = llvm_intrinsics.plain(name).numbers
    passed = [f"{type_} {numbers.get(n, f'%a{n}')}" for n, type_ in enumerate(types)]
    params = ", ".join(f"{type_} %a{n}" for n, type_ in enumerate(types))
    full = llvm_signatures.PREFIX + name
    call = f"  call {result} @{full}({', '.join(passed)})\n"
    return (
        f"{llvm.HEADER}declare {result} @{full}({', '.join(types)})\n"
        f"define void @f({params}) {{\n{call}  ret void\n}}\n"
    )


def test_llvm_confirms_every_immediate():
    """A value next to the legal ones is refused, and so is one that is not a constant."""
    modules: list[tuple[str, str]] = []
    for name in ALL_NAMES:
        plain = llvm_intrinsics.plain(name)
        for place, values in llvm_intrinsics.immediates(name).items():
            others = {n: value for n, value in plain.numbers.items() if n != place}
            modules.append(("non-immediate", llvm_intrinsics.Case(name, others).module()))
            if llvm_intrinsics.is_bounded(name, place):
                for number in (min(values) - 1, max(values) + 1):
                    beside = llvm_intrinsics.Case(name, {**others, place: number})
                    modules.append(("out of range|invalid value", beside.module()))
    assert len(modules) > 500
    for (reason, module), said in zip(
        modules, llvm.rejections([m for _, m in modules]), strict=True
    ):
        assert re.search(reason, said), (said, module)


# --- the normal form -----------------------------------------------------------------------------


def kernel(body: str, params: str = ".param .u32 k_param_0") -> str:
    """A PTX module with a kernel, every register declared."""
    return (
        ".version 9.0\n.target sm_100a\n.address_size 64\n"
        f".visible .entry k(\n{params}\n)\n{{\n"
        ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
        + "".join(f"{line.strip()};\n" for line in body.split(";") if line.strip())
        + "}\n"
    )


LOADS = "ld.param.b32 %r1, [k_param_0]; ld.param.b64 %rd1, [k_param_1]; "

SAME = {
    "registers": (
        "add.s32 %r2, %r1, %r1; st.global.b32 [%rd1], %r2",
        "add.s32 %r7, %r1, %r1; st.global.b32 [%rd1], %r7",
    ),
    "modifiers": (
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1",
        "tcgen05.mma.kind::f16.cta_group::1 [%r1], %rd1",
    ),
    "a number in a register": ("bar.sync 1, 32", "mov.b32 %r2, 32; bar.sync 1, %r2"),
    "an offset added up": (
        "prefetch.global [%rd1+24]",
        "add.s64 %rd2, %rd1, 32; prefetch.global [%rd2+-8]",
    ),
    "a zero offset": ("prefetch.global [%rd1]", "prefetch.global [%rd1+0]"),
    "a predicate that is true": (
        "mov.pred %p1, -1; bar.red.popc.u32 %r2, 1, %p1",
        "mov.pred %p1, 1; bar.red.popc.u32 %r2, 1, %p1",
    ),
    "sources that change places": (
        "xor.b32 %r2, %r1, 5; st.global.b32 [%rd1], %r2",
        "mov.b32 %r3, 5; xor.b32 %r2, %r3, %r1; st.global.b32 [%rd1], %r2",
    ),
    "a comparison turned round": (
        "setp.lt.s32 %p1, %r1, 5; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
        "mov.b32 %r3, 5; setp.gt.s32 %p1, %r3, %r1; selp.b32 %r2, 1, 0, %p1; "
        "st.global.b32 [%rd1], %r2",
    ),
    "or equal": (
        "setp.ge.u32 %p1, %r1, 5; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
        "setp.gt.u32 %p1, %r1, 4; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
    ),
    "the opposite": (
        "setp.eq.b32 %p1, %r1, 5; not.pred %p2, %p1; selp.b32 %r2, 1, 0, %p2; "
        "st.global.b32 [%rd1], %r2",
        "setp.ne.b32 %p2, %r1, 5; selp.b32 %r2, 1, 0, %p2; st.global.b32 [%rd1], %r2",
    ),
    "bytes copied in other pieces": (
        "ld.global.v2.b32 {%r2, %r3}, [%rd1+8]; st.shared.v2.b32 [%r1], {%r2, %r3}",
        "ld.global.b64 %rd2, [%rd1+8]; st.shared.b64 [%r1], %rd2",
    ),
    "bytes packed": (
        "ld.global.b16 %rs1, [%rd1]; ld.global.b16 %rs2, [%rd1+2]; mov.b32 %r2, {%rs1, %rs2}; "
        "st.global.b32 [%rd1+8], %r2",
        "ld.global.b32 %r2, [%rd1]; st.global.b32 [%rd1+8], %r2",
    ),
    "stores in another order": (
        "st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+4], 7",
        "mov.b32 %r2, 7; st.global.b32 [%rd1+4], %r2; st.global.b32 [%rd1], %r1",
    ),
    "what nobody uses": ("bar.sync 0", "mov.u32 %r2, %tid.x; add.s32 %r3, %r2, 1; bar.sync 0"),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_equal_programs_have_one_form(pair: tuple[str, str]):
    first, second = (effects(kernel(LOADS + text)) for text in pair)
    assert first == second


DIFFERENT = {
    "operands swapped": (
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2",
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd2, %rd1",
    ),
    "another number": ("bar.sync 1, 32", "bar.sync 1, 64"),
    "a modifier more": ("fence.proxy.async", "fence.proxy.async.global"),
    "types swapped": (
        "cvt.u32.u16 %r2, %rs1; st.global.b32 [%rd1], %r2",
        "cvt.u16.u32 %r2, %rs1; st.global.b32 [%rd1], %r2",
    ),
    "an element of a vector": (
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%r1]; "
        "st.global.v2.b32 [%rd1], {%r2, %r3}",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%r1]; "
        "st.global.v2.b32 [%rd1], {%r3, %r2}",
    ),
    "a source of a subtraction": (
        "sub.s64 %rd3, %rd1, %rd2; prefetch.global [%rd3]",
        "sub.s64 %rd3, %rd2, %rd1; prefetch.global [%rd3]",
    ),
    "sign or zero": (
        "ld.global.s8 %r2, [%rd1]; st.global.b32 [%rd1+8], %r2",
        "ld.global.b8 %r2, [%rd1]; st.global.b32 [%rd1+8], %r2",
    ),
    "greater or greater or equal": (
        "setp.ge.u32 %p1, %r1, 5; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
        "setp.gt.u32 %p1, %r1, 5; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
    ),
    "or equal at the end": (
        "setp.ge.u32 %p1, %r1, 0; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
        "setp.gt.u32 %p1, %r1, -1; selp.b32 %r2, 1, 0, %p1; st.global.b32 [%rd1], %r2",
    ),
    "predicate negated": (
        "setp.eq.b32 %p1, %r1, 5; @%p1 bar.sync 0",
        "setp.eq.b32 %p1, %r1, 5; @!%p1 bar.sync 0",
    ),
    "a byte from elsewhere": (
        "ld.global.b64 %rd2, [%rd1]; st.global.b64 [%rd1+8], %rd2",
        "ld.global.v2.b32 {%r2, %r3}, [%rd1]; st.global.v2.b32 [%rd1+8], {%r3, %r2}",
    ),
    "a load before or after a store": (
        "ld.global.b32 %r2, [%rd1]; st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+4], %r2",
        "st.global.b32 [%rd1], %r1; ld.global.b32 %r2, [%rd1]; st.global.b32 [%rd1+4], %r2",
    ),
    "another state space": ("st.global.b32 [%rd1], %r1", "st.shared.b32 [%rd1], %r1"),
    "volatile": ("st.volatile.global.b32 [%rd1], %r1", "st.global.b32 [%rd1], %r1"),
    "a store left out": (
        "st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+4], %r1",
        "st.global.b32 [%rd1], %r1",
    ),
    "an offset that PTX does not know": ("prefetch.global [%rd1+-4]", "prefetch.global [%rd1-4]"),
    "order of barriers": ("bar.sync 0; bar.sync 1", "bar.sync 1; bar.sync 0"),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different_programs_have_different_forms(pair: tuple[str, str]):
    given = LOADS + "ld.param.b64 %rd2, [k_param_2]; ld.param.b16 %rs1, [k_param_3]; "
    first, second = (effects(kernel(given + text)) for text in pair)
    assert first != second


def test_a_register_that_holds_nothing_is_noticed():
    with pytest.raises(llvm_forms.UndefinedError, match=r"%r3 is read"):
        effects(kernel(LOADS + "add.s32 %r2, %r1, %r3; st.global.b32 [%rd1], %r2"))
    with pytest.raises(llvm_forms.UndefinedError, match=r"%rs2 is read"):
        effects(kernel(LOADS + "mov.b32 {%rs1, %rs3}, %r1; st.global.v2.b16 [%rd1], {%rs1, %rs2}"))


def test_header_opcodes_and_accesses():
    text = kernel(
        LOADS + "ld.global.v2.b32 {%r2, %r3}, [%rd1+8]; add.s32 %r4, %r2, %r3; @%p1 bra $L_1;"
        "st.shared.b16 [%r1], %rs1; bra $L_1; $L_1: ret",
        ".param .u32 k_param_0, // a comment\n.param .u64 k_param_1",
    )
    assert llvm_forms.header(text) == ".entry k( .param .u32 k_param_0, .param .u64 k_param_1 )"
    assert llvm_forms.opcodes(text) == {
        "ld.global.v2.b32": 1, "add.s32": 1, "st.shared.b16": 1, "ret": 1, "bra, conditional": 1,
    }  # fmt: skip
    straight = kernel(LOADS + "ld.global.v2.b32 {%r2, %r3}, [%rd1+8]; st.shared.b16 [%r1], 7")
    assert llvm_forms.accesses(straight) == [
        (".global", "p1:b64", 8, 8),
        (".shared", "p0:b32", 0, 2),
    ]


@pytest.mark.turns(8)
@pytest.mark.parametrize("family", llvm_signatures.FAMILIES)
def test_every_change_to_an_instruction_is_noticed(family: str):
    """Operands swapped, replaced, left out; modifiers left out or added: in LLVM's own texts."""
    names = llvm_signatures.names(family)
    modules = [llvm_intrinsics.plain(name).module() for name in names]
    changes = 0
    for name, outcome in zip(names, llvm.compile_all(modules, TARGET, PTX), strict=True):
        before = effects(outcome.ptx)
        for line, changed in _changes(outcome.ptx):
            changes += 1
            after = _effects_or_error(outcome.ptx.replace(line, changed, 1))
            assert after != before, f"{name}: {line.strip()} became {changed.strip()}"
    assert changes > len(names)


def _effects_or_error(ptx: str) -> list[str]:
    try:
        return effects(ptx)
    except (llvm_forms.UndefinedError, ValueError, AssertionError, IndexError) as error:
        return [str(error)]


def _changes(ptx: str) -> list[tuple[str, str]]:
    """Lines of the instruction that a case is about, and what may become of each."""
    registers = llvm_forms.declared(ptx)
    found = []
    for line in ptx.splitlines():
        match = re.fullmatch(r"\t(\w[\w.:]*)\s*(.*);", line)
        if match is None:
            continue
        first, *modifiers = match[1].split(".")
        operands = llvm_forms.split(match[2])
        reads_special = first == "mov" and operands[1] not in registers and operands[1][0] == "%"
        if first in {"st", "ret"} or (first in llvm_forms.PURE and not reads_special):
            continue
        rest = [[*modifiers, "alien"]]
        rest += [[*modifiers[:n], *modifiers[n + 1 :]] for n in range(len(modifiers))]
        found += [(line, f"\t{'.'.join([first, *words])} {match[2]};") for words in rest]
        found.append((line, ""))
        for a, b in itertools.combinations(range(len(operands)), 2):
            moved = [*operands]
            moved[a], moved[b] = operands[b], operands[a]
            if moved != operands:
                found.append((line, f"\t{match[1]} {', '.join(moved)};"))
        for n in range(len(operands)):
            fewer = [*operands[:n], *operands[n + 1 :]]
            found.append((line, f"\t{match[1]} {', '.join(fewer)};"))
    return found


# --- machine code --------------------------------------------------------------------------------


@pytest.fixture
def _ptxas() -> None:
    ptxas.required_ptxas()


STORE = "st.global.b32 [%rd1], %r1; ret"
PARAMS = ".param .u32 k_param_0,\n.param .u64 k_param_1"


@pytest.mark.usefixtures("_ptxas")
def test_machine_code_is_compared_kernel_by_kernel():
    texts = {
        "plain": kernel(LOADS + STORE, PARAMS),
        "in a register": kernel(LOADS + "add.s32 %r2, %r1, 0; " + STORE, PARAMS),
        "other": kernel(LOADS + "add.s32 %r1, %r1, 1; " + STORE, PARAMS),
    }
    code = llvm_sass.machine_code(texts, TARGET, PTX)
    assert code["plain"] == code["in a register"] != code["other"]
    assert all(len(text) >= 128 for text in code.values())
    alone = llvm_sass.machine_code({"other": texts["other"]}, TARGET, PTX)
    assert alone["other"] == code["other"]


@pytest.mark.usefixtures("_ptxas")
def test_what_ptxas_refuses_is_found_among_others():
    good, bad = kernel(LOADS + STORE, PARAMS), kernel(LOADS + "nonsense.b32 %r1; ret", PARAMS)
    texts = {"a": good, "b": bad, "c": good, "d": good, "e": bad}
    refused = llvm_sass.refused(texts, TARGET, PTX)
    assert list(refused) == ["b", "e"]
    assert all("nonsense" in said for said in refused.values())
    with pytest.raises(llvm_sass.AssemblyError):
        llvm_sass.machine_code(texts, TARGET, PTX)


def test_every_deviation_gives_a_reason_and_a_proof():
    rows = (*INTRINSICS, *SCALAR)
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert row.why, row.name
        assert row.rewrite or row.same_sass, row.name
        assert row.covers(row.example), row.name
        assert row.llvm != row.nvgen, row.name
