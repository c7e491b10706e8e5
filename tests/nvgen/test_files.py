"""Files: read as text or refused with a place, written whole or not at all."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from intrinsics.findings import InputError
from nvgen.files import check_writable, decode, printable, read_text, write_whole


def test_text_is_what_the_bytes_say_without_the_mark() -> None:
    assert decode("\ufeffé\r\n変".encode(), "f") == "é\r\n変"


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"\xff", 1, 1), (b"ab\xff", 1, 3), (b"a\nbc\n\xe9", 3, 1), ("é".encode()[:1], 1, 1)],
)
def test_the_first_byte_that_is_no_text_has_a_place(data: bytes, line: int, column: int) -> None:
    with pytest.raises(InputError) as caught:
        decode(data, "f.ll")
    (finding,) = caught.value.findings
    assert (finding.place.file, finding.place.line, finding.place.column) == ("f.ll", line, column)


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """Where a process may have little: `ulimit -v`."""
    file = tmp_path / "small.ll"
    file.write_text("; small\n")
    tracemalloc.start()
    try:
        assert read_text(str(file)) == "; small\n"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_of_more_than_a_gigabyte_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "huge.ll"
    with file.open("wb") as hole:
        hole.truncate((1 << 30) + 1)
    with pytest.raises(InputError, match="more than 1073741824 bytes"):
        read_text(str(file))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b-é.ll", "a b-é.ll"),
        ("a\nb", r"a\nb"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        (os.fsdecode(b"caf\xe9.ll"), r"caf\udce9.ll"),
    ],
)
def test_a_name_is_printable_on_one_line(name: str, shown: str) -> None:
    assert printable(name) == shown
    printable(name).encode()


@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_a_file_holds_what_was_written(tmp_path: Path, size: int) -> None:
    out = tmp_path / "out"
    for byte in (b"a", b"b"):
        write_whole(str(out), byte * size)
        assert out.read_bytes() == byte * size
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def interrupt(*_: object) -> None:
        raise error

    out = tmp_path / "out"
    out.write_text("before")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises((InputError, KeyboardInterrupt)):
        write_whole(str(out), b"after")
    assert out.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


def test_a_pipe_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(str(pipe), b"through")
    reader.join()
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_what_can_be_written_can_be_told_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("-", "/dev/null", str(tmp_path / "new"), str(tmp_path / "file")):
        check_writable(name)
    for name in ("", str(tmp_path), str(tmp_path / "no/file"), str(tmp_path / "file/file")):
        with pytest.raises(InputError, match="cannot write"):
            check_writable(name)
        with pytest.raises(InputError, match="cannot write"):
            write_whole(name or str(tmp_path), b"x")
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_that_leads_nowhere_is_no_input_but_an_output(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("real")
    with pytest.raises(InputError, match="cannot read"):
        read_text(str(link))
    write_whole(str(link), b"x")
    assert (tmp_path / "real").read_bytes() == b"x"
    assert link.is_symlink()
