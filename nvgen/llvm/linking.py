"""LLVM IR that comes as bitcode, or as several modules: one module, as text.

Layer: nvgen.  Input: bitcode, texts, llvmlite modules.  Output: the text of one module.  LLVM reads
and links in a process of its own (`nvgen.llvm.process`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from intrinsics.findings import Finding, InputError, Place, Severity, input_error, shortened
from intrinsics.lazy_dataclass import dataclass
from isel.llvm.data_layout import ForeignLayoutError, read_layout
from nvgen.files import is_bitcode
from nvgen.llvm.crash import timed_out
from nvgen.llvm.process import (
    LLVM,
    LlvmDiedError,
    LlvmRejectedError,
    LlvmTimeoutError,
    NotUtf8Error,
)

_TWICE = re.compile(r"Linking globals named '(?P<name>.*)': symbol multiply defined")
_WIDEST = 128
"""Bits of integers whose alignment all compilers say; older ones say nothing of wider ones."""

_SAID = re.compile(r'^target (triple|datalayout) = "([^"]*)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """A module of several: what findings call it, and its text as LLVM prints it."""

    file: str
    text: str


def disassembled(data: bytes, file: str = "") -> str:
    """The text of a module of bitcode.

    Raises: InputError when LLVM does not take it.
    """
    if not is_bitcode(data):
        raise input_error(
            "llvm/bitcode",
            "this is no LLVM bitcode",
            place=Place(file),
            got=repr(data[:8]),
            expected="bytes that begin with BC",
            hint="text is given as str",
        )
    try:
        return LLVM.disassemble(data)
    except LlvmRejectedError as error:
        raise _rejected("LLVM does not take this bitcode", file, got=str(error)) from None
    except LlvmDiedError as death:
        raise _rejected("LLVM aborts when it reads this bitcode", file, got=str(death)) from None
    except LlvmTimeoutError as limit:
        raise timed_out(str(limit), file, "reads") from None
    except NotUtf8Error as byte:
        got = f"a name or string with byte {byte}"
        raise _rejected("the bitcode is not UTF-8", file, got=got) from None


def linked(parts: Sequence[Part]) -> str:
    """Several modules as one; what one declares and another defines is called there.

    Raises: InputError where two define the same, or are for different machines.
    """
    if not parts:
        raise input_error("link/nothing", "there is no module", expected="one or more")
    if len(parts) == 1:
        return parts[0].text
    for other in parts[1:]:
        _check_target(parts[0], other)
    try:
        return LLVM.merge([part.text for part in parts])
    except LlvmRejectedError as error:
        raise _unlinked(str(error), parts) from None
    except (LlvmDiedError, NotUtf8Error) as error:
        names = ", ".join(part.file for part in parts)
        raise _rejected("LLVM aborts when it links these modules", names, got=str(error)) from None
    except LlvmTimeoutError as limit:
        raise timed_out(str(limit), parts[0].file, "links") from None


def _check_target(first: Part, other: Part) -> None:
    """Whether both modules lay out data alike, for one machine; one may say nothing of it."""
    ours, theirs = (dict(_SAID.findall(part.text)) for part in (first, other))
    for word in ("triple", "datalayout"):
        mine, its = ours.get(word, ""), theirs.get(word, "")
        if "unknown" in (mine[:7], its[:7]):
            continue  # what llvmlite calls a machine that nobody named
        if mine and its and _meaning(word, mine) != _meaning(word, its):
            raise input_error(
                "link/target",
                f"the modules were made for different machines: their {word}s differ",
                place=Place(other.file),
                got=its,
                expected=f"{mine}, as {first.file} has it",
                hint="compile both for nvptx64-nvidia-cuda with one compiler",
            )


def _meaning(word: str, text: str) -> object:
    """What is the same of two triples or layouts that differ in words only."""
    if word == "triple":
        return text.split("-")[0]
    try:
        found = read_layout(text)
    except ForeignLayoutError:
        return text
    return found.pointers, {n: align for n, align in found.integers.items() if n <= _WIDEST}


def _unlinked(message: str, parts: Sequence[Part]) -> InputError:
    twice = _TWICE.search(message)
    if twice is None:
        names = ", ".join(part.file for part in parts)
        return _rejected("LLVM does not link these modules", names, got=message)
    pattern = (
        rf'^(?:define [^@]*@"?{re.escape(twice["name"])}"?\(|@"?{re.escape(twice["name"])}"? =)'
    )
    owners = [p.file for p in parts if re.search(pattern, p.text, re.MULTILINE)]
    return input_error(
        "link/twice",
        f"@{twice['name']} is defined by more than one module",
        place=Place((owners or [parts[-1].file])[-1]),
        got=", ".join(owners),
        expected="one definition",
        hint="make it internal or linkonce_odr, or leave one of them out",
    )


def _rejected(message: str, file: str, *, got: str) -> InputError:
    finding = Finding(
        "llvm/bitcode" if "bitcode" in message else "link/refused",
        Severity.ERROR,
        message,
        Place(file),
        got=shortened(" ".join(got.split())),
    )
    return InputError([finding])
