"""Names of LLVM IR as PTX allows them, and what a module's annotations say of names.

Layer: isel.select.  PTX ISA, Identifiers; LLVM, User Guide for NVPTX Back-end: nvvm.annotations.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.metadata import TupleNode, read_node

KERNEL = "ptx_kernel"


def ptx_name(name: str) -> str:
    """A global's name in PTX, which allows letters, digits, `_` and `$` only.

    No name begins with a digit, and neither `_` nor `$` is one alone.  PTX ISA, Identifiers.
    """
    if name.isascii() and name.isidentifier() and name not in ("_", "WARP_SZ"):
        return name
    if name == "WARP_SZ":  # PTX ISA, Constants: 32
        return "WARP_SZ_"
    name = re.sub(r"[.@]", "_$_", name)
    name = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return name if re.match(r"[A-Za-z]|[_$].", name) else "_" + name


def ptx_names(module: ir.Module) -> dict[str, str]:
    """The PTX names of functions and variables; those that PTX allows as they are stay so."""
    functions = [name for name in module.functions if not name.startswith("llvm.")]
    names = functions + list(module.globals) + list(module.aliases)
    bases = {name: ptx_name(name) for name in names}
    if all(name == base for name, base in bases.items()):
        return bases
    names.sort(key=lambda name: bases[name] != name)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = bases[name]
        spellings = (f"{base}_{n}" if n else base for n in itertools.count())
        found[name] = next(s for s in spellings if s not in taken)
        taken.add(found[name])
    return found


def block_names(names: Sequence[str]) -> dict[str, str]:
    """LLVM's block names as PTX labels allow them, each once."""
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        clean = name if name.isalnum() else re.sub(r"[^\w$]", "_", name) or "bb"
        unique, n = clean, 1
        while unique in taken:
            n += 1
            unique = f"{clean}_{n}"
        taken.add(unique)
        result[name] = unique
    return result


def kernels(module: ir.Module) -> list[ir.Function]:
    """The kernels that a module defines."""
    marked = annotated(module, "kernel")
    return [f for f in module.definitions() if f.calling_convention == KERNEL or f.name in marked]


def annotated(module: ir.Module, word: str) -> set[str]:
    """The functions or variables of which `!nvvm.annotations` says `word`."""
    found = set()
    for node_id in module.named_metadata.get("nvvm.annotations", ()):
        node = read_node(module, node_id) if isinstance(node_id, int) else None
        if not isinstance(node, TupleNode) or len(node.elements) < 3:
            continue
        head, *rest = node.elements
        words = [e.text for e in rest if isinstance(e, llvm.MetadataString)]
        if word not in words or not isinstance(head, llvm.WrappedValue):
            continue
        if isinstance(head.value, llvm.GlobalRef):
            found.add(head.value.name)
    return found
