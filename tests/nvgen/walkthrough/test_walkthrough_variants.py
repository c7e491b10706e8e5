"""Copies into tensor memory, and the sparse, block-scaled and weight-stationary multiplies.

A kernel copies an image, byte for byte, into shared memory; one multiply reads from it.  Matrices
lie there without swizzling: sixteen bytes of eight rows together, then the next sixteen bytes of K,
then the next eight rows.  Inputs are small integers and powers of two, so that all sums are exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from intrinsics.findings import SelectionError, Verdict, errors, verdict
from intrinsics.layouts.data_paths import data_path
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.sparse import compress
from intrinsics.modifiers import MmaKind
from nvgen.compilation.compile_text import check_text, compile_text
from nvgen.compilation.options import Options
from tests.nvgen.walkthrough.walkthrough_atoms import MORE
from tests.nvgen.walkthrough.walkthrough_programs import DECLARATIONS

WHOLE, ROWS, QUARTER = "i32 0, i32 0, i32 0", "i32 2, i32 0, i32 0", "i32 4, i32 3, i32 0"
"""Copies: 128 rows of 32 bytes, 128 of 16, and 32 of 16 for each quarter of the lanes."""

PIECE = 16


@dataclass(frozen=True)
class Part:
    """Rows of bytes in shared memory, copied to tensor memory where `copy` says how."""

    rows: np.ndarray
    copy: str = ""

    @property
    def image(self) -> np.ndarray:
        """The bytes, groups of eight rows by pieces of sixteen bytes."""
        rows, width = self.rows.shape
        pieces = self.rows.reshape(rows // 8, 8, width // PIECE, PIECE)
        return pieces.transpose(0, 2, 1, 3).reshape(-1)

    @property
    def strides(self) -> str:
        """The stride and the leading offset."""
        return f"i32 {self.rows.shape[1] * 8}, i32 128"


@dataclass(frozen=True)
class Case:
    """A multiply: its name's variant, its atom, its words, and its operands for each CTA."""

    variant: str
    atom: str
    ctrl: int
    operands: tuple[dict[str, Part], ...]  # a, b and what lies in tensor memory, for each CTA
    exact: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.exact.shape

    def image(self) -> np.ndarray:
        """The images of the CTAs, one behind the other."""
        return np.stack(
            [np.concatenate([p.image for p in parts.values()]) for parts in self.operands]
        )


def kernel(case: Case) -> str:
    """The kernel @k(image, d)."""
    m, n = case.shape
    ctas = len(case.operands)
    parts = case.operands[0]
    size = case.image().shape[1]
    mma = f"@llvm.nvvm.tcgen05.mma.{case.variant}cta_group__{ctas}"
    load = f"@llvm.nvvm.tcgen05.ld.m{m // ctas}n8x32b"
    lines, handles, at = [], ["%h"], 0
    values: dict[str, str] = {}
    for name, part in parts.items():
        lines += [
            f"%at.{name} = getelementptr i8, ptr addrspace(3) @tiles, i32 {at}",
            f"%{name} = call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3) "
            f"%at.{name}, {part.strides}, i32 0, i32 0)",
        ]
        values[name] = f"i64 %{name}"
        at += part.image.size
        if part.copy:
            handles.append(f"%h.{name}")
            values[name] = f"i32 %h.{name}"
            lines.append(
                f"call void @llvm.nvvm.tcgen05.cp.smem.tmem(i32 %h.{name}, i64 %{name}, "
                f"{part.copy})"
            )
    given = ", ".join(values.values())
    types = ", ".join(value.split()[0] for value in values.values())
    columns = {"%h": n // 4}
    barrier = ["call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"]
    if ctas == 2:
        barrier = [
            "call void @llvm.nvvm.barrier.cluster.arrive.aligned()",
            "call void @llvm.nvvm.barrier.cluster.wait.aligned()",
        ]
    rank = "call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()" if ctas == 2 else "add i32 0, 0"
    dropped = ("mma.cta_group__1", "tcgen05.ld.", "wait.cta_group__1")
    declared = [x for x in DECLARATIONS.split("\n") if not any(name in x for name in dropped)]
    body = [
        "entry:",
        "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        f"%rank = {rank}",
        *(
            f"{h} = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 {columns.get(h, 8)})"
            for h in handles
        ),
        f"%mine = mul i32 %rank, {size}",
        "%from = getelementptr i8, ptr addrspace(1) %image, i32 %mine",
        "br label %head",
        "head:",
        "%i = phi i32 [ %tid, %entry ], [ %next, %copy ]",
        f"%more = icmp ult i32 %i, {size // PIECE}",
        "br i1 %more, label %copy, label %ready",
        "copy:",
        "%src = getelementptr <4 x i32>, ptr addrspace(1) %from, i32 %i",
        "%dst = getelementptr <4 x i32>, ptr addrspace(3) @tiles, i32 %i",
        "%data = load <4 x i32>, ptr addrspace(1) %src, align 16",
        "store <4 x i32> %data, ptr addrspace(3) %dst, align 16",
        "%next = add i32 %i, 128",
        "br label %head",
        "ready:",
        "call void @llvm.nvvm.fence.proxy.async.shared_cta()",
        *barrier,
        *lines,
        f"call void {mma}(i32 %h, {given}, i32 {case.ctrl}, i32 0, i1 false), !nvgen.atom !0",
        f"call void @llvm.nvvm.tcgen05.wait.cta_group__{ctas}()",
        f"%acc = call <{n} x float> {load}(i32 %h)",
        "%first = mul i32 %rank, 128",
        "%row = add i32 %first, %tid",
        f"%to = getelementptr [{n} x float], ptr addrspace(1) %d, i32 %row",
        f"store <{n} x float> %acc, ptr addrspace(1) %to, align 16",
        *(
            f"call void @llvm.nvvm.tcgen05.dealloc(i32 {h}, i32 {columns.get(h, 8)})"
            for h in handles
        ),
        "call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()",
        "ret void",
        "}",
        *declared,
        f"declare void {mma}(i32, {types}, i32, i32, i1)",
        f"declare <{n} x float> {load}(i32)",
        f"declare void @llvm.nvvm.tcgen05.wait.cta_group__{ctas}()",
        "declare void @llvm.nvvm.tcgen05.cp.smem.tmem(i32, i64, i32, i32, i32)",
        MORE if ctas == 2 else "",
        'attributes #0 = { "nvvm.reqntid"="128"'
        + (' "nvvm.cluster_dim"="2,1,1" }' if ctas == 2 else " }"),
        f'!0 = !{{!"{case.atom}", !"K", !"K"}}',
    ]
    return (
        "@tiles = external addrspace(3) global [0 x i8], align 1024\n"
        "define ptx_kernel void @k(ptr addrspace(1) %image, ptr addrspace(1) %d) #0 {\n"
        + "\n".join(body)
        + "\n"
    )


# ---- operands --------------------------------------------------------------------------------


def numbers(shape: tuple[int, int], dtype: object, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def as_bytes(matrix: np.ndarray) -> np.ndarray:
    """Rows as bytes; two elements of 4 bits in each, the first in the lower half."""
    if matrix.dtype == ml_dtypes.float4_e2m1fn:
        codes = matrix.view(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4
    return matrix.view(np.uint8).reshape(matrix.shape[0], -1)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64).T


def halves(matrix: np.ndarray, ctas: int) -> list[np.ndarray]:
    return np.split(matrix, ctas)


def factor_image(codes: np.ndarray) -> np.ndarray:
    """Factors (rows × factors) as 32 lanes of 16 bytes: row r in lane r mod 32, column r div 32."""
    image = np.zeros((32, 4, 4), np.uint8)
    for row, factors in enumerate(codes):
        image[row % 32, row // 32, : len(factors)] = factors
    return image.reshape(32, 16)


def in_tensor_memory(m: int, n: int) -> Case:
    a, b = numbers((m, 16), ml_dtypes.bfloat16, 1), numbers((n, 16), ml_dtypes.bfloat16, 2)
    parts = {"a": Part(as_bytes(a), WHOLE), "b": Part(as_bytes(b))}
    return Case("tensor.", f"sm100_umma_m{m}n{n}k16_f32_bf16_bf16", 193, (parts,), exact(a, b))


def scaled(kind: str, n: int, ctas: int) -> Case:
    """A block-scaled multiply with M of 128 for each CTA."""
    dtype, k, factors, ctrl, suffix = {
        "mxf8f6f4": (ml_dtypes.float8_e4m3fn, 32, 1, 2 << 6 | 1 << 5, "e4m3_e4m3_bs"),
        "mxf4": (ml_dtypes.float4_e2m1fn, 64, 2, 7 << 6 | 1 << 5, "e2m1_e2m1_bs"),
        "mxf4nvf4": (ml_dtypes.float4_e2m1fn, 64, 4, 1 << 5 | 2 << 2, "e2m1_e2m1_bs16"),
    }[kind]
    factor = ml_dtypes.float8_e4m3fn if kind == "mxf4nvf4" else ml_dtypes.float8_e8m0fnu
    m = 128 * ctas
    rng = np.random.default_rng(3)
    a, b = numbers((m, k), dtype, 1), numbers((n, k), dtype, 2)
    sfa, sfb = ((2.0 ** rng.integers(-1, 2, (rows, factors))).astype(factor) for rows in (m, n))
    wide = [
        x.astype(np.float64) * np.repeat(s.astype(np.float64), k // factors, axis=1)
        for x, s in ((a, sfa), (b, sfb))
    ]
    operands = tuple(
        {
            "a": Part(as_bytes(own_a)),
            "b": Part(as_bytes(own_b)),
            "sfa": Part(factor_image(own_sfa.view(np.uint8)), QUARTER),
            "sfb": Part(factor_image(sfb.view(np.uint8)), QUARTER),
        }
        for own_a, own_b, own_sfa in zip(
            halves(a, ctas), halves(b, ctas), halves(sfa, ctas), strict=True
        )
    )
    suffix += "_2cta" * (ctas == 2)
    return Case(
        "block_scale.", f"sm100_umma_m{m}n{n}k{k}_f32_{suffix}", ctrl | ctas, operands,
        wide[0] @ wide[1].T,
    )  # fmt: skip


def sparse(n: int, ctas: int, *, ws: bool = False) -> Case:
    """A sparse multiply of f16 with M of 128 for each CTA: of each four elements two are zero."""
    m, k = 128 * ctas, 32
    rng = np.random.default_rng(4)
    kept = np.sort(rng.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=-1)[..., :2], axis=-1)
    mask = np.zeros((m, k // 4, 4), bool)
    np.put_along_axis(mask, kept, values=True, axis=-1)
    a = np.where(mask.reshape(m, k), rng.integers(1, 3, (m, k)), 0).astype(np.float16)
    b = numbers((n, k), np.float16, 2)
    stored, index = compress(a.view(np.uint16), MmaKind.F16)
    cells = metadata_cells(
        data_path(m, group=ctas, ws=ws, sparse=True), m, MmaKind.F16, k
    )[0]  # fmt: skip
    rank, lane, column, bit, value = np.broadcast_arrays(
        cells.rank, cells.lane, cells.column, cells.bit, index
    )
    words = np.zeros((ctas, 128, 4), np.uint32)
    np.bitwise_or.at(words, (rank, lane, column), value.astype(np.uint32) << bit.astype(np.uint32))
    operands = tuple(
        {
            "a": Part(as_bytes(own_a)),
            "b": Part(as_bytes(own_b)),
            "sp_meta": Part(as_bytes(own_words), ROWS),
        }
        for own_a, own_b, own_words in zip(
            halves(stored, ctas), halves(b, ctas), words, strict=True
        )
    )
    suffix = "_sp" + "_ws" * ws + "_2cta" * (ctas == 2)
    variant = "ws.sp." if ws else "sp."
    return Case(
        variant, f"sm100_umma_m{m}n{n}k32_f32_f16_f16{suffix}", 3 << 6 | ctas, operands,
        exact(a, b),
    )  # fmt: skip


# ---- the tests -------------------------------------------------------------------------------

CASES = {
    "A in tensor memory": in_tensor_memory(128, 64),
    "mxf8f6f4": scaled("mxf8f6f4", 64, 1),
    "mxf4": scaled("mxf4", 128, 1),
    "mxf4nvf4": scaled("mxf4nvf4", 32, 1),
    "mxf8f6f4, a pair": scaled("mxf8f6f4", 64, 2),
    "mxf4, a pair": scaled("mxf4", 128, 2),
    "sparse": sparse(64, 1),
    "sparse, a pair": sparse(64, 2),
    "sparse and weight-stationary": sparse(64, 1, ws=True),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("schedule", ["early", "late", "random:1"])
@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_numpy_gives(name: str, schedule: str) -> None:
    case = CASES[name]
    m, n = case.shape
    ctas = len(case.operands)
    compiled = compile_text(kernel(case), Options(target="sm_100a"))
    assert verdict(compiled.findings) is Verdict.CLEAN
    d = np.zeros((m, n), np.float32)
    image = case.image()
    cluster = (ctas, 1, 1)
    compiled.run(
        image, d, grid=cluster, cluster=cluster, block=(128, 1, 1), smem=image.shape[1],
        schedule=schedule,
    )  # fmt: skip
    assert np.array_equal(d, case.exact)


PAIRINGS = {
    "i32 3, i32 0, i32 0": "Shape 64x128b requires multicast warpx2_01_23 or warpx2_02_13 for "
    "tcgen05.cp Op",
    "i32 4, i32 0, i32 0": "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
    "i32 4, i32 1, i32 0": "Shape 32x128b requires multicast warpx4 for tcgen05.cp Op",
    "i32 0, i32 3, i32 0": "only shapes 64x128b and 32x128b are multicast to warps",
}


@pytest.mark.parametrize("copy", PAIRINGS)
def test_shapes_of_copies_and_their_multicasts(copy: str) -> None:
    text = kernel(CASES["A in tensor memory"]).replace(WHOLE, copy)
    wrong = errors(check_text(text, Options(target="sm_100a")).findings)
    assert PAIRINGS[copy] in {f.message for f in wrong}
    assert all(text.split("\n")[f.place.line - 1].find("cp.smem.tmem") > 0 for f in wrong)


def test_a_copy_that_there_is_not() -> None:
    text = kernel(CASES["A in tensor memory"]).replace(WHOLE, "i32 5, i32 0, i32 0")
    with pytest.raises(SelectionError, match="shape 5 means nothing"):
        compile_text(text, Options(target="sm_100a"))


def test_a_copy_that_is_not_waited_for() -> None:
    """What a copy writes is there with the next wait, as what a multiply does."""
    text = kernel(CASES["A in tensor memory"])
    text = "\n".join(line for line in text.split("\n") if "call void @llvm.nvvm.tcgen05.mma" not in
                     line and "call void @llvm.nvvm.tcgen05.wait" not in line)  # fmt: skip
    with pytest.raises(SelectionError) as caught:
        compile_text(text, Options(target="sm_100a"))
    assert {f.rule for f in caught.value.findings} == {"walkthrough/wait"}


def test_factors_for_32_elements_beside_an_atom_with_factors_for_16() -> None:
    case = CASES["mxf4nvf4"]
    text = kernel(case).replace(f"i32 {case.ctrl},", f"i32 {case.ctrl ^ 3 << 2},")
    with pytest.raises(SelectionError, match="a scale factor for 32 elements, the atom for 16"):
        compile_text(text, Options(target="sm_100a"))


def test_an_operand_in_tensor_memory_that_was_never_allocated() -> None:
    text = kernel(CASES["mxf8f6f4"]).replace("i32 %h.sfb, i32", "i32 64, i32")
    with pytest.raises(SelectionError) as caught:
        compile_text(text, Options(target="sm_100a"))
    assert "walkthrough/handle" in {f.rule for f in caught.value.findings}


@pytest.mark.parametrize("name", ["mxf4", "sparse and weight-stationary"])
def test_the_variant_may_stand_behind_the_cta_group(name: str) -> None:
    case = CASES[name]
    text = kernel(case)
    other = text.replace(f"mma.{case.variant}cta_group__1", f"mma.cta_group__1.{case.variant[:-1]}")
    assert other != text
    assert (
        compile_text(other, Options(target="sm_100a")).ptx
        == compile_text(text, Options(target="sm_100a")).ptx
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("stage", ["select", "destruct-ssa", "expand-walkthrough"])
def test_text_of_every_stage_is_read_back(name: str, stage: str) -> None:
    text = check_text(kernel(CASES[name]), Options(target="sm_100a", keep_stages=True)).stages[
        stage
    ]
    again = print_mir(read_mir(text)).text
    assert print_mir(read_mir(again)).text == again
    assert re.findall(r"TCGEN05_\w+", again) == re.findall(r"TCGEN05_\w+", text)
