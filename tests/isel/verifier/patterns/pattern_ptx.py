"""A small language for kernels that show how tcgen05 is synchronised, and its expansion to PTX.

A story is a list of lines; each becomes one line of PTX, so that a line of the story and a line of
a finding are the same thing.  A line is a verb with operands (`mma 0 A B new`), or PTX itself
(it ends in `;`), and may end in a tag (`#mma`) by which an edit or an expectation names it.

Numbers are columns of tensor memory behind the address that `address` reads; `ld` and `st` add the
lanes of the warp.  `A`, `B`, `S` and `T` are descriptors from parameters, other operands of an mma
are descriptors of the shared buffers of that name.  Predicates: `t7` is thread 7, `w2` warp 2, `e`
the thread that `elect` chose, `lead` thread 0 of the even CTA, `odd` the odd CTA.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

IDESC = {1: "134742032", 2: "268959760"}
"""f32 <- f16 x f16, N = 32; M = 128 for one CTA, M = 256 for a pair (table 42)."""

SWIZZLED = "4611756662049538048"
"""A descriptor's bits but for the address: swizzle of 128 bytes, stride of 1024 bytes."""

HEAD = """\
.version 9.0
.target sm_100a
.address_size 64
.shared .align 4 .b32 slot;
.shared .align 4 .b32 slot2;
.shared .align 4 .b32 flag;
.shared .align 4 .b32 flag2;
{variables}
.visible .entry k(
    .param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128], .param .u64 out,
    .param .u32 steps, .param .u64 A, .param .u64 B, .param .u64 S, .param .u64 T)
{shape}
{{
"""


class Lines:
    """What one line needs to know of those before it: open blocks, and registers last loaded."""

    def __init__(self, group: int) -> None:
        self.group = group
        self.count = 0
        self.blocks: list[tuple[str, str]] = []
        self.loaded: list[str] = []

    def fresh(self) -> int:
        self.count += 1
        return self.count


Verb = Callable[[Lines, list[str]], str]


# ---- blocks ----------------------------------------------------------------------------------


def _if(lines: Lines, words: list[str]) -> str:
    label = f"END{lines.fresh()}"
    lines.blocks.append(("if", label))
    negated = words[0].startswith("!")
    return f"@{'' if negated else '!'}%{words[0].lstrip('!')} bra {label};"


def _else(lines: Lines, words: list[str]) -> str:
    _, label = lines.blocks.pop()
    joined = f"END{lines.fresh()}"
    lines.blocks.append(("if", joined))
    return f"bra {joined}; {label}:"


def _loop(lines: Lines, words: list[str]) -> str:
    label = f"LOOP{lines.fresh()}"
    lines.blocks.append((words[0], label))
    return f"mov.u32 %{words[0]}, 0; {label}:"


def _end(lines: Lines, words: list[str]) -> str:
    what, label = lines.blocks.pop()
    if what == "if":
        return f"{label}:"
    q = f"%q{lines.fresh()}"
    return f"add.s32 %{what}, %{what}, 1; setp.lt.u32 {q}, %{what}, %steps; @{q} bra {label};"


# ---- operands --------------------------------------------------------------------------------


def _operand(word: str) -> str:
    """A matrix: `A`, `a`, `a+2`, `[32]` in tensor memory, or a register."""
    if word.startswith("["):
        return f"[%d{word[1:]}"
    return word.replace("+", "_") if word.startswith("%") else f"%desc_{word.replace('+', '_')}"


def _address(word: str, lanes: bool = True) -> str:
    if word.startswith("%"):
        return f"[{word}]"
    return f"[%{'l' if lanes else 'd'}{word}]"


# ---- verbs -----------------------------------------------------------------------------------


def _mma(lines: Lines, words: list[str]) -> str:
    """`mma D A B new|acc|PREDICATE [idesc|.suffix]...`."""
    enable = {"new": "0", "acc": "1"}.get(words[3], words[3])
    idesc, suffix = IDESC[lines.group], ""
    for word in words[4:]:
        if word.startswith("."):
            suffix += word
        else:
            idesc = word
    d = words[0] if words[0].startswith("%") else f"%d{words[0]}"
    a, b = _operand(words[1]), _operand(words[2])
    return f"tcgen05.mma.cta_group::G.kind::f16{suffix} [{d}], {a}, {b}, {idesc}, {enable};"


def _cp(lines: Lines, words: list[str]) -> str:
    """`cp COLUMN MATRIX [SHAPE]`."""
    shape = words[2] if len(words) > 2 else "128x256b"
    to = _address(words[0], lanes=False)
    return f"tcgen05.cp.cta_group::G.{shape} {to}, {_operand(words[1])};"


def _shift(lines: Lines, words: list[str]) -> str:
    return f"tcgen05.shift.cta_group::G.down {_address(words[0], lanes=False)};"


def _dealloc(lines: Lines, words: list[str]) -> str:
    taddr = words[0] if words[0].startswith("%") else f"%d{words[0]}"
    return f"tcgen05.dealloc.cta_group::G.sync.aligned.b32 {taddr}, {words[1]};"


def _ld(lines: Lines, words: list[str]) -> str:
    """`ld COLUMN [COUNT [NAME]]` into %NAME_0 and so on."""
    count = int(words[1]) if len(words) > 1 else 2
    name = words[2] if len(words) > 2 else f"v{lines.fresh()}"
    lines.loaded = [f"%{name}_{i}" for i in range(count)]
    into = ", ".join(lines.loaded)
    return f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{into}}}, {_address(words[0])};"


def _st(lines: Lines, words: list[str]) -> str:
    """`st COLUMN [COUNT]` stores the thread's number, `st COLUMN loaded` what was loaded last."""
    what = words[1] if len(words) > 1 else "2"
    values = lines.loaded if what == "loaded" else ["%thread"] * int(what)
    listed = ", ".join(values)
    shape = f"tcgen05.st.sync.aligned.32x32b.x{len(values)}.b32"
    return f"{shape} {_address(words[0])}, {{{listed}}};"


def _wait(lines: Lines, words: list[str], how: str = "try_wait.parity") -> str:
    n = lines.fresh()
    p, label = f"%q{n}", f"WAIT{n}"
    tried = f"mbarrier.{how}.shared::cta.b64 {p}, [{words[0]}], {words[1]};"
    return f"{label}: {tried} @!{p} bra {label};"


def _wait_relaxed(lines: Lines, words: list[str]) -> str:
    return _wait(lines, words, "try_wait.parity.relaxed.cluster")


def _wait_cluster(lines: Lines, words: list[str]) -> str:
    return _wait(lines, words, "try_wait.parity.acquire.cluster")


def _poll(lines: Lines, words: list[str]) -> str:
    """`poll FLAG VALUE`: until the flag has the value, with relaxed loads."""
    n = lines.fresh()
    r, p, label = f"%f{n}", f"%q{n}", f"POLL{n}"
    load = f"ld.relaxed.cta.shared.u32 {r}, [{words[0]}];"
    return f"{label}: {load} setp.eq.u32 {p}, {r}, {words[1]}; @!{p} bra {label};"


def _address_of_memory(lines: Lines, words: list[str]) -> str:
    return f"ld.shared.b32 %d0, [{words[0]}]; COLUMNS"


def _stage(lines: Lines, words: list[str]) -> str:
    """`stage P I`: %P_s and %P_h, stage and phase of turn I in a ring of two; %P_n the other."""
    p, i = words
    return (
        f"and.b32 %{p}_s, %{i}, 1; shr.u32 %{p}_h, %{i}, 1; and.b32 %{p}_h, %{p}_h, 1;"
        f" xor.b32 %{p}_n, %{p}_h, 1; shl.b32 %{p}_8, %{p}_s, 3;"
    )


def _of(lines: Lines, words: list[str]) -> str:
    """`of P BARRIER`: %P_BARRIER is the address of the stage's mbarrier."""
    p, name = words
    return f"mov.u32 %{p}_{name}, {name}; add.s32 %{p}_{name}, %{p}_{name}, %{p}_8;"


def _buffer(lines: Lines, words: list[str]) -> str:
    """`buffer P a`: %P_a is the address of the stage's buffer, %desc_P_a its descriptor."""
    p, name = words
    r, d = f"%{p}_{name}", f"%desc_{p}_{name}"
    return (
        f"mov.u32 {r}, {name}; mul.lo.u32 %{p}_at, %{p}_s, 16384; add.s32 {r}, {r}, %{p}_at;"
        f" bfe.u32 %{p}_at, {r}, 4, 14; cvt.u64.u32 {d}, %{p}_at; or.b64 {d}, {d}, {SWIZZLED};"
    )


def _accumulator(lines: Lines, words: list[str]) -> str:
    """`accumulator P`: %P_d and %P_l, the stage's 32 columns, without and with the lanes."""
    (p,) = words
    return f"shl.b32 %{p}_d, %{p}_s, 5; add.s32 %{p}_l, %{p}_d, %l0; add.s32 %{p}_d, %{p}_d, %d0;"


def _tma(lines: Lines, words: list[str]) -> str:
    """`tma BUFFER BARRIER`: one box of the tensor map that belongs to the buffer."""
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    return f"{copy} [{words[0]}], [%map_{words[0][-1]}, {{0, 0}}], [{words[1]}];"


def _out(lines: Lines, words: list[str]) -> str:
    return f"st.global.v2.b32 [%global], {{{', '.join(lines.loaded[:2])}}};"


def _fill(lines: Lines, words: list[str]) -> str:
    """`fill BUFFER [THREADS]`: 128 threads store 16 KiB, the largest A of one CTA, by turns."""
    r, threads = f"%at_{words[0]}", int(words[1]) if len(words) > 1 else 128
    stores = " ".join(
        f"st.shared.v4.b32 [{r}+{at}], {{%thread, %thread, %thread, %thread}};"
        for at in range(0, 16384, 16 * threads)
    )
    return f"shl.b32 {r}, %thread, 4; mov.u32 %at, {words[0]}; add.s32 {r}, {r}, %at; {stores}"


def _both(lines: Lines, words: list[str]) -> str:
    """A commit that arrives in both CTAs of the pair."""
    commit = "tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.multicast::cluster"
    return f"mov.u16 %mask, 3; {commit}.b64 [{words[0]}], %mask;"


def _remote(lines: Lines, words: list[str]) -> str:
    """An arrival on the mbarrier of the even CTA."""
    arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64"
    return f"mapa.shared::cluster.u32 %even, {words[0]}, 0; {arrive} _, [%even];"


def _bar(lines: Lines, words: list[str], how: str = "sync") -> str:
    return f"bar.{how} {', '.join(words) or '0'};"


FIXED = {
    "relinquish": "tcgen05.relinquish_alloc_permit.cta_group::G.sync.aligned;",
    "before": "tcgen05.fence::before_thread_sync;",
    "after": "tcgen05.fence::after_thread_sync;",
    "wait_ld": "tcgen05.wait::ld.sync.aligned;",
    "wait_st": "tcgen05.wait::st.sync.aligned;",
    "init_fence": "fence.mbarrier_init.release.cluster;",
    "proxy_fence": "fence.proxy.async.shared::cta;",
    "warp": "bar.warp.sync -1;",
    "cluster": "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "elect": "elect.sync _|%e, -1;",
    "return": "ret;",
}
"""Verbs without operands."""

FILLED = {
    "alloc": "tcgen05.alloc.cta_group::G.sync.aligned.shared::cta.b32 [{0}], {1};",
    "init": "mbarrier.init.shared::cta.b64 [{0}], {1};",
    "arrive": "mbarrier.arrive.shared::cta.b64 _, [{0}];",
    "arrive.relaxed": "mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [{0}];",
    "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};",
    "commit": "tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.b64 [{0}];",
    "set": "st.relaxed.cta.shared.u32 [{0}], {1};",
    "count": "red.relaxed.cta.shared.add.u32 [{0}], 1;",
    "clear": "st.shared.u32 [{0}], 0;",
}
"""Verbs whose operands stand where the PTX has them."""

SHAPED: dict[str, Verb] = {
    "if": _if,
    "else": _else,
    "loop": _loop,
    "end": _end,
    "mma": _mma,
    "cp": _cp,
    "shift": _shift,
    "dealloc": _dealloc,
    "ld": _ld,
    "st": _st,
    "wait": _wait,
    "wait.relaxed": _wait_relaxed,
    "wait.cluster": _wait_cluster,
    "poll": _poll,
    "address": _address_of_memory,
    "stage": _stage,
    "of": _of,
    "buffer": _buffer,
    "accumulator": _accumulator,
    "tma": _tma,
    "out": _out,
    "fill": _fill,
    "commit.both": _both,
    "arrive.remote": _remote,
    "bar": _bar,
    "bar.arrive": lambda lines, words: _bar(lines, words, "arrive"),
}
"""The other verbs."""


def _statement(lines: Lines, line: str) -> str:
    """The PTX of one line of a story."""
    if not line or line.endswith((";", ":")):
        return line
    guard, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
    verb, *words = rest.split()
    if verb in FIXED:
        text = FIXED[verb]
    elif verb in FILLED:
        text = FILLED[verb].format(*words)
    else:
        text = SHAPED[verb](lines, words)
    return f"{guard} {text}".strip()


# ---- kernels ---------------------------------------------------------------------------------


def _split(line: str) -> tuple[str, str]:
    """A line and its tag."""
    text, _, tag = line.partition("#")
    return text.strip(), tag.strip()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A story, its threads, its mbarriers and buffers, and how many CTAs work together."""

    lines: tuple[str, ...]
    threads: int = 128
    group: int = 1
    barriers: tuple[str, ...] = (
        "done", "full", "back", "empty", "ready", "ready2", "taken",
    )  # fmt: skip
    buffers: tuple[str, ...] = ("a", "b")
    target: str = "sm_100a"

    def ptx(self) -> str:
        """The module."""
        state = Lines(self.group)
        body = "\n".join(f"    {_statement(state, _split(x)[0])}".rstrip() for x in self.lines)
        body = body.replace("cta_group::G", f"cta_group::{self.group}")
        body = body.replace(" COLUMNS", "".join(f" {x}" for x in _named_columns(body)))
        assert not state.blocks, "a block is left open"
        variables = [f".shared .align 8 .b64 {x}[4];" for x in self.barriers]
        variables += [f".shared .align 1024 .b8 {x}[65536];" for x in self.buffers]
        cluster = "\n.reqnctapercluster 2" if self.group == 2 else ""
        head = HEAD.format(
            variables="\n".join(variables), shape=f".reqntid {self.threads}{cluster}"
        ).replace("sm_100a", self.target)
        start = " ".join(_derived(body))
        declared = " ".join(_declared(start + body))
        return f"{head}    {declared}\n    {start}\n{body}\n}}\n"

    def line(self, tag: str) -> int:
        """The line of the PTX, counted from 1, that a tag names."""
        (at,) = (i for i, x in enumerate(self.lines) if _split(x)[1] == tag)
        text = self.ptx()
        return text[: text.index("{\n    .reg")].count("\n") + 4 + at

    def tagged(self, tag: str) -> int:
        """Where in the story a tagged line stands."""
        (at,) = (i for i, x in enumerate(self.lines) if _split(x)[1] == tag)
        return at

    def with_lines(self, lines: list[str]) -> Kernel:
        return replace(self, lines=tuple(lines))


def _declared(text: str) -> Iterator[str]:
    """Declarations of the registers that are named."""
    special = {"%tid", "%cluster_ctarank", "%clock", "%ctaid", "%nctaid"}
    names = sorted(set(re.findall(r"%[A-Za-z_][A-Za-z_0-9]*", text)) - special)
    for name in names:
        yield f".reg .{_type(name)} {name};"


def _type(name: str) -> str:
    if re.fullmatch(r"%([twqp]\d+|e|lead|odd)", name):
        return "pred"
    if name.startswith(("%desc_", "%map", "%global", "%wide")):
        return "b64"
    return "b16" if name == "%mask" else "b32"


def _derived(body: str) -> Iterator[str]:
    """What the story takes for granted: roles, descriptors, parameters."""
    yield "mov.u32 %thread, %tid.x; shr.u32 %warp, %thread, 5;"
    used = set(re.findall(r"%[A-Za-z_][A-Za-z_0-9]*", body))
    for name in sorted(used):
        if found := re.fullmatch(r"%([tw])(\d+)", name):
            kind = {"t": "%thread", "w": "%warp"}[found[1]]
            yield f"setp.eq.u32 {name}, {kind}, {found[2]};"
        elif found := re.fullmatch(r"%desc_([a-zA-Z]\d?)(?:_(\d+))?", name):
            yield from _descriptor(name, found[1], int(found[2] or 0))
    if "%lead" in used or "%odd" in used:
        yield "mov.u32 %rank, %cluster_ctarank; setp.ne.u32 %odd, %rank, 0;"
        yield "setp.eq.u32 %lead, %rank, 0; setp.eq.and.u32 %lead, %thread, 0, %lead;"
    for name in sorted(used & {"%map_a", "%map_b"}):
        yield f"mov.b64 {name}, {name[1:]}; cvta.param.u64 {name}, {name};"
    if "%global" in used:
        yield "ld.param.u64 %global, [out]; mul.wide.u32 %wide, %thread, 8;"
        yield "add.s64 %global, %global, %wide;"
    if "%steps" in used:
        yield "ld.param.u32 %steps, [steps];"


def _descriptor(name: str, buffer: str, offset: int) -> Iterator[str]:
    """A descriptor, of a parameter or of a buffer, `offset` units of 16 bytes further."""
    if buffer in "ABST":
        yield f"ld.param.u64 {name}, [{buffer}];"
    else:
        yield f"mov.u32 %at, {buffer}; bfe.u32 %at, %at, 4, 14; cvt.u64.u32 {name}, %at;"
        yield f"or.b64 {name}, {name}, {SWIZZLED};"
    if offset:
        yield f"add.s64 {name}, {name}, {offset};"


def _named_columns(body: str) -> Iterator[str]:
    """The addresses that the story names, from the one that was read."""
    names = sorted(set(re.findall(r"%([dl])(\d+)\b", body)))
    if any(kind == "l" for kind, _ in names) or "%l0" in body:
        yield "and.b32 %lanes, %warp, 3; shl.b32 %lanes, %lanes, 21; add.s32 %l0, %d0, %lanes;"
    for kind, column in names:
        if column != "0":
            yield f"add.s32 %{kind}{column}, %{kind}0, {column};"
