"""The collector rests inside, and is afterwards what it was before."""

import gc

import pytest

from intrinsics.collector import paused_collector


def test_it_rests_inside_and_runs_again():
    assert gc.isenabled()
    with paused_collector():
        assert not gc.isenabled()
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_runs_again_after_an_error():
    with pytest.raises(ValueError, match="x"), paused_collector():
        raise ValueError("x")
    assert gc.isenabled()


def test_who_has_stopped_it_finds_it_stopped():
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_can_be_wrapped_and_called_twice():
    states = []

    @paused_collector()
    def work() -> None:
        states.append(gc.isenabled())

    work()
    work()
    assert states == [False, False]
    assert gc.isenabled()
