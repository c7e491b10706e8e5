"""Extensions of llvmlite.ir: bfloat, string attributes, debug locations.

Layer: nvgen.builder.  llvmlite's attribute sets take known words only and cannot print `byval` on
an opaque pointer, string attributes such as `"nvvm.reqntid"="128"`, or the type bfloat.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir
from llvmlite.ir.types import _BaseFloatType
from llvmlite.ir.values import ArgumentAttributes, FunctionAttributes

from nvgen.callers import Call


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
    """Debug locations of Python lines; a helper function's are inlined where it was called."""

    def __init__(self, module: ir.Module, function: ir.Function) -> None:
        self.module = module
        self.function = function
        self._files: dict[str, ir.DIValue] = {}
        self._programs: dict[str, ir.DIValue] = {}
        self._helpers: dict[tuple[str, str], ir.DIValue] = {}
        self._locations: dict[tuple[Call, ...], ir.DIValue] = {}
        self._calls: dict[int, tuple[Call, ...]] = {}
        self._unit: ir.DIValue | None = None
        self._subprogram: ir.DIValue | None = None
        self._type: ir.DIValue | None = None

    def at(self, calls: tuple[Call, ...]) -> ir.DIValue:
        """The location of a line, the first of `calls`, with the lines that called it."""
        found = self._locations.get(calls)
        if found is None:
            (call, *_), callers = calls, calls[1:]
            fields: dict[str, object] = {"line": call.line, "column": 1}
            if callers:
                fields |= {"inlinedAt": self.at(callers), "scope": self._helper(call)}
            else:
                fields["scope"] = self._scope(call.file)
            found = self.module.add_debug_info("DILocation", fields)
            self._locations[calls] = found
            self._calls[id(found)] = calls
        return found

    def beside(self, function: ir.Function) -> DebugLines:
        """Those of another function of the module, which has the same files."""
        other = DebugLines(self.module, function)
        other._files, other._unit, other._type = self._files, self._unit, self._type
        other._calls = self._calls
        return other

    def calls_of(self, location: ir.DIValue | None) -> tuple[Call, ...]:
        """The lines of a location, the callers' included."""
        return self._calls.get(id(location), ())

    def _helper(self, call: Call) -> ir.DIValue:
        """A function of Python that adds to the kernel."""
        name = call.file, call.function
        if name not in self._helpers:
            self._helpers[name] = self._program(call.file, call.function)
        return self._helpers[name]

    def _file(self, path: str) -> ir.DIValue:
        if path not in self._files:
            directory, _, name = path.rpartition("/")
            self._files[path] = self.module.add_debug_info(
                "DIFile", {"filename": name, "directory": directory}
            )
        return self._files[path]

    def _scope(self, path: str) -> ir.DIValue:
        """The function's subprogram, or a block in it for lines of another file."""
        if self._subprogram is None:
            self._subprogram = self._make_subprogram(path)
            self._programs[path] = self._subprogram
        if path not in self._programs:
            self._programs[path] = self.module.add_debug_info(
                "DILexicalBlockFile",
                {"scope": self._subprogram, "file": self._file(path), "discriminator": 0},
            )
        return self._programs[path]

    def _make_subprogram(self, path: str) -> ir.DIValue:
        subprogram = self._program(path, self.function.name)
        self.function.set_metadata("dbg", subprogram)
        return subprogram

    def _program(self, path: str, name: str) -> ir.DIValue:
        file = self._file(path)
        return self.module.add_debug_info(
            "DISubprogram",
            {
                "name": name,
                "scope": file,
                "file": file,
                "line": 1,
                "type": self._any_type(),  # without a type LLVM's code generator dereferences null
                "spFlags": ir.DIToken("DISPFlagDefinition"),
                "unit": self._made_unit(file),
            },
            is_distinct=True,
        )

    def _any_type(self) -> ir.DIValue:
        """A subroutine type without parameters."""
        if self._type is None:
            self._type = self.module.add_debug_info(
                "DISubroutineType", {"types": self.module.add_metadata([])}
            )
        return self._type

    def _made_unit(self, file: ir.DIValue) -> ir.DIValue:
        """The unit that all functions belong to."""
        if self._unit is not None:
            return self._unit
        self._unit = self.module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_Python"),
                "file": file,
                "producer": "nvgen",
                "isOptimized": False,
                "runtimeVersion": 0,
                "emissionKind": ir.DIToken("LineTablesOnly"),
            },
            is_distinct=True,
        )
        self.module.add_named_metadata("llvm.dbg.cu", self._unit)
        flag = [ir.IntType(32)(2), "Debug Info Version", ir.IntType(32)(3)]
        self.module.add_named_metadata("llvm.module.flags", flag)
        return self._unit
