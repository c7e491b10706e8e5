"""`nvgen draw` with options drawn by lot: a picture that can be read, or a reason that can be."""

from __future__ import annotations

import contextlib
import io

from hypothesis import given
from hypothesis import strategies as st

from nvgen import cli
from tests.nvgen.commands.drawings import titles
from tests.turns import examples


def option(name: str, *values: str) -> st.SearchStrategy[list[str]]:
    """Nothing, or an option with one of its values."""
    return st.one_of(st.just([]), st.sampled_from(values).map(lambda value: [name, value]))


def flag(name: str) -> st.SearchStrategy[list[str]]:
    return st.sampled_from([[], [name]])


def command(what: str, *options: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.tuples(*options).map(lambda parts: [what, *(text for part in parts for text in part)])


KINDS = option("--kind", "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4", "ti16")
COMMANDS = st.one_of(
    command(
        "smem", KINDS, option("--type", "f16", "tf32", "e4m3", "e2m1", "e3m2", "s8"),
        option("--rows", "8", "33", "256", "1024"), option("--k", "8", "16", "32", "96", "128"),
        option("--major", "K", "MN"), option("--swizzle", "none", "32", "64", "128", "128-atom32"),
        option("--lbo", "0", "16", "1024"), option("--sbo", "0", "16", "262128"),
        option("--address", "16", "0x3fff0"), option("--cells", "elements"),
    ),
    command("smem", st.integers(0, (1 << 64) - 1).map(lambda word: ["--descriptor", hex(word)]),
            option("--major", "MN"), option("--type", "e2m1")),
    command(
        "tmem", KINDS, option("--what", "d", "a", "sfa", "sfb", "metadata"),
        option("--m", "32", "64", "128", "256"), option("--n", "8", "24", "200", "256"),
        option("--group", "1", "2"), flag("--ws"), flag("--sparse"), option("--lane", "0", "16"),
        option("--k", "16", "32", "96", "128", "512"), option("--id", "0", "1", "2"),
        option("--scale-vec", "1X", "2X", "4X", "block16", "block32"),
    ),
    command(
        "fragment", option("--num", "x1", "x8", "x64", "x128"), flag("--pack"),
        option("--half-split", "0", "3", "511"),
        st.sampled_from(["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"])
        .map(lambda shape: ["--shape", shape]),
    ),
)  # fmt: skip


@examples(150)
@given(COMMANDS)
def test_a_picture_or_a_reason(arguments: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["draw", *arguments, "--format", "svg"])
    if status == 0:
        assert err.getvalue() == ""
        assert 0 < len(titles(out.getvalue())) <= 4096  # well-formed, and not too long
        return
    assert (status, out.getvalue()) == (2, "")
    said = err.getvalue()
    assert said.startswith("error[draw/")
    assert "got: " in said
    assert "expected: " in said
