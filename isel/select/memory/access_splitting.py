"""Splits an access to a value of any type into accesses that PTX has.

Layer: isel.select.  Input: the type, its alignment, and whether 256 bits can move at once.  Output:
parts, each one ld or st.  Neighbours of one size travel together, as far as their alignment goes;
what is not aligned enough, or has no size of PTX's, moves in parts.  PTX ISA, ld; st: vectors are
aligned to their whole size.
"""

from __future__ import annotations

import functools

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from isel.diagnostics import not_yet
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType

T = ScalarType

UNITS = {1: T.B8, 2: T.B16, 4: T.B32, 8: T.B64}
"""The untyped units of memory, by their bytes."""

_MOST, _MOST_WIDE = 16, 32


@dataclass(frozen=True, slots=True)
class AccessPart:
    """Part of an access.

    `first` and `count` are registers of the value, `at` is a byte offset, `unit` the type that
    moves.  `packed` registers share one unit.  `sizes` are the bytes of each part where one
    register moves in several; `bits` single bits share one unit of memory.  A plain part has a
    register for each unit.
    """

    first: int
    count: int
    at: int
    unit: ScalarType
    packed: int = 1
    sizes: tuple[int, ...] = ()
    bits: bool = False
    is_plain: bool = False

    @property
    def units(self) -> int:
        """The number of units that one access moves."""
        return 1 if self.sizes or self.bits else self.count // self.packed


@dataclass(frozen=True, slots=True)
class _Atom:
    """One register of a value: where its bytes stand, and how many; bits share a byte or more."""

    register: int
    at: int
    size: int
    bits: int = 0  # how many registers, each a bit, share these bytes


@functools.lru_cache(maxsize=4096)
def access_parts(
    layout: TypeLayout, type_: Type, alignment: int, *, wide: bool
) -> tuple[AccessPart, ...]:
    """The loads or stores that an access is split into.

    Raises: Unselectable for a type that has no place in memory, or whose values are too large.
    """
    layout.classes(type_)  # refuses what is too large
    atoms: list[_Atom] = []
    _atoms(layout, type_, 0, 0, atoms)
    most = _MOST_WIDE if wide else _MOST
    found: list[AccessPart] = []
    k = 0
    while k < len(atoms):
        parts, taken = _next(atoms, k, alignment, most)
        found.extend(parts)
        k += taken
    return tuple(found)


def _atoms(layout: TypeLayout, type_: Type, at: int, first: int, found: list[_Atom]) -> int:
    """Append the atoms of a value at byte `at`; returns the number of the register after it."""
    if not layout.count(type_):
        return first  # however many elements of no size it has
    match type_:
        case StructType(elements):
            for offset, element in zip(layout.offsets(type_), elements, strict=True):
                first = _atoms(layout, element, at + offset, first, found)
            return first
        case VectorType(IntType(1), count):
            found.append(_Atom(first, at, (count + 7) // 8, count))
            return first + count
        case VectorType(IntType(bits)) if bits % 8 or bits & (bits - 1):
            raise not_yet(f"a load or store of type {type_}")
        case ArrayType(element, count) | VectorType(element, count, False):
            size = layout.size(element)
            for n in range(count):
                first = _atoms(layout, element, at + n * size, first, found)
            return first
        case IntType(1):
            found.append(_Atom(first, at, 1, 1))
            return first + 1
        case IntType(bits):
            return _integer((bits + 7) // 8, at, first, found)
        case FloatType(_, bits):
            return _integer(bits // 8, at, first, found)
        case PointerType(space):
            return _integer(layout.pointer_bits(space) // 8, at, first, found)
    raise not_yet(f"a load or store of type {type_}")


def _integer(size: int, at: int, first: int, found: list[_Atom]) -> int:
    """An integer of `size` bytes: registers of 64 bits, and one for the rest."""
    while size > 0:
        found.append(_Atom(first, at, min(size, 8)))
        at, size, first = at + 8, size - 8, first + 1
    return first


def _next(atoms: list[_Atom], k: int, alignment: int, most: int) -> tuple[list[AccessPart], int]:
    """The parts that begin with atom `k`, and how many atoms they take."""
    atom = atoms[k]
    aligned = aligned_at(alignment, atom.at)
    if atom.bits:
        return _bits(atom, aligned), 1
    if atom.size not in UNITS or aligned < atom.size:
        parts = _parts(atom.size, aligned)
        return [AccessPart(atom.register, 1, atom.at, UNITS[parts[0]], sizes=parts)], 1
    count = _run(atoms, k, min(most, aligned) // atom.size)
    return [_vector(atom, count)], count


def aligned_at(alignment: int, at: int) -> int:
    """The alignment of what begins `at` bytes behind an aligned place."""
    return min(alignment, at & -at) if at else alignment


def _run(atoms: list[_Atom], k: int, most: int) -> int:
    """How many atoms of one size, a power of two of them, stand behind one another."""
    atom, count = atoms[k], 1
    while count < most and k + count < len(atoms):
        other = atoms[k + count]
        behind = other.at == atom.at + count * atom.size
        if other.bits or other.size != atom.size or not behind:
            break
        count += 1
    return 1 << count.bit_length() - 1


def _vector(atom: _Atom, count: int) -> AccessPart:
    packed = 4 // atom.size if atom.size < 4 and count * atom.size >= 4 else 1
    unit = UNITS[atom.size * packed]
    return AccessPart(atom.register, count, atom.at, unit, packed, is_plain=packed == 1)


def _parts(size: int, aligned: int) -> tuple[int, ...]:
    """Sizes that PTX moves, each aligned, that make up `size` bytes."""
    found, at = [], 0
    while at < size:
        part = min(aligned_at(aligned, at), 8, 1 << (size - at).bit_length() - 1)
        found.append(part)
        at += part
    return tuple(found)


def _bits(atom: _Atom, aligned: int) -> list[AccessPart]:
    """Single bits, at most 32 for each unit of memory, the first of them lowest."""
    found, done = [], 0
    while done < atom.bits:
        left = (atom.bits - done + 7) // 8
        size = min(aligned_at(aligned, done // 8), 4, 1 << left.bit_length() - 1)
        count = min(8 * size, atom.bits - done)
        at = atom.at + done // 8
        found.append(AccessPart(atom.register + done, count, at, UNITS[size], bits=True))
        done += count
    return found
