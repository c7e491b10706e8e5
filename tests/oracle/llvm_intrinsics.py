"""Calls of LLVM's NVPTX intrinsics, enumerated from LLVM and from its documentation alone.

``names`` are the intrinsics of the families that nvgen is about, as LLVM's own table lists them.
``signature`` is what one takes and returns, written down here from LLVM's "User Guide for NVPTX
Back-end" and confirmed by LLVM's verifier, which rejects a declaration of an intrinsic that differs
from its own.  Which arguments must be immediates, and which values they may have, LLVM says itself:
it prints ``immarg range(i32 0, 4)`` in the declaration of an intrinsic.

``cases`` are the calls to compile: every combination of legal immediates with all other operands
in registers, and for each intrinsic some calls with other operands: constants, an address plus an
offset, results that nobody uses.  ``Case.module`` is a module with one kernel that makes the call.

A kernel passes every operand so that its origin can be told from the text: a parameter of its own
for each scalar, a vector loaded from memory that a parameter points to; an i1 is the question
whether a parameter is zero.  Each result is stored where the last parameter points to.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.oracle import llvm

PREFIX = "llvm.nvvm."

GENERIC = "ptr"
GLOBAL = "ptr addrspace(1)"
SHARED = "ptr addrspace(3)"
TENSOR = "ptr addrspace(6)"
CLUSTER = "ptr addrspace(7)"
LOCAL = "ptr addrspace(5)"


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument: its LLVM type, and a number that the call with constants passes (if any)."""

    type: str
    constant: int | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of an intrinsic and its result."""

    args: tuple[Arg, ...]
    result: str = "void"

    def declaration(self, name: str) -> str:
        """The declaration of the intrinsic ``name``."""
        return f"declare {self.result} @{name}({', '.join(arg.type for arg in self.args)})"


def _signature(args: str, result: str = "void", **constants: int) -> Signature:
    """A signature in brief: ``"T i64 i32=64"``, with T, S, C, G, L, P for pointers."""
    pointers = {"T": TENSOR, "S": SHARED, "C": CLUSTER, "G": GLOBAL, "L": LOCAL, "P": GENERIC}
    found = []
    for word in args.split():
        type_, _, constant = word.partition("=")
        vector = re.fullmatch(r"v(\d+)(\w+)", type_)
        text = f"<{vector[1]} x {vector[2]}>" if vector else pointers.get(type_, type_)
        found.append(Arg(text, int(constant, 0) if constant else None))
    return Signature(tuple(found), result)


# --- families ------------------------------------------------------------------------------------

FAMILIES: dict[str, str] = {
    "tcgen05.alloc": r"tcgen05\.(alloc|dealloc|relinq)\..*",
    "tcgen05.ld": r"tcgen05\.ld\..*",
    "tcgen05.st": r"tcgen05\.st\..*",
    "tcgen05.sync": r"tcgen05\.(wait|fence|commit)\..*",
    "tcgen05.copy": r"tcgen05\.(cp|shift)\..*",
    "tcgen05.mma": r"tcgen05\.mma\.(shared|tensor)(\.scale_d)?(\.ashift)?",
    "tcgen05.mma.lanes": r"tcgen05\.mma\.(shared|tensor).*\.disable_output_lane\..*",
    "tcgen05.mma.block_scale": r"tcgen05\.mma\.(shared|tensor).*\.block_scale.*",
    "tcgen05.mma.sp": r"tcgen05\.mma\.sp\.(shared|tensor)(\.scale_d)?(\.ashift)?",
    "tcgen05.mma.sp.lanes": r"tcgen05\.mma\.sp\..*\.disable_output_lane\..*",
    "tcgen05.mma.sp.block_scale": r"tcgen05\.mma\.sp\..*\.block_scale.*",
    "tcgen05.mma.ws": r"tcgen05\.mma\.ws\..*",
    "mbarrier": r"mbarrier\..*",
    "tma": r"cp\.async\.bulk\.tensor\.g2s\.(cta\.)?tile\..*",
    "tma.im2col": r"cp\.async\.bulk\.tensor\.g2s\.(cta\.)?im2col\..*",
    "tma.store": r"cp\.async\.bulk\.(tensor\.s2g\..*|(commit|wait)\.group.*)",
    "tma.reduce": r"cp\.async\.bulk\.tensor\.reduce\..*",
    "tma.prefetch": r"cp\.async\.bulk\.tensor\.prefetch\..*",
    "bulk": r"cp\.async\.bulk\.(global|shared|prefetch\.L2).*",
    "cp.async": r"cp\.async\.(?!bulk\.).*",
    "fence": r"fence\..*",
    "barrier": r"(barrier\.(cta|cluster)|bar\.warp)\..*",
    "elect": r"elect\.sync",
    "warp": r"(shfl\.sync|match\.\w+\.sync|redux\.sync)\..*|vote\.\w+\.sync|activemask|nanosleep",
    "matrix": r"(ld|st)matrix\..*",
    "cluster": r"(mapa|getctarank)(\.shared\.cluster)?|griddepcontrol\..*",
    "caches": r"prefetchu?\.(global\.|local\.)?L[12].*|membar\..*",
    "sreg": r"read\.ptx\.sreg\..*|is_explicit_cluster",
}
"""Families of intrinsics, by what follows ``llvm.nvvm.`` in their names."""

SCOPE = re.compile(
    r"tcgen05\..*|mbarrier\..*|cp\.async\.bulk\.tensor\..*|fence\..*"
    r"|cp\.async\.(?!bulk\.).*"
    r"|cp\.async\.bulk\.(commit|wait)\.group.*"
    r"|cp\.async\.bulk\.(global|shared|prefetch\.L2).*"
    r"|barrier\..*|bar\..*|elect\..*|shfl\.sync\..*|match\..*|redux\..*|vote\.\w+\.sync"
    r"|activemask|nanosleep|(ld|st)matrix\..*|mapa.*|getctarank.*|griddepcontrol\..*"
    r"|prefetch(?!\.tensormap).*|membar\..*|read\.ptx\.sreg\..*|is_explicit_cluster"
)
"""What the families together must cover: all of LLVM's names that begin like this."""


@functools.cache
def names(family: str) -> tuple[str, ...]:
    """The intrinsics of a family, after ``llvm.nvvm.``."""
    pattern = re.compile(FAMILIES[family])
    return tuple(n for name in all_names() if pattern.fullmatch(name) for n in spelled(name))


def spelled(name: str) -> tuple[str, ...]:
    """A name with the address spaces that follow it where it is overloaded."""
    return (f"{name}.p0", f"{name}.p3") if is_overloaded(name) else (name,)


def is_overloaded(name: str) -> bool:
    """Whether an intrinsic takes a pointer of any address space, which its name then says."""
    return name.startswith(("ldmatrix.", "stmatrix."))


@functools.cache
def all_names() -> tuple[str, ...]:
    """The names of all of LLVM's NVPTX intrinsics, after ``llvm.nvvm.``."""
    every = llvm.intrinsic_names()
    return tuple(name.removeprefix(PREFIX) for name in every if name.startswith(PREFIX))


# --- signatures ----------------------------------------------------------------------------------

_MATRICES = "i64=0x4000404000010040 i64=0x4000404000010080"
"""Shared memory descriptors: 128-byte swizzle, stride 1024 bytes, at 0x400 and 0x800."""


def _alloc(m: re.Match[str]) -> Signature:
    return _signature("S i32=64" if m[1] else "P i32=64")


def _commit(m: re.Match[str]) -> Signature:
    mask = " i16=3" if m[1] else ""
    return _signature(("S" if m[2] else "P") + mask)


def _load_store(m: re.Match[str]) -> Signature:
    per_repeat = {"16x64b": 1, "32x32b": 1, "16x32bx2": 1, "16x128b": 2, "16x256b": 4}
    count = per_repeat[m[2]] * int(m[3])
    vector = "i32" if count == 1 else f"<{count} x i32>"
    split = (Arg("i64"),) if m[2] == "16x32bx2" else ()
    if m[1] == "ld":
        return Signature((Arg(TENSOR), *split, Arg("i1")), vector)
    return Signature((Arg(TENSOR), *split, Arg(vector), Arg("i1")))


def _mma(m: re.Match[str]) -> Signature:
    """mma[.sp].{shared,tensor}[.scale_d][.disable_output_lane.cgN][.ashift]: see the guide."""
    sparse, where, scale, lanes = m[1], m[2], m[3], m[4]
    args = _matrix_operands(where) + " i32 i1=1"
    args += " T" if sparse else ""
    args += " i64" if scale else ""
    if lanes:
        # the lane mask is 128 bits for each CTA; the group is in the name
        args += " v4i32" if lanes == "1" else " v8i32"
        return _signature(args + " i32 i32")
    return _signature(args + " i32 i32 i32")


def _mma_block_scale(m: re.Match[str]) -> Signature:
    args = _matrix_operands(m[2]) + " i32 i1=1"
    args += " T" if m[1] else ""
    return _signature(args + " T T i32 i32")


def _mma_ws(m: re.Match[str]) -> Signature:
    args = _matrix_operands(m[2]) + " i32 i1=1"
    args += " T" if m[1] else ""
    args += " i64" if m[3] else ""
    return _signature(args + " i32 i32 i32")


def _matrix_operands(where: str) -> str:
    first, second = _MATRICES.split()
    return f"T {first} {second}" if where == "shared" else f"T T {second}"


def _arrive_anywhere(m: re.Match[str]) -> Signature:
    pointer, result = ("S", "i64") if m[1] == "cta" else ("C", "void")
    return _signature(f"{pointer} i32=16", result)


def _wait(m: re.Match[str]) -> Signature:
    token = "i32=1" if m[1] else "i64"
    return _signature(f"S {token}" + (" i32=1000" if m[2] else ""), "i1")


def _tile_to_cluster(m: re.Match[str]) -> Signature:
    return _signature(f"C S P {'i32=8 ' * int(m[1])}i16=3 i64 i1 i1 i32")


def _tile_to_cta(m: re.Match[str]) -> Signature:
    return _signature(f"S S P {'i32=8 ' * int(m[1])}i64 i1")


def _tile_from_cta(m: re.Match[str]) -> Signature:
    return _signature(f"S P {'i32=8 ' * int(m[1])}i64 i1")


def _window(m: re.Match[str]) -> str:
    """Coordinates, and the offsets of an im2col copy; wide ones have a halo and an offset."""
    rank = int(m[2])
    return "i32=8 " * rank + "i16=1 " * (2 if m[1] else rank - 2)


def _im2col_to_cluster(m: re.Match[str]) -> Signature:
    return _signature(f"C S P {_window(m)}i16=3 i64 i1 i1 i32")


def _im2col_to_cta(m: re.Match[str]) -> Signature:
    return _signature(f"S S P {_window(m)}i64 i1")


def _tile_prefetch(m: re.Match[str]) -> Signature:
    return _signature(f"P {'i32=8 ' * int(m[1])}i64 i1")


def _im2col_prefetch(m: re.Match[str]) -> Signature:
    return _signature(f"P {_window(m)}i64 i1")


def _barrier(m: re.Match[str]) -> Signature:
    count = " i32=64" if m[2] == "count" else ""
    match m[1]:
        case "red.popc":
            return _signature(f"i32=1{count} i1=1", "i32")
        case "red.and" | "red.or":
            return _signature(f"i32=1{count} i1=1", "i1")
    return _signature(f"i32=1{count}")


def _shuffle(m: re.Match[str]) -> Signature:
    word = "i32" if m[1] == "i" else "float"
    return _signature(f"i32=-1 {word} i32=1 i32=31", f"{{ {word}, i1 }}" if m[2] else word)


def _match(m: re.Match[str]) -> Signature:
    return _signature(f"i32=-1 i{m[2]}=5", "{ i32, i1 }" if m[1] == "all" else "i32")


def _matrix(m: re.Match[str]) -> Signature:
    """A 16x16 matrix has two registers in each thread, the others one."""
    count = int(m[3]) * (2 if m[2] == "m16n16" else 1)
    pointer = "S" if m[4] == "3" else "P"
    if m[1] == "st":
        return _signature(pointer + " i32" * count)
    return _signature(pointer, f"{{ {', '.join(['i32'] * count)} }}" if count > 1 else "i32")


_RELAXED_SCOPE = r"(?:\.relaxed)?\.scope\.(?:cta|cluster)"

_SIGNATURES: dict[str, Callable[[re.Match[str]], Signature] | Signature] = {
    r"tcgen05\.alloc(\.shared)?\.cg[12]": _alloc,
    r"tcgen05\.dealloc\.cg[12]": _signature("T i32=64"),
    r"tcgen05\.relinq\.alloc\.permit\.cg[12]": _signature(""),
    r"tcgen05\.commit(\.mc)?(\.shared)?\.cg[12]": _commit,
    r"tcgen05\.(?:wait\.(?:ld|st)|fence\.(?:before|after)\.thread\.sync)": _signature(""),
    r"tcgen05\.(ld|st)\.(\d+x\d+bx?2?)\.x(\d+)": _load_store,
    r"tcgen05\.cp\.\w+(?:\.b6x16_p32|\.b4x16_p64)?\.cg[12]": _signature("T i64"),
    r"tcgen05\.shift\.down\.cg[12]": _signature("T"),
    r"tcgen05\.mma(\.sp)?\.(shared|tensor)(\.scale_d)?(?:\.disable_output_lane\.cg([12]))?"
    r"(?:\.ashift)?": _mma,
    r"tcgen05\.mma(\.sp)?\.(shared|tensor)\.mxf\w+\.block_scale(?:\.block(?:16|32))?": (
        _mma_block_scale
    ),
    r"tcgen05\.mma\.ws(\.sp)?\.(shared|tensor)(\.zero_col_mask)?": _mma_ws,
    r"mbarrier\.init": _signature("P i32=1"),
    r"mbarrier\.init\.shared": _signature("S i32=1"),
    r"mbarrier\.inval": _signature("P"),
    r"mbarrier\.inval\.shared": _signature("S"),
    r"mbarrier\.arrive(?:\.drop)?": _signature("P", "i64"),
    r"mbarrier\.arrive(?:\.drop)?\.shared": _signature("S", "i64"),
    r"mbarrier\.arrive(?:\.drop)?\.noComplete": _signature("P i32=1", "i64"),
    r"mbarrier\.arrive(?:\.drop)?\.noComplete\.shared": _signature("S i32=1", "i64"),
    rf"mbarrier\.arrive(?:\.drop)?(?:\.expect\.tx)?{_RELAXED_SCOPE}\.space\.(cta|cluster)": (
        _arrive_anywhere
    ),
    rf"mbarrier\.(?:expect|complete)\.tx{_RELAXED_SCOPE}\.space\.cta": _signature("S i32=16"),
    rf"mbarrier\.(?:expect|complete)\.tx{_RELAXED_SCOPE}\.space\.cluster": _signature("C i32=16"),
    r"mbarrier\.test\.wait": _signature("P i64", "i1"),
    r"mbarrier\.test\.wait\.shared": _signature("S i64", "i1"),
    rf"mbarrier\.(?:test|try)\.wait(\.parity)?(\.tl)?{_RELAXED_SCOPE}\.space\.cta": _wait,
    r"mbarrier\.pending\.count": _signature("i64", "i32"),
    r"cp\.async\.bulk\.tensor\.g2s\.tile\.(\d)d": _tile_to_cluster,
    r"cp\.async\.bulk\.tensor\.g2s\.cta\.tile\.(\d)d": _tile_to_cta,
    r"cp\.async\.bulk\.tensor\.g2s\.tile\.gather4\.2d": _signature(
        f"C S P {'i32=8 ' * 5}i16=3 i64 i1 i1 i32"
    ),
    r"cp\.async\.bulk\.tensor\.g2s\.cta\.tile\.gather4\.2d": _signature(
        f"S S P {'i32=8 ' * 5}i64 i1"
    ),
    r"cp\.async\.bulk\.tensor\.g2s\.im2col(\.w(?:\.128)?)?\.(\d)d": _im2col_to_cluster,
    r"cp\.async\.bulk\.tensor\.g2s\.cta\.im2col(\.w(?:\.128)?)?\.(\d)d": _im2col_to_cta,
    r"cp\.async\.bulk\.tensor\.prefetch\.tile\.(\d)d": _tile_prefetch,
    r"cp\.async\.bulk\.tensor\.prefetch\.tile\.gather4\.2d": _signature(f"P {'i32=8 ' * 5}i64 i1"),
    r"cp\.async\.bulk\.tensor\.prefetch\.im2col(\.w(?:\.128)?)?\.(\d)d": _im2col_prefetch,
    r"cp\.async\.bulk\.tensor\.(?:s2g|reduce\.\w+)\.(?:tile|im2col)\.(\d)d": _tile_from_cta,
    r"cp\.async\.bulk\.tensor\.s2g\.tile\.scatter4\.2d": _signature(f"S P {'i32=8 ' * 5}i64 i1"),
    r"cp\.async\.bulk\.global\.to\.shared\.cluster": _signature("C S G i32=64 i16=3 i64 i1 i1"),
    r"cp\.async\.bulk\.global\.to\.shared\.cta": _signature("S S G i32=64 i64 i1"),
    r"cp\.async\.bulk\.shared\.cta\.to\.cluster": _signature("C S S i32=64"),
    r"cp\.async\.bulk\.shared\.cta\.to\.global": _signature("G S i32=64 i64 i1"),
    r"cp\.async\.bulk\.shared\.cta\.to\.global\.bytemask": _signature("G S i32=64 i64 i1 i16=5"),
    r"cp\.async\.bulk\.prefetch\.L2": _signature("G i32=64 i64 i1"),
    r"cp\.async\.bulk\.commit\.group": _signature(""),
    r"cp\.async\.bulk\.wait\.group(?:\.read)?": _signature("i32"),
    r"cp\.async\.c[ag]\.shared\.global\.\d+": _signature("S G"),
    r"cp\.async\.c[ag]\.shared\.global\.\d+\.s": _signature("S G i32=3"),
    r"cp\.async\.(?:commit\.group|wait\.all)": _signature(""),
    r"cp\.async\.wait\.group": _signature("i32"),
    r"cp\.async\.mbarrier\.arrive(?:\.noinc)?": _signature("P"),
    r"cp\.async\.mbarrier\.arrive(?:\.noinc)?\.shared": _signature("S"),
    r"fence\.(?:sc|proxy\.alias|mbarrier_init|proxy\.async|release|acquire)(?:\..*)?": (
        _signature("")
    ),
    r"fence\.proxy\.(?:async_generic|tensormap_generic\.release)\..*": _signature(""),
    r"fence\.proxy\.tensormap_generic\.acquire\.\w+": _signature("P i32"),
    r"barrier\.cluster\..*": _signature(""),
    r"barrier\.cta\.(sync|arrive|red\.\w+?)(?:\.aligned)?\.(all|count)": _barrier,
    r"bar\.warp\.sync": _signature("i32=-1"),
    r"elect\.sync": _signature("i32=-1", "{ i32, i1 }"),
    r"shfl\.sync\.\w+\.([if])32(p?)": _shuffle,
    r"vote\.(?:all|any|uni)\.sync": _signature("i32=-1 i1", "i1"),
    r"vote\.ballot\.sync": _signature("i32=-1 i1", "i32"),
    r"match\.(all|any)\.sync\.i(\d+)p?": _match,
    r"redux\.sync\.(?!f)\w+": _signature("i32=5 i32=-1", "i32"),
    r"redux\.sync\.f.*": _signature("float i32=-1", "float"),
    r"activemask": _signature("", "i32"),
    r"nanosleep": _signature("i32=100"),
    r"(ld|st)matrix\.sync\.aligned\.(m\w+)\.x(\d).*\.p(\d)": _matrix,
    r"mapa": _signature("P i32=1", GENERIC),
    r"mapa\.shared\.cluster": _signature("S i32=1", CLUSTER),
    r"getctarank": _signature("P", "i32"),
    r"getctarank\.shared\.cluster": _signature("S", "i32"),
    r"griddepcontrol\..*|membar\..*": _signature(""),
    r"prefetchu?\.L[12]": _signature("P"),
    r"prefetch\.global\..*": _signature("G"),
    r"prefetch\.local\..*": _signature("L"),
    r"read\.ptx\.sreg\.(?:clock64|globaltimer)": _signature("", "i64"),
    r"read\.ptx\.sreg\.(?!clock64$|globaltimer$).*": _signature("", "i32"),
    r"is_explicit_cluster": _signature("", "i1"),
}


@functools.cache
def signature(name: str) -> Signature:
    """The signature of an intrinsic of the families."""
    found = [
        (rule, match)
        for pattern, rule in _SIGNATURES.items()
        if (match := re.fullmatch(pattern, name))
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} signatures for {name}")
    rule, match = found[0]
    return rule if isinstance(rule, Signature) else rule(match)


# --- immediates ----------------------------------------------------------------------------------

UNBOUNDED: dict[str, tuple[int, ...]] = {
    "i1": (0, 1),
    "i32": (0, 1, 7),
    "i64": (0, 1, 16, 512),
}
"""Values for immediates without a range of LLVM's: flags, bulk groups that may be under way, and
the split of .16x32bx2 in columns.
"""


@functools.cache
def immediates(name: str) -> Mapping[int, tuple[int, ...]]:
    """The legal values of the arguments that must be immediates, by place."""
    types = [arg.type for arg in signature(name).args]
    return {
        place: tuple(range(*bounds)) if bounds else UNBOUNDED[types[place]]
        for place, bounds in _immediate_arguments(name).items()
    }


def is_bounded(name: str, place: int) -> bool:
    """Whether LLVM knows a range for an immediate."""
    return _immediate_arguments(name)[place] is not None


@functools.cache
def _immediate_arguments(name: str) -> Mapping[int, tuple[int, int] | None]:
    """The range of each argument that LLVM's own declaration calls an immediate."""
    printed = llvm.verify(llvm.HEADER + signature(name).declaration(PREFIX + name))
    line = next(line for line in printed.splitlines() if line.startswith("declare"))
    inside = line[line.index(f"@{PREFIX}{name}(") + len(PREFIX + name) + 2 : line.rindex(")")]
    found: dict[int, tuple[int, int] | None] = {}
    for place, text in enumerate(_split(inside)):
        bounds = re.search(r"range\(i\d+ (-?\d+), (-?\d+)\)", text)
        if "immarg" in text:
            found[place] = (int(bounds[1]), int(bounds[2])) if bounds else None
    return found


def _split(text: str) -> list[str]:
    """Parts between commas that are not in parentheses."""
    return re.findall(r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+", text)


# --- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One call: numbers for some of the arguments by place, and how the others are passed.

    ``offset`` is added to every pointer before the call; ``used`` says whether results are stored.
    """

    name: str
    numbers: Mapping[int, int] = field(default_factory=dict)
    offset: int = 0
    used: bool = True

    def __str__(self) -> str:
        args = [str(self.numbers.get(n, "_")) for n in range(len(signature(self.name).args))]
        more = f" offset {self.offset}" if self.offset else ""
        return f"{self.name}({', '.join(args)}){more}{'' if self.used else ' unused'}"

    def module(self) -> str:
        """A module whose kernel ``k`` makes the call."""
        return _Kernel(self).text()


def cases(family: str) -> Iterator[Case]:
    """All calls to compile for a family."""
    for name in names(family):
        legal = immediates(name)
        for choice in itertools.product(*legal.values()):
            yield Case(name, dict(zip(legal, choice, strict=True)))
        yield from variants(name)


def plain(name: str) -> Case:
    """The call with the lowest immediates and everything else in registers."""
    return Case(name, {place: values[0] for place, values in immediates(name).items()})


def probes(name: str) -> Iterator[Case]:
    """A few calls that between them need everything a target can lack: every kind of a multiply."""
    lowest = plain(name)
    yield lowest
    if name.startswith("tcgen05.mma.") and ".block_scale" not in name:
        kind = min(place for place in lowest.numbers if signature(name).args[place].type == "i32")
        for value in immediates(name)[kind][1:]:
            yield Case(name, {**lowest.numbers, kind: value})


def variants(name: str) -> Iterator[Case]:
    """The plain call with other operands: constants, addresses with offsets, unused results."""
    what, numbers = signature(name), plain(name).numbers
    constants = {
        place: arg.constant for place, arg in enumerate(what.args) if arg.constant is not None
    }
    for place, constant in constants.items():
        yield Case(name, {**numbers, place: constant})
    if len(constants) > 1:
        yield Case(name, {**numbers, **constants})
    if any(arg.type.startswith("ptr") for arg in what.args):
        yield Case(name, numbers, offset=32)
    if what.result != "void":
        yield Case(name, numbers, used=False)


class _Kernel:
    """The text of a case's module, built argument by argument."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.signature = signature(case.name)
        self.params: list[str] = []
        self.body: list[str] = []

    def text(self) -> str:
        passed = [self._argument(place, arg) for place, arg in enumerate(self.signature.args)]
        call = f"call {self.signature.result} @{PREFIX}{self.case.name}({', '.join(passed)})"
        result = self.signature.result
        self._line(call if result == "void" else f"%result = {call}")
        if result != "void" and self.case.used:
            self._store(result)
        lines = "\n".join(self.body)
        return (
            f"{llvm.HEADER}{self.signature.declaration(PREFIX + self.case.name)}\n"
            f"define ptx_kernel void @k({', '.join(self.params)}) {{\n{lines}\n  ret void\n}}\n"
        )

    def _line(self, text: str) -> None:
        self.body.append("  " + text)

    def _param(self, type_: str) -> str:
        name = f"%p{len(self.params)}"
        self.params.append(f"{type_} {name}")
        return name

    def _argument(self, place: int, arg: Arg) -> str:
        number = self.case.numbers.get(place)
        if number is not None:
            return f"{arg.type} {number}"
        if arg.type.startswith("<"):
            self._line(f"%a{place} = load {arg.type}, ptr addrspace(1) {self._param(GLOBAL)}")
        elif arg.type == "i1":
            self._line(f"%a{place} = icmp ne i32 {self._param('i32')}, 0")
        elif arg.type.startswith("ptr") and self.case.offset:
            base = self._param(arg.type)
            self._line(f"%a{place} = getelementptr i8, {arg.type} {base}, i32 {self.case.offset}")
        else:
            return f"{arg.type} {self._param(arg.type)}"
        return f"{arg.type} %a{place}"

    def _store(self, result: str) -> None:
        out = self._param(GLOBAL)
        if result.startswith("{"):
            for at, type_ in enumerate(result.strip("{ }").split(", ")):
                self._line(f"%result{at} = extractvalue {result} %result, {at}")
                self._line(f"%out{at} = getelementptr i8, {GLOBAL} {out}, i64 {8 * at}")
                self._store_scalar(type_, f"%result{at}", f"%out{at}")
        else:
            self._store_scalar(result, "%result", out)

    def _store_scalar(self, type_: str, value: str, where: str) -> None:
        if type_ == "i1":
            self._line(f"{value}.wide = zext i1 {value} to i32")
            type_, value = "i32", f"{value}.wide"
        self._line(f"store {type_} {value}, {GLOBAL} {where}")
