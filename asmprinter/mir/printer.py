"""Machine records to MIR text, for people and for `asmprinter.mir.reader`.

Layer: asmprinter.  Input: an `intrinsics.mir.Module`.  Output: text whose grammar is written down
in `asmprinter.mir.reader`, with comments that decode what a number hides.  A record with more than
four operands stands one operand a line, each with its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asmprinter.mir import names as mir_names
from asmprinter.mir.names import escaped, quoted, register_names, register_range
from asmprinter.ptx.printer import Printed
from asmprinter.ptx.statements import float_literal
from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.packed_fields import CollectorWord, ControlWord
from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Label,
    Linkage,
    Location,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Param,
    Prototype,
    Scalar,
    Sink,
    Special,
    Sym,
    Text,
    Variable,
    predecessors,
)
from intrinsics.modifiers import MmaKind, ScalarType
from intrinsics.row import Access, Kind

ONE_LINE = 4
"""Up to so many operands stand on the record's own line."""

LONG = 4
"""So many registers whose numbers follow each other are written as a range."""

_COMMENT_COLUMN = 48


def print_mir(module: Module) -> Printed:
    """Print `module` as MIR."""
    lines = ["; nvgen MIR", " ".join(["target", str(module.target), *module.options])]
    if module.ptx is not None:
        lines.append(f"ptx {module.ptx}")
    if module.stage:
        lines.append(f"stage {quoted(module.stage)}")
    if module.source:
        lines.append(f"source {quoted(module.source)}")
    lines += [_variable(v) for v in module.variables]
    lines += [f"declare {_signature(f)}" for f in module.externals]
    lines += [f"kept {kept.where.value} {quoted(kept.text)}" for kept in module.kept]
    records: dict[int, MachineInstr] = {}
    for function in module.functions:
        lines.append("")
        for line, mi in _function(function, module.locations):
            lines.append(line)
            if mi is not None:
                records[len(lines)] = mi
    if len(module.locations) > 1:
        lines.append("")
    lines += [f"!{i} = {_location(loc)}" for i, loc in enumerate(module.locations) if i]
    return Printed("\n".join(lines) + "\n", records)


def _variable(variable: Variable) -> str:
    linkage = "extern" if variable.external else variable.export.value
    text = (
        f"{linkage + ' ' if linkage else ''}"
        f"{variable.space.value} {mir_names.symbol(variable.name)} : "
        f"size {variable.size} align {variable.align}"
    )
    if variable.type is not ScalarType.B8:
        text += f" type {variable.type.value}"
    if variable.data is not None:
        text += f" = 0x{variable.data.hex()}"
    for address in variable.addresses:
        generic = "generic " if address.generic else ""
        text += f" at {address.at} {generic}{mir_names.symbol(address.name)} {address.offset}"
    return text + (f" attribute {quoted(variable.attribute)}" if variable.attribute else "")


def _param(param: Param, word: str = "param") -> str:
    name = mir_names.symbol(param.name)
    text = f"{word} {name} : {param.type.value} size {param.size} align {param.align}"
    if param.is_pointer:
        space = param.pointee.value if param.pointee else "generic"
        text += f" ptr {space} {param.pointee_align}"
    text += " constant" if param.constant else ""
    return text + (f" called {quoted(param.called)}" if param.called else "")


def _location(location: Location) -> str:
    text = f"{quoted(location.file)}:{location.line}:{location.column}"
    if location.python_file or location.python_line:
        text += f" from {quoted(location.python_file)}:{location.python_line}"
    for number, (file, line) in enumerate(location.callers):
        name = location.called[number] if number < len(location.called) else ""
        text += f" called {quoted(file)}:{line}" + (f" as {quoted(name)}" if name else "")
    return text + (f" behind {quoted(location.directives)}" if location.directives else "")


def _function(
    function: MachineFunction, locations: list[Location]
) -> Iterator[tuple[str, MachineInstr | None]]:
    for line in _header(function):
        yield line, None
    for variable in function.variables:
        yield f"  {_variable(variable)}", None
    for table in function.prototypes:
        yield f"  prototype {_signature(table)}", None
    names = register_names(function)
    before = predecessors(function)
    for i, block in enumerate(function.blocks):
        preds = ", ".join(mir_names.block(function.blocks[p].name) for p in before[i])
        label = mir_names.block(block.name) + (" nounroll:" if block.nounroll else ":")
        yield _commented(label, f"preds: {preds}" if preds else ""), None
        for mi in block.instrs:
            first = True
            for line in _record(mi, names, function.regs.classes, locations):
                yield line, mi if first else None
                first = False
    yield "}", None


def _header(function: MachineFunction) -> Iterator[str]:
    kind = "kernel" if function.is_kernel else "func"
    begin, end = f"{kind} {mir_names.symbol(function.name)}(", f"){_launch(function)} {{"
    shown = _interface(function.params, function.results)
    if not shown:
        yield begin + end
        return
    yield begin
    for i, param in enumerate(shown):
        yield f"  {param}" + ("," if i + 1 < len(shown) else "")
    yield end


def _interface(params: Sequence[Param], results: Sequence[Param]) -> list[str]:
    return [*(_param(p, "result") for p in results), *(_param(p) for p in params)]


def _signature(function: Prototype) -> str:
    interface = ", ".join(_interface(function.params, function.results))
    text = f"{mir_names.symbol(function.name)}({interface})"
    return text + (" noreturn" if function.noreturn else "") + _attributes(function.attributes)


def _attributes(attributes: Sequence[str]) -> str:
    return "".join(f" attribute {quoted(text)}" for text in attributes)


def _launch(function: MachineFunction) -> str:
    launch = function.launch
    numbers = {
        "reqntid": launch.reqntid,
        "maxntid": launch.maxntid,
        "cluster": launch.cluster,
        "maxnreg": (launch.maxnreg,) if launch.maxnreg else (),
        "minctasm": (launch.minctasm,) if launch.minctasm else (),
        "maxclusterrank": (launch.maxclusterrank,) if launch.maxclusterrank else (),
    }
    said = [f"{name} {' '.join(map(str, given))}" for name, given in numbers.items() if given]
    flags = {
        "blocksareclusters": launch.blocks_are_clusters,
        "implicitcluster": launch.implicit_cluster,
        "internal": function.linkage is Linkage.INTERNAL,
        "weak": function.linkage is Linkage.WEAK,
        "noreturn": function.noreturn,
        "named": function.keep_names,
    }
    said += [word for word, holds in flags.items() if holds]
    return "".join(f" {words}" for words in said) + _attributes(function.attributes)


# ---- records ---------------------------------------------------------------------------------


def _commented(text: str, comment: str) -> str:
    return f"{text:<{_COMMENT_COLUMN - 1}} ; {comment}" if comment else text


def _record(
    mi: MachineInstr, names: Sequence[str], classes: Sequence[ScalarType], locations: list[Location]
) -> Iterator[str]:
    shown = [_operand(op, names, classes) for op in mi.ops]
    form = mi.form
    text = f"  {_guard(mi, names)}{_results(form, shown)}{form.opcode}"
    mark = f" !{mi.loc}" if mi.loc else ""
    others = [i for i in range(len(shown)) if i not in form.defs]
    comment = _comment(mi, locations)
    if len(shown) <= ONE_LINE:
        parts = [
            f"{form.slots[i]}={_bare(form, i, shown[i], mi)}"
            if form.slots[i] in form.row.optional
            else _bare(form, i, shown[i], mi)
            for i in others
        ]
        yield _commented(text + (" " + ", ".join(parts) if parts else "") + mark, comment)
        return
    yield _commented(text + mark, comment)
    width = max(len(form.slots[i]) for i in others) + 1
    for i in others:
        line = f"      {form.slots[i] + ':':<{width}} {_bare(form, i, shown[i], mi)}"
        yield _commented(line, _decoded(mi, form.slots[i]))


def _guard(mi: MachineInstr, names: Sequence[str]) -> str:
    if isinstance(mi.guard, Not):
        return f"@!{names[mi.guard.reg]}:pred "
    return f"@{names[mi.guard]}:pred " if mi.guard is not None else ""


def _results(form: Form, shown: list[str]) -> str:
    parts = []
    for operand in form.row.operands:
        if operand.access is not Access.WRITE:
            continue
        i = form.index.get(operand.name)
        if i is not None:
            parts.append(shown[i])
        elif operand.sink:
            parts.append("_")
    while parts and parts[-1] == "_":
        parts.pop()
    return ", ".join(parts) + " = " if parts else ""


def _bare(form: Form, i: int, shown: str, mi: MachineInstr) -> str:
    """Tensor memory addresses without an offset stand without brackets."""
    operand, op = form.operands[i], mi.ops[i]
    plain = operand is not None and operand.kind is Kind.TENSOR_ADDRESS
    if plain and isinstance(op, Mem) and not op.offset and isinstance(op.base, int):
        return shown[1:-1]
    return shown


def _operand(op: Op, names: Sequence[str], classes: Sequence[ScalarType]) -> str:
    if not isinstance(op, tuple):
        return _scalar(op, names, classes)
    if _is_range(op, names, classes):
        return f"{{{_scalar(op[0], names, classes)} ... {_scalar(op[-1], names, classes)}}}"
    return "{" + ", ".join(_scalar(part, names, classes) for part in op) + "}"


def _is_range(
    parts: tuple[Scalar, ...], names: Sequence[str], classes: Sequence[ScalarType]
) -> bool:
    registers = [part for part in parts if isinstance(part, int)]
    if len(parts) < LONG or len(registers) < len(parts):
        return False
    shown = [names[reg] for reg in registers]
    same_class = len({classes[reg] for reg in registers}) == 1
    return same_class and register_range(shown[0], shown[-1]) == shown


def _scalar(op: Scalar, names: Sequence[str], classes: Sequence[ScalarType]) -> str:
    match op:
        case int():
            return f"{names[op]}:{classes[op].value}"
        case Imm(value):
            return f"imm:{value}"
        case FloatImm():
            return f"fimm:{float_literal(op)}"
        case Mem(base, offset):
            shown = _scalar(base, names, classes)
            return f"[{shown}{offset:+d}]" if offset else f"[{shown}]"
        case Sym(name, offset):
            return mir_names.symbol(name) + (f"{offset:+d}" if offset else "")
        case Special(name):
            return f"sreg:{name}"
        case Label(name):
            return mir_names.block(name)
        case Text(text):
            return f"text:{quoted(text)}"
        case Not(reg):
            return f"!{names[reg]}:pred"
        case Sink():
            return "_"


# ---- comments --------------------------------------------------------------------------------


def _comment(mi: MachineInstr, locations: list[Location]) -> str:
    parts = []
    number = mi.row.numbers.get(mi.opcode)
    if number is not None:
        parts.append(str(number))
    location = locations[mi.loc] if mi.loc < len(locations) else Location()
    if location.line:
        file = escaped(location.file.rsplit("/", 1)[-1])
        parts.append(f"{file}:{location.line}" if file else f"line {location.line}")
    return ", ".join(parts)


def _decoded(mi: MachineInstr, slot: str) -> str:
    """What the number in `slot` says."""
    op = mi[slot]
    if not isinstance(op, Imm):
        return ""
    match slot:
        case "ctrl":
            return str(ControlWord.decode(op.value))
        case "collector":
            return str(CollectorWord.decode(op.value))
        case "idesc" if isinstance(mi.get("ctrl"), Imm):
            kind = mi.attributes().get("kind")
            assert isinstance(kind, MmaKind)
            try:
                return str(InstructionDescriptor.decode(op.value, kind))
            except ValueError as error:
                return str(error)
        case _:
            return ""
