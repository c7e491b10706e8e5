"""A finished kernel: its LLVM IR, its parameters, and its launch.

Layer: nvgen.  Input: the result of `KernelBuilder.finish`.  Output: compiled code, and
launch arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, NoReturn

from intrinsics.findings import by_names
from intrinsics.lazy_dataclass import dataclass
from isel.verifier.levels import LAUNCH_LEVELS
from nvgen.calling.refusals import refuse
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.compilation.extension import Extension
from nvgen.compilation.options import Options, patterns_of
from nvgen.launching.arguments import Parameter, arguments

if TYPE_CHECKING:
    from nvgen.compilation.compiled import Compiled
    from nvgen.launching.launches import Dim3


@dataclass(frozen=True, slots=True)
class Kernel:
    """A built kernel: LLVM IR, its parameters, and what is known of its launch."""

    name: str
    llvm: str
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...] = field(default=())
    dynamic_shared: int = 0  # bytes that a launch must give it
    target: str | None = None  # what it was built for, where that was said
    parts: tuple[tuple[str, int], ...] = ()  # of dynamic shared memory: names, and their offsets

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters)
        target = f" for {self.target}" if self.target else ""
        return f"<Kernel {self.name}({names}){target}, block {self.block}>"

    def _repr_html_(self) -> str:
        """The LLVM IR, and where tiles lie in dynamic shared memory, folded, for notebooks."""
        from nvgen.compilation.notebook import stages_as_html

        places = "\n".join(f"{offset:8} {name}" for name, offset in self.parts)
        stages = {"Dynamic shared memory": places} if places else {}
        return stages_as_html(repr(self), None, {**stages, "LLVM IR": self.llvm})

    if not TYPE_CHECKING:  # which knows what a kernel has

        def __getattr__(self, name: str) -> NoReturn:
            from nvgen.compilation.compiled import Compiled

            where = f": kernel.compile(…).{name}" if hasattr(Compiled, name) else ""
            raise AttributeError(f"a Kernel has no {name!r}{where}", name=name, obj=self)

    @ends_at_caller
    def compile(
        self,
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
        contract: bool = False,
        lineinfo: bool = False,
        allow: Sequence[str] = (),
    ) -> Compiled:
        """Compile for a target, by default the one that it was built for; see `nvgen.compile`.

        With `contract` a product and a sum may become one fma, as in Triton and nvcc.  With
        `lineinfo` the machine code has the lines of Python, those of helpers as inlined calls, for
        ncu and cuda-gdb.

        `smem` is by default the size of its tiles in dynamic shared memory.

        Raises: InputError where no target is known; else what `nvgen.compile` does.
        """
        from nvgen.compilation.compile_text import shape_of

        shape = shape_of(grid, block, cluster, smem)
        extension = Extension(contract=contract, lineinfo=lineinfo)
        options = Options(target, ptx, opt, level, shape, extension, True, patterns_of(allow))
        compiled = self.compile_for(options)
        return compiled if bound_waits is None else compiled.with_bounded_waits(bound_waits)

    def compile_for(self, options: Options, *, judged: bool = True) -> Compiled:
        """Compile with options as one record; see `nvgen.compilation.compile_text`.

        Raises: see `compile`.
        """
        from nvgen.compilation.compile_text import compile_text

        chosen = self.target if options.target is None else options.target
        shape = options.shape
        if chosen is None:
            raise refuse("a kernel is compiled for a target", expected="compile(target=…)")
        is_asked = options.level in LAUNCH_LEVELS and shape.smem is None
        dynamic = self.dynamic_shared if is_asked else shape.smem
        shape = replace(shape, smem=dynamic, boxes=self.boxes(), parts=self.parts)
        options = replace(options, target=chosen, shape=shape)
        with by_names(self.names):
            compiled = compile_text(self.llvm, options, file=f"{self.name}.ll", judged=judged)
        compiled.kernel = self
        return compiled

    @property
    def names(self) -> dict[str, str]:
        """The names of the parameters in machine records."""
        named = enumerate(parameter.name for parameter in self.parameters)
        return {f"{self.name}_param_{number}": name for number, name in named}

    def boxes(self) -> tuple[tuple[str, int], ...]:
        """The bytes of a box of each tensor map, by the parameter's name in machine records."""
        sizes = [parameter.box_bytes for parameter in self.parameters]
        return tuple((f"{self.name}_param_{n}", size) for n, size in enumerate(sizes) if size)

    def arguments(self, arrays: Sequence[object], named: dict[str, object]) -> list[object]:
        """Launch arguments from positional and named ones; arrays become tensor maps where the
        kernel takes these.

        Raises: InputError when one is missing, left over or does not fit.
        """
        return arguments(self.parameters, arrays, named)
