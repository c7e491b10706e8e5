"""The packed words of a tcgen05.mma record: control word, collector word, scale spelling.

Layer: intrinsics.  Selection packs them, the verifier unpacks them, the AsmPrinter turns them into
modifiers.  Bit layouts (bits, field, codes):

    control word     0-1  cta_group        1 one CTA, 2 CTA pair
                     2-3  scale_vec_size   0 none, 1 2X, 2 4X, 3 explicit 1X
                     4    scale_input_acc  the scale-input-d operand is there
                     5    block_scale
                     6-8  mma_kind         0 mxf4nvf4, 1 i8, 2 mxf8f6f4, 3 f16, 4 tf32, 5 f8f6f4,
                                           6 ti16, 7 mxf4
                     9-31 zero
    collector word   0    valid            a collector of A (or b0..b3) is spelled
                     1-2  op               0 fill, 1 use, 2 lastuse, 3 discard
                     3    ashift
                     4-6  buffer           0 a, 1-4 b0-b3
                     7    b_valid          a collector of B is spelled (sm_107)
                     8-9  b_op             as op
                     10-31 zero
    scale spelling   0 as the control word says, 16 .block16, 32 .block32
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import (
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    CtaGroup,
    MmaKind,
    Modifier,
    ScaleVec,
)
from intrinsics.row import Attribute, Attributes, Problem

KIND_CODES: dict[int, MmaKind] = {
    0: MmaKind.MXF4NVF4,
    1: MmaKind.I8,
    2: MmaKind.MXF8F6F4,
    3: MmaKind.F16,
    4: MmaKind.TF32,
    5: MmaKind.F8F6F4,
    6: MmaKind.TI16,
    7: MmaKind.MXF4,
}
SCALE_VEC_CODES: dict[int, ScaleVec] = {1: ScaleVec.X2, 2: ScaleVec.X4, 3: ScaleVec.X1}
SPELLING_CODES: dict[int, ScaleVec] = {16: ScaleVec.BLOCK16, 32: ScaleVec.BLOCK32}
OPS = ("fill", "use", "lastuse", "discard")


@dataclass(frozen=True, slots=True)
class ControlWord:
    """The control word, field by field, each as the number in the word."""

    cta_group: int = 1
    scale_vec_size: int = 0
    scale_input_acc: int = 0
    block_scale: int = 0
    mma_kind: int = 3
    reserved: int = 0

    def encode(self) -> int:
        """The 32-bit word."""
        return (
            self.cta_group
            | self.scale_vec_size << 2
            | self.scale_input_acc << 4
            | self.block_scale << 5
            | self.mma_kind << 6
            | self.reserved << 9
        )

    @classmethod
    def decode(cls, word: int) -> ControlWord:
        """The fields of a word."""
        return cls(word & 3, word >> 2 & 3, word >> 4 & 1, word >> 5 & 1, word >> 6 & 7, word >> 9)

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        groups = {1: "cta_group::1, one CTA", 2: "cta_group::2, a CTA pair"}
        scale = SCALE_VEC_CODES.get(self.scale_vec_size)
        return [
            ("0-1", "cta_group", f"{self.cta_group} {groups.get(self.cta_group, 'invalid')}"),
            ("2-3", "scale_vec_size", f"{self.scale_vec_size} {scale.value if scale else 'none'}"),
            ("4", "scale_input_acc", f"{self.scale_input_acc}"),
            ("5", "block_scale", f"{self.block_scale}"),
            ("6-8", "mma_kind", f"{self.mma_kind} {KIND_CODES[self.mma_kind].value}"),
            ("9-31", "reserved", f"{self.reserved}" + (" (must be 0)" if self.reserved else "")),
        ]

    def __str__(self) -> str:
        parts = [KIND_CODES[self.mma_kind].value, f"cta_group::{self.cta_group}"]
        if self.block_scale:
            parts.append("block_scale")
        if self.scale_vec_size:
            parts.append(SCALE_VEC_CODES[self.scale_vec_size].value)
        if self.scale_input_acc:
            parts.append("scale-input-d")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class CollectorWord:
    """The collector word, field by field, each as the number in the word."""

    valid: int = 0
    op: int = 0
    ashift: int = 0
    buffer: int = 0
    b_valid: int = 0
    b_op: int = 0
    reserved: int = 0

    def encode(self) -> int:
        """The 32-bit word."""
        return (
            self.valid
            | self.op << 1
            | self.ashift << 3
            | self.buffer << 4
            | self.b_valid << 7
            | self.b_op << 8
            | self.reserved << 10
        )

    @classmethod
    def decode(cls, word: int) -> CollectorWord:
        """The fields of a word."""
        return cls(
            word & 1,
            word >> 1 & 3,
            word >> 3 & 1,
            word >> 4 & 7,
            word >> 7 & 1,
            word >> 8 & 3,
            word >> 10,
        )

    @property
    def buffer_name(self) -> str:
        """`a`, `b0`…`b3`, or what is wrong."""
        return ("a", "b0", "b1", "b2", "b3", "invalid", "invalid", "invalid")[self.buffer]

    def explain(self) -> list[tuple[str, str, str]]:
        """Rows (bits, field, meaning)."""
        op = f" collector::{self.buffer_name}::{OPS[self.op]}" if self.valid else " not spelled"
        b_op = f" collector::b::{OPS[self.b_op]}" if self.b_valid else " not spelled"
        return [
            ("0", "valid", f"{self.valid}"),
            ("1-2", "op", f"{self.op}{op}"),
            ("3", "ashift", f"{self.ashift}"),
            ("4-6", "buffer", f"{self.buffer} {self.buffer_name}"),
            ("7", "b_valid", f"{self.b_valid}"),
            ("8-9", "b_op", f"{self.b_op}{b_op}"),
            ("10-31", "reserved", f"{self.reserved}" + (" (must be 0)" if self.reserved else "")),
        ]

    def __str__(self) -> str:
        parts = [f"collector::{self.buffer_name}::{OPS[self.op]}"] if self.valid else []
        if self.b_valid:
            parts.append(f"collector::b::{OPS[self.b_op]}")
        if self.ashift:
            parts.append("ashift")
        return " ".join(parts) or "no collector"


def _code(table: Mapping[int, Modifier], member: Attribute) -> int:
    return next((code for code, m in table.items() if m is member), 0)


_WS_BY_WORD = {
    (buffer, op): CollectorWs(f"collector::b{buffer - 1}::{name}")
    for buffer in (1, 2, 3, 4)
    for op, name in enumerate(OPS)
}
_A_BY_OP = {op: CollectorA(f"collector::a::{name}") for op, name in enumerate(OPS)}
_B_BY_OP = {op: CollectorB(f"collector::b::{name}") for op, name in enumerate(OPS)}


@dataclass(frozen=True, slots=True)
class MmaFields:
    """The encoding of tcgen05.mma qualifiers in packed integers."""

    weight_stationary: bool = False

    def slots(self, attributes: Attributes) -> tuple[str, ...]:
        """The slots that hold the words; only block-scaled opcodes have a scale spelling."""
        if attributes.get("block_scale") is BlockScale.BLOCK_SCALE:
            return ("ctrl", "collector", "scale_spelling")
        return ("ctrl", "collector")

    @property
    def qualifiers(self) -> frozenset[str]:
        """The qualifiers that the opcode does not spell."""
        if self.weight_stationary:
            return frozenset(("cta_group", "kind", "collector_ws"))
        return frozenset(("kind", "scale_vec", "ashift", "collector_a", "collector_b"))

    def pack(self, attributes: Attributes) -> dict[str, int]:
        """The words for `attributes`, by slot."""
        scale = attributes.get("scale_vec")
        control = ControlWord(
            cta_group=2 if attributes.get("cta_group") is CtaGroup.TWO else 1,
            scale_vec_size=_code(SCALE_VEC_CODES, scale),
            scale_input_acc=int(bool(attributes.get("scale_d"))),
            block_scale=int(attributes.get("block_scale") is BlockScale.BLOCK_SCALE),
            mma_kind=_code(KIND_CODES, attributes.get("kind")),
        )
        words = {"ctrl": control.encode(), "collector": self._pack_collector(attributes)}
        if control.block_scale:
            words["scale_spelling"] = _code(SPELLING_CODES, scale)
        return words

    def _pack_collector(self, attributes: Attributes) -> int:
        ws, a, b = (
            attributes.get("collector_ws"),
            attributes.get("collector_a"),
            attributes.get("collector_b"),
        )
        if isinstance(ws, CollectorWs):
            buffer, op = next(word for word, member in _WS_BY_WORD.items() if member is ws)
            return CollectorWord(valid=1, op=op, buffer=buffer).encode()
        return CollectorWord(
            valid=int(a is not None),
            op=_code(_A_BY_OP, a),
            ashift=int(attributes.get("ashift") is AShift.ASHIFT),
            b_valid=int(b is not None),
            b_op=_code(_B_BY_OP, b),
        ).encode()

    def unpack(
        self, words: Mapping[str, int], attributes: Attributes
    ) -> tuple[dict[str, Attribute], tuple[Problem, ...]]:
        """The attributes in `words`; where they contradict themselves or those of the opcode."""
        control = ControlWord.decode(words.get("ctrl", 0))
        found: dict[str, Attribute] = {"kind": KIND_CODES[control.mma_kind]}
        if self.weight_stationary:
            found["cta_group"] = CtaGroup.TWO if control.cta_group == 2 else CtaGroup.ONE
        problems = _control_problems(control, {**found, **attributes})
        collector = CollectorWord.decode(words.get("collector", 0))
        if self.weight_stationary:
            found["collector_ws"] = (
                _WS_BY_WORD.get((collector.buffer, collector.op)) if collector.valid else None
            )
            problems += [*_stationary_problems(control), *_collector_problems(collector, ws=True)]
            return found, tuple(problems)
        problems += _collector_problems(collector, ws=False)
        spelling = words.get("scale_spelling", 0)
        if spelling and spelling not in SPELLING_CODES:
            problems.append(
                Problem(
                    "scale-spelling", "scale_spelling is 0, 16 or 32", str(spelling), "0, 16 or 32"
                )
            )
        elif spelling and control.scale_vec_size:
            problems.append(
                Problem(
                    "scale-spelling",
                    "scale_vec_size and scale_spelling cannot both be given",
                    f"scale_vec_size {control.scale_vec_size} and spelling {spelling}",
                    "one of the two 0",
                )
            )
        found["scale_vec"] = SCALE_VEC_CODES.get(
            control.scale_vec_size, SPELLING_CODES.get(spelling)
        )
        found["ashift"] = AShift.ASHIFT if collector.ashift else None
        found["collector_a"] = _A_BY_OP[collector.op] if collector.valid else None
        found["collector_b"] = _B_BY_OP[collector.b_op] if collector.b_valid else None
        return found, tuple(problems)


def _control_problems(control: ControlWord, attributes: Attributes) -> list[Problem]:
    problems = []
    if control.reserved:
        problems.append(
            Problem(
                "reserved-bits",
                "bits 9..31 of the control word must be zero",
                f"{control.encode():#x}",
                "0 in bits 9..31",
            )
        )
    expected = {
        "cta_group": 2 if attributes.get("cta_group") is CtaGroup.TWO else 1,
        "block_scale": int(attributes.get("block_scale") is BlockScale.BLOCK_SCALE),
        "scale_input_acc": int(bool(attributes.get("scale_d"))),
    }
    got = {
        "cta_group": control.cta_group,
        "block_scale": control.block_scale,
        "scale_input_acc": control.scale_input_acc,
    }
    for name, want in expected.items():
        if got[name] != want:
            problems.append(
                Problem(
                    "word-contradicts-opcode",
                    f"the control word's {name} contradicts the opcode and its operands",
                    f"{name} {got[name]} in {control.encode():#x}",
                    f"{name} {want}",
                )
            )
    return problems


def _stationary_problems(control: ControlWord) -> list[Problem]:
    if not control.scale_vec_size:
        return []
    return [
        Problem(
            "scale-vec-ws",
            "scale vector size is not legal for this input family",
            f"scale_vec_size {control.scale_vec_size} in {control.encode():#x}",
            "scale_vec_size 0: a weight-stationary MMA has no block scaling",
        )
    ]


def _collector_problems(collector: CollectorWord, *, ws: bool) -> list[Problem]:
    word = f"{collector.encode():#x}"
    buffer = f"buffer {collector.buffer} ({collector.buffer_name}) in {word}"
    is_other = collector.valid and collector.buffer not in ((1, 2, 3, 4) if ws else (0,))
    lacking, idle = "0 in bits 10..31", "bits 3 and 7-9 zero"
    checks = (
        (collector.reserved, "bits 10..31 of the collector word must be zero", word, lacking),
        (not collector.valid and (collector.op or collector.buffer),
         "the collector word names an operation but is not valid", word,
         "bit 0 set, or bits 1-2 and 4-6 zero"),
        (is_other, "collector buffer does not belong to this opcode", buffer,
         "buffers b0..b3" if ws else "buffer a"),
        (ws and (collector.b_valid or collector.ashift),
         "ashift and collector::b have no place in a weight-stationary MMA", word, idle),
        (not collector.b_valid and collector.b_op,
         "the collector word names an operation on b but b is not valid", word,
         "bit 7 set, or bits 8-9 zero"),
    )  # fmt: skip
    return [
        Problem("reserved-bits" if expected is lacking else "collector-word", text, got, expected)
        for is_wrong, text, got, expected in checks
        if is_wrong
    ]
