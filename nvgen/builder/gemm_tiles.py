"""Where the matrices of a multiply lie, and whether an instruction has them there.

Layer: nvgen.builder.  PTX ISA, tcgen05.mma; wgmma.mma_async.
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.findings import Finding, InputError, Severity
from nvgen.builder.portable import PortableAccumulator
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.register_tiles import WarpgroupTile
from nvgen.builder.tensor_tiles import OperandTile, SparseTile, TensorTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.warp_tiles import WarpTile
from nvgen.callers import place_of_caller


@dataclass(frozen=True, slots=True)
class _Places:
    """Where an instruction has A, for one place of D."""

    instruction: str
    of_a: tuple[type, ...]
    expected: str


_PLACES: dict[type, _Places] = {
    TensorTile: _Places(
        "tcgen05.mma",
        (SharedTile, OperandTile, SparseTile),
        "shared_tile(…), operand_tile(…) or sparse_tile(…)",
    ),
    WarpgroupTile: _Places(
        "wgmma.mma_async",
        (SharedTile, RegisterTile),
        "shared_tile(…), warpgroup_operand(…) or sums.as_a_operand()",
    ),
    WarpTile: _Places("mma", (SharedTile, RegisterTile), "shared_tile(…) or sums.as_a_operand()"),
    PortableAccumulator: _Places(
        "tcgen05.mma; wgmma.mma_async; mma",
        (SharedTile,),
        "a tile in shared memory: shared_tile(…)",
    ),
}


def check_tiles(d: object, a: object, b: object) -> None:
    """Whether the matrices lie where a multiply has them.

    Raises: InputError with one finding for each that does not.
    """
    kind = PortableAccumulator if isinstance(d, PortableAccumulator) else type(d)
    places = _PLACES.get(kind)
    known = places or _PLACES[TensorTile]
    findings = []
    if places is None:
        findings.append(
            _finding("D", d, "accumulator(…), warpgroup_tile(…), warp_tile(…) or tile(…)", known)
        )
    if not isinstance(a, known.of_a):
        findings.append(_finding("A", a, known.expected, known))
    if not isinstance(b, SharedTile):
        findings.append(_finding("B", b, "a tile in shared memory: shared_tile(…)", known))
    if findings:
        raise InputError(findings)


def _finding(name: str, tile: object, expected: str, places: _Places) -> Finding:
    return Finding(
        "gemm_async/tile",
        Severity.ERROR,
        f"{name} is no such tile",
        place_of_caller(),
        op="gemm_async",
        got=type(tile).__name__,
        expected=expected,
        section=f"PTX ISA, {places.instruction}",
    )
