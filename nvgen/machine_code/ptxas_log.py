"""The log of ptxas -v: resources of each kernel, and remarks worth a warning.

Layer: nvgen.  Input: the log of ptxas.  Output: resources, and findings at lines of the PTX.
ptxas words its remarks as information; those here cost speed: multiplies of warpgroups that no
longer overlap, registers in local memory, `setmaxnreg` without effect.  Remarks are known by their
words, since their numbers (C7505 to C7517 in ptxas 13.5) are those of one version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from intrinsics.findings import Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one kernel: `registers` of each thread, `barriers` and `shared` bytes of each
    CTA.

    `stack`, `spill_stores`, `spill_loads` and `shared` are in bytes; the stack includes those of
    functions that the kernel calls, `shared` is what is there without dynamic shared memory.
    `registers` is the number at the launch, which setmaxnreg changes.
    """

    kernel: str
    registers: int
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    barriers: int = 0

    def __str__(self) -> str:
        return (
            f"@{self.kernel}: {self.registers} registers, {self.spill_stores} bytes spilled, "
            f"{self.spill_loads} bytes loaded back, {self.stack} bytes of stack, "
            f"{self.shared} bytes of shared memory, {self.barriers} barriers"
        )


_PROPERTIES = re.compile(r"Function properties for (\S+)\n(.*)\n(?:ptxas info\s*: (Used .*))?")


def resources(log: str) -> dict[str, Resources]:
    """The resources of each kernel by its name, in the order of ptxas."""
    found = {}
    for name, memory, used in _PROPERTIES.findall(log):
        if not used:
            continue  # a device function: its kernels count what it takes
        own = _number(r"(\d+) bytes stack frame", memory)
        found[name] = Resources(
            name,
            registers=_number(r"Used (\d+) registers", used),
            stack=_number(r"(\d+) bytes cumulative stack", used) or own,
            spill_stores=_number(r"(\d+) bytes spill stores", memory),
            spill_loads=_number(r"(\d+) bytes spill loads", memory),
            shared=_number(r"(\d+) bytes smem", used),
            barriers=_number(r"used (\d+) barriers", used),
        )
    return found


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class _Remark:
    """A rule about a remark that has these words, and what helps."""

    rule: str
    words: str
    hint: str


_SERIALIZED = "ptxas/wgmma-serialized"
# fmt: off
_REMARKS = (
    _Remark(_SERIALIZED, r"serialized due to .*Extern calls",
            "keep calls of functions that ptxas cannot see out of kernels that multiply"),
    _Remark(_SERIALIZED, r"serialized due to .*function boundary",
            "inline the function, or wait for the multiplies before it is called"),
    _Remark(_SERIALIZED, r"serialized due to insufficient register resources",
            "smaller accumulators, more warpgroups for the same tile, or a larger .maxnreg"),
    _Remark(_SERIALIZED, r"serialized due to .*defining input registers",
            "write registers of A before wgmma.fence, and again behind the wait only"),
    _Remark(_SERIALIZED, r"serialized due to .*reading accumulator registers",
            "read accumulators behind the wgmma.wait_group that covers their multiplies"),
    _Remark(_SERIALIZED, r"serialized due to .*defining accumulator registers",
            "write accumulators before wgmma.fence, and again behind the wait only; zero them with "
            "scale-d"),
    _Remark(_SERIALIZED, r"serialized due to .*ill formed pipeline",
            "wgmma.fence, multiplies, wgmma.commit_group, wgmma.wait_group, on every way"),
    _Remark(_SERIALIZED, r"serialized due to .*divergent path",
            "let whole warpgroups branch on what is the same for all of their threads"),
    _Remark(_SERIALIZED, r"wgmma\.mma_async instructions are serialized", ""),
    _Remark("ptxas/wgmma-wait-added", r"wgmma\.wait_group is injected",
            "wgmma.wait_group before the accumulators are read or written by other instructions"),
    _Remark("ptxas/setmaxnreg-ignored", r"'setmaxnreg' ignored; unable to determine",
            "say how many registers there are at the launch: nvvm.maxnreg (.maxnreg in PTX), or "
            "nvvm.minctasm (.minnctapersm) beside the size of the block"),
    _Remark("ptxas/setmaxnreg-ignored", r"'setmaxnreg' ignored", ""),
)
# fmt: on
_INFO = re.compile(r"^ptxas (?:info|warning)\s*: +(?:\((C\d+)\) )?(.*)$", re.MULTILINE)
_LINE = re.compile(r" in (?:around )?line (\d+)")
_FUNCTION = re.compile(r" in (?:the )?function '([^']*)'")


def remarks(log: str) -> list[Finding]:
    """Warnings about what ptxas did, at lines of the PTX: 0 where ptxas names none."""
    return [*_advisories(log), *_spills(log)]


def _advisories(log: str) -> Iterator[Finding]:
    for code, text in _INFO.findall(log):
        known = next((r for r in _REMARKS if re.search(r.words, text)), None)
        if known is None:
            continue
        line, function = _LINE.search(text), _FUNCTION.search(text)
        place = Place("", int(line[1]) if line else 0, function=function[1] if function else "")
        message = _FUNCTION.sub("", _LINE.sub("", text)).removeprefix("Potential Performance Loss:")
        yield Finding(
            known.rule,
            Severity.WARNING,
            f"{' '.join(message.split())} ({code})" if code else " ".join(message.split()),
            place,
            hint=known.hint,
        )


def _spills(log: str) -> Iterator[Finding]:
    for kernel in resources(log).values():
        if kernel.spill_stores or kernel.spill_loads:
            yield Finding(
                "ptxas/spill",
                Severity.WARNING,
                "registers are spilled to local memory",
                Place(function=kernel.kernel),
                got=f"{kernel.spill_stores} bytes stored, {kernel.spill_loads} bytes loaded, with "
                f"{kernel.registers} registers",
                expected="0 bytes",
                hint="fewer values that live at the same time, or a larger .maxnreg",
            )
