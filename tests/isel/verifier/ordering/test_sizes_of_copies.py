"""Copies of unknown size: those of a ring's buffers have the same sizes, in the same order."""

from __future__ import annotations

from isel.verifier.ordering.judgement.sizes import ends_of_copies
from isel.verifier.ordering.run.log import Log

A, B = (0, 1024), (2048, 2560)  # two buffers each of two operands: 1024 and 512 bytes
FIRST, SECOND = (64, 0), (72, 0)  # phases of their mbarriers


def log_of(copies: dict[tuple[int, int], list[int]]) -> Log:
    log = Log()
    for phase, found in copies.items():
        log.copies[phase], log.expected[phase] = found, 1536
    return log


def test_the_last_buffer_ends_as_the_others_do() -> None:
    """Behind it nothing begins that would say so."""
    log = log_of({FIRST: [A[0], B[0]], SECOND: [A[1], B[1]]})
    assert ends_of_copies(log) == {0: 1024, 1024: 2048, 2048: 2560, 2560: 3072}


def test_what_no_other_phase_tells_is_not_known() -> None:
    assert ends_of_copies(log_of({SECOND: [A[1], B[1]]})) == {}


def test_copies_in_another_order_tell_nothing() -> None:
    """Of two phases that disagree neither is believed for a third."""
    third = (80, 0)
    log = log_of({FIRST: [0, 1024], SECOND: [4096, 4608], third: [9000, 16384]})
    log.copies[(88, 0)], log.expected[(88, 0)] = [1536, 5632], 0  # where the two before end
    assert {first: end - first for first, end in ends_of_copies(log).items()} == {
        0: 1024, 1024: 512, 4096: 512, 4608: 1024,
    }  # fmt: skip
