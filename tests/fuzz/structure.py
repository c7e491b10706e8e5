"""Mutations that know the language of a text: operands, types, nodes, blocks, nesting.

Languages are told apart by their tokens; the spoilers of each stand in `OWN`.
"""

from __future__ import annotations

import random
import re

from tests.fuzz.inputs import Kind
from tests.fuzz.mutate import Language, Spoiler, Tokens, boundary
from tests.fuzz.wholes import assembly, copied, everywhere, retargeted
from tests.fuzz.words import ATTRIBUTES, KINDS, LINES, NAMES, NODES, TYPES


def _before(tokens: Tokens, at: int) -> str:
    """What stands before an operand of LLVM IR is its type; what is defined has nothing there."""
    return next((tokens[i][0] for i in range(at - 1, -1, -1) if tokens[i][1] != "space"), "")


def _behind(tokens: Tokens, at: int) -> str:
    """What stands behind a register of MIR is its class."""
    return tokens[at + 1][0] if at + 1 < len(tokens) else ""


def _prefix(tokens: Tokens, at: int) -> str:
    """Registers of PTX are called by their types, by custom."""
    return tokens[at][0].rstrip("0123456789") if tokens[at][0].startswith("%") else ""


LLVM = Language(
    (
        ("string", r'c?"[^"\n]*"'),
        ("comment", r";[^\n]*"),
        ("local", r'%(?:[-\w.$]+|"[^"\n]*")'),
        ("symbol", r'@(?:[-\w.$]+|"[^"\n]*")'),
        ("node", r"!\d+"),
        ("metadata", r"![\w.$-]*"),
        ("type", r"\b(?:i\d+|half|bfloat|float|double|fp128|ptr(?: addrspace\(\d+\))?|void|label"
                 r"|metadata|token|x86_amx)\b|<\d+ x \w+>|\[\d+ x \w+\]"),
        ("real", r"-?\b\d+\.\d+(?:e[+-]?\d+)?\b|\b0x[HRKLM]?[0-9A-Fa-f]+\b"),
        ("number", r"-?\b\d+\b"),
        ("group", r"#\w+"),
        ("integers", r"\b(?:add|sub|mul|[us]div|[us]rem|shl|lshr|ashr|and|or|xor)\b"),
        ("floats", r"\b(?:fadd|fsub|fmul|fdiv|frem)\b"),
        ("predicate", r"\b(?:[us][gl][te]|eq|ne)\b"),
        ("order", r"\b[ou][gl][te]\b|\b(?:[ou]eq|[ou]ne|ord|uno)\b"),
        ("flag", r"\b(?:nuw|nsw|exact|inbounds|nusw|disjoint|nneg|volatile|fast|nnan|contract)\b"),
        ("atomic", r"\b(?:monotonic|acquire|release|acq_rel|seq_cst|unordered)\b"),
        ("linkage", r"\b(?:internal|private|external|weak|linkonce_odr|common|dso_local)\b"),
        ("cast", r"\b(?:[sz]ext|trunc|bitcast|inttoptr|ptrtoint|addrspacecast)\b"),
        ("turn", r"\b(?:fp(?:ext|trunc|to[us]i)|[us]itofp|freeze|fneg)\b"),
        ("word", r"[A-Za-z_][\w.]*"),
    ),
    _before,
    ("space", "other", "comment", "string", "word", "metadata", "type", "symbol", "group"),
)  # fmt: skip

PTX = Language(
    (
        ("comment", r"//[^\n]*"),
        ("string", r'"[^"\n]*"'),
        ("local", r"%[\w$.]+"),
        ("directive", r"\.(?:reg|param|shared|global|const|local|entry|func|visible|extern|weak"
                      r"|align|version|target|address_size|reqntid|maxntid|loc|file|section|b\d+"
                      r"|u\d+|s\d+|f\d+|pred|pragma|noreturn|ptr)\b"),
        ("modifier", r"\.[\w:]+"),
        ("number", r"-?\b(?:0[xX][0-9a-fA-F]+U?|0[fFdD][0-9a-fA-F]+|\d+U?)\b"),
        ("name", r"[A-Za-z_$][\w$]*"),
    ),
    _prefix,
    ("space", "other", "comment", "string"),
)  # fmt: skip

MIR = Language(
    (
        ("string", r'"[^"\n]*"'),
        ("comment", r";[^\n]*"),
        ("local", r"%[\w.$#]+"),
        ("symbol", r"@[\w.$]+"),
        ("label", r"\bbb\.[\w.$]+"),
        ("class", r":\w+\b"),
        ("node", r"!\d+"),
        ("opcode", r"\b[A-Z][A-Z0-9_]{2,}\b"),
        ("number", r"-?\b(?:0[xfd][0-9a-fA-F]+|\d+)\b"),
        ("word", r"[A-Za-z_][\w:.]*"),
    ),
    _behind,
    ("space", "other", "comment", "string", "node"),
)

LANGUAGES = {Kind.LLVM: LLVM, Kind.PTX: PTX, Kind.MIR: MIR}


# ---- operands, blocks, functions -------------------------------------------------------------


def swap_operands(text: str, rng: random.Random) -> str:
    """Two neighbours in a list change places, in one line."""
    lines = text.split("\n")
    having = [i for i, line in enumerate(lines) if "," in line]
    if not having:
        return text
    at = rng.choice(having)
    parts = lines[at].split(",")
    first = rng.randrange(len(parts) - 1)
    parts[first], parts[first + 1] = parts[first + 1], parts[first]
    lines[at] = ",".join(parts)
    return "\n".join(lines)


def drop_operand(text: str, rng: random.Random) -> str:
    """One of a list is left out or stands twice, in one line."""
    lines = text.split("\n")
    having = [i for i, line in enumerate(lines) if "," in line]
    if not having:
        return text
    at = rng.choice(having)
    parts = lines[at].split(",")
    which = rng.randrange(len(parts))
    parts[which : which + 1] = [parts[which]] * rng.choice((0, 0, 2, 2, 20))
    lines[at] = ",".join(parts)
    return "\n".join(lines)


def _spoil_pieces(text: str, rng: random.Random, start: str) -> str:
    """Pieces that begin with a line like `start` are left out, doubled or moved."""
    pieces = re.split(rf"(?m)^(?={start})", text)
    at = rng.randrange(len(pieces))
    match rng.randrange(4):
        case 0:
            del pieces[at]
        case 1:
            pieces.insert(rng.randrange(len(pieces) + 1), pieces[at])
        case 2:
            pieces.insert(rng.randrange(len(pieces)), pieces.pop(at))
        case _:
            pieces[at] = re.sub(r"\b(\w+)\b(?=:|\()", r"\1.x", pieces[at], count=1)
    return "".join(pieces)


def spoil_blocks(text: str, rng: random.Random) -> str:
    """Blocks, and what stands between labels in PTX."""
    return _spoil_pieces(text, rng, r"[-\w.$]+:")


def spoil_functions(text: str, rng: random.Random) -> str:
    """Whole functions."""
    return _spoil_pieces(text, rng, r"define|declare|kernel|func|\.visible|\.func|\.entry|!0 =")


def window(text: str, rng: random.Random) -> str:
    """The head of a text, and of the rest a few lines only, with the last one."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 30:
        return text
    head, count = rng.randrange(8, 24), rng.randrange(1, 24)
    at = rng.randrange(head, len(lines))
    return "".join([*lines[:head], *lines[at : at + count], "ret;\n" * rng.randrange(2), "}\n"])


# ---- LLVM IR ---------------------------------------------------------------------------------


def change_type(text: str, rng: random.Random) -> str:
    """One type becomes another, here or everywhere."""
    found = list(re.finditer(r"\b(?:i\d+|half|bfloat|float|double|ptr)\b", text))
    if not found:
        return text
    match, new = rng.choice(found), rng.choice(TYPES)
    if rng.random() < 0.4:
        return re.sub(rf"\b{match[0]}\b", lambda _: new, text)
    return text[: match.start()] + new + text[match.end() :]


def nest(text: str, rng: random.Random) -> str:
    """A type, an expression, a node or a bracket within itself, a few times or very often."""
    depth = rng.choice((2, 5, 40, 150, 400, 3000))
    match rng.randrange(5):
        case 0:
            return text.replace("i32", "[1 x " * depth + "i32" + "]" * depth, rng.choice((1, -1)))
        case 1:
            links = "".join(f"!{i} = !{{!{i + 1}}}\n" for i in range(900, 900 + depth))
            return f"{text}\n{links}!{900 + depth} = !{{!900}}\n!nested = !{{!900}}\n"
        case 2:
            types = "".join(f"%n{i} = type {{ %n{i + 1}, i8 }}\n" for i in range(depth))
            return f"{types}%n{depth} = type {{ i32 }}\n" + text.replace("i32", "%n0", 1)
        case 3:
            double = "".join(f"%t{i} = type [2 x %t{i + 1}]\n" for i in range(min(depth, 70)))
            return f"{double}%t{min(depth, 70)} = type i8\n" + text.replace("i32", "%t0", 1)
        case _:
            at = text.find(rng.choice("([{<"))
            return text[:at] + text[at : at + 1] * depth + text[at:] if at >= 0 else text


def attribute(text: str, rng: random.Random) -> str:
    """An attribute where a type or a parenthesis ends."""
    places = [m.end() for m in re.finditer(r"\b(?:i32|ptr|float)\b|\)", text)]
    if not places:
        return text
    at, word = rng.choice(places), rng.choice(ATTRIBUTES)
    return f"{text[:at]} {word} {text[at:]}"


def metadata(text: str, rng: random.Random) -> str:
    """A node that is changed, or one more attached to a line."""
    node = rng.choice(("", "distinct ")) + "!" + rng.choice(NODES)
    old = re.findall(r"(?m)^!(\d+) = ", text)
    if old and rng.random() < 0.5:
        number = rng.choice(old)
        return re.sub(rf"(?m)^!{number} = .*$", lambda _: f"!{number} = {node}", text)
    lines = text.split("\n")
    inside = [i for i, line in enumerate(lines) if line.startswith("  ") and line.strip()]
    if inside:
        lines[rng.choice(inside)] += f", !{rng.choice(KINDS)} !777"
    if rng.random() < 0.2:
        named = rng.choice(("nvvm.annotations", "llvm.module.flags", "llvm.dbg.cu", "llvm.ident",
                            "nvvmir.version", "llvm.linker.options", "llvm.commandline",
                            "llvm.dependent-libraries", "llvm.stats"))  # fmt: skip
        lines.append(f"!{named} = !{{!777, !777}}")
    return "\n".join([*lines, f"!777 = {node}", ""])


def foreign_line(text: str, rng: random.Random) -> str:
    """An instruction that is odd at its edges, somewhere."""
    lines = text.split("\n")
    inside = [i for i, line in enumerate(lines) if line.startswith("  ")] or [0]
    new = rng.choice(LINES).replace("NAME", rng.choice(NAMES))
    lines.insert(rng.choice(inside), "  " + new.replace("%z", f"%z{rng.randrange(999)}."))
    return "\n".join(lines)


def other_callee(text: str, rng: random.Random) -> str:
    """The name of an intrinsic changes, here or everywhere."""
    found = re.findall(r"@llvm\.[\w.]+", text)
    if not found:
        return foreign_line(text, rng)
    old = rng.choice(found)
    new = rng.choice((f"@llvm.nvvm.{rng.choice(NAMES)}", f"@llvm.{rng.choice(NAMES)}", old + ".x",
                      *LLVM.words.get("symbol", [old])[:400]))  # fmt: skip
    return text.replace(old, new, rng.choice((1, -1, -1)))


def header(text: str, rng: random.Random) -> str:
    """A data layout, a triple or another thing of the module, odd at its edges."""
    return rng.choice((
        'target datalayout = "e-p%d:%d:%d"\n', 'target datalayout = "E-i%d:%d-n%d"\n',
        'target triple = "x%d-%d-%d"\n', '@g%d = global [%d x i%d] zeroinitializer\n',
        '@h%d = addrspace(%d) global i%d 1\n', 'module asm ".x %d %d %d"\n',
        '%%u%d = type { [%d x i8], i%d }\n', '@i%d = thread_local(%d) global i%d 0\n',
        'attributes #%d = { align=%d alignstack=%d "nvvm.maxntid"="x" }\n',
        'declare void @e%d([%d x i%d])\n', '$c%d_%d_%d = comdat any\n',
        'uselistorder_bb %d %d %d\n', '@s%d = addrspace(3) global [%d x i%d] undef, align 1\n',
    )) % (rng.choice((0, 1, 3, 9)), *(int(boundary(rng)) for _ in range(2))) + text  # fmt: skip


def inline_assembly(text: str, rng: random.Random) -> str:
    """See `assembly`."""
    return assembly(text, rng, PTX)


_ANY = (swap_operands, drop_operand, spoil_blocks, spoil_functions, copied, everywhere, retargeted)
OWN: dict[Kind, tuple[Spoiler, ...]] = {
    Kind.LLVM: (
        *_ANY, change_type, change_type, nest, attribute, metadata, metadata, foreign_line,
        foreign_line, other_callee, header, inline_assembly, inline_assembly,
    ),
    Kind.PTX: (*_ANY, window, nest),
    Kind.MIR: _ANY,
}  # fmt: skip
"""The spoilers of each language."""
