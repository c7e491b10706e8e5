"""A module of LLVM IR as light records.

Layer: isel.llvm (standard library only). Input: fields, as the reader finds them in LLVM's printed
text. Output: `Module`, `Function`, `Block` and one class per shape of instruction.  Operands are in
`values`, types in `types`, enums in `vocabulary`, attribute sets in `attributes`.

Records are mutable and cheap to make.  Every instruction has

  `opcode`;
  `result`, its name, None when it gives no value;
  `type`, of the result;
  `line` in the printed text, from 1;
  `ordinal`, its index in the function, from 0;
  `dbg`, the id of its debug location, or None;
  `metadata`, its other attachments in order: a kind, and a node's id, or the text of an inline one.

`operands()` are its values in LLVM's order, without blocks; `targets()` its successor blocks.
"""

from isel.llvm.ir.aggregates import (
    ExtractElement,
    ExtractValue,
    InsertElement,
    InsertValue,
    ShuffleVector,
)
from isel.llvm.ir.control import (
    Branch,
    Bundle,
    Call,
    CallBase,
    CondBranch,
    IndirectBr,
    Invoke,
    Return,
    Switch,
    Unreachable,
    Unsupported,
)
from isel.llvm.ir.instructions import (
    Attachment,
    Attachments,
    BinaryOp,
    Cast,
    Common,
    Compare,
    Freeze,
    Instruction,
    Phi,
    Select,
    UnaryOp,
)
from isel.llvm.ir.memory import (
    Alloca,
    AtomicRMW,
    CompareExchange,
    Fence,
    GetElementPtr,
    Load,
    Store,
    VAArg,
)
from isel.llvm.ir.symbols import (
    Alias,
    Block,
    Function,
    GlobalVariable,
    Module,
    Param,
    Symbol,
    successors,
)

__all__ = [
    "Alias",
    "Alloca",
    "AtomicRMW",
    "Attachment",
    "Attachments",
    "BinaryOp",
    "Block",
    "Branch",
    "Bundle",
    "Call",
    "CallBase",
    "Cast",
    "Common",
    "Compare",
    "CompareExchange",
    "CondBranch",
    "ExtractElement",
    "ExtractValue",
    "Fence",
    "Freeze",
    "Function",
    "GetElementPtr",
    "GlobalVariable",
    "IndirectBr",
    "InsertElement",
    "InsertValue",
    "Instruction",
    "Invoke",
    "Load",
    "Module",
    "Param",
    "Phi",
    "Return",
    "Select",
    "ShuffleVector",
    "Store",
    "Switch",
    "Symbol",
    "UnaryOp",
    "Unreachable",
    "Unsupported",
    "VAArg",
    "successors",
]
