"""tcgen05.mma, descriptors: decoded, and rejected where they are invalid.

Layer: nvgen.sim.semantics.  Input: words of an instruction that is issued, and its modifiers.
Output: decoded descriptors, or a fault `sim/idesc`, `sim/smem-desc`, `sim/lane-alignment`.  PTX
ISA, Instruction descriptor (Tables 42 to 44); Shared memory descriptor (Tables 40 and 41); Matrix
Shape (Table 39); Block Scaling (Tables 54 and 55); Data Path Layout Organization.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.idesc import InstructionDescriptor, reserved_bits
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_desc import problems as descriptor_problems
from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.element import ElementType, Major
from intrinsics.layouts.data_paths import DataPath, data_path
from intrinsics.layouts.scale_factors import factors_per_row, scale_ids
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import SCALED_KINDS, CtaGroup, MmaKind, ScaleVec
from intrinsics.row import Problem
from nvgen.sim.faults import Fault, fault, not_simulated

_TABLES = "Instruction descriptor"
_COMBINATIONS = "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)"


@dataclass(frozen=True, slots=True)
class MmaModifiers:
    """The modifiers of a multiply, and where its A is; `group` counts its CTAs."""

    kind: MmaKind
    group: int = 1
    ws: bool = False
    sparse: bool = False
    a_in_tensor: bool = False
    ashift: bool = False
    scale_vec: ScaleVec | None = None

    @property
    def scaled(self) -> bool:
        """Whether A and B have scale factors."""
        return self.kind in SCALED_KINDS


@dataclass(frozen=True, slots=True)
class DecodedMma:
    """An instruction descriptor that fits its instruction, and where D lies for it."""

    form: MmaModifiers
    idesc: InstructionDescriptor
    path: DataPath
    factors: int = 0  # scale factors of a row

    @property
    def kind(self) -> MmaKind:
        """The kind of the multiply."""
        return self.form.kind

    @property
    def k_stored(self) -> int:
        """The elements of a row of A that are stored: half of them where A is sparse."""
        return self.idesc.k // 2 if self.form.sparse else self.idesc.k


def shape_of(word: int, form: MmaModifiers) -> DecodedMma:
    """The descriptor of an instruction.

    Raises: Fault for one that does not describe such a multiply; NotSimulatedError for a kind
    whose descriptor is not documented.
    """
    if form.kind is MmaKind.TI16:
        raise not_simulated("kind::ti16, whose instruction descriptor is not documented")
    if bits := reserved_bits(word, form.kind):
        raise _idesc("reserved bits of the instruction descriptor are set", f"{bits:#x}", word, "0")
    try:
        found = InstructionDescriptor.decode(word, form.kind)
    except ValueError as error:
        raise _idesc(f"instruction descriptor: {error}", "", word, "") from None
    group = CtaGroup.TWO if form.group == 2 else CtaGroup.ONE
    for problem in (*found.problems(group, ws=form.ws), *_contradictions(found, form)):
        raise _idesc(problem.text, problem.got, word, problem.expected)
    if form.a_in_tensor and found.a_major is Major.MN:
        text = "A in tensor memory lies in rows, and is marked transposed"
        raise _idesc(text, "A MN-major", word, "K-major")
    if form.ashift:
        if found.m not in (128, 256):
            raise _idesc("ashift is for M = 128 and M = 256", f"M {found.m}", word, "128 or 256")
        raise not_simulated(
            "ashift: whether D is a product of the shifted rows",
            hint="or A moves by a row in tensor memory, behind the multiply",
        )
    try:
        path = data_path(found.m, group=form.group, ws=form.ws, sparse=form.sparse)
    except ValueError as error:
        raise _idesc(str(error), f"M {found.m}", word, "") from None
    return DecodedMma(form, found, path, _factors(found, form, word))


def _idesc(text: str, got: str, word: int, expected: str) -> Fault:
    seen = f"{got} in {word:#x}" if got else f"{word:#x}"
    return fault("idesc", text, got=seen, expected=expected, section=_TABLES)


def _contradictions(found: InstructionDescriptor, form: MmaModifiers) -> Iterator[Problem]:
    """Contradictions between the descriptor and the instruction."""
    if found.sparse is not form.sparse:
        name = "sparse" if form.sparse else "dense"
        yield Problem(
            "sparsity",
            f"a {name} multiply with the descriptor of another",
            f"bit 2 {int(found.sparse)}",
            f"bit 2 {int(form.sparse)}",
        )
    if found.saturate and form.kind is not MmaKind.I8:
        yield Problem("saturate", "only kind::i8 saturates", "bit 3 set", "bit 3 zero")
    if found.selector and form.sparse and form.kind in (MmaKind.I8, MmaKind.F8F6F4):
        text = "the sparsity selector must be 0 for this kind"
        yield Problem("selector", text, f"selector {found.selector}", "selector 0")


def _factors(found: InstructionDescriptor, form: MmaModifiers, word: int) -> int:
    """How many scale factors a row has; none for kinds without.

    Raises: Fault for a type or an id that such factors do not have.
    """
    if not form.scaled:
        return 0
    vector = form.scale_vec or ScaleVec.BLOCK32
    if found.scale is ElementType.UE4M3 and vector not in (ScaleVec.X4, ScaleVec.BLOCK16):
        text, wanted = "scale factors of UE4M3 are for 16 elements each", ".block16, or ue8m0"
        raise _idesc(text, f"ue4m3 with .{vector.value}", word, wanted)
    try:
        count = factors_per_row(form.kind, vector, found.k)
    except ValueError as error:
        raise _idesc(str(error), "", word, "") from None
    for name, number in (("A", found.sfa_id), ("B", found.sfb_id)):
        if number not in scale_ids(count):
            text = f"the scale factor {name} id does not exist for {count} factors a row"
            raise _idesc(text, str(number), word, " or ".join(map(str, scale_ids(count))))
    return count


# ---- matrices and addresses ------------------------------------------------------------------


def shared_descriptor(word: int, name: str, shape: DecodedMma) -> SharedMemoryDescriptor:
    """The descriptor of a matrix in shared memory; `name` is A or B.

    Raises: Fault for one that means nothing, or that cannot describe this matrix.
    """
    for problem in descriptor_problems(word):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: {problem.text}",
            got=problem.got,
            expected=problem.expected,
            section="Shared memory descriptor",
        )
    found = SharedMemoryDescriptor.decode(word)
    transposed = (shape.idesc.a_major if name == "A" else shape.idesc.b_major) is Major.MN
    wide = shape.kind is MmaKind.TF32
    if transposed and wide != (found.swizzle is Swizzle.B128_ATOM32):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: a transposed matrix of this kind has another swizzling",
            got=found.swizzle.words,
            expected=Swizzle.B128_ATOM32.words if wide else "one without 32-byte atoms",
            section=_COMBINATIONS,
        )
    if found.absolute_lbo and (
        transposed or found.base_offset or found.swizzle is not Swizzle.B128
    ):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: an absolute leading dimension has another layout",
            got=f"{found}, base offset {found.base_offset}",
            expected="a K-major matrix, 128-byte swizzling, base offset 0",
            section="Restrictions on the Leading Dimension Absolute Address Stride",
        )
    return found


def tensor_address(word: int, name: str, lanes: tuple[int, ...]) -> TensorAddress:
    """An address in tensor memory that begins at one of `lanes`.

    Raises: Fault.
    """
    where = TensorAddress.decode(word)
    if where.lane not in lanes:
        raise fault(
            "lane-alignment",
            f"{name} begins at a lane that its layout does not allow",
            got=str(where),
            expected=" or ".join(f"lane {lane}" for lane in lanes),
            section="Data Path Layout Organization",
        )
    return where


def scale_address(word: int, name: str) -> TensorAddress:
    """The address of scale factors: the highest two bits, which may hold their id, do not count.

    CUTLASS keeps the id there and copies it into the instruction descriptor
    (cute/arch/mma_sm100_desc.hpp).

    Raises: Fault when the factors do not begin at lane 0.
    """
    return tensor_address(word & 0x3FFFFFFF, name, (0,))
