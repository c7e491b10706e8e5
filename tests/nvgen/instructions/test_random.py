"""Philox, beside the known answers of its authors (Random123, kat_vectors)."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder, f32, u32
from nvgen.testing import Launch, assert_exact, kernel_test

COUNTERS = np.array(
    [[0] * 4, [2**32 - 1] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]], np.uint32
)
KEYS = np.array([[0] * 2, [2**32 - 1] * 2, [0xA4093822, 0x299F31D0]], np.uint32)
ANSWERS = np.array(
    [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ],
    np.uint32,
)


@kernel_test(schedules=["early"], targets="sm_90a")
def test_known_answers(launch: Launch) -> None:
    b = KernelBuilder("philox", block=3)
    b.pointer("counters", u32)
    b.pointer("keys", u32)
    b.pointer("out", u32, output=True)
    args = b.begin()
    counter = [args["counters"][b.thread * 4 + i] for i in range(4)]
    key = [args["keys"][b.thread * 2 + i] for i in range(2)]
    for i, word in enumerate(b.philox(counter, key)):
        args["out"][b.thread * 4 + i] = word
    out = np.zeros((3, 4), np.uint32)
    launch(b.finish(), COUNTERS, KEYS, out)
    assert_exact(out, ANSWERS)


@kernel_test(schedules=["early"], targets="sm_90a")
def test_missing_words_are_zeros_and_numbers_are_uniform(launch: Launch) -> None:
    b = KernelBuilder("uniform", block=256)
    b.pointer("out", u32, output=True)
    b.pointer("x", f32, output=True)
    args = b.begin()
    word = b.philox((0,), ())[0]
    args["out"][b.thread] = word
    args["x"][b.thread] = (b.philox((b.thread.to(u32),), (7,))[3] >> 8).to(f32) * 2**-24
    out, x = np.zeros(256, np.uint32), np.zeros(256, np.float32)
    launch(b.finish(), out, x)
    assert (out == ANSWERS[0, 0]).all()
    assert (x >= 0).all()
    assert (x < 1).all()
    assert abs(x.mean() - 0.5) < 3 * (1 / 12 / 256) ** 0.5  # three standard deviations


SEVEN_ROUNDS = [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]
"""Of a counter and a key of zeros: Random123, kat_vectors."""


@kernel_test(schedules=["early"], targets="sm_90a")
def test_fewer_rounds(launch: Launch) -> None:
    b = KernelBuilder("philox", block=1)
    b.pointer("out", u32, output=True)
    out = b.begin()["out"]
    for i, word in enumerate(b.philox((0,), (0,), rounds=7)):
        out[i] = word
    found = np.zeros(4, np.uint32)
    launch(b.finish(), found)
    assert_exact(found, np.array(SEVEN_ROUNDS, np.uint32))


@pytest.mark.parametrize("counter", [(0,) * 5, 0])
def test_what_is_no_counter(counter: object) -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    with pytest.raises(InputError):
        b.philox(counter, (0,))
