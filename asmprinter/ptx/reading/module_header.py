"""The header of a module of PTX: its version, its target, its address size.

Layer: asmprinter.  Input: a position in the text.  Output: the version and the target of the module
that is read, and findings.  PTX ISA, PTX Module Directives.
"""

from __future__ import annotations

import re

from asmprinter.ptx.reading.instructions import InstructionReader
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target

_VERSION = re.compile(r"\.version[ \t\r\f]+([0-9]{1,9})\.([0-9]{1,9})(?!\S)")
_DEBUG = re.compile(r"\.section\s+\.debug_")
_TARGET = re.compile(r"\.target\s+(\w+)((?:\s*,\s*\w+)*)")
_ADDRESS_SIZE = re.compile(r"\.address_size\s+([0-9]+)(?!\S)")

_OPTIONS = ("debug", "texmode_independent", "texmode_unified")

_ORDER: dict[str, list[str]] = {
    "version": [],
    "target": ["version"],
    "address_size": ["version", "target"],
}
"""The directives of a header, and which of them stand before each."""


class HeaderReader(InstructionReader):
    """A position in the text: reads the directives that a module begins with."""

    def __init__(self, text: str, file: str, target: Target | None) -> None:
        super().__init__(text, file)
        self.wanted_target = target
        self.target: Target | None = target
        self.ptx: Ptx | None = None
        self.header: list[str] = []  # the directives so far
        self.target_at = 0  # where .target stands
        self.at = 0

    def settle_header(self) -> None:
        """Say what is missing, and give the module something in its place."""
        if self.target is None:
            self.error("ptx/no-target", "the module has no .target", 0, expected=".target sm_…")
        if self.ptx is None:
            self.error("ptx/no-version", "the module has no .version", 0, expected=".version")
        sections = [kept.text for kept in self.module.kept]
        if "debug" in self.module.options and not any(map(_DEBUG.match, sections)):
            self.error(
                "ptx/target-option",
                "a module for debugging has debug information",
                self.target_at,
                got="debug",
                expected=".section .debug_…, or no such option",
            )
        self.module.target = self.target or TARGETS["sm_75"]
        self.module.ptx = self.ptx or PTX_VERSIONS[0]
        defined = {function.name for function in self.module.functions}
        self.module.externals = [f for f in self.module.externals if f.name not in defined]

    def has_begun(self) -> bool:
        """Whether a function or a variable has been read."""
        module = self.module
        return bool(self.function or module.functions or module.variables or module.externals)

    def _check_order(self, name: str, start: int) -> None:
        """ptxas takes a second .target behind the first one, and in functions."""
        if name == "target" and (self.function or self.header[-1:] == ["target"]):
            return
        before, self.header = self.header, [*self.header, name]
        if before != _ORDER[name] or self.has_begun():
            self.error(
                "ptx/header-order",
                f".{name} stands elsewhere",
                start,
                got=f".{name}",
                expected=".version, .target and .address_size, once, at the beginning",
            )

    def read_header_directive(self, name: str, start: int) -> None:
        """`.version`, `.target` or `.address_size`."""
        pattern = {"version": _VERSION, "target": _TARGET, "address_size": _ADDRESS_SIZE}[name]
        match = pattern.match(self.text, start)
        self.at = match.end() if match else self.source.line_end(start)
        self._check_order(name, start)
        given = self.text[start : self.at].split(None, 1)[1:]
        shown = given[0].strip().rstrip(";") if given else ""
        if name == "version":
            self._version(match, shown, start)
        elif name == "address_size":
            if match is None or match[1] != "64":
                self.error(
                    "ptx/address-size",
                    "nvgen reads 64-bit modules",
                    start,
                    got=shown,
                    expected="64",
                )
        else:
            self._target(match, shown, start)

    def _target(self, match: re.Match[str] | None, shown: str, start: int) -> None:
        self.target_at = start
        self.module.options = tuple(re.findall(r"\w+", match[2])) if match else ()
        for option in self.module.options:
            if option not in _OPTIONS and not option.startswith("sm_"):
                self.error(
                    "ptx/target-option",
                    "no target has this option",
                    start,
                    got=option,
                    expected=", ".join(_OPTIONS),
                )
        if self.wanted_target is not None:
            return
        self.target = TARGETS.get(match[1]) if match else None
        if self.target is None:
            self.target = TARGETS["sm_75"]
            word = match[1] if match else shown
            self.error(
                "target/unknown",
                f"unknown target '{word}'",
                start,
                got=word,
                expected="one that `nvgen targets` lists",
            )

    def _version(self, match: re.Match[str] | None, shown: str, start: int) -> None:
        self.ptx = Ptx(int(match[1]), int(match[2])) if match else None
        if self.ptx not in PTX_VERSIONS:
            self.error(
                "ptx/version-unknown",
                f"unknown PTX version '{shown}'",
                start,
                got=shown,
                expected=f"{PTX_VERSIONS[0]} to {PTX_VERSIONS[-1]}",
            )
