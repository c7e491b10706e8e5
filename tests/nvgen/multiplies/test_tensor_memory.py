"""Tensor memory in the builder: an allocation, its columns, and pairs of values and metadata."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.element import ElementType as E
from intrinsics.findings import Finding, InputError
from intrinsics.modifiers import LdStNum, MmaKind
from isel.verifier.descriptors.check import verify_descriptors
from nvgen import KernelBuilder, f32
from nvgen.machine_code.assembler import assemble
from nvgen.values.vectors import Vector
from tests.each import each


def builder(block: int = 128) -> KernelBuilder:
    found = KernelBuilder("k", block=block)
    found.pointer("d", output=True)
    found.begin()
    return found


def refused(call, *args: object, **named: object) -> Finding:
    with pytest.raises(InputError) as caught:
        call(*args, **named)
    (finding,) = caught.value.findings
    assert finding.expected
    return finding


def test_an_allocation_is_published_used_and_freed() -> None:
    """Numbers go into its columns and come back, through every check of function level."""
    b = KernelBuilder("k", block=128)
    b.pointer("d", output=True)
    d = b.begin()["d"]
    memory = b.tensor_memory("slot", 64)
    memory.take(32)
    tile = memory.tile(128, 32)
    lanes = tile.pointer + ((b.tid_x >> 5) << 21)
    b.tcgen05_st(lanes, Vector(b, (b.tid_x + 5).value, 1), num=LdStNum.X1)
    b.tcgen05_wait_st()
    values = b.tcgen05_ld(lanes, num=LdStNum.X1)
    b.tcgen05_wait_ld()
    b.store(values, d + b.tid_x.zext(64) * 4)
    memory.free()
    compiled = b.finish().compile(target="sm_100a", level="function")
    assert compiled.judged == []
    assert "tcgen05.alloc" in compiled.ptx
    assert re.search(r"tcgen05\.dealloc\S* %r\d+, 64;", compiled.ptx)
    assert assemble(compiled.ptx, compiled.target).cubin
    out = np.zeros(128, np.int32)
    compiled.run(out, device="sim")
    assert (out == np.arange(128) + 5).all()


def test_a_vector_of_one_number_is_one_register() -> None:
    b = KernelBuilder("k", block=128)
    b.pointer("d", output=True)
    d = b.begin()["d"]
    memory = b.tensor_memory("slot", 32)
    lanes = memory.take(32) + ((b.tid_x >> 5) << 21)
    b.tcgen05_st(lanes, b.vector([b.tid_x.to(f32) * 0.5]), num=LdStNum.X1)
    b.tcgen05_wait_st()
    values = b.tcgen05_ld(lanes, num=LdStNum.X1)
    b.tcgen05_wait_ld()
    b.store(values, d + b.tid_x.zext(64) * 4)
    memory.free()
    out = np.zeros(128, np.float32)
    b.finish().compile(target="sm_100a").run(out, device="sim")
    assert (out == np.arange(128) * 0.5).all()


_WRONG: dict[str, tuple[Callable[[KernelBuilder], list], tuple[str, ...]]] = {
    "three for two": (lambda b: [b.i32(1)] * 3, ("got: 3", "expected: 2")),
    "four for two": (lambda b: [b.f64(1.0)] * 2, ("got: 4", "expected: 2")),
    "half a register": (lambda b: [b.f16(1.0)], ("no whole registers", "multiple of 32 bits")),
}


@each("numbers, words", _WRONG.values(), ids=_WRONG)
def test_registers_of_another_number_are_refused_at_the_call(
    numbers: Callable[[KernelBuilder], list], words: tuple[str, ...]
) -> None:
    b = builder()
    columns = b.tensor_memory("slot", 32).take(32)
    with pytest.raises(InputError) as caught:
        b.tcgen05_st(columns, b.vector(numbers(b)), num=LdStNum.X2)
    assert all(one in str(caught.value) for one in (*words, "test_tensor_memory.py"))


def test_rows_before_anything_is_loaded() -> None:
    """The numbers of rows that a loop begins with, from a tile that nobody has written yet."""
    b = KernelBuilder("k", block=128, target="sm_100a")
    b.pointer("out", f32, output=True)
    out = b.begin()["out"]
    memory = b.tensor_memory("slot", 64)
    tile = memory.tile(128, 64)
    sums = b.variable(tile.rows(lambda row: row.to(f32)))
    most = b.variable(tile.rows(-1.0))
    lanes = tile.pointer + ((b.tid_x >> 5) << 21)
    numbers = b.vector([(b.tid_x * 2 + i).to(f32) for i in range(32)])
    with b.range(2) as half:
        b.tcgen05_st(lanes + half * 32, numbers, num=LdStNum.X32)
    b.tcgen05_wait_st()
    for at in range(2):
        part = tile.load(at * 32, 32)
        sums.set(sums.value + part.row_sum())
        most.set(most.value.max(part.row_max()))
    for (row, total), (_, greatest) in zip(sums.value.items(), most.value.items(), strict=True):
        out[row * 2], out[row * 2 + 1] = total, greatest
    memory.free()
    compiled = b.finish().compile(level="function")
    found, rows = np.zeros((128, 2), np.float32), np.arange(128)
    compiled.run(found, device="sim")
    assert (found[:, 0] == rows + 2 * (64 * rows + sum(range(32)))).all()
    assert (found[:, 1] == rows * 2 + 31).all()


def test_a_matrix_of_memory_in_the_layout_of_a_tile() -> None:
    """It reads no tensor memory, is added to what is loaded, and is stored to columns of a tile."""
    b = KernelBuilder("k", block=128, target="sm_100a")
    b.pointer("x", f32)
    b.pointer("out", f32, output=True)
    args = b.begin()
    memory = b.tensor_memory("slot", 64)
    tile = memory.tile(128, 64)
    part = tile.from_memory(args["x"].at(4), 40, 32, align=16)
    part.as_tile(tile, first=32)
    (tile.load(32, 32) * 8 + part).store(args["out"], 32)
    with pytest.raises(InputError, match="no columns of an accumulator"):
        tile.from_memory(args["x"], 40, 65)
    memory.free()
    compiled = b.finish().compile(level="function")
    assert compiled.ptx.count("tcgen05.ld.") == 1
    x = np.random.default_rng(0).integers(-99, 99, (128, 40)).astype(np.float32)
    found = np.zeros((128, 32), np.float32)
    compiled.run(x, found, device="sim")
    assert (found == 9 * x[:, 4:36]).all()


# ---- what the machine does not have ----------------------------------------------------------


def test_more_columns_than_there_are() -> None:
    b = builder()
    b.tensor_memory("first", 512)
    finding = refused(b.tensor_memory, "second", 32)
    assert finding.message == "allocated tmem out of resource: 544 columns of 512"


def test_more_columns_than_are_left() -> None:
    memory = builder().tensor_memory("slot", 128)
    memory.tile(128, 96)
    finding = refused(memory.take, 64)
    assert finding.message.startswith("allocated tmem out of resource: 64 columns of 32")
    memory.take(32)


@pytest.mark.parametrize(
    ("columns", "hint"),
    [(16, "the next one is 32"), (48, "the next one is 64"), (1024, "the nearest one is 512")],
)
def test_a_number_of_columns_that_cannot_be_allocated(columns: int, hint: str) -> None:
    finding = refused(builder().tensor_memory, "slot", columns)
    assert finding.hint == hint


def test_no_shared_memory_for_the_address() -> None:
    b = builder()
    b.shared_tile("full", E.F16, (384, 64))  # 48 KiB
    finding = refused(b.tensor_memory, "slot", 32)
    assert finding.message == "failed to find scratch smem to allocate tmem"
    assert "49156 bytes" in finding.got


def test_no_warp_to_allocate() -> None:
    assert refused(builder(16).tensor_memory, "slot", 32).message.startswith("failed to init tmem")
    b = builder()
    with b.if_warp(0):
        finding = refused(b.tensor_memory, "slot", 32)
    assert finding.message.startswith("failed to init tmem")
    assert finding.got == "one warp, of 128"


# ---- sparse ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "k", "values", "metadata"),
    [(E.F16, 64, 16, 2), (E.TF32, 16, 8, 1), (E.E4M3, 128, 16, 4), (E.E2M1, 128, 8, 2)],
)
def test_values_and_metadata_are_taken_together(
    dtype: E, k: int, values: int, metadata: int
) -> None:
    """Half of K is stored, and four bits for each chunk of it."""
    memory = builder().tensor_memory("slot", 64)
    tile = memory.sparse_tile(128, k, dtype)
    assert (tile.columns.values, tile.columns.metadata) == (values, metadata)
    assert memory.used == values + metadata
    assert refused(memory.sparse_tile, 128, k, dtype, metadata=metadata + 1).message == (
        "the metadata does not match the values"
    )
    assert memory.used == values + metadata
    assert memory.sparse_tile(128, k, dtype, metadata=metadata).k == k


def test_metadata_without_room_leaves_no_values_behind() -> None:
    memory = builder().tensor_memory("slot", 32)
    memory.take(16)
    assert "out of resource" in refused(memory.sparse_tile, 128, 64, E.F16).message
    assert memory.used == 16


def test_a_k_that_no_sparse_instruction_multiplies() -> None:
    memory = builder().tensor_memory("slot", 64)
    assert refused(memory.sparse_tile, 128, 48, E.F16).message == "K = 48 is no multiple of 32"
    assert refused(memory.sparse_tile, 128, 64, E.F32).got == "f32"


def test_a_sparse_multiply_of_the_pair() -> None:
    """16 columns of values, and the metadata behind them."""
    b = builder()
    memory = b.tensor_memory("slot", 128)
    sparse, d = memory.sparse_tile(128, 64, E.F16), memory.tile(128, 64)
    b_tile = b.shared_tile("b_tile", E.F16, (64, 64))
    word = InstructionDescriptor(MmaKind.F16, 128, 64, E.F16, E.F16, E.F32, sparse=True)
    with b.if_thread(0):
        b.tcgen05_mma(
            d.pointer, sparse.values, b.descriptor(b_tile), word.encode(), 0,
            kind=MmaKind.F16, sp_meta=sparse.metadata,
        )  # fmt: skip
    memory.free()
    compiled = b.finish().compile(target="sm_100a")
    assert re.search(
        r"tcgen05\.mma\.sp\S* \[%r\d+\], \[%r\d+\], %rd\d+, \[%r\d+\+16\], ", compiled.ptx
    )
    assert assemble(compiled.ptx, compiled.target).cubin
    assert verify_descriptors(compiled.module) == []
