"""`nvgen compile`: LLVM IR to MIR, PTX or a cubin.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from intrinsics.findings import Finding, InputError, NvgenError, errors, input_error
from isel.verifier.levels import advice, beyond
from nvgen.commands.given.inputs import Input, read_input
from nvgen.commands.given.own_functions import extension_from
from nvgen.commands.print_after import check_output, write_stages
from nvgen.compilation.judgement import check_certain, eased
from nvgen.compilation.options import Options
from nvgen.files import STANDARD, check_writable, write_whole
from nvgen.loading import Program, load
from nvgen.render import print_findings

_BY_SUFFIX = {".ll": "llvm", ".mir": "mir", ".ptx": "ptx", ".cubin": "cubin"}


def run(arguments: argparse.Namespace) -> int:
    """Compile, report, write; an error of the level that is asked for leaves what OUT held before.

    Rules beyond that level are run too: their errors make the status 1, and OUT is written only
    where they are not certain (`nvgen.compilation.judgement`).  Of PTX, which another compiler has
    made, they say warnings, and the status is 0.
    """
    emit = arguments.emit or _BY_SUFFIX.get(Path(arguments.output).suffix, "ptx")
    if emit == "cubin" and arguments.output == STANDARD and sys.stdout.isatty():
        raise input_error("output/terminal", "a cubin is not text", expected="-o FILE")
    if arguments.print_after is None:
        own = _BY_SUFFIX.get(Path(arguments.output).suffix) == emit
        check_writable(arguments.output, () if own else arguments.files)
    else:
        check_output(arguments, emit, arguments.emit or Path(arguments.output).suffix in _BY_SUFFIX)
    given = read_input(arguments.files)
    try:
        return _compile(arguments, emit, given)
    except NvgenError as error:
        print_findings(error.findings, given.text)
        return 2 if isinstance(error, InputError) else 1


def _compile(arguments: argparse.Namespace, emit: str, given: Input) -> int:
    text = given.text
    options = Options(
        given.target(arguments.target), arguments.ptx, arguments.opt, arguments.level,
        extension=extension_from(arguments), keep_stages=arguments.print_after is not None,
    )  # fmt: skip
    program = load(given.file, text, options, bounds=arguments.bound_waits)
    if arguments.print_after is not None:
        write_stages(program, arguments.print_after, arguments.output)
        print_findings(program.findings, text)
        return int(bool(errors(program.findings)))
    print_findings(program.findings, text)
    if errors(program.findings):
        return 1
    print_findings(program.bounded.findings if program.bounded else [], text)
    unasked = eased(_beyond(program, arguments.level), arguments.allow)
    check_certain(unasked)
    print_findings(unasked, text)
    if emit == "cubin":
        data = _assembled(program, given, verbose=arguments.verbose)
    else:
        data = _emitted(program, emit)
    write_whole(arguments.output, data)
    if arguments.verbose:
        _describe(program, given.name, emit, arguments.output, len(data))
    return int(bool(errors(unasked)))


def _beyond(program: Program, level: str) -> list[Finding]:
    """What rules beyond the level find."""
    if program.language == "ptx":
        return advice(program.module, level)
    return beyond(program.module, level, barriers=True)


def _assembled(program: Program, given: Input, *, verbose: bool) -> bytes:
    """The cubin; ptxas's warnings and, if `verbose`, what each kernel takes are printed."""
    from nvgen.machine_code.assembler import assemble_module

    done = assemble_module(
        program.final, program.ptx_version, program.target, lineinfo=program.lineinfo
    )
    print_findings(done.findings, given.text)
    if verbose:
        for kernel in done.resources.values():
            print(f"{given.name}: {kernel}", file=sys.stderr)
    return done.cubin


def _emitted(program: Program, emit: str) -> bytes:
    match emit:
        case "llvm":
            if not program.llvm:
                raise input_error(
                    "compile/emit", f"there is no way back from {program.language} to LLVM IR"
                )
            return program.llvm.encode()
        case "mir":
            return program.mir.encode()
        case _:
            return program.ptx.encode()


def _describe(program: Program, name: str, emit: str, output: str, size: int) -> None:
    functions = program.final.functions
    records = sum(len(block.instrs) for f in functions for block in f.blocks)
    names = ", ".join("@" + f.name for f in functions)
    print(
        f"{name}: {names}: {records} records for {program.target}, "
        f"PTX {program.ptx_version}; {size} bytes of {emit} to {output}",
        file=sys.stderr,
    )
