"""Cache policies: 64-bit operands that say what L2 keeps, for other instructions' cache hints.

PTX ISA, Data Movement and Conversion Instructions: createpolicy.  How the bits are laid out is not
documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from intrinsics.modifiers import CachePriority, ScalarType, Space
from intrinsics.row import Attributes, Llvm, Numbers, Row, address, result, value
from intrinsics.targets import at_least, since

_SECTION = "createpolicy"
_NEEDS = since("7.4", at_least(80))
_SECONDARY = (CachePriority.FIRST, CachePriority.UNCHANGED)
_PRIORITIES = {"primary": CachePriority, "secondary": _SECONDARY}
_POLICY = result("d", ScalarType.U64)


def _spelled(priority: CachePriority) -> str:
    return priority.value.replace("::", ".").replace("_", ".")


def _pairs() -> Iterator[tuple[str, Attributes]]:
    """The priorities as nvgen's names have them: LLVM has no cache policies."""
    for primary in CachePriority:
        yield f".{_spelled(primary)}", {"primary": primary}
        for secondary in _SECONDARY:
            name = f".{_spelled(primary)}.{_spelled(secondary)}"
            yield name, {"primary": primary, "secondary": secondary}


_NAMES: Mapping[str, Attributes] = dict(_pairs())
_FRACTION = replace(value("fraction", ScalarType.F32), fraction=True)

# fmt: off
FRACTIONAL = Row(
    "createpolicy.fractional", ".primary{.secondary}.b64", "d {, fraction}",
    qualifiers=_PRIORITIES, operands=(_POLICY, _FRACTION), section=_SECTION, needs=_NEEDS,
    llvm=tuple(
        Llvm(f"createpolicy.fractional{name}", "float:fraction", "i64:d", given=given, own=True)
        for name, given in _NAMES.items()
    ),
)

RANGE = Row(
    "createpolicy.range", "{.space}.primary{.secondary}.b64", "d, [a], primary_size, total_size",
    qualifiers={"space": (Space.GLOBAL,), **_PRIORITIES},
    operands=(
        _POLICY,
        address("a", "space", within=Space.GLOBAL),
        value("primary_size", ScalarType.U32, Numbers(), limit="total_size"),
        value("total_size", ScalarType.U32, Numbers()),
    ),
    section=_SECTION, needs=_NEEDS,
    llvm=tuple(
        Llvm(f"createpolicy.range{space}{name}",
             f"{pointer}:a, i32:primary_size, i32:total_size", "i64:d",
             given={"space": attribute, **given}, own=True)
        for space, pointer, attribute in (("", "p", None), (".global", "p1", Space.GLOBAL))
        for name, given in _NAMES.items()
    ),
)

CONVERTED = Row(
    "createpolicy.cvt", ".L2.b64", "d, a",
    operands=(_POLICY, value("a", ScalarType.U64)), section=_SECTION, needs=_NEEDS,
    llvm=(Llvm("createpolicy.cvt.L2", "i64:a", "i64:d", own=True),),
)
# fmt: on

ROWS = (FRACTIONAL, RANGE, CONVERTED)
