"""Calls of the walkthrough's intrinsics: tcgen05 as tile compilers spell it.

Layer: isel.select.  Input: a call such as `@llvm.nvvm.tcgen05.alloc.shared`.  Output: pseudo
records (`intrinsics.rows.walkthrough`), which a pass expands; the multiply becomes the record of
the machine (`isel.select.intrinsics.walkthrough_multiply`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding
from intrinsics.patterns import PREFIX
from intrinsics.rows.walkthrough import LD, VALUES_OF_LD, LoadShape, LoadValues
from intrinsics.targets import Ptx, Target
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm.types import VectorType
from isel.select.intrinsics.rows import select_row
from isel.select.intrinsics.table import check_available, forbidden
from isel.select.intrinsics.walkthrough_multiply import select_multiply
from isel.select.state import FunctionState

_LIKE_IT = re.compile(r"tcgen05\.(.*cta_group__|(ld|st)\.m\d+n|cp\.smem|mma_smem_desc)")
"""Names of the same spelling that nvgen may not know."""

_OF_A_TYPE = re.compile(r"(tcgen05\.ld\.m\d+n\d+x\d+b)\.v\d+[fi]\d+")
"""A load's name with its type behind it, so that a module may load several."""

_SUFFIXED = re.compile(r"tcgen05\.mma\.(cta_group__\d)\.([\w.]+)")
"""A multiply's name with its variant behind the CTA group instead of ahead of it."""


def is_walkthrough(name: str) -> bool:
    """Whether the intrinsic `name` is of the walkthrough's spelling, known or not."""
    short = name.removeprefix(PREFIX)
    if short in catalog.walkthrough_spellings():
        return True
    return _LIKE_IT.match(short) is not None and short not in catalog.spellings()


def _plain(name: str) -> str:
    """The name as the catalog has it: without a result's type, the CTA group last."""
    short = _OF_A_TYPE.sub(r"\1", name.removeprefix(PREFIX))
    return _SUFFIXED.sub(r"tcgen05.mma.\2.\1", short)


def select_walkthrough(
    state: FunctionState,
    call: ir.Call,
    name: str,
    module: ir.Module,
    target: Target,
    ptx: Ptx | None,
) -> tuple[Finding, ...]:
    """Select a call of the walkthrough's intrinsic `name`; gives what there is to note about it.

    Raises: Unselectable.
    """
    spelling = catalog.walkthrough_spellings().get(_plain(name))
    if spelling is None:
        raise forbidden(name) or _unsupported(name)
    check_available(spelling.row, target, ptx)
    if spelling.row is LD:
        select_row(state, call, name, _load(call, name, spelling))
        return ()
    _check_result(call, name, spelling)
    if spelling.row.pseudo:
        select_row(state, call, name, spelling)
        return ()
    return select_multiply(state, call, name, spelling, module)


def _unsupported(name: str) -> Unselectable:
    known = ", ".join(sorted(catalog.walkthrough_spellings()))
    return Unselectable(
        "walkthrough-unsupported",
        f"@{name} is not selectable: the walkthrough's spelling has no such name",
        op=name,
        got=f"@{name}",
        expected=f"{PREFIX} and {known}",
        hint="stores, shifts and lane masks have LLVM's own spelling: @llvm.nvvm.tcgen05.st… "
        "and its like",
    )


def _check_result(call: ir.Call, name: str, spelling: Spelling) -> None:
    """LLVM checks the results of its own intrinsics only."""
    wanted = spelling.pattern.result.partition(":")[0] or "void"
    if str(call.type) != wanted:
        raise Unselectable(
            "signature", f"@{name} gives {wanted}", op=name, got=str(call.type), expected=wanted
        )


def _load(call: ir.Call, name: str, spelling: Spelling) -> Spelling:
    """The load with as many values as its result has."""
    shape = spelling.attributes["shape"]
    elements = ("half",) if isinstance(shape, LoadShape) and shape.is_half else ("float", "i32")
    type_ = call.type
    counts = {VALUES_OF_LD: None, **{values.count: values for values in LoadValues}}
    fits = isinstance(type_, VectorType) and type_.count in counts
    if not isinstance(type_, VectorType) or not fits or str(type_.element) not in elements:
        wanted = " or ".join(f"<{VALUES_OF_LD} x {element}>" for element in elements)
        raise Unselectable(
            "signature",
            f"@{name} gives a vector of {' or '.join(elements)}, 8 to 256 in steps of 8",
            op=name, got=str(type_), expected=f"{wanted}, or as many as the accumulator gives",
        )  # fmt: skip
    element = str(type_.element).replace("float", "f32")
    return replace(
        spelling,
        pattern=replace(spelling.pattern, result=f"v*{element}:acc"),
        attributes={**spelling.attributes, "values": counts[type_.count]},
    )


# ---- a whole function ------------------------------------------------------------------------


class Spellings:
    """Which calls of a function are of which spelling: one function keeps to one of them."""

    def __init__(self) -> None:
        self.own: list[tuple[str, ir.Call]] = []
        self.llvms: list[tuple[str, ir.Call]] = []

    def see(self, name: str, call: ir.Call) -> bool:
        """Remember a call; gives whether it is of the walkthrough's spelling."""
        if is_walkthrough(name):
            self.own.append((name, call))
            return True
        if name.startswith(PREFIX + "tcgen05."):
            self.llvms.append((name, call))
        return False

    def problems(self) -> Iterator[tuple[Unselectable, ir.Call]]:
        """Errors about the function as a whole."""
        if self.own and self.llvms:
            yield _mixed(self.llvms[0][0]), self.llvms[0][1]


def _mixed(name: str) -> Unselectable:
    return Unselectable(
        "walkthrough-mixed",
        "a function keeps to one spelling of the tcgen05 intrinsics",
        op=name,
        got=f"@{name} beside the walkthrough's",
        expected="the walkthrough's intrinsics only, or LLVM's only",
        hint="the walkthrough's are the whole CTA's, LLVM's those of threads and warps",
    )
