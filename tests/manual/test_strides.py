"""9.7.16.3, Major-ness supported by Strides: leading dimension as an absolute address."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain, smem
from tests.manual.rows import Row, statements

_FAR = smem(absolute=1, lbo=0x8000)


def _mma(a: int, **fields: int) -> str:
    return mma(plain(**fields), a=a)


ROWS = (
    Row("9.7.16.3.1.2.1: the mode needs swizzling of 128 bytes",
        _mma(_FAR), _mma(smem(absolute=1, lbo=0x8000, swizzle=4, sbo=512)),
        "tcgen05.mma/smem-desc-lbo-mode-swizzle", target="sm_103a"),
    Row("9.7.16.3.1.2.1: with atoms of 16 bytes, not of 32",
        _mma(_FAR), _mma(smem(absolute=1, lbo=0x8000, swizzle=1)),
        "tcgen05.mma/smem-desc-lbo-mode-swizzle", target="sm_103a"),
    Row("9.7.16.3.1.2.1: the matrix is K-major",
        _mma(_FAR), _mma(_FAR, transpose_a=1),
        "tcgen05.mma/smem-desc-lbo-mode-major", target="sm_103a"),
    Row("9.7.16.3.1.2.1: the base offset is 0",
        _mma(_FAR), _mma(smem(absolute=1, lbo=0x8000, base=1)),
        "tcgen05.mma/smem-desc-lbo-mode-base", target="sm_103a"),
    Row("9.7.16.4.1.1: sm_103a has the mode", _mma(_FAR), _mma(_FAR),
        "tcgen05.mma/smem-desc-lbo-mode-target", elsewhere="sm_103a"),
    Row("9.7.16.3.3: K-major without swizzling, rows lie 16 bytes apart in eights",
        _mma(smem(swizzle=0, lbo=2048, sbo=128)), _mma(smem(swizzle=0, lbo=16, sbo=16)),
        "tcgen05.mma/smem-desc-layout"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
