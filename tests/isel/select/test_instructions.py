"""Which records an ordinary instruction becomes, its addresses and its constants in PHIs."""

from __future__ import annotations

import re

import pytest

from intrinsics.mir import MachineInstr, Mem, Sym
from tests.each import each
from tests.isel.select.selected import kernel, lines_of, lowered


def statements(body: str, *, globals: str = "") -> list[str]:
    """The PTX of `body`, without the comparison that makes `c` where nothing uses it."""
    return lines_of(kernel(body, globals=globals))


# ---- ordinary instructions -------------------------------------------------------------------


@each(
    "instruction, ptx",
    [
        ("add i32 %i, %j", "add.s32"),
        ("add i64 %l, %m", "add.s64"),
        ("sub i32 %i, %j", "sub.s32"),
        ("mul i64 %l, %m", "mul.lo.s64"),
        ("and i32 %i, %j", "and.b32"),
        ("or i64 %l, %m", "or.b64"),
        ("xor i32 %i, %j", "xor.b32"),
        ("shl i32 %i, 3", "shl.b32"),
        ("lshr i32 %i, %j", "shr.u32"),
        ("ashr i64 %l, 5", "shr.s64"),
    ],
)
def test_integer_arithmetic(instruction: str, ptx: str):
    type_ = instruction.split()[1]
    body = f"  %x = {instruction}\n  store {type_} %x, ptr addrspace(1) %p"
    found = [line.split()[0] for line in statements(body)]
    assert found == [ptx, f"st.global.b{type_[1:]}"]


@each(
    "predicate, ptx",
    [
        ("eq", "setp.eq.b32"), ("ne", "setp.ne.b32"),
        ("ult", "setp.lt.u32"), ("ule", "setp.le.u32"),
        ("ugt", "setp.gt.u32"), ("uge", "setp.ge.u32"),
        ("slt", "setp.lt.s32"), ("sle", "setp.le.s32"),
        ("sgt", "setp.gt.s32"), ("sge", "setp.ge.s32"),
    ],
)  # fmt: skip
def test_comparisons_know_their_signs(predicate: str, ptx: str):
    body = f"""  %x = icmp {predicate} i32 %i, %j
      %y = select i1 %x, i32 %i, i32 %j
      store i32 %y, ptr addrspace(1) %p"""
    found = statements(body)
    assert [line.split()[0] for line in found] == [ptx, "selp.b32", "st.global.b32"]
    left, right = re.findall(r"%r\d+", found[0])
    assert re.findall(r"%r\d+", found[1])[1:] == [left, right]


def test_constants_on_the_left_go_into_a_register():
    body = "  %x = sub i32 10, %i\n  store i32 %x, ptr addrspace(1) %p"
    found = [line.split()[0] for line in statements(body)]
    assert found == ["mov.b32", "sub.s32", "st.global.b32"]


@pytest.mark.parametrize(
    ("cast", "ptx"),
    [
        ("zext i32 %i to i64", "cvt.u64.u32"),
        ("sext i32 %i to i64", "cvt.s64.s32"),
        ("trunc i64 %l to i32", "cvt.u32.u64"),
        ("zext i16 %h to i32", "cvt.u32.u16"),
    ],
)
def test_integer_casts(cast: str, ptx: str):
    type_ = cast.rpartition(" ")[2]
    body = f"  %x = {cast}\n  store {type_} %x, ptr addrspace(1) %p"
    assert next(line.split()[0] for line in statements(body)) == ptx


def test_vectors_cost_no_record():
    """Elements are registers: taking a vector apart and putting it together moves nothing."""
    body = """  %v = load <2 x i32>, ptr addrspace(1) %p, align 8
      %a = extractelement <2 x i32> %v, i32 0
      %b = extractelement <2 x i32> %v, i32 1
      %w0 = insertelement <2 x i32> poison, i32 %b, i32 0
      %w = insertelement <2 x i32> %w0, i32 %a, i32 1
      %w2 = shufflevector <2 x i32> %w, <2 x i32> poison, <2 x i32> <i32 1, i32 0>
      store <2 x i32> %w2, ptr addrspace(1) %p, align 8"""
    load, store = statements(body)
    assert load.startswith("ld.global.v2.b32 ")
    assert store.startswith("st.global.v2.b32 ")
    assert re.findall(r"\{.*\}", load) == re.findall(r"\{.*\}", store)


@pytest.mark.parametrize(
    ("type_", "align", "expected"),
    [
        ("<4 x i32>", 16, ["ld.global.v4.b32"]),
        ("<4 x i32>", 8, ["ld.global.v2.b32"] * 2),
        ("<4 x i32>", 4, ["ld.global.b32"] * 4),
        ("<3 x i32>", 16, ["ld.global.v2.b32", "ld.global.b32"]),
        ("<2 x i64>", 16, ["ld.global.v2.b64"]),
        ("i16", 2, ["ld.global.b16"]),
    ],
)
def test_loads_move_no_more_at_once_than_their_alignment_allows(
    type_: str, align: int, expected: list[str]
):
    body = f"""  %v = load {type_}, ptr addrspace(1) %p, align {align}
      store volatile {type_} %v, ptr addrspace(1) %p, align {align}"""
    found = [line.split()[0] for line in statements(body)]
    assert [name for name in found if name.startswith("ld")] == expected


@pytest.mark.parametrize(
    ("space", "ptx"), [("", ".global"), (" addrspace(1)", ".global"), (" addrspace(3)", ".shared")]
)
def test_address_spaces(space: str, ptx: str):
    name = {"": "%g", " addrspace(1)": "%p", " addrspace(3)": "%s"}[space]
    (store,) = statements(f"  store i32 1, ptr{space} {name}")
    assert store.startswith(f"st{ptx}.b32 [")


# ---- addresses -------------------------------------------------------------------------------


def stores(body: str, *, globals: str = "") -> list[MachineInstr]:
    module = lowered(kernel(body, globals=globals))
    return [mi for mi in module.functions[0].instructions() if mi.row.id == "st"]


def test_a_constant_index_goes_into_the_address():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      store i32 1, ptr addrspace(1) %p
      store i32 2, ptr addrspace(1) %q"""
    first, second = stores(body)
    assert (first["a"].offset, second["a"].offset) == (0, 12)
    assert first["a"].base == second["a"].base


def test_constant_indices_add_up():
    body = """  %q = getelementptr [8 x i32], ptr addrspace(1) %p, i64 1, i64 2
      %r = getelementptr i16, ptr addrspace(1) %q, i64 5
      store i32 1, ptr addrspace(1) %r"""
    (store,) = stores(body)
    assert store["a"].offset == 32 + 8 + 10


def test_a_field_of_a_struct_goes_into_the_address():
    """i64 is aligned to 8: the second field begins there, and the struct takes 24 bytes."""
    body = """  %q = getelementptr { i8, i64, i16 }, ptr addrspace(1) %p, i64 2, i32 1
      store i64 1, ptr addrspace(1) %q"""
    (store,) = stores(body)
    assert store["a"].offset == 2 * 24 + 8


def test_the_constant_part_behind_a_variable_one():
    body = """  %q = getelementptr { i32, [4 x i32] }, ptr addrspace(1) %p, i32 %i, i32 1, i64 3
      store i32 1, ptr addrspace(1) %q"""
    (store,) = stores(body)
    assert store["a"].offset == 4 + 12
    found = [line.split()[0] for line in statements(body)]
    assert found == ["mul.wide.s32", "add.s64", "st.global.b32"]


@pytest.mark.parametrize(("cast", "product"), [("sext", "s32"), ("zext", "u32")])
def test_an_index_that_was_widened_is_widened_and_scaled_at_once(cast: str, product: str):
    body = f"""  %w = {cast} i32 %i to i64
      %q = getelementptr i64, ptr addrspace(1) %p, i64 %w
      store i32 1, ptr addrspace(1) %q"""
    found = [line.split()[0] for line in statements(body)]
    assert found == [f"mul.wide.{product}", "add.s64", "st.global.b32"]


def test_an_index_is_scaled_once_for_two_arrays():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
      %r = getelementptr i8, ptr addrspace(1) %p, i64 64
      %u = getelementptr i32, ptr addrspace(1) %r, i32 %i
      store i32 1, ptr addrspace(1) %q
      store i32 2, ptr addrspace(1) %u"""
    found = [line.split()[0] for line in statements(body)]
    assert found.count("mul.wide.s32") == 1


def test_bits_of_an_index_that_were_cut_off_count_for_the_other_index():
    """A truncation to 24 bits leaves the register as it is: only the width tells the two apart."""
    body = """  %w = trunc i32 %i to i24
      %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
      %r = getelementptr i32, ptr addrspace(1) %p, i24 %w
      store i32 1, ptr addrspace(1) %q
      store i32 2, ptr addrspace(1) %r"""
    first, second = stores(body)
    assert first["a"].base != second["a"].base


def test_an_address_of_the_entry_block_is_the_beginning_of_others():
    """Rows of 64 bytes: the column is added to the array first, as the entry block has done it."""
    text = "@table = addrspace(3) global [4 x [16 x i32]] undef"
    cell = "getelementptr [4 x [16 x i32]], ptr addrspace(3) @table"
    body = f"""  %first = {cell}, i32 0, i32 0, i32 %i
      store i32 1, ptr addrspace(3) %first
      %n = load i32, ptr addrspace(1) %p
      %some = icmp sgt i32 %n, 0
      br i1 %some, label %then, label %end
    then:
      %other = {cell}, i32 0, i32 %n, i32 %i
      store i32 2, ptr addrspace(3) %other
      br label %end
    end:"""
    found = [line.split()[0] for line in statements(body, globals=text)]
    assert found.count("mov.b64") == 1  # of the array's address
    assert found.count("mul.wide.s32") == 2
    assert found.count("add.s64") == 2


def test_an_index_into_a_variable():
    text = "@table = addrspace(1) global [16 x i32] zeroinitializer"
    body = """  store i32 1, ptr addrspace(1) getelementptr ([16 x i32], ptr addrspace(1) @table, i64 0, i64 5)
      store i32 2, ptr addrspace(1) @table"""  # noqa: E501
    first, second = stores(body, globals=text)
    assert first["a"] == Mem(Sym("table"), 20)
    assert second["a"] == Mem(Sym("table"))


def test_no_arithmetic_is_left_behind():
    """The add of a folded index is dead, and dead code goes."""
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      store i32 %i, ptr addrspace(1) %q"""
    assert [line.split()[0] for line in statements(body)] == ["st.global.b32"]


def test_an_address_that_escapes_is_computed():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      %x = ptrtoint ptr addrspace(1) %q to i64
      store i64 %x, ptr addrspace(1) %p"""
    assert [line.split()[0] for line in statements(body)] == ["add.s64", "st.global.b64"]


def test_lanes_and_columns_of_tensor_memory_fold_too():
    """32 lanes on: 32 << 16 in the address of a tcgen05.ld."""
    body = """  %q = getelementptr i8, ptr addrspace(6) %t, i32 2097152
      %r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %q, i1 false)
      store i32 %r, ptr addrspace(1) %p"""
    load = statements(body)[0]
    assert re.fullmatch(r"tcgen05\.ld\S+ \{%r\d+\}, \[%r\d+\+2097152\];", load)


def test_a_step_back():
    """ptxas reads `+-4` and calls `-4` a syntax error."""
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 -1
      store i32 %i, ptr addrspace(1) %q"""
    (store,) = statements(body)
    assert re.fullmatch(r"st\.global\.b32 \[%rd\d+\+-4\], %r\d+;", store)


def test_the_address_of_a_tensor_map_takes_no_offset():
    """ptxas: a syntax error at the comma of `[map+128, {…}]`."""
    text = kernel(
        """  %next = getelementptr [128 x i8], ptr %g, i64 1
      call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.1d(ptr addrspace(3) %s,
        ptr addrspace(3) %s, ptr %next, i32 0, i64 0, i1 false)"""
    )
    copy = next(line for line in lines_of(text) if line.startswith("cp.async"))
    assert re.search(r"\[%rd\d+, \{0\}\]", copy)


# ---- constants in PHIs -----------------------------------------------------------------------


def test_a_phi_of_converted_addresses():
    """The conversion of an address stands where control comes from, before the branch."""
    text = """
    @a = internal addrspace(3) global i32 poison
    @b = internal addrspace(1) global i32 poison
    define ptx_kernel void @k(i32 %x) {
    entry:
      %c = icmp eq i32 %x, 0
      br i1 %c, label %left, label %right
    left:
      br label %join
    right:
      br label %join
    join:
      %p = phi ptr [ addrspacecast (ptr addrspace(3) @a to ptr), %left ],
                   [ addrspacecast (ptr addrspace(1) @b to ptr), %right ]
      store i32 0, ptr %p
      br label %end
    end:
      ret void
    }"""
    module = lowered(text)
    (function,) = module.functions
    written: set[int] = set()
    converted = 0
    for mi in function.instructions():
        if mi.row.id == "st":
            assert mi["a"].base in written, "the address is stored through before it is made"
        if mi.row.id == "cvta":
            converted += 1
        written.update(mi.defs())
        if mi.row.id == "ret":
            break
    assert converted == 2
