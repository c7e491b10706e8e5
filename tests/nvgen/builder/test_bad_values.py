"""What is given in place of numbers, matrices, tiles and functions: refused, never a traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nvgen import InputError, KernelBuilder, bf16, device_function, f16x2, f32, i32, u32
from nvgen.builder.values.pointers import Pointer
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
    b.store(b.load_words(x, 2), x)
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
