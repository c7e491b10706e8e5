"""Which names of a module of PTX may be declared again, and what kernels may take.

Layer: asmprinter.  Input: the variables and functions of a module in order.  Output: a
`BadStatementError` for a name that has another meaning already, or a body that it may not have.
PTX ISA, Linking Directives: .extern; Kernel Function Parameters.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from asmprinter.ptx.reading.function_headers import HeaderRead
from asmprinter.ptx.reading.report import BadStatementError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import FEWER_PARAMETER_BYTES, MOST_PARAMETER_BYTES
from intrinsics.mir import Export, Param, Variable
from intrinsics.modifiers import Space
from intrinsics.targets import Ptx

_SINCE = Ptx(8, 1)

_ALIGNMENTS = frozenset(1 << n for n in range(31))
"""Others are told of by the verifier."""


@dataclass(slots=True)
class _Function:
    """What is known of a function: whether it has a body, and whether another module has it."""

    is_defined: bool
    is_external: bool


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
        known = self._functions.setdefault(name, _Function(False, read.is_external))
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


def _agree(known: Variable, again: Variable) -> bool:
    """Whether one of two variables of the same name declares the other."""
    if (known.space, known.size, known.align) != (again.space, again.size, again.align):
        return False
    return again.external or (known.external and again.export is not Export.NONE)


def _twice(name: str) -> BadStatementError:
    return BadStatementError(
        "ptx/duplicate-name", f"'{name}' is something else already", got=name, expected="a new name"
    )


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
