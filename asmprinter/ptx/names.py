"""Names of registers and labels in PTX, and the declarations of registers.

Layer: asmprinter.  Input: a function.  Output: a legal identifier, without collisions, for each of
its registers and blocks.  PTX ISA, Identifiers; Register State Space; Parameterized Variable Names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.memo import Memo
from intrinsics.mir import UNNAMED, Form, MachineFunction, Op
from intrinsics.modifiers import ScalarType
from intrinsics.row import Kind, Row

PREFIX = {
    ScalarType.PRED: "%p",
    ScalarType.B8: "%rb",
    ScalarType.B16: "%rs",
    ScalarType.B32: "%r",
    ScalarType.B64: "%rd",
    ScalarType.B128: "%rq",
    ScalarType.F32: "%f",
    ScalarType.F64: "%fd",
    ScalarType.F16X2: "%hh",
}
"""How registers of each class that selection makes are called."""

_RANGE_OF = {cls: f".reg {cls.ptx} {prefix}" for cls, prefix in PREFIX.items()}
"""What the declaration of such registers begins with."""


# ---- tables of labels ------------------------------------------------------------------------


@functools.cache
def table_operand(row: Row) -> str:
    """The name of a row's operand that is a table of labels; "" where it has none."""
    return next((operand.name for operand in row.operands if operand.kind is Kind.LABELS), "")


_BY_TABLE: Memo[Form, bool] = Memo(lambda form: bool(table_operand(form.row)))


def _tables(
    function: MachineFunction, symbols: set[str], registers: Sequence[str], labels: Iterable[str]
) -> dict[Op, str]:
    """The names of the tables that the function branches through; equal ones are one."""
    branches = [
        mi for mi in function.instructions() if mi.form.is_terminator and _BY_TABLE[mi.form]
    ]
    if not branches:
        return {}
    taken = {*symbols, *registers, *labels, *(v.name for v in function.variables)}
    taken |= {p.name for p in (*function.params, *function.results)}
    taken |= {table.name for table in function.prototypes}
    found = dict.fromkeys(mi[table_operand(mi.form.row)] for mi in branches)
    return {targets: unique_identifier(f"$L_table{n}", taken) for n, targets in enumerate(found)}


# ---- registers -------------------------------------------------------------------------------


_LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+")
"""PTX ISA, Identifiers."""


@dataclass(frozen=True, slots=True)
class Names:
    """PTX names of the registers, blocks and label tables of a function."""

    registers: Sequence[str]
    labels: Mapping[str, str]
    tables: Mapping[Op, str]


def names_of(function: MachineFunction, symbols: set[str]) -> Names:
    """The names of a function's registers, labels and tables; `symbols` are those of the module."""
    registers, labels = register_names(function), block_labels(function)
    return Names(registers, labels, _tables(function, symbols, registers, labels.values()))


def register_names(function: MachineFunction) -> list[str]:
    """The PTX name of every register: its own where the function keeps names, else by class."""
    if function.keep_names:
        taken = {p.name for p in function.params}
        return [unique_identifier(name, taken) for name in function.regs.names]
    counts = dict.fromkeys(PREFIX, 0)
    names = []
    for cls in function.regs.classes:
        counts[cls] += 1
        names.append(f"{PREFIX[cls]}{counts[cls]}")
    return names


def block_labels(function: MachineFunction) -> dict[str, str]:
    """The label of every block: its own name where the function keeps names, else after `$L_`."""
    names = [block.name for block in function.blocks]
    if not function.keep_names:
        if is_plain_name("".join(names)):
            return {name: "$L_" + name for name in names}
        taken: set[str] = set()
        return {name: unique_identifier("$L_" + name, taken) for name in names}
    taken = set(function.regs.names)
    labels = {
        name: unique_identifier(name, taken) for name in names if not name.startswith(UNNAMED)
    }
    for name in names:  # those without a name of their own get what the others leave
        if name.startswith(UNNAMED):
            labels[name] = unique_identifier("$L_" + name[1:], taken)
    return labels


def is_plain_name(text: str) -> bool:
    """Whether PTX allows all characters of a name, as it does of most."""
    return text.isascii() and text.replace("_", "").isalnum()


def unique_identifier(name: str, taken: set[str]) -> str:
    """`name` as PTX allows it, and as no other: what is taken is added to."""
    base = name if _LEGAL.fullmatch(name) else "_" + re.sub(r"[^A-Za-z0-9_$]", "_", name)
    found, number = base, 1
    while found in taken:
        number += 1
        found = f"{base}_{number}"
    taken.add(found)
    return found


def register_declarations(
    function: MachineFunction, names: Sequence[str], others: set[str]
) -> Iterator[str]:
    """The `.reg` directives for registers with these names; `others` are names that are taken."""
    if not function.keep_names and "%" not in [name[0] for name in others]:
        classes = function.regs.classes
        for cls in sorted(set(classes), key=_RANK.__getitem__):
            yield f"{_RANGE_OF[cls]}<{classes.count(cls) + 1}>;"
        return
    by_class: dict[ScalarType, list[str]] = {}
    for cls, name in zip(function.regs.classes, names, strict=True):
        by_class.setdefault(cls, []).append(name)
    mixed = _shared_prefixes([*by_class.values(), sorted(others)])
    for cls in sorted(by_class, key=_RANK.__getitem__):
        ranges, single = _ranges(by_class[cls], mixed)
        shown = [f"{prefix}<{count}>" for prefix, count in ranges.items()] + single
        yield f".reg {cls.ptx} {', '.join(shown)};"


def _declaration_order(cls: ScalarType) -> tuple[bool, int, str]:
    return cls is not ScalarType.PRED, cls.bits, cls.value


_RANK = {cls: rank for rank, cls in enumerate(sorted(ScalarType, key=_declaration_order))}
"""The order in which registers are declared, by class."""


_NUMBERED = re.compile(r"(.*[^0-9])(0|[1-9][0-9]*)")


def _shared_prefixes(groups: Sequence[Sequence[str]]) -> set[str]:
    """Beginnings of numbered names that stand in several groups: a range would name too much."""
    seen: dict[str, int] = {}
    mixed = set()
    for i, group in enumerate(groups):
        for name in group:
            match = _NUMBERED.fullmatch(name)
            if match is not None and seen.setdefault(match[1], i) != i:
                mixed.add(match[1])
    return mixed


_SPARSE = 1000
"""Ranges declare at most so many registers that nothing uses."""


def _ranges(names: list[str], mixed: set[str]) -> tuple[dict[str, int], list[str]]:
    """Names of the form `prefix<number>` as ranges, the others singly."""
    ranges: dict[str, int] = {}
    single = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None or match[1] in mixed or int(match[2]) > len(names) + _SPARSE:
            single.append(name)
        else:
            ranges[match[1]] = max(ranges.get(match[1], 0), int(match[2]) + 1)
    return ranges, single
