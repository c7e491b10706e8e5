"""Mutations of whole functions, and of one word wherever it stands; targets; inline assembly."""

from __future__ import annotations

import random
import re
from functools import cache

from intrinsics.targets import PTX_VERSIONS, TARGETS
from tests.fuzz.mutate import FUNCTION, Language, gently, spoil_tokens
from tests.ptx_corpus import FILES


def copied(text: str, rng: random.Random) -> str:
    """A function once more, under another name; what names it in its own text names the copy."""
    own = FUNCTION.findall(text)
    if not own:
        return text
    one = rng.choice(own)
    name = re.search(r"([\w$.]+)\s*\(", one)
    copy = re.sub(rf"\b{re.escape(name[1])}\b", f"{name[1]}_again", one) if name else one
    return text + copy


_FAMILIES = tuple(tuple(line.split()) for line in """\
i1 i8 i16 i32 i64 i128 half bfloat float double ptr
2 3 4 8 16 32
addrspace(0) addrspace(1) addrspace(3) addrspace(4) addrspace(5) addrspace(6) addrspace(7)
monotonic acquire release acq_rel seq_cst unordered
add sub mul udiv sdiv urem srem shl lshr ashr and or xor
.b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s16 .s32 .s64 .f16 .bf16 .f32 .f64 .f16x2 .pred
.global .shared .local .const .param .shared::cta .shared::cluster
.relaxed .acquire .release .acq_rel .weak .volatile .sc
.cta .cluster .gpu .sys
.v2 .v4 .v8 .x1 .x2 .x4
:b8 :b16 :b32 :b64 :b128 :pred :f32 :f64
""".splitlines())  # fmt: skip
"""Words that can stand for each other."""


def everywhere(text: str, rng: random.Random) -> str:
    """One word becomes another of its family, wherever it stands."""
    there = [(word, family) for family in _FAMILIES for word in family if word in text]
    if not there:
        return text
    old, family = rng.choice(there)
    new = rng.choice(family)
    return re.sub(rf"(?<![\w%@]){re.escape(old)}(?![\w:])", lambda _: new, text)


def retargeted(text: str, rng: random.Random) -> str:
    """Another target or version of PTX; in LLVM IR attributes say them."""
    target, version = rng.choice([*TARGETS]), str(rng.choice(PTX_VERSIONS))
    if "define " in text:
        said = f'"target-cpu"="{target}" "target-features"="+ptx{version.replace(".", "")}"'
        return re.sub(r"\) *(#\d+ *)?\{$", f") {said} {{", text, count=1, flags=re.MULTILINE)
    if rng.random() < 0.5:
        return re.sub(r"\bsm_\d+[af]?", target, text, count=1)
    return re.sub(r"((?:\.version|\bptx) )\d+\.\d+", rf"\g<1>{version}", text, count=1)


@cache
def _statements() -> tuple[str, ...]:
    """Statements of PTX that other compilers wrote, of one operand."""
    lines = {line.strip() for path in FILES for line in path.read_text().splitlines()}
    kept = sorted(line for line in lines if re.fullmatch(r"[a-z@][^{}\"$]*;", line))
    return tuple(re.sub(r"%(?!\w+\.)\w+", "$0", line) for line in kept)


_ASSEMBLY = re.compile(r'(\basm (?:sideeffect )?(?:alignstack )?")([^"\n]*)(?=")')


_OPERANDS = (
    ("i32 7", "=r,0"), ("i64 7", "=l,0"), ("float 7.0", "=f,0"), ("double 7.0", "=d,0"),
    ("ptr null", "=l,0"), ("i16 7", "=h,0"), ("i1 true", "=b,0"),
)  # fmt: skip
"""What a statement of inline assembly reads, and where it and the result are."""


def assembly(text: str, rng: random.Random, ptx: Language) -> str:
    """Inline assembly, spoilt as PTX is; where there is none, a statement of somebody's PTX."""
    found = list(_ASSEMBLY.finditer(text))
    if not found or rng.random() < 0.3:
        operand, constraint = rng.choice(_OPERANDS)
        if rng.random() < 0.2:
            constraint = rng.choice(("=&r,r", "=r,n", "=q,0", "r,r", ""))
        result = operand.split()[0]
        said = rng.choice(_statements())
        line = f'  %asm = call {result} asm sideeffect "{said}", "{constraint}"({operand})\n'
        return re.sub(r"(?m)^(?=  ret )", lambda _: line, text, count=1)
    one = rng.choice(found)
    spoil = gently if rng.random() < 0.6 else spoil_tokens
    new = re.sub(r'["\n]', " ", spoil(one[2], rng, ptx))
    return text[: one.start(2)] + new + text[one.end(2) :]
