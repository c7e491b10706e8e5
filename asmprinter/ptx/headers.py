"""Declarations in PTX: variables with initial values, parameters, function headers.

Layer: asmprinter.  Input: declarations of `intrinsics.mir`.  Output: their text.  PTX ISA, State
Spaces, Types, and Variables; Kernel and Function Directives; Performance-Tuning Directives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from intrinsics.mir import Address, Launch, MachineFunction, Param, Prototype, Variable
from intrinsics.modifiers import ScalarType, Space


def function_declaration(function: MachineFunction) -> str:
    """The declaration of a function that is used before it is defined."""
    kind = "entry" if function.is_kernel else "func"
    return f"{linkage_word(function)}.{kind} {signature(function.signature)};"


# ---- module level ----------------------------------------------------------------------------


def variable_declaration(variable: Variable) -> str:
    """A variable, with its initial values."""
    if variable.type is not ScalarType.B8:
        return f".{variable.space.value} .{variable.type.value} {variable.name};"
    linkage = "extern" if variable.external else variable.export.value
    head = f"{'.' + linkage + ' ' if linkage else ''}.{variable.space.value}"
    head += f" {variable.attribute}" if variable.attribute else ""
    head += f" .align {variable.align}"
    if variable.addresses and variable.data is not None:
        return f"{head} {_with_addresses(variable, variable.data)};"
    size = str(variable.size) if variable.size else ""
    text = f"{head} .b8 {variable.name}[{size}]"
    if variable.data is not None:
        said = variable.data.rstrip(b"\0") or variable.data[:1]  # what is left out is 0
        text += " = {" + ", ".join(map(str, said)) + "}"
    return text + ";"


def _with_addresses(variable: Variable, data: bytes) -> str:
    """Words where every address is one, else bytes, of which an address has eight.

    PTX ISA, Initializers: the mask operator.
    """
    known = {address.at: address for address in variable.addresses}
    if not variable.has_parts_of_addresses:
        shown = [
            _address(known[at]) if at in known else str(int.from_bytes(data[at : at + 8], "little"))
            for at in range(0, variable.size, 8)
        ]
        return f".u64 {variable.name}[{len(shown)}] = {{{', '.join(shown)}}}"
    texts = [str(byte) for byte in data.ljust(variable.size, b"\0")]
    for at, address in known.items():
        texts[at : at + 8] = [f"{0xFF << 8 * n:#X}({_address(address)})" for n in range(8)]
    shown = [text.replace("0X", "0x") for text in texts]
    return f".u8 {variable.name}[{variable.size}] = {{{', '.join(shown)}}}"


def _address(address: Address) -> str:
    text = f"generic({address.name})" if address.generic else address.name
    return f"{text}+{address.offset}" if address.offset else text


_BYTES = ScalarType.B8
"""The type of what is an array of bytes."""

_POINTEES = (Space.CONST, Space.GLOBAL, Space.LOCAL, Space.SHARED)
"""The spaces that a parameter can say it points to.  PTX ISA, Kernel Parameter Attribute: .ptr."""


def parameter_declaration(param: Param) -> str:
    """A parameter of a kernel or function."""
    if param.type is _BYTES:
        return f".param .align {param.align} .b8 {param.name}[{param.size}]"
    text = f".param {param.type.ptx}"
    if param.is_pointer:
        space = f" .{param.pointee.value}" if param.pointee in _POINTEES else ""
        text += f" .ptr{space} .align {param.pointee_align}"
    return f"{text} {param.name}"


def linkage_word(function: MachineFunction) -> str:
    """The linking directive of a function, with a space after it; "" for an internal one."""
    return f".{said} " if (said := function.linkage.value) else ""


def results_text(results: Sequence[Param]) -> str:
    """The result parameters of a function, in parentheses."""
    return f" ({', '.join(map(parameter_declaration, results))})" if results else ""


def signature(function: Prototype, name: str = "") -> str:
    """A function's signature, as a declaration or a table of prototypes spells it.

    A table calls the function and its parameters `_`.
    """
    params = [replace(p, name=name or p.name) for p in function.params]
    results = [replace(p, name=name or p.name) for p in function.results]
    given = results_text(results).strip() + (" " if results else "")
    text = f"{given}{name or function.name} ({', '.join(map(parameter_declaration, params))})"
    words = [*function.attributes, *([".noreturn"] if function.noreturn else [])]
    before = [word for word in words if word.startswith(BEFORE_NAME)]
    behind = [word for word in words if word not in before]
    return " ".join([*before, text, *behind])


BEFORE_NAME = ".attribute"
"""The directive that stands before a function's results and name."""


def launch_directives(launch: Launch) -> Iterator[str]:
    """The performance-tuning and cluster directives of a kernel."""

    def dims(numbers: Sequence[int]) -> str:
        return ", ".join(map(str, numbers))

    if launch.reqntid:
        yield f".reqntid {dims(launch.reqntid)}"
    if launch.maxntid:
        yield f".maxntid {dims(launch.maxntid)}"
    if launch.cluster and not (launch.blocks_are_clusters or launch.implicit_cluster):
        yield ".explicitcluster"
    if launch.cluster:
        yield f".reqnctapercluster {dims(launch.cluster)}"
    if launch.blocks_are_clusters:
        yield ".blocksareclusters"
    if launch.maxclusterrank:
        yield f".maxclusterrank {launch.maxclusterrank}"
    if launch.minctasm:
        yield f".minnctapersm {launch.minctasm}"
    if launch.maxnreg:
        yield f".maxnreg {launch.maxnreg}"


def listed_parameters(params: Sequence[Param]) -> Iterator[str]:
    """Parameters, a line each, with their names in the source."""
    for left, param in enumerate(params, 1 - len(params)):
        text = parameter_declaration(param) + ("," if left else "")
        yield f"{text}  // {param.called}" if param.called.isidentifier() else text
