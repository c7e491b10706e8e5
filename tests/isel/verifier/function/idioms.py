"""What is said of a kernel of another people's library."""

from __future__ import annotations

from tests.isel.verifier import kernels

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"


def said(text: str) -> set[str]:
    """The rules that speak of a kernel, but for notes."""
    return {f.rule for f in kernels.said(HEAD + text)}
