"""A module through LLVM's passes, with nvgen's shield and without, and the calls that are left."""

from __future__ import annotations

import re

from intrinsics.targets import parse_target
from isel.llvm.reader import read_module
from isel.select.locations import Source
from nvgen.llvm.reading import parse
from nvgen.optimizer.optimize import optimize
from nvgen.optimizer.pipeline import run

LEVELS = (1, 2, 3)
_CALLEE = re.compile(r"\bcall\b[^@]*@\"?llvm\.nvvm\.([\w.]+)")


def shielded(text: str, level: int, target: str = "sm_100a") -> str:
    """What nvgen makes of a module."""
    printed = parse(text)
    done, _, _ = optimize(printed, read_module(printed), Source(), level, parse_target(target))
    return done


def unshielded(text: str, level: int, target: str = "sm_100a") -> str:
    """What the same passes make of it when they see everything."""
    return run(parse(text), level, parse_target(target))


def body(text: str) -> str:
    """The first function's body."""
    return text[text.index("define ") :].partition("\n}\n")[0]


def calls(text: str) -> list[str]:
    """The intrinsics that the first function calls, in order, after `llvm.nvvm.`."""
    return _CALLEE.findall(body(text))
