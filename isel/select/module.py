"""A module of LLVM IR to a module of machine records, in SSA form.

Layer: isel.select.  Input: `isel.llvm.ir.Module`, a target, a PTX version (or None), and where the
instructions stand in the user's file.  Output: `intrinsics.mir.Module` before SSA is left.  Blocks
are selected with dominators first, so that a value's registers are known before its uses.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from intrinsics.findings import Finding, Place, SelectionError, Severity, once
from intrinsics.mir import (
    Block,
    DirectivePosition,
    KeptDirective,
    MachineFunction,
    MachineInstr,
    Module,
    Prototype,
    Sym,
    Variable,
)
from intrinsics.mir import Linkage as FunctionLinkage
from intrinsics.modifiers import Space
from intrinsics.rows.atomic import BFLOAT_ATOMICS
from intrinsics.targets import Ptx, Target
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import SPACES
from isel.llvm.vocabulary import Linkage
from isel.lower.addresses.address_spaces import (
    GLOBAL,
    QUESTIONS,
    inferred,
    with_known_spaces,
    with_spaces,
)
from isel.lower.function import lower
from isel.lower.module import prepared
from isel.select.assembly.module_asm import (
    NOTHING,
    ModuleAssembly,
    add_assembly,
    read_module_assembly,
)
from isel.select.body import Body
from isel.select.context import ModuleContext
from isel.select.floats.casts import flushes_subnormals
from isel.select.floats.steps import ordered_halves
from isel.select.instructions import select_instruction
from isel.select.locations import NO_SOURCE, Locations, Source
from isel.select.shared_assembly import Assembly
from isel.select.state import FunctionState, form
from isel.select.symbols.functions import (
    device_interface,
    is_elsewhere,
    kernel_interface,
    linkage_of,
    needed,
    prototype_of,
)
from isel.select.symbols.launch import launch_of
from isel.select.symbols.machine import check_machine
from isel.select.symbols.variables import WEAK, Variables, alignment_of, is_list
from isel.select.symbols.weak_references import is_weak, refusal

KERNEL = "ptx_kernel"
RUNTIME = ("vprintf", "malloc", "free", "__assertfail", "cudaDeviceSynchronize")
"""Functions that CUDA's driver brings."""

_LINK_LIBDEVICE = (
    "it is libdevice's: link CUDA's libdevice.10.bc to the module as LLVM IR, and internalize it"
)
_ENDS = ("__cxa_pure_virtual", "__cxa_deleted_virtual")
"""What stands in tables of virtual functions where there is none.  Itanium C++ ABI, 2.5.3."""

_ONLY_HERE = (Linkage.PRIVATE, Linkage.INTERNAL, Linkage.LINKONCE_ODR)
"""Linkages of aliases that no other module needs: each has its own."""


def select_module(
    module: ir.Module, target: Target, ptx: Ptx | None = None, source: Source = NO_SOURCE
) -> Module:
    """Select every kernel of `module`.

    Raises: SelectionError with everything that could not be selected.
    """
    check_machine(module, source.file, source.text)
    return _Selector(module, target, ptx, source).select()


class _Selector:
    def __init__(self, module: ir.Module, target: Target, ptx: Ptx | None, source: Source) -> None:
        locations = Locations(module, source)
        self.context = ModuleContext(prepared(module, target), target, ptx, source, locations)
        self.module_asm = self._module_asm()
        self.assembly = Assembly(self._spaces(), {})

    def select(self) -> Module:
        context = self.context
        context.out.locate_by(context.locations.all)
        Variables(context).select()
        for function in needed(context.module, context.kernels):
            self._function(function)
        self._externals()
        for alias in context.module.aliases.values():
            context.guarded(functools.partial(self._alias, alias), alias.name)
        context.guarded(self._assemble)
        out, diagnostics = context.out, context.diagnostics
        if diagnostics.findings:
            raise SelectionError(once(diagnostics.findings))
        if not out.kept and not out.functions and not out.variables:
            out.notes.append(
                Finding(
                    "select/no-kernel",
                    Severity.WARNING,
                    "the module defines no kernel, no function and no variable",
                    Place(context.source.file),
                    expected="define ptx_kernel void @…",
                )
            )
        return out

    # ---- module-level assembly ---------------------------------------------------------------

    def _module_asm(self) -> ModuleAssembly:
        lines = self.context.module.module_asm
        if not lines:
            return NOTHING
        places = [self.context.place_of_line(r"module[ \t]+asm\b", n) for n in range(len(lines))]
        known: list[Prototype | Variable] = [*self._known_functions("\n".join(lines))]
        known += self._known_variables()
        return read_module_assembly(lines, self.context.target, self.context.ptx, places, known)

    def _known_functions(self, text: str) -> Iterator[Prototype]:
        """The functions that are defined here and that a text may name."""
        for function in self.context.module.definitions():
            name = self.context.names[function.name]
            if name in text:
                state = self._interface(name)
                with contextlib.suppress(Unselectable):  # it is told where it stands
                    yield prototype_of(function, name, state)

    def _known_variables(self) -> Iterator[Variable]:
        """The variables that are defined here, as another module would declare them."""
        for name, variable in self.context.module.globals.items():
            space = SPACES.get(variable.address_space) or Space.GLOBAL
            if not variable.is_declaration and not is_list(variable):
                with contextlib.suppress(Unselectable):
                    size = self.context.layout.size(variable.value_type)
                    align = alignment_of(self.context.layout, variable, size)
                    yield Variable(self.context.names[name], space, size, align, external=True)

    def _spaces(self) -> dict[str, Space | None]:
        """What inline assembly may name, and the state spaces that are known of it."""
        brought = self.module_asm.module
        spaces: dict[str, Space | None] = dict.fromkeys(self.context.names.values())
        spaces |= dict.fromkeys(self.module_asm.defined if brought else ())
        return spaces | {v.name: v.space for v in (brought.variables if brought else ())}

    def _assemble(self) -> None:
        add_assembly(self.context.out, self.module_asm, self.context.module.module_asm)

    def _interface(self, name: str) -> FunctionState:
        """The state of a function of which nothing but its interface is selected."""
        return FunctionState(MachineFunction(name), self.context.layout, self.context.symbols)

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, function: ir.Function) -> None:
        context = self.context
        out = MachineFunction(context.names[function.name], linkage=linkage_of(function))
        state = FunctionState(
            out,
            context.layout,
            context.symbols,
            context.target,
            context.ptx,
            self.assembly,
            select_instruction,
            context.taken,
        )
        state.flushes = flushes_subnormals(function)
        function = lower(
            function,
            context.layout,
            context.pure,
            bfloats=state.can(BFLOAT_ATOMICS),
            ordered=ordered_halves(state),
            rolled=context.loops_kept,
        )
        is_kernel = function.name in context.kernels
        spaces = inferred(function, context.layout, is_kernel=is_kernel)
        if context.module.functions.keys() & QUESTIONS.keys():
            function = with_known_spaces(function, context.layout, spaces, is_kernel=is_kernel)
            spaces = inferred(function, context.layout, is_kernel=is_kernel)
        function = with_spaces(function, context.layout, spaces)
        state.in_global = {name for name, space in spaces.items() if space == GLOBAL}
        state.start(Block("entry"))
        try:
            if is_kernel:
                out.launch = launch_of(function, context.target)
                kernel_interface(function, state)
            else:
                device_interface(function, state)
        except Unselectable as reason:
            context.diagnostics.report(reason, context.place_of_global(function.name))
            return
        Body(context, function, state).select()
        context.out.functions.append(out)

    def _externals(self) -> None:
        """Declare what another module defines and this one names."""
        elsewhere = {
            self.context.names[f.name]: f
            for f in self.context.module.functions.values()
            if f.name in self.context.names
            and is_elsewhere(f)
            and self.context.names[f.name] not in self.module_asm.defined
        }
        if not elsewhere:
            return
        for name in dict.fromkeys(_named(self.context.out)):
            if name in elsewhere:
                function = elsewhere[name]
                action = functools.partial(self._external, function, name)
                self.context.guarded(action, function.name)

    def _external(self, function: ir.Function, name: str) -> None:
        if is_weak(function):
            raise refusal(function)
        if name in _ENDS:
            self.context.out.functions.append(_end(name))
            return
        state = self._interface(name)
        self.context.out.externals.append(prototype_of(function, name, state))
        if name not in RUNTIME:
            self.context.out.notes.append(
                Finding(
                    "select/extern-function",
                    Severity.NOTE,
                    f"@{function.name} is declared, not defined: another module must bring it",
                    self.context.place_of_global(function.name),
                    hint=_LINK_LIBDEVICE
                    if function.name.startswith("__nv_")
                    else self.context.diagnostics.nearest(
                        function.name, lambda: [f.name for f in self.context.module.definitions()]
                    )
                    or "link the modules as LLVM IR, or the cubin by nvJitLink or nvlink",
                )
            )

    def _alias(self, alias: ir.Alias) -> None:
        """Give a function another name; an alias that only this module sees is dropped."""
        if alias.linkage in _ONLY_HERE or alias.is_ifunc:
            return
        target = alias.target.name if isinstance(alias.target, llvm.GlobalRef) else ""
        function = self.context.module.functions.get(target)
        _check_alias(alias, function, is_kernel=target in self.context.kernels)
        if function is None:
            self.context.out.notes.append(
                Finding(
                    "select/alias",
                    Severity.NOTE,
                    f"@{alias.name} is known in this module only: PTX has no second name of a "
                    "variable",
                    self.context.place_of_global(alias.name),
                )
            )
            return
        name = self.context.names[alias.name]
        state = self._interface(name)
        self.context.out.externals.append(prototype_of(function, name, state))
        text = f".alias {name}, {self.context.names[target]};"
        self.context.out.kept.append(KeptDirective(text, DirectivePosition.BOTTOM))


def _end(name: str) -> MachineFunction:
    """A function that ends the program, if no other module has a better one.

    ptxas takes no address of a function that is nowhere.
    """
    records = [MachineInstr(form(row), (), None) for row in ("trap", "exit")]
    block = Block("entry", records)
    return MachineFunction(name, is_kernel=False, linkage=FunctionLinkage.WEAK, blocks=[block])


def _check_alias(alias: ir.Alias, function: ir.Function | None, *, is_kernel: bool) -> None:
    """Refuse another name that other modules would see and PTX cannot give.

    PTX ISA, .alias: of a function that this module defines; neither of them is a kernel or weak.

    Raises: Unselectable.
    """
    wrong = {
        "a weak alias": alias.linkage is not Linkage.EXTERNAL,
        "a second name of a kernel": is_kernel,
        "a second name of a weak function": function is not None and function.linkage in WEAK,
        "a second name of what another module defines": function is not None
        and function.is_declaration,
    }
    for got, is_wrong in wrong.items():
        if is_wrong:
            raise Unselectable(
                "alias",
                f"@{alias.name} is an alias that PTX has not",
                got=got,
                expected="another name of a function that this module defines",
                hint="an internal alias is replaced by what it stands for",
                section="PTX ISA, Kernel and Function Directives: .alias",
            )


def _named(module: Module) -> Iterator[str]:
    """The names of functions and variables that records and initial values speak of."""
    for variable in module.variables:
        yield from (address.name for address in variable.addresses)
    for function in module.functions:
        for mi in function.instructions():
            yield from (op.name for op in mi.ops if type(op) is Sym)
