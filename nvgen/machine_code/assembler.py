"""PTX to cubin, with NVIDIA's ptxas; its errors stand where the program does.

Layer: nvgen.  ptxas is looked for where `NVGEN_PTXAS` says, then in the PyPI package nvidia-cuda-
nvcc, then on the PATH; the newest of the last two wins by coming first.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import tempfile
from dataclasses import field, replace
from pathlib import Path

from asmprinter.ptx.printer import Printed, print_ptx
from intrinsics.findings import AssemblerError, Finding, Place, Severity, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target, parse_target
from isel.verifier.locations import place_of
from nvgen.machine_code.instruction_count import instructions
from nvgen.machine_code.ptxas_log import Resources, remarks, resources
from nvgen.machine_code.tools import failed, run_tool


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin with ptxas's log: as text, as resources of each kernel, and as warnings."""

    cubin: bytes
    log: str
    resources: dict[str, Resources] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def instructions(self) -> dict[str, int]:
        """The machine instructions of each kernel and function, but for the NOPs at their ends."""
        return instructions(self.cubin)


@functools.cache
def find_ptxas() -> Path | None:
    """The ptxas to use, or None."""
    named = os.environ.get("NVGEN_PTXAS")
    if named:
        return Path(named)
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(root).glob("*/bin/ptxas"), reverse=True):
            return found
    on_path = shutil.which("ptxas")
    return Path(on_path) if on_path else None


_LINKING = "a cubin is whole: nvgen.compile([module, …]) links what defines it, before ptxas"


def assemble(
    ptx: str, target: Target | str, arch: str = "", *, lineinfo: bool = False
) -> Assembled:
    """Assemble PTX for `target` ("sm_90a"), or for the later architecture `arch`; with the lines
    that its `.loc` say, if `lineinfo`.

    Raises: InputError for what is no text and no target; AssemblerError when ptxas is missing, or
    with a finding for each of its errors.
    """
    if not isinstance(ptx, str):
        raise input_error(
            "ptxas/text", "this is no PTX", got=type(ptx).__name__, expected="text: compiled.ptx"
        )
    target = target if isinstance(target, Target) else parse_target(target)
    ptxas = find_ptxas()
    if ptxas is None or not ptxas.exists():
        raise failed(
            "ptxas",
            "ptxas was not found",
            str(ptxas or ""),
            hint="pip install 'nvgen[ptxas]', or set NVGEN_PTXAS",
        )
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        source, cubin = Path(folder, "in.ptx"), Path(folder, "out.cubin")
        source.write_text(ptx, "utf-8", "backslashreplace")
        command = [str(ptxas), "-v", f"-arch={arch or target.renamed_to}", str(source), "-o"]
        done = run_tool([*command, str(cubin), *(["-lineinfo"] if lineinfo else [])])
        log = done.stdout + done.stderr
        if done.returncode or not cubin.exists():
            raise _refused(log, done.returncode)
        return Assembled(cubin.read_bytes(), log, resources(log), tuple(remarks(log)))


def assemble_module(
    module: Module, ptx: Ptx, target: Target, arch: str = "", *, lineinfo: bool = False
) -> Assembled:
    """Print `module` as PTX and assemble it for `target`, or for the later architecture `arch`.

    Findings stand at the places of the records that ptxas names.

    Raises: AssemblerError.
    """
    printed = print_ptx(module, ptx, lineinfo=lineinfo)
    lines = printed.text.split("\n")
    try:
        done = assemble(printed.text, target, arch, lineinfo=lineinfo)
    except AssemblerError as error:
        raise AssemblerError(
            [_at_record(finding, module, printed, lines) for finding in error.findings]
        ) from None
    found = tuple(_at_record(finding, module, printed, lines) for finding in done.findings)
    return replace(done, findings=found)


def _at_record(finding: Finding, module: Module, printed: Printed, lines: list[str]) -> Finding:
    """The finding with the PTX that it is about, at that record's place if it has one."""
    number = finding.place.line
    if not 0 < number <= len(lines):
        return replace(finding, place=replace(finding.place, file=module.source))
    shown = replace(finding, got=lines[number - 1].strip())
    record = printed.records.get(number)
    location = module.locations[record.loc] if record is not None else None
    function = finding.place.function
    if location is None or not location.line:
        # A line number of its own would be taken for a line of the source.
        file = f"{module.source or 'the module'}, line {number} as PTX"
        return replace(shown, place=Place(file, function=function))
    return replace(shown, place=place_of(location, function))


def _refused(log: str, status: int) -> AssemblerError:
    """The error about PTX of which ptxas made nothing."""
    if found := _findings(log):
        return AssemblerError(found)
    hint = _LINKING if "Unresolved extern" in log else ""
    message = f"ptxas failed with exit status {status}"
    return failed("ptxas", message, log.strip()[:400], hint=hint)


def _findings(log: str) -> list[Finding]:
    pattern = r"ptxas \S+, line (\d+); (?:error|fatal)\s*: (.*)"
    return [
        Finding("ptxas/error", Severity.ERROR, message, Place("", int(line)))
        for line, message in re.findall(pattern, log)
    ]
