"""nvgen's Python interface: compile LLVM IR, look at every stage, run it.

Layer: nvgen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from asmprinter.mir_printer import print_mir
from asmprinter.ptx_printer import print_ptx
from intrinsics.collector import paused_collector
from intrinsics.findings import Finding, VerificationError, errors, input_error, once
from intrinsics.mir import MachineFunction, Module
from intrinsics.targets import Ptx, Target, parse_ptx, parse_target
from isel.llvm.reader import read_module
from isel.passes.bound_waits import BOUND_WAITS, Bounded, bound_waits
from isel.pipeline import Pass, lower
from isel.places import align_places
from isel.select.machine import check_machine
from isel.select.module import Source
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape, verify_launch
from isel.verifier.levels import LAUNCH_LEVELS, LEVELS, advice, beyond, verify
from isel.verifier.record import check_target, lowest_ptx
from nvgen.assembler import Assembled, assemble_module
from nvgen.extension import PLAIN, Extension, Rule, contracted, extension_of
from nvgen.judgement import check_certain, warn
from nvgen.launches import (
    DEVICES,
    Dim3,
    boxes_of,
    check_dynamic,
    check_launch,
    check_shape,
    dim3,
    kernel_of,
    three,
)
from nvgen.llvm import parse
from nvgen.nesting import nesting_limit
from nvgen.ptxas_log import Resources
from nvgen.sim.threads.limits import limits_of
from nvgen.stages import Stages, stages_of

if TYPE_CHECKING:
    from nvgen.builder.built import Kernel
    from nvgen.driver.jobs import Shape
    from nvgen.driver.loaded import LoadedKernel
    from nvgen.launches import Statistics
    from nvgen.parameters import Output
    from nvgen.sim.binding import Argument

GPU_SECONDS = 60.0
"""Seconds that a kernel on a GPU has, if nothing is said."""


@dataclass(slots=True)
class Compiled:
    """A compiled module.

    `llvm` is the IR as LLVM prints it, `mir` and `ptx` the text of the final stages, `stages` the
    MIR after every pass, `judged` what the verifier says at `level` (errors were raised).  Where
    waits are bounded, MIR, PTX and machine code are those of `bounded`; the simulator runs
    `module`, and says of itself who waits for what.
    """

    target: Target
    ptx_version: Ptx
    llvm: str
    module: Module
    judged: list[Finding]
    stages: Stages = field(default_factory=Stages)
    file: str = ""
    kernel: Kernel | None = None
    level: str = "record"
    shape: LaunchShape = UNKNOWN_SHAPE
    bounded: Bounded | None = None
    lineinfo: bool = False
    _advice: list[Finding] | None = None

    @property
    def findings(self) -> list[Finding]:
        """What the verifier says: at the level asked for, and as warnings what it sees beyond."""
        if self._advice is None:
            self._advice = advice(self.module, self.level, self.shape)
        return [*self.judged, *(self.bounded.findings if self.bounded else ()), *self._advice]

    @property
    def final(self) -> Module:
        """The machine records that are printed and assembled."""
        return self.bounded.module if self.bounded else self.module

    @property
    def mir(self) -> str:
        """The final machine records as text."""
        return print_mir(self.final).text

    @property
    def ptx(self) -> str:
        """The PTX."""
        return print_ptx(self.final, self.ptx_version, lineinfo=self.lineinfo).text

    def cubin(self) -> bytes:
        """The cubin that ptxas makes of the PTX.

        Raises: AssemblerError.
        """
        return self.assembled().cubin

    def assembled(self) -> Assembled:
        """The cubin with what ptxas says of it: the resources of each kernel, and warnings.

        Raises: AssemblerError.
        """
        return assemble_module(self.final, self.ptx_version, self.target, lineinfo=self.lineinfo)

    @property
    def resources(self) -> Resources:
        """The registers, spills, stack, shared memory and barriers of the only kernel.

        Raises: AssemblerError; InputError when there are several kernels (see `assembled`).
        """
        return self.assembled().resources[self._only_kernel()]

    def with_bounded_waits(self, seconds: float = 1.0) -> Compiled:
        """The same, with a limit to every wait for an mbarrier on a GPU.

        A wait that is not over after `seconds` ends the launch: `run` then raises a DriverError
        that says which threads wait for which phase of which mbarrier, and where.

        Raises: InputError for no such time, and where the waits are bounded already.
        """
        bounded = bound_waits(self.module, seconds)
        stages = self.stages.followed_by(BOUND_WAITS, lambda: print_mir(bounded.module).text)
        return replace(self, bounded=bounded, stages=stages)

    def run(
        self,
        *args: object,
        grid: Dim3 | int = 1,
        block: Dim3 | int | None = None,
        cluster: Dim3 | int = 1,
        smem: int | None = None,
        device: str = "sim",
        schedule: str = "early",
        races: bool = True,
        kernel: str = "",
        timeout: float | None = None,
        max_steps: int | None = None,
        **named: object,
    ) -> Statistics:
        """Launch the kernel on a device; arrays that it writes are changed in place.

        `smem` is the size of dynamic shared memory in bytes: what the kernel is known to need, if
        nothing is said.  `device` is "sim" (the CPU simulator) or "cuda" (the first GPU).
        `schedule` is the simulator's: "early", "late" or "random:SEED"; with `races` it also ends
        where two accesses meet that nothing orders, whatever the schedule.  `timeout` are
        seconds after which the run is ended: 60 on a GPU, if nothing is said; numpy arrays travel
        to a process of its own for that, arrays of the GPU (DLPack, `__cuda_array_interface__`) are
        used where they are.  `max_steps` limits the instructions that groups of threads carry out
        on the simulator: 20 million, if neither it nor a timeout is given.

        What was compiled at level "launch" or "all" is judged again for this shape and the tensor
        maps that are given.

        Raises: InputError for arguments or a shape that do not fit, VerificationError for what the
        rules find, SimulationError or DriverError for what goes wrong.
        """
        check_device(device, schedule)
        limits_of(timeout, max_steps)
        if named and self.kernel is None:
            raise input_error(
                "run/arguments",
                "only the parameters of a built kernel have names here",
                got=", ".join(f"{name}=…" for name in named),
                expected="arguments by position, and options that `run` has",
            )
        name = kernel or self._only_kernel()
        function = kernel_of(self.module, name)
        chosen = dim3(block if block is not None else self._block(name), "block")
        sizes = dim3(grid), chosen, dim3(cluster, "cluster")
        check_shape(function, sizes[0], chosen)
        dynamic = self._dynamic_shared() if smem is None else smem
        shape = LaunchShape(*sizes, dynamic)
        check_launch(self.module, function, self.target, shape, self.file)
        arguments = self.kernel.arguments(args, dict(named)) if self.kernel else [*args]
        from nvgen.map_launch import check_maps

        check_maps(self.module, function, self.target, arguments)
        if self.level in LAUNCH_LEVELS:
            said = shape.cluster == (1, 1, 1) and function.launch.cluster
            meant = replace(shape, boxes=boxes_of(function, arguments))
            self._judge(replace(meant, cluster=()) if said else meant)
        if device == "cuda":
            from nvgen.driver.jobs import Shape

            seconds = GPU_SECONDS if timeout is None else timeout
            return self._on_gpu(function, arguments, Shape(*sizes, dynamic), seconds)
        from nvgen.sim.async_ops.engine import parse_schedule
        from nvgen.sim.launch import simulate

        return simulate(
            self.module,
            name,
            _arguments(arguments),
            grid=sizes[0],
            block=chosen,
            cluster=sizes[2],
            smem=dynamic,
            schedule=parse_schedule(schedule),
            races=races,
            timeout=timeout,
            max_steps=max_steps,
        )

    def _judge(self, shape: LaunchShape) -> None:
        judged = verify(self.module, self.target, self.ptx_version, self.level, shape)
        if wrong := errors(judged):
            raise VerificationError(wrong)

    def load(self, kernel: str = "") -> LoadedKernel:
        """Load a kernel on the GPU, to launch it on arrays that live there, on streams, and timed.

        Raises: InputError when there is no GPU that runs it, AssemblerError, DriverError.
        """
        from nvgen.driver.launch import load_kernel

        function = kernel_of(self.module, kernel or self._only_kernel())
        required = function.launch.reqntid
        return load_kernel(
            self.final,
            self.ptx_version,
            self.target,
            function,
            three(required) if required else None,
            self._dynamic_shared(),
            self.bounded.bounds if self.bounded else None,
        )

    def _on_gpu(
        self, function: MachineFunction, arguments: list[object], shape: Shape, timeout: float
    ) -> Statistics:
        from nvgen.driver.launch import launch_host, on_device
        from nvgen.launches import Statistics

        if not on_device(arguments):
            took = launch_host(
                self.final,
                self.ptx_version,
                self.target,
                function,
                arguments,
                shape,
                timeout,
                self.bounded.bounds if self.bounded else None,
            )
            return Statistics(milliseconds=took)
        took = self.load(function.name).time(
            *arguments,
            grid=shape.grid,
            block=shape.block,
            cluster=shape.cluster,
            smem=shape.smem,
            timeout=timeout,
        )
        return Statistics(milliseconds=took)

    def _only_kernel(self) -> str:
        names = [f.name for f in self.module.functions if f.is_kernel]
        if not names:
            raise input_error(
                "run/kernel",
                "the module has no kernel",
                got=", ".join(f"@{f.name}" for f in self.module.functions) or "no function",
                expected="define ptx_kernel void @name(…)",
            )
        if len(names) > 1:
            raise input_error(
                "run/kernel",
                "the module has several kernels: name one",
                expected=", ".join(names),
                hint=f'kernel="{names[0]}"',
            )
        return names[0]

    def _dynamic_shared(self) -> int:
        return self.kernel.dynamic_shared if self.kernel else 0

    def _block(self, name: str) -> Dim3 | int:
        function = self.module.function(name)
        required = function.launch.reqntid if function else ()
        if not required:
            raise input_error(
                "run/block", f"kernel {name} does not say its block size", expected="block=…"
            )
        return three(required)


def _arguments(values: Sequence[object]) -> list[Argument | Output]:
    import numpy as np

    from nvgen.parameters import Output
    from nvgen.tensor_map import TensorMap

    found: list[Argument | Output] = []
    for value in values:
        if isinstance(value, (np.ndarray, TensorMap, Output, int, float, np.generic)):
            found.append(value)
        else:
            raise input_error(
                "run/argument",
                "no such kind of argument",
                got=type(value).__name__,
                expected="a numpy array, a TensorMap or a number",
            )
    return found


def check_device(device: str, schedule: str = "early") -> None:
    """Whether there is such a device, and the schedule is one of its.

    Raises: InputError.
    """
    if device not in DEVICES:
        raise input_error(
            "run/device", f"no device {device!r}", got=repr(device), expected=" or ".join(DEVICES)
        )
    if device != "sim" and schedule != "early":
        raise input_error(
            "run/schedule",
            "a GPU has its own schedule",
            got=repr(schedule),
            expected='no schedule, or device="sim"',
        )


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
    keep_stages: bool = True,
) -> Compiled:
    """Compile a module of LLVM IR (its text, bitcode, an llvmlite module, or a built kernel) for
    `target`; a list of such modules is linked first.

    Text may be MIR of any stage and PTX too, which say their target themselves: `target` is another
    one to judge them for.

    `ptx` is the PTX version (default: the lowest that target and program need).  `opt` is the level
    of LLVM's optimiser: 0 compiles as written; None (the default) as written but for variables of
    the stack, which become registers (LLVM's SROA, with which its own code generator begins too);
    1 to 3 are LLVM's pipelines, and tensor-core calls are shielded from them.  `bound_waits` is a
    limit in seconds to each wait for an mbarrier on a GPU; see `Compiled.with_bounded_waits`.

    `level` is the verification level ("record", "function", "launch" or "all") whose errors are
    raised; what it leaves unchecked is a finding.  Errors and warnings of rules about whole
    functions are Python warnings (`nvgen.FindingWarning`) where the level did not ask for them, but
    for those that are certain (`nvgen.judgement.CERTAIN`), which are raised.

    `grid` (CTAs), `block` (threads), `cluster` (CTAs), each a number or up to three, and `smem`
    (bytes of dynamic shared memory) are how the kernels will be launched.  What is given is judged
    by the rules of launch level, whatever `level` is: a block or a cluster other than the one that
    a kernel says is an error.

    `passes` are functions that change the machine records (`intrinsics.mir.Module`) of LLVM IR as
    selection made them, before nvgen's own passes; `rules` judge the final records and give
    findings, of which errors are raised.  `contract` lets sums and products of floating point
    become one fma where no flag of theirs says so (Triton's and libNVVM's default).  `lineinfo`
    writes `.file` and `.loc` into the PTX, for profilers and debuggers.  Without `keep_stages`
    there are no `Compiled.stages`, nor what they are made of.  `docs/extending.md` shows these.

    May be called from several threads at once, and from a process that was forked.  LLVM runs in a
    process of its own, which is started by the first call and kept until this process ends.

    Raises: InputError for what LLVM rejects, dies of or does not end with, and for no such size;
    SelectionError for what cannot be selected; VerificationError for what the rules find; whatever
    a pass or a rule of the caller's raises.
    """
    shape = shape_of(grid, block, cluster, smem)
    extension = extension_of(passes, rules, contract=contract, lineinfo=lineinfo)
    compiled = _compile(
        module_or_text, target, ptx, opt, level, shape, extension, keep_stages=keep_stages
    )
    return compiled if bound_waits is None else compiled.with_bounded_waits(bound_waits)


def shape_of(
    grid: Dim3 | int | None,
    block: Dim3 | int | None,
    cluster: Dim3 | int | None,
    smem: int | None,
) -> LaunchShape:
    """The sizes of a launch as far as they are given.

    Raises: InputError for what is no size.
    """
    check_dynamic(smem)
    return LaunchShape(
        dim3(grid) if grid is not None else (),
        dim3(block, "block") if block is not None else (),
        dim3(cluster, "cluster") if cluster is not None else (),
        smem,
    )


def _compile(
    module_or_text: object,
    target: str | None,
    ptx: str | None,
    opt: int | None,
    level: str,
    shape: LaunchShape,
    extension: Extension,
    *,
    keep_stages: bool,
) -> Compiled:
    from nvgen.loading import language_of, no_target

    if isinstance(module_or_text, str) and language_of("", module_or_text) != "llvm":
        return _compile_records(
            module_or_text, target, ptx, opt, level, shape, extension, keep_stages=keep_stages
        )
    if target is None:
        raise no_target("target=…")
    if isinstance(module_or_text, (bytes, bytearray, memoryview, list, tuple)):
        module_or_text = _one_text(module_or_text)
    if isinstance(module_or_text, str):
        return compile_text(
            module_or_text, target=target, ptx=ptx, opt=opt, level=level, shape=shape,
            extension=extension, keep_stages=keep_stages,
        )  # fmt: skip
    from llvmlite import binding, ir

    from nvgen.builder.built import Kernel

    match module_or_text:
        case Kernel():
            return module_or_text.compile_for(
                shape, target=target, ptx=ptx, opt=opt, level=level,
                extension=extension, keep_stages=keep_stages,
            )  # fmt: skip
        case ir.Module() | binding.ModuleRef():
            return compile_text(
                _text_of(module_or_text), target=target, ptx=ptx, opt=opt, level=level,
                shape=shape, extension=extension, keep_stages=keep_stages,
            )  # fmt: skip
    raise input_error(
        "compile/module",
        "this is no LLVM IR",
        got=type(module_or_text).__name__,
        expected="text, bitcode, an llvmlite module, a Kernel, or a list of these",
    )


def _one_text(given: object) -> str:
    """The text of bitcode, or of modules that are linked.

    Raises: InputError.
    """
    from nvgen.linking import Part, disassembled, linked

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

    from nvgen.builder.built import Kernel

    match given:
        case str():
            return parse(given, file=name)
        case Kernel():
            return parse(given.llvm, file=name)
        case bytes() | bytearray() | memoryview():
            from nvgen.linking import disassembled

            return disassembled(bytes(given), name)
        case ir.Module() | binding.ModuleRef():
            return parse(_text_of(given), file=name)
    raise input_error(
        "compile/module",
        f"{name} is no LLVM IR",
        got=type(given).__name__,
        expected="text, bitcode, an llvmlite module or a Kernel",
    )


def _compile_records(
    text: str,
    target: str | None,
    ptx: str | None,
    opt: int | None,
    level: str,
    shape: LaunchShape,
    extension: Extension,
    *,
    keep_stages: bool,
) -> Compiled:
    """What is made of MIR or PTX.

    Raises: see `compile`.
    """
    from nvgen.loading import load

    _check_options(opt, level)
    result = load(
        "", text, target=target, ptx=ptx, opt=opt, level=level, keep_stages=keep_stages,
        shape=shape, extension=extension,
    ).compiled()  # fmt: skip
    result.level, result.shape = level, shape
    result.judged += _launched(result.module, result.target, level, shape)
    return _vetted(result)


def _text_of(module: object) -> str:
    """The text of an llvmlite module; a triple that says of nothing what it is counts as none."""
    return str(module).replace('target triple = "unknown-unknown-unknown"', 'target triple = ""', 1)


def compile_text(
    text: str,
    *,
    target: str,
    ptx: str | None = None,
    opt: int | None = None,
    level: str = "record",
    file: str = "",
    keep_stages: bool = True,
    shape: LaunchShape = UNKNOWN_SHAPE,
    extension: Extension = PLAIN,
) -> Compiled:
    """`compile`, with the name of the file that the text came from, and how it is launched.

    Raises: see `compile`.
    """
    result = check_text(
        text,
        target=target,
        ptx=ptx,
        opt=opt,
        level=level,
        file=file,
        keep_stages=keep_stages,
        shape=shape,
        extension=extension,
    )
    return _vetted(result)


def _vetted(result: Compiled) -> Compiled:
    """The same, if nothing is wrong with it; what rules beyond its level say is a warning.

    Raises: VerificationError.
    """
    if wrong := errors(result.judged):
        raise VerificationError(wrong)
    unasked = beyond(result.module, result.level, result.shape)
    check_certain(unasked)
    warn(unasked)
    return result


def check_text(
    text: str,
    *,
    target: str,
    ptx: str | None = None,
    opt: int | None = None,
    level: str = "record",
    file: str = "",
    keep_stages: bool = False,
    shape: LaunchShape = UNKNOWN_SHAPE,
    extension: Extension = PLAIN,
) -> Compiled:
    """Compile, but leave the verifier's errors among what it judged.

    `shape` is how the kernels are launched, where that is known.

    Raises: InputError, SelectionError.
    """
    chosen = parse_target(target)
    version = parse_ptx(ptx) if ptx is not None else None
    _check_options(opt, level)
    if version is not None:
        too_old = check_target(chosen, version)
        if too_old:
            raise VerificationError(too_old)
    with nesting_limit(file):
        printed = parse(text, file=file)
        if extension.contract:
            printed = contracted(printed)
        module = read_module(printed)
        source = Source(file, align_places(module, text, printed), text)
        if opt or (opt is None and " = alloca " in printed):
            check_machine(module, file, text)
            from nvgen.optimizer.optimize import optimize

            printed, module, source = optimize(printed, module, source, opt, chosen)
        lowered = lower(module, chosen, version, source, own=extension.passes)
    final = version or lowest_ptx(lowered, chosen)
    stages = Stages()
    if keep_stages:
        stages = stages_of(printed, chosen, version, source, extension.passes)
    judged = once(
        [
            *lowered.notes,
            *verify(lowered, chosen, final, level, shape),
            *_launched(lowered, chosen, level, shape),
            *extension.judge(lowered),
        ]
    )
    return Compiled(
        chosen, final, printed, lowered, judged, stages, file, level=level, shape=shape,
        lineinfo=extension.lineinfo,
    )  # fmt: skip


def _launched(module: Module, target: Target, level: str, shape: LaunchShape) -> list[Finding]:
    """What is wrong with the sizes of a launch that are given, below the level that judges them."""
    is_given = shape.grid or shape.block or shape.cluster or shape.smem is not None
    if level in LAUNCH_LEVELS or not is_given:
        return []
    return errors(verify_launch(module, target, shape))


def _check_options(opt: int | None, level: str) -> None:
    if opt is not None and (type(opt) is not int or opt not in (0, 1, 2, 3)):
        raise input_error(
            "compile/opt", "no such optimisation level", got=repr(opt), expected="0, 1, 2 or 3"
        )
    if level not in LEVELS:
        raise input_error(
            "compile/level",
            "no such verification level",
            got=repr(level),
            expected=", ".join(LEVELS),
        )
