"""Bounded waits: right kernels stay right, and a wait without end is told with its place.

What the simulator says of a deadlock is the oracle for what the table of a launch is read as.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nvgen as package
from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from intrinsics.findings import DriverError, Finding, InputError, Place, SimulationError
from intrinsics.mir import Address, Module, Variable
from intrinsics.modifiers import Space
from isel.passes.bound_waits import Bounded, bound_waits
from isel.verifier.levels import verify
from isel.wait_bounds import COUNT, ENTRIES, REPORT, WaitBounds, WaitSite
from nvgen.driver.bounded_waits import overdue
from nvgen.loading import load
from nvgen.machine_code.assembler import assemble
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.faults import DeadlockError
from nvgen.sim.launch import simulate
from nvgen.sim.threads.machine import Machine
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each
from tests.nvgen.conftest import Nvgen
from tests.nvgen.waiting import ROUNDS, STUCK, TARGET, THREADS, expected, hand_over
from tests.oracle.gpu import device, on_gpu

CORPUS = sorted(Path(__file__).parents[2].glob("ptx_corpus/*.ptx"))
SCHEDULES = ("early", "late", "random:1", "random:2")


def out() -> np.ndarray:
    return np.zeros((ROUNDS, 32), np.int32)


# ---- right kernels -------------------------------------------------------------------------------


@pytest.mark.gpu
@kernel_test(targets=TARGET, bound_waits=5.0)
def test_a_right_kernel_gives_what_it_gave(launch: Launch) -> None:
    found = out()
    launch(hand_over(), found)
    assert_exact(found, expected())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_its_bounded_code_gives_what_it_gave(schedule: str) -> None:
    """The simulator leaves the bounds out of a run; here it is given their code."""
    compiled = hand_over().compile(target=TARGET, bound_waits=1.0)
    bounded = replace(compiled, module=compiled.final, bounded=None)
    found = out()
    bounded.run(found, schedule=schedule)
    assert_exact(found, expected())


def test_the_clock_of_a_wait_begins_with_it() -> None:
    """All waits together take longer than one may: the simulator's clock counts records."""
    rounds = 100
    kernel = hand_over(rounds=rounds)
    compiled = kernel.compile(target=TARGET, bound_waits=1e-6)
    bounded = replace(compiled, module=compiled.final, bounded=None)
    found = np.zeros((rounds, 32), np.int32)
    assert bounded.run(found).steps > 3 * 1000
    assert_exact(found, expected(rounds))


def test_without_the_mode_nothing_is_added() -> None:
    plain = hand_over().compile(target=TARGET)
    bounded = plain.with_bounded_waits(1.0)
    assert "globaltimer" not in plain.ptx
    assert bounded.ptx.count("trap") == 2
    assert print_mir(plain.module).text == print_mir(bounded.module).text
    assert plain.bounded is None
    assert len(bounded.cubin()) > len(plain.cubin())


# ---- a wait without end --------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")
def test_a_kernel_that_stays_loaded_has_bounds_too() -> None:
    """A trap ends the context, so this is for a process of its own; here the waits end in time."""
    torch = pytest.importorskip("torch")
    compiled = hand_over().compile(target=TARGET, bound_waits=5.0)
    found = torch.zeros((ROUNDS, 32), dtype=torch.int32, device="cuda")
    assert compiled.load().time(found, launches=10) > 0
    assert_exact(found.cpu().numpy(), expected())


@pytest.mark.wrong_kernel
@pytest.mark.gpu
def test_a_wait_without_end_is_reported_with_its_place() -> None:
    kernel = hand_over(arrives=False)
    compiled = kernel.compile(target=TARGET, bound_waits=0.25)
    with pytest.raises((DriverError, SimulationError)) as error:
        compiled.run(out(), device=device())
    findings = error.value.findings
    told = [f.message.partition(": ")[2] for f in findings]
    assert sorted(told) == sorted(STUCK)
    assert all(f.place.python_file.endswith("waiting.py") for f in findings)
    if on_gpu():
        assert {f.rule for f in findings} == {"run/wait-bound"}
        hand_over().compile(target=TARGET).run(found := out(), device=device())
        assert_exact(found, expected())


def table_of(bounded: Bounded, monkeypatch: pytest.MonkeyPatch, block: int) -> bytes:
    """The table that the bounded code leaves on the simulator, before its trap."""
    variables = [v for v in bounded.module.variables if v.name != REPORT]
    address = Address(0, "table", generic=False)
    table = Variable("table", Space.GLOBAL, bounded.bounds.size, 8)
    pointer = Variable(REPORT, Space.GLOBAL, 8, 8, data=bytes(8), addresses=(address,))
    module = replace(bounded.module, variables=[*variables, table, pointer])
    machines: list[Machine] = []

    def seen(machine: Machine, error: SimulationError) -> SimulationError:
        machines.append(machine)
        return error

    monkeypatch.setattr("nvgen.sim.launch.explained", seen)
    with pytest.raises(SimulationError, match="the kernel executes a trap"):
        simulate(
            module, "hand_over", [out()], grid=(1, 1, 1), block=(block, 1, 1),
            schedule=parse_schedule("early"),
        )  # fmt: skip
    (machine,) = machines
    (region,) = (one for one in machine.memory.allocations if one.name == "table")
    return bytes(region.data)


@pytest.mark.wrong_kernel
def test_the_table_says_what_the_simulator_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = hand_over(arrives=False).compile(target=TARGET)
    with pytest.raises(DeadlockError) as error:
        compiled.run(out())
    bounded = bound_waits(compiled.module, 4e-6)
    found = overdue(bounded.bounds, table_of(bounded, monkeypatch, THREADS))
    assert [f.message for f in found] == [f"overdue: {who}" for who in STUCK]

    def places(findings: tuple[Finding, ...] | list[Finding]) -> list[object]:
        return [(f.message.partition(": ")[2], f.place, f.op) for f in findings]

    assert sorted(map(str, places(found))) == sorted(map(str, places(error.value.findings)))
    assert all("after 4" in f.got or "after 5" in f.got for f in found)


def entry(bounds: WaitBounds, address: int, phase: int, *numbers: int) -> bytes:
    """The table with one entry: of the first site, lane 3."""
    head = struct.pack("<IIQQ12IQ", 1, 8, address, phase, *numbers, 1_500_000_000)
    variables = struct.pack("<2Q", 0x400, 0x500)
    return (head + variables).ljust(bounds.size, b"\0")


PLACES = (1, 2, 0, 4, 3, 7, 2, 0, 16, 4, 0, 0)
"""CTA (1, 2, 0) of a grid of 4 × 3, thread (7, 2, 0) of a block of 16 × 4, no cluster."""


@pytest.mark.parametrize(
    ("address", "phase", "numbers", "message"),
    [
        (0x408, 1, PLACES, "CTA 9, warp 1, lane 3 wait for full[1], parity 1"),
        (0x2000400, 0, PLACES, "CTA 9, warp 1, lane 3 wait for full[0], parity 0"),
        (0x510, 0, PLACES, "CTA 9, warp 1, lane 3 wait for mbarrier dynamic+0x10, parity 0"),
        (0x3F8, 0, PLACES, "CTA 9, warp 1, lane 3 wait for mbarrier 0x3f8, parity 0"),
        (
            *(0x400, 0, (*PLACES[:10], 1, 2)),
            "CTA 9 (rank 1 of its cluster), warp 1, lane 3 wait for full[0], parity 0",
        ),
    ],
)
def test_what_an_entry_says(
    address: int, phase: int, numbers: tuple[int, ...], message: str
) -> None:
    site = WaitSite(Place("k.ll", 7), "OP", True, (("full", 16), ("dynamic", 0)))
    bounds = WaitBounds(1_000_000_000, (site,))
    (found,) = overdue(bounds, entry(bounds, address, phase, *numbers))
    assert found.message == f"overdue: {message}"
    assert found.place == site.place
    assert "after 1.5 s" in found.got
    by_token = WaitBounds(1_000_000_000, (replace(site, parity=False),))
    (found,) = overdue(by_token, entry(bounds, 0x400, 0x99, *numbers))
    assert found.message.endswith("full[0], token 0x99")


def test_an_empty_table_says_nothing() -> None:
    bounded = bound_waits(hand_over().compile(target=TARGET).module, 1.0)
    assert overdue(bounded.bounds, bytes(bounded.bounds.size)) == []
    assert bounded.bounds.size == ENTRIES * bounded.bounds.entry_size


# ---- any program ---------------------------------------------------------------------------------


@each("path", CORPUS, ids=lambda path: path.stem, turns=3)
def test_other_compilers_programs_stay_legal(path: Path) -> None:
    program = load(str(path), path.read_text())
    before = print_mir(program.module).text
    bounded = bound_waits(program.module, 1.0)
    assert print_mir(program.module).text == before
    looks = sum(path.read_text().count(f"mbarrier.{how}_wait") for how in ("try", "test"))
    assert len(bounded.bounds.sites) + len(bounded.findings) == looks
    assert bool(bounded.bounds.sites) is (COUNT in print_mir(bounded.module).text)
    if not bounded.bounds.sites:
        return
    text = print_mir(bounded.module).text
    assert print_mir(read_mir(text)).text == text
    known = {f.rule for f in program.findings}
    judged = verify(bounded.module, program.target, program.ptx_version, "record")
    assert {f.rule for f in judged} <= known
    printed = replace(program, bounded=bounded).ptx
    assert load(path.name, printed).module.functions
    assert assemble(printed, program.target).cubin


def test_bounds_are_set_once() -> None:
    compiled = hand_over().compile(target=TARGET, bound_waits=1.0)
    with pytest.raises(InputError, match="bounded already"):
        load("k.ptx", compiled.ptx, bounds=1.0)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), 1e9])
def test_no_such_limit(seconds: float) -> None:
    with pytest.raises(InputError, match="no such limit"):
        package.compile(hand_over(), target=TARGET, bound_waits=seconds)


# ---- from the shell ------------------------------------------------------------------------------


def test_the_shell_compiles_bounded_waits(nvgen: Nvgen, tmp_path: Path) -> None:
    source = tmp_path / "k.ll"
    source.write_text(hand_over().llvm)
    options = ("--target", TARGET, "-o", "-")
    plain = nvgen("compile", str(source), *options)
    one = nvgen("compile", "--bound-waits", str(source), *options)
    two = nvgen("compile", str(source), *options, "--bound-waits=2")
    assert plain.status == one.status == two.status == 0
    assert "globaltimer" not in plain.out
    assert ", 1000000000;" in one.out
    assert ", 2000000000;" in two.out
    assert nvgen("compile", str(source), *options, "--bound-waits=0").status == 2
    printed = nvgen("compile", str(source), *options, "--bound-waits", "--print-after=bound-waits")
    assert "TRAP" in printed.out


def test_a_look_that_no_loop_waits_with_is_said(nvgen: Nvgen, tmp_path: Path) -> None:
    source = tmp_path / "k.ll"
    source.write_text(
        """
@bar = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar,
    i32 0)
  %word = zext i1 %done to i32
  store i32 %word, ptr addrspace(1) %out
  ret void
}
"""
    )
    found = nvgen("compile", str(source), "--target", TARGET, "-o", "-", "--bound-waits")
    assert found.status == 1, "nothing makes it an mbarrier, and a rule says so"
    assert "bound-waits/no-loop" in found.err
    assert "trap" not in found.out


def test_a_module_without_waits_stays_as_it_is() -> None:
    text = "define ptx_kernel void @k() {\n  ret void\n}\n"
    plain = package.compile(text, target="sm_75")
    assert plain.with_bounded_waits().ptx == plain.ptx
    module: Module = plain.with_bounded_waits().final
    assert not module.variables
