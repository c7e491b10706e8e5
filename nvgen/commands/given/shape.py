"""Launch dimensions and other launch options of the command line.

Layer: nvgen.commands.
"""

from __future__ import annotations

import re

from intrinsics.findings import input_error

_SIZE = re.compile(r"0*[1-9]\d{0,99}", re.ASCII)
"""A number from 1 on; what is too large for a launch the rules about launches say."""


def parse_dim3(text: str, name: str) -> tuple[int, int, int]:
    """`128`, `16,8` or `4x4x2` as three numbers.

    Raises: InputError.
    """
    parts = re.split(r"[,x]", text)
    if not 1 <= len(parts) <= 3 or not all(_SIZE.fullmatch(p) for p in parts):
        raise input_error(
            f"run/{name}",
            f"--{name} takes one to three numbers",
            got=text,
            expected="X, X,Y or X,Y,Z, each at least 1",
        )
    x, y, z = ([int(p) for p in parts] + [1, 1])[:3]
    return x, y, z


def parse_box(text: str) -> tuple[str, int]:
    """`gemm_param_0=16384` as a parameter and the bytes of its tensor map's box; of the map at an
    offset there `gemm_param_0+64=16384`.

    Raises: InputError.
    """
    name, _, size = text.rpartition("=")
    if not name or not _SIZE.fullmatch(size):
        raise input_error(
            "check/box",
            "--box takes a parameter and a number of bytes",
            got=text,
            expected="PARAM=BYTES or PARAM+OFFSET=BYTES",
        )
    return name, int(size)
