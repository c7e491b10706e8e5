"""LLVM, through llvmlite: parse, verify, print.

Layer: nvgen.  LLVM's messages become findings.  Nothing here ends the process: no code is generated
here, and what LLVM's reader dies of is found first (`nvgen.llvm_guard`).
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import replace

from llvmlite import binding

from intrinsics.findings import Finding, InputError, Place, Severity
from nvgen.llvm_guard import NO_UPGRADE, crash

_OPTION = threading.Lock()  # LLVM's options belong to the whole process


def parse(text: str, *, file: str = "", name: str = "") -> str:
    """Parse and verify a module of LLVM IR; gives it as LLVM prints it, called `name` if given.

    Raises: InputError with LLVM's message and its line, when LLVM rejects it.
    """
    if not text.strip():
        raise _rejected("the file is empty", file, hint="a module of LLVM IR is expected")
    _check_characters(text, file)
    death = crash(text)
    if death:
        raise InputError([_crashed(death, file)])
    try:
        return _reprint(text, name)
    except RuntimeError as error:
        raise _of_llvm(str(error), file, text) from None
    except UnicodeDecodeError as error:
        raise _rejected(
            "a name or string of the module is not UTF-8",
            file,
            got=f"byte {error.object[error.start]:#04x}",
            hint='LLVM IR writes it as an escape in a quoted name, such as "\\99"',
        ) from None


def _check_characters(text: str, file: str) -> None:
    """Whether LLVM can be given the text: it ends at a NUL, and is UTF-8.

    Raises: InputError.
    """
    found = re.search("[\0\ud800-\udfff]", text)
    if found is None:
        return
    line, column = (
        text.count("\n", 0, found.start()) + 1,
        found.start() - text.rfind("\n", 0, found.start()),
    )
    raise InputError(
        [
            Finding(
                "llvm/syntax",
                Severity.ERROR,
                "a character that no module has",
                Place(file, line, column),
                got=f"U+{ord(found[0]):04X}",
                expected="UTF-8 without NUL",
                hint='LLVM IR writes bytes as escapes in quoted names, such as "\\00"',
            )
        ]
    )


def _reprint(text: str, name: str) -> str:
    """The text as LLVM prints it.

    In a context of its own: in the shared one LLVM renames struct types that came before.  The
    module is closed before its context, whatever happens; the garbage collector would take them in
    any order.
    """
    context = binding.create_context()
    try:
        with _without_upgrade():
            module = binding.parse_assembly(text, context=context)
        try:
            module.verify()
            if name:
                module.name = name
            return str(module)
        finally:
            module.close()
    finally:
        context.close()


@contextlib.contextmanager
def _without_upgrade() -> Iterator[None]:
    """Read debug info as it stands.

    To upgrade it, LLVM verifies every module that has some, and ends the process over one that is
    wrong.  Without, `verify` finds the same, and says it.
    """
    with _OPTION:
        binding.set_option("nvgen", f"{NO_UPGRADE}=true")
        try:
            yield
        finally:
            binding.set_option("nvgen", f"{NO_UPGRADE}=false")


def _crashed(death: str, file: str) -> Finding:
    expected = "intrinsics with LLVM's signatures, well-formed !nvvm.annotations and debug info"
    hint = "an intrinsic of an older LLVM with other arguments is the usual reason"
    if death.startswith("signal"):
        expected = "less nesting"
        hint = "types, constants or metadata nested too deep are the usual reason"
    return Finding(
        "llvm/crash",
        Severity.ERROR,
        "LLVM aborts when it reads this module",
        Place(file),
        got=death,
        expected=expected,
        hint=hint,
    )


def _rejected(message: str, file: str, *, got: str = "", hint: str = "") -> InputError:
    return InputError(
        [Finding("llvm/syntax", Severity.ERROR, message, Place(file), got=got, hint=hint)]
    )


def _of_llvm(message: str, file: str, text: str) -> InputError:
    """LLVM's own message; a parse error begins with `<string>:LINE:COLUMN: error:`.

    Its verifier does not say where, but prints the instruction that it rejects.
    """
    lines = [line for line in message.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        match = re.match(r"<string>:(\d+):(\d+): error: (.*)", line)
        if match:
            place = Place(file, int(match[1]), _column(text, int(match[1]), int(match[2])))
            shown = lines[at + 1].strip() if at + 1 < len(lines) else ""
            finding = Finding("llvm/syntax", Severity.ERROR, match[3], place, got=shown)
            return InputError([replace(finding, hint=_what_else(text))])
    said = [line.strip() for line in lines if "LLVM" not in line]
    reason, *printed = said or ["rejected by LLVM's verifier"]
    place = next((found for line in printed if (found := _find(line, text, file))), Place(file))
    got = " ".join(printed)[:400]
    return InputError([Finding("llvm/verifier", Severity.ERROR, reason, place, got=got)])


def _what_else(text: str) -> str:
    """A hint about what is no LLVM IR at all."""
    if re.search(r"^\s*\.version\b", text, re.MULTILINE):
        return "this is PTX: `nvgen check` and `nvgen run` read it from a .ptx file"
    if re.search(r"\b__global__\b|^#include\b", text, re.MULTILINE):
        return "this is CUDA C++: clang -S -emit-llvm makes LLVM IR of it"
    if re.fullmatch(r"\s*[^\n=]+\.(ll|bc|ptx|cu|mir)\s*", text):
        return "this is the name of a file: pass the text that it holds"
    return ""


def _column(text: str, line: int, column: int) -> int:
    """A column in characters; LLVM counts bytes."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return column
    return len(lines[line - 1].encode()[: column - 1].decode(errors="replace")) + 1


def _find(shown: str, text: str, file: str) -> Place | None:
    """The only line of `text` that says what LLVM shows, spaces and comments aside."""
    wanted = "".join(shown.split())
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if "".join(line.partition(";")[0].split()) == wanted:
            found.append(Place(file, number, len(line) - len(line.lstrip()) + 1))
    return found[0] if len(found) == 1 else None
