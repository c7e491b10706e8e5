"""What the builder says of arguments that are no such thing: in words, where they are given."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError
from intrinsics.modifiers import AtomicOp
from nvgen import KernelBuilder, Shuffle, f32, u32
from nvgen.values.numbers import Float
from nvgen.values.pointers import Pointer
from tests.each import each

E = ElementType


def begun(name: str = "k") -> KernelBuilder:
    b = KernelBuilder(name, block=32)
    b.begin()
    return b


def tile(**given: object) -> None:
    shape = {"dtype": E.F16, "shape": (64, 64), "count": 1, **given}
    begun().shared_tiles("t", **shape)


def tensor_map(**given: object) -> None:
    b = KernelBuilder("k", block=32)
    b.tensor_map("m", **{"dtype": E.F16, "box": (8, 8), **given})


def block(size: object, cluster: object = 1) -> None:
    KernelBuilder("k", block=size, cluster=cluster)


def wait(phase: object) -> None:
    b = begun()
    b.wait(b.mbarrier("m"), phase)


def expect(size: object) -> None:
    b = begun()
    b.mbarrier_arrive_expect_tx(b.mbarrier("m"), size)


def stored(value: object, pointer: object) -> None:
    b = begun()
    b.store(value, pointer)


def of_another() -> None:
    begun().load(begun("other").shared_word("w"), u32, 2)


def made(*counted: object) -> None:
    b = begun()
    b.make_mbarriers(*(one(b) if callable(one) else one for one in counted))


def waits_for(what: Callable[[KernelBuilder], object]) -> None:
    b = begun()
    b.wait(what(b), 0)


def arrives_at(what: Callable[[KernelBuilder], object]) -> None:
    b = begun()
    b.mbarrier_arrive(what(b))


WRONG: dict[str, tuple[Callable[[], None], str]] = {
    "an address to wait for": (
        lambda: waits_for(lambda b: b.mbarrier("m").pointer), "no mbarrier"),
    "a tile to wait for": (
        lambda: waits_for(lambda b: b.shared_tile("t", E.F16, (8, 64))), "no mbarrier"),
    "an address to arrive at": (
        lambda: arrives_at(lambda b: b.mbarrier("m").pointer), "no mbarrier"),
    "several mbarriers to arrive at": (
        lambda: arrives_at(lambda b: b.mbarriers("m", 2)), "m is 2 mbarriers"),
    "a fraction": (lambda: begun().tid_x / 2, "no quotient with a fraction"),  # type: ignore[dict-item]
    "elements of numpy": (lambda: tile(dtype=np.float16), "no type of elements"),
    "elements by name": (lambda: tile(dtype="f16"), "no type of elements"),
    "a shape of one number": (lambda: tile(shape=(64,)), "no shape of a tile"),
    "a shape that is a number": (lambda: tile(shape=64), "no shape of a tile"),
    "rows that are no whole number": (lambda: tile(shape=(64.0, 64)), "no number of rows"),
    "no rows": (lambda: tile(shape=(0, 64)), "no number of rows"),
    "K below zero": (lambda: tile(shape=(64, -64)), "no number of elements along K"),
    "no tiles": (lambda: tile(count=0), "no number of tiles"),
    "tiles by name": (lambda: tile(count="3"), "no number of tiles"),
    "a map of numpy's elements": (lambda: tensor_map(dtype=np.float16), "no type of elements"),
    "a box that is a number": (lambda: tensor_map(box=8), "no box of a tensor map"),
    "an empty box": (lambda: tensor_map(box=()), "no box of a tensor map"),
    "a box of nothing": (lambda: tensor_map(box=(0, 8)), "no number of elements of a box"),
    "a block that is text": (lambda: block("32"), "no size of a block"),
    "a block of four sizes": (lambda: block((1, 1, 1, 1)), "no size of a block"),
    "a cluster in three dimensions": (lambda: block(32, (2, 1, 1)), "no number of CTAs"),
    "half a cluster": (lambda: block(32, 0.5), "no number of CTAs"),
    "a wait for nothing": (lambda: wait(None), "no phase"),
    "a wait for a fraction": (lambda: wait(0.5), "no integer"),
    "no bytes": (lambda: expect(None), "no tx_count"),
    "bytes as a fraction": (lambda: expect(128.0), "no integer"),
    "a ring without a size": (lambda: begun().ring(None), "no number of buffers"),  # type: ignore[dict-item]
    "a tile without a number": (  # type: ignore[dict-item]
        lambda: begun().shared_tiles("t", E.F16, (64, 64), 2)[None],
        "t has no such number",
    ),
    "an mbarrier before the first": (lambda: begun().mbarriers("f", 3)[-1], "f has no such"),  # type: ignore[dict-item]
    "a load from a number": (lambda: begun().load_word(5), "no pointer"),  # type: ignore[dict-item]
    "a store to an array": (lambda: stored(0, np.zeros(3)), "no pointer"),
    "a pointer of another kernel": (of_another, "a pointer of another kernel"),
    "mbarriers without a count": (
        lambda: made(lambda b: b.mbarriers("f", 1)),
        "mbarriers come with the arrivals",
    ),
    "several mbarriers for one": (
        lambda: begun().mbarrier_init(begun().mbarriers("f", 3), 1),
        "f is 3 mbarriers",
    ),
}  # fmt: skip


@each("case", WRONG)
def test_it_is_refused_in_words(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(InputError, match=message) as caught:
        call()
    (found,) = caught.value.findings
    assert found.rule.startswith(("builder/", "run/"))
    assert found.got
    assert found.expected


def test_whole_numbers_of_numpy_are_numbers() -> None:
    """Sizes, indices and operands computed with numpy are what Python's are."""
    texts = []
    for number in (int, np.int64):
        b = KernelBuilder("k", block=number(64), cluster=number(2))
        b.begin()
        tiles = b.shared_tiles("t", E.F16, (number(8), number(64)), number(2))
        ready = b.mbarriers("ready", number(2))
        b.make_mbarriers((ready, 1))
        at = b.tid_x * number(4) + number(1)
        b.store(at, tiles[number(1)].pointer + number(4))
        with b.if_(at == number(5)):
            b.wait(ready[number(1)], number(0))
        texts.append(b.finish().llvm)
    assert texts[0].split("!llvm")[0] == texts[1].split("!llvm")[0]


def test_a_number_is_no_value_to_store() -> None:
    b = begun()
    with pytest.raises(InputError, match="no value of the kernel") as caught:
        b.store(0, b.shared_word("w"))
    assert "b.const(0)" in caught.value.findings[0].hint


# ---- tensor maps and tiles -------------------------------------------------------------------


def copied(
    swizzle: int = 128,
    *,
    of_map: int = 128,
    coords: tuple[int, ...] = (0, 0),
    verb: str = "load",
    stages: int = 1,
    use: str = "",
) -> None:
    """A copy between a tensor map of rows of 32 bytes and a tile, at a computed stage and row.

    `use` says whether something asks where elements of the tile lie, before the copy or behind it.
    """
    b = KernelBuilder("k", block=32)
    b.tensor_map("m", dtype=E.F16, box=(64, 16), swizzle=of_map)
    source = b.begin()["m"]
    assert isinstance(source, Pointer)
    tiles = b.shared_tiles("t", E.F16, (64, 64), stages, swizzle=swizzle)
    there = tiles[b.tid_x % stages].part(b.tid_x, 8).pointer
    if use == "before":
        tiles[0].chunk(b.tid_x, 0)
    if verb == "load":
        b.cp_async_bulk_tensor_g2s_tile(there, b.mbarrier("f"), source, coords)
    elif verb == "store":
        b.cp_async_bulk_tensor_s2g_tile(source, coords, there)
    else:
        b.cp_async_bulk_tensor_reduce_tile(AtomicOp.ADD, source, coords, there)
    if use == "behind":
        tiles[0].descriptor()
    b.finish()


@each("use", ["before", "behind"])
@each("verb", ["load", "store", "reduce"])
@each("swizzle, of_map", [(128, 0), (64, 128), (128, 32)])
def test_a_tile_swizzled_otherwise_than_the_map(
    use: str, verb: str, swizzle: int, of_map: int
) -> None:
    """What one writes is not what the other reads; as mere room the tile may be used anyhow."""
    copied(swizzle, of_map=swizzle, verb=verb, stages=2, use=use)
    copied(swizzle, of_map=of_map, verb=verb, stages=2)
    with pytest.raises(InputError, match="lies in shared memory otherwise") as caught:
        copied(swizzle, of_map=of_map, verb=verb, stages=2, use=use)
    (found,) = caught.value.findings
    assert found.rule == "builder/map-swizzle"
    assert str(swizzle) in found.got


@pytest.mark.parametrize("verb", ["load", "store", "reduce"])
def test_a_number_is_no_coordinates(verb: str) -> None:
    with pytest.raises(InputError, match="no coordinates"):
        copied(verb=verb, coords=0)


@pytest.mark.parametrize("verb", ["load", "store", "reduce"])
@pytest.mark.parametrize("coords", [(0,), (0, 0, 0)])
def test_other_coordinates_than_the_map_has(verb: str, coords: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        copied(verb=verb, coords=coords)
    (found,) = caught.value.findings
    assert (found.rule, found.got) == ("builder/map-rank", f"{len(coords)} coordinates")


@pytest.mark.parametrize(
    ("given", "rule", "got"),
    [
        ({"dtype": E.BF16, "box": (64, 128), "swizzle": 128}, "swizzle-span", "256"),
        ({"dtype": E.F32, "box": (64, 9)}, "box-bytes", "36"),
        ({"dtype": E.U8, "box": (257, 16)}, "box", "(257, 16)"),
        ({"dtype": E.F32, "box": (1, 1, 1, 1, 1, 4)}, "rank", "6"),
    ],
)
def test_a_box_that_no_tensor_has_is_refused_where_it_is_declared(
    given: dict[str, object], rule: str, got: str
) -> None:
    """By the driver's rules for cuTensorMapEncodeTiled, with the line of the declaration."""
    b = KernelBuilder("k", block=32)
    with pytest.raises(InputError) as caught:
        b.tensor_map("m", **given)
    (found,) = caught.value.findings
    assert (found.rule, found.got) == (f"tensor-map/{rule}", got)
    assert found.place.file == __file__


def test_boxes_of_part_bytes_are_the_launchs() -> None:
    """A launch says how elements of 4 bits lie: its TensorMap may have a packed type or bytes."""
    b = KernelBuilder("k", block=32)
    b.tensor_map("m", dtype=E.E2M1, box=(64, 256), swizzle=128)
    b.begin()
    b.finish()


def test_a_box_larger_than_its_tile_is_refused() -> None:
    b = KernelBuilder("k", block=32)
    b.tensor_map("m", dtype=E.BF16, box=(128, 64), swizzle=128)
    source = b.begin()["m"]
    assert isinstance(source, Pointer)
    tile, full = b.shared_tile("t", E.BF16, (64, 64)), b.mbarrier("full")
    with pytest.raises(InputError) as caught:
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, full, source, (0, 0))
    (found,) = caught.value.findings
    assert (found.rule, found.got) == ("builder/map-size", "16384 bytes")


def elsewhere(name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(begun(), name)
    return str(caught.value).partition("here it is ")[2]


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("sqrt", "a method of the number: x.sqrt()"),
        ("tanh", "a method of the number: x.tanh()"),
        ("cumsum", "b.warp_scan(x, operator.add), b.cta_scan(x, operator.add)"),
        ("ld_acquire", "b.atom_load(pointer)"),
        ("randint", "b.philox(counter, key), four words of random bits"),
        ("load_words", "b.load(pointer, u32, count, align=16)"),
        ("mbarriers_in_use", "b.make_mbarriers(…), then b.invalidate_mbarriers(…)"),
        ("arrive_at_peer", "b.mbarrier_arrive_space_cluster(b.of_peer(barrier))"),
    ],
)
def test_names_of_elsewhere(name: str, here: str) -> None:
    """They name what there is: the method that is asked for, a verb that a builder has."""
    assert elsewhere(name) == here
    for verb in re.findall(r"b\.(\w+)", here):
        assert hasattr(KernelBuilder, verb)


MEMBERS = {
    ("sums", "load"): "here it is x.from_memory(address, pitch), x.from_tile(tile)",
    ("sums", "clamp"): "here it is x.max(least).min(greatest)",
    ("sums", "row_maxima"): "did you mean x.row_max?",
    ("matrix", "relu"): "here it is x.max(0)",
    ("rows", "clamp"): "here it is x.max(least).min(greatest)",
    ("tile", "T"): "here it is x.transposed",
    ("tile", "chunks"): "did you mean x.chunk?",
}


@pytest.mark.parametrize(("kind", "name"), MEMBERS)
def test_names_of_elsewhere_of_matrices_and_tiles(kind: str, name: str) -> None:
    """Each is told what there is, which there is: the first word behind x."""
    b = KernelBuilder("k", block=128, dynamic_shared=True, target="sm_90a")
    b.begin()
    sums = b.warpgroup_tile(64, 64)
    tile = b.shared_tile("t", E.BF16, (64, 64))
    given = {"sums": sums, "matrix": sums.fragment, "rows": sums.rows(1.0), "tile": tile}[kind]
    with pytest.raises(AttributeError) as caught:
        getattr(given, name)
    said = MEMBERS[kind, name]
    assert str(caught.value).endswith(f": {said}")
    assert all(hasattr(given, word) for word in re.findall(r"x\.(\w+)", said))


def test_an_accumulator_has_what_its_matrix_has() -> None:
    """Methods, operators and comparisons, which are refused in the same words."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    sums = b.warpgroup_tile(64, 64)
    assert sums.sqrt().words == (sums / 2).words == sums.fragment.words == sums.words
    with pytest.raises(InputError, match="several numbers are compared one by one"):
        sums < 0  # noqa: B015


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_matrices_are_not_indexed(target: str) -> None:
    b = KernelBuilder("k", block=128, target=target)
    b.begin()
    d = b.warpgroup_tile(64, 64)
    for matrix in (d, d.fragment, d.row_max(), d.columns(lambda column: column)):
        with pytest.raises(InputError, match="a matrix in registers is not indexed"):
            matrix[0]
        with pytest.raises(InputError, match="a matrix in registers is not indexed"):
            list(matrix)


def test_an_array_is_no_tile_and_several_numbers_are_no_number() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.tensor_map("x", dtype=f32, box=(8, 32))
    args = b.begin()
    array, d = b.shared_array("array", f32, 256, align=128), b.warpgroup_tile(64, 64)
    full = b.mbarrier("full")
    with b.if_thread(0), pytest.raises(InputError) as caught:
        b.load_tile(array, args["x"], (0, 0), full)
    assert "b.cp_async_bulk_tensor_g2s_tile" in caught.value.findings[0].hint
    for several in ((b.tid_x, b.lane), d.fragment, d.row_max()):
        with pytest.raises(InputError) as caught:
            b.shfl_sync(Shuffle.BFLY, several, 1)
        assert "p.map(lambda x: b.shfl_sync(mode, x, lane))" in caught.value.findings[0].hint


def test_a_tile_is_not_indexed() -> None:
    b = KernelBuilder("k", block=128, dynamic_shared=True, target="sm_90a")
    b.begin()
    tile = b.shared_tile("t", E.BF16, (64, 64))
    with pytest.raises(InputError, match="a tile is not indexed"):
        tile[0, 0]
    with pytest.raises(InputError, match="a tile is not indexed"):
        tile[0, 0] = 1.0


def of_numbers(use: Callable[[KernelBuilder, Float, Pointer], object]) -> Finding:
    """What is said of a use of a number and a pointer to such."""
    b = KernelBuilder("k", block=32)
    b.pointer("x", f32)
    x = b.begin()["x"]
    with pytest.raises(InputError) as caught:
        use(b, x[b.tid_x], x)
    return caught.value.findings[0]


HINTS: dict[str, tuple[Callable[[KernelBuilder, Float, Pointer], object], str]] = {
    "a function of Python's math": (lambda b, x, p: math.exp(x), "x.exp()"),
    "a variable is stored": (lambda b, x, p: x.max(b.variable(0.0)), "v.value"),
    "a register by an index of the kernel": (
        lambda b, x, p: b.load(p, f32, 4)[b.tid_x], "b.select"),
    "a vector is compared": (lambda b, x, p: b.load(p, f32, 4) > 0, "x.map("),
    "the pointer first": (lambda b, x, p: b.store(p, x), "b.store(value, pointer)"),
}  # fmt: skip


@pytest.mark.parametrize("case", HINTS)
def test_what_is_natural_elsewhere_is_told_how_it_goes_here(case: str) -> None:
    use, hint = HINTS[case]
    assert hint in of_numbers(use).hint


def test_a_block_is_no_loop_and_a_variable_is_set() -> None:
    b = begun()
    with pytest.raises(InputError) as caught:
        list(b.range(4))
    assert caught.value.findings[0].expected == "with b.range(…) as x:"
    with pytest.raises(InputError) as caught:
        b.variable(0).value = b.tid_x
    assert caught.value.findings[0].expected == "v.set(…)"


@pytest.mark.parametrize(
    ("align", "column", "rule"),
    [(16, 0, "map-alignment"), (128, -1, "map-coordinate"), (128, 4, ""), (1024, -8, "")],
)
def test_where_a_tensor_copy_begins(align: int, column: int, rule: str) -> None:
    """In shared memory at a multiple of 128 bytes, in the tensor at one of 16."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.tensor_map("m", dtype=f32, box=(8, 32))
    tensor = b.begin()["m"]
    place, full = b.shared_array("a", f32, 256, align=align), b.mbarrier("full")
    with pytest.raises(InputError, match=rule) if rule else contextlib.nullcontext():
        b.cp_async_bulk_tensor_g2s_tile(place, full, tensor, (column, -1))
