"""Variables of a module: their state space, alignment, linkage and initial value.

Layer: isel.select.  Input: globals of LLVM IR.  Output: machine variables, in the order that PTX
wants.  PTX ISA, State Spaces; Variables; Linking Directives.
"""

from __future__ import annotations

import functools

from intrinsics.findings import Finding, Severity
from intrinsics.limits import CONSTANT_BYTES
from intrinsics.mir import DirectivePosition, Export, KeptDirective, Variable
from intrinsics.modifiers import Space
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm.data_layout import TENSOR_SPACE
from isel.llvm.type_layout import SPACES, TypeLayout
from isel.llvm.types import ArrayType
from isel.llvm.vocabulary import Linkage
from isel.select.context import ModuleContext
from isel.select.intrinsics.textures import REFERENCES
from isel.select.names import annotated
from isel.select.symbols.initializers import Initializers, unkept_zeros
from isel.select.symbols.weak_references import is_weak, refusal, uses_of_weak

MANAGED = ".attribute(.managed)"
"""What is said of a variable that the host sees, too.  PTX ISA, .attribute."""

_CONSTRUCTORS = ("llvm.global_ctors", "llvm.global_dtors")
_LISTS = frozenset({"llvm.used", "llvm.compiler.used", "llvm.global.annotations", *_CONSTRUCTORS})
_METADATA = "llvm.metadata"
"""The section of lists, whatever number LLVM has put behind the name of one."""

_HOMES = (0, 1, 3, 4)
"""Where module-scoped variables live: generic, which is global; global, shared, const."""

_LARGEST = 1 << 40
_MOST_ALIGNED = 1 << 30
"""ptxas takes no more (13.5 ends by a fault at 2^31)."""
_LARGE = 16
"""Bytes of a variable beyond which LLVM raises its alignment, and the alignment."""

_DECLARED = (Linkage.EXTERNAL, Linkage.AVAILABLE_EXTERNALLY)
WEAK = (Linkage.WEAK, Linkage.WEAK_ODR, Linkage.LINKONCE, Linkage.LINKONCE_ODR)
_REPLACEABLE = (*WEAK, Linkage.COMMON)
_EXPORTS = {
    Linkage.EXTERNAL: Export.VISIBLE,
    Linkage.COMMON: Export.COMMON,
    **dict.fromkeys((*WEAK, Linkage.EXTERN_WEAK), Export.WEAK),
}


def is_list(variable: ir.GlobalVariable) -> bool:
    """Whether a variable is one of LLVM's lists for the linker, which take no memory.

    LLVM Language Reference, Intrinsic Global Variables.
    """
    appended = variable.linkage is Linkage.APPENDING and variable.section == _METADATA
    return appended or variable.name in _LISTS


class Variables:
    """Selects the variables of a module."""

    def __init__(self, context: ModuleContext) -> None:
        self.context = context
        module = context.module
        self.initializers = Initializers(
            context.layout, module.globals, module.functions.keys(), context.symbols
        )
        self.references = {
            name: kind for word, kind in REFERENCES.items() for name in annotated(module, word)
        }
        self.weak = uses_of_weak(module)
        self.managed = annotated(module, "managed")

    def select(self) -> None:
        """Add all variables to the machine module."""
        for name, variable in self.context.module.globals.items():
            self.context.guarded(functools.partial(self._variable, variable), name)
        self.context.out.variables = self._in_order(self.context.out.variables)

    def _variable(self, variable: ir.GlobalVariable) -> None:
        _check_kind(variable)
        if is_list(variable) or self._is_unused(variable):
            return
        if variable.name in self.references:
            kind = self.references[variable.name]
            text = f".global .{kind} {self.context.names[variable.name]};"
            self.context.out.kept.append(KeptDirective(text, DirectivePosition.TOP))
            return
        _check_home(variable)
        space = SPACES.get(variable.address_space) or Space.GLOBAL
        size = self.context.layout.size(variable.value_type)
        align = alignment_of(self.context.layout, variable, size)
        _check_size(variable, size, align, CONSTANT_BYTES if space is Space.CONST else _LARGEST)
        if is_weak(variable) and not self.weak[variable.name]:
            raise refusal(variable)
        image = self.initializers.image(variable)
        if unkept_zeros(variable):
            self.context.out.notes.append(self._unkept_zeros(variable))
        external = variable.is_declaration and variable.linkage in _DECLARED
        if is_weak(variable):
            self.context.out.notes.append(self._weak_zeros(variable))
        self.context.out.variables.append(
            Variable(
                self.context.symbols[variable.name],
                space,
                size if external else max(size, 1),
                align,
                None if image is None else bytes(image.data).ljust(1, b"\0"),
                external,
                export=Export.NONE if external else _export(variable),
                addresses=() if image is None else tuple(image.addresses),
                attribute=MANAGED if variable.name in self.managed else "",
            )
        )

    def _unkept_zeros(self, variable: ir.GlobalVariable) -> Finding:
        return Finding(
            "select/shared-zeros",
            Severity.REVIEW,
            f"@{variable.name} does not begin with zeros: shared memory has no initialiser",
            self.context.place_of_global(variable.name),
            got="zeros",
            expected="undef",
            hint="store zeros when the kernel begins, before a barrier, where they are counted on",
        )

    def _is_unused(self, variable: ir.GlobalVariable) -> bool:
        """Whether nothing refers to a variable that may be left out: clang leaves such at -O0."""
        return is_weak(variable) and variable.name not in self.weak

    def _weak_zeros(self, variable: ir.GlobalVariable) -> Finding:
        return Finding(
            "select/extern-weak",
            Severity.NOTE,
            f"@{variable.name} is zeros where no other module defines it",
            self.context.place_of_global(variable.name),
            got="extern_weak",
        )

    def _in_order(self, variables: list[Variable]) -> list[Variable]:
        """The variables in an order in which addresses refer backwards, as PTX wants them."""
        if not any(variable.addresses for variable in variables):
            return variables
        known = {variable.name: variable for variable in variables}
        placed: dict[str, bool] = {}
        found: list[Variable] = []

        def place(variable: Variable) -> None:
            if placed.get(variable.name):
                return
            if variable.name in placed:
                raise Unselectable(
                    "initializer",
                    f"the initialisers of {variable.name} and others hold each other's addresses",
                    got="a circle",
                    expected="variables that can be ordered: PTX knows no name before its line",
                    hint="store one of the addresses when the program begins",
                )
            placed[variable.name] = False
            for address in variable.addresses:
                if address.name in known and address.name != variable.name:
                    place(known[address.name])
            placed[variable.name] = True
            found.append(variable)

        given = {self.context.names[name]: name for name in self.context.module.globals}
        for variable in variables:
            if variable.name not in placed:  # what stands in a circle is told once
                self.context.guarded(functools.partial(place, variable), given[variable.name])
        return found


def _export(variable: ir.GlobalVariable) -> Export:
    """The linkage of a variable.  PTX ISA, .common: in global memory alone; elsewhere weak."""
    found = _EXPORTS.get(variable.linkage, Export.NONE)
    is_elsewhere = variable.address_space not in (0, 1)
    return Export.WEAK if found is Export.COMMON and is_elsewhere else found


def _check_home(variable: ir.GlobalVariable) -> None:
    """ptxas: "Module-scoped variables in .local state space are not allowed with ABI"."""
    if variable.address_space not in _HOMES:
        raise Unselectable(
            "address-space",
            f"@{variable.name} cannot live in address space {variable.address_space}",
            got=f"addrspace({variable.address_space})",
            expected="1 global, 3 shared, 4 const",
            hint="tensor memory is allocated by llvm.nvvm.tcgen05.alloc"
            if variable.address_space == TENSOR_SPACE
            else "",
        )


def _check_kind(variable: ir.GlobalVariable) -> None:
    """Refuse a variable that would have to be one for each thread, or to run code at the start.

    Raises: Unselectable.
    """
    if variable.thread_local:
        raise Unselectable(
            "thread-local",
            f"@{variable.name} is thread_local, which no variable of PTX is",
            got="thread_local",
            expected="a variable that all threads share",
            hint="what each thread has of its own is an alloca",
        )
    listed = variable.value_type
    if variable.name in _CONSTRUCTORS and isinstance(listed, ArrayType) and listed.count:
        raise Unselectable(
            "constructors",
            f"@{variable.name} is not selectable: nothing runs before or after the kernels",
            got=f"{listed.count} functions",
            expected="an empty list",
            hint="call the functions from a kernel that is launched first or last",
        )


def _check_size(variable: ir.GlobalVariable, size: int, align: int, most: int) -> None:
    """Whether a memory of `most` bytes holds a variable.

    Raises: Unselectable.
    """
    if size > most:
        raise Unselectable(
            "variable-size",
            f"@{variable.name} is larger than its memory",
            got=f"{size} bytes",
            expected=f"at most {most} bytes",
        )
    if align > _MOST_ALIGNED:
        raise Unselectable(
            "variable-alignment",
            f"@{variable.name} is aligned to more than PTX can say",
            got=f"align {align}",
            expected=f"at most {_MOST_ALIGNED}",
        )


def alignment_of(layout: TypeLayout, variable: ir.GlobalVariable, size: int) -> int:
    """The alignment that LLVM's passes count on, also where LLVM's own printer writes less.

    LLVM, Value::getPointerAlignment: what this module defines for good, and gives no alignment, is
    aligned to 16 where it has more than 16 bytes; accesses to it become wider.
    """
    if variable.alignment is not None:
        return variable.alignment
    preferred = layout.preferred_align(variable.value_type)
    replaceable = variable.is_declaration or variable.linkage in _REPLACEABLE
    return preferred if replaceable or size <= _LARGE else max(preferred, _LARGE)
