"""Odd values for every option of every command: an error of the usage, never an internal one.

The table says what a command is given beside the odd value; each pair is one run in this process.
What is right for one option by chance (`-` is a file) may succeed: then the status is one of those
that the command documents.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nvgen.cli import main
from tests.turns import has_turn

KERNEL = """\
define ptx_kernel void @k(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
"""
MANY = "9" * 5000
"""More digits than Python makes a number of."""

ODD = (
    *("", "0", "-1", "1.5", "nan", "inf", MANY, "0x10", "1_000", "²", "١", " 1", "é", "\0", "\n"),
    *("a" * 5000, "%s", "{}", "/", ",", "1,2,3,4", "0,1", "4294967296", "=", "a=", ":", "[", "*"),
    *("sm_999", "99.9", f"{MANY}.0", f"random:{MANY}", f"delay:{MANY}", "random:", "\ud800"),
)
COMPILE = ("compile", "k.ll", "--target", "sm_90a", "-o", "o.ptx")
CHECK = ("check", "k.ll", "--target", "sm_90a")
RUN = ("run", "k.ll", "--target", "sm_90a", "--block", "1", "--arg", "inout:z.npy:o.npy")
ARGUMENT = ("run", "k.ll", "--target", "sm_90a", "--block", "1", "--arg")
TRACE = ("trace", "k.ll", "--target", "sm_90a")
TUNE = ("tune", "t.py")

TABLE = {
    COMPILE: ("--target", "--ptx", "--level", "--print-after", "--emit", "-o", "--bound-waits"),
    CHECK: ("--target", "--ptx", "--level", "--grid", "--block", "--cluster", "--smem", "--box"),
    RUN: (
        *("--target", "--ptx", "--kernel", "--grid", "--block", "--cluster", "--smem", "--arg"),
        *("--device", "--schedule", "--timeout", "--max-steps", "--bound-waits"),
    ),
    TRACE: ("--target", "--ptx", "--mma", "--format"),
    TUNE: ("--cache", "--jobs", "--executor", "--top"),
}
PREFIXES = (
    *("in:", "inout:z.npy:", "out:", "out:i32[", "out:i32[1]:", "out:i32[1,", "i32:", "f32:"),
    *(
        "tmap:z.npy,box=",
        "tmap:z.npy,box=4,swizzle=",
        "outmap:i32[4]:o.npy,box=",
        "in:z.npy,dtype=",
    ),
)
QUESTIONS = ("idesc", "smem-desc", "ctrl", "collector", "zero-mask", "taddr")


def runs() -> Iterator[list[str]]:
    """Every command line of the table."""
    for odd in ODD:
        for command, options in TABLE.items():
            yield from ([*command, option, odd] for option in options)
        yield from ([*ARGUMENT, prefix + odd] for prefix in PREFIXES)
        yield from (["explain", question, odd] for question in QUESTIONS)
        yield from ([command, odd] for command in ("compile", "check", "tune", "draw", "explain"))
        yield from (["targets", "--format", odd], ["tune", "t.py", f"m={odd}"], [odd])


def said(arguments: list[str]) -> tuple[object, str]:
    """The status of a command and all that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status: object = main(arguments)
        except SystemExit as end:
            status = end.code
    return status, out.getvalue()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a kernel, an array and a file that tuning refuses."""
    (tmp_path / "k.ll").write_text(KERNEL)
    (tmp_path / "t.py").write_text("def tuning(m=1):\n    raise ValueError(m)\n")
    np.save(tmp_path / "z.npy", np.zeros(4, np.int32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.turns(3)
def test_no_odd_value_is_an_internal_error(scratch: Path, request: pytest.FixtureRequest) -> None:
    """Of a quarter of the command lines each time."""
    wrong = []
    for arguments in runs():
        if not has_turn(request, ascii(arguments), 4):
            continue
        status, text = said(arguments)
        if status not in (0, 1, 2, 3, 4) or "internal error" in text or "Traceback" in text:
            wrong.append((status, [argument[:40] for argument in arguments], text[-200:]))
    assert not wrong


def npy(header: str, data: bytes = bytes(16)) -> bytes:
    """An .npy file with any header."""
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


PLAIN = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }"
ARRAYS = {
    "nothing": b"",
    "another beginning": b"X" + npy(PLAIN)[1:],
    "half a header": npy(PLAIN)[:30],
    "too little data": npy(PLAIN, bytes(3)),
    "an unknown version": npy(PLAIN).replace(b"\x01\x00", b"\x09\x00", 1),
    "a header that is no dict": npy("(" * 100),
    "more than there is memory": npy(PLAIN.replace("(4,)", "(1 << 60,)")),
    "a claim of terabytes": npy(PLAIN.replace("(4,)", "(1000000000000,)")),
    "a negative shape": npy(PLAIN.replace("(4,)", "(-4,)")),
    "Python objects": npy(PLAIN.replace("<i4", "|O")),
    "text": npy(PLAIN.replace("<i4", "<U1")),
    "no type": npy(PLAIN.replace("<i4", "<q9")),
    "an archive": b"PK\x03\x04",
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_cannot_be_read_is_an_input_error(scratch: Path, name: str) -> None:
    (scratch / "bad.npy").write_bytes(ARRAYS[name])
    status, text = said([*ARGUMENT, "in:bad.npy"])
    assert status == 2
    assert "error[run/array]" in text
    assert "bad.npy" in text


CACHES = {
    "no JSON": "{]}\n",
    "a list": "[]\n",
    "another schema": '{"a": 1}\n',
    "a key that is no text": '{"problem": "p", "key": [], "config": {}}\n',
    "a time that is no number": '{"problem": "p", "key": "k", "config": {}, "milliseconds": "1"}\n',
    "brackets without end": "[" * 100_000 + "\n",
}


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_that_cannot_be_read_is_an_input_error(scratch: Path, name: str) -> None:
    (scratch / "t.py").write_text("def tuning():\n    return object()\n")
    (scratch / "cache").write_text(CACHES[name])
    status, text = said(["tune", "t.py", "--cache", "cache"])
    assert status == 2, text
    assert "error[tune/cache]" in text
    assert "cache:1" in text
