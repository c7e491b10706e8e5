"""Wrong calls of the builder's methods: an error in full, whose traceback ends at the user's line.

Names by number, counts by float, choices by name, parts of other kernels, values out of reach, and
arguments that are missing or too many.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import nvgen
from nvgen import InputError, KernelBuilder, Scope, bf16, f32, i32, u32
from nvgen.calling.argument_types import closed_types, fits
from nvgen.calling.tracebacks import VARIABLE
from tests.each import each

Call = Callable[[KernelBuilder], object]
FOLDER = Path(nvgen.__file__).parent


def begun(target: str = "sm_90a") -> KernelBuilder:
    b = KernelBuilder("k", block=256, target=target, dynamic_shared=True)
    b.pointer("x", f32)
    b.tile_map("m", bf16, (64, 64))
    b.args = b.begin()  # type: ignore[attr-defined]
    return b


def blackwell() -> KernelBuilder:
    return begun("sm_100a")


def of_a_cluster(ctas: int) -> KernelBuilder:
    b = KernelBuilder("k", block=32, cluster=ctas, target="sm_90a")
    b.begin()
    return b


def tile(b: KernelBuilder, name: str = "t"):
    return b.shared_tile(name, bf16, (64, 64))


def tiles(b: KernelBuilder):
    return b.shared_tiles("t", bf16, (64, 64), 2)


def in_a_thread(b: KernelBuilder, call: Callable[[], object]) -> object:
    with b.if_thread(0):
        return call()


WRONG: dict[str, tuple[Call, str, str]] = {
    "a name that is a number": (lambda b: b.mbarrier(3), "3", "a string"),
    "a ring's name": (lambda b: b.tile_ring(3, tiles(b)), "3", "a string"),
    "a float for a count": (
        lambda b: b.warpgroup_tile(64.0, 64), "64.0x64 of f32",
        "a multiple of 64 rows of f32, f16 or s32"),
    "a float for a width": (
        lambda b: b.tid_x.zext(48.0), "48.0", "a whole number of bits, 33 or more"),
    "a float for a step of K": (
        lambda b: b.gemm_async(b.warpgroup_tile(64, 64), tile(b), tile(b, "u"), step=0.5), "0.5",
        "an integer of the kernel, or Python's or None"),
    "a float for columns": (
        lambda b: blackwell().tensor_memory("s", 128.0), "128.0", "a whole number"),
    "a string for columns": (
        lambda b: blackwell().tensor_memory("s", 64).tile(128, "x"), "'x'", "a whole number"),
    "a choice by its name": (
        lambda b: b.shared_tile("t", bf16, (64, 64), major="K"), "'K'", "Major.K or Major.MN"),
    "a scope by its name": (lambda b: b.cluster_sync(scope="x"), "'x'", "Scope or None"),
    "a type by its name": (
        lambda b: b.warpgroup_tile(64, 64, "f32"), "'f32'",
        "an element type: bf16, e4m3 and so on"),
    "a ring for a tile": (
        lambda b: in_a_thread(b, lambda: b.load_tile(
            tiles(b), b.args["m"], (0, 0), b.mbarrier("q"))), "Tiles", "SharedTile"),  # type: ignore[attr-defined]
    "an int for a tile": (
        lambda b: b.prefetch_tile(3, b.args["m"], (0, 0)), "3", "SharedTile"),  # type: ignore[attr-defined]
    "a name for a tile of a descriptor": (lambda b: b.descriptor("t"), "'t'", "SharedTile"),
    "names for scale factors": (lambda b: b.copy_scales("s", "t"), "'s'", "ScaleTile"),
    "a number for an address": (
        lambda b: b.wgmma_descriptor("x", 4), "'x'", "an address (Pointer)"),
    "a number for a loop's condition": (
        lambda b: b.while_(3).__enter__(), "3", "a function: lambda: …"),
    "warps in one dimension": (
        lambda b: b.warp_tile(16, 8, warps=3), "3", "a tuple: (int, int)"),
    "one register for several": (
        lambda b: b.words(3), "3", "a list, each an integer of the kernel, or Python's"),
    "numbers for registers of A": (
        lambda b: b.warpgroup_operand([[1, 2]], bf16), "1", "a Vector of four"),  # type: ignore[list-item]
    "a missing count": (lambda b: b.mbarriers("m"), "'m'", "b.mbarriers(name, count)"),  # type: ignore[call-arg]
    "a missing condition": (
        lambda b: b.if_().__enter__(), "no arguments", "b.if_(condition, name='if')"),  # type: ignore[call-arg]
    "a missing pitch": (
        lambda b: b.warpgroup_tile(64, 64).store(b.args["x"]), "Pointer",  # type: ignore[attr-defined, call-arg]
        "Fragment.store(target, pitch, *, where=None, align=None, rows=None)"),
    "an argument too many": (lambda b: b.finish(3), "3", "b.finish()"),  # type: ignore[call-arg]
    "an unknown option": (
        lambda b: b.elect(warp=3), "warp=3", "b.elect()"),  # type: ignore[call-arg]
    "a missing operand of an instruction": (
        lambda b: b.prmt(1), "1", "b.prmt(a, b, c, *, mode=None)"),  # type: ignore[call-arg]
    "no block": (
        lambda b: KernelBuilder("k"), "'k'",  # type: ignore[call-arg]
        "KernelBuilder(name, *, block, cluster=1, dynamic_shared=False, target=None, maxnreg=None, "
        "minctasm=None)"),
    "no arrivals": (lambda b: b.make_mbarriers((b.mbarrier("m"), 0)), "0", "a whole number from 1"),
    "a negative number of arrivals": (
        lambda b: b.make_mbarriers((b.mbarrier("m"), -4)), "-4", "a whole number from 1"),
    "a parity of 2": (lambda b: b.wait(b.mbarrier("m"), 2), "2", "0 or 1"),
    "a warp beyond the block": (
        lambda b: b.if_warp(8).__enter__(), "warp 8", "0 to 7: it has 256 threads"),
    "a negative warp": (lambda b: b.if_warp(-1).__enter__(), "-1", "a whole number from 0"),
    "warpgroups beyond the block": (
        lambda b: b.if_warpgroup(1, 2).__enter__(), "2 from 1 on",
        "0 to 1: it has 256 threads"),
    "no warpgroups": (lambda b: b.if_warpgroup(0, 0).__enter__(), "0", "a whole number from 1"),
    "a thread beyond the block": (
        lambda b: b.if_thread(256).__enter__(), "thread 256", "0 to 255: it has 256 threads"),
    "a CTA beyond the cluster": (
        lambda b: (c := of_a_cluster(2)).of_cta(c.mbarrier("m"), 2), "rank 2",
        "0 to 1: it has 2 CTAs"),
    "a CTA beyond every cluster": (
        lambda b: b.of_cta(b.shared_word("w"), 16), "rank 16", "0 to 15: at most 16 CTAs"),
    "a negative CTA": (
        lambda b: b.of_cta(b.mbarrier("m"), -1), "-1", "a whole number from 0"),
    "tensor memory of Hopper": (
        lambda b: b.tensor_memory("s", 64), "sm_90a",
        "sm_100a/f, sm_101a/f, sm_103a/f, sm_107a/f or sm_110a/f"),
    "a buffer beyond the ring": (lambda b: b.tile_ring("r", tiles(b)).slot(7), "7", "0..1"),
    "a negative number of writers": (
        lambda b: b.tile_ring("r", tiles(b), writers=-1), "-1", "a whole number from 0"),
    "no alignment of columns": (
        lambda b: blackwell().tensor_memory("s", 64).take(4, 0), "0", "a whole number from 1"),
    "an alignment of 3": (
        lambda b: b.load(b.args["x"], u32, 4, align=3), "3", "a power of two, in bytes"),  # type: ignore[attr-defined]
    "a width of 24": (
        lambda b: KernelBuilder("q", block=32).integer("n", 24), "24", "8, 16, 32 or 64 bits"),
    "another kernel's mbarrier": (
        lambda b: b.wait(begun().mbarrier("m"), 0), "m", "of this kernel"),
    "another kernel's tensor map": (
        lambda b: in_a_thread(b, lambda: b.load_tile(
            tile(b), begun().args["m"], (0, 0), b.mbarrier("q"))), "m", "of this kernel"),  # type: ignore[attr-defined]
    "a value before the body": (
        lambda b: KernelBuilder("q", block=32).tid_x, "no call of begin()", "b.begin() before"),
    "a block by its name": (
        lambda b: KernelBuilder("q", block="32"), "'32'",
        "a whole number, or a tuple of one to three"),
    "a branch of Python's": (
        lambda b: 1 if b.tid_x < 3 else 2, "a value that the GPU computes", "Python's"),
}  # fmt: skip


@each("name", WRONG)
def test_it_ends_at_the_users_line_and_says_what_is_wrong(name: str) -> None:
    call, got, expected = WRONG[name]
    b = begun()
    with pytest.raises(InputError) as caught:
        call(b)
    (found,) = caught.value.findings
    assert (found.got, found.expected) == (got, expected)
    assert found.rule.startswith("builder/") or found.rule == "run/block"
    assert found.place.file == __file__
    *users, last = traceback.extract_tb(caught.value.__traceback__)
    inside = tuple(str(FOLDER / room) for room in ("builder", "calling"))
    assert not [frame for frame in users if frame.filename.startswith(inside)]
    assert last.line


def test_a_function_of_the_users_raises_what_it_raises() -> None:
    b = begun()
    with pytest.raises(TypeError, match="must be a string"):
        b.warp_reduce(b.tid_x, lambda x, y: x + int(None))
    with pytest.raises(ZeroDivisionError), b.if_warp(0):
        1 / 0  # noqa: B018


def test_the_error_inside_is_left_for_whoever_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, kept in (("1", True), ("", False)):
        monkeypatch.setenv(VARIABLE, value)
        with pytest.raises(InputError) as caught:
            begun().descriptor("t")
        assert isinstance(caught.value.__cause__, AttributeError) is kept


def test_what_a_method_says_itself_comes_first() -> None:
    """Its words are about the argument, not about types."""
    with pytest.raises(InputError, match="no number of tiles"):
        begun().shared_tiles("t", bf16, (64, 64), "2")


def test_a_type_is_called_as_it_is_imported() -> None:
    """`from nvgen import i32`; s32 is PTX's."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", i32)
    x = b.begin()["x"]
    with pytest.raises(InputError) as caught:
        x[0] = b.tid_x
    (found,) = caught.value.findings
    assert (found.got, found.expected, found.hint) == ("u32", "i32", "x.to(i32)")


def test_types_that_are_looked_at() -> None:
    assert fits((64, 64), tuple[int, int])
    assert not fits((64, 64.0), tuple[int, int])
    assert not fits("x", int | None)
    assert fits(object(), "whatever")  # what is not understood

    def function(name: str, count: int | None, scope: Scope, other: u32) -> None: ...  # type: ignore[valid-type]

    function.__annotations__ = {k: str(v) for k, v in function.__annotations__.items()}
    places, names = closed_types(function)
    assert len(places) == 4
    assert set(names) == {"name", "count", "scope"}
