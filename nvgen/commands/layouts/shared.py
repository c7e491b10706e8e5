"""`nvgen draw smem`: options become a matrix and its descriptor.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from intrinsics.descriptors.smem_desc import ADDRESS_LIMIT, SharedMemoryDescriptor, Swizzle
from intrinsics.element import Major
from intrinsics.findings import input_error
from intrinsics.layouts.packing import PIECE, elements_per_piece
from intrinsics.modifiers import FP4_KINDS
from nvgen.commands.layouts.values import choice, input_type, kind_with, number
from nvgen.drawing.picture import Picture
from nvgen.drawing.shared import Matrix, smem_picture

SWIZZLES = {
    "none": Swizzle.NONE,
    "32": Swizzle.B32,
    "64": Swizzle.B64,
    "128": Swizzle.B128,
    "128-atom32": Swizzle.B128_ATOM32,
}
_MOST = 1024
"""Rows, and elements along K, of a matrix that is drawn."""


def draw_smem(arguments: argparse.Namespace) -> Picture:
    """The picture that the options ask for.

    Raises: InputError.
    """
    descriptor, given = _descriptor(arguments)
    matrix = _matrix(arguments, descriptor.swizzle)
    if not given:
        descriptor = _with_offsets(arguments, matrix, descriptor)
    _check_size(matrix, descriptor)
    cells = choice("cells", arguments.cells, {"pieces": False, "elements": True})
    colour = choice("colour", arguments.colour, {"core": False, "row": True})
    try:
        return smem_picture(matrix, descriptor, elements=cells, by_row=colour)
    except NotImplementedError as error:
        raise input_error(
            "draw/swizzle", f"this layout is not known: {error}", got=descriptor.swizzle.words,
            expected="another swizzling mode",
        ) from None  # fmt: skip
    except ValueError as error:
        raise input_error(
            "draw/descriptor", str(error), got=f"{descriptor.encode():#x}",
            expected="a leading dimension that is an offset (bit 52 clear)",
        ) from None  # fmt: skip


def _descriptor(arguments: argparse.Namespace) -> tuple[SharedMemoryDescriptor, bool]:
    """The descriptor, and whether its offsets were given in it."""
    if arguments.descriptor is None:
        mode = choice("swizzle", arguments.swizzle or "128", SWIZZLES)
        address = number("address", arguments.address or "0", 0, ADDRESS_LIMIT - 1, step=PIECE)
        return SharedMemoryDescriptor(address, swizzle=mode), False
    for name in ("swizzle", "lbo", "sbo", "address"):
        if getattr(arguments, name) is not None:
            raise input_error(
                "draw/descriptor", f"--{name} and --descriptor say the same twice",
                got=f"--{name} {getattr(arguments, name)}", expected="one of the two",
            )  # fmt: skip
    word = number("descriptor", arguments.descriptor, 0, (1 << 64) - 1)
    try:
        return SharedMemoryDescriptor.decode(word), True
    except ValueError as error:
        raise input_error(
            "draw/descriptor", str(error), got=f"{word:#x}", expected="a descriptor of tcgen05",
            hint="nvgen explain smem-desc says what is in it",
        ) from None  # fmt: skip


def _matrix(arguments: argparse.Namespace, swizzle: Swizzle) -> Matrix:
    type_ = input_type(arguments.type)
    kind = kind_with(arguments.kind, type_)
    major = choice("major", arguments.major.upper(), {"K": Major.K, "MN": Major.MN})
    per = elements_per_piece(type_, kind)
    if kind in FP4_KINDS and major is Major.MN:
        raise input_error(
            "draw/major", f"{kind.value} has no transpose", got="MN-major", expected="K-major"
        )
    rows = number("rows", arguments.rows, 1, _MOST, step=1 if major is Major.K else per)
    default = per * swizzle.span // PIECE if swizzle is not Swizzle.NONE else 2 * per
    if major is Major.MN:
        default = 16
    k = number("k", arguments.k or str(default), 1, _MOST, step=per if major is Major.K else 1)
    return Matrix(rows, k, type_, per, major)


def _with_offsets(
    arguments: argparse.Namespace, matrix: Matrix, descriptor: SharedMemoryDescriptor
) -> SharedMemoryDescriptor:
    """Offsets that pack the atoms of 8 spans closely, but for those that were given."""
    span = descriptor.swizzle.span
    atom = (4 if descriptor.swizzle is Swizzle.B128_ATOM32 else 8) * span
    lbo, sbo = PIECE, atom
    if descriptor.swizzle is Swizzle.NONE:
        outer = -(-matrix.rows // 8) if matrix.major is Major.K else -(-matrix.k // 8)
        sbo, lbo = (atom, atom * outer) if matrix.major is Major.K else (atom * outer, atom)
    elif matrix.major is Major.MN:
        lbo = atom
        sbo = atom * -(-matrix.rows // matrix.per_piece * PIECE // span)
    given = {
        name: number(name, getattr(arguments, name), 0, ADDRESS_LIMIT - PIECE, step=PIECE)
        for name in ("lbo", "sbo")
        if getattr(arguments, name) is not None
    }
    return replace(descriptor, lbo=given.get("lbo", lbo), sbo=given.get("sbo", sbo))


def _check_size(matrix: Matrix, descriptor: SharedMemoryDescriptor) -> None:
    """A swizzled K-major matrix is one span wide: its next span begins at another address."""
    swizzle = descriptor.swizzle
    if descriptor.absolute_lbo:
        return
    most = matrix.per_piece * swizzle.span // PIECE
    if matrix.major is Major.K and swizzle is not Swizzle.NONE and matrix.k > most:
        raise input_error(
            "draw/k",
            f"a K-major matrix with {swizzle.words} is at most {swizzle.span} bytes wide",
            got=f"k = {matrix.k}",
            expected=f"at most {most} elements of {matrix.type_.value}",
            hint="the elements beyond are another matrix, at an address of its own",
        )
