"""Runs a program and compares every cell of tensor memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nvgen import NvgenError
from tests.oracle.executed.draws import Matrix
from tests.oracle.executed.kernel import Cells, Work, run
from tests.oracle.executed.programs import Program


def work(program: Program) -> Work:
    """What a CTA is given of a program."""
    p = program
    return Work(p.form, tuple(p.words), p.cells, p.first, p.image)


def execute(program: Program, *, schedule: str = "early") -> Cells:
    """All cells after the program."""
    return run([work(program)], schedule=schedule)[0]


def failures(programs: Sequence[Program], *, schedule: str = "early") -> list[str]:
    """What goes wrong in programs of one kind, all in one launch if none of them faults."""
    try:
        after = run([work(one) for one in programs], schedule=schedule)
    except NvgenError as error:
        if len(programs) == 1:
            return [f"{programs[0].describe()}\n  {str(error)[:600]}"]
        return [line for one in programs for line in failures([one], schedule=schedule)]
    return [
        "\n  ".join([one.describe(), *wrong])
        for one, cells in zip(programs, after, strict=True)
        if (wrong := differences(one, cells))
    ]


def differences(program: Program, after: Cells) -> list[str]:
    """What is not as it must be, one line for each sort of difference."""
    found: list[str] = []
    touched = np.zeros_like(after, dtype=bool)
    live = program.live
    touched[program.d.rank[live], program.d.lane[live], program.d.column[live]] = True
    other = (after != program.cells) & ~touched
    if other.any():
        place = tuple(np.argwhere(other)[0])
        found.append(
            f"{other.sum()} cells changed that are not D's, the first (rank, lane, column) "
            f"{place}: {after[place]:#010x}, before {program.cells[place]:#010x}"
        )
    got = program.d.get(after)
    wrong = _wrong(program, got) & program.live
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        found.append(
            f"{wrong.sum()} of {wrong.size} elements of D are wrong, the first at row {row}, "
            f"column {column}: {_number(program, got)[row, column]}, expected "
            f"{program.expected.values[row, column]}"
        )
    return found


def _number(program: Program, got: Cells) -> Matrix:
    match program.shape.d:
        case "s32":
            return got.view(np.int32).astype(np.float64)
        case "f16":
            return (got & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
        case _:
            return got.view(np.float32).astype(np.float64)


def _wrong(program: Program, got: Cells) -> npt.NDArray[np.bool_]:
    """Zeros have a sign only where something else was added."""
    values, expected = _number(program, got), program.expected
    if expected.bound is not None:
        return np.asarray(~(np.abs(values - expected.values) <= expected.bound))
    minus_zero = (values == 0) & np.signbit(values) & ~expected.zeros
    same = (values == expected.values) | (np.isnan(values) & np.isnan(expected.values))
    return np.asarray(~same | minus_zero)
