"""One mistake of each kind that compute-sanitizer's tools are made for: what a run and rules say.

The kernels of `kernels.cu`, which are right; a mistake is an edit of their PTX.  The tools are
memcheck (accesses out of bounds, misaligned, the heap), racecheck (shared memory), synccheck
(barriers and masks) and initcheck (global memory that nobody has written).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import nvgen
from intrinsics.findings import NvgenError, Severity
from isel.verifier.launch import LaunchShape
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import each

TEXT = (Path(__file__).parent / "kernels.ptx").read_text()
SCHEDULES = ("early", "late", "random:1")
RNG = np.random.default_rng(1)


class Kernel(NamedTuple):
    """How a kernel is launched, and what its last array holds then."""

    grid: int
    block: int
    arguments: tuple[object, ...]
    expected: np.ndarray


def numbers(count: int, below: int = 50) -> np.ndarray:
    return RNG.integers(0, below, count).astype(np.int32)


X, Y, LONG, BINS = numbers(1000), numbers(1000), numbers(2048), numbers(4096, 64)
QUADS = LONG[:512].reshape(128, 4)
ROWS = np.arange(64)[:, None] + np.arange(4)  # of the heap's kernel: the elements of each thread
KERNELS = {
    "axpy": Kernel(8, 128, (X, Y, 1000), 3 * X + Y),
    "reverse": Kernel(1, 256, (X[:256],), X[255::-1]),
    "vectors": Kernel(1, 128, (LONG[:512],), (QUADS @ [1, 2, 3, 4])[::-1]),
    "local_order": Kernel(1, 32, (X[:256], 3), np.roll(X[:256].reshape(32, 8), 3, 1)),
    "heap": Kernel(1, 64, (X[:64], 4), (X[ROWS % 64] * [1, 2, 3, 4]).sum(1)),
    "reduce_tree": Kernel(4, 256, (LONG,), LONG.reshape(4, 512).sum(1)),
    "reverse_in_warps": Kernel(1, 64, (X[:64],), X[:64].reshape(2, 32)[:, ::-1] + 1),
    "histogram": Kernel(2, 128, (BINS, 4096), np.bincount(BINS, minlength=64)),
    "cluster_sum": Kernel(4, 256, (LONG[:1024],), LONG[:1024].sum() + np.arange(4)),
    "through_bulk_copies": Kernel(4, 256, (LONG[:1024],), LONG[:1024].reshape(4, 256)[:, ::-1]),
    "sums_of_eight": Kernel(1, 256, (X[:256],), np.repeat(X[:256].reshape(32, 8).sum(1), 8)),
    "halves": Kernel(1, 128, (X[:128],), X[:128].reshape(2, 64)[:, ::-1] + [[0], [1]]),
    "through_global": Kernel(1, 256, (X[:256],), 2 * X[255::-1] + 1),
}
SWAPPED = ("reverse_in_warps",)  # neighbours are exchanged at the end
WORK = ("through_global",)  # with an array of its own before the result


def expected_of(name: str) -> np.ndarray:
    found = KERNELS[name].expected.reshape(-1).astype(np.int32)
    return found.reshape(-1, 2)[:, ::-1].reshape(-1) if name in SWAPPED else found


def text_of(name: str) -> str:
    """The module with one kernel."""
    head, *entries = re.split(r"(?=^\.visible \.entry )", TEXT, flags=re.MULTILINE)
    [entry] = [entry for entry in entries if entry.startswith(f".visible .entry {name}(")]
    return head + entry


def run(name: str, text: str, schedule: str) -> np.ndarray:
    kernel, wanted = KERNELS[name], expected_of(name)
    arrays = [a for a in kernel.arguments if isinstance(a, np.ndarray)]
    rest = [a for a in kernel.arguments if not isinstance(a, np.ndarray)]
    work = [nvgen.Output(np.zeros(256, np.int32))] if name in WORK else []
    result = np.zeros_like(wanted)
    cluster = 4 if name.startswith("cluster") else 1
    compiled = nvgen.compile(text, allow=["*"])
    compiled.run(
        *arrays, *work, result, *rest, grid=kernel.grid, block=kernel.block, cluster=cluster,
        schedule=schedule, max_steps=20_000,
    )  # fmt: skip
    return result


def judged(name: str, text: str) -> set[str]:
    """The rules of errors, warnings and reviews of a check that knows the launch."""
    kernel = KERNELS[name]
    cluster = (4, 1, 1) if name.startswith("cluster") else (1, 1, 1)
    shape = LaunchShape((kernel.grid, 1, 1), (kernel.block, 1, 1), cluster, 0)
    try:
        found = load("k.ptx", text, Options(level="all", shape=shape)).findings
    except NvgenError as error:
        found = list(error.findings)
    return {f.rule for f in found if f.severity is not Severity.NOTE}


class Mistake(NamedTuple):
    """A kernel, an edit of it, what ends its run, and one of the rules that find it, if any does.

    A run is named by its rule, or "values" where the result alone is wrong under some schedule.
    """

    kernel: str
    old: str
    new: str
    run: str
    rule: str = ""


SYNC = "    bar.sync 0;\n"
MEETS = "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
MISTAKES = {
    "global, beyond the end": Mistake("axpy", "setp.ge.s32", "setp.gt.s32", "out-of-bounds"),
    "global, before the start": Mistake("axpy", "[%rd8]", "[%rd8+-4]", "out-of-bounds"),
    "global, misaligned": Mistake("vectors", "%rd5, %r5, 4", "%rd5, %r5, 2", "misaligned"),
    "shared, beyond": Mistake("reverse", "255;", "256;", "out-of-bounds",
                                 "ld/beyond-shared"),
    "shared, at an index of data": Mistake("histogram", "[%r17]", "[%r17+4]", "out-of-bounds"),
    "shared, misaligned": Mistake("vectors", "[%r17]", "[%r17+8]", "misaligned",
                                  "ld/shared-alignment"),
    "shared of another CTA, beyond": Mistake("cluster_sum", "ld.u32 %r31, [%rd8]",
                                             "ld.u32 %r31, [%rd8+8]", "out-of-bounds",
                                             "ld/beyond-shared"),
    "local, beyond": Mistake("local_order", "and.b64 %rd9, %rd8, 28", "add.s64 %rd9, %rd8, 20",
                             "out-of-bounds"),
    "the heap, beyond": Mistake("heap", "setp.lt.s32 %p2", "setp.le.s32 %p2", "out-of-bounds"),
    "the heap, after free": Mistake("heap", "ret;", "ld.u32 %r1, [%rd1];\n    ret;", "freed"),
    "a bulk copy, beyond": Mistake("through_bulk_copies", "[%rd5], [%r12], 1024",
                                   "[%rd5], [%r12], 1088", "out-of-bounds",
                                   "cp.async.bulk/beyond-shared"),
    "read after write, other warps": Mistake("reduce_tree", f"$L__BB5_3:\n{SYNC}", "$L__BB5_3:\n",
                                             "race", "shared/race"),
    "read after write, one warp": Mistake("reverse_in_warps", "%r2;\n    bar.warp.sync -1;", "%r2;",
                                          "race", "shared/lanes"),
    "write after read, one warp": Mistake("reverse_in_warps", "[%r10];\n    bar.warp.sync -1;",
                                          "[%r10];", "race", "shared/lanes"),
    "write after write": Mistake("histogram", "atom.shared.add.u32 %r18, [%r17], 1",
                                 "st.shared.u32 [%r17], %r1", "race"),
    "write after write, one store": Mistake("reverse_in_warps", "st.shared.u32 [%r8], %r12",
                                            "and.b32 %r9, %r8, -8;\n    st.shared.u32 [%r9], %r12",
                                            "values"),
    "another CTA's shared memory, unordered": Mistake("cluster_sum", MEETS, SYNC, "unstarted-cta",
                                                      "shared/race"),
    "another CTA has exited": Mistake("cluster_sum", f"$L__BB8_6:\n{MEETS}", "$L__BB8_6:\n",
                                      "exited-cta", "ld/peer-exit"),
    "a copy is not waited for": Mistake("through_bulk_copies", "@!p bra WAIT;", "", "race",
                                        "ld/before-copy"),
    "global memory, unordered": Mistake("through_global", SYNC, "", "uninitialized"),
    "a barrier in a branch": Mistake("reduce_tree", f"$L__BB5_3:\n{SYNC}", f"{SYNC}$L__BB5_3:\n",
                                     "aligned-exited", "bar.sync/aligned"),
    "a barrier of too many threads": Mistake("halves", "bar.sync %r1, 64", "bar.sync %r1, 96",
                                             "deadlock", "sync/deadlock"),
    "a mask without the thread": Mistake("sums_of_eight", "mov.u32 %r5, -1",
                                         "mov.u32 %r5, 65535", "member-mask", "shfl/no-member"),
    "an mbarrier that nobody makes": Mistake("through_bulk_copies",
                                             "    mbarrier.init.shared.b64 [%r2], 1;\n", "",
                                             "mbarrier-uninitialized", "mbarrier/uninitialized"),
    "an mbarrier that is made again": Mistake("through_bulk_copies", f"{SYNC}    shl.b32 %r15",
                                              "    @!%p1 mbarrier.init.shared.b64 [%r8], 1;\n"
                                              f"{SYNC}    shl.b32 %r15",
                                              "mbarrier-valid", "mbarrier.init/again"),
    "too few bytes": Mistake("through_bulk_copies", "[%r3], 1024;\n    mov",
                             "[%r3], 1040;\n    mov", "deadlock", "mbarrier/bytes"),
    "shared memory that nobody writes": Mistake("histogram", "st.shared.u32 [%r2], %r11;", "",
                                                "uninitialized"),
    "global memory that nobody writes": Mistake("through_global", "st.global.u32 [%rd9], %r3;", "",
                                                "uninitialized"),
}  # fmt: skip


def mistaken(mistake: Mistake) -> str:
    text = text_of(mistake.kernel)
    assert mistake.old in text
    return text.replace(mistake.old, mistake.new, 1)


@each("name", KERNELS)
def test_the_right_kernels(name: str) -> None:
    text = text_of(name)
    assert judged(name, text) == set()
    for schedule in SCHEDULES:
        assert run(name, text, schedule).tolist() == expected_of(name).tolist()


@functools.cache
def ends(name: str) -> set[str]:
    """How the runs of a mistake end: by a rule, or with other values."""
    mistake, found = MISTAKES[name], set[str]()
    for schedule in SCHEDULES:
        try:
            result = run(mistake.kernel, mistaken(mistake), schedule)
        except NvgenError as error:
            found.add(error.findings[0].rule.removeprefix("sim/"))
        else:
            right = result.tolist() == expected_of(mistake.kernel).tolist()
            found |= set() if right else {"values"}
    return found


@each("name", MISTAKES)
def test_a_run_finds(name: str) -> None:
    assert MISTAKES[name].run in ends(name)


def test_the_thread_is_named() -> None:
    """The element behind the last one is that of thread 1000 of the grid: CTA 7, warp 3, lane 8."""
    with pytest.raises(NvgenError) as caught:
        run("axpy", mistaken(MISTAKES["global, beyond the end"]), "early")
    [fault] = caught.value.findings
    assert fault.message.startswith("ld of warp 3 reads outside")
    assert fault.got.endswith(", by lane 8, in CTA 7")


@each("name", [name for name in MISTAKES if MISTAKES[name].rule])
def test_a_rule_finds(name: str) -> None:
    mistake = MISTAKES[name]
    assert mistake.rule in judged(mistake.kernel, mistaken(mistake))
