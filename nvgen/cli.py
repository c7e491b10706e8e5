"""The command line: `nvgen compile`, `check`, `run`, `trace`, `targets`, `explain`, `draw`, `tune`.

Layer: nvgen.  This file knows the options; the commands live in `nvgen.commands` and are imported
when they are asked for.  Exit status: 0 ok, 1 something is wrong with the program, 2 bad usage or
input that cannot be read; `run` adds 3 for a deadlock and for a run that did not end in the time or
the steps that it had, and 4 for what is not simulated.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from intrinsics.findings import InputError, NvgenError, input_error, shortened
from isel.verifier.levels import LEVELS
from isel.wait_bounds import MOST_SECONDS
from nvgen import __version__
from nvgen.commands.explanations.options import add_options as add_explain_options
from nvgen.commands.layouts.draw_options import add_options as add_draw_options
from nvgen.commands.tune_options import add_options as add_tune_options

OK, WRONG, USAGE, INTERNAL, PIPE_CLOSED = 0, 1, 2, 70, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status.

    Raises: SystemExit for usage, KeyboardInterrupt.
    """
    try:
        _prepare_streams()
        return _guarded(argv)
    except BrokenPipeError:
        _abandon_output()
        return PIPE_CLOSED
    except OSError:
        _abandon_output()  # not even standard error takes more
        return USAGE


def _guarded(argv: Sequence[str] | None) -> int:
    """Run the command, and print its errors."""
    try:
        try:
            return _run_command(argv)
        finally:
            # Find out here, not when Python ends, that the output could not be written.
            sys.stdout.flush()
    except NvgenError as error:
        return _tell(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        _abandon_output()
        return _tell(_refused(error))
    except MemoryError:
        return _tell(_no_memory())
    except Exception as error:
        return _internal(error)


_WHOLE = {"--bound-waits": "--bound-waits=1"}
"""Options that may be given without their value, which no file name is then taken for."""


_NEVER_LLVM = (".mir", ".ptx", ".py")
"""Names of files that need no LLVM; of others that is not known before they are read."""


_READS_ONE = ("check", "compile")
"""Commands that read one program, tell of it, and end."""


def _run_command(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    if len(given) > 1 and given[0] == "explain" and given[1].startswith("llvm."):
        given = ["explain", "intrinsic", *given[1:]]
    elif len(given) > 1 and given[0] == "explain" and "/" in given[1]:
        given = ["explain", "rule", *given[1:]]
    asked = given[0] if given and given[0] in _commands() else ""
    words = [_WHOLE.get(word, word) for word in given]
    arguments, unknown = _parser(asked).parse_known_args(words)
    if unknown:
        _refuse_options(arguments.parser, unknown)
    files = getattr(arguments, "files", None) or [getattr(arguments, "file", ".mir")]
    if any(os.path.splitext(file)[1] not in _NEVER_LLVM for file in files):
        from nvgen.llvm.process import LLVM

        LLVM.start()  # it is there when the rest of nvgen is imported
    if argv is None and arguments.command in _READS_ONE:
        gc.disable()  # what is made stays until the process ends, which is soon
    command = importlib.import_module(f"nvgen.commands.{arguments.command}")
    status: int = command.run(arguments)
    if not gc.isenabled():
        gc.freeze()  # or Python visits all of it once more as it ends
    return status


def _refuse_options(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """End with what a command does not take, and the option that it is nearly."""
    import difflib

    known = re.findall(r"--[a-z][a-z-]*", parser.format_help())
    near = difflib.get_close_matches(unknown[0].partition("=")[0], known, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")


def _tell(error: NvgenError) -> int:
    from nvgen.render import print_findings

    print_findings(error.findings)
    return USAGE if isinstance(error, InputError) else WRONG


def _refused(error: OSError) -> InputError:
    """What the system would not do: most often, take more output."""
    name = f" ({error.filename})" if error.filename else ""
    return input_error(
        "system/error",
        f"the system refused to read or write{name}",
        got=error.strerror or str(error),
        expected="an output that takes everything",
    )


def _no_memory() -> InputError:
    """The system gives no more memory, or no more than it is told to (`ulimit -v`)."""
    return input_error(
        "system/memory",
        "there is not enough memory for it",
        expected="300 MB of addresses for a small program, and more for a large one",
        hint="ulimit -v shows whether there is a limit",
    )


def _prepare_streams() -> None:
    """Let both streams take all of what we say: … and × have no code in some encodings.

    A stream that was closed before we came is None.  Nothing can be told on standard error then;
    writing to standard output has to fail, or results would be lost in silence.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        sys.stdout = open(os.devnull)  # noqa: SIM115 - for the rest of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as above


def _abandon_output() -> None:
    """Keep Python from flushing what is left into a stream that takes no more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _internal(error: Exception) -> int:
    """A bug of nvgen: say so, and give the traceback to who asks for it."""
    print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
    print("This is a bug of nvgen; NVGEN_TRACEBACK=1 shows where it is.", file=sys.stderr)
    if os.environ.get("NVGEN_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    return INTERNAL


@functools.cache
def _parser(asked: str = "") -> argparse.ArgumentParser:
    """The commands; where it is known which one is asked for, the others have no options.

    It is kept for who calls `main` again: argparse looks for translations of its words in the file
    system, for each command anew.
    """
    parser = argparse.ArgumentParser(
        prog="nvgen",
        description="LLVM IR for NVIDIA's tensor-core machines: compile, check, run, explain.",
    )
    parser.add_argument("--version", action="version", version=f"nvgen {__version__}")
    # "prog" spares argparse making a usage text to find it
    commands = parser.add_subparsers(prog="nvgen", dest="command", required=True, metavar="COMMAND")
    for name, (text, add_options) in _commands().items():
        command = commands.add_parser(name, help=text)
        if asked in ("", name):
            add_options(command)
            command.set_defaults(parser=command)
    return parser


def _commands() -> dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]:
    """By name: what a command does, in a line, and what adds its options to a parser."""
    return {
        "compile": ("LLVM IR to MIR, PTX or a cubin", _compile),
        "check": ("judge LLVM IR, MIR or PTX", _check),
        "run": ("run a kernel on the CPU simulator or a GPU", _run),
        "trace": ("tell the story of one multiply, stage by stage", _trace),
        "targets": ("list the targets", _targets),
        "explain": ("say what a descriptor, word or layout means", add_explain_options),
        "draw": ("draw a layout: SVG, text or JSON", add_draw_options),
        "tune": ("measure the configurations of a kernel", add_tune_options),
    }


def _program(parser: argparse.ArgumentParser, *, levels: bool) -> None:
    """What every command that reads a program takes."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="LLVM IR (.ll, .bc), MIR (.mir), PTX (.ptx), a Python file whose build() gives a "
        "kernel, or - for standard input; several modules of LLVM IR are linked",
    )
    parser.add_argument("--target", metavar="T", help="sm_100a, …; LLVM IR needs one")
    parser.add_argument("--ptx", metavar="V", help="PTX version (default: the lowest that will do)")
    if levels:
        parser.add_argument("--level", choices=LEVELS, help="how far verification goes")


def _compile(parser: argparse.ArgumentParser) -> None:
    _program(parser, levels=True)
    parser.set_defaults(level="record")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="file, or - (default)")
    parser.add_argument(
        "--emit",
        choices=("llvm", "mir", "ptx", "cubin"),
        help="what to write (default: by OUT's name, else ptx)",
    )
    for n in range(4):
        text = (
            "LLVM's optimiser: -O0 as written, to -O3 (default: stack variables become registers)"
            if n == 0
            else argparse.SUPPRESS
        )
        parser.add_argument(
            f"-O{n}", dest="opt", action="store_const", const=n, default=None, help=text
        )
    _bound_waits(parser)
    _allow(
        parser, "of a rule beyond the level, warnings in place of errors (* stands for anything)"
    )
    _extension(parser, compiles=True)
    parser.add_argument(
        "--print-after",
        metavar="PASS",
        help="write the MIR after a pass to OUT; if that is a directory, a file for the pass, or "
        "one for each pass of 'all'",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="say what was made")


def _check(parser: argparse.ArgumentParser) -> None:
    _program(parser, levels=True)
    parser.set_defaults(level="all")
    _shape(parser)
    parser.add_argument("--smem", type=int, metavar="BYTES", help="dynamic shared memory")
    parser.add_argument(
        "--box", metavar="PARAM[+OFFSET]=BYTES", action="append", default=[],
        help="the bytes of a box of the tensor map that a parameter holds, or points to",
    )  # fmt: skip
    _allow(parser, "leave out findings of a rule (* stands for anything)")
    _extension(parser, compiles=False)
    parser.add_argument("--strict", action="store_true", help="reviews count as errors")
    parser.add_argument(
        "--format", choices=("text", "json", "sarif", "github"), default="text",
        help="text (default); JSON; SARIF 2.1.0; annotations of GitHub's workflows",
    )  # fmt: skip
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="leave out what the report of an earlier check has, written by --format json",
    )


def _allow(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--allow", metavar="RULE", action="append", default=[], help=text)


def _shape(parser: argparse.ArgumentParser) -> None:
    for name in ("grid", "block", "cluster"):
        parser.add_argument(f"--{name}", metavar="X[,Y[,Z]]", help=f"{name} dimensions")


def _run(parser: argparse.ArgumentParser) -> None:
    _program(parser, levels=False)
    parser.add_argument("--kernel", metavar="K", default="", help="which, if there are several")
    _shape(parser)
    parser.add_argument(
        "--smem", type=int, metavar="BYTES", help="dynamic shared memory (default: as built, or 0)"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="ARG",
        help="in:A.npy | out:f32[128,128]:C.npy | inout:A.npy:B.npy | i32:64 | f32:0.5 | "
        "tmap:A.npy,box=64x128,swizzle=128 | outmap:f32[128,128]:C.npy,box=128x32,swizzle=128 "
        "(also dtype=bf16 after in:, inout: and tmap:)",
    )  # fmt: skip
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim")
    parser.add_argument("--schedule", default="early", help="early, late or random:SEED")
    parser.add_argument(
        "--bisect",
        action="store_true",
        help="also say which operation must be late for the run to fail under the schedule",
    )
    parser.add_argument(
        "--races",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="on the simulator: end where two accesses meet that nothing orders (default: yes)",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help="seconds until the run is ended (default: 600 on the simulator, 60 on a GPU)",
    )
    parser.add_argument(
        "--max-steps",
        type=_count,
        metavar="N",
        help="on the simulator: steps until the run is ended, one for each instruction of a group "
        "of threads (default: any number)",
    )
    _bound_waits(parser)
    parser.add_argument("--json", action="store_true", help="report as JSON")


def _bound_waits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bound-waits",
        type=_seconds,
        metavar="SECONDS",
        help="end a launch on a GPU when a wait for an mbarrier takes longer, and say which "
        "(alone: 1 second)",
    )


def _extension(parser: argparse.ArgumentParser, *, compiles: bool) -> None:
    """What a compiler that builds on nvgen adds; see docs/extending.md."""
    parser.add_argument(
        "--rule", metavar="MODULE:FUNCTION", action="append", default=[],
        help="judge the records with a function of Python, of a module or a FILE.py",
    )  # fmt: skip
    if not compiles:
        return
    parser.add_argument(
        "--pass", dest="own_pass", metavar="MODULE:FUNCTION", action="append", default=[],
        help="change the records with a function of Python, behind selection",
    )  # fmt: skip
    parser.add_argument(
        "--contract", action="store_true", help="any sum and product may become one fma"
    )
    parser.add_argument(
        "--cuda-atomics", action="store_true", help="seq_cst atomicrmw is CUDA's atomicAdd: relaxed"
    )
    parser.add_argument(
        "--lineinfo", action="store_true", help="write the lines of the source into the PTX"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0.0 < seconds <= MOST_SECONDS:
        return seconds
    raise argparse.ArgumentTypeError(f"'{shortened(text, 40)}' is no number of seconds")


def _count(text: str) -> int:
    if re.fullmatch("0*[1-9][0-9]{0,17}", text):
        return int(text)
    raise argparse.ArgumentTypeError(f"'{shortened(text, 40)}' is no number from 1 on")


def _trace(parser: argparse.ArgumentParser) -> None:
    _program(parser, levels=False)
    parser.add_argument(
        "--mma", type=int, default=1, metavar="N", help="which multiply, from 1 (default: 1)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text")
