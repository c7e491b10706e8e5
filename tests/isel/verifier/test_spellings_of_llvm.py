"""LLVM's spellings of intrinsics, all of them: what is selected is legal for the target."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence

import pytest
from llvmlite import binding

from asmprinter.ptx.printer import print_ptx
from intrinsics.catalog import Spelling, spellings
from intrinsics.findings import (
    SelectionError,
    Severity,
)
from intrinsics.mir import Module
from intrinsics.modifiers import CtaGroup
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target, parse_ptx
from isel.llvm import ir
from isel.llvm.reader import read_module
from isel.pipeline import lower
from isel.verifier.record import verify_records
from tests.each import each
from tests.isel.verifier.records import NEWEST, assemble
from tests.oracle import llvm_signatures, mma_sync_signatures, wmma_signatures
from tests.oracle.ptxas import required_ptxas
from tests.oracle.tensor_forms import IMPOSSIBLE

IMMEDIATES = {
    "setmaxnreg.inc.sync.aligned.u32": "64",
    "setmaxnreg.dec.sync.aligned.u32": "64",
    "pm.event.mask": "5",
}
"""Intrinsics whose one operand is a number to LLVM's verifier, which has a range for it."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of an intrinsic, with the codes of the immediates that encode qualifiers."""

    spelling: Spelling
    codes: tuple[tuple[str, int], ...]

    @functools.cached_property
    def attributes(self) -> dict[str, object]:
        """What the name and the immediates say."""
        found: dict[str, object] = dict(self.spelling.attributes)
        for qualifier, code in self.codes:
            found[qualifier] = self.spelling.pattern.codes[qualifier][code]
        return found

    @functools.cached_property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Types and values.

        A pattern lists `type:operand`, `type#qualifier` (`/4` and `%4` are parts of one code), and
        `type?operand`; `i32*` is one argument for each dimension.
        """
        if self.spelling.name.startswith("mma."):
            known = mma_sync_signatures.signature(self.spelling.name)
            given = [(type_, _MMA_VALUES.get(type_, "zeroinitializer")) for type_ in known.args]
            if known.selector is not None:
                given[known.selector] = ("i32", "0")
            return tuple(given)
        if self.spelling.name.startswith("wmma."):
            taken = wmma_signatures.signature(self.spelling.name).arguments
            return tuple((type_, self._wmma_value(type_)) for type_ in taken)
        parts = [part.strip() for part in self.spelling.pattern.args.split(",") if part.strip()]
        return tuple(argument for part in parts for argument in self._arguments(part))

    @staticmethod
    def _wmma_value(type_: str) -> str:
        pointer = re.fullmatch(r"ptr addrspace\((\d)\)", type_)
        return (
            f"%p{pointer[1].strip('0')}" if pointer else _MMA_VALUES.get(type_, "zeroinitializer")
        )

    def text(self) -> str:
        shown = ", ".join(f"{type_} {value}" for type_, value in self.arguments)
        assign = "" if self.result == "void" else "%result = "
        return f"{assign}call {self.result} @llvm.nvvm.{self.spelling.name}({shown})"

    def declaration(self) -> str:
        types = ", ".join(type_ for type_, _ in self.arguments)
        return f"declare {self.result} @llvm.nvvm.{self.spelling.name}({types})"

    def _arguments(self, part: str) -> Iterator[tuple[str, str]]:
        match = re.fullmatch(r"([\w*]+)([:#?])(\w+)(?:([/%])(\d+))?", part)
        assert match is not None, part
        type_, sign, name, scale, by = match.groups()
        if sign == "#":
            code = dict(self.codes)[name]
            number = code // int(by) if scale == "/" else code % int(by) if scale else code
            yield type_, ("false", "true")[number] if type_ == "i1" else str(number)
        elif sign == "?":
            yield type_, "true"
        elif self.spelling.name.startswith("wgmma.mma_async") and name in _WGMMA_NUMBERS:
            yield type_, _WGMMA_NUMBERS[name]
        elif type_.startswith("n*") and "bulk.tensor" in self.spelling.name:
            yield from [(type_[2:], "0")] * self._coordinates(name)
        elif type_.startswith("n*"):
            value = {"i64": "%l", "i32": "%i", "float": "%f"}.get(type_[2:], "0.0")
            yield from [(type_[2:], value)] * self._registers(name)
        elif self.spelling.name in IMMEDIATES:
            yield type_, IMMEDIATES[self.spelling.name]
        elif name in ("half_split", "scale_d", "n") and type_ != "i1":
            yield type_, "2"
        elif name in ("ord", "code"):  # of a field of a tensor map
            yield type_, "1"
        elif name == "size":  # bytes of a tensor map
            yield type_, "128"
        elif name == "initval":  # of st.bulk, which stores zeros alone
            yield type_, "0"
        elif type_.startswith("v"):
            yield ("i32", "%i") if self._registers(name) == 1 else (
                f"<{self._registers(name)} x {type_[2:]}>", "zeroinitializer",
            )  # fmt: skip
        elif type_.startswith("p"):
            yield f"ptr addrspace({type_[1:] or 0})", f"%p{type_[1:]}"
        else:
            names = {"i1": "%c", "i16": "%h", "i32": "%i", "i64": "%l", "float": "%f"}
            yield type_, names.get(type_, "zeroinitializer")

    def _coordinates(self, name: str) -> int:
        """How many coordinates or offsets a tensor copy has; one where there is no such rank."""
        if "gather4" in self.spelling.name or "scatter4" in self.spelling.name:
            return 5
        wide = ".im2col.w" in self.spelling.name and name == "offsets"
        rank = int(self.attributes["dim"].value[0])  # type: ignore[attr-defined]
        return 2 if wide else max(rank if name == "coords" else rank - 2, 1)

    def _registers(self, name: str) -> int:
        """The length of a vector; PTX ISA, Tables 47 and 48, and tcgen05.mma's lane mask.

        A compressing load keeps two numbers of four, and has 2 bits for the place of each.  A
        warpgroup holds 64 x N numbers of D, two of f16 in a register.
        """
        if shape := re.match(
            r"wgmma\.mma_async\.(?:sp\.)?m64n(\d+)k\d+\.(\w+)", self.spelling.name
        ):
            return 4 if name == "a" else int(shape[1]) // (4 if shape[2] == "f16" else 2)
        if move := re.match(
            r"(?:ld|st)matrix\.sync\.aligned\.m(\d+)n(\d+)\.x(\d)", self.spelling.name
        ):
            return int(move[3]) * (2 if move[1] == move[2] == "16" else 1)
        if stored := re.fullmatch(
            r"(?:st\.async|multimem)\.(?:\w+\.)*?(?:v(\d)\.)?[a-z]+\d\w*", self.spelling.name
        ):
            return int(stored[1] or 1)
        if name == "mask":
            return 8 if self.attributes["cta_group"] is CtaGroup.TWO else 4
        if name in ("cdata", "mdata"):
            times = int(self.attributes["num"].value[1:])  # type: ignore[attr-defined]
            return times // 2 if name == "cdata" else max(times // 32, 1)
        each = {"16x128b": 2, "16x256b": 4}.get(self.attributes["shape"].value, 1)  # type: ignore[attr-defined]
        return each * int(self.attributes["num"].value[1:])  # type: ignore[attr-defined]

    @functools.cached_property
    def result(self) -> str:
        if self.spelling.name.startswith("mma."):
            return mma_sync_signatures.signature(self.spelling.name).result
        if self.spelling.name.startswith("wmma."):
            return wmma_signatures.signature(self.spelling.name).result
        text = self.spelling.pattern.result
        if not text:
            return "void"
        if text.startswith("{"):
            return "{ " + ", ".join(map(self._result, text[1:-1].split(", "))) + " }"
        return self._result(text)

    def _result(self, text: str) -> str:
        type_, _, name = text.partition(":")
        if type_.startswith("p"):
            return f"ptr addrspace({type_[1:] or 0})"
        if not type_.startswith(("v*", "n*")):
            return type_
        count = self._registers(name)
        if type_.startswith("n*") and count > 1:
            return "{ " + ", ".join([type_[2:]] * count) + " }"
        return type_[2:] if count == 1 else f"<{count} x {type_[2:]}>"


_MMA_VALUES = {"float": "%f", "i32": "%i", "i16": "%h", "double": "0.0"}

_WGMMA_NUMBERS = {"scale_a": "1", "scale_b": "-1", "trans_a": "0", "trans_b": "1", "sp_sel": "0"}
"""Operands that must be numbers, as the manual has them."""

AT_MOST = 6
"""Choices of the immediates of one intrinsic, evenly out of all of them."""


@functools.cache
def asked() -> dict[str, Spelling]:
    """Every intrinsic that selects to a row; of wgmma's shapes, which differ in N, the two ends.

    All of these are selected and printed in tests/oracle/test_wgmma_names.py.
    """
    return {
        name: spelling
        for name, spelling in spellings().items()
        if not (shape := re.match(r"wgmma\.mma_async\.(?:sp\.)?m64n(\d+)k", name))
        or shape[1] in ("8", "256")
    }


def calls() -> Iterator[Call]:
    """The intrinsics, each with some of its immediates."""
    for spelling in asked().values():
        qualifiers = [n for n in spelling.pattern.codes if f"#{n}" in spelling.pattern.args]
        tables = [spelling.pattern.codes[qualifier] for qualifier in qualifiers]
        choices = list(itertools.product(*tables))
        for choice in choices[:: max(1, len(choices) // AT_MOST)]:
            yield Call(spelling, tuple(zip(qualifiers, choice, strict=True)))


MADE = {
    "%c": "icmp eq i32 %i, 0",
    "%p4": "addrspacecast ptr %p to ptr addrspace(4)",
    "%p5": "addrspacecast ptr %p to ptr addrspace(5)",
    "%p7": "addrspacecast ptr addrspace(3) %p3 to ptr addrspace(7)",
    "%p101": "addrspacecast ptr %p to ptr addrspace(101)",
}
"""What the calls use besides parameters."""

PARAMETERS = {
    "%h": "i16", "%i": "i32", "%l": "i64", "%f": "float", "%p": "ptr", "%p1": "ptr addrspace(1)",
    "%p3": "ptr addrspace(3)", "%p6": "ptr addrspace(6)",
}  # fmt: skip


def body_of(call: Call) -> str:
    """A kernel's parameters and body: a pointer, what the call uses, and the call."""
    used = {"%p", *re.findall(r"%\w+", call.text())}
    made = [f"{name} = {text}" for name, text in MADE.items() if name in used]
    used |= {name for text in made for name in re.findall(r"%\w+", text)}
    parameters = ", ".join(f"{kind} {name}" for name, kind in PARAMETERS.items() if name in used)
    lines = "".join(f"  {line}\n" for line in (*made, call.text(), "ret void"))
    return f"({parameters}) {{\n{lines}}}"


def text_of(found: Sequence[Call]) -> str:
    """One kernel for each call."""
    kernels = [f"define ptx_kernel void @k{n}{body_of(call)}" for n, call in enumerate(found)]
    return "\n".join([*sorted({call.declaration() for call in found}), *kernels])


@functools.cache
def everything(simplest: bool = False) -> tuple[tuple[Call, ...], ir.Module]:
    """The calls, and a kernel for each; LLVM's verifier, which rejects some, is not asked.

    Of the `simplest` there is one for each intrinsic.
    """
    found = tuple(first_calls() if simplest else calls())
    context = binding.create_context()
    with binding.parse_assembly(text_of(found), context=context) as module:
        text = str(module)
    return found, read_module(text)


def first_calls() -> list[Call]:
    """Each intrinsic with the first of its immediates."""
    return [next(iter(same)) for _, same in itertools.groupby(calls(), lambda c: c.spelling)]


def test_llvm_knows_every_spelling_and_its_signature():
    """LLVM gives the intrinsics that it knows their attributes, and verifies their types.

    It knows all but nvgen's own names for forms that it lacks.
    """
    simplest = first_calls()
    assert len(simplest) == len(asked())
    with binding.parse_assembly(text_of(simplest), context=binding.create_context()) as module:
        module.verify()
        text = str(module)
    declared = [line for line in text.splitlines() if line.startswith("declare ")]
    assert len(declared) == len(asked())
    unknown = [line for line in declared if not re.search(r"#\d+$", line)]
    names = {re.search(r"@llvm\.nvvm\.([\w.]+)\(", line)[1] for line in unknown}
    lacking = (
        *("tcgen05.", "wgmma.mma_async.", "mma.", "cp.async.", "st.async.", "red.async."),
        *("movmatrix.", "tensormap.cp_fenceproxy.", "createpolicy.", "multimem."),
    )
    some_lack = {name for name in asked() if name.startswith(lacking)}
    assert names == some_lack - set(llvm_signatures.all_names())


def without(module: ir.Module, names: set[str]) -> ir.Module:
    kept = {name: f for name, f in module.functions.items() if name not in names}
    return dataclasses.replace(module, functions=kept)


def emitted(module: ir.Module, target: Target, ptx: Ptx) -> tuple[set[str], set[str], Module]:
    """What selection rejects, what the verifier rejects, and the rest as machine code."""
    refused: set[str] = set()
    try:
        selected = lower(module, target, ptx)
    except SelectionError as error:
        refused = {f.place.function for f in error.findings}
        selected = lower(without(module, refused), target, ptx)
    findings = verify_records(selected, target, ptx, hints=False)
    wrong = {f.place.function for f in findings if f.severity is Severity.ERROR}
    selected.functions = [f for f in selected.functions if f.name not in wrong]
    return refused, wrong, selected


CLOSURE = [
    *((name, NEWEST) for name in ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_103f", "sm_110f")),
    ("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_90a", "8.0"),
    *(("sm_100a", version) for version in ("8.6", "8.7", "8.8", "9.0", NEWEST)),
    ("sm_107a", NEWEST), ("sm_120a", NEWEST),
]  # fmt: skip
"""Targets, and versions of PTX in which they have more and more."""


@each("target, version", CLOSURE, turns=56)
def test_no_form_that_the_target_lacks_is_emitted(target: str, version: str):
    """Selection, then the verifier, reject it; whatever gets through, ptxas takes."""
    found, module = everything()
    ptx = parse_ptx(version)
    refused, wrong, rest = emitted(module, TARGETS[target], ptx)
    assert not refused & wrong
    assert len(refused) + len(wrong) + len(rest.functions) == len(found)
    required_ptxas()
    printed = print_ptx(rest, ptx)
    status, errors, log = assemble(printed.text, target)
    shown = [(printed.text.split("\n")[line - 1], text) for line, text in errors]
    assert (status, shown) == (0, []), log


@pytest.mark.turns(6)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100"])
def test_a_target_without_tensor_memory_selects_nothing_of_tcgen05(target: str):
    found, module = everything(simplest=True)
    refused, wrong, _ = emitted(module, TARGETS[target], PTX_VERSIONS[-1])
    of_tcgen05 = {
        f"k{n}" for n, call in enumerate(found) if call.spelling.name.startswith("tcgen05.")
    }
    assert of_tcgen05 <= refused
    assert not of_tcgen05 & wrong


@pytest.mark.turns(3)
def test_every_spelling_is_emitted_somewhere():
    """An intrinsic that no target takes would be a row nobody can use."""
    found, module = everything(simplest=True)
    names: set[str] = set()
    for target in ("sm_107a", "sm_120a", "sm_100a", "sm_90a", "sm_90"):
        done = {f"k{n}" for n, call in enumerate(found) if call.spelling.name in names}
        _, _, rest = emitted(without(module, done), TARGETS[target], PTX_VERSIONS[-1])
        names |= {found[int(f.name[1:])].spelling.name for f in rest.functions}
    assert names == {name for name in asked() if not re.fullmatch(IMPOSSIBLE, name)}
