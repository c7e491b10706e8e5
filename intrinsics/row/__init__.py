"""The row: everything nvgen knows of one PTX instruction family, as data.

Layer: intrinsics.  A row gives the head, the modifiers and the operands in the notation that the
PTX ISA uses, and beside them legality (guarded rules), effects and LLVM's spellings.  Opcode
names, printing, reading, selection, verification, builder calls and the reference page are derived
from it; nothing else spells the instruction.

    Row(
        "tcgen05.alloc", ".cta_group.sync.aligned{.space}.b32", "[dst], ncols",
        qualifiers={"cta_group": CtaGroup, "space": (Space.SHARED_CTA,)},
        operands=(address("dst", "space"), value("ncols", U32)),
        …)

In the modifiers, a name that `qualifiers` declares is a qualifier, any other stands for itself;
braces make a qualifier optional; a leading `::` glues it to the head.  In the operands, `[x]` is an
address, `[x, y]` a tensor map with its coordinates, `x|y` a pair of results, and `{, x}` may be
left out.
"""

from intrinsics.row.attributes import Attribute, Attributes, By, Count, per
from intrinsics.row.effects import PURE, Completion, Effect, Effects, IssueScope
from intrinsics.row.llvm import Code, Llvm
from intrinsics.row.numbers import Numbers, NumbersFrom
from intrinsics.row.operands import (
    Access,
    Kind,
    Operand,
    OperandType,
    Residency,
    VectorNumbers,
    address,
    label,
    labels,
    matrix,
    number,
    predicate,
    predicate_result,
    register,
    result,
    tensor_address,
    value,
    vector,
)
from intrinsics.row.packed_fields import PackedFields, Problem
from intrinsics.row.row import Row
from intrinsics.row.rules import ALWAYS, Guard, Never, Rule, absent_or, when
from intrinsics.row.syntax import (
    Bracket,
    Element,
    Literal,
    Qualifier,
)

__all__ = [
    "ALWAYS",
    "PURE",
    "Access",
    "Attribute",
    "Attributes",
    "Bracket",
    "By",
    "Code",
    "Completion",
    "Count",
    "Effect",
    "Effects",
    "Element",
    "Guard",
    "IssueScope",
    "Kind",
    "Literal",
    "Llvm",
    "Never",
    "Numbers",
    "NumbersFrom",
    "Operand",
    "OperandType",
    "PackedFields",
    "Problem",
    "Qualifier",
    "Residency",
    "Row",
    "Rule",
    "VectorNumbers",
    "absent_or",
    "address",
    "label",
    "labels",
    "matrix",
    "number",
    "per",
    "predicate",
    "predicate_result",
    "register",
    "result",
    "tensor_address",
    "value",
    "vector",
    "when",
]
