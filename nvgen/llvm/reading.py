"""LLVM's reader: parse, verify, print.

Layer: nvgen.  LLVM's messages become findings, and so does its end: it runs in a process of its own
(`nvgen.llvm.process`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from intrinsics.findings import Finding, InputError, Place, Severity, shortened
from isel.llvm.data_layout import NVPTX
from nvgen.llvm.child import TRIPLE
from nvgen.llvm.crash import crashed, timed_out
from nvgen.llvm.libdevice import find_libdevice, wants_libdevice
from nvgen.llvm.older import with_atomic_instructions
from nvgen.llvm.process import (
    LLVM,
    LlvmDiedError,
    LlvmRejectedError,
    LlvmTimeoutError,
    NotUtf8Error,
)

_LAYOUT = f'target datalayout = "{NVPTX}"\n'
"""A line before the user's: LLVM's reader writes out alignments, of which its own defaults differ.

What the module says itself comes later, and holds.
"""

_TRIPLE = re.compile(r'^[ \t]*+target[ \t]++triple\s*+=\s*+"(?P<triple>[^"]*+)"', re.MULTILINE)

_KNOWN = f'target triple = "{TRIPLE}"'


def parse(text: str, *, file: str = "", name: str = "") -> str:
    """Parse and verify a module of LLVM IR; gives it as LLVM prints it, called `name` if given.

    Raises: InputError with LLVM's message and its line, when LLVM rejects it, dies of it or does
    not end.
    """
    if not text.strip():
        raise _rejected("the file is empty", file, hint="a module of LLVM IR is expected")
    _check_characters(text, file)
    try:
        return _read(text, name)
    except LlvmRejectedError as error:
        raise _of_llvm(str(error), file, text) from None
    except LlvmDiedError as death:
        raise crashed(str(death), text, file, LLVM.survives) from None
    except LlvmTimeoutError as limit:
        raise timed_out(str(limit), file, "reads") from None
    except NotUtf8Error as byte:
        raise _rejected(
            "a name or string of the module is not UTF-8",
            file,
            got=f"byte {byte}",
            hint='LLVM IR writes it as an escape in a quoted name, such as "\\99"',
        ) from None


def _read(text: str, name: str) -> str:
    """What LLVM prints of a module, with the functions of libdevice that it calls, where that is
    at hand; one in a newer dialect is read in the words of LLVM's own.

    Raises: LlvmRejectedError, LlvmDiedError, LlvmTimeoutError, NotUtf8Error; InputError where
    `NVGEN_LIBDEVICE` names no library.
    """
    return _in_its_words(text, lambda words: LLVM.read(_LAYOUT + words, name, _library_of(text)))


def promoted(text: str, level: int, processor: str, *, file: str = "") -> str | None:
    """As `parse`, with stack variables promoted to registers, in one step.

    None where LLVM rejects the text or dies of it, whose reasons `parse` finds.

    Raises: InputError for characters that no module has, and as `parse` of libdevice and time.
    """
    _check_characters(text, file)
    library = _library_of(text)
    try:
        return _in_its_words(
            text, lambda words: LLVM.promote(_LAYOUT + words, level, library, processor)
        )
    except (LlvmRejectedError, LlvmDiedError, NotUtf8Error):
        return None
    except LlvmTimeoutError as limit:
        raise timed_out(str(limit), file, "reads") from None


def _in_its_words(text: str, ask: Callable[[str], str]) -> str:
    """What LLVM says of a text; of one in a newer dialect in the words of LLVM's own.

    Raises: what `ask` raises.
    """
    text = with_atomic_instructions(text)
    try:
        return ask(text)
    except LlvmRejectedError:
        from nvgen.llvm.newer import in_older_words

        older = in_older_words(text)
        if older == text:
            raise
        return ask(older)


def _library_of(text: str) -> str:
    """The path of libdevice, if a module calls it and it is at hand; else "".

    Raises: InputError where `NVGEN_LIBDEVICE` names no library.
    """
    library = find_libdevice() if wants_libdevice(text) else None
    if library is not None and not library.is_file():
        raise InputError(
            [
                Finding(
                    "llvm/libdevice",
                    Severity.ERROR,
                    "libdevice is not where NVGEN_LIBDEVICE says",
                    got=str(library),
                    expected="the path of a libdevice.10.bc",
                    hint="pip install nvidia-nvvm brings one that is found by itself",
                )
            ]
        )
    return "" if library is None else str(library)


def _check_triple(text: str, file: str) -> None:
    """Whether the target triple is one word: LLVM prints it without escapes, whatever is in it.

    Raises: InputError.
    """
    is_known = text.count("triple") == text.count(_KNOWN)
    found = None if is_known else _TRIPLE.search(text)
    if found is not None and re.search(r"\s|\\", found["triple"]):
        line = text.count("\n", 0, found.start("triple")) + 1
        raise InputError(
            [
                Finding(
                    "llvm/triple",
                    Severity.ERROR,
                    "this is no target triple",
                    Place(file, line),
                    got=found["triple"],
                    expected="nvptx64-nvidia-cuda, or no target triple",
                )
            ]
        )


def _check_characters(text: str, file: str) -> None:
    """Whether LLVM can be given the text: it ends at a NUL, and is UTF-8.

    Raises: InputError.
    """
    is_plain = text.isascii() and "\0" not in text
    found = None if is_plain else re.search("[\0\ud800-\udfff]", text)
    if found is None:
        _check_triple(text, file)
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


def _rejected(message: str, file: str, *, got: str = "", hint: str = "") -> InputError:
    return InputError(
        [Finding("llvm/syntax", Severity.ERROR, message, Place(file), got=got, hint=hint)]
    )


def _of_llvm(message: str, file: str, text: str) -> InputError:
    """LLVM's own message; a parse error begins with `<string>:LINE:COLUMN: error:`.

    Its verifier does not say where, but prints the instruction that it rejects.
    """
    from nvgen.llvm.immediates import immediate_missing, immediate_wrong
    from nvgen.llvm.signatures import declared_wrong

    lines = [line for line in message.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        match = re.match(r"<string>:(\d+):(\d+): error: (.*)", line)
        if match:
            row = int(match[1]) - _LAYOUT.count("\n")
            place = Place(file, row, _column(text, row, int(match[2])))
            shown = shortened(lines[at + 1].strip()) if at + 1 < len(lines) else ""
            error = shortened(match[3])
            finding = Finding("llvm/syntax", Severity.ERROR, error, place, got=shown)
            return InputError([replace(finding, hint=_what_else(text))])
    said = [line.strip() for line in lines if "LLVM" not in line]
    reason, *printed = said or ["rejected by LLVM's verifier"]
    place = _place(printed, text, file)
    got = shortened(" ".join(printed))
    if known := declared_wrong(reason, got, text, file):
        return InputError([known])
    if wrong := immediate_wrong(reason, got, place) or immediate_missing(reason, printed, place):
        return InputError(wrong)
    return InputError([Finding("llvm/verifier", Severity.ERROR, shortened(reason), place, got=got)])


def _what_else(text: str) -> str:
    """A hint about what is no LLVM IR at all."""
    if re.search(r"^[ \t]*+\.version\b", text, re.MULTILINE):
        return "this is PTX: `nvgen check` and `nvgen run` read it from a .ptx file"
    if re.search(r"\b__global__\b|^#include\b", text, re.MULTILINE):
        return "this is CUDA C++: clang -S -emit-llvm makes LLVM IR of it"
    if re.search(r"^(?:def|class|import|from) \w", text, re.MULTILINE):
        return "this is Python: nvgen.compile takes the Kernel that KernelBuilder.finish() gives"
    if re.search(r"^\s*/\*[0-9a-f]{4,}\*/", text, re.MULTILINE):
        return "this is machine code (SASS), which cannot be compiled: pass PTX or LLVM IR"
    if re.fullmatch(r"[^\n=]+\.(ll|bc|ptx|cu|mir)", text.strip()):
        return "this is the name of a file: pass the text that it holds"
    return ""


def _column(text: str, line: int, column: int) -> int:
    """A column in characters; LLVM counts bytes."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return column
    return len(lines[line - 1].encode()[: column - 1].decode(errors="replace")) + 1


def _place(printed: list[str], text: str, file: str) -> Place:
    """Where the first line of what LLVM prints stands in `text`, of those that stand there once;
    spaces and comments aside.
    """
    found: dict[str, list[int]] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        found.setdefault("".join(line.partition(";")[0].split()), []).append(number)
    for shown in printed:
        numbers = found.get("".join(shown.split()), [])
        if len(numbers) == 1:
            line = lines[numbers[0] - 1]
            return Place(file, numbers[0], len(line) - len(line.lstrip()) + 1)
    return Place(file)
