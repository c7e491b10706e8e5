"""Options of compilers that build on nvgen: their passes and rules, contraction, line tables.

Layer: nvgen.  `nvgen.compile` takes each as an option of its own; `docs/extending.md` shows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from intrinsics.findings import Finding, Place, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction, MachineInstr, Module
from isel.verifier.locations import place_of as place_of_location

if TYPE_CHECKING:
    from isel.pipeline import Pass

Rule = Callable[[Module], Iterable[Finding]]
"""What judges the machine records of a whole module."""


@dataclass(frozen=True, slots=True)
class Extension:
    """`passes` change the records that selection made, before nvgen's own passes; `rules` judge the
    final ones.  `contract` lets sums and products become one fma where no flag says so, `lineinfo`
    says in the PTX which line each instruction comes from, and `cuda_atomics` takes sequentially
    consistent read-modify-writes for CUDA's atomic functions.
    """

    passes: tuple[Pass, ...] = ()
    rules: tuple[Rule, ...] = ()
    contract: bool = False
    lineinfo: bool = False
    cuda_atomics: bool = False

    def rewritten(self, text: str) -> str:
        """A module, as LLVM prints it, with what the options allow."""
        if self.contract:
            text = contracted(text)
        return with_cuda_atomics(text) if self.cuda_atomics else text

    def judge(self, module: Module) -> list[Finding]:
        """The findings of the rules.

        Raises: InputError for what is no finding; whatever a rule raises.
        """
        found: list[Finding] = []
        for rule in self.rules:
            given = rule(module) or ()
            for finding in given if isinstance(given, Iterable) else [given]:
                if not isinstance(finding, Finding):
                    raise input_error(
                        "compile/rules",
                        f"the rule {name_of(rule)} gives what is no finding",
                        got=type(finding).__name__,
                        expected="a list of nvgen.Finding",
                    )
                found.append(finding)
        return found


PLAIN = Extension()
"""Nothing added."""


def extension_of(
    passes: Sequence[Pass],
    rules: Sequence[Rule],
    *,
    contract: bool,
    lineinfo: bool,
    cuda_atomics: bool,
) -> Extension:
    """The extension that the options of `nvgen.compile` ask for.

    Raises: InputError for a pass or a rule that cannot be called.
    """
    for name, given in (("passes", passes), ("rules", rules)):
        is_list = isinstance(given, (list, tuple))
        if not is_list or not all(map(callable, given)):
            wrong = next(one for one in given if not callable(one)) if is_list else given
            raise input_error(
                f"compile/{name}",
                "this cannot be called" if is_list else f"{name} is no list",
                got=type(wrong).__name__,
                expected=f"{name}=[function of a module of machine records, …]",
            )
        for function in given:
            check_takes_module(f"compile/{name}", name_of(function), function)
    return Extension(tuple(passes), tuple(rules), contract, lineinfo, cuda_atomics)


def check_takes_module(rule: str, name: str, function: Callable[..., object]) -> None:
    """Whether a pass or a rule can be called with a module.

    Raises: InputError.
    """
    import inspect

    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise input_error(
            rule,
            f"{name} takes other arguments",
            got=str(error),
            expected="a function of one module of machine records",
        ) from None
    except ValueError:  # a function of C that does not tell
        return


def place_of(module: Module, record: MachineInstr, function: MachineFunction) -> Place:
    """A record's source location: the line of LLVM IR, and of Python if known."""
    return place_of_location(module.locations[record.loc], function.name)


def name_of(function: object) -> str:
    """The name of a pass or a rule, for messages."""
    return str(getattr(function, "__name__", type(function).__name__))


_UNFUSED = re.compile(
    r"^(\s+%\S+ = f(?:add|sub|mul)) (?!(?:\w+ )*(?:contract|fast) )", re.MULTILINE
)


def contracted(text: str) -> str:
    """A module, as LLVM prints it, whose sums and products may all be contracted.

    LLVM Language Reference, Fast-Math Flags; `-ffp-contract=fast`, libNVVM's `-fma=1`.
    """
    return _UNFUSED.sub(r"\1 contract ", text)


_ORDERED = re.compile(
    r"""^(?P<head>\s+(?:%\S+[ ]=[ ])?atomicrmw[ ][^\n]*?[^\s"])
    (?P<scope>[ ]syncscope\("[^"\n]*"\))?[ ]seq_cst(?=,|$)""",
    re.MULTILINE | re.VERBOSE,
)


def with_cuda_atomics(text: str) -> str:
    """A module, as LLVM prints it, whose sequentially consistent atomicrmw are CUDA's atomic
    functions: relaxed, and of the device where no scope is said.

    CUDA C++ Programming Guide, Atomic Functions.  LLVM's own back end for PTX writes them so.
    """

    def relaxed(found: re.Match[str]) -> str:
        scope = found["scope"] or ' syncscope("device")'
        return f"{found['head']}{scope} monotonic"

    return _ORDERED.sub(relaxed, text)
