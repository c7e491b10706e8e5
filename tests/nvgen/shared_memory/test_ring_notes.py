"""Numbers that travel with the buffers of a ring, and a warp's rows of what a warpgroup holds."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder, bf16, f32, u32
from nvgen.built import Kernel
from nvgen.testing import Launch, kernel_test

TARGET = "sm_90a"
END = 1000


def notes() -> Kernel:
    """A producer sends squares with tiles, and then a number that says that there are no more."""
    b = KernelBuilder("notes", block=160, dynamic_shared=True, target=TARGET)
    b.tile_map("x", bf16, (64, 64))
    b.u32("steps")
    b.pointer("seen", u32, output=True)
    args = b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("tiles", bf16, (64, 64), 2), warps=4, notes=True)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warp(4), b.elect():
        producer = ring.producer()
        with b.range(args["steps"]) as step, producer.fill(note=step * step) as slot:
            b.load_tile(slot.tile, args["x"], (0, 0), slot.full)
        producer.send(END)
    with b.if_warpgroup(0):
        consumer = ring.consumer()
        slot = consumer.take()
        place, note, count = b.variable(slot.stage), b.variable(slot.note), b.variable(0)
        with b.while_(lambda: note.value < END):
            args["seen"][b.tid_x * 8 + count.value] = note.value
            count.set(count.value + 1)
            b.bar_warp_sync()
            consumer.release(place.value)
            slot = consumer.take()
            place.set(slot.stage), note.set(slot.note)  # type: ignore[func-returns-value]
    return b.finish()


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@kernel_test(schedules="all", random=2, targets=TARGET)
def test_every_thread_sees_the_notes_of_all_buffers(launch: Launch) -> None:
    seen = np.zeros((128, 8), np.uint32)
    launch(notes().compile(opt=launch.opt), np.zeros((64, 64), bf16.numpy), 6, seen, grid=1)
    assert (seen == [0, 1, 4, 9, 16, 25, 0, 0]).all()


@pytest.mark.turns(6)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@kernel_test(schedules="all", targets=TARGET)
@pytest.mark.parametrize("stages", [2, 3])
def test_warpgroups_skip_each_others_buffers(launch: Launch, stages: int) -> None:
    """Two warpgroups have five buffers each in turn: all are read, by one of the two."""
    steps, turns = 5, 4
    b = KernelBuilder("turns", block=288, dynamic_shared=True, target=TARGET)
    b.tile_map("x", f32, (32, 4), swizzle=0)
    b.pointer("seen", u32, output=True)
    args = b.begin()
    tiles = b.shared_tiles("tiles", f32, (32, 4), stages, swizzle=0)
    ring = b.tile_ring("ring", tiles, warps=4)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warp(8), b.elect():
        producer = ring.producer()
        with b.range(steps * turns) as step, producer.fill() as slot:
            b.load_tile(slot.tile, args["x"], (0, step * 32), slot.full)
    with b.if_warpgroup(0, 2):
        consumer, thread = ring.consumer(), b.tid_x % 128
        consumer.skip(b.warpgroup * steps)
        with b.turns(1) as order, b.range(turns // 2) as turn:
            with order.mine(), b.range(steps) as step, consumer.use() as slot:
                number = (turn * 2 + b.warpgroup) * steps + step
                word = b.load_word(slot.tile.chunk(thread // 4, 0) + thread % 4 * 4)
                args["seen"][number * 128 + thread] = word
                b.bar_warp_sync()
            consumer.skip(steps)
    x = np.arange(steps * turns * 128, dtype=np.uint32).reshape(-1, 4)
    seen = np.zeros_like(x)
    launch(b.finish().compile(opt=launch.opt), x.view(np.float32), seen)
    assert (seen == x).all()


@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@kernel_test(schedules=["early", "late"], targets=TARGET)
def test_ctas_share_items(launch: Launch) -> None:
    """Each number is taken once, by whatever CTA, and the counter is zero for the next launch."""
    b = KernelBuilder("share", block=160, dynamic_shared=True, target=TARGET)
    b.tile_map("x", bf16, (64, 64))
    b.pointer("counter", u32)
    b.pointer("seen", u32, output=True)
    b.u32("total")
    args = b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("tiles", bf16, (64, 64), 2), warps=4, notes=True)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warp(4), b.elect():
        producer = ring.producer()
        items = b.items(args["counter"], args["total"])
        with items as number, producer.fill(note=number) as slot:
            b.load_tile(slot.tile, args["x"], (0, 0), slot.full)
        producer.send(args["total"])
    with b.if_warpgroup(0):
        consumer = ring.consumer()
        with consumer.until(args["total"]) as slot:
            args["seen"][slot.note * 128 + b.tid_x] = slot.note + 1
            b.bar_warp_sync()
            consumer.release(slot)
    kernel, counter = b.finish().compile(opt=launch.opt), np.zeros(1, np.uint32)
    for total, ctas in ((7, 3), (2, 2)):
        seen = np.zeros((total, 128), np.uint32)
        launch(kernel, np.zeros((64, 64), bf16.numpy), counter, seen, total, grid=ctas)
        assert (seen == np.arange(1, total + 1)[:, None]).all()
        assert counter[0] == 0


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@kernel_test(schedules="all", targets=TARGET)
def test_a_warpgroup_writes_what_another_one_multiplies(launch: Launch) -> None:
    """D = Σ i·A·Bᵀ: one warpgroup writes i·A, which the other multiplies."""
    steps = 3
    b = KernelBuilder("write", block=256, dynamic_shared=True, target=TARGET)
    b.pointer("a", bf16)
    b.tile_map("w", bf16, (64, 64))
    b.pointer("d", f32, output=True)
    args = b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("tiles", bf16, (64, 64), 2), writers=4, warps=4)
    w, full = b.shared_tile("w_tile", bf16, (64, 64)), b.mbarrier("full")
    b.make_mbarriers((full, 1), *ring.mbarriers)
    with b.if_thread(0):
        b.arrive_expecting(full, w)
        b.load_tile(w, args["w"], (0, 0), full)
    with b.if_warpgroup(0):
        producer, held = ring.producer(), b.warpgroup_tile(64, 64)
        a = held.from_memory(args["a"], 64).to(f32)
        with b.range(steps + 1, start=1) as step, producer.write() as slot:
            (a * step.to(f32)).to(bf16).as_tile(slot.tile)
    with b.if_warpgroup(1):
        consumer, sums = ring.consumer(), b.warpgroup_tile(64, 64)
        b.wait(full, 0)
        with b.range(steps) as step, consumer.use() as slot:
            b.gemm(sums, slot.tile, w, accumulate=step != 0)
        sums.store(args["d"], 64)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, (64, 64)).astype(bf16.numpy) for _ in range(2))
    d = np.zeros((64, 64), np.float32)
    launch(b.finish().compile(opt=launch.opt, level="all"), x, y, d)
    assert (d == 6 * (x.astype(np.float32) @ y.astype(np.float32).T)).all()  # 1 + 2 + 3


def test_one_thread_takes_items_and_one_warp_writes() -> None:
    b = KernelBuilder("k", block=32, dynamic_shared=True, target=TARGET)
    b.pointer("counter", u32)
    args = b.begin()
    ring = b.tile_ring("ring", b.shared_tiles("tiles", bf16, (64, 64), 2))
    with pytest.raises(InputError, match="one thread takes items"), b.items(args["counter"], 3):
        pass
    with pytest.raises(InputError, match="nothing to write"), ring.producer().write():
        pass


def test_notes_come_with_all_buffers_or_none() -> None:
    b = KernelBuilder("k", block=32, dynamic_shared=True, target=TARGET)
    b.begin()
    tiles = b.shared_tiles("tiles", bf16, (64, 64), 2)
    plain, noted = b.tile_ring("plain", tiles), b.tile_ring("noted", tiles, notes=True)
    with b.if_warp(0), b.elect():
        with pytest.raises(InputError, match="with none"), plain.producer().fill(note=3):
            pass
        with pytest.raises(InputError, match="with none"), noted.producer().fill():
            pass
        with pytest.raises(InputError, match="without notes"):
            plain.consumer().take().note  # noqa: B018
    with pytest.raises(InputError, match="so many warps"):
        b.tile_ring("three", tiles, warps=3)


def test_a_warp_computes_rows_of_what_a_warpgroup_holds() -> None:
    """Each warp adds its 16 rows, multiplied by mma.sync, to those that wgmma made: 2·A·Bᵀ."""
    b = KernelBuilder("rows", block=128, dynamic_shared=True, target=TARGET)
    b.tile_map("x", bf16, (64, 64))
    b.tile_map("y", bf16, (32, 64))
    b.pointer("d", u32, output=True)
    args = b.begin()
    x, y = b.shared_tile("x_tile", bf16, (64, 64)), b.shared_tile("y_tile", bf16, (32, 64))
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, x, y)
        b.load_tile(x, args["x"], (0, 0), full)
        b.load_tile(y, args["y"], (0, 0), full)
    b.wait(full, 0)
    with b.if_warpgroup(0):
        sums = b.warpgroup_tile(64, 32)
        b.gemm(sums, x, y)
        mine = b.warp_tile(16, 32)
        b.gemm_async(mine, x.part(b.warp * 16, 16), y)
        both = sums + mine.fragment.as_rows_of(sums.fragment)
        both.map(lambda number: number.to(u32)).store(args["d"], 32)
        with pytest.raises(InputError, match="no rows of that matrix"):
            b.warp_tile(16, 16).fragment.as_rows_of(sums.fragment)
    kernel = b.finish()
    rng = np.random.default_rng(0)
    a, c = (rng.integers(0, 5, (n, 64)).astype(bf16.numpy) for n in (64, 32))
    d = np.zeros((64, 32), np.uint32)
    kernel.compile().run(a, c, d, grid=1, device="sim", schedule="late")
    assert (d == 2 * a.astype(np.float32) @ c.astype(np.float32).T).all()
