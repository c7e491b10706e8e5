"""nvgen's Python interface: compile LLVM IR, look at every stage, run it.

Layer: nvgen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from asmprinter.tile_words import has_tiles
from intrinsics.collector import paused_collector
from intrinsics.findings import input_error
from isel.pipeline import Pass
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.compilation.compile_text import compile_text, launched, shape_of, vetted
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.extension import Rule, extension_of
from nvgen.compilation.options import Options, no_target, patterns_of
from nvgen.launching.launches import Dim3
from nvgen.llvm.reading import parse


@ends_at_caller
@paused_collector()
def compile(
    module_or_text: object,
    *,
    target: str | None = None,
    ptx: str | None = None,
    opt: int | None = None,
    level: str = "record",
    bound_waits: float | None = None,
    grid: Dim3 | int | None = None,
    block: Dim3 | int | None = None,
    cluster: Dim3 | int | None = None,
    smem: int | None = None,
    passes: Sequence[Pass] = (),
    rules: Sequence[Rule] = (),
    contract: bool = False,
    lineinfo: bool = False,
    cuda_atomics: bool = False,
    keep_stages: bool = True,
    allow: Sequence[str] = (),
) -> Compiled:
    """Compile LLVM IR (text, bitcode, an llvmlite module or a built kernel; a list is linked), MIR,
    PTX, or one multiply of tiles for `target`.

    `ptx` is the PTX version, by default the lowest that program and target need; `opt` the level of
    LLVM's optimiser, 0 to 3: 0 compiles as written, and by default only variables on the stack
    become registers.  `contract` allows a product and a sum to become an fma without a fast-math
    flag; `cuda_atomics` makes sequentially consistent atomicrmw relaxed and of device scope.

    `level` ("record", "function", "launch" or "all") says of which rules errors are raised.  Beyond
    it errors that are certain are raised too, but for rules in `allow` (ids, with `*`); all others
    are Python warnings (`nvgen.FindingWarning`).  `grid` and `cluster` (CTAs), `block` (threads)
    and `smem` (bytes of dynamic shared memory) are a launch, which is judged at every level.

    `passes` change the machine records (`intrinsics.mir.Module`) before nvgen's own; `rules` judge
    the final ones.  `lineinfo` writes `.file` and `.loc`, `keep_stages` keeps MIR of every pass
    (`Compiled.stages`), `bound_waits` limits each wait for an mbarrier on a GPU, in seconds.

    Raises: InputError, SelectionError, VerificationError, and what the passes and rules raise.
    """
    shape = shape_of(grid, block, cluster, smem)
    switches = {"contract": contract, "lineinfo": lineinfo, "cuda_atomics": cuda_atomics}
    extension = extension_of(passes, rules, **switches)
    options = Options(target, ptx, opt, level, shape, extension, keep_stages, patterns_of(allow))
    compiled = _compile(module_or_text, options)
    return compiled if bound_waits is None else compiled.with_bounded_waits(bound_waits)


def _compile(module_or_text: object, options: Options) -> Compiled:
    from nvgen.loading import language_of

    if isinstance(module_or_text, str) and (
        language_of("", module_or_text) != "llvm" or has_tiles(module_or_text)
    ):
        return _compile_records(module_or_text, options)
    if options.target is None:
        raise no_target("target=…")
    if not isinstance(module_or_text, str):
        from nvgen.built import Kernel

        if isinstance(module_or_text, Kernel):
            return module_or_text.compile_for(options)
    return compile_text(_read(module_or_text), options)


def _read(module: object) -> str:
    """The text of LLVM IR, in whatever form it is given."""
    if isinstance(module, str):
        return module
    if isinstance(module, (bytes, bytearray, memoryview, list, tuple)):
        return _one_text(module)
    from llvmlite import binding, ir

    if isinstance(module, (ir.Module, binding.ModuleRef)):
        return _text_of(module)
    raise input_error(
        "compile/module",
        "this is no LLVM IR",
        got=type(module).__name__,
        expected="text, bitcode, an llvmlite module, a Kernel, or a list of these",
        hint="pass what the file holds: path.read_text()" if isinstance(module, PurePath) else "",
    )


def _one_text(given: object) -> str:
    """The text of bitcode, or of modules that are linked.

    Raises: InputError.
    """
    from nvgen.llvm.linking import Part, disassembled, linked

    if isinstance(given, (bytes, bytearray, memoryview)):
        return disassembled(bytes(given))
    assert isinstance(given, (list, tuple))
    names = [f"module {n}" for n in range(1, len(given) + 1)]
    return linked([Part(name, _part(one, name)) for name, one in zip(names, given, strict=True)])


def _part(given: object, name: str) -> str:
    """The text of one module of several, as LLVM prints it.

    Raises: InputError.
    """
    from llvmlite import binding, ir

    from nvgen.built import Kernel

    match given:
        case str():
            return parse(given, file=name)
        case Kernel():
            return parse(given.llvm, file=name)
        case bytes() | bytearray() | memoryview():
            from nvgen.llvm.linking import disassembled

            return disassembled(bytes(given), name)
        case ir.Module() | binding.ModuleRef():
            return parse(_text_of(given), file=name)
    raise input_error(
        "compile/module",
        f"{name} is no LLVM IR",
        got=type(given).__name__,
        expected="text, bitcode, an llvmlite module or a Kernel",
    )


def _compile_records(text: str, options: Options) -> Compiled:
    """What is made of MIR, PTX or a tile multiply.

    Raises: see `compile`.
    """
    from nvgen.loading import load

    options.check()
    program = load("", text, options)
    result = program.compiled()
    result.level = options.level
    if program.language != "llvm":
        result.judged += launched(result.module, result.target, options)
    return vetted(result, options.allow)


def _text_of(module: object) -> str:
    """The text of an llvmlite module; a triple that says of nothing what it is counts as none."""
    return str(module).replace('target triple = "unknown-unknown-unknown"', 'target triple = ""', 1)
