"""Kernels of random statements and random branches, for tests that nothing is taken for granted."""

from __future__ import annotations

from hypothesis import strategies as st

STATEMENTS = (
    "$alloc [{m}], 64",
    "$alloc [slot], {n}",
    "$dealloc %r{r}, 64",
    "$relinquish",
    "$before",
    "$after",
    "$mma [%r{r}], %rd1, %rd{q}, $idesc, %p{p}",
    "tcgen05.mma.cta_group::2.kind::tf32 [%r{r}], [%r{q}], %rd1, %r{q}, 1",
    "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r{r}+{n}], %rd1, %rd{q}, $idesc, 1",
    "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%r{r}], %rd1, %rd{q}, $idesc, %p{p}",
    "@%p{p} tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [%r{r}], [%r{q}], %rd1, 0, 1",
    "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::use [%r{r}], %rd1, %rd{q}, $idesc, 1",
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%r{r}], %rd1, %rd{q}, [%r{q}+{n}], $idesc, 1",
    "tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r{r}], %rd1, %rd1, %r{n}, [%r{q}], [%r1], 1",
    "tcgen05.cp.cta_group::1.4x256b [%r{r}+{n}], %rd{q}",
    "tcgen05.shift.cta_group::1.down [%r{r}]",
    "$commit [{m}]",
    "$load {{%r{r}, %r{q}}}, [%r{q}+{n}]",
    "$store [%r{r}], {{%r{q}, %r{r}}}",
    "$loaded",
    "$stored",
    "$init [{m}], {n}",
    "mbarrier.inval.shared.b64 [{m}]",
    "$expect [{m}], 16384",
    "$arrive [{m}]",
    "$try %p{p}, [{m}], %r{q}",
    "$test %p{p}, [{m}], 1",
    "bar.sync {n}",
    "bar.sync %r{r}, %r{q}",
    "bar.arrive {n}, 64",
    "bar.warp.sync -1",
    "barrier.cluster.arrive.aligned",
    "barrier.cluster.wait.aligned",
    "ld.shared.b32 %r{r}, [slot]",
    "ld.shared.b32 %r{r}, [%r{q}]",
    "ld.u32 %r{r}, [%rd{q}]",
    "ld.relaxed.cta.shared.b32 %r{r}, [slot2]",
    "st.shared.b32 [%r{q}], %r{r}",
    "st.shared.b32 [{m}], %r{r}",
    "add.s32 %r{r}, %r{q}, {n}",
    "sub.s32 %r{r}, %r{q}, %r{r}",
    "mul.lo.s32 %r{r}, %r{q}, %r{r}",
    "mad.wide.u32 %rd{r}, %r{q}, 8, %rd{q}",
    "shl.b32 %r{r}, %r{q}, %r{r}",
    "shr.u32 %r{r}, %r{q}, 4",
    "bfe.u32 %r{r}, %r{q}, 4, 14",
    "cvt.u64.u32 %rd{r}, %r{q}",
    "or.b64 %rd{r}, %rd{q}, 4611756662049538048",
    "setp.eq.u32 %p{p}, %r{r}, {n}",
    "setp.lt.s32 %p{p}|%p{n}, %r{r}, %r{q}",
    "setp.eq.and.s32 %p{p}, %r{r}, %r{q}, %p{n}",
    "selp.b32 %r{r}, %r{q}, {n}, %p{p}",
    "selp.b32 %r{r}, 1, 0, %p{p}",
    "mov.u32 %r{r}, full",
    "mov.u32 %r{r}, %tid.x",
    "mov.u32 %r{r}, %laneid",
    "mov.u32 %r{r}, %ctaid.x",
    "mov.pred %p{p}, %p{n}",
    "and.pred %p{p}, %p{q}, %p{n}",
    "or.pred %p{p}, %p{q}, %p{n}",
    "xor.pred %p{p}, %p{q}, 1",
    "not.pred %p{p}, %p{q}",
    "elect.sync %r{r}|%p{p}, -1",
    "fence.proxy.async",
    "$initialised",
    "$copy [a_tile], [%rd1, {{%r{r}, 0}}], [{m}]",
    "$copy [%r{r}], [%rd{q}, {{%r{r}, 0}}], [%r{q}]",
    "ld.param.u32 %r{r}, [steps]",
    "frobnicate.b32 %r{r}, %r{q}",
    "add.f16x2 %r{r}, %r{q}, %r{q}",
    "trap",
)
"""Legal and illegal ones, and two that are not known."""

PLACES = ("full", "done", "full+8", "back+4", "a_tile", "%r5", "%r6+8", "nowhere")


@st.composite
def soups(draw: st.DrawFn, blocks: int = 9, statements: int = 6) -> str:
    """The body of a kernel: at most `blocks` blocks with at most so many statements."""
    count = draw(st.integers(1, blocks))
    random = draw(st.randoms(use_true_random=False))
    lines = ["    mov.u32 %r1, %tid.x;", "    shr.u32 %r2, %r1, 5;"]
    for block in range(count):
        lines.append(f"B{block}:")
        for _ in range(random.randint(0, statements)):
            guard = random.choice(["", "", "", "@%p{p} ", "@!%p{p} "])
            text = guard + random.choice(STATEMENTS)
            numbers = {x: random.randint(1, 12) for x in "rqpn"}
            lines.append("    " + text.format(m=random.choice(PLACES), **numbers) + ";")
        target = f"B{random.randrange(count)}"
        ends = ["", f"@%p{random.randint(1, 12)} bra {target};", f"bra {target};", "ret;", "exit;",
                f"@!%p{random.randint(1, 12)} ret;", "@%p1 bra B0;"]  # fmt: skip
        lines.append("    " + random.choice(ends))
    return "\n".join(lines)
