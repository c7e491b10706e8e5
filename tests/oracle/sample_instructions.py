"""What the samples' kernels ask of the machine: their instructions by opcode, as LLVM prints them.

Input: the LLVM IR that the builder makes of a sample.  Output: how many instructions of each opcode
LLVM's own NVPTX back end makes of it.  What a thread computes in registers for itself (arithmetic,
conversions, moves, branches) is selected by each compiler in its own way and does not count;
everything else does: memory, barriers, copies, multiplies, shuffles, approximations.

`python -m tests.oracle.sample_instructions` writes the record, of LLVM's PTX alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.options import Options
from tests.oracle import llvm
from tests.samples.modules import FILES, PORTABLE, SOFTMAX, named, sample

RECORD = Path(__file__).with_suffix(".txt")
PTX = "9.0"

_OF_REGISTERS = frozenset({
    "abs", "add", "and", "bfe", "bfi", "bra", "call", "cvt", "cvta", "div", "fma", "lop3", "mad",
    "max", "min", "mov", "mul", "neg", "not", "or", "prmt", "rem", "ret", "selp", "set", "setp",
    "shf", "shl", "shr", "sub", "xor",
})  # fmt: skip
"""The heads of instructions that only registers and the program counter know of."""

_STATEMENT = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z]\w*(?:(?:\.|::)\w+)*)(?=\s|$)")
_CALLED = re.compile(r"call\S*[^;]*?\bllvm\.nvvm\.([\w.]+)")
_ACCESS = re.compile(r"((?:ld|st)(?:\.|::)(?:\w|\.|::)*?)(?:\.v(\d))?\.[bfsu](\d+)")
_DEFAULT_ORDER = re.compile(r"(?<=^atom)\.relaxed\.gpu|(?<=^red)\.relaxed\.gpu")


def counted(ptx: str) -> Counter[str]:
    """The instructions of a module by opcode, without those of registers.

    Loads and stores count by their bytes: `.v2.b64` is `.v4.b32`.  LLVM leaves `.relaxed.gpu` of
    atomic operations out, which is what they are without it (PTX ISA, atom).  Of a multiply that
    LLVM has no intrinsic for, its back end prints a call.
    """
    text = re.sub(r"//[^\n]*", "", ptx)
    found = Counter(name.removesuffix(".registers") for name in _CALLED.findall(text))
    for statement in re.split(r"[;{}\n]|^\s*\$?\w+:", text, flags=re.MULTILINE):
        match = _STATEMENT.match(statement)
        if match and (opcode := _shown(match[1])):
            found[opcode] += 1
    return found


def _shown(opcode: str) -> str:
    """An opcode as both print it; "" for one that does not count."""
    if opcode.partition(".")[0] in _OF_REGISTERS or opcode.startswith(("ld.param", "st.param")):
        return ""
    if opcode.startswith("wgmma.mma_async"):
        return opcode.replace(".sync.aligned", "")
    if access := _ACCESS.fullmatch(opcode):
        return f"{access[1]}, {int(access[2] or 1) * int(access[3]) // 8} bytes"
    return _DEFAULT_ORDER.sub("", opcode)


def kernels() -> dict[str, tuple[Callable[[], str], str]]:
    """The samples' kernels by name: what gives their LLVM IR, and the target."""
    found: dict[str, tuple[Callable[[], str], str]] = {}
    for path in FILES:
        module = named(path.stem)
        found[path.stem] = (lambda module=module: module.build().llvm, module.TARGETS[0])  # type: ignore[misc]
    portable = sample(PORTABLE)
    for target in ("sm_80", "sm_90a", "sm_100a"):
        name = f"{PORTABLE.stem}, {target}"
        found[name] = (lambda target=target: portable.build(target).llvm, target)  # type: ignore[misc]
    return found | {SOFTMAX.stem: (SOFTMAX.read_text, "sm_90")}


def by_llvm(text: str, target: str) -> Counter[str]:
    """What LLVM's back end makes of a kernel."""
    (outcome,) = llvm.compile_all([text], target, PTX, unknown_calls=True)
    assert outcome.ptx, outcome.refusal
    return counted(outcome.ptx)


def by_nvgen(text: str, target: str) -> Counter[str]:
    """What nvgen makes of it."""
    return counted(compile_text(text, Options(target=target)).ptx)


def recorded() -> dict[str, Counter[str]]:
    """The record: a kernel's name, then a line for each opcode."""
    found: dict[str, Counter[str]] = {}
    for part in RECORD.read_text(encoding="utf-8").strip().split("\n\n"):
        name, *lines = part.splitlines()
        pairs = (line.split(maxsplit=1) for line in lines)
        found[name] = Counter({opcode: int(number) for number, opcode in pairs})
    return found


def differences(before: Counter[str], after: Counter[str]) -> list[str]:
    """What changed, in words."""
    opcodes = sorted({*before, *after})
    return [f"{op}: {before[op]}, now {after[op]}" for op in opcodes if before[op] != after[op]]


def _lines() -> Iterator[str]:
    for name, (build, target) in kernels().items():
        yield f"{name}\n"
        for opcode, number in sorted(by_llvm(build(), target).items()):
            yield f"{number:6} {opcode}\n"
        yield "\n"


if __name__ == "__main__":
    RECORD.write_text("".join(_lines()), encoding="utf-8")
