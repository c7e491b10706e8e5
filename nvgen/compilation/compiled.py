"""The result of a compilation: every stage of a module, its machine code, and its launch.

Layer: nvgen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Protocol

from asmprinter.mir.printer import print_mir
from asmprinter.part_names import with_part_names
from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import Finding, VerificationError, by_names, errors
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction, Module
from intrinsics.targets import Ptx, Target
from isel.passes.bound_waits import BOUND_WAITS, Bounded, bound_waits
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape
from isel.verifier.levels import LAUNCH_LEVELS, advice, verify
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.compilation.options import check_switch
from nvgen.compilation.stages import Stages
from nvgen.launching.checks import (
    check_device,
    check_named,
    of_known_kinds,
    only_kernel,
    required_block,
)
from nvgen.launching.launches import (
    Dim3,
    Grid,
    boxes_of,
    check_launch,
    check_shape,
    dim3,
    dynamic_size,
    grid_of,
    kernel_of,
    three,
)
from nvgen.sim.threads.limits import limits_of

if TYPE_CHECKING:
    from nvgen.driver.loaded import LoadedKernel
    from nvgen.launching.arguments import Parameter
    from nvgen.launching.launches import Statistics
    from nvgen.machine_code.assembler import Assembled
    from nvgen.machine_code.ptxas_log import Resources
    from nvgen.machine_code.sass import Sass
    from nvgen.sim.threads.limits import Limits
    from nvgen.sim.threads.machine import Code

GPU_SECONDS = 60.0
"""Seconds that a kernel on a GPU has, if nothing is said."""


class BuiltKernel(Protocol):
    """The interface of `nvgen.built.Kernel` that `Compiled` needs."""

    @property
    def dynamic_shared(self) -> int:
        """Bytes of dynamic shared memory that a launch must give it."""

    @property
    def names(self) -> dict[str, str]:
        """The names of the parameters in machine records."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The kernel's parameters, as the host passes them."""

    def arguments(self, arrays: Sequence[object], named: dict[str, object]) -> list[object]:
        """Launch arguments from positional arrays and named ones.

        Raises: InputError when one is missing, left over or does not fit.
        """


@dataclass(slots=True, repr=False)
class Compiled:
    """A compiled module.

    `llvm` is the IR as LLVM prints it, `mir` and `ptx` the text of the final stages, `stages` the
    MIR after every pass, `judged` what the verifier says at `level` (errors were raised).  Where
    waits are bounded, MIR, PTX and machine code are those of `bounded`; the simulator runs
    `module`, as it reports deadlocks itself.  Where it is not `is_concerned`, rules about whole
    functions have nothing to look at.
    """

    target: Target
    ptx_version: Ptx
    llvm: str
    module: Module
    judged: list[Finding]
    stages: Stages = field(default_factory=Stages)
    file: str = ""
    kernel: BuiltKernel | None = None
    level: str = "record"
    shape: LaunchShape = UNKNOWN_SHAPE
    bounded: Bounded | None = None
    lineinfo: bool = False
    is_concerned: bool = True
    _advice: list[Finding] | None = None
    _loaded: LoadedKernel | None = None
    _codes: dict[str, Mapping[str, Code]] = field(default_factory=dict, init=False)  # by kernel

    @property
    def findings(self) -> list[Finding]:
        """The verifier's findings: those of the level asked for, and beyond it as warnings."""
        if self._advice is None:
            self._advice = advice(self.module, self.level, self.shape)
        found = [*self.judged, *(self.bounded.findings if self.bounded else ()), *self._advice]
        return [finding.renamed(self._names) for finding in found] if self._names else found

    @property
    def _names(self) -> dict[str, str]:
        return self.kernel.names if self.kernel else {}

    @property
    def final(self) -> Module:
        """The machine records that are printed and assembled."""
        return self.bounded.module if self.bounded else self.module

    @property
    def mir(self) -> str:
        """The final machine records as text (MIR)."""
        return with_part_names(print_mir(self.final).text, self.final, self.shape.parts, ";")

    @property
    def ptx(self) -> str:
        """The PTX; an address in dynamic shared memory has the tile's name in a comment."""
        text = print_ptx(self.final, self.ptx_version, lineinfo=self.lineinfo).text
        return with_part_names(text, self.final, self.shape.parts, "//")

    @ends_at_caller
    def cubin(self) -> bytes:
        """The cubin, assembled by ptxas.

        Raises: AssemblerError.
        """
        return self.assembled().cubin

    @ends_at_caller
    def assembled(self) -> Assembled:
        """The cubin with ptxas' log: the resources of each kernel, and what costs it speed, which
        is a Python warning (`nvgen.FindingWarning`), too, but for spills: `resources` has these.

        Raises: AssemblerError.
        """
        from nvgen.compilation.judgement import warn
        from nvgen.machine_code.assembler import assemble_module

        found = assemble_module(self.final, self.ptx_version, self.target, lineinfo=self.lineinfo)
        warn(f for f in found.findings if f.rule != "ptxas/spill")
        return found

    @property
    @ends_at_caller
    def resources(self) -> Resources:
        """The registers, spills, stack, shared memory and barriers of the only kernel.

        Raises: AssemblerError; InputError when there are several kernels (see `assembled`).
        """
        return self.assembled().resources[self._only_kernel()]

    @property
    @ends_at_caller
    def sass(self) -> Sass:
        """The machine code of the only kernel, as nvdisasm lists it: `print(compiled.sass)` counts
        instructions by kind for each loop and role, multiplies beside those of the PTX, and says
        what a launch reserves; `compiled.sass.text` is the listing.

        Raises: AssemblerError, also where nvdisasm is missing; InputError for several kernels.
        """
        from nvgen.machine_code.sass import disassemble

        kernel, done = self._only_kernel(), self.assembled()
        found = disassemble(done.cubin)[kernel]
        asked = sum(
            "mma" in re.split("[._]", mi.row.head)
            for function in self.module.functions
            for mi in function.instructions()
            if function.name == kernel
        )
        return replace(found, asked=asked, resources=done.resources[kernel])

    @ends_at_caller
    def with_bounded_waits(self, seconds: float = 1.0) -> Compiled:
        """A copy in which every wait for an mbarrier on a GPU has a limit.

        A wait longer than `seconds` ends the launch: `run` then raises a DriverError that says
        which threads wait for which phase of which mbarrier, and where.

        Raises: InputError for no such time, and where the waits are bounded already.
        """
        bounded = bound_waits(self.module, seconds)
        stages = self.stages.followed_by(BOUND_WAITS, lambda: print_mir(bounded.module).text)
        return replace(self, bounded=bounded, stages=stages)

    @ends_at_caller
    def run(
        self,
        *args: object,
        grid: Grid = 1,
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

        `grid` may be a function of the arguments as given: `lambda x, y, n: -(-n // 128)`.  `smem`
        is the size of dynamic shared memory in bytes, by default what the kernel is known to need.
        `device` is "sim" (the CPU simulator) or "cuda" (the first GPU).  `schedule` is the
        simulator's: "early", "late" or "random:SEED"; with `races` a data race also ends the run,
        whatever the schedule.  `timeout` (seconds) ends the run, by default after 60 on a GPU,
        where numpy arrays are copied to a process of its own for that; arrays of the GPU (DLPack,
        `__cuda_array_interface__`) are used in place.  `max_steps` limits the simulator's
        instructions, of threads that execute together once: 20 million without it and `timeout`.

        A kernel compiled at level "launch" or "all" is judged again for this launch.

        Raises: InputError for arguments or a shape that do not fit, VerificationError for what the
        rules find, SimulationError or DriverError for what goes wrong.
        """
        check_device(device, schedule)
        limits = limits_of(timeout, max_steps)
        check_switch("run", "races", races)
        check_named(named, self.kernel.names if self.kernel else None)
        with by_names(self._names):
            function = self._function(kernel)
            sizes = grid_of(grid, args, named)
            shape = self._shape_of(function, sizes, block, dim3(cluster, "cluster"), smem)
            arguments = self.kernel.arguments(args, dict(named)) if self.kernel else [*args]
            self._judge_launch(function, arguments, shape)
            if device == "cuda":
                seconds = GPU_SECONDS if timeout is None else timeout
                return self._on_gpu(function, arguments, shape, seconds)
            return self._simulated(function, arguments, shape, schedule, limits, races=races)

    def _shape_of(
        self,
        function: MachineFunction,
        grid: Dim3,
        block: Dim3 | int | None,
        cluster: Dim3,
        smem: int | None,
    ) -> LaunchShape:
        """The shape of a launch, checked against the kernel and the target.

        Raises: InputError.
        """
        chosen = dim3(block if block is not None else required_block(function), "block")
        check_shape(function, grid, chosen)
        dynamic = self._dynamic_shared() if smem is None else dynamic_size(smem)
        shape = LaunchShape(grid, chosen, cluster, dynamic)
        check_launch(self.module, function, self.target, shape, self.file)
        return shape

    def _judge_launch(
        self, function: MachineFunction, arguments: list[object], shape: LaunchShape
    ) -> None:
        """Judge a launch's tensor maps, and at the levels of launches the kernel for its shape.

        Raises: InputError, VerificationError.
        """
        from nvgen.launching.map_launch import check_maps

        check_maps(self.module, function, self.target, arguments)
        if self.level in LAUNCH_LEVELS:
            said = shape.cluster == (1, 1, 1) and function.launch.cluster
            meant = replace(shape, boxes=boxes_of(function, arguments))
            self._judge(replace(meant, cluster=()) if said else meant)

    def _simulated(
        self, function: MachineFunction, arguments: list[object], shape: LaunchShape, schedule: str,
        limits: Limits, *, races: bool,
    ) -> Statistics:  # fmt: skip
        from nvgen.sim.async_ops.schedule import parse_schedule
        from nvgen.sim.launch import simulate

        return simulate(
            self.module,
            function.name,
            of_known_kinds(arguments, function),
            grid=three(shape.grid),
            block=three(shape.block),
            cluster=three(shape.cluster),
            smem=shape.smem or 0,
            schedule=parse_schedule(schedule),
            races=races,
            limits=limits,
            codes=self._codes,
            parts=self.shape.parts,
        )

    @ends_at_caller
    def __call__(
        self,
        *args: object,
        grid: Grid = 1,
        block: Dim3 | int | None = None,
        cluster: Dim3 | int = 1,
        smem: int | None = None,
        stream: object = None,
        **named: object,
    ) -> None:
        """Launch the only kernel on the GPU, without waiting: `compiled(a, b, c, grid=…)`.

        Arrays of the GPU (torch, CuPy, JAX: DLPack or `__cuda_array_interface__`) are used where
        they are, and tensor maps are made of them; the kernel is loaded once.  numpy arrays travel
        there and back, which `run(device="cuda")` does.

        Raises: InputError for arguments or a shape that do not fit, or where there is no GPU,
        AssemblerError, DriverError.
        """
        from nvgen.driver.launch import on_device

        sizes = grid_of(grid, args, named)
        arguments = self.kernel.arguments(args, dict(named)) if self.kernel else [*args]
        if not on_device(arguments):
            self.run(
                *args,
                grid=sizes,
                block=block,
                cluster=cluster,
                smem=smem,
                device="cuda",
                **named,  # type: ignore[arg-type]  # names of parameters
            )
            return
        if self._loaded is None:
            self._loaded = self.load()
        with by_names(self._names):
            self._loaded.launch(
                *arguments, grid=sizes, block=block, cluster=cluster, smem=smem, stream=stream
            )

    def _repr_html_(self) -> str:
        """The stages of the module, folded, for notebooks."""
        from nvgen.compilation.notebook import stages_as_html

        stages = {"LLVM IR": self.llvm}
        stages |= {f"MIR after {name}": text for name, text in self.stages.items()}
        stages |= {"MIR": self.mir, "PTX": self.ptx}
        return stages_as_html(repr(self), self.findings, stages)

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in self.module.functions if f.is_kernel) or "no kernel"
        return f"<Compiled {names} for {self.target}, PTX {self.ptx_version}>"

    def __reduce__(self) -> tuple[object, ...]:
        """What is pickled and copied: all but what a GPU or the simulator has made of it."""
        given = [f.name for f in fields(self) if f.init and f.name != "_loaded"]
        return Compiled, tuple(getattr(self, name) for name in given)

    def _judge(self, shape: LaunchShape) -> None:
        judged = verify(self.module, self.target, self.ptx_version, self.level, shape)
        if wrong := errors(judged):
            raise VerificationError(wrong)

    @ends_at_caller
    def load(self, kernel: str = "") -> LoadedKernel:
        """Load a kernel on the GPU, to launch it on arrays there, on streams, or timed.

        Raises: InputError when there is no GPU that runs it, AssemblerError, DriverError.
        """
        from nvgen.driver.launch import load_kernel

        function = self._function(kernel)
        required = function.launch.reqntid
        return load_kernel(
            self.final,
            self.ptx_version,
            self.target,
            function,
            three(required) if required else None,
            self._dynamic_shared(),
            self.bounded.bounds if self.bounded else None,
            self.kernel.parameters if self.kernel else (),
        )

    def _on_gpu(
        self,
        function: MachineFunction,
        arguments: list[object],
        shape: LaunchShape,
        timeout: float,
    ) -> Statistics:
        from nvgen.driver.jobs import LaunchConfig
        from nvgen.driver.launch import launch_host, on_device
        from nvgen.launching.launches import Statistics

        sizes = three(shape.grid), three(shape.block), three(shape.cluster)
        config = LaunchConfig(*sizes, shape.smem or 0)
        if not on_device(arguments):
            took = launch_host(
                self.final,
                self.ptx_version,
                self.target,
                function,
                arguments,
                config,
                timeout,
                self.bounded.bounds if self.bounded else None,
            )
            return Statistics(milliseconds=took)
        took = self.load(function.name).time(
            *arguments,
            grid=config.grid,
            block=config.block,
            cluster=config.cluster,
            smem=config.smem,
            timeout=timeout,
        )
        return Statistics(milliseconds=took)

    def _function(self, kernel: str) -> MachineFunction:
        """The kernel called so, or the only one."""
        is_named = not isinstance(kernel, str) or kernel
        return kernel_of(self.module, kernel if is_named else self._only_kernel())

    def _only_kernel(self) -> str:
        return only_kernel(self.module)

    def _dynamic_shared(self) -> int:
        return self.kernel.dynamic_shared if self.kernel else self.shape.smem or 0
