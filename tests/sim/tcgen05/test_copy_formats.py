"""tcgen05.cp that decompresses, and what it refuses.

PTX ISA, Optional Decompression; Shared memory descriptor.  Places and cells are those of
`tests.sim.tcgen05.test_copy`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sim.ptx import findings
from tests.sim.tcgen05.tensor_scenes import numbers, play, problem, scene, variables
from tests.sim.tcgen05.test_copy import TRAITS, expected, operation, placed, source

pytestmark = pytest.mark.turns(6)

# ---- decompression ---------------------------------------------------------------------------

NARROW = {"b4x16_p64": (4, 8), "b6x16_p32": (6, 12)}
"""Bits of an element, and the bytes of each 16 that hold elements."""


def widened(rows: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """A byte for each of the 16 elements of 16 bytes.

    The elements lie one after the other from the lowest bit on.  Six bits are the low ones of their
    byte; four are in the middle of it, two bits from the lowest: where CUTLASS puts what
    kind::f8f6f4 reads.
    """
    found = np.zeros_like(rows)
    for row in range(rows.shape[0]):
        for piece in range(0, rows.shape[1], 16):
            number = int.from_bytes(rows[row, piece : piece + 16].tobytes(), "little")
            for i in range(16):
                code = number >> bits * i & (1 << bits) - 1
                found[row, piece + i] = code << (2 if bits == 4 else 0)
    return found


@pytest.mark.parametrize("schedule", ["early", "late"])
@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("name", TRAITS)
def test_narrow_elements_become_bytes(name: str, narrow: str, schedule: str):
    """Random bytes everywhere, in the padding too, which changes nothing."""
    rows = source(name)
    image = placed(rows, span=0, lbo=128, sbo=256)
    leader = operation(name, formats=f".b8x16.{narrow}")
    found = play(scene(leader), image, numbers(), schedule=schedule)
    wide = widened(rows, NARROW[narrow][0])
    assert (found == expected(name, wide)).all()


@pytest.mark.parametrize("narrow", NARROW)
def test_narrow_elements_may_be_swizzled(narrow: str):
    rows = source("128x256b")
    image = placed(rows, span=128, lbo=16, sbo=1024, start=32)
    leader = operation("128x256b", span=128, lbo=16, sbo=1024, start=32, formats=f".b8x16.{narrow}")
    wide = widened(rows, NARROW[narrow][0])
    assert (play(scene(leader), image, numbers()) == expected("128x256b", wide)).all()


@pytest.mark.parametrize("formats", ["", ".b8x16.b4x16_p64"])
def test_padding_need_not_be_written(formats: str):
    """A TMA load leaves it out; without decompression the same bytes are read."""
    store = "st.shared.b32 [%r1], %r4;"
    first_half = f"""    and.b32 %r5, %tx, 2;
    setp.eq.u32 %p6, %r5, 0;
    @%p6 {store}"""
    rows = source("128x128b")
    image = placed(rows, span=0, lbo=128, sbo=128)
    text = scene(operation("128x128b", sbo=128, formats=formats))
    text = text.replace(f"    {store}", first_half)
    if not formats:
        assert problem(text, image).rule == "sim/uninitialized"
        return
    found = play(text, image, numbers())
    assert (found == expected("128x128b", widened(rows, 4))).all()


# ---- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRAITS)
def test_a_copy_stays_within_the_lanes(name: str):
    lane = 32 if name == "4x256b" else 1
    image = placed(source(name), span=0, lbo=128, sbo=256)
    finding = problem(scene(operation(name, lane=lane)), image)
    assert finding.rule == "sim/lane-alignment"
    assert finding.op.startswith("TCGEN05_CP")


def test_columns_that_are_not_allocated():
    image = placed(source("128x256b"), span=0, lbo=128, sbo=256)
    finding = problem(scene(operation("128x256b", column=60)), image)
    assert finding.rule == "sim/tensor-memory-bounds"
    assert "column 64" in finding.got


def test_a_column_that_no_public_kernel_uses_is_refused():
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    finding = problem(scene(operation("128x128b", column=2)), image)
    assert finding.rule == "sim/not-simulated"


def test_shared_memory_that_was_never_written():
    """The last 8 rows lie behind the image, in the variable that is never written."""
    rows = source("128x128b")
    leader = operation("128x128b", sbo=128).replace("add.u32 %r1, %r1, 0;", "mov.u32 %r1, blank;")
    image = placed(rows, span=0, lbo=128, sbo=128)
    arguments = (image, numbers(), np.zeros((128, 64), np.uint32), image.size)
    text = variables(image.size) + "\n.shared .align 1024 .b8 blank[2048];"
    (finding,) = findings(scene(leader), *arguments, variables=text, threads=128)
    assert finding.rule == "sim/uninitialized"
    assert "tcgen05.cp" in finding.message


def test_rows_outside_of_shared_memory():
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    finding = problem(scene(operation("128x128b", sbo=262128)), image)
    assert finding.rule == "sim/out-of-bounds"


def test_a_missing_proxy_fence():
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    text = scene(operation("128x128b")).replace("    fence.proxy.async;\n", "")
    assert problem(text, image).rule == "sim/proxy-fence"


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (6 << 46, "sim/smem-desc"),
        (1 << 53, "sim/smem-desc"),
        (1 << 61, "sim/smem-desc"),
        (3 << 61, "sim/smem-desc"),
        (1 << 52, "sim/not-simulated"),
    ],
)
def test_descriptors(wrong: int, rule: str):
    """Constant bits, swizzling modes, and what is not modelled."""
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    text = scene(
        operation("128x128b").replace(
            "    tcgen05.cp",
            f"""\
    xor.b64 %rd3, %rd3, {wrong};
    tcgen05.cp""",
        )
    )
    assert problem(text, image).rule == rule


def test_rows_that_leave_their_span_are_refused():
    """16 bytes before the end of a span, and 32 bytes long: no source says what is read."""
    rows = np.zeros((130, 128), np.uint8)
    image = placed(rows, span=128, lbo=16, sbo=1024)
    leader = operation("128x256b", span=128, lbo=16, sbo=1024, start=112)
    assert problem(scene(leader), image).rule == "sim/not-simulated"


def test_one_thread_issues_a_copy():
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    text = scene(operation("128x128b")).replace("    @%p8 bra led;", "    @%p9 bra led;")
    assert problem(text, image).rule == "sim/single-thread"
