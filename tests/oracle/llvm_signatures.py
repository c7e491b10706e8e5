"""Signatures of LLVM's NVPTX intrinsics, by their names and LLVM's documentation alone."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

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
