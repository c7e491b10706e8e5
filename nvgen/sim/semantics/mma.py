"""tcgen05.mma: D = A·B + D of one CTA, dense, without block scaling.

Layer: nvgen.sim.semantics.  A and B come from shared memory by their descriptors (A also from
tensor memory, as 16-bit pairs), D from tensor memory.  Numbers: every product is exact, the
products of one instruction are summed in binary64 and rounded once to binary32, then added to D in
binary32 (in binary16 when D is f16); integers are exact, and wrap or saturate.  The order in which
the chip sums, and hence the last bits of inexact results, differ.  PTX ISA, tcgen05.mma; Packing
formats; Data Path Layout Organization.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType, Major
from intrinsics.idesc import InstructionDescriptor, reserved_bits
from intrinsics.layouts import accumulator_lanes, matrix_addresses
from intrinsics.mir import Imm, MachineInstr, Mem
from intrinsics.modifiers import CtaGroup, MmaKind, ScalarType
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.smem_desc import problems as descriptor_problems
from intrinsics.tensor_address import TensorAddress
from nvgen.sim.compile import Compiler, Maker, flags, one_lane
from nvgen.sim.engine import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Cta, Fragment, Outcome, Step
from nvgen.sim.memory import Access, Proxy, gather
from nvgen.sim.semantics.tcgen05 import one_cta
from nvgen.sim.semantics.tensor_order import TensorOp, earlier

_SIMULATED = (MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8)
_SECTION = "tcgen05.mma"


def mma(c: Compiler, mi: MachineInstr) -> Step:
    """Issue one matrix multiply."""
    facts = mi.facts()
    kind = facts["kind"]
    one_cta(mi)
    assert isinstance(kind, MmaKind)
    if kind not in _SIMULATED:
        raise not_simulated(mi.row.spell(facts))
    d, idesc, b = c.address(mi["d"]), c.get(mi["idesc"], ScalarType.U32), c.get(mi["b"], _B64)
    a_op = mi["a"]
    a_tensor = c.address(a_op) if isinstance(a_op, Mem) else None
    a = c.get(a_op, _B64) if not isinstance(a_op, Mem) else None
    enable = c.get(mi["enable_d"], ScalarType.PRED)
    scale = mi.get("scale_d")
    shift = scale.value if isinstance(scale, Imm) else 0
    place = c.place(mi)

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        cta = warp.cta
        lane = one_lane(fragment, "tcgen05.mma")
        word = int(idesc(warp)[lane])
        described = _instruction_descriptor(word, kind)
        operation = Multiply(
            cta,
            described,
            int(d(warp)[lane]),
            _shared_descriptor(int(a(warp)[lane]), "A", described) if a is not None else None,
            int(a_tensor(warp)[lane]) if a_tensor is not None else 0,
            _shared_descriptor(int(b(warp)[lane]), "B", described),
            bool(flags(enable(warp))[lane]),
            shift,
        )
        engine = cta.machine.engine
        before = tuple(
            op
            for op in engine.pending
            if isinstance(op.effect, Multiply)
            and op.effect.cta is cta
            and op.effect.d == operation.d
            and (op.effect.idesc.m, op.effect.idesc.n) == (operation.idesc.m, operation.idesc.n)
        )
        before += earlier(engine, TensorOp.MMA, (cta,))
        thread = (cta.number, warp.number, lane)
        engine.issue(AsyncOp("tcgen05.mma", thread, "mma", operation, place, before))
        return None

    return run


_B64 = ScalarType.U64


def _instruction_descriptor(word: int, kind: MmaKind) -> InstructionDescriptor:
    if bits := reserved_bits(word, kind):
        raise fault(
            "idesc",
            "reserved bits of the instruction descriptor are set",
            got=f"{bits:#x} in {word:#x}",
            expected="0",
            section="Instruction descriptor",
        )
    try:
        found = InstructionDescriptor.decode(word, kind)
    except ValueError as error:
        raise fault(
            "idesc",
            f"instruction descriptor: {error}",
            got=f"{word:#x}",
            section="Instruction descriptor",
        ) from None
    for problem in found.problems(CtaGroup.ONE):
        raise fault(
            "idesc",
            problem.text,
            got=problem.got,
            expected=problem.expected,
            section="Matrix Shape",
        )
    if found.sparse:
        raise fault(
            "idesc",
            "a dense tcgen05.mma with a sparse instruction descriptor",
            got=f"{word:#x}",
            expected="bit 2 zero",
            section="Instruction descriptor",
        )
    if found.negate_a or found.negate_b:
        raise not_simulated("negated matrices")
    return found


def _shared_descriptor(
    word: int, name: str, idesc: InstructionDescriptor
) -> SharedMemoryDescriptor:
    for problem in descriptor_problems(word):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: {problem.text}",
            got=problem.got,
            expected=problem.expected,
            section="Shared memory descriptor",
        )
    found = SharedMemoryDescriptor.decode(word)
    transposed = (idesc.a_major if name == "A" else idesc.b_major) is Major.MN
    wide = idesc.kind is MmaKind.TF32
    if transposed and wide != (found.swizzle is Swizzle.B128_ATOM32):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: a transposed matrix of this kind has another swizzling",
            got=found.swizzle.words,
            expected=Swizzle.B128_ATOM32.words if wide else "one without 32-byte atoms",
            section="Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)",
        )
    if found.absolute_lbo or found.base_offset or found.swizzle is Swizzle.B128_ATOM32:
        raise not_simulated(f"descriptor of {name}: {found}")
    return found


@dataclass(eq=False, slots=True)
class Multiply:
    """One matrix multiply under way; calling it lets it take effect."""

    cta: Cta
    idesc: InstructionDescriptor
    d: int
    a: SharedMemoryDescriptor | None
    a_tensor: int
    b: SharedMemoryDescriptor
    accumulate: bool
    scale: int

    def __call__(self) -> None:
        """Read A, B and D, and write D."""
        i = self.idesc
        if self.a is not None:
            a = self._shared(self.a, i.m, i.a, i.a_major, "A")
        else:
            a = self._tensor_a()
        b = self._shared(self.b, i.n, i.b, i.b_major, "B")
        where = TensorAddress.decode(self.d)
        lanes = accumulator_lanes(i.m, self._lane(where))[:, None]
        columns = where.column + np.arange(i.n)[None, :]
        tensor = self.cta.tensor
        tensor.check(lanes, columns, "tcgen05.mma (D)")
        old = tensor.read(lanes, columns, "tcgen05.mma (D)") if self.accumulate else None
        tensor.write(lanes, columns, self._result(a, b, old), "tcgen05.mma (D)")
        self.cta.machine.changed()

    def _lane(self, where: TensorAddress) -> int:
        allowed = (0,) if self.idesc.m == 128 else (0, 16)
        if where.lane not in allowed:
            raise fault(
                "lane-alignment",
                "D begins at a lane that its layout does not allow",
                got=str(where),
                expected=" or ".join(f"lane {x}" for x in allowed),
                section="Data Path Layout Organization",
            )
        return where.lane

    def _shared(
        self,
        descriptor: SharedMemoryDescriptor,
        rows: int,
        type_: ElementType,
        major: Major,
        name: str,
    ) -> NDArray[np.generic]:
        size = container_bytes(type_)
        addresses = matrix_addresses(descriptor, rows, self.idesc.k, size, major)
        memory = self.cta.machine.memory
        agent = f"tcgen05.mma ({name})"
        offsets = memory.access(
            self.cta.shared, addresses, size, Access.READ, Proxy.ASYNC, agent, align=size
        )
        return elements(gather(self.cta.shared, offsets, size), type_)

    def _tensor_a(self) -> NDArray[np.generic]:
        """A from tensor memory: elements packed into 32-bit cells, the first in the low bits."""
        i = self.idesc
        where = TensorAddress.decode(self.a_tensor)
        lanes = accumulator_lanes(i.m, self._lane(where))[:, None]
        size = container_bytes(i.a)
        columns = where.column + np.arange(i.k * size // 4)[None, :]
        cells = self.cta.tensor.read(lanes, columns, "tcgen05.mma (A)")
        data = np.ascontiguousarray(cells).view(np.uint8).reshape(i.m, i.k, size)
        return elements(data, i.a)

    def _result(
        self, a: NDArray[np.generic], b: NDArray[np.generic], old: NDArray[np.uint32] | None
    ) -> NDArray[np.uint32]:
        if self.idesc.d is ElementType.S32:
            return self._integers(a, b, old)
        with np.errstate(over="ignore", invalid="ignore"):
            product = (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)
            if self.idesc.d is ElementType.F16:
                total = product
                if old is not None:
                    total = product + self._half(old) * np.float32(2.0**-self.scale)
                bits = total.astype(np.float16).view(np.uint16)
                return bits.astype(np.uint32)
            if old is not None:
                product = product + old.view(np.float32) * np.float32(2.0**-self.scale)
        return product.astype(np.float32).view(np.uint32)

    def _half(self, cells: NDArray[np.uint32]) -> NDArray[np.float32]:
        return (cells & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)

    def _integers(
        self, a: NDArray[np.generic], b: NDArray[np.generic], old: NDArray[np.uint32] | None
    ) -> NDArray[np.uint32]:
        total = a.astype(np.int64) @ b.astype(np.int64).T
        if old is not None:
            total = total + old.view(np.int32).astype(np.int64)
        if self.idesc.saturate:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return (total & 0xFFFFFFFF).astype(np.uint32)


def container_bytes(type_: ElementType) -> int:
    """Bytes that one element takes in shared memory.

    Raises: NotSimulatedError for packed 4- and 6-bit types.
    """
    if type_.bits < 8:
        raise not_simulated(f"packed {type_.value} matrices")
    return type_.bits // 8


def elements(data: NDArray[np.uint8], type_: ElementType) -> NDArray[np.generic]:
    """Bytes (last axis) as numbers; tf32 drops the last 13 bits of a float32."""
    size = data.shape[-1]
    flat = np.ascontiguousarray(data)
    if type_ is ElementType.TF32:
        bits = flat.view(np.uint32)[..., 0] & np.uint32(0xFFFFE000)
        return bits.view(np.float32)
    values = flat.view(np.dtype(type_.numpy))[..., 0]
    assert values.shape == data.shape[:-1], size
    wide = np.int64 if type_.is_integer else np.float32
    return values.astype(wide)


SEMANTICS: dict[str, Maker] = {"tcgen05.mma": mma}
