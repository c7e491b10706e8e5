"""A kernel that is built: its LLVM IR, its parameters, and what a launch gives for them.

Layer: nvgen.builder.  Input: what `KernelBuilder.finish` gives, arrays and numbers.  Output:
compiled code, and launch arguments, with tensor maps made of the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from intrinsics.findings import by_names, input_error
from isel.verifier.launch import LaunchShape
from isel.verifier.levels import LAUNCH_LEVELS
from nvgen.builder.parameters import MapKind, Parameter
from nvgen.builder.refusals import refuse
from nvgen.driver.views import is_device_array
from nvgen.extension import PLAIN, Extension
from nvgen.tensor_map import TensorMap, tensor_map

if TYPE_CHECKING:
    from nvgen.compiled import Compiled
    from nvgen.launches import Dim3


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is built: LLVM IR, with what is known of its launch."""

    name: str
    llvm: str
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...] = field(default=())
    dynamic_shared: int = 0  # bytes that a launch must give it
    target: str | None = None  # what it was built for, where that was said

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters)
        target = f" for {self.target}" if self.target else ""
        return f"<Kernel {self.name}({names}){target}, block {self.block}>"

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
        lineinfo: bool = False,
    ) -> Compiled:
        """Compile for a target, by default the one that it was built for; see `nvgen.compile`.

        With `lineinfo` machine code knows its lines of Python, those of helpers as inlined where
        they were called: ncu and cuda-gdb show them.

        `smem` is what its tiles in dynamic shared memory take, if nothing is said.

        Raises: InputError where no target is known; else what `nvgen.compile` does.
        """
        from nvgen.compilation import shape_of

        shape = shape_of(grid, block, cluster, smem)
        extension = Extension(lineinfo=True) if lineinfo else PLAIN
        compiled = self.compile_for(
            shape, target=target, ptx=ptx, opt=opt, level=level, extension=extension
        )
        return compiled if bound_waits is None else compiled.with_bounded_waits(bound_waits)

    def compile_for(
        self,
        shape: LaunchShape,
        *,
        target: str | None,
        ptx: str | None,
        opt: int | None,
        level: str,
        extension: Extension = PLAIN,
        keep_stages: bool = True,
    ) -> Compiled:
        """`compile` for a launch of which `shape` is known.

        Raises: see `compile`.
        """
        from nvgen.compilation import compile_text

        chosen = target or self.target
        if chosen is None:
            raise refuse("a kernel is compiled for a target", expected="compile(target=…)")
        is_asked = level in LAUNCH_LEVELS and shape.smem is None
        dynamic = self.dynamic_shared if is_asked else shape.smem
        with by_names(self.names):
            compiled = compile_text(
                self.llvm,
                target=chosen,
                ptx=ptx,
                opt=opt,
                level=level,
                file=f"{self.name}.ll",
                keep_stages=keep_stages,
                shape=replace(shape, smem=dynamic, boxes=self.boxes()),
                extension=extension,
            )
        compiled.kernel = self
        return compiled

    @property
    def names(self) -> dict[str, str]:
        """What the parameters of machine records are called."""
        named = enumerate(parameter.name for parameter in self.parameters)
        return {f"{self.name}_param_{number}": name for number, name in named}

    def boxes(self) -> tuple[tuple[str, int], ...]:
        """The bytes of a box of each tensor map, by the parameter's name in machine records."""
        sizes = [parameter.box_bytes for parameter in self.parameters]
        return tuple((f"{self.name}_param_{n}", size) for n, size in enumerate(sizes) if size)

    def arguments(self, arrays: Sequence[object], named: dict[str, object]) -> list[object]:
        """Launch arguments from positional arrays and named ones, tensor maps made on the way.

        Raises: InputError when one is missing, left over or does not fit.
        """
        waiting = list(arrays)
        found: list[object] = []
        for parameter in self.parameters:
            if parameter.name in named:
                value = named.pop(parameter.name)
            elif waiting:
                value = waiting.pop(0)
            else:
                raise input_error(
                    "run/arguments",
                    f"argument '{parameter.name}' is missing",
                    expected=", ".join(p.name for p in self.parameters),
                )
            found.append(_on_host(parameter, value))
        if waiting or named:
            raise input_error(
                "run/arguments",
                "too many arguments",
                got=", ".join([*map(str, named), *["…"] * len(waiting)]),
                expected=", ".join(p.name for p in self.parameters),
            )
        return found


def _on_host(parameter: Parameter, value: object) -> object:
    found = _tensor_map(parameter, value) if parameter.box else value
    if not parameter.is_output:
        return found
    from nvgen.parameters import Output

    is_array = isinstance(found, (np.ndarray, TensorMap)) or is_device_array(found)
    return Output(found) if is_array else found


def _check_images(parameter: Parameter, given: TensorMap | None) -> None:
    """Whether what is given for a map of images is one, whose copies make the kernel's tiles.

    Raises: InputError.
    """
    pixels, channels = parameter.box[-2:] if len(parameter.box) > 1 else (0, 0)
    wanted = ((channels, pixels), parameter.swizzle)
    if parameter.kind is MapKind.IMAGES and (
        given is None or given.im2col is None or (given.box, given.swizzle) != wanted
    ):
        got = f"{given.box[::-1]}, {given.swizzle.words}" if given else "no map of images"
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a tensor map of images, which copies bring pixel by pixel",
            got=got,
            expected=f"{pixels} pixels, {channels} channels, {parameter.swizzle.words}",
            hint="im2col_map(array, Im2col(lower, upper, channels, pixels), swizzle)",
        )


def _tensor_map(parameter: Parameter, value: object) -> TensorMap:
    if isinstance(value, TensorMap):
        _check_images(parameter, value)
        return value
    _check_images(parameter, None)
    if is_device_array(value):
        return tensor_map(value, parameter.box, parameter.swizzle)
    if not isinstance(value, np.ndarray):
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a tensor map of an array",
            got=type(value).__name__,
            expected="a numpy array, or one that lives on a GPU",
        )
    wanted = np.dtype(parameter.dtype.numpy) if parameter.dtype else value.dtype
    if value.dtype != wanted:
        raise input_error(
            "run/argument",
            f"'{parameter.name}' has another element type",
            got=str(value.dtype),
            expected=str(wanted),
        )
    return tensor_map(value, parameter.box, parameter.swizzle)
