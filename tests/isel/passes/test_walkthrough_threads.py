"""The walkthrough's operations and threads: what all must agree on, and pairs of CTAs."""

from __future__ import annotations

import pytest

from intrinsics.findings import errors
from tests.isel.passes.walkthrough import compiled, guarded, only, opcodes
from tests.nvgen.walkthrough.walkthrough_programs import (
    ALLOC,
    DEALLOC,
    ENCODE,
    LD,
    WAIT,
    multiply,
    straight,
)

# ---- operands that all threads agree on ------------------------------------------------------

OWN = "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n%odd = and i32 %t, 1"
DIFFERING = {
    "enable_d": (f"{OWN}\n%e = icmp eq i32 %odd, 0", multiply(enable="%e")),
    "a": (
        f"{OWN}\n%p = getelementptr i8, ptr addrspace(3) @sa, i32 %t\n"
        f"%x = {ENCODE} %p, i32 512, i32 16, i32 0, i32 1)",
        multiply().replace("%da", "%x"),
    ),
    "b": (
        f"{OWN}\n%w = zext i32 %t to i64\n%x = add i64 %db, %w", multiply().replace("%db", "%x"),
    ),
    "d": (
        f"{OWN}\n%c = icmp eq i32 %odd, 0\n%g = {ALLOC} 16)\n"
        "%e = select i1 %c, i32 %h, i32 %g",
        multiply("%e"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("slot", DIFFERING)
def test_operands_that_differ_between_threads(slot: str):
    """One thread issues the multiply: what the others have is never looked at."""
    before, call = DIFFERING[slot]
    text = straight(*before.split("\n"), call, WAIT)
    finding = only(text, "walkthrough/thread-operand")
    assert finding.subject == slot
    assert "TCGEN05_MMA_CTA_GROUP1_DENSE is for the whole CTA" in finding.message
    made = next(
        n for n, line in enumerate(text.split("\n"), 1) if "%e = " in line or "%x = " in line
    )
    assert f"in line {made}" in finding.got


def test_a_handle_to_load_from_that_differs_between_threads():
    before, _ = DIFFERING["d"]
    text = straight(*before.split("\n"), multiply(), WAIT, f"%v = {LD} %e)")
    assert only(text, "walkthrough/thread-operand").op == "TCGEN05_LD_M64N8X32B"


@pytest.mark.parametrize(
    "enable", ["%c = icmp eq ptr addrspace(1) %a, null", "%c = load i1, ptr addrspace(1) %a"]
)
def test_operands_that_all_threads_agree_on(enable: str):
    """A parameter, and what all read from one place."""
    assert not errors(compiled(straight(enable, multiply(enable="%c"), WAIT)).findings)


# ---- variants --------------------------------------------------------------------------------

PAIR = '!{!"sm100_umma_m128n128k16_f32_bf16_bf16_2cta", !"MN", !"K"}'


def of_a_pair(text: str) -> str:
    return text.replace("cta_group__1", "cta_group__2").replace("i32 193", "i32 194")


def test_an_alone_and_a_pair_in_one_function():
    text = of_a_pair(straight(multiply(), WAIT, atom=PAIR))
    text += "declare void @llvm.nvvm.tcgen05.wait.cta_group__1()\n"
    text = text.replace("  ret void", "").replace("ret void", f"{WAIT}\nret void")
    finding = only(text, "walkthrough/cta-group")
    assert finding.op == "TCGEN05_WAIT_CTA_GROUP1"


def test_a_pair_meets_at_the_clusters_barrier():
    """The mbarrier of the peer, its tensor memory and its threads are behind it."""
    text = of_a_pair(straight(multiply(), WAIT, f"{DEALLOC} %h, i32 16)", atom=PAIR))
    found = opcodes(text)
    assert "BAR_SYNC" not in found
    init = found.index("FENCE_MBARRIER_INIT")
    assert found[init + 1 : init + 3] == [
        "BARRIER_CLUSTER_ARRIVE_RELEASE_ALIGNED", "BARRIER_CLUSTER_WAIT_ACQUIRE_ALIGNED",
    ]  # fmt: skip
    dealloc = found.index("TCGEN05_DEALLOC_CTA_GROUP2")
    assert found[dealloc - 2] == "BARRIER_CLUSTER_WAIT_ACQUIRE_ALIGNED"


def test_the_even_cta_of_a_pair_multiplies_and_tells_both():
    text = of_a_pair(straight(multiply(), WAIT, atom=PAIR))
    by = guarded(text)
    assert by["TCGEN05_MMA_CTA_GROUP2_DENSE"] != by["MBARRIER_INIT_SHARED"]
    mir = compiled(text).stages["expand-walkthrough"]
    commit = next(line for line in mir.split("\n") if "TCGEN05_COMMIT" in line)
    assert "CTA_GROUP2_SHARED_CLUSTER_MULTICAST_CLUSTER" in commit
    assert by["TCGEN05_MMA_CTA_GROUP2_DENSE"] in commit


CONTRADICTIONS = {
    ("", "sm100_umma_m128n128k32_f32_bf16_bf16_sp"): "'sm100_umma_m128n128k32_f32_bf16_bf16_sp' is",
    (".sp", "sm100_umma_m128n128k16_f32_bf16_bf16"): "the call is of a sparse MMA",
    (".ws", "sm100_umma_m128n128k16_f32_bf16_bf16"): "the call is of a weight-stationary MMA",
    (".block_scale", "sm100_umma_m128n128k16_f32_bf16_bf16"): "the call is of a block-scaled MMA",
    ("", "sm100_umma_m128n128k16_f32_bf16_bf16_2cta"): "is the atom of a CTA pair MMA",
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_call_whose_name_and_atom_say_different_things(case: tuple[str, str]):
    variant, atom = case
    more = {".sp": "i32 %h, ", ".block_scale": "i32 %h, i32 %h, "}.get(variant, "")
    call = multiply().replace("mma.cta", f"mma{variant}.cta").replace("i32 193", f"{more}i32 193")
    types = more.replace("%h", "")
    text = straight(call, WAIT, atom=f'!{{!"{atom}", !"K", !"K"}}') + (
        f"declare void @llvm.nvvm.tcgen05.mma{variant}.cta_group__1"
        f"(i32, i64, i64, {types}i32, i32, i1)\n" if variant else ""
    )  # fmt: skip
    assert CONTRADICTIONS[case] in only(text, "select/walkthrough-atom").message


@pytest.mark.parametrize(("word", "said"), [(0x11, "b0::fill"), (0x23, "b1::use"), (0, "")])
def test_collectors_of_a_weight_stationary_multiply(word: int, said: str):
    call = multiply(words=f"i32 193, i32 {word}").replace("mma.cta", "mma.ws.cta")
    atom = '!{!"sm100_umma_m64n128k16_f32_bf16_bf16_ws", !"MN", !"K"}'
    text = straight(call, WAIT, atom=atom).replace("declare void @llvm.nvvm.tcgen05.mma.", (
        "declare void @llvm.nvvm.tcgen05.mma.ws."))  # fmt: skip
    (line,) = [x for x in compiled(text).ptx.split("\n") if "tcgen05.mma." in x]
    assert (f".collector::{said}" in line) == bool(said)
    wrong = text.replace(f"i32 193, i32 {word}", "i32 193, i32 1")
    assert "b0 to b3" in only(wrong, "select/walkthrough-collector").message
