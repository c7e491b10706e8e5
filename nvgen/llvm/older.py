"""Atomic operations that older compilers call by libNVVM's names, as instructions.

Layer: nvgen.  Input: the text of a module, such as numba hands to libNVVM.  Output: the same line
by line, so that places keep their lines.  NVVM IR Specification, Atomic Functions.

LLVM reads `llvm.nvvm.atomic.load.add.f32` and its kin as operations that are ordered among all
threads of the system, with a fence for each.  What they stand for, CUDA's atomicAdd, atomicInc and
atomicDec, is relaxed and of the device.
"""

from __future__ import annotations

import re

_NAMES = "llvm.nvvm.atomic.load."
_ATOMIC = re.compile(
    r'\bcall (?P<type>\w+) @"?llvm\.nvvm\.atomic\.load\.(?P<what>add\.f|inc\.|dec\.)\d+\.p\w+"?'
    r"\((?P<pointer>(?=[^,]*(?:\bptr\b|\*))[^,()]+(?:addrspace\(\d+\)[^,()]+)?), "
    r"(?P<value>(?P=type) [^,()]+)\)"
)
_OPERATIONS = {"add.f": "fadd", "inc.": "uinc_wrap", "dec.": "udec_wrap"}


def with_atomic_instructions(text: str) -> str:
    """`text` in which calls of libNVVM's atomic operations are instructions."""
    return _ATOMIC.sub(_instruction, text) if _NAMES in text else text


def _instruction(call: re.Match[str]) -> str:
    operation = _OPERATIONS[call["what"]]
    return f'atomicrmw {operation} {call["pointer"]}, {call["value"]} syncscope("device") monotonic'
