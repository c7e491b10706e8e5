"""What llvmlite.ir lacks: bfloat, string attributes, debug locations.

Layer: nvgen.llvm.  llvmlite's attribute sets take known words only and cannot print `byval` on
an opaque pointer, string attributes such as `"nvvm.reqntid"="128"`, or the type bfloat.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir
from llvmlite.ir.types import _BaseFloatType
from llvmlite.ir.values import ArgumentAttributes, FunctionAttributes

from nvgen.calling.callers import Call


class BFloatType(_BaseFloatType):  # type: ignore[misc]  # llvmlite is untyped
    """`bfloat`."""

    null = "0.0"
    intrinsic_name = "bf16"

    def __str__(self) -> str:
        return "bfloat"

    def format_constant(self, value: float) -> str:
        """The constant by its bits, rounded to nearest even."""
        import ml_dtypes
        import numpy as np

        bits = np.array([value], ml_dtypes.bfloat16).view(np.uint16)[0]
        return f"0xR{int(bits):04X}"


BFloatType._create_instance()


class KernelAttributes(FunctionAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """Function attributes with string ones."""

    def __init__(self, strings: dict[str, str]) -> None:
        super().__init__()
        self.strings = strings

    def __bool__(self) -> bool:
        return len(self) > 0 or bool(self.strings)

    def _to_list(self, ret_type: ir.Type) -> list[str]:
        quoted = [f'"{key}"="{value}"' for key, value in self.strings.items()]
        known: list[str] = super()._to_list(ret_type)
        return known + quoted


class TextAttributes(ArgumentAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """Parameter attributes as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def _to_list(self, typ: ir.Type) -> list[str]:
        return [self.text]


def vector_value(
    builder: ir.IRBuilder, element: ir.Type, count: int, values: Iterable[ir.Value]
) -> ir.Value:
    """A vector of `count` values of one type."""
    found: ir.Value = ir.Constant(ir.VectorType(element, count), ir.Undefined)
    for index, value in enumerate(values):
        found = builder.insert_element(found, value, ir.Constant(ir.IntType(32), index))
    return found


TENSOR_MAP_ATTRIBUTES = 'byval([128 x i8]) align 64 "nvvm.grid_constant"'
"""A tensor map: 128 bytes by value, the same for the whole grid."""


def make_kernel(function: ir.Function, strings: dict[str, str]) -> None:
    """Mark `function` as a kernel with string attributes."""
    function.calling_convention = "ptx_kernel"
    function.attributes = KernelAttributes(strings)


class DebugLines:
    """Debug locations of Python lines; a helper function's are inlined where it was called.

    llvmlite makes a node that is not distinct once.
    """

    def __init__(self, module: ir.Module, function: ir.Function) -> None:
        self.module = module
        self.function = function
        self._helpers: dict[tuple[str, str], ir.DIValue] = {}
        self._locations: dict[tuple[Call, ...], ir.DIValue] = {}
        self._calls: dict[int, tuple[Call, ...]] = {}
        self._unit: ir.DIValue | None = None
        self._subprogram: tuple[str, ir.DIValue] | None = None  # and its file

    def at(self, calls: tuple[Call, ...]) -> ir.DIValue:
        """The location of a line, the first of `calls`, with the lines that called it."""
        found = self._locations.get(calls)
        if found is None:
            (call, *_), callers = calls, calls[1:]
            fields: dict[str, object] = {"line": call.line, "column": 1}
            if callers:
                helper = call.file, call.function
                fields["inlinedAt"] = self.at(callers)
                if helper not in self._helpers:
                    self._helpers[helper] = self._program(*helper)
                fields["scope"] = self._helpers[helper]
            else:
                fields["scope"] = self._scope(call.file)
            found = self.module.add_debug_info("DILocation", fields)
            self._locations[calls] = found
            self._calls[id(found)] = calls
        return found

    def beside(self, function: ir.Function) -> DebugLines:
        """The lines of another function of the module."""
        other = DebugLines(self.module, function)
        other._unit, other._calls = self._unit, self._calls
        return other

    def calls_of(self, location: ir.DIValue | None) -> tuple[Call, ...]:
        """The lines of a location, the callers' included."""
        return self._calls.get(id(location), ())

    def _file(self, path: str) -> ir.DIValue:
        directory, _, name = path.rpartition("/")
        return self.module.add_debug_info("DIFile", {"filename": name, "directory": directory})

    def _scope(self, path: str) -> ir.DIValue:
        """The function's subprogram, or a block in it for lines of another file."""
        if self._subprogram is None:
            self._subprogram = path, self._program(path, self.function.name)
            self.function.set_metadata("dbg", self._subprogram[1])
        first, subprogram = self._subprogram
        if path == first:
            return subprogram
        fields = {"scope": subprogram, "file": self._file(path), "discriminator": 0}
        return self.module.add_debug_info("DILexicalBlockFile", fields)

    def _program(self, path: str, name: str) -> ir.DIValue:
        """A function of Python that adds to the kernel."""
        file, empty = self._file(path), {"types": self.module.add_metadata([])}
        fields = {
            "name": name,
            "scope": file,
            "file": file,
            "line": 1,
            # without a type LLVM's code generator dereferences null
            "type": self.module.add_debug_info("DISubroutineType", empty),
            "spFlags": ir.DIToken("DISPFlagDefinition"),
            "unit": self._made_unit(file),
        }
        return self.module.add_debug_info("DISubprogram", fields, is_distinct=True)

    def _made_unit(self, file: ir.DIValue) -> ir.DIValue:
        """The unit that all functions belong to."""
        if self._unit is not None:
            return self._unit
        fields = {
            "language": ir.DIToken("DW_LANG_Python"),
            "file": file,
            "producer": "nvgen",
            "isOptimized": False,
            "runtimeVersion": 0,
            "emissionKind": ir.DIToken("LineTablesOnly"),
        }
        self._unit = self.module.add_debug_info("DICompileUnit", fields, is_distinct=True)
        self.module.add_named_metadata("llvm.dbg.cu", self._unit)
        flag = [ir.IntType(32)(2), "Debug Info Version", ir.IntType(32)(3)]
        self.module.add_named_metadata("llvm.module.flags", flag)
        return self._unit
