"""The normal form of a PTX kernel: what it does, without how its registers are called.

Two compilers print the same kernel with other register names, in another order, with a number
folded into an instruction or moved into a register first.  ``effects`` removes just that and keeps
the rest, so that two texts with equal effects are the same program.  For a kernel without branches:

* every register is replaced by what it holds: ``p2:b32`` for parameter 2, a number, an expression
  like ``setp.ne.b32(p4:b32, 0)``, or ``new3`` for the third result of an instruction that has an
  effect.  Which operand is which therefore stays visible, whatever its register is called;
* an address or a value plus a number is written ``p2:b64+32`` however it was added up, and a number
  is the second operand wherever that means the same;
* "not (x < y)" is ``x >= y``, and ``x >= 5`` is ``x > 4``;
* modifiers of an instruction are sorted: ``tcgen05.mma.kind::f16.cta_group::1`` equals
  ``tcgen05.mma.cta_group::1.kind::f16``.  Types keep their order, which means something;
* what was loaded is known byte by byte and stored byte by byte, so that accesses of other widths
  are equal when the same bytes get to the same places.  Volatile accesses stay as they are;
* what computes a value that nobody uses leaves no trace.

What is left is a list with one line for each instruction that has an effect, in order; stores that
stand together are sorted by address.

For kernels with branches there is only ``opcodes``, the instructions without their operands.
``header`` is what a kernel's declaration says, ``accesses`` how wide its loads and stores are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_PURE = """
    abs add and bfe bfi bmsk cvt cvta div ld lop3 mad max min mov mul neg not or prmt rem sad selp
    setp shf shl shr slct sub szext xor
"""
PURE = frozenset(_PURE.split())
"""First words of instructions that only compute their first operand."""

COMMUTATIVE = re.compile(r"(add|mul|and|or|xor|min|max)\b|setp\.(eq|ne)\b")
"""Instructions whose sources may change places."""

MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""Comparisons when their sources change places."""

OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""Comparisons that are true when the others are not; of integers, there are no other answers."""

SPACES = ("global", "shared", "shared::cluster", "shared::cta", "const", "local", "param")
ORDERED = frozenset({"volatile", "relaxed", "acquire", "release"})
"""Modifiers of memory accesses that must stay what and where they are."""

_TYPE = re.compile(r"(?:pred|[busf]\d+(?:x\d+(?:_p\d+)?)?|bf16(?:x2)?|e\dm\d(?:x2)?)")


class UndefinedError(ValueError):
    """A register is read that nothing was written to."""


class Access(NamedTuple):
    """One load or store: where, from the value of its address, and how many bytes at once."""

    space: str
    base: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction of a PTX text: guard, dotted name, operands as they are written."""

    guard: str
    name: str
    operands: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        return self.name.split(".")

    @property
    def space(self) -> str:
        """The state space of a memory access with its dot; nothing for the generic one."""
        return "".join(f".{word}" for word in self.words if word in SPACES)


@dataclass(frozen=True, slots=True)
class Value:
    """What a register holds: an expression, a number, or both added up.

    ``memory`` has the places of its bytes, lowest first, when it was loaded.
    """

    root: str
    offset: int = 0
    memory: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.root:
            return str(self.offset)
        return f"{self.root}{self.offset:+d}" if self.offset else self.root


# --- text ----------------------------------------------------------------------------------------


def statements(ptx: str, kernel: str = "k") -> list[Statement]:
    """The instructions of a kernel, in order; labels and directives are left out."""
    text = _without_comments(ptx)
    start = text.index("{", text.index(")", text.index(f".entry {kernel}(")))
    found = []
    for line in text[start + 1 : text.index("\n}", start)].split(";"):
        stripped = re.sub(r"^(\s*[\w$]+:)+", "", line).strip()
        if stripped and not stripped.startswith("."):
            found.append(_statement(stripped))
    return found


def _without_comments(ptx: str) -> str:
    return re.sub(r"//[^\n]*", "", ptx)


def _statement(text: str) -> Statement:
    match = re.fullmatch(r"(?:@(!?%?\w+)\s+)?(\S+)\s*(.*)", text, re.DOTALL)
    assert match is not None, text
    return Statement(match[1] or "", match[2], tuple(split(match[3])))


def split(text: str) -> list[str]:
    """Operands between commas that are in no brackets."""
    parts, depth, last = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and not depth:
            parts.append(text[last:at].strip())
            last = at + 1
    tail = text[last:].strip()
    return [*parts, tail] if tail else parts


def declared(ptx: str) -> frozenset[str]:
    """The registers that ``.reg`` directives declare: ``%r<3>`` is %r0 to %r2."""
    found = set()
    for names in re.findall(r"\.reg\s+\.\w+\s+([^;]+);", ptx):
        for name in map(str.strip, names.split(",")):
            several = re.fullmatch(r"(\S+)<(\d+)>", name)
            found |= {f"{several[1]}{n}" for n in range(int(several[2]))} if several else {name}
    return frozenset(found)


def header(ptx: str, kernel: str = "k") -> str:
    """The declaration of a kernel up to its body, on one line."""
    text = _without_comments(ptx)
    start = text.index(f".entry {kernel}(")
    return " ".join(text[start : text.index("{", start)].split())


def sorted_modifiers(name: str) -> str:
    """A dotted name with its modifiers sorted; types stay in order, behind the others.

    The order of types means something: ``cvt.u32.u16`` is not ``cvt.u16.u32``.
    """
    first, *rest = name.split(".")
    types = [word for word in rest if _TYPE.fullmatch(word)]
    return ".".join([first, *sorted(word for word in rest if word not in types), *types])


def opcodes(ptx: str, kernel: str = "k") -> Counter[str]:
    """How often each instruction occurs: no operands, no branches and moves, no parameters read.

    What branches, moves and labels there are depends on the order of the blocks and on how values
    get from one block to the next; conditional branches are counted all the same.
    """
    found: Counter[str] = Counter()
    for statement in statements(ptx, kernel):
        if statement.words[0] == "bra":
            found["bra, conditional"] += bool(statement.guard)
        elif statement.words[0] != "mov" and statement.words[:2] != ["ld", "param"]:
            found[sorted_modifiers(statement.name)] += 1
    return +found


def effects(ptx: str, kernel: str = "k") -> list[str]:
    """The effects of a kernel without branches, in normal form.

    Raises: UndefinedError when a register is read before anything is in it.
    """
    return _read(ptx, kernel).finished()


def accesses(ptx: str, kernel: str = "k") -> list[Access]:
    """The loads and stores of a kernel without branches, but for those of parameters."""
    return _read(ptx, kernel).accesses


# --- evaluation ----------------------------------------------------------------------------------


def loaded(places: Sequence[str], kind: str = "b") -> Value:
    """The value of bytes in memory, such as ``.global[p0+3]``, lowest first.

    ``kind`` is "s" for a load that copies the sign into a wider register, "b" for any other; what
    was loaded after a store is something else than what was loaded before it.
    """
    if " " in kind:
        places = [f"{kind} {place}" for place in places]
    return Value(
        f"ld.{kind[-1]}{8 * len(places)}({', '.join(_runs(places))})", memory=tuple(places)
    )


def _runs(places: Sequence[str]) -> Iterator[str]:
    """Places in order, neighbours together: ``.global[p0+4]*8`` for eight bytes from there."""
    first, count = places[0], 1
    for place in places[1:]:
        if _further(first, count) == place:
            count += 1
            continue
        yield f"{first}*{count}"
        first, count = place, 1
    yield f"{first}*{count}"


def _further(place: str, count: int) -> str:
    match = re.fullmatch(r"(.*?)([+-]\d+)?\]", place)
    assert match is not None, place
    return str(Value(match[1], int(match[2] or 0) + count)) + "]"


def _read(ptx: str, kernel: str) -> _Reader:
    reader = _Reader(declared(ptx))
    for statement in statements(ptx, kernel):
        reader.read(statement)
    return reader


class _Reader:
    """Evaluates statement after statement; every register is written once."""

    def __init__(self, registers: frozenset[str]) -> None:
        self.registers = registers
        self.values: dict[str, Value] = {}
        self.lines: list[str] = []
        self.stores: dict[tuple[str, int], str] = {}  # not yet in `lines`, by address
        self.accesses: list[Access] = []
        self.stored = False
        self.results = 0

    def finished(self) -> list[str]:
        self._flush()
        return self.lines

    def read(self, statement: Statement) -> None:
        head, memory = statement.words[0], statement.words[0] in ("ld", "st")
        if memory and statement.space != ".param":
            self._note_access(statement)
        if statement.guard or (memory and ORDERED & {*statement.words}):
            self._effect(statement)
        elif head == "st":
            self._store(statement)
        elif head in PURE:
            self._compute(statement)
        else:
            self._effect(statement)

    # --- instructions ----------------------------------------------------------------------------

    def _compute(self, statement: Statement) -> None:
        target, *sources = statement.operands
        match statement.words[0]:
            case "ld":
                values = self._load(statement)
            case "mov":
                values = self._move(statement, sources[0], len(_parts(target)))
            case _:
                values = [_result(statement.name, [self._value(s) for s in sources])]
        for name, value in zip(_parts(target), values, strict=True):
            self.values[name] = value

    def _load(self, statement: Statement) -> list[Value]:
        target, address = statement.operands
        where, size = self._address(address), element_bytes(statement.name)
        found = []
        for at in range(len(_parts(target))):
            start = where.offset + at * size
            if statement.space == ".param":
                place = re.sub(r"^\w+_param_(?=\d)", "p", str(Value(where.root, start)))
                found.append(Value(f"{place}:{statement.words[-1]}"))
            else:
                places = (Value(where.root, start + n) for n in range(size))
                kind = "s" if statement.words[-1].startswith("s") else "b"
                kind = f"after a store {kind}" if self.stored else kind
                found.append(loaded([f"{statement.space}[{place}]" for place in places], kind))
        return found

    def _move(self, statement: Statement, source: str, count: int) -> list[Value]:
        if source.startswith("{"):
            return [_packed(statement, [self._value(part) for part in _parts(source)])]
        if count > 1:
            return _unpacked(statement, self._value(source), count)
        number = _number(source)
        if statement.name == "mov.pred" and number is not None:
            return [Value("", int(number != 0))]  # every number but 0 is true
        if source.startswith("%") and source not in self.registers:
            return [Value(f"{statement.name}({source})")]
        return [self._value(source)]

    def _store(self, statement: Statement) -> None:
        self.stored = True
        address, source = statement.operands
        where, size, space = self._address(address), element_bytes(statement.name), statement.space
        for at, part in enumerate(_parts(source)):
            start, value = where.offset + at * size, self._value(part)
            if len(value.memory) < size:
                place = Value(where.root, start)
                self.stores[space + where.root, start] = f"st{space}.b{8 * size} [{place}], {value}"
                continue
            for n in range(size):
                place = Value(where.root, start + n)
                text = f"copy {space}[{place}], {value.memory[n]}"
                self.stores[space + where.root, start + n] = text

    def _effect(self, statement: Statement) -> None:
        self._flush()
        guard = f"@{self.text(statement.guard)} " if statement.guard else ""
        if statement.words[0] != "st" and statement.operands:
            self._define(statement.operands[0])
        shown = ", ".join(self.text(operand) for operand in statement.operands)
        self.lines.append(f"{guard}{sorted_modifiers(statement.name)} {shown}".strip())

    def _define(self, target: str) -> None:
        """Name the results of an instruction: registers of its first operand with no value yet."""
        if target.startswith("["):
            return
        for name in _parts(target):
            if name in self.registers and name not in self.values:
                self.results += 1
                self.values[name] = Value(f"new{self.results}")

    def _flush(self) -> None:
        self.lines += [self.stores[address] for address in sorted(self.stores)]
        self.stores = {}

    def _note_access(self, statement: Statement) -> None:
        address = statement.operands[statement.words[0] == "ld"]
        data = statement.operands[statement.words[0] == "st"]
        where, size = self._address(address), element_bytes(statement.name)
        size *= len(_parts(data))
        self.accesses.append(Access(statement.space, where.root, where.offset, size))

    # --- operands --------------------------------------------------------------------------------

    def text(self, operand: str) -> str:
        """An operand in normal form."""
        if operand.startswith("{"):
            return "{" + ", ".join(self.text(part) for part in split(operand[1:-1])) + "}"
        if operand.startswith("["):
            return "[" + ", ".join(self.text(part) for part in split(operand[1:-1])) + "]"
        if "|" in operand:
            return "|".join(self.text(part) for part in operand.split("|"))
        if operand.startswith("!"):
            return "!" + self.text(operand[1:])
        return str(self._value(operand))

    def _address(self, operand: str) -> Value:
        assert operand.startswith("["), operand
        return self._value(operand[1:-1].strip())

    def _value(self, operand: str) -> Value:
        number = _number(operand)
        if number is not None:
            return Value("", number)
        # PTX only knows `+`: the offset behind it may be negative
        sum_ = re.fullmatch(r"(\S+?)\+(-?\d+)", operand)
        base, offset = (sum_[1], int(sum_[2])) if sum_ else (operand, 0)
        if base in self.registers and base not in self.values:
            raise UndefinedError(f"{base} is read and holds nothing")
        known = self.values.get(base, Value(base))
        return Value(known.root, known.offset + offset) if offset else known


def _result(name: str, sources: list[Value]) -> Value:
    """The value of an operation, numbers added up and put last where that means the same."""
    if not sources[0].root:
        if COMMUTATIVE.match(name):
            sources = [*sources[1::-1], *sources[2:]]
        elif name.startswith("setp."):
            first, compare, *rest = name.split(".")
            name = ".".join([first, MIRRORED.get(compare, compare), *rest])
            sources = sources[::-1]
    last = sources[-1]
    if name.startswith("add.") and not last.root:
        return Value(sources[0].root, sources[0].offset + last.offset)
    if name.startswith("sub.") and not last.root:
        return Value(sources[0].root, sources[0].offset - last.offset)
    if name.startswith("setp.") and not last.root:
        name, last = _strict(name, last)
        sources = [sources[0], last]
    if name == "not.pred" or (name == "xor.pred" and last == Value("", 1)):
        return _negated(sources[0])
    return Value(f"{sorted_modifiers(name)}({', '.join(map(str, sources))})")


def _negated(value: Value) -> Value:
    """The opposite of a predicate: another comparison, where it comes from one of integers."""
    double = re.fullmatch(r"not\.pred\((.*)\)", value.root)
    if double:
        return Value(double[1])
    compared = re.fullmatch(r"setp\.(\w\w)\.([busf]\d+)\((.*)\)", value.root)
    if compared is None:
        return Value(f"not.pred({value})")
    sources = split(compared[3])
    number = _number(sources[1])
    name = f"setp.{OPPOSITE[compared[1]]}.{compared[2]}"
    if number is not None:
        name, last = _strict(name, Value("", number))
        sources[1] = str(last)
    return Value(f"{name}({', '.join(sources)})")


def _strict(name: str, number: Value) -> tuple[str, Value]:
    """A comparison without "or equal": x >= 5 is x > 4, unless there is no number below."""
    first, compare, type_ = name.split(".")
    steps = {"ge": ("gt", -1), "le": ("lt", 1)}
    if compare not in steps or type_[0] not in "su":
        return name, number
    bits = int(type_[1:])
    strict, step = steps[compare]
    ends = {0, -1, 2**bits - 1} if type_[0] == "u" else {-(2 ** (bits - 1)), 2 ** (bits - 1) - 1}
    if number.offset in ends:
        return name, number
    return f"{first}.{strict}.{type_}", Value("", number.offset + step)


def _packed(statement: Statement, parts: list[Value]) -> Value:
    if all(part.memory for part in parts):
        return loaded([place for part in parts for place in part.memory])
    return Value(f"{statement.name}({{{', '.join(map(str, parts))}}})")


def _unpacked(statement: Statement, whole: Value, count: int) -> list[Value]:
    if not whole.memory:
        return [Value(f"{statement.name}({whole}).{n}") for n in range(count)]
    size = len(whole.memory) // count
    return [loaded(whole.memory[n * size : (n + 1) * size]) for n in range(count)]


def element_bytes(name: str) -> int:
    """Bytes of one element that a load or store moves."""
    match = re.search(r"\.[busf](\d+)$", name)
    assert match is not None, name
    return int(match[1]) // 8


def _parts(operand: str) -> list[str]:
    """The registers of a vector or pair, or the one register."""
    return split(operand[1:-1]) if operand.startswith("{") else operand.split("|")


def _number(operand: str) -> int | None:
    match = re.fullmatch(r"(-?(?:0[xX][0-9a-fA-F]+|\d+))U?", operand)
    return int(match[1], 0) if match else None
