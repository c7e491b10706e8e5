"""The story of a tile multiply: its own text, the atom that is picked, and a kernel that has it.

Layer: nvgen.  Input: text with tile multiplies.  Output: a story (`nvgen.tiles.trace`) whose first
two stages are the multiply's, and what there is to say of the kernel.
"""

from __future__ import annotations

from asmprinter.tile_reader import read_tiles
from intrinsics.findings import NOWHERE, Finding, Place, input_error
from intrinsics.multiplies.tile_dot import TileDot, multiply_of
from intrinsics.targets import parse_target
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.options import Options
from nvgen.tiles.kernels import kernel, with_atom
from nvgen.tiles.trace import Stage, Story, trace

_FILE = "multiply.ll"
"""What the kernel is called in the places of its records."""


def trace_tile(
    text: str, file: str, target: str, ptx: str | None, number: int = 1
) -> tuple[Story, list[Finding]]:
    """The story of multiply `number` (from 1) of `text`, and the findings of its kernel.

    The lines of later stages are those of the kernel, which no file holds: findings of it stand
    where the multiply does.

    Raises: InputError when there is no such multiply or it cannot be read; SelectionError when it
    is wrong, or has no atom of the target.
    """
    found = read_tiles(text, file)
    if not 0 < number <= len(found):
        count = f"the file has {len(found)} multiplies"
        raise input_error(
            "trace/mma", f"no multiply {number}: {count}", place=Place(file), got=str(number),
            expected=f"1..{len(found)}",
        )  # fmt: skip
    read = found[number - 1]
    where = parse_target(target)
    dot = with_atom(read, where)
    llvm = kernel(dot, where, read.place).llvm
    compiled = check_text(llvm, Options(target, ptx, keep_stages=True), file=_FILE)
    story = trace(compiled, llvm, 1)
    tile = multiply_of(read.op) if isinstance(read.op, TileDot) else read.op
    story.number, story.count, story.place = number, len(found), read.place
    story.stages[:2] = [_stage("tile", str(tile)), _stage("atom", str(dot))]
    story.notes = [note.at(read.place) for note in story.notes]
    return story, [f.at(read.place) if f.place != NOWHERE else f for f in compiled.findings]


def _stage(title: str, text: str) -> Stage:
    return Stage(title, tuple(text.split("\n")))
