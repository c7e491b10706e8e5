"""Run a kernel's LLVM IR on the host's own processor, one call for each thread.

The same text goes to LLVM's just-in-time compiler for the host and to nvgen; nothing of nvgen's is
used here.  What a GPU has and a host has not is rewritten in the text, mechanically:

* `define ptx_kernel void @k(…)` loses its calling convention and gains one `i32` parameter for each
  special register that the module reads;
* `call i32 @llvm.nvvm.read.ptx.sreg.NAME()` becomes that parameter, plus 0 to keep the name;
* the GPU's triple and data layout become the host's.

Pointers keep their address spaces: LLVM's x86 and AArch64 back ends ignore all below 256.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Sequence

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

Array = NDArray[np.generic]
Dim3 = tuple[int, int, int]

_DEFINE = re.compile(r"define ptx_kernel void @(\w+)\((.*)\) \{")
_SPECIAL = re.compile(r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.([\w.]+)\(\)")
_DECLARE = re.compile(r"^declare i32 @llvm\.nvvm\.read\.ptx\.sreg\..*$", re.MULTILINE)
_TARGET = re.compile(r"^target (triple|datalayout) = .*$", re.MULTILINE)
_C_TYPES: dict[str, type[ctypes.c_uint8 | ctypes.c_uint16 | ctypes.c_uint32 | ctypes.c_uint64]] = {
    "i8": ctypes.c_uint8,
    "i16": ctypes.c_uint16,
    "i32": ctypes.c_uint32,
    "i64": ctypes.c_uint64,
}


def host_text(text: str) -> str:
    """A GPU module's text as one that the host can run."""
    specials = special_registers(text)
    extra = [f"i32 %sreg.{name}" for name in specials]

    def define(match: re.Match[str]) -> str:
        parameters = [p for p in (match[2].strip(), *extra) if p]
        return f"define void @{match[1]}({', '.join(parameters)}) {{"

    text = _TARGET.sub("", _DECLARE.sub("", text))
    text = _DEFINE.sub(define, text)
    return _SPECIAL.sub(lambda match: f"add i32 %sreg.{match[1]}, 0", text)


def special_registers(text: str) -> list[str]:
    """The special registers that a module reads, in the order of the host's parameters."""
    return sorted(set(_SPECIAL.findall(text)))


class HostKernel:
    """The one kernel of a module, compiled for the host."""

    def __init__(self, text: str, *, opt: int = 0) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        found = _DEFINE.search(text)
        assert found is not None, "no kernel in the text"
        self._specials = special_registers(text)
        self._types = [p.split()[0] for p in found[2].split(",") if p.strip()]
        module = binding.parse_assembly(host_text(text))
        module.verify()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(opt=opt, jit=True)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        self._engine = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        prototype = ctypes.CFUNCTYPE(
            None,
            *(ctypes.c_void_p if t == "ptr" else _C_TYPES[t] for t in self._types),
            *(ctypes.c_uint32 for _ in self._specials),
        )
        self._call = prototype(self._engine.get_function_address(found[1]))

    def run(
        self, *arguments: Array | int, grid: Dim3 = (1, 1, 1), block: Dim3 = (32, 1, 1)
    ) -> None:
        """Call the kernel once for each thread of the grid; arrays are written in place."""
        given = [_argument(t, a) for t, a in zip(self._types, arguments, strict=True)]
        for ctaid in _indices(grid):
            for tid in _indices(block):
                values = _special_values(grid, block, ctaid, tid)
                self._call(*given, *(values[name] for name in self._specials))


def _argument(type_: str, value: Array | int) -> int:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data
    return int(value) & ((1 << int(type_[1:])) - 1)


def _indices(size: Dim3) -> Sequence[Dim3]:
    x, y, z = size
    return [(i, j, k) for k, j, i in itertools.product(range(z), range(y), range(x))]


def _special_values(grid: Dim3, block: Dim3, ctaid: Dim3, tid: Dim3) -> dict[str, int]:
    """PTX ISA, Special Registers: identification of the thread and the shape of the launch."""
    values = {}
    for axis, i in zip("xyz", range(3), strict=True):
        values[f"tid.{axis}"] = tid[i]
        values[f"ntid.{axis}"] = block[i]
        values[f"ctaid.{axis}"] = ctaid[i]
        values[f"nctaid.{axis}"] = grid[i]
    linear = tid[0] + block[0] * (tid[1] + block[1] * tid[2])
    values["laneid"] = linear % 32
    return values
