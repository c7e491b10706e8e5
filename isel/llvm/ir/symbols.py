"""Basic blocks, functions, global variables, aliases, and the module of them.

Layer: isel.llvm (standard library only).  LLVM Language Reference, High Level Structure.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, fields

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.ir.instructions import Attachments, Instruction
from isel.llvm.types import PTR, VOID, OpaqueType, StructType, Type
from isel.llvm.values import Null, Value
from isel.llvm.vocabulary import (
    C_CALLING_CONVENTION,
    Linkage,
    StorageClass,
    UnnamedAddr,
    Visibility,
)


@dataclass(slots=True)
class Block:
    """A basic block; an unnamed one has the number that LLVM gives it, as its name."""

    name: str
    instructions: list[Instruction]


def successors(blocks: Sequence[Block]) -> list[list[int]]:
    """The successors of each block of a function, by their places in it."""
    places = {block.name: n for n, block in enumerate(blocks)}
    return [[places[name] for name in b.instructions[-1].targets()] for b in blocks]


@dataclass(slots=True)
class Param:
    """A parameter; a declaration's have no names."""

    name: str
    type: Type
    attributes: Attributes


@dataclass(slots=True)
class Symbol:
    """The base of globals, functions, aliases and ifuncs; `line` is in the printed text, from 1.

    `dso_local` is the word; LLVM leaves it out where linkage or visibility implies it.
    """

    name: str
    line: int
    linkage: Linkage = Linkage.EXTERNAL
    visibility: Visibility = Visibility.DEFAULT
    storage_class: StorageClass = StorageClass.DEFAULT
    dso_local: bool = False
    unnamed_addr: UnnamedAddr = UnnamedAddr.NONE
    address_space: int = 0
    section: str = ""
    partition: str = ""
    comdat: str = ""
    alignment: int | None = None
    metadata: Attachments = ()

    def attachment(self, kind: str) -> int | str | None:
        """The node attached as `kind` (`dbg` too): its id, or the text of one written in place."""
        return dict(self.metadata).get(kind) if self.metadata else None


@dataclass(slots=True)
class GlobalVariable(Symbol):
    """`@name = … global T initializer, …`; a declaration's initializer is None.

    `thread_local` is "" for an ordinary variable, else the model ("generaldynamic" when LLVM prints
    none); `sanitizer` holds the words `no_sanitize_address` and its like.
    """

    value_type: Type = VOID
    initializer: Value | None = None
    is_constant: bool = False
    externally_initialized: bool = False
    thread_local: str = ""
    code_model: str = ""
    sanitizer: tuple[str, ...] = ()
    attributes: Attributes = NO_ATTRIBUTES

    @property
    def is_declaration(self) -> bool:
        """Whether the variable is defined in another module."""
        return self.initializer is None


@dataclass(slots=True)
class Alias(Symbol):
    """`@name = alias T, aliasee`, or with `ifunc` its resolver."""

    value_type: Type = VOID
    target: Value = field(default_factory=lambda: Null(PTR))
    thread_local: str = ""
    is_ifunc: bool = False


@dataclass(slots=True)
class Function(Symbol):
    """A declaration or a definition; `attributes` are those of its `#N` groups together."""

    return_type: Type = VOID
    params: list[Param] = field(default_factory=list)
    vararg: bool = False
    blocks: list[Block] = field(default_factory=list)
    attributes: Attributes = NO_ATTRIBUTES
    return_attributes: Attributes = NO_ATTRIBUTES
    calling_convention: str = C_CALLING_CONVENTION
    is_declaration: bool = True
    gc: str = ""
    prefix: Value | None = None
    prologue: Value | None = None
    personality: Value | None = None

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction, in order of ordinals."""
        return itertools.chain.from_iterable([block.instructions for block in self.blocks])

    def with_blocks(self, blocks: list[Block]) -> Function:
        """A copy with another body."""
        found = self.copier()()
        found.blocks = blocks
        return found

    def with_instructions(
        self, instead: Callable[[Instruction], Iterable[Instruction]]
    ) -> Function:
        """A copy with others, one or none in the place of each instruction."""
        return self.with_blocks(
            [
                Block(block.name, [one for i in block.instructions for one in instead(i)])
                for block in self.blocks
            ]
        )

    def copier(self) -> Callable[[], Function]:
        """A function that makes copies of its present state."""
        return functools.partial(Function, *_FIELDS_OF_FUNCTION(self))


_FIELDS_OF_FUNCTION = operator.attrgetter(*[field.name for field in fields(Function)])


@dataclass(slots=True, weakref_slot=True)
class Module:
    """A module as LLVM printed it.

    `metadata` maps a node's id to its text after `=`; `isel.llvm.metadata` reads it.
    `named_metadata` maps a name to ids, or to the text of nodes written in place.  `functions`
    holds declarations and definitions alike, in order.
    """

    source_filename: str = ""
    data_layout: str = ""
    triple: str = ""
    module_asm: list[str] = field(default_factory=list)
    types: dict[str, StructType | OpaqueType] = field(default_factory=dict)
    comdats: dict[str, str] = field(default_factory=dict)
    globals: dict[str, GlobalVariable] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    attribute_groups: dict[int, Attributes] = field(default_factory=dict)
    named_metadata: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    metadata: dict[int, str] = field(default_factory=dict)

    def definitions(self) -> Iterator[Function]:
        """The functions that have a body."""
        return (f for f in self.functions.values() if not f.is_declaration)
