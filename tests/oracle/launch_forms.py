"""PTX statements about caches, bulk stores, other CTAs' launches and memory of several GPUs.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, joined, shuffle, spoil, statement, unique

_SIZES = ("128", "64", "0", "256", "-128", "%r1", "128U", "64+64", "4294967424", "1.0")


def cache_lines() -> list[str]:
    """discard and applypriority: full product of head x space x level x size; perturbations."""
    out = []
    levels = (".L2", ".L1", ".L2::evict_normal", ".L2::evict_last", "")
    for head, space, level in itertools.product(
        ("discard", "applypriority"), ("", ".global", ".shared", ".local", ".const"), levels
    ):
        op = f"{head}{space}{level}"
        out += [statement(op, "[%rd1]", size) for size in _SIZES]
    for op in ("discard.global.L2", "discard.L2", "applypriority.global.L2::evict_normal"):
        out += spoil(op, ("[%rd1]", "128"))
    out += spoil("applypriority.L2::evict_normal", ("[gmem]", "128"), SOME)
    out += shuffle("discard", [".global", ".L2"], "[%rd1]", "128")
    out += shuffle("applypriority", [".global", ".L2::evict_normal"], "[%rd1]", "128")
    return unique(out)


def bulk_zeros() -> list[str]:
    """st.bulk: full product of order x space x address x size x value; perturbations."""
    out = [
        statement(f"st.bulk{order}{space}", address, size, value)
        for order, space, address, size, value in itertools.product(
            ("", ".weak", ".relaxed"),
            ("", ".shared::cta", ".shared", ".shared::cluster", ".global"),
            ("[%rd1]", "[smem]", "[%r1]"), ("64", "%rd2", "%r2", "7"), ("0", "1", "%r3"),
        )
    ]  # fmt: skip
    out += [
        f"st.bulk.shared::cta [smem], {size}, 0;" for size in ("0", "8", "-8", "1.0", "16777216")
    ]
    out += spoil("st.bulk.weak.shared::cta", ("[%rd1]", "64", "0"))
    out += spoil("st.bulk", ("[%rd1]", "%rd2", "0"), SOME)
    out += shuffle("st.bulk", [".weak", ".shared::cta"], "[%rd1]", "64", "0")
    return unique(out)


def launch_control() -> list[str]:
    """clusterlaunchcontrol: modifiers and operands in full products; perturbations."""
    head = "clusterlaunchcontrol.try_cancel.async"
    done = ".mbarrier::complete_tx::bytes"
    out = [
        statement(f"{head}{space}{how}{cast}{type_}", *operands)
        for space, how, cast, type_, operands in itertools.product(
            ("", ".shared::cta", ".shared", ".shared::cluster", ".global"),
            (done, "", ".bulk_group"),
            ("", ".multicast::cluster::all", ".multicast::cluster"), (".b128", ".b64", ""),
            (("[%r1]", "[%r2]"), ("[%rd1]", "[%rd2]"), ("[smem]", "[mbar]")),
        )
    ]  # fmt: skip
    out += spoil(f"{head}.shared::cta{done}.b128", ("[%r1]", "[mbar]"))
    out += shuffle(
        "clusterlaunchcontrol.try_cancel", [".async", ".shared::cta", done, ".b128"],
        "[%r1]", "[%r2]",
    )  # fmt: skip
    query = "clusterlaunchcontrol.query_cancel"
    firsts = joined(
        (".get_first_ctaid",), ("::x", "::y", "::z", "::w", "", ".v4"), (".b32", ".b64", "")
    )
    for what in (".is_canceled.pred", ".is_canceled", ".is_canceled.b32", *firsts):
        for result in (
            "%p1",
            "%r1",
            "%rd1",
            "{%r1, %r2, %r3, %r4}",
            "{%r1, %r2, %r3, _}",
            "{_, %r2, _, _}",
        ):
            out += [f"{query}{what}{type_} {result}, %q1;" for type_ in (".b128", ".b64", "")]
    out += spoil(f"{query}.is_canceled.pred.b128", ("%p1", "%q1"))
    out += spoil(f"{query}.get_first_ctaid::x.b32.b128", ("%r1", "%q1"))
    out += spoil(f"{query}.get_first_ctaid.v4.b32.b128", ("{%r1, %r2, %r3, _}", "%q1"), SOME)
    return unique(out)


_REGISTERS = {
    **dict.fromkeys(("b32", "u32", "s32", "f16x2", "bf16x2", "e5m2x4", "e4m3x4"), "%r{}"),
    **dict.fromkeys(("f16", "bf16", "e5m2x2", "e4m3x2"), "%h{}"),
    **dict.fromkeys(("b64", "u64", "s64"), "%rd{}"),
    **dict.fromkeys(("e5m2", "e4m3"), "%c{}"),
    "f32": "%f{}", "f64": "%fd{}",
}  # fmt: skip


def _numbers(type_: str, vec: str) -> str:
    numbers = [_REGISTERS[type_].format(n % 2 + 1) for n in range(int(vec[2:] or 1))]
    return f"{{{', '.join(numbers)}}}" if vec else numbers[0]


def several_gpus() -> list[str]:
    """multimem: full product of operation x precision x vector x type, and of orders; others."""
    out = []
    ops = (".min", ".add", ".max", ".and", ".xor", ".exch")
    for type_, vec in itertools.product(_REGISTERS, ("", ".v2", ".v4", ".v8")):
        held = _numbers(type_, vec)
        out.append(statement(f"multimem.st.release.gpu.global{vec}.{type_}", "[%rd1]", held))
        for op in ops:
            order = f".relaxed.sys.global{op}"
            out.append(statement(f"multimem.ld_reduce{order}{vec}.{type_}", held, "[%rd1]"))
            out.append(statement(f"multimem.red{order}{vec}.{type_}", "[%rd1]", held))
        for op, acc in itertools.product((".add", ".min"), (".acc::f32", ".acc::f16")):
            out.append(statement(f"multimem.ld_reduce{op}{acc}{vec}.{type_}", held, "[%rd1]"))
    for order, scope, space in itertools.product(
        ("", ".weak", ".relaxed", ".acquire", ".release", ".volatile"),
        ("", ".cta", ".cluster", ".gpu", ".sys"), ("", ".global", ".shared"),
    ):  # fmt: skip
        how = f"{order}{scope}{space}"
        out.append(statement(f"multimem.st{how}.f32", "[%rd1]", "%f1"))
        out.append(statement(f"multimem.ld_reduce{how}.add.f32", "%f1", "[%rd1]"))
        out.append(statement(f"multimem.red{how}.add.f32", "[%rd1]", "%f1"))
    out += spoil("multimem.st.relaxed.sys.global.f32", ("[%rd1]", "%f1"), SOME)
    out += spoil("multimem.ld_reduce.relaxed.sys.global.add.u32", ("%r1", "[%rd1]"), SOME)
    out += shuffle("multimem.red", [".relaxed", ".gpu", ".global", ".add", ".f32"], "[%rd1]", "%f1")
    return unique(out)


def bulk_copies_to_several() -> list[str]:
    """multimem.cp: operation x type, orders, spaces and masks in full products; perturbations."""
    copy, reduce = "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk"
    path, near = ".global.shared::cta.bulk_group", ("[%rd1]", "[smem]")
    ops = (".and", ".or", ".xor", ".add", ".inc", ".dec", ".min", ".max", ".exch")
    types = ("b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64", "f16x2")
    out = [
        statement(f"{reduce}{path}{op}{noftz}.{type_}", *near, "64")
        for op, noftz, type_ in itertools.product(ops, ("", ".noftz"), types)
    ]
    for order, scope, end in itertools.product(
        ("", ".weak", ".relaxed", ".acquire"), ("", ".cta", ".cluster", ".gpu", ".sys"),
        ("", ".b128", ".b64", ".cp_mask"),
    ):  # fmt: skip
        mask = ["%h1"] * (end == ".cp_mask")
        out.append(statement(f"{copy}{order}{scope}{path}{end}", *near, "64", *mask))
        out.append(statement(f"{reduce}{order}{scope}{path}.add.u32", *near, "64"))
    for place, size, mask in itertools.product(  # type: ignore[assignment]
        (path, ".global.shared::cta", ".global.shared::cluster.bulk_group",
         ".shared::cluster.shared::cta.bulk_group", f"{path}.L2::cache_hint"),
        ("64", "0", "8", "1048560", "1048576", "%r1", "%rd1"), ("", "%h1", "3"),
    ):  # fmt: skip
        given = [mask] * bool(mask)
        out.append(statement(f"{copy}{place}{'.cp_mask' * bool(mask)}", *near, size, *given))
        out.append(statement(f"{reduce}{place}.min.s32", *near, size, *given))
    out += spoil(f"{copy}{path}", (*near, "64"))
    out += spoil(f"{reduce}{path}.or.b64", (*near, "64"), SOME)
    out += shuffle(copy, [".global", ".shared::cta", ".bulk_group"], *near, "64")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "cache lines": cache_lines,
    "bulk zeros": bulk_zeros,
    "launch control": launch_control,
    "several GPUs": several_gpus,
    "bulk copies to several": bulk_copies_to_several,
}
