"""The input of a command: files, standard input, or a Python file that builds a kernel.

Layer: nvgen.commands.  Input: names from the command line.  Output: one program's text.  Bitcode
becomes text, and several modules of LLVM IR become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from intrinsics.findings import Place, input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.files import decode, is_bitcode, printable, read_data
from nvgen.loading import LANGUAGES, language_of

if TYPE_CHECKING:
    from nvgen.built import Kernel


@dataclass(frozen=True, slots=True)
class Input:
    """A program: the file of its text, as findings call it, that text, and for a Python file the
    kernel that it has built, its own name, and the target of its TARGET or TARGETS, if that counts.
    """

    file: str
    text: str
    kernel: Kernel | None = None
    python: str = ""
    said_target: str = ""

    @property
    def name(self) -> str:
        """The name that the user gave."""
        return self.python or self.file

    def target(self, asked: str | None) -> str | None:
        """The target that is asked for, else the one that the kernel was built for."""
        return asked or (self.kernel.target if self.kernel else None)


def read_input(files: Sequence[str]) -> Input:
    """The contents of the named files.

    Raises: InputError for what cannot be read, or linked.
    """
    if len(files) == 1:
        return _one(files[0])
    from nvgen.llvm.linking import Part, linked
    from nvgen.llvm.reading import parse

    inputs = [_one(file) for file in files]
    for one in inputs:
        language = language_of(one.file, one.text)
        if language != "llvm":
            raise input_error(
                "link/language",
                "only modules of LLVM IR are linked",
                place=Place(printable(one.file)),
                got=language,
                expected="LLVM IR as text or bitcode",
                hint="give each other file by itself",
            )
    text = linked([Part(one.file, parse(one.text, file=printable(one.file))) for one in inputs])
    return Input(" + ".join(printable(one.file) for one in inputs), text)


def _one(file: str) -> Input:
    if Path(file).suffix == ".py":
        from nvgen.commands.given.python_file import built_kernel

        kernel, said = built_kernel(file)
        return Input(f"{kernel.name}.ll", kernel.llvm, kernel, file, said)
    data = read_data(file)
    if is_bitcode(data) and LANGUAGES.get(Path(file).suffix, "llvm") == "llvm":
        from nvgen.llvm.linking import disassembled

        return Input(file, disassembled(data, printable(file)))
    return Input(file, decode(data, file))
