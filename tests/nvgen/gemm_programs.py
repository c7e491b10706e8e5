"""Kernels with one gemm_async, and the instructions that it became.

What a test is not about has a default: f16, 128 x 128 x 64, K-major, 128-byte swizzle, one thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.modifiers import CtaGroup
from nvgen import Kernel, KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.tensor_tiles import OperandTile, ScaleTile, SparseTile

SFA, SFB, A = 256, 320, 384
"""Columns of what the kernels have in tensor memory; the accumulator is at 0."""


@dataclass
class Scaling:
    """Scale factors: which of the two are there, their type, and the elements that share one."""

    a: bool = True
    b: bool = True
    type: E = E.UE8M0
    size: int = 32
    rows_b: int | None = None
    parts_b: int = 1


def build(
    *,
    a: tuple[int, int] = (128, 64),
    b: tuple[int, int] = (128, 64),
    d: tuple[int, int] | None = None,
    dtypes: tuple[E, E] = (E.F16, E.F16),
    majors: tuple[Major, Major] = (Major.K, Major.K),
    padded: tuple[bool, bool] = (False, False),
    atoms: tuple[int, int] = (16, 16),
    d_type: E = E.F32,
    swizzle: int = 128,
    scope: ExecutionScope = ExecutionScope.THREAD,
    group: CtaGroup = CtaGroup.ONE,
    place: str = "shared",
    scales: Scaling | None = None,
    metadata: bool = False,
    loop: bool = False,
    **options: object,
) -> Kernel:
    """One gemm_async; `place` of A is "shared", "tensor" or "sparse tensor".

    With `loop` the kernel counts the steps of K, as many as an argument says.
    """
    builder = KernelBuilder("k", block=128, dynamic_shared=True)
    if loop:
        builder.integer("steps")
    args = builder.begin()
    factor = 2 if group is CtaGroup.TWO else 1
    tile = builder.tensor_tile(builder.const(0), *(d or (a[0] * factor, b[0] * factor)), d_type)
    halves = 2 if metadata else 1
    if place == "tensor":
        a_tile: object = OperandTile(tile.pointer + A, *a, dtypes[0], padded[0])
    elif place == "sparse tensor":
        from intrinsics.layouts.sparse import SparseColumns

        columns = SparseColumns(a[1] * max(dtypes[0].bits, 8) // 64, a[1] // 32)
        values = tile.pointer + A
        a_tile = SparseTile(values, values + columns.values, *a, dtypes[0], columns)
    else:
        a_tile = builder.shared_tile(
            "a_tile", dtypes[0], (a[0], a[1] // halves), swizzle=swizzle, major=majors[0],
            padded=padded[0], atom=atoms[0],
        )  # fmt: skip
    b_tile = builder.shared_tile(
        "b_tile", dtypes[1], b, swizzle=swizzle, major=majors[1], padded=padded[1], atom=atoms[1]
    )
    if scales and scales.a:
        options["sfa"] = ScaleTile(tile.pointer + SFA, a[0], a[1], scales.type, scales.size)
    if scales and scales.b:
        rows = scales.rows_b or b[0] * factor
        options["sfb"] = ScaleTile(
            tile.pointer + SFB, rows, b[1], scales.type, scales.size, parts=scales.parts_b
        )
    if metadata:
        options["metadata"] = tile.pointer + A
    builder.scope = scope
    if loop:
        with builder.range(args["steps"]) as step:
            builder.gemm_async(tile, a_tile, b_tile, cta_group=group, step=step, **options)
    else:
        builder.gemm_async(tile, a_tile, b_tile, cta_group=group, **options)
    builder.scope = ExecutionScope.CTA
    return builder.finish()


def mmas(kernel: Kernel, target: str = "sm_100a") -> list[dict[str, int]]:
    """The descriptors and flags of each tcgen05.mma, from its MIR record."""
    mir = kernel.compile(target=target).mir
    found = []
    for record in re.split(r"\n(?=  \S)", mir):
        if re.match(r"  TCGEN05_MMA_", record):
            numbers = re.findall(r"^ +(\w+): +imm:(-?\d+)", record, re.M)
            found.append({name: int(value) for name, value in numbers})
    return found


def lines(kernel: Kernel, target: str = "sm_100a") -> list[str]:
    """The tcgen05.mma instructions in PTX."""
    ptx = kernel.compile(target=target).ptx
    return [line.strip() for line in ptx.split("\n") if "tcgen05.mma." in line]
