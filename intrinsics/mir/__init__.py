"""Machine records: what selection makes, passes change, the verifier checks and the printers write.

Layer: intrinsics.  A `MachineInstr` is an interned `Form` (a row with its opcode qualifiers and the
operands that are there) and a positional tuple of operands.  Virtual registers are dense integers,
each with a class in its function's register table.  Records are mutable and light; everything
about an instruction that does not change from record to record is in the form.
"""

from intrinsics.mir.control_flow import inverted, predecessors, successors
from intrinsics.mir.declarations import Address, Export, Linkage, Param, Prototype, Variable
from intrinsics.mir.forms import (
    Form,
    form_attribute_names,
    form_of,
    opcode_name,
    operand_attributes,
)
from intrinsics.mir.functions import (
    NOTHING_SAID,
    UNNAMED,
    Block,
    Launch,
    MachineFunction,
    RegisterTable,
    incoming,
    phis_of,
    renumber,
    written_often,
)
from intrinsics.mir.modules import DirectivePosition, KeptDirective, Location, Module
from intrinsics.mir.operands import (
    HOLDERS,
    SINK,
    FloatImm,
    Imm,
    Label,
    Mem,
    Not,
    Op,
    Reg,
    Scalar,
    Sink,
    Special,
    Sym,
    Text,
    guard_register,
    negated,
    registers_of,
)
from intrinsics.mir.records import MachineInstr, appearances

__all__ = [
    "HOLDERS",
    "NOTHING_SAID",
    "SINK",
    "UNNAMED",
    "Address",
    "Block",
    "DirectivePosition",
    "Export",
    "FloatImm",
    "Form",
    "Imm",
    "KeptDirective",
    "Label",
    "Launch",
    "Linkage",
    "Location",
    "MachineFunction",
    "MachineInstr",
    "Mem",
    "Module",
    "Not",
    "Op",
    "Param",
    "Prototype",
    "Reg",
    "RegisterTable",
    "Scalar",
    "Sink",
    "Special",
    "Sym",
    "Text",
    "Variable",
    "appearances",
    "form_attribute_names",
    "form_of",
    "guard_register",
    "incoming",
    "inverted",
    "negated",
    "opcode_name",
    "operand_attributes",
    "phis_of",
    "predecessors",
    "registers_of",
    "renumber",
    "successors",
    "written_often",
]
