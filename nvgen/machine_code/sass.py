"""Machine code as nvdisasm lists it: instructions by kind, for each kernel, loop and role.

Layer: nvgen.  Input: a cubin.  Output: the listing, and what stands in it.  A loop is natural: what
reaches a branch back without its target, which every way to the branch comes by.  A role is what
follows a USETMAXREG up to the next one, as the assembler has placed it.  CUDA Binary Utilities,
nvdisasm; Instruction Set Reference.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from intrinsics.lazy_dataclass import dataclass
from nvgen.machine_code.ptxas_log import Resources
from nvgen.machine_code.tools import failed, run_tool

_TEXT = re.compile(r"^\.text\.([\w$]+):", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<label>\.L\w+):"
    r'|//## File "(?P<file>[^"]*)", line (?P<number>\d+)'
    r"|/\*[0-9a-f]{4,}\*/\s+(?P<guard>@!?U?P\w+\s+)?(?P<name>[A-Z][\w.]*)(?P<rest>[^;]*);",
    re.MULTILINE,
)
_TARGET = re.compile(r"`\((\.L\w+)\)")
_REGISTER = re.compile(r"\bR(\d+)\b")
_IMMEDIATE = re.compile(r"0x([0-9a-f]+)")
_ENDS = ("USETMAXREG",)
_WAITS = {"SYNCS", "USETMAXREG", "BRA", "PLOP3", "WARPSYNC", "YIELD", "NANOSLEEP"}
"""All that a loop has which asks until an mbarrier's phase is over, or registers are free."""

_MOVES = ("MOV", "UMOV", "IMAD.MOV", "R2UR")
_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its mnemonic with modifiers, the rest of its text, where it branches to,
    whether the next one may follow, and its `file.py:line`, where the cubin has lines.
    """

    mnemonic: str
    text: str
    target: str = ""
    goes_on: bool = True
    place: str = ""

    @property
    def kind(self) -> str:
        """The mnemonic without its modifiers."""
        return self.mnemonic.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a kernel's instructions: a loop, a role, all of them.

    `place` is the line of the source that begins it, where the cubin has lines.
    """

    name: str
    instructions: tuple[Instruction, ...]
    place: str = ""

    @property
    def kinds(self) -> Counter[str]:
        """The number of instructions of each kind, without the NOPs that pad the end."""
        return Counter(i.kind for i in self.instructions if i.kind != "NOP")

    @property
    def registers(self) -> int:
        """Registers that the instructions name: the highest one's number and one."""
        numbers = (int(n) for i in self.instructions for n in _REGISTER.findall(i.text))
        return 1 + max(numbers, default=-1)

    @property
    def spills(self) -> int:
        """Loads and stores of local memory."""
        return self.kinds["LDL"] + self.kinds["STL"]

    @property
    def moves(self) -> int:
        """Instructions that only move a register."""
        return sum(i.mnemonic.startswith(_MOVES) for i in self.instructions)

    @property
    def multiplies(self) -> int:
        """Instructions of the tensor cores: HMMA, HGMMA, UTCHMMA and their like."""
        return sum(n for kind, n in self.kinds.items() if kind.endswith("MMA"))

    @property
    def waits(self) -> bool:
        """Whether it does nothing but wait."""
        return self.kinds.keys() <= _WAITS

    def __str__(self) -> str:
        found = self.kinds
        shown = ", ".join(f"{n} {kind}" for kind, n in found.most_common(_MOST_SHOWN))
        more = f" and {len(found) - _MOST_SHOWN} other kinds" if len(found) > _MOST_SHOWN else ""
        return (
            f"{self.name}{self.place and f' at {self.place}'}: "
            f"{found.total()} instructions ({shown}{more}); "
            f"{self.registers} registers, {self.moves} moves, {self.spills} spills"
        )


@dataclass(frozen=True, slots=True)
class Sass:
    """A kernel's machine code: the listing `text`, and its parts.

    `asked` is how many multiplies of matrices the PTX has, where that is known: as many
    instructions of the tensor cores their shapes need.  `resources` are what ptxas says it takes.
    """

    name: str
    text: str
    asked: int | None = None
    resources: Resources | None = None

    @property
    def whole(self) -> Part:
        """All of it."""
        return Part(self.name, tuple(i for i, _ in _read(self.text)))

    @property
    def loops(self) -> tuple[Part, ...]:
        """Its loops, in the order of their first instructions; inner ones come behind."""
        read = list(_read(self.text))
        places = {label: at for at, (_, labels) in enumerate(read) for label in labels}
        every = [instruction for instruction, _ in read]
        found = _natural_loops([_following(i, at, places, every) for at, i in enumerate(every)])
        return tuple(
            Part(f"loop {number}", tuple(every[at] for at in sorted(loop)), every[back].place)
            for number, (back, loop) in enumerate(found)
        )

    @property
    def roles(self) -> tuple[Part, ...]:
        """The instructions after each USETMAXREG, named by the register count that it requests."""
        every = self.whole.instructions
        starts = [at for at, i in enumerate(every) if i.kind in _ENDS]
        ends = [*starts[1:], len(every)]
        return tuple(
            Part(f"role of {_asked(every[first])} registers", every[first:last], every[first].place)
            for first, last in zip(starts, ends, strict=False)
        )

    def __str__(self) -> str:
        loops = self.loops
        parts = (self.whole, *(loop for loop in loops if not loop.waits), *self.roles)
        waiting = sum(loop.waits for loop in loops)
        waits = [f"loops that only wait: {waiting}"] * (waiting > 0)
        return "\n".join([*map(str, parts), *waits, *self._beside()])

    def _beside(self) -> Iterator[str]:
        """What stands in no instruction."""
        found = self.whole.multiplies
        if found or self.asked:
            asked = "" if self.asked is None else f", {self.asked} in the PTX"
            yield f"multiplies: {found}{asked}"
        if self.resources is not None:
            yield f"launch: {str(self.resources).partition(': ')[2]}"


def _following(
    instruction: Instruction, at: int, places: dict[str, int], every: list[Instruction]
) -> list[int]:
    """The places of what may follow an instruction."""
    found = [places[instruction.target]] if instruction.target in places else []
    return found + [at + 1] * (instruction.goes_on and at + 1 < len(every))


def _natural_loops(following: list[list[int]]) -> list[tuple[int, set[int]]]:
    """The last branch back of each natural loop and its instructions, by the first of these; longer
    ones come first.
    """
    before: list[list[int]] = [[] for _ in following]
    for at, others in enumerate(following):
        for other in others:
            before[other].append(at)
    loops: dict[int, set[int]] = {}
    back: dict[int, int] = {}
    for at, others in enumerate(following):
        for head in (other for other in others if other < at):
            body = _reaching(before, at, head)
            if 0 not in body or head == 0:  # else a way leads into it that the head is not on
                loops.setdefault(head, {head}).update(body)
                back[head] = at
    found = [(back[head], loop) for head, loop in loops.items()]
    return sorted(found, key=lambda one: (min(one[1]), -len(one[1])))


def _reaching(before: list[list[int]], at: int, head: int) -> set[int]:
    """What reaches an instruction without its loop's head."""
    found, left = {head}, [at]
    while left:
        place = left.pop()
        if place not in found:
            found.add(place)
            left += before[place]
    return found - {head}


def _asked(instruction: Instruction) -> str:
    found = _IMMEDIATE.search(instruction.text)
    return str(int(found[1], 16)) if found else "?"


def _read(text: str) -> Iterator[tuple[Instruction, tuple[str, ...]]]:
    """Each instruction with the labels right before it."""
    labels: list[str] = []
    place, is_inlined = "", False
    for line in _LINE.finditer(text):
        if line["label"]:
            labels.append(line["label"])
            continue
        if line["file"]:  # an inlined line comes before those of its callers
            place = place if is_inlined else f"{Path(line['file']).name}:{line['number']}"
            is_inlined = True
            continue
        is_inlined = False
        target = _TARGET.search(line["rest"])
        name, is_bare = line["name"], line["guard"] is None
        ends = is_bare and name.partition(".")[0] in ("BRA", "EXIT", "RET", "BRX", "JMP")
        made = line["rest"].strip(), target[1] if target else "", not ends
        yield Instruction(name, *made, place), tuple(labels)
        labels.clear()


def find_nvdisasm() -> str | None:
    """The path of nvdisasm, or None: of the PyPI package nvidia-cuda-nvdisasm, or on the PATH."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("cu*/bin/nvdisasm"), reverse=True):
            return str(path)
    return shutil.which("nvdisasm")


def disassemble(cubin: bytes) -> dict[str, Sass]:
    """The machine code of each kernel and function of a cubin.

    Raises: AssemblerError when nvdisasm is missing, or does not read the cubin.
    """
    tool = find_nvdisasm()
    if tool is None:
        raise failed("nvdisasm", "nvdisasm was not found", hint="pip install nvidia-cuda-nvdisasm")
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        ran = run_tool([tool, "-c", "-gi", str(path)])
    if ran.returncode:
        raise failed("nvdisasm", f"nvdisasm failed: {ran.stderr.strip()}")
    parts = _TEXT.split(ran.stdout)
    return {name: Sass(name, text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
