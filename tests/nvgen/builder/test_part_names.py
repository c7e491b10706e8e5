"""What lies in dynamic shared memory has its names in PTX, MIR and findings.

Offsets are counted by hand: a tile of 128 rows of 64 bf16 takes 16 KiB.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from nvgen import FindingWarning, InputError, KernelBuilder, SimulationError, bf16, u32
from nvgen.compilation.compiled import Compiled
from tests.each import each

TILE = 128 * 64 * 2


def compiled(*, filled: bool) -> Compiled:
    """The second of three tiles is filled, and read beside a fourth that nothing fills."""
    b = KernelBuilder("product", block=128, target="sm_90a", dynamic_shared=True)
    b.tile_map("x", bf16, (128, 64))
    args = b.begin()
    tiles = b.shared_tiles("tiles", bf16, (128, 64), 3)
    other = b.shared_tile("other", bf16, (128, 64))
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, *([tiles[1], other] if filled else [tiles[1]]))
        b.load_tile(tiles[1], args["x"], (0, 0), full)
        if filled:
            b.load_tile(other, args["x"], (0, 0), full)
    b.wait(full, 0)
    b.gemm(b.warpgroup_tile(128, 128), tiles[1], other)
    return b.finish().compile()


def test_an_address_has_the_name_of_the_tile_that_it_is_in():
    text = compiled(filled=True).ptx
    [declared] = [line for line in text.split("\n") if line.startswith(".extern")]
    assert declared.endswith(f"dynamic_shared[];  // tiles at 0, other at {3 * TILE}")
    loads = [line for line in text.split("\n") if "cp.async.bulk.tensor" in line]
    assert [line.split("  // ")[1] for line in loads] == [f"tiles+{TILE}", "other"]
    assert f"[dynamic_shared+{TILE}]" in loads[0]
    assert f"[dynamic_shared+{3 * TILE}]" in loads[1]


def test_names_are_comments():
    made = compiled(filled=True)
    plain = re.sub(r"  // .*", "", made.ptx)
    assert plain != made.ptx
    assert read_ptx(made.ptx).module == read_ptx(plain).module


def test_mir_has_them_beside_the_line_of_python():
    [load, _] = [line for line in compiled(filled=True).mir.split("\n") if "TENSOR_LOAD" in line]
    assert re.search(rf"@dynamic_shared\+{TILE}\].* ; .*, tiles\+{TILE}$", load)


def test_a_finding_names_the_tile():
    with pytest.warns(FindingWarning, match="nothing writes the 128 bytes at byte 0 of other"):
        compiled(filled=False)


def test_a_name_that_ends_a_line_stays_in_its_comment():
    b = KernelBuilder("odd", block=32, target="sm_90a", dynamic_shared=True)
    b.begin()
    b.store(b.const(1), b.shared_tile("a\nb", bf16, (128, 64)).pointer)
    text = b.finish().compile().ptx
    assert "[dynamic_shared], 1;  // 'a\\nb'\n" in text


@each("dynamic", [False, True])
def test_a_name_is_given_once(dynamic: bool) -> None:
    b = KernelBuilder("twice", block=32, target="sm_90a", dynamic_shared=dynamic)
    b.begin()
    b.shared_tile("tile", bf16, (64, 64))
    with pytest.raises(InputError, match="a name of its own"):
        b.shared_tile("tile", bf16, (64, 64))


def test_a_tile_may_have_the_name_of_its_kernel_where_it_is_no_symbol() -> None:
    b = KernelBuilder("tile", block=32, target="sm_90a", dynamic_shared=True)
    b.begin()
    b.store(b.const(1), b.shared_tile("tile", bf16, (64, 64)).pointer)
    assert "[dynamic_shared], 1;  // tile\n" in b.finish().compile().ptx


@each("dynamic", [False, True])
def test_a_race_names_what_it_is_in(dynamic: bool) -> None:
    """Two warps, 16 bytes into the second of two arrays, in static and in dynamic memory."""
    b = KernelBuilder("racing", block=64, target="sm_90a", dynamic_shared=dynamic)
    b.pointer("out", u32, output=True)
    out = b.begin()["out"]
    b.shared_tile("first", bf16, (64, 64))
    second = b.shared_tile("second", bf16, (64, 64)).pointer + 16
    with b.if_thread(0):
        b.store(b.const(1), second)
    with b.if_thread(40):
        out[0] = b.load_word(second)
    with pytest.raises(SimulationError, match=r"4 bytes of shared memory, .*, byte 16 of second;"):
        b.finish().compile().run(np.zeros(1, np.uint32))
