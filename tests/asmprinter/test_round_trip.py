"""What the printers write, the readers understand: whole modules, drawn from the rows."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import Printed, print_ptx
from asmprinter.ptx.reading.reader import PtxReading, read_ptx
from intrinsics import catalog
from intrinsics.findings import Finding
from intrinsics.mir import Label, MachineFunction, MachineInstr, Module, Op, renumber
from intrinsics.targets import TARGETS
from isel.verifier.record import verify_records
from tests.asmprinter.operand_strategies import NEWEST, legal_attributes, ordinary_rows
from tests.asmprinter.ptx_texts import TEXTS
from tests.asmprinter.strategies import REPRESENTATIVES, UNKNOWN_TO_NVGEN, Drawn, modules
from tests.oracle import ptxas
from tests.turns import examples


def understood(reading: PtxReading) -> list[Finding]:
    """What the reader complains of, but for statements that it says it does not know."""
    return [f for f in reading.findings if not f.incomplete]


# ---- the strategies themselves ---------------------------------------------------------------


def test_the_strategies_know_every_row():
    """Only PHI, kept text and control flow are drawn by hand; nothing else is left out."""
    drawn = {row.id for name in REPRESENTATIVES for row in ordinary_rows(TARGETS[name])}
    assert {row.id for row in catalog.rows()} - drawn == {
        *("phi", "opaque", "bra", "brx.idx", "ret", "exit", "call")
    }
    for row in ordinary_rows(TARGETS["sm_100a"]):
        assert legal_attributes(row, TARGETS["sm_100a"]), row


@examples(100)
@given(modules())
def test_drawn_modules_pass_the_verifier(drawn: Drawn):
    module = drawn.module
    assert verify_records(module, module.target, NEWEST) == []


@examples(25)
@given(modules(kept_names=False))
def test_drawn_modules_pass_ptxas(drawn: Drawn):
    """The strategies draw what NVIDIA's assembler takes, so that the other properties mean it."""
    path = ptxas.required_ptxas()
    text = print_ptx(drawn.module, NEWEST).text
    for kept in UNKNOWN_TO_NVGEN:  # ptxas wants an address there that a drawn module may not have
        text = text.replace(f"{kept};", "")
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [path, f"-arch={ptxas.arch_of(drawn.module.target.name)}", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, text + done.stdout + done.stderr


# ---- MIR -------------------------------------------------------------------------------------


@examples(150)
@given(modules(mir=True))
def test_mir_text_holds_the_whole_module(drawn: Drawn):
    text = print_mir(drawn.module).text
    assert read_mir(text) == drawn.module


@examples(60)
@given(modules(mir=True))
def test_mir_is_a_fixed_point(drawn: Drawn):
    text = print_mir(drawn.module).text
    assert print_mir(read_mir(text)).text == text


# ---- PTX -------------------------------------------------------------------------------------


@examples(150)
@given(modules())
def test_ptx_is_a_fixed_point(drawn: Drawn):
    """Printing what was read from printed PTX gives the same text, and reading it the same code."""
    module = drawn.module
    text = print_ptx(module, NEWEST).text
    reading = read_ptx(text, module.source)
    assert understood(reading) == []
    assert print_ptx(reading.module, NEWEST).text == text
    assert read_ptx(print_ptx(reading.module, NEWEST).text, module.source) == reading


@examples(60)
@given(modules())
def test_reading_ptx_loses_nothing(drawn: Drawn):
    """Every record comes back in its order: form, operands, guard, and the classes of registers.

    Blocks come back under their labels, which begin with `$L_` unless the function keeps names.
    """
    module = drawn.module
    back = read_ptx(print_ptx(module, NEWEST).text, module.source).module
    assert len(back.functions) == len(module.functions)
    for old, new in zip(module.functions, back.functions, strict=True):
        renumber(new)
        assert [(mi.form, _unlabelled(mi), mi.guard) for mi in new.instructions()] == [
            (mi.form, _unlabelled(mi), mi.guard) for mi in old.instructions()
        ]
        assert _targets(new) == [name if old.keep_names else "$L_" + name for name in _targets(old)]
        assert new.regs.classes == old.regs.classes
        assert (new.name, new.is_kernel) == (old.name, old.is_kernel)
        assert (new.params, new.launch) == (old.params, old.launch)
        assert new.variables == old.variables
    assert back.variables == module.variables
    assert (back.target, back.ptx) == (module.target, NEWEST)


def _unlabelled(mi: MachineInstr) -> list[Op]:
    parts = [op if isinstance(op, tuple) else (op,) for op in mi.ops]
    return [op for op, part in zip(mi.ops, parts, strict=True) if not isinstance(part[0], Label)]


def _targets(function: MachineFunction) -> list[str]:
    """The names of the blocks that branches go to, in order."""
    return [name for mi in function.instructions() for name in mi.labels()]


@pytest.mark.parametrize("name", TEXTS)
def test_ptx_of_others_is_printed_so_that_it_reads_the_same(name: str):
    first = read_ptx(TEXTS[name], "kernel.ptx")
    assert understood(first) == []
    assert first.module.ptx is not None
    text = print_ptx(first.module, first.module.ptx).text
    second = read_ptx(text, "kernel.ptx")
    assert understood(second) == []
    assert print_ptx(second.module, first.module.ptx).text == text
    for old, new in zip(first.module.functions, second.module.functions, strict=True):
        assert [mi.form for mi in old.instructions()] == [mi.form for mi in new.instructions()]


@pytest.mark.parametrize("name", TEXTS)
def test_ptx_of_others_survives_as_mir(name: str):
    module = read_ptx(TEXTS[name], "kernel.ptx").module
    assert read_mir(print_mir(module).text) == _renumbered(module)


def _renumbered(module: Module) -> Module:
    for function in module.functions:
        renumber(function)
    return module


# ---- line to record --------------------------------------------------------------------------


def shown_once(printed: Printed, module: Module) -> bool:
    """Whether the map names every record exactly once, in order."""
    records = [mi for function in module.functions for mi in function.instructions()]
    lines = sorted(printed.records)
    return [id(printed.records[line]) for line in lines] == [id(mi) for mi in records]


@examples(60)
@given(modules())
def test_each_line_of_ptx_shows_the_record_that_the_map_names(drawn: Drawn):
    printed = print_ptx(drawn.module, NEWEST)
    assert shown_once(printed, drawn.module)
    lines = printed.text.split("\n")
    for number, mi in printed.records.items():
        line = lines[number - 1]
        if mi.row.id != "opaque":
            words = line.split()
            mnemonic = words[1] if words[0].startswith("@") else words[0]
            assert mnemonic.rstrip(";") == mi.row.spell(mi.attributes())
        assert line.endswith(";")


@examples(60)
@given(modules(mir=True))
def test_each_line_of_mir_shows_the_record_that_the_map_names(drawn: Drawn):
    printed = print_mir(drawn.module)
    assert shown_once(printed, drawn.module)
    lines = printed.text.split("\n")
    for number, mi in printed.records.items():
        assert mi.opcode in lines[number - 1].split()
