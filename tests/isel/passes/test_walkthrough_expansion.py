"""The walkthrough's spelling: what its calls are after selection, and what the expansion makes.

The names and numbers of stage 5 (opcodes, 10522, control word 193, collector word 1) are those of
the documentation of the compilers that use the spelling; what they expand to is the PTX ISA's.
"""

from __future__ import annotations

import re

import pytest

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import VerificationError, errors
from intrinsics.targets import PTX_VERSIONS, TARGETS
from isel.verifier.record import verify_records
from tests.isel.passes.walkthrough import WHOLE, compiled, guarded, opcodes
from tests.nvgen.walkthrough.walkthrough_programs import (
    LD,
    WAIT,
    multiply,
    straight,
)

# ---- stage 5 ---------------------------------------------------------------------------------

STAGE_5 = (
    "%h:b32 = TCGEN05_ALLOC_SHARED imm:16",
    "%da:b64 = TCGEN05_MMA_SMEM_DESC_ENCODE",
    "sbo: imm:512",
    "lbo: imm:16",
    "base_offset: imm:0",
    "swizzle: imm:1",
    "%db:b64 = TCGEN05_MMA_SMEM_DESC_ENCODE",
    "sbo: imm:2048",
    "lbo: imm:128",
    "TCGEN05_MMA_CTA_GROUP1_DENSE",
    "d: %h:b32",
    "a: %da:b64",
    "b: %db:b64",
    "idesc: imm:69239952",  # 0x4208490: M 64, N 128, f32 from bf16, A MN-major
    "ctrl: imm:193",
    "collector: imm:1",
    "enable_d: imm:1",
    "TCGEN05_WAIT_CTA_GROUP1",
    "TCGEN05_LD_M64N8X32B %h:b32",
    "TCGEN05_DEALLOC %h:b32, imm:16",
    "TCGEN05_RELINQUISH_ALLOC_PERMIT",
)


def test_stage_5_reads_as_it_is_documented():
    text = re.sub(r" +", " ", compiled(WHOLE).stages["select"])
    at = -1
    for line in STAGE_5:
        found = text.find(line, at + 1)
        assert found > at, line
        at = found
    assert re.search(r"TCGEN05_MMA_CTA_GROUP1_DENSE !\d+ ; 10522", text)


def test_the_load_gives_128_registers():
    (line,) = [x for x in compiled(WHOLE).stages["select"].split("\n") if "TCGEN05_LD_" in x]
    assert line.strip().startswith("{%v.0:b32 ... %v.127:b32} = ")


@pytest.mark.parametrize("stage", ["select", "dead-code", "destruct-ssa", "expand-walkthrough"])
def test_text_with_pseudo_records_is_read_back(stage: str):
    text = compiled(WHOLE).stages[stage]
    assert (
        print_mir(read_mir(text)).text == print_mir(read_mir(print_mir(read_mir(text)).text)).text
    )
    opcodes = re.findall(r"TCGEN05_\w+", text)
    assert re.findall(r"TCGEN05_\w+", print_mir(read_mir(text)).text) == opcodes


PSEUDO = (
    *("TCGEN05_ALLOC_SHARED", "TCGEN05_MMA_SMEM_DESC_ENCODE", "TCGEN05_WAIT_CTA_GROUP1"),
    *("TCGEN05_LD_M64N8X32B", "TCGEN05_DEALLOC", "TCGEN05_RELINQUISH_ALLOC_PERMIT"),
)


def test_what_was_not_expanded_is_no_instruction():
    """Neither the verifier nor the printer lets a pseudo record pass."""
    selected = read_mir(compiled(WHOLE).stages["select"])
    target, ptx = TARGETS["sm_100a"], PTX_VERSIONS[-1]
    found = [f for f in verify_records(selected, target, ptx) if f.rule.endswith("/pseudo")]
    assert {f.op for f in found} == set(PSEUDO)
    assert all("expand-walkthrough" in f.expected for f in found)
    with pytest.raises(VerificationError) as caught:
        print_ptx(selected, ptx)
    assert caught.value.findings[0].rule == "tcgen05.alloc.shared/pseudo"


def test_nothing_pseudo_is_left():
    final = compiled(WHOLE)
    assert not errors(final.findings)
    assert not set(opcodes(WHOLE)) & set(PSEUDO)


# ---- the expansion ---------------------------------------------------------------------------


def test_one_thread_makes_the_mbarrier_and_all_meet_behind_it():
    found = opcodes(WHOLE)
    init = found.index("MBARRIER_INIT_SHARED")
    assert found[init : init + 3] == ["MBARRIER_INIT_SHARED", "FENCE_MBARRIER_INIT", "BAR_SYNC"]
    assert "TCGEN05_ALLOC_CTA_GROUP1_SHARED_CTA" not in found[:init]


def test_one_warp_allocates_and_gives_back():
    by = guarded(WHOLE)
    warp = by["TCGEN05_ALLOC_CTA_GROUP1_SHARED_CTA"]
    assert by["TCGEN05_DEALLOC_CTA_GROUP1"] == warp
    assert by["TCGEN05_RELINQUISH_ALLOC_PERMIT_CTA_GROUP1"] == warp
    text = compiled(WHOLE).stages["expand-walkthrough"]
    assert f"{warp}:pred = SETP_LT_U32 " in text


def test_one_thread_multiplies_and_commits():
    by = guarded(WHOLE)
    thread = by["TCGEN05_MMA_CTA_GROUP1_DENSE"]
    assert by["TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER"] == thread
    assert by["MBARRIER_INIT_SHARED"] == thread
    text = compiled(WHOLE).stages["expand-walkthrough"]
    assert re.search(f"{thread}:pred = SETP_EQ_U32 %tid.x:b32, imm:0", text)


def test_the_address_is_published():
    found = opcodes(WHOLE)
    at = found.index("TCGEN05_ALLOC_CTA_GROUP1_SHARED_CTA")
    assert found[at + 1 : at + 5] == [
        "TCGEN05_FENCE_BEFORE_THREAD_SYNC",
        "BAR_SYNC",
        "TCGEN05_FENCE_AFTER_THREAD_SYNC",
        "LD_SHARED_B32",
    ]


def test_a_wait_is_a_commit_and_a_loop_on_the_parity():
    found = opcodes(WHOLE)
    at = found.index("TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER")
    assert found[at + 1 : at + 5] == [
        "MBARRIER_TRY_WAIT_PARITY_SHARED",
        "BRA",
        "XOR_B32",
        "TCGEN05_FENCE_AFTER_THREAD_SYNC",
    ]


def test_the_load_waits_for_its_registers():
    found = opcodes(WHOLE)
    at = found.index("TCGEN05_LD_16X32BX2_X128")
    assert found[at + 1] == "TCGEN05_WAIT_LD"


def test_all_meet_before_tensor_memory_is_given_back():
    found = opcodes(WHOLE)
    at = found.index("TCGEN05_DEALLOC_CTA_GROUP1")
    assert found[at - 3 : at] == [
        "TCGEN05_FENCE_BEFORE_THREAD_SYNC",
        "BAR_SYNC",
        "TCGEN05_FENCE_AFTER_THREAD_SYNC",
    ]


def test_a_single_wait_needs_no_barrier_and_a_second_one_does():
    """Without it a fast thread could finish a phase before a slow one has seen the last."""
    commit = "TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER"
    found = opcodes(WHOLE)
    assert found[found.index(commit) - 1] == "TCGEN05_MMA_CTA_GROUP1_DENSE"
    twice = opcodes(straight(multiply(), WAIT, multiply(enable="true"), WAIT))
    first, second = (i for i, name in enumerate(twice) if name == commit)
    assert twice[first - 1] == "TCGEN05_MMA_CTA_GROUP1_DENSE"
    assert twice[second - 1] == "BAR_SYNC"


def test_a_multiply_after_a_load_waits_for_all_who_load():
    again = straight(multiply(), WAIT, f"%v = {LD} %h)", multiply(), WAIT)
    found = opcodes(again)
    at = found.index("TCGEN05_WAIT_LD")
    assert found[at + 1 : at + 4] == [
        "TCGEN05_FENCE_BEFORE_THREAD_SYNC",
        "BAR_SYNC",
        "TCGEN05_FENCE_AFTER_THREAD_SYNC",
    ]


def constants(text: str) -> list[int]:
    """What is or-ed into the descriptors."""
    return [int(n) for n in re.findall(r"OR_B64 %\d+:b64, imm:(\d+)", compiled(text).mir)]


def test_descriptors_are_tcgen05s_own():
    """Table 40: 0b001 at bit 46, 128-byte swizzling is 2 at bit 61, offsets by 16 bytes."""
    a, b = constants(WHOLE)
    assert a == 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 2 << 61
    assert b == 128 >> 4 << 16 | 2048 >> 4 << 32 | 1 << 46 | 2 << 61


@pytest.mark.parametrize(("code", "field"), [(0, 0), (1, 2), (2, 4), (3, 6)])
def test_swizzle_codes_are_those_of_wgmma(code: int, field: int):
    """None, 128, 64 and 32 bytes."""
    text = WHOLE.replace("i32 2048, i32 128, i32 0, i32 1", f"i32 2048, i32 128, i32 0, i32 {code}")
    assert constants(text)[1] >> 61 == field


def test_both_matrices_k_major():
    text = WHOLE.replace('!"MN"', '!"K"')
    assert "imm:69207184" in compiled(text).mir  # 0x4200490


def test_the_numbers_of_threads_is_known_from_reqntid_only():
    plain = WHOLE.replace('"nvvm.reqntid"="128"', "nounwind")
    assert "MAD_LO_U32" in opcodes(plain)
    assert "MAD_LO_U32" not in opcodes(WHOLE)
