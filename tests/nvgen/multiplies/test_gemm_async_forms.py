"""gemm_async with A in tensor memory, beyond one instruction, with collectors, with sparse A."""

from __future__ import annotations

import re

import pytest

from intrinsics.element import ElementType as E
from intrinsics.findings import InputError
from intrinsics.modifiers import CollectorA, CtaGroup
from nvgen import Kernel, KernelBuilder
from nvgen.machine_code.assembler import assemble
from tests.nvgen.gemm_programs import build, lines, mmas
from tests.nvgen.multiplies.gemm_async_runs import PLAIN, advances, d_columns, words

# ---- A in tensor memory ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtypes", "k", "padded", "columns"),
    [
        ((E.F16, E.F16), 64, False, [384, 392, 400, 408]),
        ((E.TF32, E.TF32), 32, False, [384, 392, 400, 408]),
        ((E.E4M3, E.E5M2), 128, False, [384, 392, 400, 408]),
        ((E.E2M3, E.E5M2), 128, False, [384, 392, 400, 408]),
        ((E.E2M1, E.E5M2), 128, True, [384, 392, 400, 408]),
    ],
    ids=lambda value: str(value),
)
def test_a_step_of_a_in_tensor_memory_is_eight_columns(
    dtypes: tuple[E, E], k: int, padded: bool, columns: list[int]
) -> None:
    """32 bytes of a row, as in shared memory: 16 of f16, 8 of tf32, 32 in bytes."""
    kernel = build(a=(128, k), b=(128, k), dtypes=dtypes, place="tensor", padded=(padded, False))
    found = [int(re.search(r"\[%r\d+\+(\d+)\], %rd", line)[1]) for line in lines(kernel)]
    assert found == columns


def test_a_in_tensor_memory_has_a_room_of_its_own() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    memory = b.tensor_memory("slot", 128)
    assert memory.operand_tile(128, 64, E.BF16).columns == 32
    assert memory.operand_tile(128, 64, E.E2M3).columns == 16
    assert memory.operand_tile(128, 64, E.E2M1, padded=True).columns == 16
    assert memory.operand_tile(128, 64, E.E2M1).columns == 8
    assert memory.used == 72
    with pytest.raises(InputError, match="whole cells") as caught:
        memory.operand_tile(128, 7, E.F16)
    assert caught.value.findings[0].expected == "a multiple of 2"


# ---- M and N beyond one instruction ---------------------------------------------------------


def test_m_and_n_go_in_pieces_m_outermost() -> None:
    """M = 192 is 128 and 64 rows, of 40 columns each; those of i8 are 32 and 8."""
    form = {"dtypes": (E.S8, E.U8), "a": (192, 64), "b": (40, 64), "swizzle": 64, "d_type": E.S32}
    kernel = build(**form)
    shapes = [(word >> 24 & 31, word >> 17 & 63) for word in words(kernel)]
    assert shapes == [(8, 4)] * 2 + [(8, 1)] * 2 + [(4, 4)] * 2 + [(4, 1)] * 2
    assert d_columns(kernel) == [0, 0, 32, 32, 40, 40, 72, 72]
    assert [step["enable_d"] for step in mmas(kernel)] == [0, 1] * 4


def test_each_128_rows_of_a_pairs_ctas_are_a_block_of_columns() -> None:
    kernel = build(a=(192, 16), b=(32, 16), swizzle=32, group=CtaGroup.TWO)
    assert [word >> 24 & 31 for word in words(kernel)] == [16, 8]
    assert d_columns(kernel) == [0, 64]
    assert advances(kernel) == [128 * 32]


def test_rooms_of_more_than_128_rows() -> None:
    """A block for each 128 rows; the last of them, 64 of a pair, in half the columns."""
    b = KernelBuilder("k", block=128, cluster=2)
    b.begin()
    memory = b.tensor_memory("slot", 512, cta_group=CtaGroup.TWO)
    assert memory.tile(384, 64).columns == 64 + 32
    assert memory.operand_tile(256, 64, E.F16).columns == 64
    before = memory.used
    memory.metadata(64, E.F16, 256)  # two columns of a block, which begins at a multiple of four
    assert memory.used == before + 4 + 2


def test_an_odd_piece_of_rows_in_tensor_memory_begins_at_lane_0() -> None:
    """96 rows are 64 and 32, and those would begin at lane 64."""
    with pytest.raises(InputError, match="gemm_async/m"):
        build(a=(96, 64), b=(64, 64), stationary=True, place="tensor")
    assert mmas(build(a=(96, 64), b=(64, 64), stationary=True))


# ---- collectors of A -------------------------------------------------------------------------


def usages(kernel: Kernel) -> list[str]:
    found = [re.search(r"collector::a::(\w+)", line) for line in lines(kernel)]
    return [use[1] if use else "" for use in found]


def test_a_is_kept_for_the_pieces_of_n_when_asked() -> None:
    """Filled by the first piece of a step, used by the others, given up by the last."""
    form = {"a": (64, 32), "b": (320, 32), "swizzle": 64, "group": CtaGroup.TWO}
    kernel = build(**form, reuse_a=True)
    assert usages(kernel) == ["fill", "use", "lastuse"] * 2
    assert d_columns(kernel) == [0, 128, 256] * 2
    assert set(usages(build(**form))) <= {"", "discard"}
    assert set(usages(build(reuse_a=True))) <= {"", "discard"}, "one piece uses A once"


def test_a_call_of_one_instruction_says_what_the_collector_does() -> None:
    assert usages(build(step=0, collector_a=CollectorA.FILL)) == ["fill"]


# ---- sparse ----------------------------------------------------------------------------------


def test_a_sparse_step_takes_a_column_of_metadata_and_the_selector_says_which() -> None:
    """K = 32 a step: columns 0 and 1 by selectors 0 and 1 of column 0, then those of column 2.

    Bit 2 says sparse; of A a step moves 32 bytes, of B 64.
    """
    kernel = build(a=(128, 128), b=(128, 128), metadata=True)
    assert words(kernel) == [PLAIN | 4, PLAIN | 5, PLAIN | 4, PLAIN | 5]
    found = [re.search(r", \[%r\d+(?:\+(\d+))?\], \d+, [01];", line)[1] for line in lines(kernel)]
    assert [int(n) for n in found] == [384, 384, 386, 386]
    assert advances(kernel) == [32, 64, 64, 128 * 128, 96, 128 * 128 + 64]


def test_a_sparse_step_of_bytes_takes_two_columns() -> None:
    """K = 64 a step, selector 0."""
    kernel = build(a=(128, 256), b=(64, 256), dtypes=(E.E4M3, E.E4M3), metadata=True)
    assert words(kernel) == [4 | 1 << 4 | 8 << 17 | 8 << 24] * 4
    found = [re.search(r", \[%r\d+(?:\+(\d+))?\], \d+, [01];", line)[1] for line in lines(kernel)]
    assert [int(n) for n in found] == [384, 386, 388, 390]


def test_values_in_tensor_memory_move_eight_columns_a_step() -> None:
    """The metadata lies behind 32 columns of values."""
    kernel = build(a=(128, 128), b=(128, 128), place="sparse tensor")
    places = [re.findall(r"\[%r\d+(?:\+(\d+))?\]", line)[1:] for line in lines(kernel)]
    assert places == [["384", "416"], ["392", "416"], ["400", "418"], ["408", "418"]]
    assert words(kernel) == [PLAIN | 4, PLAIN | 5, PLAIN | 4, PLAIN | 5]


def test_k_counts_the_zeros() -> None:
    with pytest.raises(InputError, match="gemm_async/k"):
        build(a=(128, 16), b=(128, 16), metadata=True, swizzle=32)
    with pytest.raises(InputError, match="gemm_async/shape"):
        build(a=(128, 128), b=(128, 64), metadata=True)


def test_metadata_begins_at_a_column_that_a_copy_fills() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    memory = b.tensor_memory("slot", 64)
    memory.take(3)
    memory.metadata(128, E.F16)
    assert memory.used == 8
    with pytest.raises(InputError, match="no multiple of 32"):
        memory.metadata(48, E.F16)


@pytest.mark.parametrize("group", CtaGroup)
def test_four_columns_of_metadata_are_one_copy(group: CtaGroup) -> None:
    b = KernelBuilder("k", block=128, cluster=1 + (group is CtaGroup.TWO))
    b.begin()
    source = b.shared_tile("words", E.S32, (128, 4), swizzle=0)
    with b.if_thread(0):
        b.copy_metadata(b.tensor_pointer(b.const(32)), source.pointer, cta_group=group)
    compiled = b.finish().compile(target="sm_100a")
    assert f"tcgen05.cp.{group.value}.128x128b [" in compiled.ptx
    assert assemble(compiled.ptx, compiled.target).cubin
