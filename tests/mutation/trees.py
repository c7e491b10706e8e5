"""Copies of the project to break: only what git tracks, in directories of their own."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutation.fault import Fault

ROOT = Path(__file__).resolve().parents[2]


def copy_tree(where: Path, revision: str = "") -> None:
    """Write the files that git tracks to `where`: as they are now, or as a revision has them.

    Raises: CalledProcessError when git knows no such revision.
    """
    if revision:
        archive = _git("archive", "--format=tar", revision)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(where, filter="data")
        return
    for name in _git("ls-files", "-z").decode().rstrip("\0").split("\0"):
        source, target = ROOT / name, where / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


@contextmanager
def broken(tree: Path, fault: Fault) -> Iterator[None]:
    """A tree with a fault, for as long as the block runs.

    Raises: ValueError when the fault does not apply to the tree.
    """
    file = tree / fault.file
    whole = file.read_text(encoding="utf-8")
    _write(file, fault.applied(whole))
    try:
        yield
    finally:
        _write(file, whole)


def _write(file: Path, text: str) -> None:
    """Write a source; a compiled one of the same second and size would be taken for fresh."""
    file.write_text(text, encoding="utf-8")
    if file.suffix == ".py":
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def environment(tree: Path) -> dict[str, str]:
    """The variables under which Python imports the tree and no other one."""
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
