"""Random numbers by counter: Philox 4x32.

Layer: nvgen.builder.  The words of a counter and a key are the same on every machine, and in every
order of threads.  Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from nvgen.builder.values.numbers import Int, IntLike
from nvgen.builder.verbs.methods import Verbs
from nvgen.calling.refusals import refuse, whole

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
"""What each word of the key grows by from round to round."""


class RandomNumbers(Verbs):
    """Random numbers."""

    def philox(
        self, counter: Sequence[IntLike], key: Sequence[IntLike], *, rounds: int = 10
    ) -> tuple[Int, Int, Int, Int]:
        """Four words of random bits, of a counter of up to four words and a key of up to two, as
        cuRAND, PyTorch and Triton make them (Philox 4x32).

        `b.philox((element, step), (seed,))`: each counter gives four words of its own.
        `(word >> 8).to(f32) * 2**-24` is a number from 0 to below 1.

        Raises: InputError for more words, and for what are no integers of 32 bits.
        """
        words, (k0, k1) = self._padded(counter, 4), self._padded(key, 2)
        for _ in range(whole(rounds, "number of rounds")):
            a, b, c, d = words
            pairs = zip((a, c), _MULTIPLIERS, strict=True)
            products = [(self.mul_hi(x, by, type=ScalarType.U32), x * by) for x, by in pairs]
            (high, low), (upper, lower) = products  # side by side: one IMAD.WIDE each
            words = [upper ^ b ^ k0, lower, high ^ d ^ k1, low]
            k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
        one, two, three, four = words
        return one, two, three, four

    def _padded(self, words: Sequence[IntLike], count: int) -> list[Int]:
        """As many words, with zeros behind those that are given."""
        if not isinstance(words, (tuple, list)) or len(words) > count:
            got = repr(words)
            raise refuse("words of a counter or a key", got=got, expected=f"({count} words)")
        word = ir.IntType(32)
        return [Int(self, self.raw(one, word)) for one in (*words, *(0,) * (count - len(words)))]
