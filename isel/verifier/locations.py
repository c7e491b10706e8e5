"""Source locations and state spaces of a module's names, as findings need them.

Layer: isel.verifier.
"""

from __future__ import annotations

from intrinsics.findings import Place
from intrinsics.mir import Location, MachineFunction, Module
from intrinsics.modifiers import Space


def place_of(location: Location, function: str) -> Place:
    """The source location of a finding, from that of a record."""
    return Place(
        location.file,
        location.line,
        location.column,
        function,
        location.python_file,
        location.python_line,
        location.callers,
    )


def symbol_spaces(module: Module, function: MachineFunction) -> dict[str, Space]:
    """State spaces of the names that `function` may use in addresses."""
    spaces = {variable.name: variable.space for variable in module.variables}
    interface = (*function.params, *function.results)
    spaces.update((param.name, function.param_space) for param in interface)
    spaces.update((variable.name, variable.address_space) for variable in function.variables)
    return spaces
