"""Statements of PTX as texts: pools of operands, and statements that are spoiled in one place.

Nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

# --- operands ------------------------------------------------------------------------------------

REGISTERS: tuple[str, ...] = (
    "%c1", "%h1", "%r1", "%rd1", "%q1", "%uh1", "%u1", "%ud1", "%sh1", "%s1", "%sd1",
    "%hf1", "%hx1", "%f1", "%fd1", "%p1",
)  # fmt: skip
"""One register of every declared type."""

LITERALS: tuple[str, ...] = (
    "0", "-1", "0x20U", "4294967296", "1.5", "0f3F800000", "0d3FF0000000000000",
)  # fmt: skip

ADDRESSES: tuple[str, ...] = (
    "[%r1]", "[%rd1]", "[%rd1+16]", "[%r1+-16]", "[%sd1]", "[%h1]", "[%f1]", "[smem]", "[mbar+8]",
    "[gmem]", "[kparam]", "[16]",
)  # fmt: skip
"""Addresses in registers of every width and in variables; ``[16]`` is a bare number."""

OTHERS: tuple[str, ...] = (
    "smem", "smem+4", "kparam", "L0", "nosuch", "%tid.x", "WARP_SZ", "!%p1", "-%r1",
    "1+2", "{%r1}", "{%r1, %r2}", "{%rd1, %rd2}",
)  # fmt: skip

EVERY: tuple[str, ...] = REGISTERS + LITERALS + ADDRESSES + OTHERS
"""Every kind of operand: what ``spoil`` puts in the place of a right one."""

SOME: tuple[str, ...] = (
    "%h1", "%r1", "%rd1", "%f1", "%p1", "7", "1.5", "smem", "[%r1]", "[%rd1+16]", "{%r1, %r2}",
)  # fmt: skip
"""A short selection of them, for the second and later forms of a family."""

GUARDS: tuple[str, ...] = ("@%p1", "@!%p1", "@%r1")

ALIENS: tuple[str, ...] = (
    ".nosuch", ".sync", ".relaxed", ".gpu", ".global", ".b32", ".sat", ".cta_group::1",
    ".uni",
)  # fmt: skip
"""Modifiers that are right somewhere else."""

RECENT: tuple[str, ...] = (
    ".exclusive", "::cluster::16b", "::cluster::32b", ".sync_restrict::shared::read::mma::a",
    ".kind::ti16", ".spcompress", ".collector::b::", ".decompress::lut::b", ".layout::",
    ".phase_type::", ".mbarrier::report::", ".override::",
)  # fmt: skip
"""Parts of statements that came with PTX 9.3 and 9.4 and that older tables will not know."""


def registers(count: int, prefix: str = "%r", first: int = 0) -> str:
    """A vector of ``count`` registers in braces."""
    return "{" + ", ".join(f"{prefix}{first + n}" for n in range(count)) + "}"


# --- combining -----------------------------------------------------------------------------------


def statement(op: str, *operands: str) -> str:
    """One statement; an empty operand is left out."""
    given = ", ".join(operand for operand in operands if operand)
    return f"{op} {given};" if given else f"{op};"


def joined(*axes: Sequence[str]) -> list[str]:
    """The full product of the axes, each combination as one string."""
    return ["".join(choice) for choice in itertools.product(*axes)]


def pairwise(*axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows in which every value of an axis meets every value of each other axis at least once."""
    open_pairs = {
        (i, a, j, b): None
        for i, j in itertools.combinations(range(len(axes)), 2)
        for a in range(len(axes[i]))
        for b in range(len(axes[j]))
    }
    rows = []  # type: ignore[var-annotated]
    while open_pairs:
        i, a, j, b = next(iter(open_pairs))
        chosen = {i: a, j: b}
        for axis in range(len(axes)):
            if axis in chosen:
                continue
            gains = [
                sum(_pair(axis, value, other, chosen[other]) in open_pairs for other in chosen)
                for value in range(len(axes[axis]))
            ]
            # with equal gains, turn through the values instead of always taking the first
            best = max(gains)
            ties = [value for value, gain in enumerate(gains) if gain == best]
            chosen[axis] = ties[len(rows) % len(ties)]
        for first, second in itertools.combinations(sorted(chosen), 2):
            open_pairs.pop((first, chosen[first], second, chosen[second]), None)
        rows.append(tuple(axes[axis][chosen[axis]] for axis in range(len(axes))))
    return rows


def _pair(i: int, a: int, j: int, b: int) -> tuple[int, int, int, int]:
    return (i, a, j, b) if i < j else (j, b, i, a)


def spoil(op: str, operands: Sequence[str], pool: Sequence[str] = EVERY) -> list[str]:
    """A form and what is around it: each operand replaced, moved, doubled, left out; guards."""
    out = [statement(op, *operands)]
    for place in range(len(operands)):
        before, after = operands[:place], operands[place + 1 :]
        out += [statement(op, *before, other, *after) for other in pool]
        out.append(statement(op, *before, *after))
        out.append(statement(op, *before, operands[place], *operands[place:]))
        if after:
            out.append(statement(op, *before, after[0], operands[place], *after[1:]))
    for extra in ("%r7", "%p7", "7"):
        out.append(statement(op, *operands, extra))
    out.append(statement(op))
    guards = GUARDS if pool is EVERY else GUARDS[:2]
    out += [f"{guard} {statement(op, *operands)}" for guard in guards]
    return out


def garble(op: str, operands: Sequence[str]) -> list[str]:
    """A few statements that do not even parse; each costs one run of ptxas, once."""
    text = ", ".join(operands)
    return [f"{op} {text},;", f"{op} ({text});", f"{op}. {text};"]


def shuffle(head: str, modifiers: Sequence[str], *operands: str) -> list[str]:
    """Modifiers left out, doubled, in other orders, and modifiers of other instructions."""
    mods = list(modifiers)
    rows: list[Sequence[str]] = []
    for place, mod in enumerate(mods):
        rows.append([*mods[:place], *mods[place + 1 :]])
        rows.append([*mods, mod])
        rows.append([*mods[:place], mod, *mods[place:]])
    if len(mods) <= 4:
        rows += itertools.permutations(mods)
    else:
        rows += [mods[n:] + mods[:n] for n in range(len(mods))]
        rows.append(mods[::-1])
        for place in range(len(mods) - 1):
            rows.append(
                [*mods[:place], mods[place + 1], mods[place], *mods[place + 2 :]],
            )
    rows += [[*mods, alien] for alien in ALIENS]
    rows.append([".nosuch", *mods])
    return [statement(head + "".join(row), *operands) for row in rows]


def unique(statements: Iterable[str]) -> list[str]:
    """The statements without repetitions, in order."""
    return list(dict.fromkeys(statements))
