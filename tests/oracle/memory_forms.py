"""Statements that access memory, and those of warps, enumerated from the PTX manual."""

from __future__ import annotations

import itertools

from tests.oracle.scalar_forms import OF_TYPE, TYPES
from tests.oracle.statements import (
    ADDRESSES,
    REGISTERS,
    SOME,
    garble,
    pairwise,
    registers,
    shuffle,
    spoil,
    statement,
    unique,
)

# --- 13. ld, st, control flow --------------------------------------------------------------------

MEMORY_SPACES: tuple[str, ...] = (
    "", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param",
    ".param::entry", ".param::func",
)  # fmt: skip
ORDERS: tuple[str, ...] = (
    "", ".weak", ".volatile", ".relaxed", ".acquire", ".release", ".mmio", ".mmio.relaxed",
)  # fmt: skip
SCOPES: tuple[str, ...] = ("", ".cta", ".cluster", ".gpu", ".sys")
LD_CACHES: tuple[str, ...] = (
    "", ".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".wb", ".L1::evict_last", ".L1::no_allocate",
    ".L2::128B", ".L2::cache_hint", ".L1::evict_first.L2::256B", ".L2::evict_last",
)  # fmt: skip
ST_CACHES: tuple[str, ...] = (
    "", ".wb", ".cg", ".cs", ".wt", ".ca", ".L1::evict_first", ".L1::no_allocate",
    ".L2::cache_hint", ".L2::evict_first", ".L2::128B",
)  # fmt: skip
VECTORS: tuple[str, ...] = ("", ".v2", ".v4", ".v8", ".v3")


def _access(op: str, modifiers: str, vector: str, kind: str, place: str, policy: str = "") -> str:
    """An ld or st with as many registers of the type as the vector says."""
    count = {"": 0, ".v2": 2, ".v3": 3, ".v4": 4, ".v8": 8}[vector]
    stem = OF_TYPE[kind]
    wanted = min(count, 4) if stem == "%q" else count
    value = registers(wanted, stem) if count else f"{stem}1"
    operands = (value, place) if op == "ld" else (place, value)
    return statement(f"{op}{modifiers}{vector}{kind}", *operands, policy)


L1_PRIORITIES: tuple[str, ...] = (
    "", ".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last",
    ".L1::no_allocate",
)  # fmt: skip
L2_PRIORITIES: tuple[str, ...] = ("", ".L2::evict_normal", ".L2::evict_first", ".L2::evict_last")


def _cached_accesses() -> list[str]:
    """ld and st with .mmio, .nc, eviction priorities, cache policies and prefetch sizes.

    .mmio x order x scope x space x vector in full; .nc x cache operator, x order, x space, x vector
    and type; eviction priorities, policies, prefetch sizes, order, space, vector and type in pairs.
    """
    out = []
    for op in ("ld", "st"):
        for order, scope, space in itertools.product(
            ("", ".relaxed", ".acquire", ".release", ".weak", ".volatile"),
            ("", ".cta", ".sys"),
            ("", ".global", ".shared", ".local"),
        ):
            out.append(_access(op, f".mmio{order}{scope}{space}", "", ".b32", "[%rd9]"))
        for rest in ("", ".cg", ".L1::evict_last", ".L2::128B"):
            for vector, kind in (("", ".u8"), (".v2", ".u32"), (".v4", ".f32"), ("", ".b128")):
                modifiers = f".mmio.relaxed.sys.global{rest}"
                out.append(_access(op, modifiers, vector, kind, "[%rd9]"))
        for order, space, l1, l2, hint, size, (vector, kind) in pairwise(  # type: ignore[str-unpack]
            ("", ".weak", ".relaxed.gpu", ".acquire.sys", ".release.cta"),
            ("", ".global", ".shared", ".const"),
            L1_PRIORITIES, L2_PRIORITIES, ("", ".L2::cache_hint"),
            ("", ".L2::64B", ".L2::128B", ".L2::256B"),
            (("", ".b32"), (".v2", ".f32"), (".v8", ".b32"), (".v8", ".f32"), (".v4", ".b64")),
        ):  # fmt: skip
            policy = "%rd8" if hint else ""
            modifiers = f"{order}{space}{l1}{l2}{hint}{size}"
            out.append(_access(op, modifiers, vector, kind, "[%rd9]", policy))
    for cop, rest in itertools.product(
        ("", ".ca", ".cg", ".cs", ".lu", ".cv"), ("", ".L1::evict_first", ".L2::128B")
    ):
        out.append(_access("ld", f".global{cop}.nc{rest}", "", ".b32", "[%rd9]"))
    for order, space in itertools.product(
        ("", ".weak", ".volatile", ".relaxed.gpu", ".acquire.cta"),
        ("", ".global", ".shared", ".const", ".param", ".local"),
    ):
        out.append(_access("ld", f"{order}{space}.nc", "", ".b32", "[%rd9]"))
    for vector, kind, rest in itertools.product(
        ("", ".v2", ".v4", ".v8"),
        (".u8", ".b16", ".f32", ".b64", ".b128"),
        ("", ".L2::evict_last", ".L2::cache_hint"),
    ):
        policy = "%rd8" if "hint" in rest else ""
        out.append(_access("ld", f".global.nc{rest}", vector, kind, "[%rd9]", policy))
    return out


def load_store_branch() -> list[str]:
    """ld and st ("Data Movement: ld, st"), bra, ret, exit, trap ("Control Flow Instructions").

    Type x vector x space in full; order x scope x space in full with one type; cache operators x
    space and x order in full; order, scope, space, cache operator, vector and type in pairs; the
    register widths for each type; the forms of addresses for each space.
    """
    out = []
    for op, caches in (("ld", LD_CACHES), ("st", ST_CACHES)):
        for kind, vector in itertools.product(TYPES, VECTORS):
            out.append(_access(op, ".global", vector, kind, "[%rd9]"))
            if vector in ("", ".v4"):
                out.append(_access(op, ".shared", vector, kind, "[%r9]"))
        for order, scope, space in itertools.product(ORDERS[:6], SCOPES, MEMORY_SPACES[:7]):
            if space == ".const" and scope not in ("", ".gpu"):
                continue
            out.append(_access(op, f"{order}{scope}{space}", "", ".b32", "[%rd9]"))
        for cache, space in itertools.product(caches, MEMORY_SPACES[:8]):
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{space}{cache}", "", ".u32", "[%rd9]", policy))
        for order in ORDERS[6:]:
            out += [_access(op, f"{order}{s}.global", "", ".b32", "[%rd9]") for s in SCOPES]
        for cache, order in itertools.product(
            caches, (".weak", ".volatile", ".relaxed.gpu", ".acquire.sys", ".release.cta")
        ):
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{order}.global{cache}", "", ".u32", "[%rd9]", policy))
        for order, scope, space, cache, vector, kind in pairwise(
            ORDERS[:6], SCOPES, MEMORY_SPACES[:7], caches, VECTORS,
            (".b8", ".u16", ".b32", ".f32", ".s64", ".f64", ".b128"),
        ):  # fmt: skip
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{order}{scope}{space}{cache}", vector, kind, "[%rd9]", policy))
        for vector, kind, extra in itertools.product(
            (".v4", ".v8", ".v2"), (".b32", ".f32", ".b64", ".u64", ".f64", ".s32"),
            ("", ".L2::evict_last", ".L1::evict_last", ".nc", ".relaxed.gpu", ".volatile",
             ".L2::64B"),
        ):  # fmt: skip
            first, rest = (extra, "") if extra in (".relaxed.gpu", ".volatile") else ("", extra)
            out.append(_access(op, f"{first}.global{rest}", vector, kind, "[%rd9]"))
        for kind, register in itertools.product(
            (".u8", ".b8", ".u16", ".f16", ".b32", ".f32", ".b64", ".b128"),
            REGISTERS,
        ):  # fmt: skip
            operands = (register, "[%rd9]") if op == "ld" else ("[%rd9]", register)
            out.append(statement(f"{op}.global{kind}", *operands))
        for space, place in itertools.product(
            (*MEMORY_SPACES, ".nosuch"), (*ADDRESSES, "[ktmap]", "[gfloat]", "[gmem+-4]")
        ):
            operands = ("%r1", place) if op == "ld" else (place, "%r1")
            out.append(statement(f"{op}{space}.u32", *operands))
        vectors = (
            "{%r1, %r2}", "{%r1}", "{%r1, %r2, %r3}", "{%f1, %r1}", "{%r1, %rd1}", "{_, %r1}",
            "{%r1, _}", "{%r1, 2}", "%rd1", "{%r1, %r1}", "{_, _}",
        )  # fmt: skip
        for vector in vectors:
            operands = (vector, "[%rd9]") if op == "ld" else ("[%rd9]", vector)
            out.append(statement(f"{op}.global.v2.b32", *operands))
        base = ("%r1", "[%rd1]") if op == "ld" else ("[%rd1]", "%r1")
        out += spoil(f"{op}.global.u32", base)
        pair = ("{%f1, %f2}", "[%rd1]") if op == "ld" else ("[%rd1]", "{%f1, %f2}")
        out += spoil(f"{op}.global.v2.f32", pair, SOME)
        hinted = f"{op}.global.L2::cache_hint.b32"
        out += spoil(hinted, (*base, "%rd2"), SOME)
        order = ".acquire" if op == "ld" else ".release"
        out += shuffle(op, [order, ".gpu", ".global", ".b32"], *base)
        out += shuffle(op, [".volatile", ".shared", ".u32"], *base)
        out += shuffle(op, [".global", ".cg", ".v2", ".f32"], *pair)
        out += [*garble(f"{op}.global.u32", base), statement(f"{op}.u32", *base).replace("]", "")]
    out += _cached_accesses()
    for kind, value in itertools.product(
        (".u32", ".f32", ".b64", ".f64", ".u8", ".v2.b32"),
        ("5", "1.5", "-1", "smem", "gmem", "{1, 2}", "0f3F800000"),
    ):
        out.append(f"st.global{kind} [%rd9], {value};")
    out += ["ld.param.u64 %rd1, [kparam];", "ld.param.u64 %rd1, kparam;",
            "st.param.u64 [kparam], %rd1;", "ld.param.b32 %r1, [ktmap+64];",
            "ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [gmem];", "ldu.global.u32 %r1, [%rd1];",
            "ld.global.u32 _, [%rd1];"]  # fmt: skip
    for op, operands in (("bra", ("L0",)), ("bra.uni", ("L0",)), ("ret", ()), ("ret.uni", ()),  # type: ignore[assignment]
                         ("exit", ()), ("trap", ()), ("brkpt", ())):  # fmt: skip
        out += spoil(op, operands)
    out += [f"{op};" for op in ("exit.uni", "trap.uni", "ret.sync", "bra", "ret.b32", "trap.sync")]
    out += ["@!%p1 bra.uni L0;", "bra.nosuch L0;", "bra.uni.uni L0;", "bra L0, L0;", "bra {L0};",
            "bra 0;", "brx.idx %r1, L0;", "ret %r1;", "call nosuch;", "nop;", "pause;"]  # fmt: skip
    return unique(out)


# --- 14. warp-level and miscellaneous ------------------------------------------------------------


def warp() -> list[str]:
    """shfl.sync, vote.sync, match.sync, redux.sync, activemask, nanosleep, pmevent, setmaxnreg.

    And griddepcontrol, getctarank, mapa.  Full product of modes x types, with and without the
    second result; operands spoiled one at a time.
    """
    return unique([*_exchanges(), *_other_warp_instructions()])


def _exchanges() -> list[str]:
    """shfl, vote, match and redux."""
    out: list[str] = []
    for mode, kind in itertools.product(
        (".up", ".down", ".bfly", ".idx", ".any", ""), (".b32", ".u32", ".s32", ".f32", ".b64", "")
    ):
        out.append(statement(f"shfl.sync{mode}{kind}", "%r1", "%r2", "%r3", "31", "-1"))
        out.append(statement(f"shfl{mode}{kind}", "%r1", "%r2", "%r3", "31"))
    out += spoil("shfl.sync.idx.b32", ("%r1", "%r2", "%r3", "%r4", "%r5"))
    out += spoil("shfl.sync.bfly.b32", ("%r1|%p1", "%f2", "1", "31", "0xffffffff"), SOME)
    out += [statement("shfl.sync.up.b32", d, "%r2", "%r3", "0", "-1")
            for d in ("_|%p1", "%r1|_", "_", "%s1|%p1", "%rd1|%p1", "%p1|%r1",
                      "%r1|%r2")]  # fmt: skip
    out += shuffle("shfl", [".sync", ".down", ".b32"], "%r1", "%r2", "%r3", "31", "-1")
    for mode, kind, d in itertools.product(
        (".all", ".any", ".uni", ".ballot", ".none", ""), (".pred", ".b32", ".u32", ""),
        ("%p1", "%r1")
    ):  # fmt: skip
        out.append(statement(f"vote.sync{mode}{kind}", d, "%p2", "-1"))
        out.append(statement(f"vote{mode}{kind}", d, "%p2"))
    out += spoil("vote.sync.all.pred", ("%p1", "%p2", "%r1"))
    out += spoil("vote.sync.ballot.b32", ("%r1", "!%p2", "0xffffffff"))
    out += shuffle("vote", [".sync", ".any", ".pred"], "%p1", "%p2", "-1")
    out += shuffle("vote", [".sync", ".ballot", ".b32"], "%r1", "%p2", "-1")
    for mode, kind, d, a in itertools.product(
        (".any", ".all", ".none"), (".b32", ".b64", ".u32", ".s64", ".b16", ""),
        ("%r1", "%r1|%p1", "_|%p1", "%r1|_", "_"), ("%r2", "%rd2", "%f2", "7")
    ):  # fmt: skip
        out.append(statement(f"match{mode}.sync{kind}", d, a, "%r3"))
    out += spoil("match.any.sync.b32", ("%r1", "%r2", "%r3"))
    out += spoil("match.all.sync.b64", ("%r1|%p1", "%rd2", "-1"), SOME)
    out += shuffle("match", [".all", ".sync", ".b32"], "%r1|%p1", "%r2", "-1")
    for op, mods, kind in itertools.product(
        (".add", ".min", ".max", ".and", ".or", ".xor", ".inc", ""),
        ("", ".abs", ".NaN", ".abs.NaN", ".NaN.abs"),
        (".u32", ".s32", ".b32", ".f32", ".u64", ".f16", ""),
    ):
        d, a = ("%f1", "%f2") if kind == ".f32" else ("%r1", "%r2")
        out.append(statement(f"redux.sync{op}{mods}{kind}", d, a, "-1"))
    out += spoil("redux.sync.add.s32", ("%r1", "%r2", "%r3"))
    out += spoil("redux.sync.min.f32", ("%f1", "%f2", "%r3"), SOME)
    out += spoil("redux.sync.xor.b32", ("%r1", "%f2", "-1"), SOME)
    out += shuffle("redux", [".sync", ".max", ".NaN", ".f32"], "%f1", "%f2", "-1")
    return out


def _other_warp_instructions() -> list[str]:
    """activemask, nanosleep, pmevent, griddepcontrol, setmaxnreg, mapa and getctarank."""
    out: list[str] = []
    out += spoil("activemask.b32", ("%r1",))
    out += [f"{op} %r1;" for op in ("activemask", "activemask.u32", "activemask.sync.b32")]
    out += spoil("nanosleep.u32", ("%r1",))
    out += [f"nanosleep.u32 {n};" for n in ("0", "1000000", "1000001", "4294967295", "%u1")]
    out += [f"{op} 5;" for op in ("nanosleep", "nanosleep.u64", "nanosleep.b32")]
    out += spoil("pmevent", ("7",))
    out += spoil("pmevent.mask", ("7",))
    out += [f"pmevent{m} {n};" for m in ("", ".mask")
            for n in ("0", "15", "16", "255", "65535", "65536")]  # fmt: skip
    out += ["griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "griddepcontrol;",
            "griddepcontrol.wait.sync;", "griddepcontrol.launch;", "griddepcontrol.wait %r1;",
            "@%p1 griddepcontrol.wait;", "griddepcontrol.wait.launch_dependents;"]  # fmt: skip
    for change, mods, n in itertools.product(
        (".inc", ".dec", ".set", ""),
        (".sync.aligned.u32", ".sync.aligned", ".aligned.u32", ".u32"),
        ("0", "16", "24", "32", "33", "100", "104", "256", "264", "%r1"),
    ):  # fmt: skip
        out.append(statement(f"setmaxnreg{change}{mods}", n))
    out += shuffle("setmaxnreg", [".dec", ".sync", ".aligned", ".u32"], "64")
    for space, kind, a in itertools.product(
        ("", ".shared::cluster", ".shared", ".shared::cta", ".global"),
        (".u32", ".u64", ".b32", ".s32", ".b64", ""),
        ("%r2", "%rd2", "smem", "smem+4", "gmem", "16"),
    ):
        out.append(statement(f"getctarank{space}{kind}", "%r1", a))
        out.append(statement(f"mapa{space}{kind}", "%rd1" if "64" in kind else "%r1", a, "%r3"))
    out += spoil("getctarank.u64", ("%r1", "%rd2"))
    out += spoil("mapa.shared::cluster.u32", ("%r1", "%r2", "%r3"))
    out += spoil("mapa.u64", ("%rd1", "%rd2", "1"), SOME)
    return out


ATOM_OPS: tuple[str, ...] = (
    ".and", ".or", ".xor", ".exch", ".add", ".inc", ".dec", ".min", ".max", ".cas", ".sub",
)  # fmt: skip
ATOM_TYPES: dict[str, str] = {
    ".b8": "%c", ".b16": "%h", ".b32": "%r", ".b64": "%rd", ".b128": "%q", ".u16": "%uh",
    ".u32": "%r", ".u64": "%rd", ".s32": "%s", ".s64": "%sd", ".f16": "%h", ".f16x2": "%r",
    ".bf16": "%h", ".bf16x2": "%r", ".f32": "%f", ".f64": "%fd",
}  # fmt: skip


def _atomic(head: str, modifiers: str, vector: str, kind: str, op: str, place: str = "") -> str:
    """An atom or red with registers of the type, a second value for .cas, a policy for a hint."""
    count = {"": 0, ".v2": 2, ".v4": 4, ".v8": 8}[vector]
    stem = ATOM_TYPES[kind]
    wanted = min(count, 4) if stem == "%q" else count
    values = [registers(wanted, stem) if count else f"{stem}{n}" for n in (1, 2, 3)]
    place = place or "[%rd9]"
    given = [values[0], place, values[1]] if head == "atom" else [place, values[1]]
    if op == ".cas":
        given.append(values[2])
    policy = "%rd8" if "cache_hint" in modifiers else ""
    return statement(f"{head}{modifiers}{vector}{kind}", *given, policy)


def atomics() -> list[str]:
    """atom and red ("Parallel Synchronization and Communication Instructions": atom, red).

    Operation x .noftz x vector x type in full; order x scope x space in full with one operation;
    everything with everything in pairs; hints by space; perturbations of the commonest forms.
    """
    return unique([*_atomics(), *_spoilt_atomics()])


def _atomics() -> list[str]:
    """atom and red, in every operation, type, vector and space."""
    out: list[str] = []
    vectors = ("", ".v2", ".v4", ".v8")
    spaces = ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".const", ".local")
    hints = ("", ".L2::cache_hint")
    for head in ("atom", "red"):
        for op, flush, vector, kind in itertools.product(
            ATOM_OPS, ("", ".noftz"), vectors, ATOM_TYPES
        ):
            if vector and op not in (".add", ".min", ".max", ".exch"):
                continue
            out.append(_atomic(head, f".global{op}{flush}", vector, kind, op))
        for order, scope, space in itertools.product(
            ("", ".relaxed", ".acquire", ".release", ".acq_rel", ".sc", ".weak", ".volatile"),
            SCOPES,
            spaces,
        ):
            out.append(_atomic(head, f"{order}{scope}{space}.add", "", ".u32", ".add"))
        for op, space, hint, kind in itertools.product(
            (".add", ".exch", ".min", ".cas"), spaces[:4], hints, (".u32", ".b64", ".b128", ".u64")
        ):
            out.append(_atomic(head, f"{space}{op}{hint}", "", kind, op))
        for order, scope, space, op, flush, hint, vector, kind in pairwise(
            ("", ".relaxed", ".release", ".acq_rel"), SCOPES, spaces[:5], ATOM_OPS[3:10],
            ("", ".noftz"), hints, vectors, (".b32", ".u32", ".f16", ".bf16x2", ".f32", ".f64"),
        ):  # fmt: skip
            modifiers = f"{order}{scope}{space}{op}{flush}{hint}"
            out.append(_atomic(head, modifiers, vector, kind, op))
    return out


def _spoilt_atomics() -> list[str]:
    """atom and red with one operand or modifier that is wrong."""
    out: list[str] = []
    out += spoil("atom.global.add.u32", ("%r1", "[%rd1]", "%r2"))
    out += spoil("atom.shared.add.f32", ("%f1", "[%r1]", "%f2"), SOME)
    out += spoil("atom.global.add.noftz.f16x2", ("%r1", "[%rd1]", "%r2"), SOME)
    out += spoil("atom.global.add.noftz.f16", ("%h1", "[%rd1]", "%h2"), SOME)
    out += spoil("atom.global.add.v2.f32", ("{%f1, %f2}", "[%rd1]", "{%f3, %f4}"), SOME)
    out += spoil("atom.global.cas.b32", ("%r1", "[%rd1]", "%r2", "%r3"), SOME)
    out += spoil("atom.global.cas.b16", ("%h1", "[%rd1]", "%h2", "%h3"), SOME)
    out += spoil("atom.global.exch.b128", ("%q1", "[%rd1]", "%q2"), SOME)
    out += spoil("atom.global.add.L2::cache_hint.u32", ("%r1", "[%rd1]", "%r2", "%rd2"), SOME)
    out += spoil("red.global.add.u32", ("[%rd1]", "%r2"))
    out += spoil("red.global.add.v2.f32", ("[%rd1]", "{%f3, %f4}"), SOME)
    out += spoil("red.global.add.L2::cache_hint.f32", ("[%rd1]", "%f2", "%rd2"), SOME)
    out += shuffle("atom", [".acquire", ".gpu", ".global", ".add", ".u32"], "%r1", "[%rd1]", "%r2")
    out += shuffle("red", [".relaxed", ".cta", ".shared", ".or", ".b32"], "[%r1]", "%r2")
    out += ["atom.global.add.u32 _, [%rd1], %r2;", "atom.global.cas.b32 _, [%rd1], 0, 1;",
            "atom.global.add.v2.f32 {_, %f1}, [%rd1], {%f1, %f2};",
            "atom.global.add.v2.f32 {%f1, %f1}, [%rd1], {%f1, %f2};",
            "atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {1.0, %f2};",
            "atom.global.add.v2.f32 _, [%rd1], {1.0, 2.0};",
            "atom.global.add.f32 %f1, [%rd1], 1;", "atom.global.exch.b128 _, [%rd1], 5;",
            "atom.add.u32 %r1, [gmem+4], 1;", "atom.shared.add.u32 %r1, [smem+4], 1;",
            "atom.global.add.u32 %r1, [smem], 1;", "atom.shared.add.u32 %r1, [gmem], 1;",
            "red.shared.add.u32 [%rd1], -1;", "red.global.min.s32 [gmem], -1;"]  # fmt: skip
    return out


def caches() -> list[str]:
    """prefetch, prefetchu, isspacep ("Data Movement and Conversion Instructions").

    Every space x level in full, and every space x address of tensor maps; every space of isspacep;
    perturbations of each.
    """
    out = []
    spaces = ("", ".global", ".local", ".shared", ".const", ".param")
    levels = (
        "", ".L1", ".L2", ".L3", ".L2::evict_last", ".L2::evict_normal", ".L2::evict_first",
        ".L1::evict_last",
    )  # fmt: skip
    for head, space, level in itertools.product(("prefetch", "prefetchu"), spaces, levels):
        out.append(f"{head}{space}{level} [%rd1];")
    shared = (".shared::cta", ".shared::cluster")
    windows = (*spaces, *shared, ".param::entry", ".param::func")
    out += [f"isspacep{space} %p1, %rd1;" for space in windows]
    maps = (
        "[%rd1]",
        "[%r1]",
        "[ktmap]",
        "[ktmap+64]",
        "[gmem]",
        "[cmem]",
        "[smem]",
        "[%h1]",
        "[%f1]",
    )
    for head, space, place in itertools.product(("prefetch", "prefetchu"), spaces, maps):
        out.append(f"{head}{space}.tensormap {place};")
    out += spoil("prefetch.tensormap", ("[%rd1]",), SOME)
    out += shuffle("prefetch", [".const", ".tensormap"], "[cmem]")
    out += spoil("prefetch.global.L2", ("[%rd1]",))
    out += spoil("prefetch.L1", ("[%rd1]",))
    out += spoil("prefetchu.L1", ("[%rd1]",))
    out += spoil("isspacep.global", ("%p1", "%rd1"))
    out += spoil("isspacep.shared", ("%p1", "%rd1"), SOME)
    out += shuffle("prefetch", [".global", ".L2"], "[%rd1]")
    out += shuffle("isspacep", [".local"], "%p1", "%rd1")
    return unique(out)
