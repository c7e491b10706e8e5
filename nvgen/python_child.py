"""Child processes of Python, which import nothing from the working directory.

Layer: nvgen.  Python looks for modules in the working directory when it runs `-c` or `-m`, and
where PYTHONPATH has an entry that is empty or relative.  Whoever calls nvgen in a folder of files
from elsewhere must not run a `json.py` among them, so no child of ours looks there.  What this
process does itself is for its caller to say: `python -P -m nvgen`, or the script `nvgen`.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from intrinsics.findings import input_error


def search_path() -> list[str]:
    """A child's module search path: `sys.path` without the working directory.

    The folder that nvgen itself came from is among them, wherever that is.
    """
    doors, named = _doors()
    kept = [
        entry
        for entry in sys.path
        if os.path.isabs(entry)
        and (os.path.realpath(entry) in named or os.path.realpath(entry) not in doors)
    ]
    own = str(Path(__file__).resolve().parents[1])
    return list(dict.fromkeys(kept if own in kept else [own, *kept]))


def _doors() -> tuple[set[str], set[str]]:
    """Folders that `sys.path` has for standing in them, and those that PYTHONPATH names in full."""
    ignored = sys.flags.ignore_environment
    given = [] if ignored else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = {os.path.realpath(entry) for entry in given if os.path.isabs(entry)}
    doors: set[str] = set()
    with contextlib.suppress(OSError):  # the working directory may be gone
        doors = {os.path.realpath(entry) for entry in ("", *given) if not os.path.isabs(entry)}
    return doors, named


def environment() -> dict[str, str]:
    """The environment of a child that imports nvgen; `command` is what it runs with."""
    kept = dict(os.environ)
    if sys.flags.ignore_environment:
        kept = {name: value for name, value in kept.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join(entry for entry in search_path() if os.pathsep not in entry)
    return {**kept, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def command(module: str) -> list[str]:
    """The command that runs a module of nvgen in a child, with its `environment`."""
    return [sys.executable, "-P", "-m", module]


def bare_command(script: Path, package: str) -> list[str]:
    """The command that runs a script which needs only the standard library and one package.

    Its first argument is the folder that the package is in.

    Raises: ImportError when the package is nowhere but in the working directory; InputError where
    Python is a part of another program, and does not know where it stands itself.
    """
    if not sys.executable:
        raise input_error(
            "system/python",
            "LLVM runs in a Python of its own, and nobody knows where one is",
            got=f"sys.executable = {sys.executable!r}",
            expected="the path of a Python that has llvmlite",
            hint="assign it to sys.executable before the first call",
        )
    bytecode = ["-B"] if sys.dont_write_bytecode else []
    return [sys.executable, "-I", "-S", *bytecode, str(script), _folder_of(package)]


def _folder_of(package: str) -> str:
    spec = importlib.machinery.PathFinder.find_spec(package, search_path())
    spec = spec or importlib.util.find_spec(package)  # what an import hook finds
    folder = ""
    if spec is not None and spec.origin:
        folder = os.path.dirname(os.path.abspath(spec.origin))
        if spec.submodule_search_locations is not None:
            folder = os.path.dirname(folder)
    doors, named = _doors()
    if not folder or os.path.realpath(folder) in doors - named:
        raise ImportError(f"{package} is not installed", name=package)
    return folder


@contextlib.contextmanager
def shut() -> Iterator[None]:
    """Let what starts a Python process in here start one that does not look in this folder.

    For `multiprocessing`, which gives its children this process's environment and `sys.path`.
    """
    before, path = dict(os.environ), list(sys.path)
    os.environ.update(environment())
    sys.path[:] = search_path()
    try:
        yield
    finally:
        sys.path[:] = path
        for name in ("PYTHONPATH", "PYTHONSAFEPATH"):
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
