"""One block of keys of attention: exponents beside multiplies, without a maximum.

Any m near the greatest score of a row will do, as P = 2^(S·scale - m) is divided by its sums in the
end: m is that of the row's first block, and no later one looks for its greatest score.  A sum that
is too large, or no number, tells of a score far above m.  The warp then multiplies the block again
by itself, with mma.sync, while K is still there, takes the greatest score so far for m, and scales
what it has.  The wait for the next block of V, a loop, keeps ptxas from moving the wait for the
multiplies before the exponents.

samples/14_attention_sm90.py has the rest.
"""

from __future__ import annotations

import math
import operator
from contextlib import AbstractContextManager, nullcontext

from nvgen import Space, Vote, f32, i32


class Blocks:
    """What a warpgroup does with the blocks of keys of an item: a part of the kernel.

    `s`, `o`, `p`, `m` and `sums` are its accumulators and variables, `held` is the buffer of V that
    goes with P; `keys` and `values` are its ends of the rings.
    """

    def begin(self, q, row, column) -> None:
        """The first block of an item: the greatest score of each row is looked for."""
        b, s = self.b, self.s
        with self.keys.use() as slot:
            b.gemm(s, q, slot.tile)
        if self.config.causal:
            s.set(self.seen(s.fragment, row, column))
        else:
            with b.if_(column + self.config.block > self.end):
                s.set(self.seen(s.fragment, row, column))
        self.mask(row, column)
        self.m.set(self.near(s.row_max()))
        p, sums = self.powers(s.fragment, finite(self.m.value))
        self.p.set(p), self.sums.set(sums), self.o.set(0.0)
        self.held.set(self.values.take().stage)

    def go_on(self, q, row, column) -> None:
        """Another block: Q·K, then P·V of the block before, beside which this one's P is made."""
        b = self.b
        slot = self.keys.take()
        b.wgmma_fence()
        b.gemm_async(self.s, q, slot.tile)
        b.wgmma_commit_group()
        self.multiply_values(fence=False)
        b.wgmma_wait_group(1)
        self.mask(row, column)
        p, part = map(b.variable, self.powers(self.s.fragment, self.m.value))
        following = self.values.take()  # a loop, which ptxas moves no code across
        b.wgmma_wait_group(0)
        self.values.release(self.held.value)
        self.held.set(following.stage)
        upper, lower = part.value.vector
        limit = self.config.limit
        with b.if_(b.vote_sync(Vote.ALL, (upper <= limit) & (lower <= limit)) ^ 1):
            self.again(q, slot.tile, p, part, row, column)
        self.keys.release(slot)
        self.p.set(p.value), self.sums.set(self.sums.value + part.value)

    def again(self, q, k, p, part, row, column) -> None:
        """A block of scores far above m, by the warp alone: its rows of S anew, and another m."""
        b, t = self.b, self.b.warp_tile(16, self.config.block)
        b.gemm_async(t, q.part(b.warp % 4 * 16, 16), k)
        b.bar_warp_sync()  # all lanes have read K; one of them gives it back
        self.s.set(t.fragment.as_rows_of(self.s.fragment))
        self.mask(row, column)
        greatest = self.m.value.max(self.near(self.s.row_max()))
        shrink = (self.m.value - finite(greatest)).ex2(ftz=True)
        numbers, sums = self.powers(self.s.fragment, finite(greatest))
        p.set(numbers), part.set(sums), self.m.set(greatest)
        self.sums.set(self.sums.value * shrink), self.o.set(self.o.scale_rows(shrink))

    def blocks(self, row, rows: int):
        """How many blocks of keys some rows see, from `row` on."""
        block = self.config.block
        count = ((self.end + (block - 1)) // block).max(1)
        return count.min((row + (rows + block - 1)) // block) if self.config.causal else count

    def seen(self, s, row, column):
        """Scores of an item's first block: minus infinity for keys that a row does not see."""
        left = self.end - column
        if not self.config.causal:
            return s.where(lambda _, c: c < left, -math.inf)
        last, shift = left.to(i32) - 1, (row - column).to(i32) + self.shift
        ends = s.rows(lambda r: (r.to(i32) + shift).min(last))
        return s.where(lambda end, c: c.to(i32) <= end, -math.inf, of=ends)

    def powers(self, s, m):
        """P = 2^(S·scale - m) as it is multiplied, and this thread's part of its sums."""
        p = s.fma(self.scale, -m).ex2(ftz=True)
        packed = self.packed(p)
        return packed, (packed.to(f32) if self.config.exact else p).row_sum(whole=False)

    def multiply_values(self, *, fence: bool = True) -> None:
        """Start O += P·V of the block whose V is held."""
        b, v = self.b, self.v.slot(self.held.value).tile
        if fence:
            b.wgmma_fence()
        b.gemm_async(self.o, self.operand(self.p.value), v, accumulate=True)
        b.wgmma_commit_group()

    def hand_over(self, o, stage, row, head) -> None:
        """Rows of O to the warp that stores them."""
        b = self.b
        self.write(o, stage, row, head)
        b.fence_proxy_async(Space.SHARED_CTA)
        b.bar_warp_sync()
        with b.elect():
            b.mbarrier_arrive(self.o_full[stage])

    # ---- what others have otherwise ----------------------------------------------------------

    def mask(self, row, column) -> None:
        """All that a row sees of a block is masked when an item begins."""

    def near(self, greatest):
        """m for the greatest score of a row."""
        return greatest * self.scale

    def packed(self, p):
        """P in registers, rounded; `operand` makes A of it."""
        return p.to(self.config.dtype)

    def operand(self, packed):
        """A of a multiply."""
        return packed.as_a_operand()

    def factor(self):
        """What rows of O are multiplied by in the end: a row whose scores are all -inf is zeros."""
        inverse = self.sums.value.whole(operator.add).rcp(approx=True)
        return inverse.map(lambda x: x.builder.select(x == math.inf, 0.0, x))

    def at(self, row, head) -> tuple:
        """The coordinates of rows of Q and O."""
        return 0, row, head

    def at_keys(self, row, head) -> tuple:
        """Those of rows of K and V."""
        return 0, row, head

    def when_there(self, row) -> AbstractContextManager:
        """Where there is an item."""
        return nullcontext()

    def when_whole(self, row) -> AbstractContextManager:
        """Where TMA may store rows; it leaves those out that lie behind the end."""
        return nullcontext()

    def write(self, o, stage, row, head) -> None:
        """Leave O where it is stored from."""
        height = self.config.height
        o.as_tile(self.o_tiles[stage].part(self.b.warpgroup * height, height))

    def help(self) -> None:
        """Roles of more warps."""

    def leave(self) -> None:
        """What all threads give back in the end."""

    def take_scales(self, head) -> None:
        """What scores of a head are multiplied by: powers are of 2 in place of e."""
        self.scale = self.args["scale"] * math.log2(math.e)

    def unseen(self, row) -> int:
        """How many of the first blocks no row sees from `row` on."""
        return 0


def finite(m):
    """Zero for a row that has seen no finite score."""
    return m.map(lambda x: x.builder.select(x == -math.inf, 0.0, x))
