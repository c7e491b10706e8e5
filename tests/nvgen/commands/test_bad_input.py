"""Input that is wrong: told where, what was there, what would be right; and nothing else happens.

Texts of LLVM are LLVM's.  Which target has what: PTX ISA, Target ISA Notes of the instructions,
and what ptxas 13.5 accepts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import nvgen as package
from intrinsics.findings import InputError
from nvgen import cli
from nvgen.__main__ import main as console_script
from tests.nvgen.conftest import Nvgen
from tests.nvgen.llvm import deadly
from tests.nvgen.programs import ADD, BAD_ALLOC, kernel


class Bad(NamedTuple):
    """A program, what it is compiled for, and what is said of it."""

    text: str
    options: str
    status: int
    rule: str
    line: int = 0
    column: int = 0
    says: tuple[str, ...] = ()


MMA = "llvm.nvvm.tcgen05.mma.shared"


def mma(kind: int | str) -> str:
    """A dense MMA; LLVM's immediates: kind f16 0, tf32 1, f8f6f4 2, i8 3."""
    return kernel(
        f"  call void @{MMA}(ptr addrspace(6) %d, i64 %a, i64 %b, i32 0, i1 true, i32 {kind}, "
        "i32 1, i32 0)",
        f"declare void @{MMA}(ptr addrspace(6), i64, i64, i32, i1, i32, i32, i32)",
        parameters="ptr addrspace(6) %d, i64 %a, i64 %b, i32 %n",
    )


S = "--target sm_100a"
PROGRAMS = {
    # ---- LLVM's own rules
    "no IR": Bad(kernel("  frob"), S, 2, "llvm/syntax", 2, 3, ("expected instruction opcode",)),
    "undefined value": Bad(
        kernel("  %x = add i32 %y, 1"), S, 2, "llvm/syntax", 2, 16, ("undefined value '%y'",)
    ),
    "undeclared function": Bad(
        kernel("  call void @ext()"), S, 2, "llvm/syntax", 2, 13, ("undefined value '@ext'",)
    ),
    "behind other characters": Bad(
        kernel('  %"é変" = frob'), S, 2, "llvm/syntax", 2, 11, ("expected instruction opcode",)
    ),
    "not dominated": Bad(
        kernel("  br label %b\nb:\n  %x = add i32 %y, 1\n  br label %c\nc:\n  %y = add i32 1, 2"),
        S, 2, "llvm/verifier", 7, 3, ("Instruction does not dominate all uses!", "%x = add i32"),
    ),
    "immediate": Bad(
        mma(9), S, 2, "tcgen05.mma/immediate-range", 2, 3, ("kind is out of range", "(.kind::f16)")
    ),
    "value for an immediate": Bad(
        mma("%n"), S, 2, "llvm/immediate", 2, 3, ("kind is a part", "i32 %n", "3 (.kind::i8)")
    ),
    "value for an immediate of LLVM's": Bad(
        kernel("  %x = call i32 @llvm.ctlz.i32(i32 1, i1 %p)",
               "declare i32 @llvm.ctlz.i32(i32, i1)",
               parameters="i1 %p"),
        S, 2, "llvm/immediate", 2, 3, ("llvm.ctlz.i32", "i1 %p", "a number"),
    ),
    "twice": Bad(
        ADD + ADD.split("declare")[0], S, 2, "llvm/syntax", 9, 24, ("redefinition", "'add'")
    ),
    "no UTF-8 in a name": Bad(
        'define void @f() gc "\\99" {\n  ret void\n}\n', S, 2, "llvm/syntax", 0, 0,
        ("not UTF-8", "byte 0x99"),
    ),
    # ---- targets and versions
    "no target": Bad(ADD, "", 2, "target/missing", says=("--target", "nvgen targets")),
    "unknown target": Bad(
        ADD, "--target sm_100b", 2, "target/unknown", says=("'sm_100b'", "sm_100a", "did you mean")
    ),
    "another vendor": Bad(
        ADD, "--target gfx942", 2, "target/unknown", says=("'gfx942'", "nvgen targets")
    ),
    "unknown PTX": Bad(ADD, f"{S} --ptx 8.9", 2, "ptx/version-unknown", says=("'8.9'", "9.5")),
    "no PTX version": Bad(ADD, f"{S} --ptx x", 2, "ptx/version-unknown", says=("'x'", "9.5")),
    "old PTX": Bad(
        ADD, f"{S} --ptx 8.5", 1, "target/ptx-version",
        says=("PTX ISA 8.5 does not have target sm_100a", "PTX 8.6 or later"),
    ),
    "family target in old PTX": Bad(
        ADD, "--target sm_100f --ptx 8.7", 1, "target/ptx-version", says=("PTX 8.8 or later",)
    ),
    # ---- what the machine has not
    "unknown intrinsic": Bad(
        kernel("  call void @llvm.nvvm.tcgen05.wait.dl()",
               "declare void @llvm.nvvm.tcgen05.wait.dl()"),
        S, 1, "select/unknown-intrinsic", 2, 3,
        ("@llvm.nvvm.tcgen05.wait.dl", "the nearest names are llvm.nvvm.tcgen05.wait.ld"),
    ),
    "libdevice": Bad(
        kernel("  %x = call float @llvm.sin.f32(float 1.0)", "declare float @llvm.sin.f32(float)"),
        S, 1, "select/libdevice", 2, 3, ("@llvm.sin.f32 is no instruction of PTX",),
    ),
    "kernel call": Bad(
        # LLVM may put a kernel's body in place of its call, and then nothing is wrong any more.
        kernel("  call ptx_kernel void @g()",
               "define ptx_kernel void @g() noinline {\n"
               "  store volatile i32 1, ptr null\n  ret void\n}"),
        S, 1, "select/kernel-call", 2, 3, ("a kernel is launched, not called",),
    ),
    "wide integer": Bad(
        kernel("  %x = add i100000 1, 2"), S, 1, "select/type", 2, 3, ("got: i100000", "integers")
    ),
    "tensor memory without a suffix": Bad(
        BAD_ALLOC.replace("48", "64"), "--target sm_100", 1, "select/target", 3, 3,
        ("tcgen05.alloc", "got: target sm_100", "sm_100a/f"),
    ),
    "tensor memory on Hopper": Bad(
        BAD_ALLOC.replace("48", "64"), "--target sm_90a", 1, "select/target", 3, 3,
        ("got: target sm_90a", "sm_103a/f"),
    ),
    "int8 where there is none": Bad(
        mma(3), "--target sm_103a", 1, "tcgen05.mma/i8-target", 2, 3,
        ("sm_103a", "sm_100a, sm_101a or sm_110a", "kind::i8"),
    ),
    "columns": Bad(
        BAD_ALLOC, S, 1, "tcgen05.alloc/immediate-range", 3, 3,
        ("got: 48", "a power of 2 in 32..512", "the next one is 64"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("bad", PROGRAMS.values(), ids=PROGRAMS)
def test_a_wrong_program_is_told_where_and_why(nvgen: Nvgen, tmp_path: Path, bad: Bad) -> None:
    """`compile` says the same as `check`, and writes nothing."""
    source, out = tmp_path / "in.ll", tmp_path / "out.ptx"
    source.write_text(bad.text)
    report = nvgen("check", source, *bad.options.split(), "--format", "json", "--level", "record")
    assert report.status == bad.status
    assert report.json()["verdict"] == "error"
    (finding,) = report.json()["findings"]
    assert finding["rule"] == bad.rule
    if bad.line:
        assert (finding["line"], finding["column"]) == (bad.line, bad.column)
    told = nvgen("check", source, *bad.options.split(), "--level", "record")
    made = nvgen("compile", source, *bad.options.split(), "-o", out)
    assert (told.status, made.status) == (bad.status, bad.status)
    assert told.out.startswith(made.err)
    assert made.err.startswith(f"error[{bad.rule}]: {finding['message']}\n")
    if bad.line:
        assert f"--> {source}:{bad.line}:{bad.column}" in made.err
        assert f"\n {bad.line} | " in made.err, "the line itself is shown"
    for part in bad.says:
        assert part in " ".join(made.err.split())
    assert not out.exists()


FILES = {
    "empty": (b"", "input/empty", "", ""),
    "spaces": (b" \n\t\r\n", "input/empty", "", ""),
    "a mark of byte order": (b"\xef\xbb\xbf", "input/empty", "", ""),
    "NUL": (b"define void\n@f(\0)", "input/nul", ":2", "text"),
    "UTF-16": (ADD.encode("utf-16"), "input/not-utf8", ":1:1", "byte 0xff"),
    "Latin-1": (b"; a\n; caf\xe9\n", "input/not-utf8", ":2:6", "byte 0xe9"),
    "spoilt bitcode": (b"BC\xc0\xde\x35\x14", "llvm/bitcode", "", "Invalid bitcode signature"),
}


@pytest.mark.parametrize("suffix", [".ll", ".mir", ".ptx", ""])
@pytest.mark.parametrize(("data", "rule", "place", "says"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_text(
    nvgen: Nvgen, tmp_path: Path, suffix: str, data: bytes, rule: str, place: str, says: str
) -> None:
    source = tmp_path / f"in{suffix}"
    source.write_bytes(data)
    if rule == "llvm/bitcode" and suffix in (".mir", ".ptx"):
        rule, place, says = "input/not-utf8", ":1:3", "called .bc"
    for command in ("check", "compile", "run"):
        failed = nvgen(command, source, "--target", "sm_100a")
        assert failed.status == 2
        assert f"error[{rule}]" in failed.text
        assert f"--> {source}{place}\n" in failed.text
        assert says in failed.text
    assert os.listdir(tmp_path) == [source.name]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.ll", "No such file or directory"),
        (".", "Is a directory"),
        ("in.ll/in.ll", "Not a directory"),
        ("", "no name"),
        ("x" * 5000, "File name too long"),
    ],
)
def test_a_file_that_cannot_be_read(
    nvgen: Nvgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.ll").write_text(ADD)
    for command in ("check", "compile", "run"):
        failed = nvgen(command, name, "--target", "sm_100a")
        assert failed.status == 2
        assert "error[input/unreadable]" in failed.text
        assert why in failed.text


def test_memory_that_is_not_there_is_no_bug(nvgen: Nvgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "_run_command", exhausted)
    failed = nvgen("targets")
    assert failed.status == 2
    assert "error[system/memory]" in failed.text


class _CtrlC:
    """A finder of modules that is interrupted where one is sought."""

    def find_spec(self, name: str, *_: object) -> None:
        """Like Ctrl-C, in the middle of an import."""
        if name == "nvgen.cli":
            raise KeyboardInterrupt


@pytest.mark.parametrize("importing", [True, False])
def test_ctrl_c_ends_a_command_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, importing: bool
) -> None:
    """128 and the number of SIGINT, as from a shell's own commands."""
    if importing:
        monkeypatch.delitem(sys.modules, "nvgen.cli")
        monkeypatch.setattr(sys, "meta_path", [_CtrlC(), *sys.meta_path])
    else:
        monkeypatch.setattr(cli, "_run_command", _interrupted)
    assert console_script() == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "interrupted\n")


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("extra", [[], ["--print-after", "select"]], ids=["text", "stage"])
@pytest.mark.parametrize("output", ["in.ll", "./in.ll", "link"])
def test_an_output_replaces_no_input_of_another_language(
    nvgen: Nvgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, extra: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.ll").write_text(ADD)
    Path("link").symlink_to("in.ll")
    failed = nvgen("compile", "in.ll", "--target", "sm_90a", "--emit", "mir", "-o", output, *extra)
    assert failed.status == 2
    assert "error[output/is-input]" in failed.text
    failed = nvgen("run", "in.ll", "--target", "sm_90a", "--arg", f"out:i32[4]:{output}")
    assert failed.status == 2
    assert "error[output/is-input]" in failed.text
    assert Path("in.ll").read_text() == ADD


def test_a_pass_that_ends_the_process_is_told(nvgen: Nvgen, tmp_path: Path) -> None:
    source, own = tmp_path / "in.ll", tmp_path / "own.py"
    source.write_text(ADD)
    own.write_text("def leave(module):\n    raise SystemExit(0)\n")
    for option, command in (("pass", "compile"), ("rule", "check")):
        failed = nvgen(command, source, "--target", "sm_90a", f"--{option}", f"{own}:leave")
        assert failed.status == 2
        assert f"error[{option}/raised]" in failed.text


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "in.ll", "--blok", "32"], "; did you mean --block?"),
        (["compile", "in.ll", "--emmit=mir"], "; did you mean --emit?"),
        (["draw", "smem", "--swizle", "32"], "; did you mean --swizzle?"),
        (["targets", "all"], ""),
    ],
)
def test_an_option_that_a_command_has_not(nvgen: Nvgen, words: list[str], meant: str) -> None:
    failed = nvgen(*words)
    unknown = " ".join(words[2:] if len(words) > 2 else words[1:])
    assert failed.status == 2
    assert failed.err.startswith(f"usage: nvgen {words[0]} ")
    assert failed.err.endswith(f"unrecognized arguments: {unknown}{meant}\n")


@pytest.mark.parametrize("ending", ["\r\n", "\r"], ids=["CRLF", "CR"])
def test_line_ends_of_other_systems(nvgen: Nvgen, tmp_path: Path, ending: str) -> None:
    source = tmp_path / "in.ll"
    source.write_bytes(b"\xef\xbb\xbf" + ADD.replace("\n", ending).encode())
    assert nvgen("check", source, "--target", "sm_100a").status == 0


# ---- what LLVM dies of -----------------------------------------------------------------------

DEBUGGED = """\
define ptx_kernel void @k(ptr addrspace(1) %out) !dbg !3 {
  br label %b
b:
  %x = add i32 %y, 1, !dbg !4
  br label %c
c:
  %y = add i32 1, 2
  ret void
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "a.py", directory: "/")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, unit: !1, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 7, column: 3, scope: !3)
"""
"""%y does not dominate its use: an exception of LLVM's, but its end where there is debug info."""

DEADLY = {
    name: deadly.DEADLY[name][0]
    for name in (
        "an intrinsic that is only declared",
        "a block size that is a string",
        "tbaa of null",
        "a chain of types",
    )
}
CRASH = "error[llvm/crash]: LLVM aborts when it reads this module\n"
DOMINATE = "error[llvm/verifier]: Instruction does not dominate all uses!\n"


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((text, CRASH) for text in DEADLY.values()),
        (DEBUGGED, DOMINATE),
        (DEBUGGED + "declare void @llvm.nvvm.unknown()\n", DOMINATE),
    ],
    ids=[*DEADLY, "debug info", "debug info and an unknown intrinsic"],
)
def test_what_llvm_dies_of_ends_no_process(tmp_path: Path, text: str, told: str) -> None:
    """LLVM aborts or overflows its stack; a process of its own shows that ours goes on."""
    source, out = tmp_path / "in.ll", tmp_path / "out.ptx"
    source.write_text(text)
    arguments = ["compile", str(source), "--target", "sm_100a", "-o", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "nvgen", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert done.returncode == 2
    assert done.stderr.startswith(told)
    assert f"--> {source}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("depth", [300, 3000])
@pytest.mark.parametrize(
    ("suffix", "begin", "open_", "middle", "close", "end"),
    [
        (".ll", "@g = global ", "{", "i32", "}", " zeroinitializer\n" + ADD),
        (".ll", "@g = global ", "[1 x ", "i32", "]", " zeroinitializer\n" + ADD),
        (".ll", "@g = global i64 ", "add (i64 1, i64 ", "ptrtoint (ptr @g to i64)", ")", "\n"),
        (".ptx", ".version 8.6\n.target sm_100a\n.global .b32 x = ", "(", "1", ")", ";\n"),
        (".mir", "target sm_100a\nkernel @f(\n) {\nbb.0:\n  ", "(", "1", ")", "\n}\n"),
    ],
)
def test_nesting_too_deep_for_us_is_the_inputs_error(
    nvgen: Nvgen,
    tmp_path: Path,
    depth: int,
    suffix: str,
    begin: str,
    open_: str,
    middle: str,
    close: str,
    end: str,
) -> None:
    """Where LLVM still reads on: an answer, whichever; no traceback (the fixture looks)."""
    source = tmp_path / f"in{suffix}"
    source.write_text(begin + open_ * depth + middle + close * depth + end)
    assert nvgen("check", source, "--target", "sm_100a").status in (0, 1, 2)


def test_the_python_interface_says_so_too() -> None:
    deep = f"@g = global {'{' * 3000} i32 {'}' * 3000} zeroinitializer\n"
    with pytest.raises(InputError) as caught:
        package.compile(deep, target="sm_100a")
    assert [f.rule for f in caught.value.findings] == ["input/too-deep"]


# ---- size ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["\n" * 300_000 + ADD, ADD + ";" + "x" * 3_000_000, " " * 3_000_000 + ADD],
    ids=["blank lines", "a long line", "a long beginning"],
)
def test_size_is_no_obstacle(nvgen: Nvgen, tmp_path: Path, text: str) -> None:
    """The language of a file without a known ending is found in linear time."""
    source = tmp_path / "in.txt"
    source.write_text(text)
    assert nvgen("check", source, "--target", "sm_100a").status == 0


def test_debug_info_that_is_wrong_or_old_is_no_noise(tmp_path: Path) -> None:
    """LLVM would warn past us, of the version and of a location that is none."""
    right = DEBUGGED.replace("%y, 1", "1, 1")
    source = tmp_path / "in.ll"
    command = [sys.executable, "-m", "nvgen", "check", str(source), "--target", "sm_100a"]
    for text, status in (
        (right.replace("i32 3}", "i32 2}"), 0),
        (right.replace("!llvm.module.flags = !{!0}\n", ""), 0),
        (right.replace("!DILocation(line: 7, column: 3, scope: !3)", "!{}"), 2),
    ):
        source.write_text(text)
        done = subprocess.run(
            command, capture_output=True, cwd=Path(__file__).resolve().parents[3], check=False
        )
        assert (done.returncode, done.stderr) == (status, b"")
