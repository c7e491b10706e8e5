"""An error of nvgen ends at the user's line, and says there what is wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import numpy as np
import pytest

import nvgen
from nvgen import KernelBuilder, NvgenError, f32
from nvgen.calling.tracebacks import VARIABLE
from tests.nvgen.programs import ADD

RAISES = "raise without_ours(error) from error.__cause__  # NVGEN_TRACEBACK=1: from inside nvgen"


def beyond_the_array() -> None:
    """A run on the simulator, which ends in the middle of it."""
    b = KernelBuilder("beyond", block=32, target="sm_90a")
    b.pointer("x", f32)
    args = b.begin()
    args["x"][b.tid_x] = 1.0
    b.finish().compile().run(np.zeros(8, np.float32))


def no_such_count() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    b.setmaxnreg_inc(13)


def no_ir() -> None:
    nvgen.compile("nonsense", target="sm_90a")


def no_size() -> None:
    nvgen.compile(ADD, target="sm_90a").run(np.zeros(8, np.int32), 1, block="x")


CALLS = (beyond_the_array, no_such_count, no_ir, no_size)


def frames(call: Callable[[], None]) -> list[tuple[str, str]]:
    """The file and the line of each frame below this one, the outermost first."""
    try:
        call()
    except NvgenError as error:
        return [(f.filename, f.line or "") for f in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("call", CALLS)
def test_one_frame_of_nvgens_is_left_which_says_how_to_see_the_others(
    call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    *users, (_, last) = frames(call)
    assert {file for file, _ in users} == {__file__}
    assert last == RAISES


@pytest.mark.parametrize("call", CALLS)
def test_all_frames_are_there_for_who_asks(
    call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    ours = [file for file, _ in frames(call) if file != __file__]
    assert len(ours) > 1


def test_the_frame_of_a_function_that_was_handed_in_stays() -> None:
    """A grid that is a function may call nvgen itself, and fail there."""

    def grid(*args: object) -> int:
        no_ir()
        return 1

    compiled = nvgen.compile(ADD, target="sm_90a")
    shown = frames(lambda: compiled.run(np.zeros(8, np.int32), 1, grid=grid, block=8) and None)
    assert any("no_ir()" in line for _, line in shown)


def test_a_bug_comes_with_all_of_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*args: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("nvgen.sim.launch.simulate", bug)
    with pytest.raises(ZeroDivisionError) as caught:
        beyond_the_array()
    assert any("compiled.py" in str(entry.path) for entry in caught.traceback)
