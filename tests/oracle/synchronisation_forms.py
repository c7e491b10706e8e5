"""Statements of mbarriers, tensor copies, fences and barriers, enumerated from the PTX manual."""

from __future__ import annotations

import itertools

from tests.oracle.statements import (
    ALIENS,
    GUARDS,
    SOME,
    garble,
    pairwise,
    registers,
    shuffle,
    spoil,
    statement,
    unique,
)

# --- 6. mbarrier ---------------------------------------------------------------------------------

SPACES: tuple[str, ...] = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")


SEMS = ("", ".release", ".relaxed", ".acquire")
MBARRIER_SCOPES = ("", ".cta", ".cluster", ".gpu")
RESULTS = ("%rd1", "_", "")
WAIT_SEMS = ("", ".acquire", ".relaxed", ".release")


def mbarrier() -> list[str]:
    """mbarrier.* ("Parallel Synchronization and Communication Instructions: mbarrier").

    arrive, arrive.expect_tx, arrive_drop.expect_tx: documented semantics x scopes x shared spaces
    x destinations in full, undocumented ones in pairs.  arrive_drop and the noComplete forms:
    pairs of these axes.  expect_tx, complete_tx: semantics x scope x space.  The four waits:
    semantics x scope x space like arrive, then kinds of state x hint x destination.  init: space x
    count.  Layouts, phase types, reports, multicast (PTX 9.3, 9.4): products of their own.
    """
    return unique(
        [
            *_arrivals(),
            *_transactions(),
            *_waits(),
            *_objects(),
            *_multicasts(),
            *_spoilt_mbarriers(),
        ]
    )


def _arrivals() -> list[str]:
    """mbarrier.arrive and its kin, in every order, scope and space."""
    out: list[str] = []
    for head, counts in (
        ("mbarrier.arrive", ("", "%r2")),
        ("mbarrier.arrive.expect_tx", ("%r2",)),
        ("mbarrier.arrive_drop.expect_tx", ("%r2",)),
    ):
        for sem, scope, space, result, count in itertools.product(
            SEMS[:3], MBARRIER_SCOPES[:3], SPACES[:4], RESULTS[:2], counts
        ):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), count))
        for sem, scope, space, result in pairwise(SEMS, MBARRIER_SCOPES, SPACES, RESULTS):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), counts[0]))
    for head in (
        "mbarrier.arrive.noComplete", "mbarrier.arrive_drop", "mbarrier.arrive_drop.noComplete",
    ):  # fmt: skip
        for sem, scope, space, result, count in pairwise(
            SEMS, MBARRIER_SCOPES, SPACES, RESULTS, ("", "%r2", "3", "%rd2")
        ):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), count))
        for scope, space, result in itertools.product(
            ("", ".release.cta", ".release.cluster", ".relaxed.cta"), SPACES[:4], RESULTS
        ):
            out.append(statement(f"{head}{scope}{space}.b64", result, _at(space), "%r2"))
    for head in ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop",
                 "mbarrier.arrive_drop.expect_tx", "mbarrier.arrive.noComplete"):  # fmt: skip
        numbers = ("0", "-1", "1048575", "1048576", "4294967296", "1.0", "%s1", "%rd3", "%f1")
        out += [statement(f"{head}.shared::cta.b64", "%rd1", "[%r1]", count) for count in numbers]
        for place in ("[mbar+8]", "[%rd2]", "[smem]", "[gmem]"):
            out.append(statement(f"{head}.b64", "%rd1", place, "1"))
            out.append(statement(f"{head}.shared::cta.b64", "%rd1", place, "1"))
    return out


def _transactions() -> list[str]:
    """mbarrier.expect_tx and complete_tx."""
    out: list[str] = []
    for head in ("mbarrier.expect_tx", "mbarrier.complete_tx"):
        for sem, scope, space in itertools.product(SEMS, MBARRIER_SCOPES, SPACES):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", _at(space), "%r2"))
        op = f"{head}.relaxed.cta.shared::cta.b64"
        counts = ("", "0", "-1", "1048576", "4294967296", "%u1", "%rd2", "%f1")
        out += [statement(op, "[%r1]", count) for count in counts]
    return out


def _waits() -> list[str]:
    """mbarrier.test_wait and try_wait, with phase types and reports."""
    out: list[str] = []
    for head in ("mbarrier.test_wait", "mbarrier.try_wait"):
        for parity, state, wrong in (("", "%rd1", "%r3"), (".parity", "%r3", "%rd1")):
            for sem, scope, space in (
                *itertools.product(WAIT_SEMS[:3], MBARRIER_SCOPES[:3], SPACES[:4]),
                *pairwise(WAIT_SEMS, MBARRIER_SCOPES, SPACES),
            ):
                op = f"{head}{parity}{sem}{scope}{space}.b64"
                out.append(statement(op, "%p1", _at(space), state))
                if head == "mbarrier.try_wait" and sem != ".release":
                    out.append(statement(op, "%p1", _at(space), state, "%r4"))
            for given, hint, result in itertools.product(
                (state, wrong, "0", "2", "%f1"),
                ("", "%r4", "0x989680", "-1", "%rd4", "1.0"),
                ("%p1", "%r1"),
            ):
                if result == "%p1" or (hint == "" and given == state):
                    out.append(
                        statement(f"{head}{parity}.shared::cta.b64", result, "[%r1]", given, hint)
                    )
            for phase, sem, space, result in itertools.product(
                (".phase_type::primary", ".phase_type::conditional", ".phase_type::third", ""),
                ("", ".acquire.cluster", ".relaxed.cta"),
                ("", ".shared::cta"),
                ("%p1", "%p1|%p2"),
            ):
                op = f"{head}{parity}{phase}{sem}{space}.b64"
                out.append(statement(op, result, _at(space), state))
                if not sem and result == "%p1|%p2":
                    out += [
                        statement(op, result, value, _at(space), state)
                        for value in ("%r5", "%h5", "%rd5", "%c1", "1+2")
                    ]
                    out += [
                        statement(op, which, "%c1", _at(space), number)
                        for which in ("%p1", result)
                        for number in ("0", "1", "2", "-1", "512")
                    ]
    return out


def _objects() -> list[str]:
    """mbarrier.init, check_layout and inval."""
    out: list[str] = []
    for space, count in itertools.product(
        SPACES,
        ("1", "%r2", "0", "-1", "1048575", "1048576", "1.0", "%rd2", ""),
    ):
        out.append(statement(f"mbarrier.init{space}.b64", _at(space), count))
    for layout, space, count in itertools.product(
        (".layout::v0", ".layout::v1", ".layout::v2"),
        ("", ".shared::cta"),
        ("1", "%r2", "511", "512", "1048575", "0"),
    ):
        out.append(statement(f"mbarrier.init{layout}{space}.b64", _at(space), count))
    for layout, space, result in itertools.product(
        (".layout::v0", ".layout::v1", ".layout::v2", ""), SPACES[:4], ("%p1", "%r1")
    ):
        out.append(statement(f"mbarrier.check_layout{layout}{space}.b64", result, _at(space)))
    for space, sem in itertools.product(SPACES, ("", ".relaxed", ".release.cta", ".cta")):
        out.append(statement(f"mbarrier.inval{sem}{space}.b64", _at(space)))
    return out


def _multicasts() -> list[str]:
    """Arrivals and transactions at the mbarriers of several CTAs."""
    out: list[str] = []
    for head, sem, width, mask in itertools.product(
        ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop",
         "mbarrier.arrive_drop.expect_tx", "mbarrier.expect_tx", "mbarrier.complete_tx"),
        ("", ".release.cluster", ".relaxed.cluster"),
        ("", "::16b", "::32b"),
        ("%r4", "%h4", "15", ""),
    ):  # fmt: skip
        if sem and width == "::16b":
            continue
        result = "_" if "arrive" in head else ""
        op = f"{head}{sem}.shared::cluster.multicast::cluster{width}.b64"
        out.append(statement(op, result, "[%r1]", "%r2", mask))
        if mask == "%r4":
            out.append(statement(op, result, "[%r1]", mask))
            near = f"{head}{sem}.shared::cta.multicast::cluster{width}.b64"
            out.append(statement(near, result, "[%r1]", "%r2", mask))
    return out


def _spoilt_mbarriers() -> list[str]:
    """Statements of mbarrier with one operand or modifier that is wrong."""
    out: list[str] = []
    out += ["mbarrier.init.b64 [%r1], 1;", "mbarrier.arrive.b64 %rd1, [%r1];",
            "mbarrier.try_wait.b64 %p1, [%r1], %rd1;"]  # fmt: skip
    out += spoil("mbarrier.init.shared::cta.b64", ("[%r1]", "%r2"))
    out += spoil("mbarrier.inval.shared.b64", ("[%r1]",), SOME)
    out += spoil("mbarrier.arrive.shared.b64", ("%rd1", "[%r1]"))
    out += spoil("mbarrier.arrive.expect_tx.shared::cta.b64", ("%rd1", "[%r1]", "%r2"), SOME)
    out += spoil("mbarrier.arrive.noComplete.b64", ("%rd1", "[%rd2]", "%r2"), SOME)
    out += spoil("mbarrier.arrive.release.cluster.shared::cluster.b64", ("_", "[%r1]"), SOME)
    out += spoil("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", ("[%r1]", "%r2"), SOME)
    out += spoil("mbarrier.test_wait.shared::cta.b64", ("%p1", "[%r1]", "%rd1"))
    out += spoil("mbarrier.try_wait.parity.b64", ("%p1", "[%rd1]", "%r1", "%r2"), SOME)
    out += spoil("mbarrier.pending_count.b64", ("%r1", "%rd1"))
    out += [f"mbarrier.pending_count{kind} %r1, %rd1;" for kind in ("", ".b32", ".u64", ".shared")]
    for head, mods, operands in (
        ("mbarrier.arrive", [".release", ".cta", ".shared::cta", ".b64"], ("%rd1", "[%r1]")),
        ("mbarrier.arrive.expect_tx", [".relaxed", ".cluster", ".shared::cluster", ".b64"],
         ("_", "[%r1]", "%r2")),
        ("mbarrier.try_wait.parity", [".acquire", ".cluster", ".shared::cta", ".b64"],
         ("%p1", "[%r1]", "%r2")),
        ("mbarrier.init", [".shared::cta", ".b64"], ("[%r1]", "%r2")),
        ("mbarrier", [".try_wait", ".parity", ".b64"], ("%p1", "[%r1]", "%r2")),
        ("mbarrier", [".arrive", ".expect_tx", ".b64"], ("_", "[%r1]", "%r2")),
    ):  # fmt: skip
        out += shuffle(head, mods, *operands)
    out += garble("mbarrier.init.shared::cta.b64", ("[%r1]", "%r2"))
    return out


def _at(space: str) -> str:
    """The address of an mbarrier: 32 bits are enough in shared memory only."""
    return "[%r1]" if space.startswith(".shared") else "[%rd9]"


# --- 7. cp.async.bulk.tensor, tile loads ---------------------------------------------------------

COMPLETE = ".mbarrier::complete_tx::bytes"


HINT = ".L2::cache_hint"


def tensor_load() -> list[str]:
    """cp.async.bulk.tensor, global to shared, tile mode ("Asynchronous Copy: Tensor Copy").

    Product of dimension x destination x mode x multicast x cta_group x cache hint with matching
    operands; product of multicast x hint with all combinations of the operands they need;
    dimension x number of coordinates; the completion mechanism and the order of modifiers one at a
    time; the overrides and report mechanisms of PTX 9.4 on a few forms.
    """
    return unique([*_tensor_loads(), *_spoilt_tensor_loads()])


def _tensor_loads() -> list[str]:
    """Loads of tiles in every dimension, target, completion and multicast."""
    out: list[str] = []
    targets = (".shared::cluster", ".shared::cta")
    casts = ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b")
    groups = ("", ".cta_group::1", ".cta_group::2")
    for dim, target, mode, cast, group, cached in itertools.product(
        range(1, 6), targets, ("", ".tile"), casts, groups, ("", HINT)
    ):
        mask = "" if not cast else "%r6" if cast.endswith("32b") else "%h6"
        op = f"cp.async.bulk.tensor.{dim}d{target}.global{mode}{COMPLETE}{cast}{group}{cached}"
        place = "[%rd1, " + registers(dim, "%s") + "]"
        out.append(statement(op, "[%r1]", place, "[%r2]", mask, "%rd6" if cached else ""))
    for target, cast, cached, mask, policy in itertools.product(
        targets, casts, ("", HINT), ("", "%h6", "%r6", "3"), ("", "%rd6", "5", "%r6")
    ):
        op = f"cp.async.bulk.tensor.2d{target}.global{COMPLETE}{cast}{cached}"
        out.append(statement(op, "[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]", mask, policy))
    for dim, count in itertools.product(range(7), range(1, 7)):
        op = f"cp.async.bulk.tensor.{dim}d.shared::cta.global.tile{COMPLETE}"
        out.append(statement(op, "[%r1]", "[%rd1, " + registers(count) + "]", "[%r2]"))
    for dim, coordinates in itertools.product(
        (1, 2, 5),
        ("{%u1, %s1}", "{%f1, %f2}", "{%h1, %h2}", "{%rd1, %rd2}", "{0, 16}", "{%r1, 3}",
         "{-1, %r1}", "{1.0, 2}", "{%r1}", "{0}", "{%p1}", "%r1", "{_, %r1}", "{0, 1, 2, 3, 4}",
         "{%r1, %s1, %u1, 0, 4294967296}", "{%hx1, %hx1}"),
    ):  # fmt: skip
        op = f"cp.async.bulk.tensor.{dim}d.shared::cluster.global{COMPLETE}"
        out.append(statement(op, "[%r1]", f"[%rd1, {coordinates}]", "[%r2]"))
    for target, source, mode, completion in itertools.product(
        (*targets, ".shared", ".global", ""),
        (".global", "", ".shared::cta"),
        ("", ".tile", ".nosuch"),
        (COMPLETE, "", ".bulk_group", ".mbarrier::arrive::one"),
    ):
        op = f"cp.async.bulk.tensor.2d{target}{source}{mode}{completion}"
        if target != ".global":
            out.append(statement(op, "[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]"))
    reports = (
        "", ".mbarrier::report::disabled", ".mbarrier::report::validity::per_16bytes::80000000",
        ".mbarrier::report::validity::per_16bytes::8",
        ".mbarrier::report::validity::per_element::ff", ".mbarrier::report::nosuch",
    )  # fmt: skip
    for target, report, override in itertools.product(
        targets, reports, ("", ".override::global_address", ".override::nosuch")
    ):
        op = f"cp.async.bulk.tensor.1d{target}.global.tile{COMPLETE}{report}{override}"
        out.append(statement(op, "[%r1]", "[%rd1, {%r3}]", "[%r2]"))
        out.append(statement(op, "[%r1]", "[%rd1, %rd2, {%r3}]", "[%r2]"))
    return out


def _spoilt_tensor_loads() -> list[str]:
    """Loads of tiles with one operand or modifier that is wrong."""
    out: list[str] = []
    simple = f"cp.async.bulk.tensor.1d.shared::cta.global.tile{COMPLETE}"
    out += spoil(simple, ("[%r1]", "[%rd1, {%r3}]", "[%r2]"))
    for tensor in (
        "[%r1, {%r3}]", "[ktmap, {%r3}]", "[gmem, {%r3}]", "[cmem, {%r3}]", "[smem, {%r3}]",
        "[kparam, {%r3}]", "[%rd1+64, {%r3}]", "[gmem+64, {%r3}]", "[%ud1, {%r3}]", "[{%r3}, %rd1]",
        "[%sd1, {%r3}]", "[%f1, {%r3}]", "[%fd1, {%r3}]", "[lmem, {%r3}]", "[64, {%r3}]",
        "[%rd1], {%r3}", "[%rd1, %r3]",
    ):  # fmt: skip
        out.append(statement(simple, "[smem]", tensor, "[mbar]"))
    full = f"cp.async.bulk.tensor.2d.shared::cluster.global.tile{COMPLETE}.multicast::cluster{HINT}"
    operands = ("[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]", "%h1", "%rd2")
    out += spoil(full, operands, SOME)
    out += spoil(f"cp.async.bulk.tensor.2d.shared::cluster.global{COMPLETE}", operands[:3], SOME)
    mods = [".2d", ".shared::cluster", ".global", ".tile", COMPLETE, ".multicast::cluster",
            ".cta_group::2", HINT]  # fmt: skip
    out += shuffle("cp.async.bulk.tensor", mods, *operands)
    out += shuffle(
        "cp.async.bulk.tensor", [".2d", ".shared::cta", ".global", COMPLETE], *operands[:3]
    )
    out += shuffle("cp", [".async", ".bulk", ".tensor", ".2d.shared::cta.global" + COMPLETE],
                   *operands[:3])  # fmt: skip
    out += garble(simple, operands[:3])
    return out


STORE = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"


def tensor_store() -> list[str]:
    """cp.async.bulk.tensor, shared to global, tile mode; the bulk groups it completes in.

    Product of dimension x source x mode x completion mechanism x cache hint; dimension x number of
    coordinates; kinds of coordinates, of tensor maps, of sources; the group instructions with every
    kind of number.
    """
    return unique([*_tensor_stores(), *_spoilt_tensor_stores()])


def _tensor_stores() -> list[str]:
    """Stores of tiles in every dimension and source, and their operands."""
    out: list[str] = []
    for dim, source, mode, completion, cached in itertools.product(
        range(1, 6), (".shared::cta", ".shared", ".shared::cluster"), ("", ".tile", ".nosuch"),
        (".bulk_group", "", COMPLETE), ("", HINT),
    ):  # fmt: skip
        op = f"cp.async.bulk.tensor.{dim}d.global{source}{mode}{completion}{cached}"
        place = "[%rd1, " + registers(dim, "%s") + "]"
        out.append(statement(op, place, "[%r1]", "%rd6" if cached else ""))
    for cached, policy in itertools.product(("", HINT), ("", "%rd6", "5", "%r6", "%ud2", "1.5")):
        op = f"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group{cached}"
        out.append(statement(op, "[%rd1, {%r3, %r4}]", "[%r2]", policy))
    for dim, count in itertools.product(range(7), range(1, 7)):
        op = f"cp.async.bulk.tensor.{dim}d.global.shared::cta.tile.bulk_group"
        out.append(statement(op, "[%rd1, " + registers(count) + "]", "[%r2]"))
    kinds = ("{%u1, %s1}", "{%f1, %f2}", "{%h1, %h2}", "{0, 16}", "{%r1, 3}", "{%r1}", "{1.0, 2}",
             "{%p1, %p2}", "%r1", "{_, %r1}", "{%hx1, %hx1}")  # fmt: skip
    out += [statement(STORE, f"[%rd1, {coordinates}]", "[smem]") for coordinates in kinds]
    tensors = ("[%r1, {%r3, %r4}]", "[ktmap, {%r3, %r4}]", "[gmem, {%r3, %r4}]",
               "[smem, {%r3, %r4}]", "[%rd1+64, {%r3, %r4}]", "[{%r3, %r4}, %rd1]",
               "[%ud1, {%r3, %r4}]", "[%rd1, %r3]")  # fmt: skip
    out += [statement(STORE, tensor, "[smem]") for tensor in tensors]
    return out


def _spoilt_tensor_stores() -> list[str]:
    """Stores of tiles with mistakes, and the groups that they complete in."""
    out: list[str] = []
    out += spoil(STORE, ("[%rd1, {%r3, %r4}]", "[%r2]"))
    out += spoil(STORE + HINT, ("[%rd1, {%r3, %r4}]", "[%r2]", "%rd2"), SOME)
    mods = [".2d", ".global", ".shared::cta", ".tile", ".bulk_group", HINT]
    out += shuffle("cp.async.bulk.tensor", mods, "[%rd1, {%r3, %r4}]", "[%r2]", "%rd2")
    out += shuffle("cp.async.bulk.tensor", [".1d.global", ".shared::cta", ".bulk_group"],
                   "[%rd1, {%r3}]", "[%r2]")  # fmt: skip
    for head in ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
                 "cp.async.bulk.wait_group.read"):  # fmt: skip
        numbers = ("0", "1", "7", "-1", "2147483648", "4294967295", "4294967296", "1.5", "3U",
                   "WARP_SZ", "1+2", "%r1", "smem", "%p1", "[%r1]", "{0}")  # fmt: skip
        out += [statement(head, n) for n in ("", *numbers, "0, 0")]
        out += [f"{guard} {statement(head, '0')}" for guard in GUARDS]
        out += [f"{guard} {head};" for guard in GUARDS]
        out += [statement(head + alien, "0") for alien in (*ALIENS, ".read", "::read")]
        out += [f"{head}{alien};" for alien in (*ALIENS, ".read")]
    out += ["cp.async.bulk.wait_all;", "cp.async.bulk.read.wait_group 0;",
            "cp.async.bulk.commit_group.wait_group 0;"]  # fmt: skip
    return out


# --- 8. fences -----------------------------------------------------------------------------------


def fences() -> list[str]:
    """fence, fence.proxy.async, fence.mbarrier_init, membar ("membar / fence").

    Full product of semantics x scope for the plain fence; of proxy x space; of the mbarrier_init
    restriction x semantics x scope; perturbations of each.
    """
    out = []
    sems = ("", ".sc", ".acq_rel", ".acquire", ".release", ".relaxed", ".weak", ".volatile")
    scopes = ("", ".cta", ".cluster", ".gpu", ".sys", ".gl", ".warp")
    for sem, scope in itertools.product(sems, scopes):
        out.append(f"fence{sem}{scope};")
        if sem in ("", ".release", ".acquire") and scope in ("", ".cta", ".cluster", ".gpu"):
            out.append(f"fence{scope}{sem};")
            out.append(f"fence.mbarrier_init{sem}{scope};")
    levels = ("", ".cta", ".gl", ".sys", ".gpu", ".cluster", ".cta.gl", ".sc", ".sc.cta")
    out += [f"membar{level};" for level in levels]
    for word, proxy, space in itertools.product(
        ("fence", "membar"),
        (".proxy.async", ".proxy", ".proxy.alias", ".proxy.generic", ".proxy.nosuch"),
        ("", ".global", ".shared::cta", ".shared::cluster", ".shared", ".local", ".const", ".param",
         ".global.shared::cta", ".generic"),
    ):  # fmt: skip
        out.append(f"{word}{proxy}{space};")
    for head in ("fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta"):
        out += [f"{head}{rest};" for rest in (*sems[1:6], *scopes[1:5], ".release.cluster")]
    for restrict in (".sync_restrict::shared::cta", ".sync_restrict::shared::cluster", ""):
        for sem, scope in itertools.product(("", ".acquire", ".release"), ("", ".cta", ".cluster")):
            out.append(f"fence{sem}{restrict}{scope};")
            out.append(f"fence.proxy.async::generic{sem}{restrict}{scope};")
    for op in (
        "fence.acq_rel.gpu", "fence.sc.cluster", "fence.proxy.async", "membar.gl",
        "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster",
    ):  # fmt: skip
        out += spoil(op, ())
        out += spoil(op, ("[%rd1]",), ("%r1", "[smem]", "0"))
    out += shuffle("fence", [".acq_rel", ".gpu"])
    out += shuffle("fence", [".proxy", ".async", ".global"])
    out += shuffle("fence.proxy.async", [".shared::cta"])
    out += shuffle("fence.mbarrier_init", [".release", ".cluster"])
    out += shuffle("fence", [".mbarrier_init", ".release", ".cluster"])
    out += shuffle("membar", [".gl"])
    return unique(out)


# --- 9. elect and barriers -----------------------------------------------------------------------


def barriers() -> list[str]:
    """elect.sync, bar, barrier, barrier.cluster ("bar / barrier", "barrier.cluster", "elect.sync").

    Full product of head x .cta x operation x .aligned x numbers of the barrier x thread counts;
    reductions x types x operations x predicate operands; barrier.cluster x semantics x .aligned.
    """
    return unique([*_elections_and_barriers(), *_spoilt_barriers(), *_cluster_barriers()])


def _elections_and_barriers() -> list[str]:
    """elect.sync, bar and barrier, with counts and reductions."""
    out: list[str] = []
    for result, mask in itertools.product(
        ("%r1|%p1", "_|%p1", "%s1|%p1", "%f1|%p1", "%rd1|%p1", "%h1|%p1", "%r1|%r2", "%r1|_",
         "%p1|%r1", "%r1", "%p1"),
        ("%r2", "0xffffffff", "-1", "4294967296", "1.0", "%f2", "%rd2", ""),
    ):  # fmt: skip
        out.append(statement("elect.sync", result, mask))
    out += [f"elect{mods} %r1|%p1, %r2;" for mods in ("", ".sync.aligned", ".sync.b32", ".b32",
                                                     ".sync.sync", ".aligned", ".one")]  # fmt: skip
    out += [f"{guard} elect.sync _|%p1, -1;" for guard in GUARDS]
    numbers = ("0", "15", "16", "%r1", "%rd1")
    threads = ("", "64", "0", "33", "%r2", "%rd2")
    heads = [
        f"{word}{cta}{op}{aligned}"
        for word, cta, op, aligned in itertools.product(
            ("bar", "barrier"), ("", ".cta"), (".sync", ".arrive"), ("", ".aligned")
        )
    ]
    for head in heads:
        out += [statement(head, a, b) for a, b in itertools.product(numbers, threads)]
    reductions = (".popc.u32", ".and.pred", ".or.pred", ".popc", ".popc.s32", ".and.b32",
                  ".xor.pred", "")  # fmt: skip
    for word, cta, aligned, reduction, result, count in itertools.product(
        ("bar", "barrier"), ("", ".cta"), ("", ".aligned"), reductions, ("%r1", "%p1"), ("", "64")
    ):
        out.append(statement(f"{word}{cta}.red{aligned}{reduction}", result, "1", count, "%p2"))
    for reduction, result in ((".popc.u32", "%r1"), (".and.pred", "%p1"), (".or.pred", "%p1")):
        op = f"barrier.cta.red.aligned{reduction}"
        for count, value in itertools.product(
            ("", "64", "%r2", "0", "33", "%rd2"), ("!%p2", "%p2", "1", "0", "%r2", "!%r2")
        ):
            out.append(statement(op, result, "%r3", count, value))
    return out


def _spoilt_barriers() -> list[str]:
    """Barriers of the CTA with wrong operands, and those of the warp."""
    out: list[str] = []
    out += spoil("bar.red.popc.u32", ("%r1", "0", "32", "%p1"))
    out += spoil("bar.sync", ("0",))
    out += spoil("bar.sync", ("%r1", "%r2"), SOME)
    out += spoil("bar.arrive", ("1", "64"), SOME)
    out += spoil("barrier.cta.sync.aligned", ("1", "64"), SOME)
    out += spoil("bar.warp.sync", ("0xffffffff",))
    out += [
        f"{op} %r1;"
        for op in ("bar.warp.sync.aligned", "bar.warp", "bar.warp.arrive", "barrier.warp.sync",
                   "bar.cta.warp.sync", "bar.warp.sync.b32", "bar.sync.warp")
    ]  # fmt: skip
    return out


def _cluster_barriers() -> list[str]:
    """barrier.cluster, and modifiers of all of them that are wrong."""
    out: list[str] = []
    for op, sem, scope, aligned in itertools.product(
        (".arrive", ".wait", ".sync", ""),
        ("", ".release", ".relaxed", ".acquire", ".acq_rel", ".sc"),
        ("", ".cluster"),
        ("", ".aligned"),
    ):
        out.append(f"barrier.cluster{op}{sem}{scope}{aligned};")
        if not scope:
            out.append(f"barrier.cluster{op}{aligned}{sem};")
    out += spoil("barrier.cluster.arrive.release.aligned", ())
    out += spoil("barrier.cluster.wait", ("%r1",), SOME)
    out += shuffle("barrier.cluster.arrive", [".release", ".aligned"])
    out += shuffle("barrier", [".cluster", ".wait", ".acquire"])
    out += shuffle("barrier", [".cta", ".sync", ".aligned"], "1", "64")
    out += shuffle("bar", [".red", ".popc", ".u32"], "%r1", "0", "%p1")
    out += shuffle("barrier.red", [".and", ".pred"], "%p1", "0", "%p2")
    out += shuffle("elect", [".sync"], "%r1|%p1", "-1")
    out += garble("bar.sync", ("0",))
    out += ["bar.red.and.pred _, 0, %p1;", "elect.sync %p1|%r1|%p1, 1;"]
    return out
