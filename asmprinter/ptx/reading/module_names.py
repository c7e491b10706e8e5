"""Which names of a module of PTX may be declared again, and what kernels may take.

Layer: asmprinter.  Input: the variables and functions of a module in order.  Output: a
`BadStatementError` for a name that has another meaning already, for a body that it may not have, or
for a word that a version of PTX has not.  PTX ISA, Linking Directives: .extern; .alias; Kernel
Function Parameters; Release Notes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from asmprinter.ptx.reading.function_headers import HeaderRead
from asmprinter.ptx.reading.report import BadStatementError
from asmprinter.ptx.source import STRING
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import FEWER_PARAMETER_BYTES, MOST_PARAMETER_BYTES
from intrinsics.mir import Export, Linkage, Param, Variable
from intrinsics.modifiers import Space
from intrinsics.targets import Ptx

_SINCE = Ptx(8, 1)

_ALIGNMENTS = frozenset(1 << n for n in range(31))
"""Others are told of by the verifier."""


@dataclass(slots=True)
class _Function:
    """What is known of a function: how it was first declared, whether it has a body, whether
    another module has it, and whether it is another one's name.
    """

    read: HeaderRead
    is_defined: bool
    is_external: bool
    is_alias: bool = False


class ModuleNames:
    """The variables and functions that have been declared so far."""

    def __init__(self) -> None:
        self._variables: dict[str, Variable] = {}
        self._functions: dict[str, _Function] = {}

    def variable(self, variable: Variable, names: Container[str]) -> None:
        """A variable of the module, which has these names: an external one is declared often.

        Raises: BadStatementError.
        """
        name = variable.name
        known = self._variables.get(name)
        if name in self._functions or (known is not None and not _agree(known, variable)):
            raise _twice(name)
        self._variables[name] = variable
        for address in variable.addresses:
            pointed = self._variables.get(address.name)
            is_elsewhere = pointed is not None and pointed.space is Space.SHARED
            if is_elsewhere or (pointed is None and address.name not in names):
                raise BadStatementError(
                    "ptx/initial-address",
                    "an initial value may be the address of what is declared before it: of a"
                    " variable in global or constant memory, or of a function",
                    got=address.name,
                )

    def function(self, read: HeaderRead, *, is_defined: bool) -> None:
        """A function, declared or defined: declarations come first.

        Raises: BadStatementError.
        """
        name = read.signature.name
        known = self._functions.setdefault(name, _Function(read, False, read.is_external))
        if name in self._variables or (known.is_defined and not is_defined):
            raise _twice(name)
        if is_defined and (read.is_external or known.is_external):
            raise BadStatementError(
                "ptx/external-body",
                "a function is .extern, so it has no body in this module",
                got=name,
                expected="a declaration without .extern",
            )
        known.is_defined |= is_defined

    def alias(self, name: str, other: str, names: Container[str]) -> None:
        """Another name of a function.  PTX ISA, .alias.

        Raises: BadStatementError.
        """
        one, function = self._functions.get(name), self._functions.get(other)
        missing = [n for n in (name, other) if n not in names or n in self._variables]
        wrong = f"'{missing[0]}' is no function that stands before" if missing else ""
        if one is not None and function is not None:
            params, results = len(one.read.signature.params), len(one.read.signature.results)
            signature = function.read.signature
            if one.is_defined or one.is_alias or name == other:
                wrong = f"'{name}' is a function already"
            elif one.read.is_kernel or function.read.is_kernel:
                wrong = "a kernel has one name"
            elif function.read.linkage is Linkage.WEAK:
                wrong = f"'{other}' is weak, so it may be another one when the program runs"
            elif (params, results) != (len(signature.params), len(signature.results)):
                wrong = f"'{name}' has other parameters or results than '{other}'"
            one.is_alias = True
        if wrong:
            raise BadStatementError(
                "ptx/alias", wrong, got=f"{name}, {other}",
                expected="a function without a body, and one that has the same parameters",
            )  # fmt: skip


def _agree(known: Variable, again: Variable) -> bool:
    """Whether one of two variables of the same name declares the other."""
    if (known.space, known.size, known.align) != (again.space, again.size, again.align):
        return False
    return again.external or (known.external and again.export is not Export.NONE)


def _twice(name: str) -> BadStatementError:
    return BadStatementError(
        "ptx/duplicate-name", f"'{name}' is something else already", got=name, expected="a new name"
    )


_NEWER = {".b128": Ptx(8, 3), ".blocksareclusters": Ptx(9, 0), ".abi_preserve": Ptx(9, 0)}
_NEWER_WORD = re.compile("|".join(map(re.escape, _NEWER)))


def check_version(text: str, ptx: Ptx | None) -> None:
    """Whether a version of PTX has the words of a declaration, but for its strings.

    Raises: BadStatementError.
    """
    if ptx is None:
        return
    for match in _NEWER_WORD.finditer(re.sub(STRING, "", text)):
        if ptx < _NEWER[match[0]]:
            raise BadStatementError(
                "ptx/directive-version", f"PTX {ptx} has no {match[0]}",
                got=match[0], expected=f"PTX {_NEWER[match[0]]} or later",
            )  # fmt: skip


def check_parameters(params: Sequence[Param], ptx: Ptx | None) -> None:
    """Whether a kernel of a version of PTX may have these parameters.

    Raises: BadStatementError.
    """
    end = 0
    for param in params:
        end += -end % max(param.align, 1) + param.size
        if not param.size:
            raise BadStatementError(
                "ptx/parameters", "a parameter of a kernel has a size", got=param.name
            )
    is_old = ptx is not None and ptx < _SINCE
    most = FEWER_PARAMETER_BYTES if is_old else MOST_PARAMETER_BYTES
    if end > most and all(param.align in _ALIGNMENTS for param in params):
        raise BadStatementError(
            "ptx/parameters",
            f"the parameters of a kernel have {most} bytes at most",
            got=str(end),
            expected=f"PTX {_SINCE}, or less" if is_old else "a pointer to what is large",
        )
