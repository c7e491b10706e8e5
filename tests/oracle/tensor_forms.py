"""PTX statements of tensor copies beyond tiles, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, registers, shuffle, spoil, statement, unique

IMPOSSIBLE = r"cp\.async\.bulk\.tensor\..*(\.[06]d|\.im2col.*\.[12]d)"
"""nvgen's names for ranks that no copy has, so that LLVM IR reaches the rules that refuse them."""

COMPLETE = ".mbarrier::complete_tx::bytes"
HINT = ".L2::cache_hint"
_IM2COL = (".im2col", ".im2col::w", ".im2col::w::128")
_SPACES = (".shared::cluster", ".shared::cta")
_CASTS = ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b")
_GROUPS = ("", ".cta_group::1", ".cta_group::2")
_OPS = (".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor", ".exch", ".cas", "")
_VECTORS = (
    "{%h1}", "{%h1, %h2}", "{%h1, %h2, %h3}", "{%uh1}", "{%sh1}", "{%hf1}", "{%r1}", "{%c1}",
    "{%rd1}", "{%p1}", "{%hx1}", "{0}", "{-1}", "{65535}", "{65536}", "{-32769}", "{1.5}",
    "{0, 1}", "{%h1, 1}", "{%uh1, %sh1}", "{_}", "%h1", "1", "", "[%r1]", "{%h1, %h2, %h3, %h4}",
)  # fmt: skip
_FIVE = (
    "{%r1, %r2, %r3, %r4, %r5}", "{%s1, %u2, 0, 1, 2}", "{0, 1, 2, 3, 4}", "{%r1, %r2}",
    "{%r1, %r2, %r3, %r4}", "{%r1, %r2, %r3, %r4, %r5, %r6}", "{%h1, %h2, %h3, %h4, %h5}",
    "{%f1, %f2, %f3, %f4, %f5}",
)  # fmt: skip


def _place(dim: int) -> str:
    return "[%rd1, " + registers(max(dim, 1), "%s") + "]"


def _window(mode: str, dim: int) -> str:
    return registers(max(dim - 2, 1) if mode == ".im2col" else 2, "%h")


def im2col_loads() -> list[str]:
    """cp.async.bulk.tensor in im2col modes.

    Full product of dimension x space x mode x multicast x cta_group x cache hint; of dimension x
    mode x every kind of offsets; of space x multicast x hint x the operands behind the offsets.
    """
    out = []
    for dim, space, mode, cast, group, hint in itertools.product(
        range(1, 6), _SPACES, _IM2COL, _CASTS, _GROUPS, ("", HINT)
    ):
        mask = "" if not cast else "%r6" if cast.endswith("32b") else "%h6"
        op = f"cp.async.bulk.tensor.{dim}d{space}.global{mode}{COMPLETE}{cast}{group}{hint}"
        operands = ("[%r1]", _place(dim), "[%r2]", _window(mode, dim), mask)
        out.append(statement(op, *operands, "%rd6" if hint else ""))
    for dim, mode, window in itertools.product(range(7), _IM2COL, _VECTORS):
        op = f"cp.async.bulk.tensor.{dim}d.shared::cta.global{mode}{COMPLETE}"
        out.append(statement(op, "[%r1]", _place(dim), "[%r2]", window))
    for space, cast, hint, mask, policy in itertools.product(
        _SPACES, ("", ".multicast::cluster"), ("", HINT), ("", "%h6", "%r6", "3"), ("", "%rd6", "5")
    ):
        op = f"cp.async.bulk.tensor.3d{space}.global.im2col{COMPLETE}{cast}{hint}"
        out.append(statement(op, "[%r1]", _place(3), "[%r2]", "{%h1}", mask, policy))
    for mode, given in itertools.product((".tile", "", ".tile::gather4"), ("{%h1}", "%h1", "")):
        op = f"cp.async.bulk.tensor.3d.shared::cta.global{mode}{COMPLETE}"
        out.append(statement(op, "[%r1]", _place(3), "[%r2]", given))
    name = f"cp.async.bulk.tensor.4d.shared::cluster.global.im2col{COMPLETE}"
    operands = ("[%r1]", "[%rd1, {%r3, %r4, %r5, %r6}]", "[%r2]", "{%h1, %h2}")  # type: ignore[assignment]
    out += spoil(name, operands, SOME)
    mods = [".3d", ".shared::cluster", ".global", ".im2col::w", COMPLETE, ".multicast::cluster"]
    wide = ("[%r1]", "[%rd1, {%r3, %r4, %r5}]", "[%r2]", "{%h1, %h2}", "%h3")
    out += shuffle("cp.async.bulk.tensor", mods, *wide)
    return unique(out)


def four_rows() -> list[str]:
    """Gathering loads and scattering stores: dimension x space x every modifier x coordinates."""
    out = []
    for dim, space, cast, group, hint in itertools.product(
        range(1, 6), _SPACES, _CASTS, _GROUPS, ("", HINT)
    ):
        mask = "" if not cast else "%r6" if cast.endswith("32b") else "%h6"
        op = f"cp.async.bulk.tensor.{dim}d{space}.global.tile::gather4{COMPLETE}{cast}{group}{hint}"
        place = "[%rd1, {%r3, %r4, %r5, %r6, %r7}]"
        out.append(statement(op, "[%r1]", place, "[%r2]", mask, "%rd6" if hint else ""))
    for dim, given in itertools.product((1, 2, 4, 5), _FIVE):
        op = f"cp.async.bulk.tensor.{dim}d.shared::cta.global.tile::gather4{COMPLETE}"
        out.append(statement(op, "[%r1]", f"[%rd1, {given}]", "[%r2]"))
        op = f"cp.async.bulk.tensor.{dim}d.global.shared::cta.tile::scatter4.bulk_group"
        out.append(statement(op, f"[%rd1, {given}]", "[%r1]"))
        op = f"cp.async.bulk.prefetch.tensor.{dim}d.L2.global.tile::gather4"
        out.append(statement(op, f"[%rd1, {given}]"))
        op = f"cp.reduce.async.bulk.tensor.{dim}d.global.shared::cta.max.tile::scatter4.bulk_group"
        out.append(statement(op, f"[%rd1, {given}]", "[%r1]"))
    scatter = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
    operands = ("[%rd1, {%r1, %r2, %r3, %r4, %r5}]", "[%r1]")
    out += spoil(scatter, operands, SOME)
    out += spoil(scatter + HINT, (*operands, "%rd2"), SOME)
    mods = [".2d", ".global", ".shared::cta", ".tile::scatter4", ".bulk_group"]
    out += shuffle("cp.async.bulk.tensor", mods, *operands)
    return unique(out)


def stores_and_reductions() -> list[str]:
    """cp.async.bulk.tensor to global memory, and cp.reduce.async.bulk.tensor.

    Full product of dimension x operation x mode x hint; of space x completion x mode; spoilt ones.
    """
    out = []
    modes = ("", ".tile", ".im2col_no_offs", ".im2col", ".tile::scatter4", ".tile::gather4")
    for dim, mode, op, hint in itertools.product(range(7), modes, _OPS, ("", HINT)):
        count = 5 if mode == ".tile::scatter4" else max(dim, 1)
        given = ("[%rd1, " + registers(count) + "]", "[%r1]", "%rd6" if hint else "")
        name = f"cp.reduce.async.bulk.tensor.{dim}d.global.shared::cta{op}{mode}.bulk_group{hint}"
        out.append(statement(name, *given))
        name = f"cp.async.bulk.tensor.{dim}d.global.shared::cta{mode}.bulk_group{hint}"
        out.append(statement(name, *given))
    for source, mode, completion in itertools.product(
        (".shared::cta", ".shared", ".shared::cluster", ".global", ""),
        (".tile", ".im2col_no_offs", ".nosuch"),
        (".bulk_group", "", COMPLETE),
    ):
        name = f"cp.reduce.async.bulk.tensor.3d.global{source}.min{mode}{completion}"
        out.append(statement(name, "[%rd1, {%r1, %r2, %r3}]", "[%r1]"))
    for policy in ("", "%rd6", "5", "%r6", "%ud2", "1.5"):
        name = f"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group{HINT}"
        out.append(statement(name, "[%rd1, {%r3}]", "[%r2]", policy))
        out.append(statement(name.removesuffix(HINT), "[%rd1, {%r3}]", "[%r2]", policy))
    for override in (".override::global_address", ".override::nosuch"):
        name = f"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group{override}"
        out.append(statement(name, "[%rd1, %rd2, {%r3}]", "[%r2]"))
    name = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group"
    operands = ("[%rd1, {%r3, %r4}]", "[%r2]")
    out += spoil(name, operands)
    out += spoil(name + HINT, (*operands, "%rd2"), SOME)
    mods = [".2d", ".global", ".shared::cta", ".xor", ".tile", ".bulk_group", HINT]
    out += shuffle("cp.reduce.async.bulk.tensor", mods, *operands, "%rd2")
    return unique(out)


def prefetches() -> list[str]:
    """cp.async.bulk.prefetch.tensor: dimension x mode x hint, the offsets, spoilt ones."""
    out = []
    for dim, mode, hint in itertools.product(
        range(7), ("", ".tile", ".im2col_no_offs", ".tile::scatter4", *_IM2COL), ("", HINT)
    ):
        window = _window(mode, dim) if mode in _IM2COL else ""
        name = f"cp.async.bulk.prefetch.tensor.{dim}d.L2.global{mode}{hint}"
        out.append(statement(name, _place(dim), window, "%rd6" if hint else ""))
    for dim, mode, window in itertools.product((3, 5), ("", *_IM2COL), _VECTORS):
        name = f"cp.async.bulk.prefetch.tensor.{dim}d.L2.global{mode}"
        out.append(statement(name, _place(dim), window))
    for level, source in itertools.product(("", ".L1", ".L2"), ("", ".global", ".shared::cta")):
        out.append(f"cp.async.bulk.prefetch.tensor.1d{level}{source} [%rd1, {{%r1}}];")
    name = "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col"
    operands = ("[%rd1, {%r3, %r4, %r5}]", "{%h1}")
    out += spoil("cp.async.bulk.prefetch.tensor.2d.L2.global", ("[%rd1, {%r3, %r4}]",))
    out += spoil(name, operands, SOME)
    out += spoil(name + HINT, (*operands, "%rd2"), SOME)
    mods = [".3d", ".L2", ".global", ".im2col", HINT]
    out += shuffle("cp.async.bulk.prefetch.tensor", mods, *operands, "%rd2")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "tensor im2col": im2col_loads,
    "tensor four rows": four_rows,
    "tensor stores and reductions": stores_and_reductions,
    "tensor prefetches": prefetches,
}
