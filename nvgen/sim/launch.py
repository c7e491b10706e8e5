"""A launch: arguments in, grid run, results out.

Layer: nvgen.sim.  Input: a module of machine records, the kernel's name, its arguments as numpy
arrays, numbers and tensor maps, and the launch shape.  Output: the arrays, changed in place.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from intrinsics.findings import SimulationError, input_error
from intrinsics.mir import MachineFunction, Module, Param, Sym, Variable
from intrinsics.modifiers import ScalarType, Space
from nvgen.launches import Dim3, Statistics, check_shape, kernel_of
from nvgen.parameters import (
    Array,
    Number,
    Output,
    bytes_by_value,
    describe,
    is_by_value,
    misfit,
    number_bytes,
)
from nvgen.sim.compile import Compiler
from nvgen.sim.engine import Engine, Schedule
from nvgen.sim.faults import not_simulated
from nvgen.sim.grid import cluster_of, grid_of, populate
from nvgen.sim.local import first_places
from nvgen.sim.machine import Code, Machine
from nvgen.sim.memory import BoundMap, Memory, Region
from nvgen.sim.races import explained, watch
from nvgen.sim.semantics.calls import addresses
from nvgen.sim.semantics.table import makers
from nvgen.sim.shared import local_layout, round_up, shared_layout
from nvgen.tensor_map import SIZE, TensorMap

Argument: TypeAlias = Array | TensorMap | Number

SHARED_LIMIT = 227 * 1024
"""Bytes of shared memory that a CTA can have on the machines with tensor memory."""

MAX_STEPS = 20_000_000


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
    max_steps: int = MAX_STEPS,
) -> Statistics:
    """Run `kernel` on the CPU; output arrays are written in place.

    `races` says whether every access is compared with those that nothing orders before it.

    Raises: InputError for a launch that does not fit the kernel, SimulationError for what goes
    wrong.
    """
    function = kernel_of(module, kernel)
    check_shape(function, grid, block)
    cluster = cluster_of(function, cluster)
    grid = grid_of(function, grid, cluster)
    memory = Memory()
    symbols, static = shared_layout(module, function)
    _check_shared(static, smem)
    shared_names = frozenset(symbols)
    entries = addresses([f.name for f in module.functions if not f.is_kernel])
    _globals((*module.variables, *function.variables), memory, symbols, entries)
    binding = _Binding(memory, stores=_stores_tiles(function))
    params, offsets = binding.bind(function, arguments)
    symbols.update(offsets)
    symbols.update(first_places(local_layout(module.variables)))
    functions = _functions(module, function)
    symbols.update(entries)
    machine = Machine(
        functions,
        memory,
        Engine(schedule),
        grid,
        block,
        cluster,
        symbols,
        binding.tensor_maps,
        max_steps,
        shared_names,
        explicit_cluster=bool(function.launch.cluster) or cluster != (1, 1, 1),
    )
    populate(machine, functions[kernel], params, static, smem, local_layout(module.variables))
    if races:
        watch(machine)
    try:
        machine.run()
    except SimulationError as error:
        raise explained(machine, error) from None
    binding.deliver()
    return Statistics(machine.steps, machine.engine.issued)


def _functions(module: Module, kernel: MachineFunction) -> dict[str, Code]:
    """The code of a kernel, and of every function that it may come to."""
    known, table = {f.name: f for f in module.functions}, makers()
    work, found = [kernel.name], dict[str, Code]()
    while work:
        name = work.pop()
        if name in found or name not in known:
            continue
        function = known[name]
        found[name] = Compiler(module, function, table).compile()
        work += [op.name for mi in function.instructions() for op in mi.ops if type(op) is Sym]
        if function.prototypes:  # a pointer may have come through memory
            work += [f.name for f in module.functions if not f.is_kernel]
    return found


def _check_shared(static: int, dynamic: int) -> None:
    if dynamic < 0 or static + dynamic > SHARED_LIMIT:
        raise input_error(
            "run/shared-memory",
            "no CTA can have this much shared memory",
            got=f"{static} static and {dynamic} dynamic bytes",
            expected=f"0 to {SHARED_LIMIT} in all",
        )


def _stores_tiles(function: MachineFunction) -> bool:
    return any(mi.row.id == "cp.async.bulk.tensor.store" for mi in function.instructions())


_MOST_BYTES = 1 << 32


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
        data = np.zeros(variable.size, np.uint8)
        if variable.data:
            data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
        regions[variable.name] = memory.allocate(variable.name, variable.size, data)
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


# ---- arguments -------------------------------------------------------------------------------


class _Binding:
    """Arguments as parameter bytes, and the memory behind arrays."""

    def __init__(self, memory: Memory, *, stores: bool) -> None:
        self.memory = memory
        self.stores = stores  # whether the kernel may write through a tensor map
        self.tensor_maps: dict[bytes, BoundMap] = {}
        self._written: list[tuple[Array, Region]] = []

    def bind(
        self, function: MachineFunction, arguments: Sequence[Argument | Output]
    ) -> tuple[bytes, dict[str, int]]:
        """The parameter bytes, and where each parameter begins.

        Raises: InputError when an argument does not fit its parameter.
        """
        if len(arguments) != len(function.params):
            raise input_error(
                "run/arguments",
                f"kernel {function.name} has {len(function.params)} parameters",
                got=f"{len(arguments)} arguments",
                expected=", ".join(describe(p) for p in function.params) or "none",
            )
        data = bytearray()
        offsets: dict[str, int] = {}
        for param, argument in zip(function.params, arguments, strict=True):
            data.extend(bytes(round_up(len(data), param.align) - len(data)))
            offsets[param.name] = len(data)
            data.extend(self._encode(param, argument))
        self._connect_maps()
        return bytes(data), offsets

    def _encode(self, param: Param, argument: Argument | Output) -> bytes:
        match argument:
            case TensorMap():
                return self._tensor_map(param, argument)
            case Output(TensorMap() as map_):
                return self._tensor_map(param, map_, written=False)
            case Output(np.ndarray() as array):
                return self._pointer(param, array, written=False)
            case np.ndarray() if is_by_value(param):
                return bytes_by_value(param, argument)
            case np.ndarray():
                return self._pointer(param, argument, written=True)
        if isinstance(argument, (int, float, np.integer, np.floating)):
            return number_bytes(param, argument)
        raise misfit(param, type(argument).__name__)

    def _tensor_map(self, param: Param, argument: TensorMap, *, written: bool = True) -> bytes:
        if param.type is not ScalarType.B8 or param.size < SIZE:
            raise misfit(param, "a tensor map")
        key = struct.pack("<16sQ", b"nvgen tensor map", len(self.tensor_maps)).ljust(SIZE, b"\0")
        self.tensor_maps[key] = BoundMap(argument, argument.array)
        if self.stores:
            self._region(param, argument.array, written=written)
        return key.ljust(param.size, b"\0")

    def _connect_maps(self) -> None:
        """Let tensor maps see what the kernel writes, where their array is passed as well.

        Raises: NotSimulatedError when only parts of the arrays are the same.
        """
        for key, found in self.tensor_maps.items():
            for array, region in self._written:
                if _identity(array) == _identity(found.array):
                    live = region.data.view(array.dtype).reshape(array.shape)
                    written = region.written.reshape((*array.shape, array.itemsize))
                    self.tensor_maps[key] = BoundMap(found.map, live, written, region)
                elif np.may_share_memory(array, found.array) and np.shares_memory(
                    array, found.array
                ):
                    raise not_simulated("a tensor map that overlaps with another argument")

    def _pointer(self, param: Param, array: Array, *, written: bool) -> bytes:
        if not param.is_pointer and param.type is not ScalarType.U64:
            raise misfit(param, f"an array of {array.dtype}")
        return self._region(param, array, written=written).base.to_bytes(param.size, "little")

    def _region(self, param: Param, array: Array, *, written: bool) -> Region:
        region = self._known(param, array)
        if region is None:
            data = np.frombuffer(array.tobytes(), np.uint8).copy()
            region = self.memory.allocate(param.name, data.size, data if written else None)
            self._written.append((array, region))
        return region

    def _known(self, param: Param, array: Array) -> Region | None:
        """The memory of an array that an earlier argument has brought already.

        Raises: InputError when the two overlap but are not the same.
        """
        for other, region in self._written:
            if not np.may_share_memory(array, other):
                continue
            if _identity(array) == _identity(other):
                return region
            if np.shares_memory(array, other):
                raise input_error(
                    "run/overlap",
                    f"the array for {param.name} overlaps with another argument",
                    expected="the same array, or arrays apart",
                    hint="pass the whole array, and an offset as a number",
                )
        return None

    def deliver(self) -> None:
        """Copy what the kernel wrote back into the arrays."""
        for array, region in self._written:
            raw = np.frombuffer(array.tobytes(), np.uint8).copy()
            raw[region.written] = region.data[region.written]
            np.copyto(array, raw.view(array.dtype).reshape(array.shape))


def _identity(array: Array) -> tuple[object, ...]:
    return array.__array_interface__["data"], array.shape, array.strides, array.dtype.itemsize
