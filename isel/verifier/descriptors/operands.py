"""Rules about counts, sizes, column masks and tensor memory addresses in registers.

Layer: isel.verifier.descriptors.  Input: the known bits of an operand.  Output: breaches.  Literal
counts are checked with the record's form; here are those that ptxas cannot see.  PTX ISA,
tcgen05.alloc; cp.async.bulk; mbarrier.init; tcgen05.ld, Access restrictions; Data Path Layout
Organization; Zero-Column Mask Descriptor (Table 45).
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.tensor_address import TensorAddress, ZeroColumnMask
from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from intrinsics.limits import COLUMNS, LANES
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import LdStNum, LdStShape
from intrinsics.row import Numbers
from isel.verifier.descriptors.breach import Breach
from isel.verifier.descriptors.instruction import InstructionDescriptor
from isel.verifier.rule import VerifierRule

_LANES = "Tensor Memory Addressing"

COLUMN_COUNT = VerifierRule("{op}/columns", "a number of columns that cannot be allocated")
REGISTER_RANGE = VerifierRule(
    "{op}/register-range", "a register holds a number that the instruction does not take"
)
LANE = VerifierRule(
    "{op}/lane",
    "the address begins at a lane where this access cannot begin",
    "Tensor Memory and Register Load/Store Instructions, Access restrictions",
)
MATRIX_LANE = VerifierRule(
    "{op}/matrix-lane",
    "the matrix begins at a lane that its layout does not allow",
    "Data Path Layout Organization",
)
BOUNDS = VerifierRule("{op}/tensor-bounds", "the access leaves tensor memory", _LANES)
ZERO_MASK = VerifierRule(
    "{op}/zero-mask-shift",
    "a zero-column mask shifts further than it can",
    "Zero-Column Mask Descriptor (Table 45)",
)
ZERO_MASK_RESERVED = VerifierRule(
    "{op}/zero-mask-reserved", "reserved bits of the zero-column mask are set",
    "Zero-Column Mask Descriptor (Table 45)", Severity.REVIEW, expected="0",
)  # fmt: skip

_SPLIT = 16
"""Lanes of the shapes that are not 32 lanes high."""


def judge_columns(bits: KnownBits, numbers: Numbers) -> Iterator[Breach]:
    """The breaches of a count of columns in a register."""
    count = bits.field(0, 32)
    if count is None or numbers.accepts(count):
        return
    yield Breach(COLUMN_COUNT, f"{count} columns", str(numbers), hint=numbers.hint(count))


def judge_number(bits: KnownBits, numbers: Numbers) -> Iterator[Breach]:
    """The breaches of a number in a register, for which literals have a range: it need not be known
    whole to be no multiple.
    """
    number = bits.number
    if number is not None and not numbers.accepts(number):
        got, hint = str(number), numbers.hint(number)
        yield Breach(REGISTER_RANGE, got, str(numbers), hint=hint)
    elif number is None and (rest := bits.value & numbers.multiple - 1):
        yield Breach(REGISTER_RANGE, f"one with bits {rest:#x} set", str(numbers))


def judge_access(mi: MachineInstr, bits: KnownBits) -> Iterator[Breach]:
    """The breaches of the address of a tcgen05.ld or .st."""
    shape, num = mi.form.attributes["shape"], mi.form.attributes["num"]
    assert isinstance(shape, LdStShape)
    assert isinstance(num, LdStNum)
    lane, column = bits.field(16, 16), bits.field(0, 16)
    step = 32 if shape is LdStShape.S32X32B else _SPLIT
    if lane is not None and lane % step and lane < LANES:
        yield Breach(LANE, f"lane {lane} with .{shape.value}", f"a multiple of {step}")
    if lane is not None and lane >= LANES:
        yield Breach(BOUNDS, f"lane {lane}", f"lanes 0..{LANES - 1}")
    width = _WIDTHS[shape] * num.times
    if column is not None and column + width > COLUMNS:
        yield Breach(BOUNDS, f"columns {column}..{column + width - 1}", f"columns 0..{COLUMNS - 1}")


_WIDTHS = {
    LdStShape.S32X32B: 1,
    LdStShape.S16X64B: 2,
    LdStShape.S16X128B: 4,
    LdStShape.S16X256B: 8,
    LdStShape.S16X32BX2: 1,
}
"""Columns of one repetition of a shape."""


def judge_matrix_address(
    bits: KnownBits, word: InstructionDescriptor, name: str
) -> Iterator[Breach]:
    """The breaches of the address of D, or of an A in tensor memory."""
    number, m = bits.field(0, 32), word.m
    if number is None or m is None or word.use.ws:
        return  # layouts of .ws fold columns over the lanes
    where = TensorAddress.decode(number)
    if not where.in_bounds:
        yield Breach(BOUNDS, f"{name}: {where}", f"lanes 0..{LANES - 1}, columns 0..{COLUMNS - 1}")
    elif where.lane not in (allowed := _lanes(word, m)):
        wanted = " or ".join(f"lane {lane}" for lane in allowed)
        yield Breach(MATRIX_LANE, f"{name}: {where}, M={m}", wanted)
    elif name == "d" and word.n is not None:
        last = where.column + _width(word, m, word.n) - 1
        if last >= COLUMNS:
            yield Breach(BOUNDS, f"d: columns {where.column}..{last}", f"columns 0..{COLUMNS - 1}")


def _width(word: InstructionDescriptor, m: int, n: int) -> int:
    """Columns of D: layout B has the second half of them in the upper lanes."""
    return n // 2 if word.use.group == 2 and m == 128 and not word.use.sparse else n


def _lanes(word: InstructionDescriptor, m: int) -> tuple[int, ...]:
    """The lanes at which D or A may begin: layouts of half the lanes (C and F) at 16 too."""
    use = word.use
    half = m == 64 if use.group == 1 else (m == 128 and use.sparse)
    return (0, 16) if half else (0,)


def judge_zero_mask(bits: KnownBits, word: InstructionDescriptor) -> Iterator[Breach]:
    """The breaches of the zero-column mask of a weight-stationary MMA."""
    number = bits.number
    if number is None:
        return
    mask, m = ZeroColumnMask.decode(number), word.m
    most = 16 if m == 32 else 32
    if m is not None and mask.nonzero and mask.shift > most:
        yield Breach(ZERO_MASK, f"shift {mask.shift}, M={m}", f"at most {most}")
    if reserved := number & (7 << 36 | 3 << 62):
        yield Breach(ZERO_MASK_RESERVED, f"{reserved:#x}")


RULES = (
    COLUMN_COUNT, REGISTER_RANGE, LANE, MATRIX_LANE, BOUNDS, ZERO_MASK,
    ZERO_MASK_RESERVED,
)  # fmt: skip
