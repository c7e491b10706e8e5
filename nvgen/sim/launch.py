"""A simulated launch: binds arguments, runs the grid, and writes results back.

Layer: nvgen.sim.  Input: a module of machine records, the kernel's name, its arguments as numpy
arrays, numbers and tensor maps, and the launch shape.  Output: the arrays, changed in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from intrinsics.findings import SimulationError
from intrinsics.mir import MachineFunction, Module, Sym, Variable
from intrinsics.modifiers import Space
from nvgen.launching.launches import Dim3, Statistics, check_shape, kernel_of
from nvgen.launching.parameters import Argument, Output
from nvgen.sim.async_ops.engine import Engine
from nvgen.sim.async_ops.schedule import Schedule
from nvgen.sim.binding import Binding
from nvgen.sim.faults import no_room, not_simulated
from nvgen.sim.memory.layout import local_layout, names_in_shared, shared_layout
from nvgen.sim.memory.local import first_addresses
from nvgen.sim.memory.regions import Memory, Region
from nvgen.sim.semantics.control.calls import addresses
from nvgen.sim.semantics.table import makers
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.grid import cluster_of, grid_of, populate
from nvgen.sim.threads.limits import Limits, limits_of
from nvgen.sim.threads.machine import Code, Machine
from nvgen.sim.threads.run import Run
from nvgen.sim.watch import explained, watch


def simulate(
    module: Module,
    kernel: str,
    arguments: Sequence[Argument | Output],
    *,
    grid: Dim3,
    block: Dim3,
    cluster: Dim3 = (1, 1, 1),
    smem: int = 0,
    schedule: Schedule,
    races: bool = True,
    limits: Limits | None = None,
    codes: dict[str, Mapping[str, Code]] | None = None,
    parts: Sequence[tuple[str, int]] = (),
) -> Statistics:
    """Run `kernel` on the CPU; output arrays are written in place.

    `smem` is in bytes, with named `parts`.  `races` are sought.  `codes` keeps compiled functions.

    Raises: InputError for what does not fit the kernel, SimulationError for what goes wrong.
    """
    function = kernel_of(module, kernel)
    grid, cluster = _whole_clusters(function, grid, block, cluster)
    shared, static = shared_layout(module, function)
    memory, symbols = Memory(), dict(shared)
    entries = addresses([f.name for f in module.functions if not f.is_kernel])
    _globals((*module.variables, *function.variables), memory, symbols, entries)
    binding = Binding(memory, stores=_needs_memory(module))
    params, offsets = binding.bind(function, arguments)
    local = local_layout(module.variables)
    symbols.update({**offsets, **first_addresses(local), **entries})
    functions = _cached(module, function, {} if codes is None else codes)
    machine = Machine(
        functions, memory, Engine(schedule), grid, block, cluster, symbols, binding.tensor_maps,
        limits or limits_of(), frozenset(shared),
        explicit_cluster=bool(function.launch.cluster) or cluster != (1, 1, 1),
    )  # fmt: skip
    with _explained(machine):
        machine.limits.start()
        populate(machine, functions[kernel], params, static, smem, local)
        if races:
            watch(machine, names_in_shared(shared, static, parts))
        Run(machine).to_end()
    binding.deliver()
    return Statistics(machine.steps, machine.engine.issued, machine.heap.used)


def _whole_clusters(
    function: MachineFunction, grid: Dim3, block: Dim3, cluster: Dim3
) -> tuple[Dim3, Dim3]:
    """The grid and the cluster of a launch that the kernel allows."""
    check_shape(function, grid, block)
    cluster = cluster_of(function, cluster)
    return grid_of(function, grid, cluster), cluster


@contextmanager
def _explained(machine: Machine) -> Iterator[None]:
    """Say of an error what else is known about the state of the machine."""
    try:
        yield
    except SimulationError as error:
        raise explained(machine, error) from None


def _cached(
    module: Module, kernel: MachineFunction, codes: dict[str, Mapping[str, Code]]
) -> Mapping[str, Code]:
    """The code of a kernel, compiled where it is not there yet."""
    if kernel.name not in codes:
        codes[kernel.name] = _functions(module, kernel)
    return codes[kernel.name]


def _functions(module: Module, kernel: MachineFunction) -> dict[str, Code]:
    """The code of a kernel, and of every function that it may call."""
    known, table = {f.name: f for f in module.functions}, makers()
    known |= {a: known[b] for a, b in _aliases(module) if b in known}
    work, found = [kernel.name], dict[str, Code]()
    while work:
        name = work.pop()
        if name in found or name not in known:
            continue
        function = known[name]
        found[name] = Compiler(module, function, table).compile()
        work += [op.name for mi in function.instructions() for op in mi.ops if type(op) is Sym]
        if function.prototypes:  # an indirect call may call any function
            work += [f.name for f in module.functions if not f.is_kernel]
    return found


def _aliases(module: Module) -> list[tuple[str, str]]:
    """Aliases of functions, with the functions.  PTX ISA, .alias."""
    texts = "\n".join(kept.text for kept in module.kept)
    return re.findall(r"\.alias\s+([\w$]+)\s*,\s*([\w$]+)", texts)


_NEEDING_MEMORY = ("cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor")


def _needs_memory(module: Module) -> bool:
    """Whether the tensors of tensor maps need memory: they are written, or the maps are."""
    ids = {mi.row.id for function in module.functions for mi in function.instructions()}
    return any(name in _NEEDING_MEMORY or name.startswith("tensormap.") for name in ids)


_MOST_BYTES = 1 << 32


def _allocated(variable: Variable, memory: Memory) -> Region:
    """The memory of a variable, with its initial value.

    Raises: InputError where the system has no room for it.
    """
    try:
        data = np.zeros(variable.size, np.uint8)
        if variable.data:
            data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
        return memory.allocate(variable.name, variable.size, data)
    except MemoryError:
        expected = "variables that have room in memory, with a flag for each byte"
        raise no_room(variable.name, variable.size, expected) from None


def _globals(
    variables: Sequence[Variable],
    memory: Memory,
    symbols: dict[str, int],
    entries: Mapping[str, int],
) -> None:
    # Parameters of calls are said to be not simulated where they are used.
    elsewhere = (Space.SHARED, Space.LOCAL, Space.PARAM)
    kept = [v for v in variables if v.space not in elsewhere]
    if sum(v.size for v in kept) > _MOST_BYTES:
        raise not_simulated(f"more than {_MOST_BYTES} bytes of variables")
    regions: dict[str, Region] = {}
    for variable in kept:
        regions[variable.name] = _allocated(variable, memory)
        symbols[variable.name] = regions[variable.name].base
    for variable in kept:
        for address in variable.addresses:
            if address.name not in regions and address.name not in entries:
                raise not_simulated(f"the address of {address.name} in {variable.name}")
            region = regions.get(address.name)
            base = region.base if region is not None else entries[address.name]
            value = base + address.offset & (1 << 64) - 1
            there = regions[variable.name].data[address.at : address.at + 8]
            there[:] = np.frombuffer(value.to_bytes(8, "little"), np.uint8)
