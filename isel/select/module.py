"""A module of LLVM IR to a module of machine records, in SSA form.

Layer: isel.select.  Input: `isel.llvm.ir.Module`, a target, a PTX version (or None), and where the
instructions stand in the user's file.  Output: `intrinsics.mir.Module` before SSA is left.  Blocks
are selected with dominators first, so that a value's registers are known before its uses.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from intrinsics.findings import Finding, Place, SelectionError, Severity, once
from intrinsics.mir import (
    Block,
    Export,
    Kept,
    MachineFunction,
    MachineInstr,
    Module,
    Prototype,
    Sym,
    Variable,
    Where,
)
from intrinsics.modifiers import Space
from intrinsics.rows.atomic import BFLOAT_ATOMICS
from intrinsics.targets import Ptx, Target
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.data_layout import TENSOR_SPACE
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.types import ArrayType
from isel.llvm.vocabulary import Linkage
from isel.lower.address_spaces import GLOBAL, inferred, with_spaces
from isel.lower.function import lower
from isel.lower.module import prepared
from isel.places import places_of_globals
from isel.select.assembly import Assembly
from isel.select.calls import call_function
from isel.select.diagnostics import Diagnostics, Unselectable
from isel.select.float_casts import flushes_subnormals
from isel.select.functions import (
    device_interface,
    is_elsewhere,
    kernel_interface,
    linkage_of,
    needed,
    prototype_of,
)
from isel.select.initializers import Initializers, unkept_zeros
from isel.select.inline_asm import inline_assembly
from isel.select.instructions import fill_phi, select_instruction
from isel.select.intrinsics import select_call
from isel.select.launch import launch_of
from isel.select.locations import NO_SOURCE, Locations, Source
from isel.select.machine import check_machine
from isel.select.module_asm import (
    NOTHING,
    ModuleAssembly,
    add_assembly,
    read_module_assembly,
)
from isel.select.specials import REFLECT, reflect
from isel.select.state import FunctionState
from isel.select.textures import REFERENCES
from isel.select.types import SPACES, Layout, layout_of
from isel.select.walkthrough import Spellings, select_walkthrough
from isel.select.weak_references import is_weak, refusal, uses_of_weak
from isel.select.written import as_assembly

KERNEL = "ptx_kernel"
RUNTIME = ("vprintf", "malloc", "free", "__assertfail", "cudaDeviceSynchronize")
"""Functions that CUDA's driver brings."""

_LINK_LIBDEVICE = (
    "it is libdevice's: link CUDA's libdevice.10.bc to the module as LLVM IR, and internalize it"
)
MANAGED = ".attribute(.managed)"
"""What is said of a variable that the host sees, too.  PTX ISA, .attribute."""

_CONSTRUCTORS = ("llvm.global_ctors", "llvm.global_dtors")
_HOMES = (0, 1, 3, 4)
"""Where module-scoped variables live: generic, which is global; global, shared, const."""

_LARGEST = 1 << 40
_LARGE = 16
"""Bytes of a variable beyond which LLVM raises its alignment, and the alignment."""

_DECLARED = (Linkage.EXTERNAL, Linkage.AVAILABLE_EXTERNALLY)
_ONLY_HERE = (Linkage.PRIVATE, Linkage.INTERNAL, Linkage.LINKONCE_ODR)
"""Linkages of aliases that no other module needs: each has its own."""
_WEAK = (Linkage.WEAK, Linkage.WEAK_ODR, Linkage.LINKONCE, Linkage.LINKONCE_ODR)
_EXPORTS = {
    Linkage.EXTERNAL: Export.VISIBLE,
    Linkage.COMMON: Export.COMMON,
    **dict.fromkeys((*_WEAK, Linkage.EXTERN_WEAK), Export.WEAK),
}


def select_module(
    module: ir.Module, target: Target, ptx: Ptx | None = None, source: Source = NO_SOURCE
) -> Module:
    """Select every kernel of `module`.

    Raises: SelectionError with everything that could not be selected.
    """
    check_machine(module, source.file, source.text)
    return _Selector(module, target, ptx, source).select()


def ptx_name(name: str) -> str:
    """A global's name in PTX, which allows letters, digits, `_` and `$` only.

    No name begins with a digit, and neither `_` nor `$` is one alone.  PTX ISA, Identifiers.
    """
    if name.isascii() and name.isidentifier() and name != "_":
        return name
    name = re.sub(r"[.@]", "_$_", name)
    name = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return name if re.match(r"[A-Za-z]|[_$].", name) else "_" + name


def _ptx_names(module: ir.Module) -> dict[str, str]:
    """The PTX names of functions and variables; those that PTX allows as they are stay so."""
    functions = [name for name in module.functions if not name.startswith("llvm.")]
    names = functions + list(module.globals) + list(module.aliases)
    bases = {name: ptx_name(name) for name in names}
    if all(name == base for name, base in bases.items()):
        return bases
    names.sort(key=lambda name: bases[name] != name)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = bases[name]
        spellings = (f"{base}_{n}" if n else base for n in itertools.count())
        found[name] = next(s for s in spellings if s not in taken)
        taken.add(found[name])
    return found


class _Selector:
    def __init__(self, module: ir.Module, target: Target, ptx: Ptx | None, source: Source) -> None:
        self.locations = Locations(module, source)
        module = self.module = prepared(module, target)
        self.target = target
        self.ptx = ptx
        self.source = source
        self.layout = layout_of(module.data_layout)
        self.diagnostics = Diagnostics()
        self.out = Module(target, ptx, source.file)
        self.names = _ptx_names(module)
        self.symbols = {name: n for name, n in self.names.items() if name not in module.aliases}
        self.initializers = Initializers(
            self.layout, module.globals, module.functions.keys(), self.symbols
        )
        self.module_asm = self._module_asm()
        self.assembly = Assembly(self._spaces(), {})
        self.kernels = {function.name for function in kernels(module)}
        self.references = {
            name: kind for word, kind in REFERENCES.items() for name in _annotated(module, word)
        }
        self.weak = uses_of_weak(module)
        self.managed = _annotated(module, "managed")

    def select(self) -> Module:
        self.out.locate_by(self.locations.all)
        for name, variable in self.module.globals.items():
            self._guarded(functools.partial(self._variable, variable), name)
        self.out.variables = self._in_order(self.out.variables)
        for function in needed(self.module, self.kernels):
            self._function(function)
        self._externals()
        for alias in self.module.aliases.values():
            self._guarded(functools.partial(self._alias, alias), alias.name)
        self._guarded(self._assemble)
        empty = not self.out.kept and not self.out.functions and not self.out.variables
        if empty and not self.diagnostics.findings:
            self.diagnostics.report(
                Unselectable(
                    "no-kernel",
                    "the module defines no kernel, no function and no variable",
                    expected="define ptx_kernel void @…",
                ),
                Place(self.source.file),
            )
        if self.diagnostics.findings:
            raise SelectionError(once(self.diagnostics.findings))
        return self.out

    def _guarded(self, action: Callable[[], None], name: str = "") -> None:
        """Do something about the global `name`, or about the whole module."""
        try:
            action()
        except Unselectable as reason:
            self.diagnostics.report(reason, self._place_of_global(name))

    # ---- module-level assembly ---------------------------------------------------------------

    def _module_asm(self) -> ModuleAssembly:
        lines = self.module.module_asm
        if not lines:
            return NOTHING
        places = [self._place_of_line(r"module[ \t]+asm\b", n) for n in range(len(lines))]
        known: list[Prototype | Variable] = [*self._known_functions("\n".join(lines))]
        known += self._known_variables()
        return read_module_assembly(lines, self.target, self.ptx, places, known)

    def _known_functions(self, text: str) -> Iterator[Prototype]:
        """The functions that are defined here and that a text may name."""
        for function in self.module.definitions():
            name = self.names[function.name]
            if name in text:
                state = FunctionState(MachineFunction(name), self.layout, self.symbols)
                with contextlib.suppress(Unselectable):  # it is told where it stands
                    yield prototype_of(function, name, state)

    def _known_variables(self) -> Iterator[Variable]:
        """The variables that are defined here, as another module would declare them."""
        for name, variable in self.module.globals.items():
            space = SPACES.get(variable.address_space) or Space.GLOBAL
            if not variable.is_declaration and not name.startswith("llvm."):
                with contextlib.suppress(Unselectable):
                    size = self.layout.size(variable.value_type)
                    align = _alignment(self.layout, variable, size)
                    yield Variable(self.names[name], space, size, align, external=True)

    def _spaces(self) -> dict[str, Space | None]:
        """What inline assembly may name, and the state spaces that are known of it."""
        brought = self.module_asm.module
        spaces: dict[str, Space | None] = dict.fromkeys(self.names.values())
        spaces |= dict.fromkeys(self.module_asm.defined if brought else ())
        return spaces | {v.name: v.space for v in (brought.variables if brought else ())}

    def _assemble(self) -> None:
        add_assembly(self.out, self.module_asm, self.module.module_asm)

    # ---- variables ---------------------------------------------------------------------------

    def _variable(self, variable: ir.GlobalVariable) -> None:
        _check_kind(variable)
        if variable.name.startswith("llvm.") or self._is_unused(variable):
            return  # llvm.used and its like are the optimiser's
        if variable.name in self.references:
            kind = self.references[variable.name]
            self.out.kept.append(Kept(f".global .{kind} {self.names[variable.name]};", Where.TOP))
            return
        space = SPACES.get(variable.address_space) or Space.GLOBAL
        # ptxas: "Module-scoped variables in .local state space are not allowed with ABI".
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
        size = self.layout.size(variable.value_type)
        align = _alignment(self.layout, variable, size)
        if size > _LARGEST:
            raise Unselectable(
                "variable-size",
                f"@{variable.name} is larger than any memory",
                got=f"{size} bytes",
                expected=f"at most {_LARGEST} bytes",
            )
        if is_weak(variable) and not self.weak[variable.name]:
            raise refusal(variable)
        image = self.initializers.image(variable)
        if unkept_zeros(variable):
            self.out.notes.append(self._unkept_zeros(variable))
        external = variable.is_declaration and variable.linkage in _DECLARED
        if is_weak(variable):
            self.out.notes.append(self._weak_zeros(variable))
        self.out.variables.append(
            Variable(
                self.symbols[variable.name],
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
            self._place_of_global(variable.name),
            got="zeros",
            expected="undef",
            hint="store zeros when the kernel begins, before a barrier, where they are counted on",
        )

    def _is_unused(self, variable: ir.GlobalVariable) -> bool:
        """Whether a variable that may be nowhere is not spoken of: clang leaves such at -O0."""
        return is_weak(variable) and variable.name not in self.weak

    def _weak_zeros(self, variable: ir.GlobalVariable) -> Finding:
        return Finding(
            "select/extern-weak",
            Severity.NOTE,
            f"@{variable.name} is zeros where no other module defines it",
            self._place_of_global(variable.name),
            got="extern_weak",
        )

    def _in_order(self, variables: list[Variable]) -> list[Variable]:
        """Variables behind those whose addresses they hold: PTX knows no name before that."""
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

        given = {self.names[name]: name for name in self.module.globals}
        for variable in variables:
            if variable.name not in placed:  # what stands in a circle is told once
                self._guarded(functools.partial(place, variable), given[variable.name])
        return found

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, function: ir.Function) -> None:
        out = MachineFunction(self.names[function.name], linkage=linkage_of(function))
        state = FunctionState(
            out, self.layout, self.symbols, self.target, self.ptx, self.assembly, select_instruction
        )
        function = lower(function, self.layout, bfloats=state.can(BFLOAT_ATOMICS))
        is_kernel = function.name in self.kernels
        spaces = inferred(function, self.layout, is_kernel=is_kernel)
        function = with_spaces(function, self.layout, spaces)
        state.in_global = {name for name, space in spaces.items() if space == GLOBAL}
        state.flushes = flushes_subnormals(function)
        state.start(Block("entry"))
        try:
            if is_kernel:
                out.launch = launch_of(function, self.target)
                kernel_interface(function, state)
            else:
                device_interface(function, state)
        except Unselectable as reason:
            self.diagnostics.report(reason, self._place_of_global(function.name))
            return
        _Body(self, function, state).select()
        self.out.functions.append(out)

    def _externals(self) -> None:
        """Declare what another module defines and this one names."""
        elsewhere = {
            self.names[f.name]: f
            for f in self.module.functions.values()
            if f.name in self.names
            and is_elsewhere(f)
            and self.names[f.name] not in self.module_asm.defined
        }
        if not elsewhere:
            return
        for name in dict.fromkeys(_named(self.out)):
            if name in elsewhere:
                function = elsewhere[name]
                self._guarded(functools.partial(self._external, function, name), function.name)

    def _external(self, function: ir.Function, name: str) -> None:
        if is_weak(function):
            raise refusal(function)
        state = FunctionState(MachineFunction(name), self.layout, self.symbols)
        self.out.externals.append(prototype_of(function, name, state))
        if name not in RUNTIME:
            self.out.notes.append(
                Finding(
                    "select/extern-function",
                    Severity.NOTE,
                    f"@{function.name} is declared, not defined: another module must bring it",
                    self._place_of_global(function.name),
                    hint=_LINK_LIBDEVICE
                    if function.name.startswith("__nv_")
                    else self.diagnostics.nearest(
                        function.name, lambda: [f.name for f in self.module.definitions()]
                    )
                    or "link the modules as LLVM IR, or the cubin by nvJitLink or nvlink",
                )
            )

    def _alias(self, alias: ir.Alias) -> None:
        """Give a function of this module another name; one that only this module sees is gone."""
        if alias.linkage in _ONLY_HERE or alias.is_ifunc:
            return
        target = alias.target.name if isinstance(alias.target, llvm.GlobalRef) else ""
        function = self.module.functions.get(target)
        _check_alias(alias, function, is_kernel=target in self.kernels)
        if function is None:
            self.out.notes.append(
                Finding(
                    "select/alias",
                    Severity.NOTE,
                    f"@{alias.name} is known in this module only: PTX has no second name of a "
                    "variable",
                    self._place_of_global(alias.name),
                )
            )
            return
        name = self.names[alias.name]
        state = FunctionState(MachineFunction(name), self.layout, self.symbols)
        self.out.externals.append(prototype_of(function, name, state))
        self.out.kept.append(Kept(f".alias {name}, {self.names[target]};", Where.BOTTOM))

    # ---- places ------------------------------------------------------------------------------

    def _place_of_global(self, name: str) -> Place:
        """Where a global is defined; in text that does not show it, its first instruction."""
        function = self.module.functions.get(name)
        found = self.places.get(name)
        if found is None and function is not None:
            first = next((self.locations.of(name, i) for i in function.instructions()), None)
            found = (first.line, first.column) if first is not None else None
        line, column = found or (0, 0)
        return Place(self.source.file, line, column, name if function else "")

    @functools.cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Where the user's text defines functions and variables."""
        return places_of_globals(self.source.text)

    def _place_of_line(self, beginning: str, number: int) -> Place:
        """The line, of those that begin so (a regular expression), with a number from 0, or the
        last one; in text that has none, no line.
        """
        lines = [*re.finditer(rf"^[ \t]*+(?={beginning})", self.source.text, re.MULTILINE)]
        if not lines:
            return Place(self.source.file)
        found = lines[min(number, len(lines) - 1)]
        line = self.source.text.count("\n", 0, found.start()) + 1
        return Place(self.source.file, line, len(found[0]) + 1)

    def _place_of(self, function: ir.Function, i: ir.Instruction) -> Place:
        location = self.locations.of(function.name, i)
        return Place(
            location.file,
            location.line,
            location.column,
            function.name,
            location.python_file,
            location.python_line,
            location.callers,
        )


def _export(variable: ir.GlobalVariable) -> Export:
    """Who else sees a variable.  PTX ISA, .common: in global memory alone; elsewhere it is weak."""
    found = _EXPORTS.get(variable.linkage, Export.NONE)
    is_elsewhere = variable.address_space not in (0, 1)
    return Export.WEAK if found is Export.COMMON and is_elsewhere else found


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


def _check_alias(alias: ir.Alias, function: ir.Function | None, *, is_kernel: bool) -> None:
    """Refuse another name that other modules would see and PTX cannot give.

    PTX ISA, .alias: of a function that this module defines; neither of them is a kernel or weak.

    Raises: Unselectable.
    """
    wrong = {
        "a weak alias": alias.linkage is not Linkage.EXTERNAL,
        "a second name of a kernel": is_kernel,
        "a second name of a weak function": function is not None and function.linkage in _WEAK,
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


def _alignment(layout: Layout, variable: ir.GlobalVariable, size: int) -> int:
    """The alignment that LLVM's passes count on, also where LLVM's own printer writes less.

    LLVM, Value::getPointerAlignment: what this module defines for good, and gives no alignment, is
    aligned to 16 where it has more than 16 bytes; accesses to it become wider.
    """
    if variable.alignment is not None:
        return variable.alignment
    preferred = layout.preferred_align(variable.value_type)
    replaceable = variable.is_declaration or variable.linkage in (*_WEAK, Linkage.COMMON)
    return preferred if replaceable or size <= _LARGE else max(preferred, _LARGE)


class _Body:
    """The blocks of one function."""

    def __init__(self, selector: _Selector, function: ir.Function, state: FunctionState) -> None:
        self.selector = selector
        self.function = function
        self.state = state
        self.order = _reverse_post_order(function)
        self.runs: dict[str, list[Block]] = {}
        self.spellings = Spellings()
        names = _block_names([b.name for b in function.blocks])
        reachable = {block.name for block in self.order}
        state.block_names = {n: m for n, m in names.items() if n in reachable}
        state.taken_blocks = set(names.values())
        self.first = selector.locations.add(function.name)  # the number of the first location

    def select(self) -> None:
        state = self.state
        prologue = state.block.instrs
        for block in self.order:
            out = Block(state.block_names[block.name])
            state.start(out)
            self.runs[block.name] = state.run
            state.block_name = block.name
            if block is self.order[0]:
                out.instrs.extend(prologue)
            for i in block.instructions:
                self._instruction(i)
            if len(state.run) > 1:
                state.last_blocks[block.name] = state.block.name
            if block is self.order[0]:
                state.keep()
        self.ends = {name: run[-1] for name, run in self.runs.items()}
        for block in self.order:
            self._phis(block)
        for reason, call in self.spellings.problems():
            self._report(reason, call)
        in_order = [self.runs.get(block.name, []) for block in self.function.blocks]
        state.out.blocks = [block for run in in_order for block in run]

    def _instruction(self, i: ir.Instruction) -> None:
        state = self.state
        state.loc = self.first + i.ordinal
        try:
            if isinstance(i, ir.Call):
                self._call(i)
            else:
                select_instruction(state, i)
        except Unselectable as reason:
            self._report(reason, i)

    def _call(self, call: ir.Call) -> None:
        name = call.callee_name
        if isinstance(call.callee, llvm.InlineAsm):
            self._assembly(call)
            return
        if name is None:
            call_function(self.state, call, None)
            return
        if (written := as_assembly(call, name)) is not None:
            self._assembly(written)
            return
        selector = self.selector
        if self.spellings.see(name, call):
            notes = select_walkthrough(
                self.state, call, name, selector.module, selector.target, selector.ptx
            )
            place = selector._place_of(self.function, call)
            selector.out.notes += [note.at(place) for note in notes]
        elif name in REFLECT:
            reflect(self.state, call, selector.module, selector.target)
        elif name.startswith("llvm."):
            select_call(self.state, call, name, selector.target, selector.ptx)
        else:
            self._function_call(call, name)

    def _assembly(self, call: ir.Call) -> None:
        selector = self.selector
        fragment = inline_assembly(self.state, call)
        if fragment.kept:
            place = selector._place_of(self.function, call)
            selector.out.notes += [finding.at(place) for finding in fragment.kept]

    def _function_call(self, call: ir.Call, name: str) -> None:
        if name in self.selector.kernels:
            raise Unselectable(
                "kernel-call",
                f"the kernel @{name} is called: a kernel is launched, not called",
                op="call",
                got=f"@{name}",
                expected="a function that is no ptx_kernel",
            )
        call_function(self.state, call, self.selector.module.functions.get(name))

    def _report(self, reason: Unselectable, i: ir.Instruction) -> None:
        """Tell why `i` was not selected, and give its result registers, so that all goes on."""
        self.selector.diagnostics.report(reason, self.selector._place_of(self.function, i))
        if i.result is None or i.result in self.state.values:
            return
        try:
            self.state.define(i.result, i.type)
        except Unselectable:
            self.state.forward(i.result, ())

    def _phis(self, block: ir.Block) -> None:
        records: list[MachineInstr] = []
        for i in block.instructions:
            if not isinstance(i, ir.Phi):
                break
            self.state.loc = self.first + i.ordinal
            try:
                records += fill_phi(self.state, i, self.ends)
            except Unselectable as reason:
                self._report(reason, i)
        self.runs[block.name][0].instrs[:0] = records


def _named(module: Module) -> Iterator[str]:
    """The names of functions and variables that records and initial values speak of."""
    for variable in module.variables:
        yield from (address.name for address in variable.addresses)
    for function in module.functions:
        for mi in function.instructions():
            yield from (op.name for op in mi.ops if type(op) is Sym)


def kernels(module: ir.Module) -> list[ir.Function]:
    """The kernels that a module defines."""
    annotated = _annotated(module, "kernel")
    return [
        f for f in module.definitions() if f.calling_convention == KERNEL or f.name in annotated
    ]


def _annotated(module: ir.Module, word: str) -> set[str]:
    """The functions or variables of which `!nvvm.annotations` says `word`."""
    found = set()
    for node_id in module.named_metadata.get("nvvm.annotations", ()):
        node = read_node(module, node_id) if isinstance(node_id, int) else None
        if not isinstance(node, TupleNode) or len(node.elements) < 3:
            continue
        head, *rest = node.elements
        words = [e.text for e in rest if isinstance(e, llvm.MetadataString)]
        if word not in words or not isinstance(head, llvm.WrappedValue):
            continue
        if isinstance(head.value, llvm.GlobalRef):
            found.add(head.value.name)
    return found


def _reverse_post_order(function: ir.Function) -> list[ir.Block]:
    """The reachable blocks, each after all that dominate it."""
    by_name = {block.name: block for block in function.blocks}
    seen = {function.blocks[0].name}
    finished: list[ir.Block] = []
    stack = [(function.blocks[0], iter(_successors(function.blocks[0])))]
    while stack:
        block, following = stack[-1]
        for name in following:
            if name not in seen:
                seen.add(name)
                stack.append((by_name[name], iter(_successors(by_name[name]))))
                break
        else:
            finished.append(block)
            stack.pop()
    return finished[::-1]


def _successors(block: ir.Block) -> Sequence[str]:
    return block.instructions[-1].targets() if block.instructions else ()


def _block_names(names: Sequence[str]) -> dict[str, str]:
    """LLVM's block names as PTX labels allow them, each once."""
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        clean = name if name.isalnum() else re.sub(r"[^\w$]", "_", name) or "bb"
        unique, n = clean, 1
        while unique in taken:
            n += 1
            unique = f"{clean}_{n}"
        taken.add(unique)
        result[name] = unique
    return result
