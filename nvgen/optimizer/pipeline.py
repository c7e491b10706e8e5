"""LLVM's optimisation pipeline, in a process of its own.

Layer: nvgen.optimizer.  Input: LLVM IR, as text.  Output: the same, optimised.  A pass that dies of
its input takes nothing else with it.

The passes know the machine through LLVM's NVPTX back end.  What they may make of integers is what
selection has instructions for, so what leads beyond is switched off: vectors, calls of memory
functions, tables in memory, and loops replaced by a formula, which takes integers of 33 and 65
bits.
"""

from __future__ import annotations

import json
import subprocess
import sys

from intrinsics.findings import InternalError
from nvgen.llvm_guard import NO_UPGRADE, last_words
from nvgen.optimizer import child

_TRIPLE = "nvptx64-nvidia-cuda"
_OPTIONS = [
    NO_UPGRADE,
    "--replexitval=never",
    "--switch-to-lookup=false",
    "--disable-loop-idiom-all",
]
_RELATIVES = {"sm_107": "sm_103"}
"""Processors that LLVM does not know, without suffixes, and those that are most like them."""


class LlvmDiedError(Exception):
    """LLVM ended the process that it ran in; the text is what it said last."""


def processor(name: str) -> str:
    """The processor that LLVM optimises for when code for `name` is wanted."""
    plain = name.rstrip("af")
    return _RELATIVES.get(plain, plain) + name[len(plain) :]


def run(text: str, level: int, target: str) -> str:
    """Optimise a module for `target` at level 1, 2 or 3.

    Raises: LlvmDiedError; InternalError when LLVM rejects the text, which it has read before.
    """
    job: child.Job = {
        "text": text,
        "level": level,
        "triple": _TRIPLE,
        "processor": processor(target),
        "options": _OPTIONS,
    }
    done = subprocess.run(
        [sys.executable, "-P", child.__file__],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode == child.REJECTED:
        raise InternalError(f"LLVM rejects what the optimiser was given: {done.stderr[-400:]}")
    if done.returncode != 0:
        raise LlvmDiedError(last_words(done.stderr) or f"exit status {done.returncode}")
    return done.stdout
