"""What the tests of the LLVM reader share: text in, records out, whichever way lines are cut."""

from __future__ import annotations

from typing import TypeVar

from isel.llvm.ir import Function, GlobalVariable, Instruction, Module
from isel.llvm.reader import read_module
from isel.llvm.values import Value
from tests.isel.llvm.llvm_corpus import print_of

T = TypeVar("T", bound=Instruction)

# Arguments that the snippets of `instruction` may use.
ARGUMENTS = (
    "i32 %i, i32 %j, i64 %l, i1 %c, float %x, float %y, double %d, half %h, ptr %p, "
    "ptr addrspace(3) %s, <4 x float> %v, <4 x i32> %w, { i32, float } %agg"
)


def read(text: str) -> Module:
    """LLVM's print of `text`, its lines cut in both ways, which must agree."""
    printed = print_of(text)
    module = read_module(printed)
    assert module == read_module(printed, fast=False)
    return module


def function(text: str) -> Function:
    """The only definition in `text`."""
    (found,) = read(text).definitions()
    return found


def instruction(text: str, kind: type[T], *, globals: str = "") -> T:
    """The first instruction of a function that begins with `text`."""
    module = read(f"{globals}\ndefine void @test({ARGUMENTS}) {{\n{text}\nret void\n}}")
    first = next(module.functions["test"].instructions())
    assert isinstance(first, kind)
    return first


def constant(type: str, text: str, *, globals: str = "") -> Value:
    """The initializer of a global variable of this type."""
    variable = read(f"{globals}\n@test = global {type} {text}").globals["test"]
    assert isinstance(variable, GlobalVariable)
    assert variable.initializer is not None
    return variable.initializer
