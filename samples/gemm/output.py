"""What becomes of the sums of sample 10: an epilogue, rounding, and stores of pieces of D by TMA.

A warp has 16 rows of sums, of which it stores a piece at a time: 128 bytes of each row, or with
`swap`, where its rows are columns of D, 16 columns.
"""

from __future__ import annotations

from gemm.plan import ROWS, STORED
from gemm.sharing import Work
from nvgen import ElementType, Space


class Output:
    """What a warp stores.  PTX ISA, cp.async.bulk.tensor, stmatrix."""

    def __init__(self, gemm) -> None:
        """What the kernel's parts are: its builder, its configuration, what it multiplies."""
        self.gemm, self.b, self.config, self.kind = gemm, gemm.b, gemm.config, gemm.kind
        self.piece, self.wide = self.config.piece(self.kind.out), self.config.wide(self.kind.out)

    @property
    def span(self) -> int:
        """The swizzling of a piece: as wide as its rows."""
        span = self.piece[1] * self.kind.out.bits // 8
        return span if span > 16 else 0

    def declare(self) -> None:
        """D, and what the epilogue reads."""
        b, kind, rank = self.b, self.kind, self.gemm.ranks["d"]
        b.tile_map("d", kind.out, self.piece, swizzle=self.span, rank=rank, output=True)
        for name, dtype in kind.reads:
            b.pointer(name, dtype)

    def allocate(self) -> None:
        """Buffers of each warp."""
        count = self.config.consumers * 4 * self.config.staged
        self.staging = self.b.shared_tiles(
            "staging", self.kind.out, self.piece, count, swizzle=self.span
        )

    def begin(self) -> None:
        """Buffers take turns."""
        self.slots = self.b.ring(self.config.staged)

    def end(self) -> None:
        """All stores have read their buffers."""
        with self.b.elect():
            self.b.cp_async_bulk_wait_group_read(0)

    def store(self, sums, work: Work, row, column) -> None:
        """Round sums from a row and a column of a tile on, and store them piece by piece.

        What the tile before this one has is not stored.
        """
        b, config, wide = self.b, self.config, self.wide
        for part, values in enumerate(sums):
            top = work.row + row + part * ROWS + b.warp % 4 * STORED
            for first in range(0, config.slice, wide):
                left = work.column + column + first
                with b.if_((top >= work.top) & (left >= work.left)):
                    self.store_piece(values[first // 2 : (first + wide) // 2], top, left)

    def store_piece(self, values, top, left) -> None:
        """16 rows from `top` on, and columns from `left` on, as wgmma sees them."""
        self.store_finished(self.finished(values, top, left), top, left)

    def store_finished(self, values, top, left) -> None:
        """The same of what the epilogue has made of them."""
        b, config, wide = self.b, self.config, self.wide
        with b.elect():  # the last store out of this buffer has read it
            b.cp_async_bulk_wait_group_read(config.staged - 1)
        b.bar_warp_sync()
        staged = self.staging[b.warp * config.staged + self.slots.stage]
        for begin in range(0, wide, 16):
            self.put(staged, begin, values[begin // 2 : min(begin + 16, wide) // 2])
        b.fence_proxy_async(Space.SHARED_CTA)
        b.bar_warp_sync()
        with b.elect():
            b.store_tile(staged, self.gemm.args["d"], self.gemm.at_d(*self.corner(top, left)))
        self.slots.advance()

    def corner(self, top, left) -> tuple:
        """The column and the row of D of a piece, by its place as wgmma sees it."""
        return (top, left) if self.config.swap else (left, top)

    def finished(self, values, row, column) -> list:
        """What the epilogue makes of the sums of a piece, by their places in D."""
        if self.kind.epilogue is None:
            return values
        lane, args, made = self.b.tid_x % 32, self.gemm.args, []
        for i, value in enumerate(values):
            at = row + lane // 4 + i // 2 % 2 * 8, column + lane % 4 * 2 + i // 4 * 8 + i % 2
            down, along = reversed(at) if self.config.swap else at
            inside = down.min(args["m"] - 1), along.min(args["n"] - 1)  # beyond, nothing is stored
            made.append(self.kind.epilogue(args, value, *inside))
        return made

    def put(self, staged, begin: int, values) -> None:
        """Put sums of 16 rows and up to 16 columns from `begin` on, where a piece of D has them."""
        b, swap = self.b, self.config.swap
        lane = b.tid_x % 32
        if self.kind.out is ElementType.F32:
            self.put_f32(staged, begin, values)
            return
        pack = b.pack_f16x2 if self.kind.out is ElementType.F16 else b.pack_bf16x2
        pairs = [pack(values[i], values[i + 1]) for i in range(0, len(values), 2)]
        line, lower, right = lane % 8, lane // 8 % 2, lane // 16 if len(pairs) == 4 else 0
        if swap:  # each matrix of 8 by 8 is transposed
            place = staged.chunk(line + right * 8 + begin, lower)
        else:
            place = staged.chunk(line + lower * 8, right + begin // 8)
        b.stmatrix(place, b.words(pairs), trans=swap)

    def put_f32(self, staged, begin: int, values) -> None:
        """The same of f32, which stmatrix does not store."""
        b, lane = self.b, self.b.tid_x % 32
        for i in range(0, len(values), 2):
            row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i // 4 * 8 + begin
            if not self.config.swap:
                place = staged.chunk(row, column // 4) + column % 4 * 4
                b.store(b.vector(values[i : i + 2]), place, align=8)
                continue
            for j in range(2):
                place = staged.chunk(column + j, row // 4) + row % 4 * 4
                b.store(values[i + j], place)
