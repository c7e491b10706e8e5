"""`nvgen check`: judge LLVM IR, MIR or PTX.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from intrinsics.findings import (
    Finding,
    InputError,
    NvgenError,
    SelectionError,
    Severity,
    Verdict,
    input_error,
    verdict,
)
from intrinsics.mir import Module
from isel.verifier.launch import LaunchShape
from nvgen.commands.given.inputs import read_input
from nvgen.commands.given.own_functions import extension_from
from nvgen.compilation.judgement import matches
from nvgen.compilation.options import Options
from nvgen.loading import load
from nvgen.render import Printer, as_json, print_findings, summary

if TYPE_CHECKING:
    from nvgen.built import Kernel


def run(arguments: argparse.Namespace) -> int:
    """Check, report; the status says whether there were errors."""
    stage, file, text, findings, readable, own_target = _judge(arguments)
    try:
        if not arguments.rule:  # own rules have ids of their own
            _check_allowed(arguments.allow, findings)
        shown = _new(arguments, [f for f in findings if not _allowed(f, arguments.allow)])
    except InputError as error:
        if arguments.format == "text":
            raise
        shown = findings = list(error.findings)
        readable = False
    if arguments.format == "text":
        print_findings(shown, text, sys.stdout)
        left = len(findings) - len(shown) if arguments.baseline else 0
        Printer(sys.stdout).line([*summary(shown, f"{file}{own_target}"), (_left_out(left), "")])
    else:
        print(_report(arguments.format, stage, file, shown, readable=readable))
    if not readable:
        return 2
    return int(_fails(shown, strict=arguments.strict))


def _new(arguments: argparse.Namespace, findings: list[Finding]) -> list[Finding]:
    """The findings without those of a baseline."""
    if not arguments.baseline:
        return findings
    from nvgen.commands.reports import new_since

    return new_since(arguments.baseline, findings)


def _left_out(number: int) -> str:
    return f"; {number} that the baseline has are left out" if number else ""


def _report(
    format_: str, stage: str, file: str, shown: Sequence[Finding], *, readable: bool
) -> str:
    """The findings for machines."""
    from nvgen.commands import reports

    if format_ == "sarif":
        return reports.sarif(shown, file, readable=readable)
    if format_ == "github":
        return reports.github(shown, file)
    import json

    report = {
        "file": file,
        "stage": stage,
        "verdict": verdict(shown).value,
        "findings": [as_json(f) for f in shown],
    }
    return json.dumps(report, indent=2)


def _judge(arguments: argparse.Namespace) -> tuple[str, str, str, list[Finding], bool, str]:
    """The last stage reached, the input's name and text, what was found, whether it was read, and
    for which target, where a Python file says it.
    """
    stage, file, text, own_target = "read", " + ".join(arguments.files), "", ""
    try:
        shape = _shape(arguments)
        given = read_input(arguments.files)
        file, text = given.name, given.text
        if given.kernel is not None:
            shape = _as_built(shape, given.kernel)
            if given.said_target and not arguments.target:
                own_target = f" for {given.said_target}"
        options = Options(
            given.target(arguments.target), arguments.ptx, None, arguments.level,
            shape, extension_from(arguments),
        )  # fmt: skip
        program = load(given.file, text, options)
        if shape.boxes:
            _check_boxes(program.module, shape)
    except InputError as error:
        return stage, file, text, list(error.findings), False, ""
    except NvgenError as error:
        stage = "select" if isinstance(error, SelectionError) else "verify"
        return stage, file, text, list(error.findings), True, own_target
    found = [_in_file(f, given.file) for f in program.findings]
    return "verify", file, text, found, True, own_target


def _as_built(shape: LaunchShape, kernel: Kernel) -> LaunchShape:
    """How a built kernel is launched, as far as the command does not say it."""
    smem = kernel.dynamic_shared if shape.smem is None else shape.smem
    inside = {name: record for record, name in kernel.names.items()}
    for name, size in shape.boxes:
        if name not in inside and name not in kernel.names:
            raise _no_parameter(name, size, list(inside))
    named = tuple((inside.get(name, name), size) for name, size in shape.boxes)
    return replace(shape, smem=smem, boxes=named or kernel.boxes(), parts=kernel.parts)


def _in_file(finding: Finding, file: str) -> Finding:
    """A finding about a whole function with the file that it is in."""
    if finding.place.file or not finding.place.function:
        return finding
    return finding.at(replace(finding.place, file=file))


def _check_boxes(module: Module, shape: LaunchShape) -> None:
    """Whether the parameters exist whose boxes were given.

    Raises: InputError.
    """
    known = [param.name for function in module.functions for param in function.params]
    for name, size in shape.boxes:
        if name.partition("+")[0] not in known:
            raise _no_parameter(name, size, known)


def _no_parameter(name: str, size: int, known: Sequence[str]) -> InputError:
    return input_error(
        "check/box",
        f"no kernel has a parameter '{name}'",
        got=f"{name}={size}",
        expected=", ".join(known) or "a kernel with parameters",
    )


def _allowed(finding: Finding, patterns: Sequence[str]) -> bool:
    return matches(finding.rule, patterns)


def _check_allowed(patterns: Sequence[str], findings: Sequence[Finding]) -> None:
    """Whether there are rules with the ids that are to be left out.

    Raises: InputError with the nearest ids.
    """
    for pattern in patterns:
        if any(_allowed(finding, [pattern]) for finding in findings):
            continue
        from isel.rule_ids import is_rule, nearest

        if not is_rule(pattern):
            near = nearest(pattern)
            raise input_error(
                "check/allow",
                "no rule has this id",
                got=pattern,
                expected="the id of a rule, as findings give it; * stands for anything",
                hint=f"did you mean {' or '.join(near)}?"
                if near
                else "`rules.md` of the reference lists them",
            )


def _fails(findings: Sequence[Finding], *, strict: bool) -> bool:
    if verdict(findings) is Verdict.ERROR:
        return True
    return strict and any(f.severity is Severity.REVIEW for f in findings)


def _shape(arguments: argparse.Namespace) -> LaunchShape:
    """How the kernels are launched, as far as the command says it."""
    from nvgen.commands.given.shape import parse_box, parse_dim3
    from nvgen.launching.launches import dynamic_size

    def size(name: str) -> tuple[int, ...]:
        given = getattr(arguments, name)
        return parse_dim3(given, name) if given is not None else ()

    boxes = tuple(parse_box(text) for text in arguments.box)
    dynamic = dynamic_size(arguments.smem)
    return LaunchShape(size("grid"), size("block"), size("cluster"), dynamic, boxes)
