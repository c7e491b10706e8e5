"""From the text of one LLVM IR module to what it compiles to, judged at a level.

Layer: nvgen.  Input: LLVM IR, a target, a level, and how the kernels are launched as far as that is
known.  Output: `Compiled`, with findings or without errors among them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from intrinsics.findings import Finding, VerificationError, errors, once
from intrinsics.mir import Module
from intrinsics.targets import Target, parse_ptx, parse_target
from isel.llvm import ir
from isel.llvm.reader import read_module
from isel.llvm.type_layout import MOST_REGISTERS
from isel.pipeline import lower
from isel.places.align import align_places, places_of_globals
from isel.places.debug import NO_DEBUG
from isel.select.locations import Source
from isel.select.symbols.launch import check_launches
from isel.select.symbols.machine import check_machine
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape, verify_launch
from isel.verifier.levels import LAUNCH_LEVELS, beyond, concerned, verify
from isel.verifier.lowest_ptx import lowest_ptx
from isel.verifier.record import check_target
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.extension import Extension
from nvgen.compilation.judgement import check_certain, eased, warn
from nvgen.compilation.nesting import nesting_limit
from nvgen.compilation.options import Options, no_target
from nvgen.compilation.stages import Stages, stages_of
from nvgen.launching.launches import Dim3, dim3, dynamic_size
from nvgen.llvm.reading import parse, promoted
from nvgen.optimizer.pipeline import default_level


def shape_of(
    grid: Dim3 | int | None,
    block: Dim3 | int | None,
    cluster: Dim3 | int | None,
    smem: int | None,
) -> LaunchShape:
    """The sizes of a launch as far as they are given.

    Raises: InputError for what is no size.
    """
    if grid is None and block is None and cluster is None and smem is None:
        return UNKNOWN_SHAPE
    return LaunchShape(
        dim3(grid) if grid is not None else (),
        dim3(block, "block") if block is not None else (),
        dim3(cluster, "cluster") if cluster is not None else (),
        dynamic_size(smem),
    )


def compile_text(text: str, options: Options, *, file: str = "", judged: bool = True) -> Compiled:
    """Compile one module of LLVM IR, which came from `file`; see `nvgen.compile`.

    With `judged` false, rules beyond the level asked for are not run.

    Raises: see `nvgen.compile`.
    """
    return vetted(check_text(text, options, file=file), options.allow, judged=judged)


def vetted(result: Compiled, allowed: Sequence[str] = (), *, judged: bool = True) -> Compiled:
    """`result`, unless it has errors; of rules beyond its level, those that are `allowed` or not
    certain become warnings.

    Raises: VerificationError.
    """
    if wrong := errors(result.judged):
        raise VerificationError(wrong)
    if not judged or not result.is_concerned:
        return result
    unasked = eased(beyond(result.module, result.level, result.shape), allowed)
    check_certain(unasked)
    warn(unasked)
    return result


def check_text(text: str, options: Options, *, file: str = "") -> Compiled:
    """Compile, but leave the verifier's errors among what it judged.

    Raises: InputError, SelectionError; VerificationError where the target is newer than `ptx`.
    """
    if options.target is None:
        raise no_target()
    chosen, extension = parse_target(options.target), options.extension
    version = parse_ptx(options.ptx) if options.ptx is not None else None
    options.check()
    if version is not None and (too_old := check_target(chosen, version)):
        raise VerificationError(too_old)
    with nesting_limit(file):
        printed, module, source = _read(text, file, options.opt, chosen, extension)
        lowered = lower(module, chosen, version, source, own=extension.passes)
        is_concerned = concerned(lowered)
        if is_concerned:
            _ = lowered.locations  # rules about whole functions ask, and the module is at hand
    final = version or lowest_ptx(lowered, chosen)
    stages = Stages()
    if options.keep_stages:
        stages = stages_of(printed, chosen, version, source, extension.passes)
    level, shape = options.level, options.shape
    judged = [
        *lowered.notes,
        *verify(lowered, chosen, final, level, shape, is_concerned=is_concerned),
        *launched(lowered, chosen, options),
        *extension.judge(lowered),
    ]
    return Compiled(
        chosen, final, printed, lowered, once(judged), stages, file, level=level, shape=shape,
        lineinfo=extension.lineinfo, is_concerned=is_concerned,
    )  # fmt: skip


def _read(
    text: str, file: str, opt: int | None, target: Target, extension: Extension
) -> tuple[str, ir.Module, Source]:
    """A module at a level of LLVM's optimiser: as LLVM prints it, as records, and its places.

    Raises: InputError, SelectionError.
    """
    printed = None
    if (opt is None and _has_variables(text)) and not _has_huge_integers(text):
        printed = promoted(text, default_level(text), target.llvm_processor, file=file)
    if printed is not None:
        find = functools.partial(_places_of_promoted, text, file, target)
    else:
        printed = parse(text, file=file)
        find = functools.partial(_places, text, file, printed)
    printed = extension.rewritten(printed)
    module = read_module(printed)
    source = Source(file, None, text, None, find, functools.partial(read_module, printed))
    is_asked = opt or (opt is None and " = alloca " in printed and find.func is _places)
    if is_asked and not _has_huge_integers(text):
        check_machine(module, file, text)
        check_launches(module, target, file, text)
        from nvgen.optimizer.optimize import optimize

        return optimize(printed, module, source.placed(module), opt, target)
    return printed, module, source


_ALLOCA = re.compile(r"=\s*+alloca\b")
_LONG_INTEGER = re.compile(r"i\d{6}")  # nearly no text has one, and this is found fast
_INTEGER = re.compile(r"(?<![%@\w.$-])i(\d{6,})\b")


def _has_variables(text: str) -> bool:
    """Whether a module has variables of the stack."""
    return "alloca" in text and _ALLOCA.search(text) is not None


def _has_huge_integers(text: str) -> bool:
    """Whether a module names a type of integers that no thread has registers for.

    Selection refuses them at once, where LLVM's passes may multiply for minutes.
    """
    if _LONG_INTEGER.search(text) is None:
        return False
    return any(int(bits) > 64 * MOST_REGISTERS for bits in _INTEGER.findall(text))


def _places(text: str, file: str, printed: str, module: ir.Module) -> Source:
    """Where the instructions of a module stand in the user's text, of which LLVM printed it."""
    return Source(file, align_places(module, text, printed), text)


def _places_of_promoted(text: str, file: str, target: Target, module: ir.Module) -> Source:
    """The same of a module whose variables of the stack were promoted at once: step by step."""
    from nvgen.optimizer.optimize import optimize

    printed = parse(text, file=file)
    whole = read_module(printed)
    known = Source(file, align_places(whole, text, printed), text)
    _, same, found = optimize(printed, whole, known, default_level(text), target)
    places, debug = found.places or {}, found.debug or {}
    starts = places_of_globals(text)
    for function in module.definitions():
        if not _are_alike(function, same.functions.get(function.name)):
            # What cannot be told stands where its function does.
            count = len(list(function.instructions()))
            places[function.name] = [starts.get(function.name, (0, 0))] * count
            debug[function.name] = [NO_DEBUG] * count
    return Source(file, places, text, debug)


def _are_alike(one: ir.Function, other: ir.Function | None) -> bool:
    """Whether two functions have the same instructions, in order."""
    return other is not None and [i.opcode for i in one.instructions()] == [
        i.opcode for i in other.instructions()
    ]


def launched(module: Module, target: Target, options: Options) -> list[Finding]:
    """Errors about the launch sizes given in `options`, for levels that do not judge launches."""
    shape = options.shape
    is_given = shape.grid or shape.block or shape.cluster or shape.smem is not None
    if options.level in LAUNCH_LEVELS or not is_given:
        return []
    return errors(verify_launch(module, target, shape))
