"""LLVM IR that between its cases holds every construct that LLVM 22 prints.

Each case is LLVM IR as a person would write it.  `printed(case)` is what LLVM makes of it: parsed,
verified, printed; that text is what the reader reads.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from tests.isel.llvm.corpus_control_flow import (
    CALLS,
    CONTROL_FLOW,
    EXCEPTIONS,
    FUNCLETS,
    VARIABLE_ARGUMENTS,
)
from tests.isel.llvm.corpus_instructions import (
    AGGREGATES,
    ATOMICS,
    CASTS,
    COMPARISONS,
    FLOAT_ARITHMETIC,
    INTEGER_ARITHMETIC,
    MEMORY,
    VECTORS,
)
from tests.isel.llvm.corpus_modules import (
    ATTRIBUTES,
    CONSTANTS,
    DEBUG,
    FLOATS,
    FUNCTIONS,
    GLOBALS,
    GPU,
    MODULE,
    NAMES,
    PROGRAM_SPACE,
    STATEPOINT,
    TYPES,
)

CASES: dict[str, str] = {
    "integer arithmetic": INTEGER_ARITHMETIC,
    "float arithmetic": FLOAT_ARITHMETIC,
    "casts": CASTS,
    "comparisons": COMPARISONS,
    "memory": MEMORY,
    "atomics": ATOMICS,
    "vectors": VECTORS,
    "aggregates": AGGREGATES,
    "control flow": CONTROL_FLOW,
    "exceptions": EXCEPTIONS,
    "funclets": FUNCLETS,
    "calls": CALLS,
    "variable arguments": VARIABLE_ARGUMENTS,
    "constants": CONSTANTS,
    "floats": FLOATS,
    "globals": GLOBALS,
    "types": TYPES,
    "names": NAMES,
    "functions": FUNCTIONS,
    "attributes": ATTRIBUTES,
    "module": MODULE,
    "debug": DEBUG,
    "statepoint": STATEPOINT,
    "gpu": GPU,
    "program address space": PROGRAM_SPACE,
}


@cache
def parsed(name: str) -> llvm.ModuleRef:
    """A case as LLVM holds it, verified."""
    return _parse(CASES[name])


@cache
def printed(name: str) -> str:
    """A case as LLVM prints it."""
    return str(parsed(name))


def print_of(text: str) -> str:
    """Any LLVM IR as LLVM prints it."""
    return str(_parse(text))


def _parse(text: str) -> llvm.ModuleRef:
    # A context of its own: in a shared one LLVM renames a type whose name another module uses.
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    return module
