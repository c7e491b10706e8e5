"""D of a multiply, wherever it lies: the one protocol of registers, warpgroups and tensor memory.

Layer: nvgen.builder.  Each kind says which instruction multiplies into it, where that has A, and
what it requires of its tiles, as data in its own module.  PTX ISA, tcgen05.mma; wgmma.mma_async;
mma.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, Severity
from nvgen.builder.fragment_layouts import RegisterTile
from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.regions import Host
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.tensor_requests import LeftTile, TensorOptions
from nvgen.builder.tiles import SharedTile
from nvgen.callers import place_of_caller

USUAL = TensorOptions()
"""Options of which nothing is said."""


class AccumulatorTile(ABC):
    """D = A·Bᵀ, `m` rows by `n` columns of `dtype`."""

    __slots__ = ()

    instruction: ClassVar[str]
    of_a: ClassVar[tuple[type, ...]]
    expected_a: ClassVar[str]

    m: int
    n: int
    dtype: ElementType

    @property
    @abstractmethod
    def builder(self) -> SharedMemory:
        """The kernel that it is of."""

    @abstractmethod
    def multiply_for(
        self,
        b: SharedMemory,
        left: LeftTile | RegisterTile,
        right: SharedTile,
        accumulate: bool | Int,
        step: IntLike | None,
        options: TensorOptions,
    ) -> None:
        """`multiply`, as a kernel asks for it that may be another one than the tile's."""

    def multiply(
        self,
        a: LeftTile | RegisterTile,
        b: SharedTile,
        *,
        accumulate: bool | Int = False,
        step: IntLike | None = None,
        options: TensorOptions = USUAL,
    ) -> None:
        """Start D = A·Bᵀ (+ D with `accumulate`), asynchronously; see `gemm_async`.

        `options` are those of tcgen05.mma.

        Raises: InputError when a requirement is not met.
        """
        check_tiles(self, a, b)
        self.multiply_for(self.builder, a, b, accumulate, step, options)


def kernel_of(host: Host) -> SharedMemory:
    """The kernel that something is of, with its verbs."""
    assert isinstance(host, SharedMemory)
    return host


def check_tiles(d: object, a: object, b: object) -> None:
    """Whether the matrices lie where a multiply has them.

    Raises: InputError with one finding for each that does not.
    """
    findings = []
    if not isinstance(d, AccumulatorTile):
        wanted = "accumulator(…), warpgroup_tile(…), warp_tile(…) or tile(…)"
        findings.append(_finding("D", d, wanted, "tcgen05.mma"))
    elif not isinstance(a, d.of_a):
        findings.append(_finding("A", a, d.expected_a, d.instruction))
    if not isinstance(b, SharedTile):
        instruction = d.instruction if isinstance(d, AccumulatorTile) else "tcgen05.mma"
        findings.append(_finding("B", b, "a tile in shared memory: shared_tile(…)", instruction))
    if findings:
        raise InputError(findings)


def _finding(name: str, tile: object, expected: str, instruction: str) -> Finding:
    return Finding(
        "gemm_async/tile",
        Severity.ERROR,
        f"{name} is no such tile",
        place_of_caller(),
        op="gemm_async",
        got=type(tile).__name__,
        expected=expected,
        section=f"PTX ISA, {instruction}",
    )
