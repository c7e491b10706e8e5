"""What must hold of a program, each as a function that raises AssertionError.

The oracle is LLVM: its just-in-time compiler for the host says what bytes come out, its NVPTX back
end and ptxas say whether a text is PTX.  nvgen is used only as its users use it.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nvgen
from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import InputError
from tests.oracle import llvm
from tests.oracle.gpu import launch
from tests.oracle.ptxas import find_ptxas
from tests.property.host import HostProgram
from tests.property.memory_steps import THREADS
from tests.property.program import SLOT, Program

TARGET = "sm_90a"
PTX = "8.6"
Bytes = NDArray[np.uint8]


def on_host(program: Program, opt: int = 0) -> Bytes:
    """The output after a run on the host's processor."""
    source, target = program.memory()
    HostProgram(program.text, opt=opt).run(source, target, THREADS)
    return target.view(np.uint8)


def optimised_on_host(program: Program) -> Bytes | None:
    """The same at LLVM's -O3, in a child; nothing when LLVM dies of an assertion of its own."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(errors.fileno(), 2)
                output.write(on_host(program, opt=3).tobytes())
                output.flush()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return np.frombuffer(output.read(), np.uint8) if status == 0 else None


def compiled(program: Program, opt: int | None = 0) -> nvgen.Compiled:
    """What nvgen makes of a program."""
    return nvgen.compile(program.text, target=TARGET, opt=opt)


def on_device(program: Program, made: nvgen.Compiled) -> Bytes:
    """The output after a run on the device under test."""
    source, target = program.memory()
    launch(made, source, target, block=(THREADS, 1, 1))
    return target.view(np.uint8)


def assert_same(program: Program, expected: Bytes, found: Bytes, what: str) -> None:
    """Every byte is equal, the bytes that no thread writes included."""
    wrong = np.flatnonzero(expected != found)
    if not wrong.size:
        return
    slot, thread = divmod(int(wrong[0]) // SLOT, THREADS)
    at = (slot * THREADS + thread) * SLOT
    raise AssertionError(
        f"{what}: {wrong.size} bytes differ, first in slot {slot} (row offset "
        f"{slot * SLOT * THREADS}) of thread {thread}: "
        f"host {expected[at : at + SLOT].tobytes()[::-1].hex()}, "
        f"found {found[at : at + SLOT].tobytes()[::-1].hex()}\n{program.text}"
    )


# ---- the properties --------------------------------------------------------------------------


def nothing_is_undefined(program: Program) -> None:
    """The host's result does not depend on what LLVM's optimiser makes of the program."""
    expected, found = on_host(program), optimised_on_host(program)
    if found is not None:
        assert_same(program, expected, found, "the host at -O3")


def same_bytes(program: Program, opts: Sequence[int | None] = (0, None, 2)) -> None:
    """nvgen's code, at each level, computes what the host computes."""
    expected = on_host(program)
    for opt in opts:
        try:
            made = compiled(program, opt)
        except InputError as error:
            # LLVM's optimiser fails an assertion of its own: nvgen says so, and that is right
            if opt and all(f.rule == "llvm/crash" for f in error.findings):
                continue
            raise
        found = on_device(program, made)
        if not np.array_equal(expected, found):
            expected = _of_another_level(program, expected)
        assert_same(program, expected, found, f"nvgen at opt={opt}")


def _of_another_level(program: Program, expected: Bytes) -> Bytes:
    """What the host says at -O3, if it says anything.

    With vectors of bfloat, LLVM 22's code for x86-64 is wrong at -O0 in some programs (two are in
    `tests/fuzz/kept`), where nvgen's is that of the other levels.
    """
    found = optimised_on_host(program)
    return expected if found is None else found


def round_trips(program: Program) -> None:
    """MIR text read back prints the same; PTX read back runs to the same bytes."""
    made = compiled(program)
    again = read_mir(made.mir)
    assert print_mir(again).text == made.mir, f"MIR read back prints otherwise\n{program.text}"
    expected = on_device(program, made)
    for what, module in (("MIR", again), ("PTX", read_ptx(made.ptx).module)):
        other = dataclasses.replace(made, module=module)
        assert_same(program, expected, on_device(program, other), f"{what} read back")


def assembles(program: Program, opts: Sequence[int] = (0,)) -> None:
    """ptxas takes nvgen's PTX."""
    for opt in opts:
        made = compiled(program, opt)
        complaint = complaints(made.ptx)
        assert not complaint, f"ptxas refuses nvgen's PTX at opt={opt}: {complaint}\n{program.text}"


def llvm_compiles(programs: Sequence[Program]) -> None:
    """LLVM's own NVPTX back end takes the programs, and ptxas its PTX."""
    texts = [llvm.HEADER + p.text for p in programs]
    for program, outcome in zip(programs, llvm.compile_all(texts, TARGET, PTX), strict=True):
        assert not outcome.refusal, f"LLVM: {outcome.refusal}\n{program.text}"
        complaint = complaints(outcome.ptx)
        assert not complaint, f"ptxas refuses LLVM's PTX: {complaint}\n{program.text}"


def complaints(ptx: str) -> str:
    """What ptxas says against a module; nothing if it makes code of it."""
    with tempfile.TemporaryDirectory(prefix="property-") as folder:
        Path(folder, "m.ptx").write_text(ptx)
        done = subprocess.run(
            [find_ptxas(), f"-arch={TARGET}", "-O1", "-o", "m.cubin", "m.ptx"],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=120, check=False,
        )  # fmt: skip
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


def llvms_ptx_runs(program: Program) -> None:
    """LLVM's PTX of the program, read by nvgen and run, computes what the host computes."""
    (outcome,) = llvm.compile_all([llvm.HEADER + program.text], TARGET, PTX)
    made = compiled(Program(_EMPTY, program.slots, program.seed))
    other = dataclasses.replace(made, module=read_ptx(outcome.ptx).module)
    assert_same(program, on_host(program), on_device(program, other), "LLVM's PTX read back")


_EMPTY = """\
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  ret void
}
"""
