"""Loads of what memory is known to hold, and stores that are overwritten unread."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y{more}) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t.64 = zext i32 %t to i64
  %p = getelementptr i32, ptr addrspace(1) %x, i64 %t.64
  %q = getelementptr i32, ptr addrspace(1) %y, i32 %t
{body}
}}
"""


def kernel(*body: str, more: str = "") -> str:
    return KERNEL.format(body="\n".join(f"  {line}" for line in body), more=more)


def accesses(text: str) -> tuple[int, int]:
    """How often the kernel loads and stores global memory."""
    ptx = nvgen.compile(text, target="sm_90a").ptx
    return len(re.findall(r"\bld\.(?:volatile\.)?global", ptx)), len(
        re.findall(r"\bst\.(?:volatile\.)?global", ptx)
    )


def run(text: str, x: np.ndarray, y: np.ndarray, *more: np.ndarray) -> None:
    nvgen.compile(text, target="sm_90a").run(x, y, *more, block=4)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.array([3, 50, 7, 90], np.int32), np.array([40, 2, 60, 9], np.int32)


def test_what_was_stored_is_not_loaded_and_what_is_overwritten_is_not_stored() -> None:
    """A running maximum in memory, of what nothing writes."""
    text = kernel(
        "%a = load i32, ptr addrspace(1) %q",
        "store i32 5, ptr addrspace(1) %p",
        "%same = getelementptr i32, ptr addrspace(1) %x, i64 %t.64",
        "%b = load i32, ptr addrspace(1) %same",
        "%c = call i32 @llvm.umax.i32(i32 %a, i32 %b)",
        "store i32 %c, ptr addrspace(1) %p",
        "%r = getelementptr i32, ptr addrspace(1) %z, i32 %t",
        "%d = load i32, ptr addrspace(1) %r",
        "%e = load i32, ptr addrspace(1) %p",
        "%f = call i32 @llvm.umax.i32(i32 %d, i32 %e)",
        "store i32 %f, ptr addrspace(1) %same",
        "ret void",
        more=", ptr addrspace(1) noalias readonly %z",
    )
    assert accesses(text) == (2, 1)
    (x, y), z = arrays(), np.array([1, 100, 2, 3], np.int32)
    run(text, x, y, z)
    assert x.tolist() == np.maximum(np.maximum(5, y), z).tolist()


def test_another_store_may_write_where_a_value_is() -> None:
    """Both arrays are one: what was loaded or stored before is loaded again."""
    text = kernel(
        "store i32 1, ptr addrspace(1) %p",
        "store i32 2, ptr addrspace(1) %q",
        "%a = load i32, ptr addrspace(1) %p",
        "%b = mul i32 %a, 10",
        "store i32 %b, ptr addrspace(1) %q",
        "ret void",
    )
    assert accesses(text)[0] == 1
    x, y = arrays()
    run(text, x, y)
    assert (x.tolist(), y.tolist()) == ([1] * 4, [10] * 4)
    run(text, x, x)
    assert x.tolist() == [20] * 4


def test_a_store_beside_a_value_leaves_it() -> None:
    text = kernel(
        "%next = getelementptr i8, ptr addrspace(1) %p, i64 16",
        "%a = load i32, ptr addrspace(1) %p",
        "store i32 %a, ptr addrspace(1) %next",
        "%b = load i32, ptr addrspace(1) %p",
        "%c = add i32 %a, %b",
        "store i32 %c, ptr addrspace(1) %next",
        "ret void",
    )
    assert accesses(text) == (1, 1)
    x = np.arange(8, dtype=np.int32)
    run(text, x, x)
    assert x.tolist() == [0, 1, 2, 3, 0, 2, 4, 6]


@pytest.mark.parametrize(
    ("between", "kept"),
    [
        ("store i16 9, ptr addrspace(1) %half", (2, 2)),  # part of it is overwritten
        ("%o = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic", (2, 1)),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", (2, 1)),
        ("store volatile i32 4, ptr addrspace(1) %p", (2, 2)),
        ("%o = load volatile i32, ptr addrspace(1) %p", (3, 1)),
        ("%o = add i32 %a, 1", (1, 1)),
    ],
)
def test_what_may_write_makes_contents_unknown(between: str, kept: tuple[int, int]) -> None:
    text = kernel(
        "%half = getelementptr i8, ptr addrspace(1) %p, i64 2",
        "%a = load i32, ptr addrspace(1) %p",
        between,
        "%b = load i32, ptr addrspace(1) %p",
        "%c = add i32 %a, %b",
        "store i32 %c, ptr addrspace(1) %q",
        "ret void",
    )
    assert accesses(text) == kept
    x, y = arrays()
    after = x.copy()
    if "i16" in between:
        after.view(np.int16)[1::2] = 9
    elif "atomicrmw" in between:
        after += 1
    elif "i32 4" in between:
        after[:] = 4
    expected = x + after
    run(text, x, y)
    assert (x.tolist(), y.tolist()) == (after.tolist(), expected.tolist())


def test_a_smaller_store_does_not_make_a_larger_one_vain() -> None:
    text = kernel(
        "store i32 -1, ptr addrspace(1) %p",
        "store i16 9, ptr addrspace(1) %p",
        "store i16 5, ptr addrspace(1) %q",
        "store i32 7, ptr addrspace(1) %q",
        "ret void",
    )
    assert accesses(text) == (0, 3)
    x, y = arrays()
    run(text, x, y)
    assert (x.tolist(), y.tolist()) == ([-65536 + 9] * 4, [7] * 4)


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize(
    ("odd", "zeros"),
    [
        ("<7 x i8> zeroinitializer", 7),
        ("<3 x i8> zeroinitializer", 3),
        ("<3 x i16> zeroinitializer", 6),
        ("<3 x half> zeroinitializer", 6),
        ("i24 0", 3),
        ("i40 0", 5),
    ],
)
def test_a_store_of_odd_size_does_not_make_vain_what_lies_behind_it(
    odd: str, zeros: int, opt: int
) -> None:
    """LangRef: a store of a type whose bits are no power of two writes no more than its bytes."""
    text = f"""
    define ptx_kernel void @k(ptr addrspace(1) %x, i64 %n) {{
      store i64 %n, ptr addrspace(1) %x, align 8
      store {odd}, ptr addrspace(1) %x, align 1
      ret void
    }}"""
    x = np.zeros(8, np.uint8)
    nvgen.compile(text, target="sm_90a", opt=opt).run(x, 0x2525_2525_2525_2525, block=1)
    assert x.tolist() == [0] * zeros + [0x25] * (8 - zeros)


def test_what_a_load_may_read_is_stored_first() -> None:
    """The second array may be the first one, so the first store is seen."""
    text = kernel(
        "store i32 1, ptr addrspace(1) %p",
        "%a = load i32, ptr addrspace(1) %q",
        "store i32 %a, ptr addrspace(1) %p",
        "ret void",
    )
    assert accesses(text) == (1, 2)
    x, y = arrays()
    expected = y.tolist()
    run(text, x, y)
    assert x.tolist() == expected
    run(text, x, x)
    assert x.tolist() == [1] * 4


def test_what_was_loaded_is_not_stored_back() -> None:
    text = kernel(
        "%a = load i32, ptr addrspace(1) %p", "store i32 %a, ptr addrspace(1) %p", "ret void"
    )
    assert accesses(text)[1] == 0


def test_a_block_behind_one_other_knows_what_that_one_knew() -> None:
    """Not so a block that two ways lead to, as that of a loop."""
    text = kernel(
        "%a = load i32, ptr addrspace(1) %p",
        "%big = icmp sgt i32 %a, 10",
        "br i1 %big, label %loop, label %done",
        "loop:",
        "%n = phi i32 [ 0, %0 ], [ %m, %loop ]",
        "%b = load i32, ptr addrspace(1) %p",
        "%c = sub i32 %b, 10",
        "store i32 %c, ptr addrspace(1) %p",
        "%m = add i32 %n, 1",
        "%more = icmp sgt i32 %c, 10",
        "br i1 %more, label %loop, label %out",
        "out:",
        "%d = load i32, ptr addrspace(1) %p",
        "%e = shl i32 %d, 8",
        "%f = or i32 %e, %m",
        "store i32 %f, ptr addrspace(1) %q",
        "br label %done",
        "done:",
        "ret void",
    )
    assert accesses(text) == (2, 2)
    x, y = arrays()
    run(text, x, y)
    assert x.tolist() == [3, 10, 7, 10]
    assert y.tolist() == [40, 10 << 8 | 4, 60, 10 << 8 | 8]


def test_addresses_that_step_round_in_circles_where_nothing_leads() -> None:
    """LLVM's verifier takes code that nothing leads to, in which an address is its own base."""
    text = kernel(
        "store i32 5, ptr addrspace(1) %q",
        "ret void",
        "nowhere:",
        "%r = getelementptr i32, ptr addrspace(1) %s, i64 1",
        "%s = getelementptr i32, ptr addrspace(1) %r, i64 1",
        "store i32 6, ptr addrspace(1) %s",
        "br label %nowhere",
    )
    x, y = arrays()
    run(text, x, y)
    assert y.tolist() == [5] * 4


def test_what_is_loaded_and_changed_elsewhere_is_loaded_and_stored() -> None:
    text = kernel(
        "%a = load i32, ptr addrspace(1) %p",
        "br label %then",
        "then:",
        "%b = add i32 %a, 1",
        "store i32 %b, ptr addrspace(1) %p",
        "ret void",
    )
    assert accesses(text) == (1, 1)
    x, y = arrays()
    run(text, x, y)
    assert x.tolist() == [4, 51, 8, 91]


def test_what_is_loaded_behind_the_store_though_it_stands_before_it_is_known() -> None:
    """Blocks may stand in any order: what dominates a load may stand below it."""
    text = kernel(
        "br label %first",
        "second:",
        "%a = load i32, ptr addrspace(1) %p",
        "store i32 %a, ptr addrspace(1) %q",
        "ret void",
        "first:",
        "store i32 %t, ptr addrspace(1) %p",
        "br label %second",
    )
    assert accesses(text) == (0, 2)
    x, y = arrays()
    run(text, x, y)
    assert x.tolist() == y.tolist() == [0, 1, 2, 3]


def test_what_is_stored_where_it_was_loaded_is_there_already() -> None:
    text = kernel(
        "%a = load i32, ptr addrspace(1) %p",
        "store i32 %a, ptr addrspace(1) %p",
        "ret void",
    )
    assert accesses(text)[1] == 0


def test_what_a_loop_loads_and_another_block_stores_is_loaded_in_each_turn() -> None:
    """The store behind the loop, seen from the turn of a loop around it, is ahead of the load."""
    text = kernel(
        "br label %outer",
        "outer:",
        "%i = phi i32 [ 0, %0 ], [ %i.next, %behind ]",
        "br label %inner",
        "inner:",
        "%j = phi i32 [ 0, %outer ], [ %j.next, %inner ]",
        "%sum = phi i32 [ 0, %outer ], [ %more, %inner ]",
        "%a = load i32, ptr addrspace(1) %p",
        "%more = add i32 %sum, %a",
        "%j.next = add i32 %j, 1",
        "%again = icmp ult i32 %j.next, 2",
        "br i1 %again, label %inner, label %behind",
        "behind:",
        "store i32 %more, ptr addrspace(1) %p",
        "%i.next = add i32 %i, 1",
        "%go.on = icmp ult i32 %i.next, 3",
        "br i1 %go.on, label %outer, label %end",
        "end:",
        "ret void",
    )
    x, y = arrays()
    expected = (8 * x).tolist()
    run(text, x, y)
    assert x.tolist() == expected


def test_what_one_way_stores_ahead_of_a_phi_of_one_value_is_known_behind_it() -> None:
    text = kernel(
        "br label %first",
        "second:",
        "%one = phi i32 [ %t, %first ]",
        "%a = load i32, ptr addrspace(1) %p",
        "%b = add i32 %a, %one",
        "store i32 %b, ptr addrspace(1) %q",
        "ret void",
        "first:",
        "store i32 %t, ptr addrspace(1) %p",
        "br label %second",
    )
    assert accesses(text) == (0, 2)
    x, y = arrays()
    run(text, x, y)
    assert (x.tolist(), y.tolist()) == ([0, 1, 2, 3], [0, 2, 4, 6])
