"""A program from a file of any of the three languages, with what the checks say of it.

Layer: nvgen.  Input: a path to LLVM IR (`.ll`), machine records (`.mir`) or PTX (`.ptx`).  Output:
machine records, the target and PTX version that they were judged for, and findings.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from asmprinter.tile_words import has_tiles
from intrinsics.findings import (
    Finding,
    Place,
    VerificationError,
    errors,
    in_order,
    input_error,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target, parse_ptx, parse_target
from isel.verifier.declared import judge_alignments, judge_as_ptx
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape
from isel.verifier.levels import verify
from isel.verifier.lowest_ptx import lowest_ptx
from nvgen.compilation.nesting import nesting_limit
from nvgen.compilation.options import PLAIN_OPTIONS, Options, no_target
from nvgen.compilation.stages import Stages, taken
from nvgen.files import printable

if TYPE_CHECKING:
    from isel.passes.bound_waits import Bounded
    from isel.pipeline import Observer
    from nvgen.compilation.compiled import Compiled
    from nvgen.tiles.kernels import TileKernel

LANGUAGES = {".ll": "llvm", ".mir": "mir", ".ptx": "ptx"}
"""Languages by file name."""


_UNJUDGED = ("target/unknown", "ptx/version-unknown", "ptx/alignment")
"""Errors that leave nothing by which more could be judged."""


@dataclass(slots=True)
class Program:
    """A program as machine records, and what is known about it.

    `llvm` is the IR as LLVM prints it and `stages` the MIR after every pass, where there was IR.
    `shape` is how its kernels are launched, as far as it is known.  `bounded` is the program with
    bounded waits, where that was asked for.
    """

    file: str
    language: str
    text: str
    module: Module
    target: Target
    ptx_version: Ptx
    findings: list[Finding]
    llvm: str = ""
    stages: Stages = field(default_factory=Stages)
    bounded: Bounded | None = None
    lineinfo: bool = False
    shape: LaunchShape = UNKNOWN_SHAPE

    @property
    def final(self) -> Module:
        """The machine records that are printed and assembled."""
        return self.bounded.module if self.bounded else self.module

    @property
    def mir(self) -> str:
        """The machine records as text."""
        from asmprinter.mir.printer import print_mir

        return print_mir(self.final).text

    @property
    def ptx(self) -> str:
        """The program as PTX."""
        from asmprinter.ptx.printer import print_ptx

        return print_ptx(self.final, self.ptx_version, lineinfo=self.lineinfo).text

    def compiled(self) -> Compiled:
        """The program as what `nvgen.compile` gives, so that it can be run.

        Raises: VerificationError when something is wrong with it.
        """
        from nvgen.compilation.compiled import Compiled

        wrong = errors(self.findings)
        if wrong:
            raise VerificationError(wrong)
        return Compiled(
            self.target,
            self.ptx_version,
            self.llvm,
            self.module,
            self.findings,
            self.stages,
            self.file,
            shape=self.shape,
            bounded=self.bounded,
            lineinfo=self.lineinfo,
        )


_VERSION = re.compile(r"[ \t]*\.version\b")


def _says_version(text: str) -> bool:
    """Whether a line of a text begins as PTX does; numba's metadata has the word in the middle."""
    at = text.find(".version")
    while at >= 0:
        if _VERSION.match(text, text.rfind("\n", 0, at) + 1) is not None:
            return True
        at = text.find(".version", at + 1)
    return False


def language_of(path: str, text: str) -> str:
    """The language of a file, by its name, else by how it begins."""
    known = LANGUAGES.get(Path(path).suffix) if path else None
    if known is not None:
        return known
    if _says_version(text):
        return "ptx"
    return "mir" if text.startswith("target sm_") or "\ntarget sm_" in text else "llvm"


def load(
    path: str, text: str, options: Options = PLAIN_OPTIONS, *, bounds: float | None = None
) -> Program:
    """Read `text`, lower it if it is LLVM IR, and judge its records.

    Target and version default to what the text says; LLVM IR says none.  `bounds` is a limit in
    seconds to each wait for an mbarrier on a GPU.

    Raises: InputError for what cannot be read, SelectionError for what cannot be selected; whatever
    a pass or a rule of the caller's raises.
    """
    program = _judged(path, text, options)
    program.lineinfo = options.extension.lineinfo
    if bounds is not None:
        from isel.passes.bound_waits import BOUND_WAITS, bound_waits

        program.bounded = bound_waits(program.module, bounds)
        program.stages = program.stages.followed_by(BOUND_WAITS, lambda: program.mir)
    return program


def _judged(path: str, text: str, options: Options) -> Program:
    language = language_of(path, text)
    path = printable(path)
    if language == "llvm" and has_tiles(text):
        made, place = _kernel_of_tiles(path, text, options.target)
        shape = options.shape
        smem = made.shared if shape.smem is None else shape.smem
        shape = replace(shape, grid=shape.grid or (made.ctas, 1, 1), smem=smem)
        program = _from_llvm(path, made.llvm, replace(options, shape=shape))
        program.findings = [f.at(place) if f.place.line else f for f in program.findings]
        return program
    if language == "llvm":
        return _from_llvm(path, text, options)
    if options.opt:
        raise input_error(
            "compile/opt",
            "only LLVM IR can be optimised",
            place=Place(path),
            got=f"-O{options.opt} for {language}",
            expected="-O0",
        )
    if options.extension.passes:
        raise input_error(
            "compile/passes",
            "only LLVM IR goes through passes",
            place=Place(path),
            got=language,
            expected="LLVM IR; records that were read are changed with Python",
        )
    with nesting_limit(path):
        program = _from_records(path, text, language, options)
        program.findings += options.extension.judge(program.module)
        return program


def _kernel_of_tiles(path: str, text: str, target: str | None) -> tuple[TileKernel, Place]:
    from asmprinter.tile_reader import refuse_lowered
    from nvgen.tiles.kernels import only_kernel

    refuse_lowered(text, path)
    if target is None:
        raise no_target()
    return only_kernel(text, path, parse_target(target))


def _from_records(path: str, text: str, language: str, options: Options) -> Program:
    wanted = parse_target(options.target) if options.target is not None else None
    found: list[Finding] = []
    if language == "ptx":
        from asmprinter.ptx.reading.reader import read_ptx

        reading = read_ptx(text, path, target=wanted)
        module, found = reading.module, list(reading.findings)
    else:
        from asmprinter.mir.reader import read_mir

        module = read_mir(text, path, own_lines=True)
    module.target = wanted or module.target
    kept: dict[str, str] = {}
    if language == "mir":
        from isel.resume import resume

        if resume(module, path, _keeper(kept) if options.keep_stages else None):
            found += module.notes
    said = parse_ptx(options.ptx) if options.ptx is not None else module.ptx
    version = module.ptx = said or lowest_ptx(module, module.target)
    found += judge_alignments(module, path)
    if not any(f.rule in _UNJUDGED for f in found):
        found += verify(module, module.target, version, options.level, options.shape)
    if language == "mir" and not errors(found):
        found += judge_as_ptx(module, version, path)
    found = in_order(found)
    return Program(
        path, language, text, module, module.target, version, found,
        stages=taken(kept), shape=options.shape,
    )  # fmt: skip


def _keeper(kept: dict[str, str]) -> Observer:
    """What keeps the text of each stage."""
    from asmprinter.mir.printer import print_mir

    def keep(name: str, after: Module) -> None:
        kept[name] = print_mir(after).text

    return keep


def _from_llvm(path: str, text: str, options: Options) -> Program:
    from nvgen.compilation.compile_text import check_text

    compiled = check_text(text, options, file=path)
    return Program(
        path,
        "llvm",
        text,
        compiled.module,
        compiled.target,
        compiled.ptx_version,
        compiled.judged,
        compiled.llvm,
        compiled.stages,
        shape=options.shape,
    )
