"""PTX statements of bulk copies and asynchronous stores, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from tests.oracle.statements import SOME, pairwise, shuffle, spoil, statement, unique

_BYTES = ".mbarrier::complete_tx::bytes"
_COPY = "cp.async.bulk"
_ORDERS = ("", ".weak", ".relaxed", ".acquire", ".release")
_SCOPES = ("", ".cta", ".cluster", ".gpu", ".sys")
_TYPES = ("", ".b128", ".b64")
_HINTS = ("", ".L2::cache_hint")
_SIZES = (
    "-16", "0", "1", "15", "16", "17", "32", "0x20U", "8+8", "1048544", "1048560", "1048576",
    "4294967296", "4294967312", "16.0", "WARP_SZ", "smem", "smem+16", "%tid.x", "%c1", "%h1", "%r1",
    "%s1", "%u1", "%rd1", "%f1", "%hx1", "%p1", "{%r1}", "[%r1]",
)  # fmt: skip
_NUMBERS = (
    "-1", "0", "1", "15", "16", "65535", "65536", "4294967295", "4294967296", "1.0", "WARP_SZ",
    "smem+4", "%c1", "%h1", "%uh1", "%sh1", "%hf1", "%r1", "%u1", "%rd1", "%ud1", "%fd1", "%p1",
)  # fmt: skip
_SHARED_ADDRESSES = (
    "[%r1]", "[%rd1]", "[%rd1+16]", "[%r1+-16]", "[%h1]", "[%f1]", "[smem+32]", "[mbar+8]",
    "[gmem]", "[cmem]", "[kparam]", "[16]", "%r1", "smem",
)  # fmt: skip

_NARROW = re.compile(r"bulk\.shared::cluster\.global\S* (\[%h1|\[[^\]]*\], \[%[rh]\d)")
"""Loads with narrow addresses, which ptxas takes until it generates code, and sm_120 not at all."""


def _wide(statements: Iterable[str]) -> list[str]:
    """The statements without repetitions, and without narrow addresses of loads."""
    return [s for s in unique(statements) if not _NARROW.search(s)]


def _directions() -> list[tuple[str, str, tuple[str, ...]]]:
    """State spaces and completion with the operands that the manual gives the form."""
    return [
        (".shared::cluster.global", _BYTES, ("[%r1]", "[%rd1]", "16", "[%r2]")),
        (".shared::cta.global", _BYTES, ("[%r1]", "[%rd1]", "16", "[%r2]")),
        (".shared::cluster.shared::cta", _BYTES, ("[%r1]", "[%r4]", "16", "[%r2]")),
        (".global.shared::cta", ".bulk_group", ("[%rd1]", "[%r4]", "16")),
    ]


def _spaces(head: str, tail: str) -> list[str]:
    """All state spaces x completion mechanisms, with three, four and five operands."""
    spaces = ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const")
    out = []
    for dst, src, how in itertools.product(spaces, spaces, ("", _BYTES, ".bulk_group")):
        name = f"{head}{dst}{src}{how}{tail}"
        out += [statement(name, "[%rd1]", "[%rd2]", "16", more) for more in ("", "[%r2]")]
    return out


def _operands(head: str, operands: Sequence[str], sizes: Sequence[str] = _SIZES) -> list[str]:
    """Each size, and each address in each place of an address."""
    out = [statement(head, *operands[:2], size, *operands[3:]) for size in sizes]
    for place in (0, 1, 3):
        if place < len(operands):
            for given in _SHARED_ADDRESSES:
                replaced = [*operands[:place], given, *operands[place + 1 :]]
                out.append(statement(head, *replaced))
    return out


def bulk_copies() -> list[str]:
    """cp.async.bulk ("cp.async.bulk"): directions, orders, operands.

    Full products: destination x source x completion; for each direction order x scope x type, and
    each size and address alone.
    """
    out = _spaces(_COPY, "")
    for spaces, how, operands in _directions():
        for order, scope, type_ in itertools.product(_ORDERS, _SCOPES, _TYPES):
            out.append(statement(f"{_COPY}{order}{scope}{spaces}{how}{type_}", *operands))
        out += _operands(_COPY + spaces + how, operands)
        out += spoil(_COPY + spaces + how, operands, SOME)
        out += shuffle(_COPY, [*spaces.replace(".", " .").split(), how], *operands)
        modifiers = [".relaxed", ".gpu", *spaces.replace(".", " .").split(), how, ".b128"]
        out += shuffle(_COPY, modifiers, *operands)
    return _wide(out)


def bulk_copy_options() -> list[str]:
    """What only some directions have: a multicast, a mask of bytes, bytes out of bounds, a hint.

    Pairs of all options for each direction, with and without the operands that they take; full
    products of multicast x mask and of hint x policy.
    """
    return _wide([*_options(), *_spoilt_options()])


def _options() -> list[str]:
    """Copies of every direction with every option, and with the operands that it takes."""
    out: list[str] = []
    casts = ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b")
    masks = ("", "%h1", "%r1", "3")
    policies = ("", "%rd1", "%ud1", "%fd1", "%r1", "7", "smem+4")
    for spaces, how, operands in _directions():
        for cast, hint, oob, mask, order in pairwise(
            casts, _HINTS, ("", ".ignore_oob"), ("", ".cp_mask"), ("", ".weak", ".relaxed.gpu")
        ):
            type_ = ".b128" if order == ".relaxed.gpu" else ""
            name = f"{_COPY}{order}{spaces}{how}{cast}{hint}{oob}{mask}{type_}"
            inner = ("1", "2") if oob else ()
            given = [*operands[:3], *inner, *operands[3:]]
            last = ["%h1"] if cast else []
            last += ["%rd3"] if hint else []
            last += ["%h2"] if mask else []
            out += [statement(name, *given, *last[:n]) for n in range(len(last) + 1)]
        for hint, policy in itertools.product(_HINTS, policies):
            out.append(statement(f"{_COPY}{spaces}{how}{hint}", *operands, policy))
        for cast, mask, hint in itertools.product(casts, masks, _HINTS):
            policy = "%rd3" if hint else ""
            out.append(statement(f"{_COPY}{spaces}{how}{cast}{hint}", *operands, mask, policy))
        for number in _NUMBERS:
            out.append(statement(f"{_COPY}{spaces}{how}{casts[1]}", *operands, number))
            out.append(statement(f"{_COPY}{spaces}{how}{casts[3]}", *operands, number))
            out.append(statement(f"{_COPY}{spaces}{how}.cp_mask", *operands, number))
    return out


def _spoilt_options() -> list[str]:
    """Bytes out of bounds, and options with one operand or modifier that is wrong."""
    out: list[str] = []
    load, before, mbar = _COPY + ".shared::cta.global" + _BYTES, ("[%r1]", "[%rd1]", "16"), "[%r2]"
    for left, right in itertools.product(_NUMBERS, ("0", "15", "16", "%r1", "%h1")):
        out.append(statement(load + ".ignore_oob", *before, left, right, mbar))
        out.append(statement(load + ".ignore_oob", *before, right, left, mbar))
    for order, scope, type_ in itertools.product(_ORDERS, _SCOPES, _TYPES):
        name = f"{load.replace(_COPY, _COPY + order + scope)}.ignore_oob{type_}"
        out.append(statement(name, *before, "1", "2", mbar))
    out += spoil(load + ".ignore_oob", (*before, "1", "%r2", mbar), SOME)
    for size in _SIZES:
        out.append(statement(load + ".ignore_oob", "[%r1]", "[%rd1]", size, "0", "0", mbar))
    store = _COPY + ".global.shared::cta.bulk_group.L2::cache_hint.cp_mask"
    out += spoil(store, ("[%rd1]", "[%r4]", "16", "%rd2", "%h1"), SOME)
    mods = [".global", ".shared::cta", ".bulk_group", ".L2::cache_hint", ".cp_mask"]
    out += shuffle(_COPY, mods, "[%rd1]", "[%r4]", "16", "%rd2", "%h1")
    mods = [".shared::cluster", ".global", _BYTES, ".multicast::cluster", ".L2::cache_hint"]
    out += shuffle(_COPY, mods, "[%r1]", "[%rd1]", "16", "[%r2]", "%h1", "%rd2")
    mods = [".shared::cta", ".global", _BYTES, ".ignore_oob", ".L2::cache_hint"]
    out += shuffle(_COPY, mods, "[%r1]", "[%rd1]", "16", "1", "2", "[%r2]", "%rd2")
    return out


def bulk_prefetches() -> list[str]:
    """cp.async.bulk.prefetch: full product of level x space x hint x policy; sizes, addresses."""
    out = []
    head = _COPY + ".prefetch"
    levels = ("", ".L1", ".L2")
    spaces = ("", ".global", ".shared", ".shared::cta", ".local")
    hints = (*_HINTS, ".L2::evict_last", ".L2::evict_normal", ".L2::cache_hint.L2::evict_last")
    for level, space, hint, policy in itertools.product(
        levels, spaces, hints, ("", "%rd3", "%r3", "7")
    ):
        out.append(statement(f"{head}{level}{space}{hint}", "[%rd1]", "16", policy))
    name = f"{head}.L2.global"
    out += [statement(name, "[%rd1]", size) for size in _SIZES]
    out += [statement(name, given, "16") for given in _SHARED_ADDRESSES]
    out += spoil(name, ("[%rd1]", "%r1"), SOME)
    out += shuffle(head, [".L2", ".global"], "[%rd1]", "16")
    out += shuffle(head, [".L2", ".global", ".L2::cache_hint"], "[%rd1]", "16", "%rd2")
    return unique(out)


_OPS = (".and", ".or", ".xor", ".add", ".inc", ".dec", ".min", ".max", ".exch")
_ELEMENTS = (
    ".b8", ".b16", ".b32", ".b64", ".b128", ".u16", ".u32", ".u64", ".s32", ".s64", ".f16", ".bf16",
    ".f16x2", ".f32", ".f64",
)  # fmt: skip


def bulk_reductions() -> list[str]:
    """cp.reduce.async.bulk: full products of operation x type x .noftz, order x scope; operands."""
    out = []
    head = "cp.reduce.async.bulk"
    for spaces, how, operands in _directions():
        name = f"{head}{spaces}{how}"
        for op, noftz, type_ in itertools.product(_OPS, ("", ".noftz"), _ELEMENTS):
            out.append(statement(f"{name}{op}{noftz}{type_}", *operands))
        for order, scope, hint in itertools.product(_ORDERS, _SCOPES, _HINTS):
            full = f"{head}{order}{scope}{spaces}{how}{hint}.add.u32"
            out.append(statement(full, *operands))
            out.append(statement(full, *operands, "%rd3"))
        options = (".multicast::cluster", ".cp_mask", ".ignore_oob")
        out += [statement(f"{name}{o}.add.u32", *operands, "%h1") for o in options]
        out += _operands(f"{name}.add.u32", operands)
        out += spoil(f"{name}.add.u32", operands, SOME)
        out += shuffle(head, [*spaces.replace(".", " .").split(), how, ".min", ".s32"], *operands)
    out += _spaces(head, ".add.u32")
    return unique(out)


_VALUES = (
    "%c1", "%h1", "%r1", "%rd1", "%q1", "%u1", "%s1", "%ud1", "%sd1", "%hf1", "%hx1", "%f1", "%fd1",
    "%p1", "5", "1.5", "0f3F800000", "smem", "smem+4", "%tid.x", "{%r1}", "{%r1, %r2}",
    "{%f1, %f2}", "{1, 2}", "{%rd1, %rd2}", "{%r1, %r2, %r3}", "{%r4, %r5, %r6, %r7}",
    "{%rd4, %rd5, %rd6, %rd7}", "{1, 2, 3, 4}",
)  # fmt: skip
_SPACES = ("", ".global", ".shared::cluster")


def async_stores() -> list[str]:
    """st.async: full products of order x scope x space x completion, vector x type x value."""
    out = []
    head = "st.async"
    for order, scope, space in itertools.product(
        ("", ".weak", ".release", ".relaxed"), _SCOPES, _SPACES
    ):
        for mmio in ("", ".mmio"):
            out.append(f"{head}{mmio}{order}{scope}{space}.u32 [%rd1], %r2;")
            out.append(f"{head}{mmio}{order}{scope}{space}{_BYTES}.u32 [%rd1], %r2, [%rd3];")
    types = (".b8", ".b16", *_ELEMENTS[2:5], ".u8", ".u32", ".u64", ".s32", ".f16", ".f32", ".f64")
    for vec, type_, given in itertools.product(("", ".v2", ".v4", ".v8"), types, _VALUES):
        out.append(f"{head}.shared::cluster{_BYTES}{vec}{type_} [%r1], {given}, [%r3];")
        if vec in ("", ".v2"):
            out.append(f"{head}.release.gpu.global{vec}{type_} [%rd1], {given};")
    name = f"{head}.weak.shared::cluster{_BYTES}.v2.b32"
    for place in _SHARED_ADDRESSES:
        out.append(f"{name} {place}, {{%r1, %r2}}, [%r3];")
        out.append(f"{name} [%r3], {{%r1, %r2}}, {place};")
        out.append(f"{head}.release.gpu.u32 {place}, %r1;")
    out += spoil(f"{head}.shared::cluster{_BYTES}.u32", ("[%r1]", "%r2", "[%r3]"), SOME)
    out += shuffle(head, [".weak", ".shared::cluster", _BYTES, ".b32"], "[%r1]", "%r2", "[%r3]")
    out += shuffle(head, [".mmio", ".release", ".sys", ".global", ".u32"], "[%rd1]", "%r2")
    return unique(out)


def async_reductions() -> list[str]:
    """red.async: full products of order x scope x space x completion, operation x type x value."""
    out = []
    head = "red.async"
    for order, scope, space in itertools.product(
        ("", ".weak", ".release", ".relaxed"), _SCOPES, _SPACES
    ):
        for mmio in ("", ".mmio"):
            out.append(f"{head}{mmio}{order}{scope}{space}.add.u32 [%rd1], %r2;")
            full = f"{head}{mmio}{order}{scope}{space}{_BYTES}.add.u32"
            out.append(f"{full} [%rd1], %r2, [%rd3];")
    near = f"{head}.relaxed.cluster.shared::cluster{_BYTES}"
    for op, type_, given in itertools.product(_OPS, _ELEMENTS, ("%r1", "%rd1", "%f1", "%fd1", "5")):
        out.append(f"{near}{op}{type_} [%r1], {given}, [%r3];")
        out.append(f"{head}.release.gpu.global{op}{type_} [%rd1], {given};")
    for given in _VALUES:
        out.append(f"{near}.add.u32 [%r1], {given}, [%r3];")
        out.append(f"{near}.add.u64 [%r1], {given}, [%r3];")
    for place in _SHARED_ADDRESSES:
        out.append(f"{near}.add.u32 {place}, %r1, [%r3];")
        out.append(f"{near}.add.u32 [%r3], %r1, {place};")
    out += spoil(f"{near}.min.s32", ("[%r1]", "%r2", "[%r3]"), SOME)
    mods = [".relaxed", ".cluster", ".shared::cluster", _BYTES, ".xor", ".b32"]
    out += shuffle(head, mods, "[%r1]", "%r2", "[%r3]")
    out += shuffle(head, [".mmio", ".release", ".sys", ".global", ".add", ".u32"], "[%rd1]", "%r2")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "bulk copies": bulk_copies,
    "bulk copy options": bulk_copy_options,
    "bulk prefetches": bulk_prefetches,
    "bulk reductions": bulk_reductions,
    "async stores": async_stores,
    "async reductions": async_reductions,
}
