"""`nvgen compile`: what comes out, where it goes, and that a failure leaves no trace."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from pathlib import Path

import pytest

import nvgen as package
from isel.pipeline import PASSES
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.options import Options
from nvgen.machine_code.assembler import find_ptxas
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD, BAD_ALLOC

TARGET = ("--target", "sm_100a")

BEGINNING = {
    "llvm": rb"[^\n]*ModuleID|define ",
    "mir": rb"(;.*\n)*target sm_100a\n",
    "ptx": rb"(//.*\n|\n)*\.version 8\.6\n\.target sm_100a\n",
    "cubin": rb"\x7fELF",
}
"""How each kind of output begins."""


# ---- what comes out --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    [
        ("out.ll", (), "llvm"),
        ("out.mir", (), "mir"),
        ("out.ptx", (), "ptx"),
        ("out.cubin", (), "cubin"),
        ("out", (), "ptx"),
        ("out.txt", (), "ptx"),
        ("out.ptx", ("--emit", "mir"), "mir"),
        ("out.mir", ("--emit", "cubin"), "cubin"),
        ("out.cubin", ("--emit", "llvm"), "llvm"),
    ],
)
def test_the_output_is_what_emit_or_else_its_name_says(
    nvgen: Nvgen, add: Path, name: str, options: tuple[str, ...], kind: str
) -> None:
    out = add.with_name(name)
    assert nvgen("compile", add, *TARGET, "-o", out, *options) == (0, "", "")
    assert re.match(BEGINNING[kind], out.read_bytes())


@pytest.mark.parametrize("kind", ["llvm", "mir", "ptx"])
def test_dash_writes_to_standard_output_what_a_file_would_hold(
    nvgen: Nvgen, add: Path, kind: str
) -> None:
    out = add.with_name("out")
    nvgen("compile", add, *TARGET, "--emit", kind, "-o", out)
    printed = nvgen("compile", add, *TARGET, "--emit", kind, "-o", "-")
    assert printed == (0, out.read_text(), "")
    assert nvgen("compile", add, *TARGET, "--emit", kind) == printed, "- is the default"


def test_a_cubin_goes_to_standard_output_byte_by_byte(
    add: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from nvgen.cli import main

    assert main(["compile", str(add), *TARGET, "--emit", "cubin"]) == 0
    assert capsysbinary.readouterr().out == package.compile(ADD, target="sm_100a").cubin()


def test_standard_input_is_read(nvgen: Nvgen, add: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = nvgen("compile", add, *TARGET).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ADD.encode())))
    found = nvgen("compile", "-", *TARGET)
    assert found.status == 0
    assert found.out.replace(" from -\n", f" from {add}\n") == expected


def test_streams_that_hold_only_text_are_read_and_written(
    nvgen: Nvgen, add: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook replaces the streams by ones without bytes."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(ADD))
    monkeypatch.setattr(sys, "stdout", out)
    assert nvgen("compile", "-", *TARGET).status == 0
    assert ".visible .entry add(" in out.getvalue()


def test_machine_records_compile_on_to_the_same_ptx(nvgen: Nvgen, add: Path) -> None:
    mir = add.with_name("add.mir")
    nvgen("compile", add, *TARGET, "-o", mir)
    direct = nvgen("compile", add, *TARGET).out
    found = nvgen("compile", mir)
    assert found.status == 0
    assert found.out.partition(".version")[2] == direct.partition(".version")[2]


@pytest.mark.parametrize("name", PASSES)
def test_the_records_after_every_pass_can_be_had(nvgen: Nvgen, add: Path, name: str) -> None:
    """They are the output: on standard output or in a file, and notes on standard error."""
    stages = compile_text(ADD, Options("sm_100a", keep_stages=True), file=str(add)).stages
    stage = nvgen("compile", add, *TARGET, "--print-after", name)
    assert (stage.status, stage.out, stage.err) == (0, stages[name], "")
    assert "kernel @add" in stage.out
    out = add.with_name("stage.mir")
    assert nvgen("compile", add, *TARGET, "--print-after", name, "-o", out) == (0, "", "")
    assert out.read_text() == stages[name]


@pytest.mark.parametrize("name", PASSES)
def test_a_stage_compiles_on_to_the_same_ptx(nvgen: Nvgen, add: Path, name: str) -> None:
    direct = nvgen("compile", add, *TARGET).out
    out = add.with_name("stage.mir")
    nvgen("compile", add, *TARGET, "--print-after", name, "-o", out)
    resumed = nvgen("compile", out)
    assert (resumed.status, resumed.err) == (0, "")
    assert resumed.out.partition(".version")[2] == direct.partition(".version")[2]


def test_a_directory_gets_a_file_for_each_stage(nvgen: Nvgen, add: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stages"
    folder.mkdir()
    assert nvgen("compile", add, *TARGET, "--print-after", "all", "-o", folder).status == 0
    stages = compile_text(ADD, Options("sm_100a", keep_stages=True), file=str(add)).stages
    wanted = {f"{i:02}-{name}.mir": stages[name] for i, name in enumerate(PASSES, 1)}
    assert {path.name: path.read_text() for path in folder.iterdir()} == wanted
    one = tmp_path / "one"
    one.mkdir()
    nvgen("compile", add, *TARGET, "--print-after", "layout", "-o", one)
    number = [*PASSES].index("layout") + 1
    assert [path.name for path in one.iterdir()] == [f"{number:02}-layout.mir"]


def test_a_stage_is_written_of_what_the_verifier_refuses(nvgen: Nvgen, tmp_path: Path) -> None:
    """To look at it is what one wants then; the findings are on standard error."""
    bad = tmp_path / "bad.ll"
    bad.write_text(BAD_ALLOC)
    found = nvgen("compile", bad, *TARGET, "--print-after", "select")
    assert found.status == 1
    assert "target sm_100a" in found.out
    assert "error[" in found.err


def test_stages_of_machine_records_are_those_that_follow(nvgen: Nvgen, add: Path) -> None:
    out = add.with_name("stage.mir")
    nvgen("compile", add, *TARGET, "--print-after", "destruct-ssa", "-o", out)
    found = nvgen("compile", out, "--print-after", "layout")
    assert found.status == 0
    assert 'stage "layout"' in found.out
    refused = nvgen("compile", out, "--print-after", "select")
    assert refused.status == 2
    assert "goes through no such pass" in refused.err


@pytest.mark.parametrize(
    "options",
    [("-o", "out.ptx"), ("--emit", "ptx"), ("--emit", "cubin", "-o", "stage.mir"), ("-o", "x.ll")],
    ids=" ".join,
)
def test_a_stage_is_mir_and_nothing_else(
    nvgen: Nvgen, add: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    words = [str(tmp_path / w) if "." in w else w for w in options]
    refused = nvgen("compile", add, *TARGET, "--print-after", "select", *words)
    assert (refused.status, refused.out) == (2, "")
    assert "--print-after writes MIR" in refused.err
    assert list(tmp_path.glob("out.*")) == []


def test_all_stages_need_a_directory(nvgen: Nvgen, add: Path) -> None:
    refused = nvgen("compile", add, *TARGET, "--print-after", "all")
    assert (refused.status, refused.out) == (2, "")
    assert "all stages need a directory" in refused.err


def test_the_record_of_an_addition_is_there_after_selection(nvgen: Nvgen, add: Path) -> None:
    out = nvgen("compile", add, *TARGET, "--print-after", "select").out
    assert re.search(r"%sum:b32 = ADD_S32 %i:b32, %n:b32", out)


@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_90a", "8.0"), ("sm_100a", "8.6"), ("sm_103a", "8.8"), ("sm_110f", "9.0")],
)
def test_the_target_and_its_first_ptx_version_stand_in_the_ptx(
    nvgen: Nvgen, add: Path, target: str, version: str
) -> None:
    out = nvgen("compile", add, "--target", target).out
    assert f"\n.version {version}\n.target {target}\n" in out


def test_a_later_ptx_version_can_be_asked_for(nvgen: Nvgen, add: Path) -> None:
    assert "\n.version 9.5\n" in nvgen("compile", add, *TARGET, "--ptx", "9.5").out


def test_verbose_says_what_was_made(nvgen: Nvgen, add: Path) -> None:
    out = add.with_name("out.ptx")
    said = nvgen("compile", add, *TARGET, "-v", "-o", out).err
    for part in (str(add), "@add", "sm_100a", "PTX 8.6", f"{out.stat().st_size} bytes", str(out)):
        assert part in said


NOBODY_ARRIVES = """\
.version 8.6
.target sm_100a
.address_size 64
.shared .align 8 .b64 bar;
.visible .entry k() .reqntid 32
{
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;
    mbarrier.init.shared.b64 [bar], 1;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    ret;
}
"""


def test_what_rules_about_functions_find_in_ptx_is_a_warning(nvgen: Nvgen, tmp_path: Path) -> None:
    """Another compiler has made it: what is no record stops it, and what is asked for."""
    path, out = tmp_path / "k.ptx", tmp_path / "out.ptx"
    path.write_text(NOBODY_ARRIVES)
    done = nvgen("compile", path, "-o", out)
    assert (done.status, done.out) == (0, "")
    assert "warning[mbarrier/arrivals]" in done.err
    assert "try_wait" in out.read_text()
    assert nvgen("compile", path, "--level", "function").status == 1
    path.write_text(NOBODY_ARRIVES.replace(".target sm_100a", ".target sm_70"))
    refused = nvgen("compile", path)
    assert (refused.status, refused.out) == (1, "")
    arrive = "    mbarrier.arrive.shared.b64 %rd1, [bar];\nWAIT:"
    path.write_text(NOBODY_ARRIVES.replace("[bar], 1;", "[bar], 32;").replace("WAIT:", arrive, 1))
    clean = nvgen("compile", path)
    assert (clean.status, "mbarrier/arrivals" in clean.err) == (0, False)


@pytest.mark.parametrize("level", ["launch", "all"])
def test_what_a_level_asks_for_and_nobody_checks_is_said(
    nvgen: Nvgen, add: Path, level: str
) -> None:
    result = nvgen("compile", add, *TARGET, "--level", level)
    assert result.status == 0
    assert "note[verify/level]: not checked" in result.err


def test_optimisation_levels(nvgen: Nvgen, tmp_path: Path) -> None:
    """-O0 is the default; above it LLVM's passes run, and `--emit llvm` shows what they made."""
    source = tmp_path / "add.ll"
    source.write_text(ADD.replace("%n\n", "%n\n  %unused = mul i32 %sum, 3\n", 1))
    plain = nvgen("compile", source, *TARGET, "--emit", "llvm")
    assert nvgen("compile", source, *TARGET, "-O0", "--emit", "llvm") == plain
    assert "%unused" in plain.out
    for level in ("-O1", "-O2", "-O3"):
        done = nvgen("compile", source, *TARGET, level, "--emit", "llvm")
        assert (done.status, done.err) == (0, "")
        assert "@llvm.nvvm.read.ptx.sreg.tid.x()" in done.out
        assert "%unused" not in done.out
        assert "add.s32" in nvgen("compile", source, *TARGET, level).out


def test_only_llvm_ir_is_optimised(nvgen: Nvgen, add: Path) -> None:
    ptx = add.with_name("add.ptx")
    nvgen("compile", add, *TARGET, "-o", ptx)
    refused = nvgen("compile", ptx, "-O2")
    assert refused.status == 2
    assert "error[compile/opt]: only LLVM IR can be optimised" in refused.err


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--emit", "llvm"), "compile/emit"),
        (("--print-after", "select"), "compile/print-after"),
    ],
)
def test_there_is_no_way_back_to_llvm_ir(
    nvgen: Nvgen, add: Path, options: tuple[str, ...], rule: str
) -> None:
    mir = add.with_name("add.mir")
    nvgen("compile", add, *TARGET, "-o", mir)
    refused = nvgen("compile", mir, *options)
    assert (refused.status, refused.out) == (2, "")
    assert f"error[{rule}]" in refused.err


def test_a_pass_that_does_not_exist_is_answered_with_those_that_do(nvgen: Nvgen, add: Path) -> None:
    refused = nvgen("compile", add, *TARGET, "--print-after", "regalloc")
    assert (refused.status, refused.out) == (2, "")
    assert "no pass 'regalloc'" in refused.err
    assert all(name in refused.err for name in PASSES)


# ---- whole or not at all ---------------------------------------------------------------------

FAILURES = {
    "syntax": ("define nonsense", TARGET, 2),
    "unknown intrinsic": (ADD.replace("sreg.tid.x", "sreg.tidy"), TARGET, 1),
    "illegal record": (BAD_ALLOC, TARGET, 1),
    "no target": (ADD, (), 2),
    "unknown target": (ADD, ("--target", "sm_1"), 2),
    "old PTX": (ADD, (*TARGET, "--ptx", "8.5"), 1),
    "unknown pass": (ADD, (*TARGET, "--print-after", "x"), 2),
    "ptxas": (ADD, (*TARGET, "--emit", "cubin"), 1),
}


@pytest.fixture
def no_ptxas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The assembler is missing."""
    monkeypatch.setenv("NVGEN_PTXAS", str(tmp_path / "nowhere"))
    find_ptxas.cache_clear()
    yield
    find_ptxas.cache_clear()


@pytest.mark.usefixtures("no_ptxas")
@pytest.mark.parametrize(("text", "options", "status"), FAILURES.values(), ids=FAILURES)
def test_a_failure_leaves_the_output_as_it_was(
    nvgen: Nvgen, tmp_path: Path, text: str, options: tuple[str, ...], status: int
) -> None:
    source, old, new = (tmp_path / name for name in ("in.ll", "old.out", "new.out"))
    source.write_text(text)
    old.write_bytes(b"what was here before\0")
    for out in (old, new):
        failed = nvgen("compile", source, *options, "-o", out)
        assert (failed.status, failed.out) == (status, "")
        assert "error[" in failed.err
    assert old.read_bytes() == b"what was here before\0"
    assert sorted(os.listdir(tmp_path)) == ["in.ll", "old.out"]


@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_a_full_disk_leaves_the_output_as_it_was(
    nvgen: Nvgen, add: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = add.with_name("out.ptx")
    out.write_text("before")
    monkeypatch.setattr(os, call, full)
    failed = nvgen("compile", add, *TARGET, "-o", out)
    assert failed.status == 2
    assert "error[output/unwritable]" in failed.err
    assert "No space left on device" in failed.err
    assert out.read_text() == "before"
    assert sorted(os.listdir(add.parent)) == ["add.ll", "out.ptx"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "Is a directory"),
        ("missing/out.ptx", "No such directory"),
        ("add.ll/out.ptx", "No such directory"),
        ("", "no name"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_work(
    nvgen: Nvgen, add: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(add.parent)
    failed = nvgen("compile", "does-not-exist.ll", *TARGET, "-o", name)
    assert failed.status == 2
    assert "error[output/unwritable]" in failed.err
    assert f"got: {why}" in failed.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(nvgen: Nvgen, add: Path) -> None:
    add.parent.chmod(0o555)
    try:
        failed = nvgen("compile", add, *TARGET, "-o", add.with_name("out.ptx"))
    finally:
        add.parent.chmod(0o755)
    assert failed.status == 2
    assert "got: Permission denied" in failed.err


def test_a_device_that_is_full(nvgen: Nvgen, add: Path) -> None:
    failed = nvgen("compile", add, *TARGET, "-o", "/dev/full")
    assert failed.status == 2
    assert "got: No space left on device" in failed.err
    assert nvgen("compile", add, *TARGET, "-o", "/dev/null").status == 0


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(nvgen: Nvgen, add: Path) -> None:
    real, link = add.with_name("real.ptx"), add.with_name("link.ptx")
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real.name)
    assert nvgen("compile", add, *TARGET, "-o", link).status == 0
    assert link.is_symlink()
    assert real.read_text().endswith("}\n")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_that_others_would_have(nvgen: Nvgen, add: Path) -> None:
    old = os.umask(0o027)
    try:
        nvgen("compile", add, *TARGET, "-o", add.with_name("out.ptx"))
    finally:
        os.umask(old)
    assert add.with_name("out.ptx").stat().st_mode & 0o777 == 0o640


def test_the_input_may_be_the_output(nvgen: Nvgen, add: Path) -> None:
    """LLVM's own spelling of the module replaces ours, which was read before."""
    assert nvgen("compile", add, *TARGET, "-o", add).status == 0
    assert nvgen("compile", add, *TARGET).status == 0


# ---- ptxas -----------------------------------------------------------------------------------


def test_errors_of_ptxas_stand_at_the_line_of_the_input(
    nvgen: Nvgen, add: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assembler that dislikes stores: the store of the input is what the user can change."""
    fake = add.with_name("ptxas")
    fake.write_text(
        "#!/bin/sh\n"
        'for word; do case "$word" in *.ptx) file="$word";; esac; done\n'
        'line=$(grep -n "st.global" "$file" | cut -d: -f1)\n'
        'echo "ptxas $file, line $line; error   : no stores today" >&2\n'
        "exit 255\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("NVGEN_PTXAS", str(fake))
    find_ptxas.cache_clear()
    try:
        failed = nvgen("compile", add, *TARGET, "--emit", "cubin")
    finally:
        find_ptxas.cache_clear()
    line = 1 + ADD.split("\n").index("  store i32 %sum, ptr addrspace(1) %p")
    assert (failed.status, failed.out) == (1, "")
    assert "error[ptxas/error]: no stores today" in failed.err
    assert f"--> {add}:{line}:3" in failed.err
    assert re.search(r"got: st\.global\S* \[%rd\d+\], %r\d+;", failed.err)
