"""Machine code on disk: found again, never stale, whole however many processes share it."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from pathlib import Path

import llvmlite
import numpy as np
import pytest

import nvgen
from intrinsics.findings import AssemblerError, Finding
from intrinsics.mir import Module
from isel.verifier.launch import LaunchShape
from isel.verifier.levels import beyond
from nvgen import CodeCache, ElementType, InputError, Kernel, KernelBuilder, TensorMap
from nvgen.compilation import compile_text
from nvgen.kernel_code import cache as code_cache
from nvgen.kernel_code import code as kernel_code
from nvgen.kernel_code import files as code_files
from nvgen.kernel_code.code import MachineCode, machine_code
from nvgen.launching.arguments import arguments
from nvgen.launching.parameters import Output

TARGET = "sm_90a"


@dataclass(frozen=True)
class Fill:
    """What a kernel is built for."""

    rows: int
    dtype: ElementType
    build: Callable[[int], Kernel]


def kernel(addend: int = 1) -> Kernel:
    b = KernelBuilder("add", block=32)
    b.pointer("x", nvgen.u32, output=True)
    b.f16("scale"), b.i64("long")
    x = b.begin()["x"]
    x[b.tid_x] = b.tid_x + addend
    return b.finish()


def arriving() -> Kernel:
    """What rules about whole functions look at."""
    b = KernelBuilder("arriving", block=32)
    b.begin()
    mbarrier = b.mbarrier("mbarrier")
    with b.if_thread(0):
        b.mbarrier_init(mbarrier, 1)
        b.mbarrier_arrive(mbarrier)
    return b.finish()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are compiled."""
    found: list[str] = []

    def noted(
        given: Kernel, target: str | None, opt: int | None, *, judged: bool, loads: bool
    ) -> MachineCode:
        found.append(given.name)
        return machine_code(given, target, opt, judged=judged, loads=loads)

    monkeypatch.setattr(code_cache, "machine_code", noted)
    return found


def test_what_is_kept_is_not_compiled_again(tmp_path: Path, compiled: list[str]) -> None:
    cache = CodeCache(tmp_path / "new" / "folder")
    first = cache.code(kernel(), TARGET, 3)
    again = CodeCache(cache.folder).code(kernel(), TARGET, 3)
    assert compiled == ["add"]
    assert again == first == machine_code(kernel(), TARGET, 3)
    assert [p.half for p in again.params] == [p.half for p in first.params]


def test_another_source_target_or_version_is_another_entry(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CodeCache(tmp_path)
    cache.code(kernel(), TARGET, 0)
    cache.code(kernel(2), TARGET, 0)
    cache.code(kernel(), "sm_80", 0)
    cache.code(kernel(), TARGET, 3)
    monkeypatch.setattr(code_cache, "_own_digest", lambda: "another nvgen")
    cache.code(kernel(), TARGET, 0)
    monkeypatch.setattr(code_cache, "_assembler_version", lambda path: "another ptxas")
    cache.code(kernel(), TARGET, 0)
    monkeypatch.setattr(llvmlite, "__version__", "another llvmlite")
    cache.code(kernel(), TARGET, 0)
    assert len(compiled) == len([*tmp_path.iterdir()]) == 7


def test_cuda_is_imported_while_the_assembler_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and only where there is something to assemble that this process loads."""
    imported: list[str] = []
    monkeypatch.setattr(kernel_code, "_import_cuda", lambda: imported.append("cuda.core"))
    made = CodeCache(tmp_path / "loads", loads=True).code(kernel(), TARGET)
    CodeCache(tmp_path / "loads", loads=True).code(kernel(), TARGET)
    assert CodeCache(tmp_path / "compiles").code(kernel(), TARGET) == made
    assert imported == ["cuda.core"]


def test_a_folder_is_any_path(tmp_path: Path, compiled: list[str]) -> None:
    CodeCache(str(tmp_path)).code(kernel(), TARGET)
    CodeCache(tmp_path).code(kernel(), TARGET)
    assert compiled == ["add"]


def test_what_is_no_folder_no_limit_and_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="code-cache/folder"):
        CodeCache(3)
    with pytest.raises(InputError, match="code-cache/limit"):
        CodeCache(tmp_path, limit="1 GB")
    with pytest.raises(InputError, match="code-cache/kernel"):
        CodeCache(tmp_path).code("add", TARGET)


def test_the_key_has_all_of_nvgens_source(monkeypatch: pytest.MonkeyPatch) -> None:
    digested: list[str] = []
    monkeypatch.setattr(code_cache, "_digest", lambda files, root: digested.extend(files))
    code_cache._own_digest.__wrapped__()
    packages = [import_module(name) for name in ("intrinsics", "asmprinter", "isel", "nvgen")]
    assert {one.__file__ for one in (*packages, code_cache)} <= set(digested)


@pytest.mark.parametrize("left", [0, 10, -1])
def test_an_entry_that_is_not_whole_is_compiled_anew(
    tmp_path: Path, compiled: list[str], left: int
) -> None:
    cache = CodeCache(tmp_path)
    made = cache.code(kernel(), TARGET, 0)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:left])
    assert cache.code(kernel(), TARGET, 0) == made
    assert cache.code(kernel(), TARGET, 0) == made
    assert len(compiled) == 2


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_write_into_is_left_alone(
    tmp_path: Path, compiled: list[str], mode: int
) -> None:
    CodeCache(tmp_path).code(kernel(), TARGET, 0)
    tmp_path.chmod(mode)
    with pytest.warns(RuntimeWarning, match="may be written by others"):
        CodeCache(tmp_path).code(kernel(), TARGET, 0)
    CodeCache(tmp_path).code(kernel(2), TARGET, 0)  # said once
    assert len(compiled) == 3
    assert len([*tmp_path.iterdir()]) == 1
    tmp_path.chmod(0o700)


def signed(body: bytes) -> bytes:
    """A file whose digest fits."""
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_file_that_is_no_entry_of_the_users_is_compiled_anew(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that others may write, one of another user, another head, and what is no entry."""
    made = CodeCache(tmp_path).code(kernel(), TARGET, 0)
    (path,) = tmp_path.iterdir()
    body = path.read_bytes().partition(b"\n")[2]
    assert code_files.read(path) == made
    path.chmod(0o620)
    assert code_files.read(path) is None
    path.chmod(0o600)
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
        assert code_files.read(path) is None
    path.write_bytes(path.read_bytes().replace(b'"add"', b'"sub"', 1))
    assert code_files.read(path) is None
    for wrong in (b"[" * 200_000, b"[]", b"7", body.replace(b'"add"', b"7", 1)):
        path.write_bytes(signed(wrong))
        assert code_files.read(path) is None
    path.write_bytes(signed(body))
    assert CodeCache(tmp_path).code(kernel(), TARGET, 0) == made
    assert len(compiled) == 1


def test_what_killed_processes_left_goes_after_an_hour(tmp_path: Path, compiled: list[str]) -> None:
    names = ["0" * 40 + "a.tmp", "1" * 40 + "b.tmp", "mine.tmp"]
    for name in names:
        (tmp_path / name).write_text("half")
    for name in (names[0], names[2]):
        os.utime(tmp_path / name, (1, 1))
    CodeCache(tmp_path).code(kernel(), TARGET, 0)
    assert {path.name for path in tmp_path.glob("*.tmp")} == {*names[1:]}


class Red(IntEnum):
    ONE = 1


class Blue(IntEnum):
    ONE = 1


def test_what_differs_has_another_name() -> None:
    given = (1, True, 1.0, "1", Red.ONE, Blue.ONE, Red, copies, f"{__name__}.copies", (1,), None)
    told = [json.dumps(code_cache._written(one)) for one in given]
    assert len({*told}) == len(given)


def test_what_a_script_defines_names_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "__module__", "__main__")
    with pytest.raises(InputError, match="__main__"):
        code_cache._written((8, copies))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, compiled: list[str]) -> None:
    (tmp_path / "file").write_text("")
    cache = CodeCache(tmp_path / "file")
    assert cache.code(kernel(), TARGET, 0) == cache.code(kernel(), TARGET, 0)
    assert len(compiled) == 2


def test_what_cannot_be_assembled_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(given: Kernel, *options: object, **switches: bool) -> MachineCode:
        raise AssemblerError([])

    monkeypatch.setattr(code_cache, "machine_code", refused)
    with pytest.raises(AssemblerError):
        CodeCache(tmp_path).code(kernel(), TARGET, 0)
    assert [*tmp_path.iterdir()] == []


def test_what_was_not_used_for_longest_goes(tmp_path: Path, compiled: list[str]) -> None:
    one = CodeCache(tmp_path).code(kernel(1), TARGET, 0)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    cache = CodeCache(tmp_path, limit=size * 5 // 2)  # two entries
    cache.code(kernel(2), TARGET, 0)
    assert cache.code(kernel(1), TARGET, 0) == one  # used now, so that the other one goes
    cache.code(kernel(3), TARGET, 0)
    assert len([*tmp_path.iterdir()]) == 2
    assert cache.code(kernel(1), TARGET, 0) == one
    assert len(compiled) == 3


def copies(rows: int) -> Kernel:
    """A kernel whose launches make a tensor map."""
    b = KernelBuilder("copies", block=32, target=TARGET)
    b.tile_map("x", nvgen.bf16, (rows, 64))
    b.pointer("y", nvgen.bf16, output=True)
    b.begin()
    return b.finish()


def test_what_is_kept_is_not_built_again(tmp_path: Path, compiled: list[str]) -> None:
    """A launch makes the same of arrays, whether its kernel was built or found."""
    source, given = tmp_path / "kernel.py", ("copies", Fill(8, nvgen.bf16, copies), None)
    source.write_text("8 rows")
    found = [
        CodeCache(tmp_path / "kept").built(lambda: copies(8), given, [source], target=TARGET)
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert compiled == ["copies"]
    x, y = np.zeros((16, 64), nvgen.bf16.numpy), np.zeros(64, nvgen.bf16.numpy)
    made, output = arguments(found[1].parameters, (x,), {"y": y})
    wanted, _ = copies(8).arguments((x, y), {})
    assert isinstance(made, TensorMap)
    assert isinstance(wanted, TensorMap)
    assert (made.request, made.source is x) == (wanted.request, True)
    assert isinstance(output, Output)
    assert output.array is y


def test_what_a_kernel_is_built_of_names_its_entry(tmp_path: Path, compiled: list[str]) -> None:
    source, other = tmp_path / "one.py", tmp_path / "two.py"
    source.write_text("one"), other.write_text("two")

    def make(given: object, *files: Path, target: str = TARGET, opt: int | None = None) -> None:
        for _ in range(2):
            cache = CodeCache(tmp_path / "kept")
            cache.built(lambda: copies(8), given, files, target=target, opt=opt)

    make(8, source)
    make(8.5, source)
    make(["8"], source)
    make(8, source, other)
    make(8, source, target="sm_100a")
    make(8, source, opt=3)
    source.write_text("another")
    make(8, source)
    assert len(compiled) == len([*(tmp_path / "kept").iterdir()]) == 7


@pytest.mark.parametrize("given", [object(), (1, {2}), lambda: 1, Path(".")])
def test_what_has_no_name_in_every_process_names_no_entry(tmp_path: Path, given: object) -> None:
    with pytest.raises(InputError, match="cache/given"):
        CodeCache(tmp_path).built(lambda: copies(8), given, [], target=TARGET)


def test_rules_judge_what_is_compiled_unless_they_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def noted(module: Module, level: str, shape: LaunchShape) -> list[Finding]:
        found.append(level)
        return beyond(module, level, shape)

    monkeypatch.setattr(compile_text, "beyond", noted)
    made = arriving()
    plain = CodeCache(tmp_path, judged=False).code(made, TARGET, 0)
    assert found == []
    assert CodeCache(tmp_path).code(made, TARGET, 0) == plain
    assert found == ["record"]


def from_a_process(folder: str) -> bytes:
    return CodeCache(Path(folder)).code(kernel(), TARGET, 0).cubin


def test_processes_that_begin_at_once_leave_one_whole_entry(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(from_a_process, [str(tmp_path)] * 6, chunksize=1)
    assert set(found) == {machine_code(kernel(), TARGET, 0).cubin}
    assert [path.suffix for path in tmp_path.iterdir()] == [".cubin"]
    assert from_a_process(str(tmp_path)) == found[0]


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NVGEN_CACHE", raising=False)
    assert CodeCache().folder == tmp_path / "nvgen"
    monkeypatch.setenv("NVGEN_CACHE", str(tmp_path / "mine"))
    assert CodeCache().folder == tmp_path / "mine"
