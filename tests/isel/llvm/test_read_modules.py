"""What the reader makes of functions and modules, of errors, and its fast path beside the other."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import gc

import pytest

from intrinsics.findings import InternalError
from isel.llvm import reader
from isel.llvm.attributes import Attributes
from isel.llvm.grammar import instructions, kept, symbols
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.ir import (
    BinaryOp,
    Block,
    Call,
    Param,
    Phi,
    Switch,
)
from isel.llvm.reader import read_module
from isel.llvm.types import (
    FLOAT,
    HALF,
    I1,
    I8,
    I32,
    PTR,
    VOID,
    ArrayType,
    FunctionType,
    IntType,
    OpaqueType,
    PointerType,
    StructType,
)
from isel.llvm.values import (
    ConstExpr,
    ConstInt,
    ConstStruct,
    GlobalRef,
    Local,
    Null,
)
from isel.llvm.vocabulary import (
    Linkage,
    StorageClass,
    UnnamedAddr,
    Visibility,
)
from tests.isel.llvm.llvm_corpus import print_of
from tests.isel.llvm.llvm_reading import function, read


class TestFunctions:
    @pytest.mark.parametrize(
        "header",
        [
            "define void @f() {",
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, <2 x float> %0) #0 {",
            "define internal fastcc noundef i32 @f.x(ptr align 8 captures(none) %p) unnamed_addr {",
            "define weak_odr dso_local double @g(double %x.1, i1 zeroext %b) local_unnamed_addr #0 {",
            "define void @range(i32 range(i32 0, 5) %x) {",  # cut inside brackets
            "define void @struct(ptr byval(%t) align 4 %x) {",  # a type of the module
            "define i32 @list(ptr %x, ...) {",
        ],
    )
    def test_a_header_is_read_as_the_complete_reader_reads_it(self, header: str) -> None:
        scope = SymbolTable(groups={0: Attributes({"convergent": True}, {"nvvm.maxntid": "128"})})
        scope.type_texts["t"] = "{ i32 }"
        found = symbols.read_function_header(header, scope, 7)
        assert found == symbols._read_header(header, scope, 7)
        assert (found.line, found.is_declaration) == (7, False)

    def test_kernel(self) -> None:
        found = function(
            'define ptx_kernel void @k(ptr addrspace(1) noalias align 16 captures(none) %in, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, i32) #0 { ret void }\n'
            'attributes #0 = { convergent memory(argmem: read) alignstack=16 "nvvm.reqntid"="128,1,1" "alone" }'
        )
        assert found.calling_convention == "ptx_kernel"
        assert found.return_type is VOID
        first, second, third = found.params
        assert isinstance(first, Param)
        assert (first.name, first.type) == ("in", PointerType(1))
        assert first.attributes.enums == {"noalias": True, "align": 16, "captures": "none"}
        assert second.attributes.type_of("byval") is ArrayType(I8, 128)
        assert second.attributes.integer("align") == 64
        assert second.attributes.string("nvvm.grid_constant") == ""
        assert (third.name, third.type, bool(third.attributes)) == ("0", I32, False)
        assert found.attributes.enums == {
            "convergent": True,
            "memory": "argmem: read",
            "alignstack": 16,
        }
        assert found.attributes.strings == {"nvvm.reqntid": "128,1,1", "alone": ""}
        assert found.attributes.string("absent") is None

    def test_declaration(self) -> None:
        found = read("declare extern_weak signext i8 @f(i8 zeroext, ...) local_unnamed_addr")
        declared = found.functions["f"]
        assert declared.is_declaration
        assert declared.blocks == []
        assert (declared.linkage, declared.vararg) == (Linkage.EXTERN_WEAK, True)
        assert declared.unnamed_addr is UnnamedAddr.LOCAL
        assert declared.return_attributes.enums == {"signext": True}
        assert [(p.name, p.type) for p in declared.params] == [("", I8)]
        assert "zeroext" in declared.params[0].attributes

    def test_everything_after_the_parameters(self) -> None:
        text = """
        $c = comdat any
        declare i32 @personality(...)
        define hidden void @f() unnamed_addr addrspace(1) section "s" partition "p" comdat($c) align 32 gc "g" prefix i32 1 prologue { i8, ptr } { i8 2, ptr null } personality ptr @personality !kind !0 !other !0 {
          ret void
        }
        !0 = !{}
        """
        found = function(text)
        assert found.visibility is Visibility.HIDDEN
        assert found.unnamed_addr is UnnamedAddr.GLOBAL
        assert (found.address_space, found.section, found.partition) == (1, "s", "p")
        assert (found.comdat, found.alignment, found.gc) == ("c", 32, "g")
        assert found.prefix == ConstInt(I32, 1)
        struct = StructType((I8, PTR))
        assert found.prologue == ConstStruct(struct, (ConstInt(I8, 2), Null(PTR)))
        assert found.personality == GlobalRef("personality", PTR)
        assert found.metadata == (("kind", 0), ("other", 0))
        assert found.attachment("other") == 0
        assert found.attachment("absent") is None

    def test_attribute_values_keep_their_text(self) -> None:
        found = read(
            'declare ptr @f(i64, i64) #0\nattributes #0 = { allockind("alloc,zeroed") allocsize(0,1) uwtable(sync) vscale_range(1,16) "t"="a \\22b\\22 }" }'
        ).functions["f"]
        assert found.attributes.text("allockind") == '"alloc,zeroed"'
        assert found.attributes.text("allocsize") == "0,1"
        assert found.attributes.text("uwtable") == "sync"
        assert found.attributes.string("t") == 'a "b" }'

    def test_a_line_end_in_an_attributes_key_which_llvm_does_not_escape(self) -> None:
        module = read(
            'define void @f() "a\\0Ab"="c" gc "x\\0A}\\0Ay" { ret void }\ndeclare void @g()'
        )
        assert module.functions["f"].attributes.strings == {"a\nb": "c"}
        assert module.functions["f"].gc == "x\n}\ny"
        assert set(module.functions) == {"f", "g"}

    def test_first_block_without_label_is_numbered_after_the_arguments(self) -> None:
        found = function("define void @f(i32, i32 %x, ptr) { ret void }")
        assert found.blocks == [Block("2", list(found.instructions()))]


class TestModule:
    def test_header(self) -> None:
        module = read(
            'source_filename = "a \\22b\\22"\ntarget datalayout = "e-i64:64"\n'
            'target triple = "nvptx64-nvidia-cuda"\nmodule asm "first"\nmodule asm "\\22second\\22"'
        )
        assert module.source_filename == 'a "b"'
        assert module.data_layout == "e-i64:64"
        assert module.triple == "nvptx64-nvidia-cuda"
        assert module.module_asm == ["first", '"second"']

    def test_types(self) -> None:
        module = read(
            "%later = type { %first, i1 }\n%first = type <{ i8 }>\n%hidden = type opaque\n"
            "@x = global %later zeroinitializer\n@y = external global %hidden"
        )
        first = StructType((I8,), packed=True, name="first")
        later = StructType((first, I1), name="later")
        assert module.types == {
            "later": later,
            "first": first,
            "hidden": OpaqueType("hidden"),
        }
        assert module.globals["x"].value_type is later

    def test_global_variable(self) -> None:
        text = """
        $c = comdat largest
        @v = weak_odr dso_local thread_local(initialexec) unnamed_addr addrspace(1) constant i32 5, section "s", partition "p", code_model "large", no_sanitize_address, sanitize_memtag, comdat($c), align 32, !kind !0 #0
        !0 = !{}
        attributes #0 = { "k"="v" }
        """
        module = read(text)
        variable = module.globals["v"]
        assert variable.linkage is Linkage.WEAK_ODR
        assert variable.dso_local
        assert variable.visibility is Visibility.DEFAULT
        assert variable.thread_local == "initialexec"
        assert variable.unnamed_addr is UnnamedAddr.GLOBAL
        assert variable.address_space == 1
        assert variable.is_constant
        assert (variable.value_type, variable.initializer) == (I32, ConstInt(I32, 5))
        assert (variable.section, variable.partition) == ("s", "p")
        assert variable.code_model == "large"
        assert variable.sanitizer == ("no_sanitize_address", "sanitize_memtag")
        assert (variable.comdat, variable.alignment) == ("c", 32)
        assert variable.metadata == (("kind", 0),)
        assert variable.attributes.strings == {"k": "v"}
        assert not variable.is_declaration
        assert module.comdats == {"c": "largest"}

    def test_external_variable(self) -> None:
        variable = read(
            "@smem = external dllimport addrspace(3) externally_initialized global [0 x i8], align 1024"
        ).globals["smem"]
        assert variable.is_declaration
        assert variable.initializer is None
        assert variable.linkage is Linkage.EXTERNAL
        assert variable.storage_class is StorageClass.IMPORT
        assert variable.externally_initialized
        assert variable.alignment == 1024

    def test_dso_local_is_left_out_where_the_visibility_implies_it(self) -> None:
        variable = read("@v = dso_local protected global i8 0").globals["v"]
        assert variable.visibility is Visibility.PROTECTED
        assert not variable.dso_local

    def test_thread_local_without_a_model(self) -> None:
        assert read("@t = thread_local global i8 0").globals["t"].thread_local == "generaldynamic"
        assert read("@t = global i8 0").globals["t"].thread_local == ""

    def test_aliases_and_ifuncs(self) -> None:
        module = read(
            '@v = global [4 x i8] zeroinitializer\n@a = internal alias i8, getelementptr (i8, ptr @v, i64 1)\n@b = hidden alias i8, ptr @v, partition "p"\n'
            "@i = ifunc void (i32), ptr @r\ndefine ptr @r() { ret ptr null }"
        )
        a, b, i = (module.aliases[name] for name in "abi")
        assert isinstance(a.target, ConstExpr)
        assert (a.linkage, a.value_type, a.is_ifunc) == (Linkage.INTERNAL, I8, False)
        assert (b.target, b.partition) == (GlobalRef("v", PTR), "p")
        assert b.visibility is Visibility.HIDDEN
        assert (i.is_ifunc, i.value_type) == (True, FunctionType(VOID, (I32,)))
        assert i.target == GlobalRef("r", PTR)

    def test_metadata_is_kept_as_text(self) -> None:
        module = read(
            '!names = !{!0, !DIExpression(DW_OP_deref), !1}\n!0 = !{!"s", i32 1}\n!1 = distinct !{}'
        )
        assert module.named_metadata == {"names": (0, "!DIExpression(DW_OP_deref)", 1)}
        assert module.metadata == {0: '!{!"s", i32 1}', 1: "distinct !{}"}

    def test_attribute_groups_by_number(self) -> None:
        module = read("declare void @f() nounwind\ndeclare void @g() cold")
        groups = [group.enums for group in module.attribute_groups.values()]
        assert groups == [{"nounwind": True}, {"cold": True}]

    def test_use_list_orders_are_skipped(self) -> None:
        text = (
            "@g = global i32 0\ndefine i32 @f(i32 %x) {\n  %a = add i32 %x, %x\n  ret i32 %a\n\n"
            "; uselistorder directives\n  uselistorder i32 %x, { 1, 0 }\n}\n\nuselistorder ptr @g, { 1, 0 }\n"
            "uselistorder_bb @f, %a, { 1, 0 }\n"
        )
        assert len(list(read_module(text).functions["f"].instructions())) == 2


class TestErrors:
    """Text that LLVM would not print is a bug of ours, and says where."""

    @pytest.mark.parametrize(
        "line",
        [
            "  %x = frobnicate i32 %a, 1",
            "  %x = add i32 %a",
            "  %x = add i32 %a, 1 junk",
            "  %x = add i32 %a, {",
            "  %x = add nonsense i32 %a, 1",
            "  %x = load i32, ptr",
            "  br label",
            "  ret",
            "  store float 0.1, ptr %p, align 4",
            '  call void @f() [ "unclosed',
            "  %x = call i32 @f() #99",
            "  %x = alloca %unknown, align 4",
            "  %x = getelementptr i8, ptr %p, i64 (",
            "  switch i32 %a, label %b [",
            "  ",
            "not a label",
        ],
    )
    def test_bad_instruction(self, line: str) -> None:
        text = f"define void @f(i32 %a, ptr %p) {{\n{line}\n  ret void\n}}\n"
        for fast in (True, False):
            with pytest.raises(InternalError, match=r"cannot read line \d+ of LLVM's text"):
                read_module(text, fast=fast)

    @pytest.mark.parametrize(
        "line",
        ["@x = nonsense", "nonsense", "!7", "%x = type", "$c", "target triple", "declare void @f("],
    )
    def test_bad_statement(self, line: str) -> None:
        with pytest.raises(InternalError, match="cannot read line"):
            read_module(f"\n{line}\n")

    def test_the_line_is_named_and_quoted(self) -> None:
        text = "define void @f() {\n  ret void\n}\n\n@x = global i32 what\n"
        with pytest.raises(InternalError) as caught:
            read_module(text)
        assert "line 5" in str(caught.value)
        assert "@x = global i32 what" in str(caught.value)

    def test_a_function_without_end(self) -> None:
        with pytest.raises(InternalError):
            read_module("define void @f() {\n  ret void\n")

    def test_garbage_collection_is_left_as_it_was(self) -> None:
        assert gc.isenabled()
        with pytest.raises(InternalError):
            read_module("nonsense")
        assert gc.isenabled()
        gc.disable()
        try:
            read_module("")
            assert not gc.isenabled()
        finally:
            gc.enable()

    def test_empty_text_is_an_empty_module(self) -> None:
        module = read_module("")
        assert module.functions == {}
        assert module.globals == {}


COMMON = """
@smem = external addrspace(3) global [0 x i8], align 1024
define ptx_kernel void @k(ptr addrspace(1) noalias %out, i32 %n, float %x, <4 x float> %v) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi <2 x float> [ splat (float 1.0), %entry ], [ <float 1.0, float 2.0>, %loop ]
  %next = add nuw nsw i32 %i, 1
  %wide = zext nneg i32 %i to i64
  %p = getelementptr inbounds nuw float, ptr addrspace(1) %out, i64 %wide
  %q = getelementptr i8, ptr addrspace(3) @smem, i32 %i
  %a = load <4 x float>, ptr addrspace(3) %q, align 16
  %l = load volatile float, ptr addrspace(1) %p, align 4
  %e = extractelement <4 x float> %a, i64 2
  %w = insertelement <4 x float> %a, float 0x3FB99999A0000000, i32 1
  %u = shufflevector <4 x float> %w, <4 x float> %v, <2 x i32> <i32 0, i32 7>
  %m = call contract noundef float @llvm.fma.f32(float noundef %e, float -0.5, float nofpclass(nan) %l)
  %f = fmul fast float %m, %x
  %g = fneg float %f
  %h = select i1 true, float %g, float %f
  %z = freeze float %h
  store float %z, ptr addrspace(1) %p, align 4
  store <2 x float> %u, ptr addrspace(3) %q, align 8
  tail call void @llvm.nvvm.barrier0()
  %t = tail call { i32, i32 } asm sideeffect "x $0, $1, $2; // /* */", "=r,=r,r"(i32 %i) #0
  %t0 = extractvalue { i32, i32 } %t, 0
  %t1 = insertvalue { i32, float } poison, float %z, 1
  %"s$1" = alloca { i32, float }, align 4
  store { i32, float } zeroinitializer, ptr %"s$1", align 4
  %t2 = load { i32, float }, ptr %"s$1", align 4
  %t3 = getelementptr inbounds { i32, float }, ptr %"s$1", i32 0, i32 1
  %d = alloca [4 x i32], align 4
  %old = atomicrmw fadd ptr addrspace(1) %p, float %z monotonic, align 4
  %c = icmp slt i32 %next, %n
  br i1 %c, label %loop, label %chosen
chosen:
  switch i32 %n, label %exit [
    i32 -1, label %chosen
    i32 7, label %another
  ], !prof !0
another:
  switch i1 %c, label %exit [
  ]
exit:
  ret void
}
attributes #0 = { convergent nounwind }
!0 = !{!"branch_weights", i32 1, i32 2, i32 3}
"""
"""Every kind of line that GPU code is made of."""


class TestFastPath:
    """What GPU code is made of is never cut by its tokens: that is where the speed comes from."""

    def test_takes_the_common_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        printed = print_of(COMMON)
        expected = read_module(printed, fast=False)

        def refuse(_: object, text: str, *__: object) -> None:
            pytest.fail(f"the fast path did not take: {text}")

        monkeypatch.setattr(instructions.InstructionReader, "read", refuse)
        assert read_module(printed) == expected

    def test_names_may_hold_what_lines_are_cut_at(self) -> None:
        text = """
        %"a, b to c" = type { i32, { i64, i32 } }
        declare %"a, b to c" @"f(x), g"(ptr, %"a, b to c")
        define void @k(ptr %"p, ptr %q", i64 %"i to j", <2 x i32> %"v [ 1, %l ], [ 2", i32 %n) {
        "x, y":
          %"s, !dbg !1" = load %"a, b to c", ptr %"p, ptr %q", align 8
          %"t, 1" = extractvalue %"a, b to c" %"s, !dbg !1", 1, 0
          %"u" = trunc i64 %"t, 1" to i32
          %"w" = inttoptr i64 %"i to j" to ptr addrspace(1)
          %c = call %"a, b to c" @"f(x), g"(ptr %"p, ptr %q", %"a, b to c" %"s, !dbg !1")
          br label %"z ], [ z"
        "z ], [ z":
          %"o = 1" = phi <2 x i32> [ %"v [ 1, %l ], [ 2", %"x, y" ], [ %"o = 1", %"z ], [ z" ]
          switch i32 %n, label %"x, label %y" [
            i32 1, label %"z ], [ z"
          ]
        "x, label %y":
          ret void
        }
        """
        function = read(text).functions["k"]
        loaded, taken, narrow, pointer, call, branch, phi, switch, _ = function.instructions()
        assert [block.name for block in function.blocks] == ["x, y", "z ], [ z", "x, label %y"]
        assert loaded.result == "s, !dbg !1"
        assert loaded.operands() == (Local("p, ptr %q", PointerType(0)),)
        assert (taken.result, taken.type) == ("t, 1", IntType(64))
        assert (narrow.type, pointer.type) == (IntType(32), PointerType(1))
        assert isinstance(call, Call)
        assert call.callee_name == "f(x), g"
        assert len(call.arguments) == 2
        assert branch.targets() == ("z ], [ z",)
        assert isinstance(phi, Phi)
        assert [block for _, block in phi.incoming] == ["x, y", "z ], [ z"]
        assert isinstance(switch, Switch)
        assert switch.targets() == ("x, label %y", "z ], [ z")

    def test_refuses_what_it_can_not_read(self) -> None:
        scope = reader.SymbolTable()  # type: ignore[attr-defined]
        lines = instructions.InstructionReader(scope)
        for line in (
            "  %x = add i32 %a, 1, 2",
            "  %x = add { i32, i32 } { i32 1, i32 2 }, %y",
            '  %"x y" = call void asm "", ""()',
            "  %x = call i32 @f(i32 %a) ; (%b, %c)",
            "  fence seq_cst",
            "  %x = phi i32 [ 0, %a ], [ %b ]",
            "  switch i32 %n, label %a [",
            "  unreachable, !dbg !1",
        ):
            assert lines.read_common(line, 1, 0) is None, line

    def test_types_of_one_module_are_not_those_of_the_next(self) -> None:
        text = """
        %T = type {{ {element} }}
        define ptr @f(ptr %p, i64 %i) {{
          %q = getelementptr %T, ptr %p, i64 %i
          ret ptr %q
        }}
        """
        for element in ("i32", "i64"):
            printed = print_of(text.format(element=element))
            assert read_module(printed) == read_module(printed, fast=False)

    def test_small_modules_share_what_pieces_mean(self) -> None:
        scope = SymbolTable()
        shared = kept.kept_of(scope, 1000)
        assert kept.kept_of(scope, 1000) is shared
        assert kept.kept_of(scope, 1 << 20) is not shared  # a large one
        named = SymbolTable(types={"T": OpaqueType("T")})
        assert kept.kept_of(named, 1000) is not shared

    def test_what_is_shared_is_forgotten_in_the_end(self) -> None:
        scope = SymbolTable()
        shared = kept.kept_of(scope, 1000)
        found = [kept.kept_of(scope, 50_000) for _ in range(50)]
        assert found[-1] is not shared

    def test_a_line_read_twice_is_the_same_record(self) -> None:
        lines = instructions.InstructionReader(SymbolTable())
        line = "  %x = fma float %a, 1.000000e+00".replace("fma", "fadd")
        first, second = lines.read_common(line, 1, 0), lines.read_common(line, 1, 0)
        assert first == second
        assert isinstance(first, BinaryOp)
        assert first.type is FLOAT
        assert HALF is not first.type
