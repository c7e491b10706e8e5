"""Generic pointers whose address space is known: accesses go there, not through the generic one.

Layer: isel.lower.  Input: a function.  Output: which of its generic pointers point to which address
space, and the function whose loads, stores and atomics of shared, constant and local memory have
pointers of that space.  What leads to such a pointer (steps, phis, selections) is computed in that
space too; the generic address stays for its other uses.  Addresses of global memory are the
same in both.  PTX ISA, Generic Addressing.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.constants import known
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import I1, I8, I64, PTR, PointerType
from isel.llvm.vocabulary import Opcode
from isel.lower.addresses import kernel_structs
from isel.lower.branches.folding import Known, folded
from isel.lower.rewriter import NONE, number

Spaces: TypeAlias = dict[str, int]
"""The address spaces that generic pointers point to, by name."""

GLOBAL = 1
_SHARED = 3
_CONST = 4
_LOCAL = 5
_OWN = (_SHARED, _CONST, _LOCAL, 7)
"""The address spaces whose addresses are other numbers than the generic ones."""

_OWN_SHARED = "llvm.nvvm.isspacep.shared"
"""Asks for the shared memory of the CTA alone; an address of a peer's is none of it."""

QUESTIONS = {
    "llvm.nvvm.isspacep.global": GLOBAL,
    _OWN_SHARED: _SHARED,
    "llvm.nvvm.isspacep.shared.cluster": _SHARED,
    "llvm.nvvm.isspacep.const": _CONST,
    "llvm.nvvm.isspacep.local": _LOCAL,
}
"""What asks whether an address is one of a space, and which."""

_ANSWERED = frozenset(QUESTIONS.values())
"""The address spaces of which it is known to which questions they are the answer."""

_ANY = -1
"""The space of what is not known yet, or never written."""

_Access = (ir.Load, ir.Store, ir.AtomicRMW, ir.CompareExchange)
_Address = ir.GetElementPtr | ir.Phi | ir.Select | ir.Freeze | ir.Cast
_MEETINGS = frozenset((ir.Phi, ir.Select))
_ADDRESSES = (ir.GetElementPtr, ir.Phi, ir.Select, ir.Freeze, ir.Cast)


def inferred(function: ir.Function, layout: TypeLayout, *, is_kernel: bool) -> Spaces:
    """Which address spaces generic pointers point to; those that may point to several are left out.

    The pointers that a kernel takes point to global memory, and so do those in the structs that it
    takes by value, as long as it writes into none.
    """
    given = _given(function) if is_kernel else {}
    found: Spaces = {}
    made: dict[str, _Address] = {}
    for i in function.instructions():
        if i.type is PTR and isinstance(i, _ADDRESSES) and i.result is not None:
            made[i.result] = i
            found[i.result] = _ANY
    if not made:
        return given
    found |= given
    stack = _on_stack(function)
    sources = {
        name: [_LOCAL if one in stack else one for one in _origins(i, layout)]
        for name, i in made.items()
        if name not in given
    }
    changed = True
    while changed:
        changed = False
        for name, origins in sources.items():
            space = found[name]
            for origin in origins:
                other = found.get(origin, 0) if isinstance(origin, str) else origin
                if space != other and other != _ANY:
                    space = other if space == _ANY else 0
            if space != found[name]:
                found[name], changed = space, True
    return {name: space for name, space in found.items() if space > 0}


def _given(function: ir.Function) -> Spaces:
    """The generic pointers among a kernel's parameters: they point to global memory."""
    return dict.fromkeys((*_taken(function), *kernel_structs.pointers(function)), GLOBAL)


def pointers_to_stack(function: ir.Function, layout: TypeLayout) -> frozenset[str]:
    """The generic pointers that are known to point to the function's own local memory, by name."""
    spaces = inferred(function, layout, is_kernel=False)
    return _on_stack(function).union(name for name, space in spaces.items() if space == _LOCAL)


def _on_stack(function: ir.Function) -> frozenset[str]:
    """The generic pointers to variables of the function's own local memory."""
    return frozenset(
        i.result
        for i in function.instructions()
        if i.type is PTR and isinstance(i, ir.Alloca) and i.result is not None
    )


def _taken(function: ir.Function) -> list[str]:
    """The generic pointers that a kernel takes."""
    return [
        param.name
        for param in function.params
        if param.type is PTR and param.attributes.type_of("byval") is None
    ]


def with_known_spaces(
    function: ir.Function, layout: TypeLayout, spaces: Spaces, *, is_kernel: bool
) -> ir.Function:
    """The function without the questions, is this an address of that space, whose answer is known.

    PTX ISA, isspacep; the shared memory of a CTA is its cluster's, too.  Whether constant memory
    lies in the window of global memory is left to the machine.
    """
    questions = {
        i.result: (i.callee_name, i.arguments[0])
        for i in function.instructions()
        if isinstance(i, ir.Call) and i.callee_name in QUESTIONS and i.result is not None
    }
    if not questions:
        return function
    pointers = spaces | (_given(function) if is_kernel else {})
    pointers |= dict.fromkeys(_on_stack(function), _LOCAL)
    has_peers = any(_is_of_a_peer(i) for i in function.instructions())
    answers: Known = {}
    for result, (question, pointer) in questions.items():
        asked = QUESTIONS[question]
        if isinstance(pointer, llvm.Local) and pointer.type is PTR:
            space = pointers.get(pointer.name, 0)
        else:
            space = _space_of(pointer, layout)
        if has_peers and space == _SHARED and question == _OWN_SHARED:
            continue
        if space in _ANSWERED and (space, asked) != (_CONST, GLOBAL):
            answers[result] = number(I1, int(space == asked))
    return folded(function, answers)


def _is_of_a_peer(i: ir.Instruction) -> bool:
    """Whether a pointer to shared memory, as its type says, may be an address of another CTA."""
    match i:
        case ir.Call(type=PointerType(address_space=3)):
            return (i.callee_name or "").startswith("llvm.nvvm.mapa")
        case ir.Cast(type=PointerType(address_space=3)):
            return i.opcode is Opcode.ADDRSPACECAST and i.operand.type == PointerType(7)
    return False


def _sources(i: _Address) -> tuple[llvm.Value, ...]:
    """The pointers that an address comes from."""
    match i:
        case ir.GetElementPtr(base=base):
            return (base,)
        case ir.Select(if_true=yes, if_false=no):
            return yes, no
        case ir.Cast() if i.opcode is Opcode.INTTOPTR:
            return (llvm.Null(PTR),)  # anywhere
    return i.operands()


def _origins(i: _Address, layout: TypeLayout) -> list[str | int]:
    """What an address comes from: generic pointers by name, of all else the address space.

    Where ways meet a null pointer is one to global memory, whose addresses are the generic ones.
    """
    meets = type(i) in _MEETINGS
    return [
        value.name
        if type(value) is llvm.Local and value.type is PTR
        else GLOBAL
        if meets and type(value) is llvm.Null
        else _space_of(value, layout)
        for value in _sources(i)
    ]


def _space_of(value: llvm.Value, layout: TypeLayout) -> int:
    """The address space that a pointer points to, 0 where that is not known."""
    if isinstance(value.type, PointerType) and value.type.address_space:
        return value.type.address_space
    match value:
        case llvm.Local():
            return 0
        case llvm.Undef() | llvm.Poison():
            return _ANY
    place = known(layout, value)
    if place is None or place.name is None or not place.generic:
        return 0
    return place.space or GLOBAL


def with_spaces(function: ir.Function, layout: TypeLayout, spaces: Spaces) -> ir.Function:
    """The function whose accesses of memory that is not global have pointers of their space."""
    own = {name: space for name, space in spaces.items() if space in _OWN}
    if not own:
        return function
    rewriter = _Rewriter(function, layout, own)
    wanted = [
        i.pointer.name
        for i in function.instructions()
        if isinstance(i, _Access)
        and isinstance(i.pointer, llvm.Local)
        and i.pointer.name in own
        and not rewriter.is_followed(i.pointer)
    ]
    return rewriter.rewritten(wanted) if wanted else function


class _Rewriter:
    def __init__(self, function: ir.Function, layout: TypeLayout, spaces: Spaces) -> None:
        self.function = function
        self.layout = layout
        self.spaces = spaces
        self.made = {i.result: i for i in function.instructions() if i.result in spaces}
        self.stack = _on_stack(function)
        self.followed = set(self.stack)
        for name, i in self.made.items():
            if isinstance(i, ir.GetElementPtr) and self.is_followed(i.base) and name is not None:
                self.followed.add(name)
        self.local: set[str] = set()  # of these, those whose local addresses are asked for
        self.names: dict[str, str] = {}
        self.taken = {i.result for i in function.instructions()}
        self.taken |= {param.name for param in function.params}

    def is_followed(self, pointer: llvm.Value) -> bool:
        """Whether a pointer is only offset from a stack address, which selection follows."""
        return isinstance(pointer, llvm.Local) and pointer.name in self.followed

    def rewritten(self, wanted: list[str]) -> ir.Function:
        """The function with pointers of their spaces for the names that are wanted."""
        copies: dict[str, ir.Instruction] = {}
        seen: set[str] = set()
        work = list(wanted)
        while work:
            name = work.pop()
            if name in seen:
                continue
            seen.add(name)
            if (copy := self._copy(name)) is not None:
                copies[name] = copy
            work += [
                value.name
                for value in _sources_of(self.made[name])
                if isinstance(value, llvm.Local) and value.name in self.spaces
            ]
        return self.function.with_instructions(lambda i: self._both(i, copies))

    def _both(
        self, i: ir.Instruction, copies: dict[str, ir.Instruction]
    ) -> tuple[ir.Instruction, ...]:
        """An instruction, an access to its own space; and the copy of an address behind it."""
        if isinstance(i, _Access):
            pointer = i.pointer
            name = pointer.name if isinstance(pointer, llvm.Local) else ""
            if name in self.spaces and not self.is_followed(pointer):
                return (dataclasses.replace(i, pointer=self._moved(pointer, name)),)
            return (i,)
        if i.result in self.local:
            return i, self._local_address(i, i.result)
        copy = copies.get(i.result) if i.result is not None else None
        return (i,) if copy is None else (i, copy)

    def _copy(self, name: str) -> ir.Instruction | None:
        """The address in its own space; none for a cast, as that of its operand is taken."""
        i = self.made[name]
        space = PointerType(self.spaces[name])
        result = self._name(name)
        match i:
            case ir.GetElementPtr(base=base):
                base = self._moved(base, name)
                return dataclasses.replace(i, result=result, type=space, base=base)
            case ir.Phi(incoming=incoming):
                pairs = tuple((self._moved(value, name), block) for value, block in incoming)
                return dataclasses.replace(i, result=result, type=space, incoming=pairs)
            case ir.Select(if_true=yes, if_false=no):
                yes, no = self._moved(yes, name), self._moved(no, name)
                return dataclasses.replace(i, result=result, type=space, if_true=yes, if_false=no)
            case ir.Freeze(operand=operand):
                moved = self._moved(operand, name)
                return dataclasses.replace(i, result=result, type=space, operand=moved)
        return None

    def _moved(self, value: llvm.Value, user: str) -> llvm.Value:
        """A pointer that `user` comes from, or is, in the space of `user`."""
        space = PointerType(self.spaces[user])
        if isinstance(value, llvm.Local) and value.name in self.spaces:
            made = self.made[value.name]
            if isinstance(made, ir.Cast):
                return self._moved(made.operand, user)
            return llvm.Local(self._name(value.name), space)
        if isinstance(value, llvm.Local) and value.name in self.stack:
            self.local.add(value.name)
            return llvm.Local(self._name(value.name), space)
        if value.type is space:
            return value
        if isinstance(value, (llvm.Undef, llvm.Poison)):
            return llvm.Poison(space)
        place = known(self.layout, value)
        assert place is not None
        assert place.name is not None
        base = llvm.GlobalRef(place.name, space)
        if not place.offset:
            return base
        step = llvm.ConstInt(I64, place.offset & ((1 << 64) - 1))
        return llvm.ConstExpr(
            Opcode.GETELEMENTPTR, space, (base, step), element_type=I8
        )  # fmt: skip

    def _local_address(self, i: ir.Instruction, result: str) -> ir.Cast:
        """The address of a variable on the stack in local memory."""
        space = PointerType(_LOCAL)
        generic = llvm.Local(result, i.type)
        return ir.Cast(Opcode.ADDRSPACECAST, self._name(result), *i.place, space, generic, NONE)

    def _name(self, name: str) -> str:
        if name not in self.names:
            new = f"{name}.as{self.spaces.get(name, _LOCAL)}"
            while new in self.taken:
                new += "_"
            self.taken.add(new)
            self.names[name] = new
        return self.names[name]


def _sources_of(i: ir.Instruction) -> tuple[llvm.Value, ...]:
    return _sources(i) if isinstance(i, _ADDRESSES) else ()
