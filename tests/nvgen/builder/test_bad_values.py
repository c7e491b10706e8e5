"""What is given in place of numbers, matrices, tiles and functions: refused, never a traceback."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Never, TypeAlias

import pytest

from intrinsics.modifiers import AtomicOp
from nvgen import InputError, KernelBuilder, bf16, device_function, f16, f16x2, f32, f64, i32, u32
from nvgen.fragments.fragment import Fragment
from nvgen.values.numbers import Float
from nvgen.values.pointers import Pointer
from tests.each import each


def begun() -> KernelBuilder:
    b = KernelBuilder("k", block=128, target="sm_90a", dynamic_shared=True)
    b.pointer("x", f32)
    b.tile_map("m", bf16, (64, 64))
    b.args = b.begin()  # type: ignore[attr-defined]
    return b


WRONG: dict[str, Callable[[KernelBuilder], object]] = {
    "acc*str": lambda b: b.warpgroup_tile(64, 64) * "x",
    "frag fma None": lambda b: b.warpgroup_tile(64, 64).fragment.fma(None, 1),
    "pair": lambda b: b.pair(1.0, b.f32(1)),
    "pair2": lambda b: b.pair(b.tid_x, b.tid_x),
    "variable str": lambda b: b.variable("x"),
    "variable none": lambda b: b.variable(None),
    "load count": lambda b: b.load(b.args["x"], f32, "x"),  # type: ignore[attr-defined]
    "load dtype": lambda b: b.load(b.args["x"], "f32"),  # type: ignore[attr-defined]
    "load pair": lambda b: b.load(b.args["x"], f16x2),  # type: ignore[attr-defined]
    "idx float": lambda b: b.args["x"][1.5],  # type: ignore[attr-defined]
    "idx F32": lambda b: b.args["x"][b.f32(1)],  # type: ignore[attr-defined]
    "set str": lambda b: b.args["x"].__setitem__(0, "x"),  # type: ignore[attr-defined]
    "tile_ring": lambda b: b.tile_ring("k", b.shared_tile("t", bf16, (64, 64))),
    "tile_ring none": lambda b: b.tile_ring("k"),
    "tile_ring cons": lambda b: b.tile_ring(
        "k", b.shared_tiles("t", bf16, (64, 64), 2), consumers=0
    ),
    "min none": lambda b: b.min(1, 2),
    "min mixed": lambda b: b.min(b.f32(1.0), b.tid_x),
    "select": lambda b: b.select(b.tid_x < 1, b.f32(1.0), b.tid_x),
    "select cond": lambda b: b.select(True, b.f32(1.0), 2.0),
    "fma str": lambda b: b.f32(1.0).fma("x", 1),
    "f32 none": lambda b: b.f32(None),
    "i32 float": lambda b: b.i32(1.5),
    "i32 wrong bits": lambda b: b.i32(b.u64(1)),
    "u32 of f16": lambda b: b.u32(b.f16(1.0)),
    "where": lambda b: b.warpgroup_tile(64, 64).where(3, 0.0),
    "map none": lambda b: b.warpgroup_tile(64, 64).map(lambda x: None),  # type: ignore[return-value]
    "rowreduce": lambda b: b.warpgroup_tile(64, 64).row_reduce(lambda a, c: 3),  # type: ignore[return-value]
    "rows": lambda b: b.warpgroup_tile(64, 64).rows("x"),
    "rows fn": lambda b: b.warpgroup_tile(64, 64).rows(lambda r: None),  # type: ignore[return-value]
    "as_a": lambda b: b.warpgroup_tile(64, 64).as_a_operand("bf16"),
    "as_a f32": lambda b: b.warpgroup_tile(64, 64).as_a_operand(f32),
    "as_a s32": lambda b: b.warpgroup_tile(64, 64, i32).as_a_operand(),
    "as_tile": lambda b: b.warpgroup_tile(64, 64).as_tile(3),
    "store": lambda b: b.warpgroup_tile(64, 64).store(3, 64),
    "store pitch": lambda b: b.warpgroup_tile(64, 64).store(b.args["x"], "x"),  # type: ignore[attr-defined]
    "set": lambda b: b.warpgroup_tile(64, 64).set("x"),
    "set none": lambda b: b.warpgroup_tile(64, 64).set(None),
    "printf": lambda b: b.printf(3),
    "assert": lambda b: b.device_assert(b.tid_x < 1, 3),
    "ptx": lambda b: b.ptx(3),
    "range": lambda b: b.range("x").__enter__(),
    "range f": lambda b: b.range(b.f32(1.0)).__enter__(),
    "range step f": lambda b: b.range(3, step=1.5).__enter__(),
    "groups left": lambda b: b.cp_async_wait_group(-1),
    "bulk groups left": lambda b: b.cp_async_bulk_wait_group(-1),
    "bulk reads left": lambda b: b.cp_async_bulk_wait_group_read(-1),
    "setmaxnreg": lambda b: b.setmaxnreg_inc(13),
    "turns": lambda b: b.turns("x").__enter__(),
    "if_warpgroup": lambda b: b.if_warpgroup(0, "x").__enter__(),
    "shared_array": lambda b: b.shared_array("a", "f32", 3),
    "shared_array n": lambda b: b.shared_array("a", f32, 0),
    "tile_map": lambda b: KernelBuilder("q", block=32).tile_map("x", "bf16", (64, 64)),
    "tile_map sh": lambda b: KernelBuilder("q", block=32).tile_map("x", bf16, 64),
    "tile_map sw": lambda b: KernelBuilder("q", block=32).tile_map("x", bf16, (64, 64), swizzle=5),
    "tile_map rank": lambda b: KernelBuilder("q", block=32).tile_map("x", bf16, (64, 64), rank="x"),
    "pointer t": lambda b: KernelBuilder("q", block=32).pointer("x", "f32"),
    "device fn": lambda b: device_function(3),
    "to": lambda b: b.tid_x.to(3),
    "vec+": lambda b: b.vector([b.f32(1.0)]) + "x",
    "vec item": lambda b: b.vector([b.f32(1.0)])[3],
    "rows whole": lambda b: b.warpgroup_tile(64, 64).row_sum(whole=False).whole(3),
    "release": lambda b: (
        b.tile_ring("k", b.shared_tiles("t", bf16, (64, 64), 2)).consumer().release("x")
    ),
    "slot": lambda b: b.tile_ring("k", b.shared_tiles("t", bf16, (64, 64), 2)).slot("x"),
}


@each("name", WRONG)
def test_it_is_refused_at_its_line(name: str) -> None:
    with pytest.raises(InputError) as caught:
        WRONG[name](begun())
    assert caught.value.findings[0].place.file == __file__


def test_a_number_of_an_instruction_breaks_its_rule() -> None:
    """PTX ISA, setmaxnreg: imm-reg-count is a multiple of 8 in 24..256."""
    with pytest.raises(InputError, match=r"a multiple of 8 in 24\.\.256") as caught:
        begun().setmaxnreg_inc(13)
    (found,) = caught.value.findings
    assert (found.rule, found.got, found.section) == (
        "builder/immediate-range", "13", "PTX ISA, setmaxnreg",
    )  # fmt: skip


# ---- types of pointers ---------------------------------------------------------------------------


def _of_bf16() -> tuple[KernelBuilder, Pointer]:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", bf16)
    return b, b.begin()["x"]


def test_floats_of_another_type_are_neither_stored_nor_loaded():
    """Eight f32 where bf16 lie would take the room of sixteen."""
    b, x = _of_bf16()
    with pytest.raises(InputError, match="of another type are loaded") as caught:
        b.load(x, f32, 8)
    assert "pointer.of(f32)" in str(caught.value)
    with pytest.raises(InputError, match="of another type are stored"):
        b.store(b.load(x, bf16, 8).to(f32), x)
    with pytest.raises(InputError, match="of another type are stored"):
        b.store(b.f32(1.0), x)


def test_bits_and_pairs_and_said_types_are_stored_and_loaded():
    b, x = _of_bf16()
    values = b.load(x, bf16, 2)
    b.store(values, x)
    b.store(b.pair(values[0], values[1]), x)
    b.store(b.load(x, u32, 2), x)
    b.store(values.to(f32), x.of(f32))
    b.store(b.load(x, u32, 1), x)
    assert "@k" in b.finish().llvm


def test_a_device_function_gets_as_many_values_as_it_takes():
    @device_function
    def add(b, left, right):
        return left + right

    b, _ = _of_bf16()
    with pytest.raises(InputError, match="add takes other values") as caught:
        add(b.tid_x)
    assert "add(left, right)" in str(caught.value)
    with pytest.raises(InputError, match="add takes other values"):
        add(b.tid_x, b.tid_x, b.tid_x)


def test_a_parameter_is_written_by_index() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", f32)
    b.u32("n")
    args: dict = b.begin()
    with pytest.raises(InputError, match="written by index") as caught:
        args["x"] = b.f32(1.0)
    (found,) = caught.value.findings
    assert (found.place.file, found.expected) == (__file__, "args['x'][i] = x")
    args["x"] += 4  # another address of that name
    args["n"] += 1


def test_a_number_that_no_float_holds() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", f32)
    x = b.begin()["x"]
    with pytest.raises(InputError, match="the number is beyond f32's"):
        x[0] = 10**400


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("load", "x\\[i\\]; of several numbers b.load"),
        ("store", "x\\[i\\] = y; of several"),
        ("spac", "did you mean x.space\\?"),
    ],
)
def test_what_a_pointer_has_not(name: str, here: str) -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", f32)
    x = b.begin()["x"]
    with pytest.raises(AttributeError, match=f"a Pointer has no '{name}': .*{here}"):
        getattr(x, name)


# ---- functions of other arguments, places that are not there -------------------------------------

Given: TypeAlias = Callable[..., Never]


def matrix(b: KernelBuilder) -> Fragment:
    return b.warpgroup_tile(64, 64).fragment


OTHER_ARGUMENTS: dict[str, tuple[Callable[[KernelBuilder, Given], object], Given, str]] = {
    "warp_reduce": (lambda b, f: b.warp_reduce(b.f32(1), f), lambda x: x, "x, y"),
    "cta_reduce": (lambda b, f: b.cta_reduce(b.f32(1), f), lambda x: x, "x, y"),
    "cluster_reduce": (lambda b, f: b.cluster_reduce(b.f32(1), f), lambda x: x, "x, y"),
    "warp_scan": (lambda b, f: b.warp_scan(b.f32(1), f), lambda x: x, "x, y"),
    "cta_scan": (lambda b, f: b.cta_scan(b.f32(1), f, 0.0), lambda x: x, "x, y"),
    "three": (lambda b, f: b.warp_reduce(b.f32(1), f), lambda x, y, z: x, "x, y"),
    "by name": (lambda b, f: b.warp_reduce(b.f32(1), f), lambda x, *, y: x, "x, y"),
    "operator": (lambda b, f: b.warp_reduce(b.f32(1), f), operator.neg, "x, y"),
    "vector reduce": (lambda b, f: b.vector([b.f32(1.0)] * 2).reduce(f), lambda x: x, "x, y"),
    "vector map": (lambda b, f: b.vector([b.f32(1.0)]).map(f), lambda x, y: x, "x"),
    "row_reduce": (lambda b, f: matrix(b).row_reduce(f), lambda x: x, "x, y"),
    "whole": (lambda b, f: matrix(b).row_sum(whole=False).whole(f), lambda x: x, "x, y"),
    "map_at": (lambda b, f: matrix(b).map_at(f), lambda x, row: x, "element, row, column"),
    "where": (lambda b, f: matrix(b).where(f, 0.0), lambda row: row < 3, "row, column"),
    "rows": (lambda b, f: matrix(b).rows(f), lambda row, column: row, "row"),
    "columns": (lambda b, f: matrix(b).columns(f), lambda row, column: row, "column"),
    "while": (lambda b, f: b.while_(f).__enter__(), lambda x: x < 3, ""),
}


@each("name", OTHER_ARGUMENTS)
def test_a_function_of_other_arguments(name: str) -> None:
    call, given, takes = OTHER_ARGUMENTS[name]
    with pytest.raises(InputError) as caught:
        call(begun(), given)
    (found,) = caught.value.findings
    assert (found.rule, found.place.file) == ("builder/function-arguments", __file__)
    assert found.expected == f"a function: lambda{' ' * bool(takes)}{takes}: …"
    assert found.got.startswith(("<lambda>(", "neg("))


def test_functions_of_more_that_has_defaults_and_of_any_number() -> None:
    def doubled(x: Float, y: Float, by: int = 2) -> Float:
        return x + y * by

    b = begun()
    b.warp_reduce(b.f32(1), doubled)
    b.warp_reduce(b.f32(1), lambda *numbers: numbers[0] + numbers[1])
    b.warp_reduce(b.f32(1), operator.add)
    assert "@k" in b.finish().llvm


BEYOND: dict[str, tuple[Callable[[KernelBuilder, Pointer], object], str]] = {
    "the next": (lambda b, a: a[64], "a[64]"),
    "before": (lambda b, a: a[-1], "a[-1]"),
    "stored": (lambda b, a: a.__setitem__(64, 1.0), "a[64]"),
    "added up": (lambda b, a: a.at(60).at(5)[-1], "a[64]"),
    "in bytes": (lambda b, a: (a + 256)[0], "a[64]"),
    "bytes back": (lambda b, a: (a - 4)[0], "a[-1]"),
    "of another type": (lambda b, a: a.of(f64)[32], "a[32]"),
    "several": (lambda b, a: b.load(a.at(60), f32, 8), "a[60] to a[67]"),
    "several stored": (lambda b, a: b.store(b.vector([b.f32(0)] * 4), a.at(62)), "a[62] to a[65]"),
    "atomic": (lambda b, a: b.atom(AtomicOp.ADD, f32, a.at(64), 1.0), "a[64]"),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", BEYOND)
def test_an_index_out_of_a_shared_array(name: str, dynamic: bool) -> None:
    """It would be another array's element, or nobody's."""
    call, got = BEYOND[name]
    b = begun()
    if dynamic:
        b.shared_array("much", f32, 12_000)
    with pytest.raises(InputError) as caught:
        call(b, b.shared_array("a", f32, 64))
    (found,) = caught.value.findings
    assert (found.rule, found.got, found.place.file) == ("builder/array-bounds", got, __file__)
    assert found.expected == f"a[0] to a[{31 if 'type' in name else 63}]"
    assert found.hint


def test_what_lies_in_a_shared_array_or_may() -> None:
    """The end is an address, too, and what the kernel computes is known on the GPU only."""
    b = begun()
    a = b.shared_array("a", f32, 64)
    a[63] = a[0]
    b.store(b.load(a.at(60), f32, 4), (a + 256) - 16)
    b.store(b.load(a, u32, 64), a)
    a.at(64)[-64] = 0.0
    a.at(b.tid_x - 64)[64] = 0.0
    first = b.variable(a)
    first.set(a.at(32))
    first.value[-32] = 1.0
    assert "@k" in b.finish().llvm


def test_an_atomic_of_floats_has_the_pointers() -> None:
    """Two bytes of an f32 are no f16."""
    b = begun()
    x: Pointer = b.args["x"]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="of another type are combined") as caught:
        b.atom(AtomicOp.ADD, f16, x, b.f16(1.0))
    (found,) = caught.value.findings
    assert (found.got, found.expected) == ("f16, at a pointer to f32", "f32")
    assert (found.rule, found.place.file) == ("builder/value", __file__)
    assert "pointer.of(f16)" in found.hint
    b.atom(AtomicOp.ADD, f16, x.of(f16), b.f16(1.0))
    b.atom(AtomicOp.MAX, u32, x, b.f32(1.0).word)
    b.atom(AtomicOp.ADD, f16x2, b.shared_array("halves", f16, 8), b.pair(b.f16(1), b.f16(2)))


@pytest.mark.parametrize(
    ("shape", "swizzle", "hint"),
    [((64, 24), 128, "swizzle=0"), ((64, 48), 128, "swizzle=32"), ((64, 32), 128, "swizzle=64")],
)
def test_a_place_in_a_tile_whose_lines_end_within_a_span(
    shape: tuple[int, int], swizzle: int, hint: str
) -> None:
    """A line begins where a span does: the last ones would be behind the tile.

    As mere room there may be such a tile.
    """
    b = begun()
    tile = b.shared_tile("t", bf16, shape, swizzle=swizzle)
    b.store(b.tid_x, tile.pointer)
    with pytest.raises(InputError, match="end within a swizzle span") as caught:
        tile.chunk(b.tid_x % 64, 0)
    (found,) = caught.value.findings
    assert (found.rule, found.place.file) == ("builder/swizzle-span", __file__)
    assert found.got == f"{2 * shape[1]} bytes in a line, {swizzle}-byte swizzling"
    assert found.expected == f"a multiple of {swizzle} bytes"
    assert found.hint == f"{hint} has whole spans"
