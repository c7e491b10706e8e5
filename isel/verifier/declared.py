"""The declarations of a module that was read from text: alignments, names, callees.

Layer: isel.verifier.  Input: a module from a file of MIR or PTX.  Output: findings.  Some names are
legal in MIR only, and MIR does not distinguish variables, parameters and those of calls; the PTX
reader knows the rules, so the module is printed as PTX and read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmprinter.ptx.printer import Printed, print_ptx
from intrinsics.findings import Finding, Place, Severity, errors
from intrinsics.mir import MachineFunction, Module
from intrinsics.targets import Ptx
from isel.verifier.locations import place_of

_IDENTIFIER = re.compile(r"[A-Za-z][\w$]*|[_$%][\w$]+", re.ASCII)


_MOST = 1 << 30
"""The largest alignment that ptxas takes, in bytes."""


def judge_alignments(module: Module, file: str) -> list[Finding]:
    """Findings for alignments of `module`, read from `file`, that are no powers of two or too
    large.
    """
    return [
        Finding(
            "ptx/alignment",
            Severity.ERROR,
            f"an alignment is a power of two, at most {_MOST}",
            Place(file, function=function),
            got=f"{name} at {align}",
            expected="1, 2, 4, 8, …",
            section="PTX ISA, Alignment",
        )
        for function, name, align in _alignments(module)
        if align.bit_count() != 1 or align > _MOST
    ]


def _alignments(module: Module) -> Iterator[tuple[str, str, int]]:
    """Variables and parameters: the function that each is in, its name, and its alignment in
    bytes.
    """
    yield from (("", v.name, v.align) for v in module.variables)
    for function in module.functions:
        yield from ((function.name, v.name, v.align) for v in function.variables)
        for param in (*function.params, *function.results):
            yield function.name, param.name, param.align
            yield function.name, param.name, param.pointee_align


def judge_as_ptx(module: Module, ptx: Ptx, file: str) -> list[Finding]:
    """Findings that keep `module`, read from `file`, from being PTX of version `ptx`."""
    wrong = [*_odd_names(module, file), *_names_of_two(module, file)]
    if wrong:
        return wrong
    from asmprinter.ptx.reading.reader import read_ptx  # not needed for LLVM IR

    printed = print_ptx(module, ptx)
    found = errors(read_ptx(printed.text, target=module.target).findings)
    return [finding.at(_place(finding, module, printed, file)) for finding in found]


def _odd_names(module: Module, file: str) -> Iterator[Finding]:
    """Names that are no identifiers of PTX."""
    for function, name in _names(module):
        if not _IDENTIFIER.fullmatch(name):
            yield Finding(
                "mir/name",
                Severity.ERROR,
                "PTX has no such name",
                Place(file, function=function),
                got=f"@{name}",
                expected="a letter, then letters, digits, _ and $; or one of _$% and more",
                section="PTX ISA, Identifiers",
            )


def _names_of_two(module: Module, file: str) -> Iterator[Finding]:
    """Functions that are declared twice, and local names that hide others."""
    known = {function.name for function in module.functions}
    for declared in module.externals:
        if declared.name in known:
            yield _twice(
                "the module has a function of the name that it declares",
                Place(file, function=declared.name), f"declare @{declared.name}",
                "a definition alone, or one declaration",
            )  # fmt: skip
        known.add(declared.name)
    known |= {variable.name for variable in module.variables}
    for function in module.functions:
        own: set[str] = set()
        for param in (*function.params, *function.results):
            if param.name in own:
                yield _own_twice("a parameter", function, param.name, file)
            own.add(param.name)
        for variable in function.variables:
            if variable.name in known | own:
                yield _own_twice("a variable", function, variable.name, file)
            own.add(variable.name)


def _own_twice(what: str, function: MachineFunction, name: str, file: str) -> Finding:
    return _twice(
        f"{what} of the function has the name of something else",
        Place(file, function=function.name), f"@{name}",
        "a name that nothing else of the module has",
    )  # fmt: skip


def _twice(message: str, place: Place, got: str, expected: str) -> Finding:
    """The finding for a duplicate name."""
    return Finding(
        "mir/name-twice", Severity.ERROR, message, place, got=got, expected=expected,
        section="PTX ISA, Identifiers",
    )  # fmt: skip


def _names(module: Module) -> Iterator[tuple[str, str]]:
    """All names, each with that of the function that it is in."""
    yield from (("", variable.name) for variable in module.variables)
    yield from (("", declared.name) for declared in module.externals)
    for function in module.functions:
        yield function.name, function.name
        yield from ((function.name, param.name) for param in (*function.params, *function.results))
        yield from ((function.name, variable.name) for variable in function.variables)


def _place(finding: Finding, module: Module, printed: Printed, file: str) -> Place:
    """The source location of the record that the PTX line of a finding was printed from."""
    record = printed.records.get(finding.place.line)
    if record is None:
        return Place(file, function=finding.place.function)
    return place_of(module.locations[record.loc], finding.place.function)
