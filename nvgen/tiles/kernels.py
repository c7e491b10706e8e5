"""From a tile multiply to a kernel: the atom that a target has for it, and LLVM IR with that.

Layer: nvgen.  Input: a tile multiply, with or without its atom, and a target.  Output: what is
wrong with it, as findings; and a kernel of one CTA, or of a pair, that computes the tile:

    @multiply(a, b, d)      D = A · B, where C is zero

or with metadata or scale factors behind B (`nvgen.tiles.tensor`).  In global memory A lies as
[m][k], B as [n][k] and D as [m][n].  Where tcgen05 multiplies the kernel is in the walkthrough's
spelling, elsewhere the builder makes it of mma.sync or wgmma.mma_async.
"""

from __future__ import annotations

from asmprinter.tile_reader import Read, read_tiles
from intrinsics.findings import (
    NOWHERE,
    Finding,
    Place,
    SelectionError,
    Severity,
    errors,
    input_error,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.mma_atom import AtomError, MmaAtom
from intrinsics.multiplies.register_atom import TARGETS, AtomTarget, RegisterAtom, machine_of
from intrinsics.multiplies.tile_dot import Atom, TileDot, parse_any, pick_dot
from intrinsics.multiplies.tile_multiply import TileMultiply
from intrinsics.targets import Target, TargetSet, spell

KERNEL = "multiply"


@dataclass(frozen=True, slots=True)
class TileKernel:
    """A kernel in LLVM IR, and how it is launched: threads of a CTA, CTAs (all of one cluster), and
    bytes of dynamic shared memory.
    """

    llvm: str
    threads: int
    ctas: int
    shared: int


def judge(read: Read) -> list[Finding]:
    """Errors of a tile multiply and of its atom."""
    return [
        Finding(
            f"{read.op.op}/{problem.rule}", Severity.ERROR, problem.text, read.place,
            op=read.op.op, got=problem.got, expected=problem.expected, hint=problem.hint,
            subject=problem.subject, section="PTX ISA, Matrix Shape",
        )
        for problem in read.op.problems()
    ]  # fmt: skip


def with_atom(read: Read, target: Target) -> TileDot:
    """The multiply with its atom, which is picked for the target where it has none.

    Raises: SelectionError with everything that is wrong with it.
    """
    if wrong := errors(judge(read)):
        raise SelectionError(wrong)
    if isinstance(read.op, TileDot):
        return read.op
    return _picked(read, read.op, target)


def _picked(read: Read, multiply: TileMultiply, target: Target) -> TileDot:
    try:
        dot = pick_dot(multiply, machine=machine_of(target))
        allowed = _targets(parse_any(dot.atom))
        if target not in allowed:
            raise AtomError(f"{target.name} has no {dot.atom}", spell(allowed))
        return dot
    except AtomError as error:
        finding = Finding(
            f"{multiply.op}/no-atom", Severity.ERROR, str(error), read.place, op=multiply.op,
            expected=error.expected, section="PTX ISA, Matrix Shape",
        )  # fmt: skip
        raise SelectionError([finding]) from None


def only_kernel(text: str, file: str, target: Target) -> tuple[TileKernel, Place]:
    """The kernel of the one multiply in `text`, and where the multiply stands.

    Raises: InputError for a text that has none or several; SelectionError with everything that is
    wrong with them.
    """
    found = read_tiles(text, file)
    if wrong := [finding for read in found for finding in errors(judge(read))]:
        raise SelectionError(wrong)
    if len(found) != 1:
        raise input_error(
            "tile/several", "a kernel is made of one multiply", place=Place(file),
            got=f"{len(found)} multiplies", expected="one",
            hint="nvgen trace --mma N tells of each of several",
        )  # fmt: skip
    read = found[0]
    return kernel(with_atom(read, target), target, read.place), read.place


def kernel(dot: TileDot, target: Target, place: Place = NOWHERE) -> TileKernel:
    """The kernel of `dot` for a target.

    Raises: SelectionError for the atom of another machine, and for one that no kernel is made for;
    for a tile that does not fit into the memories of a CTA.
    """
    atom = parse_any(dot.atom)
    allowed = _targets(atom)
    if target not in allowed:
        finding = Finding(
            f"{dot.op}/target", Severity.ERROR, "the atom is another machine's", place, op=dot.op,
            got=f"{dot.atom} for {target.name}", expected=spell(allowed), subject="atom",
            hint="without an atom the target's own is picked: cuda_tile.mmaf",
        )  # fmt: skip
        raise SelectionError([finding])
    try:
        return _made(dot, atom, target)
    except SelectionError as error:
        raise SelectionError([f.at(place) for f in error.findings]) from None


def _targets(atom: Atom) -> TargetSet:
    return atom.targets if isinstance(atom, RegisterAtom) else TARGETS[AtomTarget.SM100]


def _made(dot: TileDot, atom: Atom, target: Target) -> TileKernel:
    if isinstance(atom, MmaAtom):
        from nvgen.tiles.plan import THREADS
        from nvgen.tiles.tensor import tensor_kernel

        text, shared = tensor_kernel(KERNEL, dot, atom)
        return TileKernel(text, THREADS, 2 if atom.pair else 1, shared)
    from nvgen.tiles.registers import register_kernel

    built = register_kernel(KERNEL, dot, atom, target)
    return TileKernel(built.llvm, built.block[0], 1, built.dynamic_shared)
