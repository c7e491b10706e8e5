"""The walkthrough's multiplies: the machine's record, from a call, its words and its atom.

Layer: isel.select.  Input: a call of `@llvm.nvvm.tcgen05.mma.cta_group__1` or one of its variants,
with the atom as metadata.  Output: a tcgen05.mma record, whose instruction descriptor the atom
gives; notes.

    call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 %d, i64 %a, i64 %b, i32 193, i32 1, i1 true),
        !nvgen.atom !0
    !0 = !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}     ; the majors of A and of B
"""

from __future__ import annotations

from intrinsics.catalog import Spelling
from intrinsics.descriptors.packed_fields import (
    KIND_CODES,
    SCALE_VEC_CODES,
    CollectorWord,
    ControlWord,
)
from intrinsics.element import Major
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Imm, Mem, Op, form_of
from intrinsics.modifiers import CtaGroup, MmaKind
from intrinsics.multiplies.mma_atom import PATTERN, VARIANTS, AtomError, MmaAtom, parse_atom
from intrinsics.patterns import arguments
from intrinsics.row import Residency
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.values import MetadataString
from isel.llvm.values import Value as LlvmValue
from isel.select.intrinsics.signatures import group, lengths
from isel.select.state import FunctionState

ATOM = "nvgen.atom"
"""The kind of metadata that gives a multiply its atom, and the majors of A and of B."""

_IN_TENSOR_MEMORY = ("d", "sp_meta", "sfa", "sfb")


def select_multiply(
    state: FunctionState, call: ir.Call, name: str, spelling: Spelling, module: ir.Module
) -> tuple[Finding, ...]:
    """Select a multiply; gives what there is to note about it.

    Raises: Unselectable.
    """
    formal = arguments(spelling.pattern.args)
    groups = group(call, name, formal, lengths(spelling))
    values = {argument.name: one for argument, (one,) in zip(formal, groups, strict=True)}
    control = state.number(values["ctrl"], f"@{name}: ctrl") & 0xFFFF_FFFF
    collect = state.number(values["collector"], f"@{name}: collector") & 0xFFFF_FFFF
    atom, majors, notes = _atom(call, name, module)
    _check_variant(atom, spelling, name)
    _check_kind(atom, control, name)
    _check_majors(atom, majors, name)
    _check_collector(collect, name, stationary=atom.stationary)
    chosen = form_of(spelling.row, **spelling.attributes)
    ops: dict[str, Op] = {
        "idesc": Imm(atom.descriptor(*majors).encode()),
        "ctrl": Imm(control),
        "collector": Imm(collect),
        "scale_spelling": Imm(0),
    }
    for operand, one in values.items():
        if operand not in ops:
            ops[operand] = _operand(state, spelling, operand, one)
    state.emit(chosen, *(ops[slot] for slot in chosen.slots))
    return notes


def _operand(state: FunctionState, spelling: Spelling, name: str, value: LlvmValue) -> Op:
    in_tensor = name == "a" and spelling.attributes["a"] is Residency.TENSOR
    if in_tensor or name in _IN_TENSOR_MEMORY:
        return Mem(state.scalar_reg(value))
    return state.scalar(value)


# ---- the atom --------------------------------------------------------------------------------


def _atom(
    call: ir.Call, name: str, module: ir.Module
) -> tuple[MmaAtom, tuple[Major, Major], tuple[Finding, ...]]:
    words = _strings(call, module)
    if not words:
        raise _no_atom(name, "no !nvgen.atom", "the multiply does not say its shape and types")
    try:
        atom = parse_atom(words[0])
    except AtomError as error:
        raise _no_atom(name, words[0], str(error), error.expected) from None
    given = words[1:]
    if len(given) not in (0, 2) or not all(m in (Major.K.value, Major.MN.value) for m in given):
        raise _no_atom(name, " ".join(given), "the majors of A and of B", '!"K" or !"MN", twice')
    if given:
        return atom, (Major(given[0]), Major(given[1])), ()
    note = Finding(
        "walkthrough/majors",
        Severity.NOTE,
        "the atom does not say how A and B lie in shared memory: both are taken as K-major",
        op=name,
        got=f'!{{!"{words[0]}"}}',
        expected=f'!{{!"{words[0]}", !"K", !"K"}}',
        section="PTX ISA, Instruction descriptor",
    )
    return atom, (Major.K, Major.K), (note,)


def _strings(call: ir.Call, module: ir.Module) -> list[str]:
    """The strings of the atom's node; [] where there is none, or something else in it."""
    attached = call.attachment(ATOM)
    node = read_node(module, attached) if isinstance(attached, int) else None
    if not isinstance(node, TupleNode):
        return []
    words = [e.text for e in node.elements if isinstance(e, MetadataString)]
    return words if len(words) == len(node.elements) else []


def _no_atom(name: str, got: str, text: str, expected: str = "") -> Unselectable:
    return Unselectable(
        "walkthrough-atom",
        f"@{name}: {text}",
        op=name,
        got=got,
        expected=expected or f'!nvgen.atom !{{!"{PATTERN}", !"MN", !"K"}}',
        hint="an atom names the tile's M, N and K and the types of D, A and B; behind it stand the "
        "majors of A and of B",
        section="PTX ISA, Instruction descriptor",
    )


def _check_variant(atom: MmaAtom, spelling: Spelling, name: str) -> None:
    """Whether the call's name and the atom's say the same."""
    attributes = spelling.attributes
    called = {
        "sp": spelling.row.id.endswith(".sp"),
        "bs": bool(attributes.get("block_scale")),
        "ws": spelling.row.id.startswith("tcgen05.mma.ws"),
        "2cta": attributes.get("cta_group") is CtaGroup.TWO,
    }
    has = {variant.removesuffix("16") for variant in atom.variants}
    for variant, wanted in called.items():
        if wanted is (variant in has):
            continue
        what = VARIANTS[variant]
        text = (
            f"the call is of a {what} MMA, its atom is not"
            if wanted
            else f"'{atom.name}' is the atom of a {what} MMA"
        )
        raise _no_atom(name, atom.name, text, f"_{variant}" if wanted else f"no _{variant}")


def _check_majors(atom: MmaAtom, majors: tuple[Major, Major], name: str) -> None:
    shape = atom.descriptor(*majors)
    for problem in shape.problems(atom.group, ws=atom.stationary):
        raise _no_atom(name, problem.got, f"{problem.text}: {problem.got}", problem.expected)


def _check_kind(atom: MmaAtom, control: int, name: str) -> None:
    word = ControlWord.decode(control)
    kind = KIND_CODES[word.mma_kind]
    if kind is MmaKind.MXF4NVF4 is atom.kind and word.scale_vec_size == 1:
        raise Unselectable(
            "walkthrough-atom",
            f"@{name}: the control word has a scale factor for 32 elements, the atom for 16",
            op=name, got=f"{SCALE_VEC_CODES[1].value} in {control:#x}, {atom.name}",
            expected=SCALE_VEC_CODES[2].value, subject="ctrl",
            section="PTX ISA, tcgen05.mma",
        )  # fmt: skip
    if kind is atom.kind:
        return
    raise Unselectable(
        "walkthrough-atom",
        f"@{name}: the control word says {kind.value}, the atom {atom.kind.value}",
        op=name,
        got=f"{kind.value} in {control:#x}, {atom.name}",
        expected=f"{_word(atom)} ({atom.kind.value})",
        subject="ctrl",
        section="PTX ISA, tcgen05.mma",
    )


def _word(atom: MmaAtom) -> int:
    """The control word of a multiply of this atom."""
    code = next(code for code, kind in KIND_CODES.items() if kind is atom.kind)
    scaled, most = atom.scale is not None, atom.kind is MmaKind.MXF4NVF4
    return ControlWord(
        cta_group=2 if atom.pair else 1, block_scale=scaled, scale_vec_size=2 if most else 0,
        mma_kind=code,
    ).encode()  # fmt: skip


# ---- the collector ---------------------------------------------------------------------------


def _check_collector(word: int, name: str, *, stationary: bool) -> None:
    """The words that mean the same in the walkthrough's layout and in the records' own."""
    held = CollectorWord.decode(word)
    own = CollectorWord(valid=1, op=held.op, buffer=held.buffer)
    if stationary and held == own and 1 <= held.buffer <= 4:
        return  # the records' own layout: the walkthrough has no collectors of B
    if word in (0,) if stationary else word in (0, 1, 3):
        return
    raise _no_collector(word, name, stationary=stationary)


def _no_collector(word: int, name: str, *, stationary: bool) -> Unselectable:
    why = "a collector word of the walkthrough is 0, 1 or 3"
    expected = "0 (none), 1 (collector::a::fill) or 3 (collector::a::use)"
    if stationary:
        why = "a collector word of a weight-stationary MMA names b0 to b3"
        expected = "0 (none), or 1 + 2 * operation + 16 * buffer"
    elif word in (5, 7):
        why = (
            f"collector word {word} is ambiguous: bit 2 is both ashift and the high bit of the "
            "collector's operation"
        )
    return Unselectable(
        "walkthrough-collector",
        f"@{name}: {why}",
        op=name,
        got=f"{word:#x}",
        expected=expected,
        hint="lastuse, discard and ashift have LLVM's own spelling: @llvm.nvvm.tcgen05.mma.tensor",
        subject="collector",
        section="PTX ISA, tcgen05.mma",
    )
