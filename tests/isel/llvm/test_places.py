"""Where the user wrote the n-th instruction, and which source line debug info names."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isel.llvm.grammar.lexer import name_of
from isel.llvm.ir import Instruction, Module
from isel.llvm.metadata import (
    DIFile,
    DILexicalBlock,
    DILocation,
    DISubprogram,
    OtherNode,
    TupleNode,
    module_flag,
    module_flags,
    read_node,
)
from isel.llvm.reader import read_module
from isel.llvm.types import I32, PTR
from isel.llvm.values import ConstInt, GlobalRef, MetadataString, NodeRef, WrappedValue
from isel.places.align import align_places
from isel.places.debug import DebugPlaces
from isel.places.lines import scan_lines
from isel.places.tokens import Position, scan_tokens
from tests.each import each
from tests.isel.llvm.llvm_corpus import CASES, print_of, printed
from tests.turns import examples

COMMENT = '; define void @commented() { ret void } %x = add i32 1, 2 "\n'


def scanned(text: str) -> dict[str, list[Position]]:
    """Where the instructions of each function are, by tokens alone."""
    return {name: [each.place for each in found] for name, found in scan_tokens(text).items()}


def as_written(text: str) -> str:
    return text


def on_one_line(text: str) -> str:
    return text.replace("\n", " ")


def with_crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def one_word_a_line(text: str) -> str:
    """Every space outside strings becomes a line end, a comment, and another line end."""
    pieces = re.split(r'("[^"]*")', text)
    spread = [p if i % 2 else re.sub(r"\s+", f"\n{COMMENT}\t", p) for i, p in enumerate(pieces)]
    return "".join(spread)


def with_c_comments(text: str) -> str:
    pieces = re.split(r'("[^"]*")', text)
    spread = [p if i % 2 else p.replace(" ", ' /* ret void ; " */ ') for i, p in enumerate(pieces)]
    return "".join(spread)


LAYOUTS = [as_written, on_one_line, with_crlf, one_word_a_line, with_c_comments]


NOT_BY_LINE = r"\b(invoke|callbr|landingpad|catchswitch)\b|^define\b[^@]*\"|^define .*gc \""
"""Instructions that take several lines, and strings in the header of a function."""


@each("name", CASES)
def test_a_scan_by_lines_finds_what_a_scan_by_tokens_does(name: str):
    """LLVM prints one instruction a line, but for a few kinds."""
    text = print_of(CASES[name])
    found = scan_lines(text)
    if found is None:
        assert re.search(NOT_BY_LINE, text, re.MULTILINE)
        return
    for function, places in scanned(text).items():
        assert found[function].places == places


def test_what_llvmlite_and_clang_write_is_scanned_by_lines():
    """A brace on a line of its own, names in quotes, and debug info behind a switch's table."""
    lines = [
        'define i32 @"f$1"(i32 %"x")',
        "{",
        "entry:",
        '  %"y z" = add i32 %"x", 1',
        '  switch i32 %"y z", label %out [',
        "    i32 1, label %out",
        "  ], !dbg !1",
        "out:",
        '  ret i32 %"y z"',
        "}",
    ]
    found = scan_lines("\n".join(lines))
    assert found is not None
    assert found["f$1"].places == [(4, 3), (5, 3), (9, 3)]
    assert found["f$1"].shown == [("y z", "add"), (None, "switch"), (None, "ret")]


@pytest.mark.parametrize("layout", [on_one_line, one_word_a_line, with_c_comments])
def test_other_layouts_are_not_scanned_by_lines(layout: Callable[[str], str]):
    text = layout("define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n")
    assert scan_lines(text) is None


def at(text: str, place: tuple[int, int]) -> str:
    """The text from a place on, without comments and line ends."""
    line, column = place
    lines = text.split("\n")
    rest = "\n".join([lines[line - 1][column - 1 :], *lines[line : line + 40]])
    rest = re.sub(r'("[^"]*")|;[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", rest, flags=re.DOTALL)
    return " ".join(rest.split())


def check(text: str, place: tuple[int, int], printed: Instruction) -> None:
    """What stands at the place is the instruction that LLVM printed."""
    found = re.match(
        r'(?:(%"[^"]*"|%[-\w$.]+) ?= ?)?(?:(?:tail|musttail|notail) )?([a-z_]+)', at(text, place)
    )
    assert found is not None
    assert found[2] == printed.opcode.value
    if found[1] is not None:
        assert name_of(found[1]) == printed.result


class TestPlacesOfTheCorpus:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("name", CASES)
    def test_each_place_holds_its_instruction(self, name: str, layout: object) -> None:
        assert callable(layout)
        text = layout(CASES[name])
        module = read_module(print_of(text))
        places = scanned(text)
        assert set(places) == {f.name for f in module.definitions()}
        for function in module.definitions():
            instructions = list(function.instructions())
            assert len(places[function.name]) == len(instructions)
            for place, instruction in zip(places[function.name], instructions, strict=True):
                check(text, place, instruction)

    @pytest.mark.parametrize("name", CASES)
    def test_alignment_with_the_module_changes_nothing_here(self, name: str) -> None:
        module = read_module(printed(name))
        assert align_places(module, CASES[name]) == scanned(CASES[name])

    @pytest.mark.parametrize("name", CASES)
    def test_llvms_own_print_is_mapped_to_its_lines(self, name: str) -> None:
        module = read_module(printed(name))
        places = scanned(printed(name))
        for function in module.definitions():
            lines = [line for line, _ in places[function.name]]
            assert lines == [i.line for i in function.instructions()]


def places(text: str) -> list[tuple[int, int]]:
    """The places of the only function, in text that LLVM accepts."""
    print_of(text)
    (found,) = scanned(text).values()
    return found


class TestPlaces:
    def test_lines_and_columns_count_from_one(self) -> None:
        assert places("define void @f() {\n  ret void\n}") == [(2, 3)]
        assert places("define void @f() { ret void }") == [(1, 20)]

    def test_columns_count_characters(self) -> None:
        text = 'define void @"é"() { %"ü" = add i32 1, 2 ret void }'
        assert places(text) == [(1, 22), (1, 42)]

    def test_several_on_a_line(self) -> None:
        text = "define i32 @f(i32 %i) { %a = add i32 %i, 1 %b = mul i32 %a, %a ret i32 %b }"
        assert [text[c - 1 :][:2] for _, c in places(text)] == ["%a", "%b", "re"]

    def test_one_over_several_lines(self) -> None:
        text = "define i32 @f(i32 %i) {\n  %a =\n    add\n    i32 %i,\n    1\n  ret\n  i32 %a\n}"
        assert places(text) == [(2, 3), (6, 3)]

    def test_results_without_a_name(self) -> None:
        text = "define i32 @f(ptr %p) {\n load i32, ptr %p\n add i32 %1, 1\n ret i32 %2\n}"
        assert places(text) == [(2, 2), (3, 2), (4, 2)]

    def test_labels_are_no_instructions(self) -> None:
        text = (
            'define void @f() {\nadd: br label %"ret void"\n"ret void": br label %2\n2: ret void\n}'
        )
        assert places(text) == [(2, 6), (3, 13), (4, 4)]

    def test_constant_expressions_are_no_instructions(self) -> None:
        text = """@g = global [4 x i8] zeroinitializer
define i64 @f() {
  store ptr getelementptr inbounds nuw ([4 x i8], ptr @g, i64 0, i64 1), ptr @g
  store ptr getelementptr inbounds inrange(-1, 2) ([4 x i8], ptr @g, i64 0, i64 1), ptr @g
  ret i64 sub nuw nsw (i64 ptrtoint (ptr @g to i64), i64 5)
}"""
        assert places(text) == [(3, 3), (4, 3), (5, 3)]

    def test_an_atomic_operation_is_no_instruction(self) -> None:
        text = """define void @f(ptr %p) {
  atomicrmw add ptr %p, i32 1 monotonic
  atomicrmw volatile xor ptr %p, i32 1 monotonic
  %x = atomicrmw sub ptr %p, i32 1 monotonic fence acquire ret void
}"""
        assert places(text) == [(2, 3), (3, 3), (4, 3), (4, 46), (4, 60)]

    def test_prefix_data_in_braces_is_not_the_body(self) -> None:
        text = "define void @f() prefix { i32, { i8 } } { i32 1, { i8 } { i8 2 } } prologue {} zeroinitializer {\n ret void }"
        assert places(text) == [(2, 2)]

    def test_strings_hide_everything(self) -> None:
        text = """define void @f() "a}"="define void @g() {" {
  call void asm "ret; } add", "~{memory}"() [ "br }"(i32 1) ]
  ret void
}"""
        assert places(text) == [(2, 3), (3, 3)]

    def test_debug_records_and_inline_nodes_are_skipped(self) -> None:
        text = """define void @f(i32 %i) !dbg !3 {
    #dbg_value(i32 %i, !6, !DIExpression(DW_OP_plus_uconst, 4), !7)
  ret void, !dbg !DILocation(line: 2, column: 3, scope: !3)
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !DILocalVariable(name: "v", scope: !3, file: !1)
!7 = !DILocation(line: 2, column: 3, scope: !3)
"""
        assert places(text) == [(3, 3)]

    def test_calls_that_become_debug_records_do_not_count(self) -> None:
        text = """declare void @llvm.dbg.value(metadata, metadata, metadata)
define i32 @f(i32 %i) {
  %a = add i32 %i, 1
  call void @llvm.dbg.value(metadata i32 %a, metadata !0, metadata !DIExpression())
  tail call void @llvm.dbg.value(metadata i32 %a, metadata !0, metadata !DIExpression())
  ret i32 %a
}
!0 = !DILocalVariable(name: "v", scope: !1)
!1 = distinct !DISubprogram(name: "f")
"""
        assert scanned(text)["f"] == [(3, 3), (6, 3)]

    def test_typed_pointers_which_llvm_still_reads(self) -> None:
        text = """define void @f(i32* %p, void (i32)* %g) {
  %x = load i32, i32* %p
  %y = getelementptr i32, i32* %p, i64 1
  call void %g(i32 %x)
  call void (i32) bitcast (void (i32)* %g to void (i32)*)(i32 %x)
  ret void
}""".replace("  call void (i32) bitcast (void (i32)* %g to void (i32)*)(i32 %x)\n", "")
        assert places(text) == [(2, 3), (3, 3), (4, 3), (5, 3)]

    def test_use_list_orders_are_no_instructions(self) -> None:
        text = "define i32 @f(i32 %x) {\n %a = add i32 %x, %x\n ret i32 %a\n uselistorder i32 %x, { 1, 0 }\n}"
        assert places(text) == [(2, 2), (3, 2)]

    def test_comment_at_the_end_is_no_code(self) -> None:
        assert scanned("; define void @f() { ret void }") == {}
        assert scanned("define void @f() { ret void } ; define void @g() { ret void }") == {
            "f": [(1, 20)]
        }

    def test_nothing_behind_a_nul(self) -> None:
        text = "define void @f() { ret void }"
        module = read_module(print_of(text))
        assert align_places(module, text + "\0 define void @f() { ret void }") == {"f": [(1, 20)]}

    def test_functions_without_a_name_are_left_out(self) -> None:
        text = "define void @0() { ret void }\n@1 = global i8 0\ndefine void @f() { ret void }"
        assert "define void @1()" in print_of(text)  # LLVM counts anew
        assert scanned(text) == {"f": [(3, 20)]}

    def test_names_are_those_of_the_reader(self) -> None:
        text = 'define void @"a \\22b\\22"() { ret void }\ndefine void @"7"() { ret void }'
        assert set(scanned(text)) == set(read_module(print_of(text)).functions)

    @examples(600)
    @given(st.sampled_from(sorted(CASES)), st.data())
    def test_damaged_text_does_no_harm(self, name: str, data: st.DataObject) -> None:
        text = CASES[name]
        start = data.draw(st.integers(0, len(text) - 1))
        end = start + data.draw(st.integers(0, 40))
        put = data.draw(st.text(alphabet='%@!"{}[]()<>,=:; \n#/*', max_size=5))
        damaged = text[:start] + put + text[end:]
        ends = [len(line) for line in damaged.split("\n")]
        for found in scanned(damaged).values():
            assert all(1 <= column <= ends[line - 1] for line, column in found)

    @examples(400)
    @given(st.text())
    def test_any_text_does_no_harm(self, text: str) -> None:
        assert isinstance(scanned(f"define void @f() {{ {text}"), dict)


class TestAlignment:
    """With the module at hand, what LLVM made of renamed intrinsics is found, or left out."""

    def test_a_call_replaced_by_one_instruction(self) -> None:
        text = """declare float @llvm.nvvm.atomic.load.add.f32.p0(ptr, float)
define float @f(ptr %p) {
  %a = call float @llvm.nvvm.atomic.load.add.f32.p0(ptr %p, float 1.0)
  %b = fadd float %a, 1.0
  ret float %b
}"""
        module = read_module(print_of(text))
        opcodes = [i.opcode.value for i in module.functions["f"].instructions()]
        assert opcodes == ["atomicrmw", "fadd", "ret"]
        assert align_places(module, text) == {"f": [(3, 3), (4, 3), (5, 3)]}

    def test_a_call_replaced_by_several(self) -> None:
        text = """declare i32 @llvm.nvvm.clz.ll(i64)
define i32 @f(i64 %i) {
  %a = call i32 @llvm.nvvm.clz.ll(i64 %i)
  %b = add i32 %a, 1
  ret i32 %b
}"""
        module = read_module(print_of(text))
        opcodes = [i.opcode.value for i in module.functions["f"].instructions()]
        assert opcodes == ["call", "trunc", "add", "ret"]
        assert len(scanned(text)["f"]) == 3
        assert align_places(module, text) == {"f": [(3, 3), (3, 3), (4, 3), (5, 3)]}

    def test_neighbouring_calls_replaced_one_by_one(self) -> None:
        text = """declare float @llvm.nvvm.atomic.load.add.f32.p0(ptr, float)
define float @f(ptr %p) {
  %1 = call float @llvm.nvvm.atomic.load.add.f32.p0(ptr %p, float 1.0)
  %2 = call float @llvm.nvvm.atomic.load.add.f32.p0(ptr %p, float 2.0)
  ret float %2
}"""
        module = read_module(print_of(text))
        assert align_places(module, text) == {"f": [(3, 3), (4, 3), (5, 3)]}

    def test_neighbouring_calls_replaced_by_nobody_knows_which(self) -> None:
        text = """declare i32 @llvm.nvvm.clz.ll(i64)
define i32 @f(i64 %i) {
  %1 = call i32 @llvm.nvvm.clz.ll(i64 %i)
  %2 = call i32 @llvm.nvvm.popc.ll(i64 %i)
  ret i32 %2
}"""
        module = read_module(print_of(text))
        assert len(list(module.functions["f"].instructions())) == 5
        assert align_places(module, text) == {}

    def test_lines_in_common_stand_where_a_scan_finds_them(self) -> None:
        """A text as LLVM prints it, moved down by comments, and with a part of another shape."""
        for name, case in CASES.items():
            printed = print_of(case)
            module = read_module(printed)
            moved = "; one\n; two\n" + printed.replace("\n\n", "\n; more\n\n")
            for text in (case, printed, moved, moved.replace("  ret void", "   ret void")):
                assert align_places(module, text, printed) == align_places(module, text), name

    def test_another_module_is_noticed(self) -> None:
        module = read_module(
            print_of("define i32 @f(i32 %i) {\n %a = add i32 %i, 1\n ret i32 %a\n}")
        )
        for other in (
            "define i32 @f(i32 %i) {\n %a = sub i32 %i, 1\n ret i32 %a\n}",
            "define i32 @f(i32 %i) {\n %b = add i32 %i, 1\n ret i32 %b\n}",
            "define i32 @f(i32 %i) {\n ret i32 %i\n}",
            "define i32 @g(i32 %i) {\n %a = add i32 %i, 1\n ret i32 %a\n}",
        ):
            assert align_places(module, other) == {}


def debug_module() -> Module:
    return read_module(printed("debug"))


def places_of_debug(module: Module) -> dict[str, tuple[str, int, int] | None]:
    """Each instruction of @f, by opcode, with its source line."""
    places = DebugPlaces(module)
    return {
        i.opcode.value: places.resolve(i.dbg)
        for i in module.functions["f"].instructions()
        if i.dbg is not None
    }


class TestDebugLocations:
    def test_location_in_a_function(self) -> None:
        found = places_of_debug(debug_module())
        assert found["add"] == ("/home/user/project/kernel.py", 11, 5)

    def test_location_in_a_block_takes_the_blocks_file(self) -> None:
        found = places_of_debug(debug_module())
        assert found["store"] == ("/home/user/project/kernel.py", 12, 7)

    def test_a_change_of_file_wins_and_an_absolute_name_stands_alone(self) -> None:
        found = places_of_debug(debug_module())
        assert found["call"] == ("/opt/lib/helper.py", 99, 1)

    def test_a_line_that_the_compiler_made_is_zero(self) -> None:
        found = places_of_debug(debug_module())
        assert found["br"] == ("/home/user/project/kernel.py", 0, 0)

    def test_inlined_code_stands_in_the_callee(self) -> None:
        found = places_of_debug(debug_module())
        assert found["load"] == ("/opt/lib/helper.py", 3, 2)

    @pytest.mark.parametrize(
        ("file", "expected"),
        [
            ('filename: "a.py", directory: "/x"', "/x/a.py"),
            ('filename: "a.py", directory: "/x/"', "/x/a.py"),
            ('filename: "b/a.py", directory: "rel"', "rel/b/a.py"),
            ('filename: "/a.py", directory: "/x"', "/a.py"),
            ('filename: "a.py"', "a.py"),
            ('filename: "a.py", directory: "C:\\\\x"', "C:\\x\\a.py"),
            ('filename: "C:\\\\a.py", directory: "/x"', "C:\\a.py"),
            ('filename: "a \\22b\\22, c: (d).py", directory: "/"', '/a "b", c: (d).py'),
        ],
    )
    def test_directory_and_name(self, file: str, expected: str) -> None:
        module = Module(
            metadata={
                1: "!DILocation(line: 5, column: 6, scope: !2)",
                2: 'distinct !DISubprogram(name: "f", file: !3)',
                3: f"!DIFile({file})",
            }
        )
        assert DebugPlaces(module).resolve(1) == (expected, 5, 6)

    @pytest.mark.parametrize(
        "metadata",
        [
            {},
            {1: "!{}"},
            {1: '!DIFile(filename: "a", directory: "b")'},
            {1: "!DILocation(line: 1)"},
            {1: "!DILocation(line: 1, scope: !2)"},
            {1: "!DILocation(line: 1, scope: !2)", 2: "!{}"},
            {1: "!DILocation(line: 1, scope: !2)", 2: "!DILexicalBlock(scope: !2)"},
        ],
    )
    def test_nothing_when_no_file_is_found(self, metadata: dict[int, str]) -> None:
        assert DebugPlaces(Module(metadata=metadata)).resolve(1) is None


class TestMetadataNodes:
    def test_tuple(self) -> None:
        text = '@k = global i8 0\n!x = !{!0}\n!0 = distinct !{!0, !"a \\22b\\22", i32 -1, ptr @k, null}'
        node = read_node(read_module(print_of(text)), 0)
        assert node == TupleNode(
            (
                NodeRef(0),
                MetadataString('a "b"'),
                WrappedValue(ConstInt(I32, 2**32 - 1)),
                WrappedValue(GlobalRef("k", PTR)),
                None,
            ),
            distinct=True,
        )

    def test_debug_nodes(self) -> None:
        module = debug_module()
        nodes = [read_node(module, id) for id in module.metadata]
        kinds = {type(node) for node in nodes}
        assert kinds == {TupleNode, DILocation, DISubprogram, DILexicalBlock, DIFile, OtherNode}
        subprograms = [n for n in nodes if isinstance(n, DISubprogram)]
        assert {(n.name, n.linkage_name, n.line) for n in subprograms} == {
            ("f", "_Z1f", 10),
            ("inlined", "", 1),
        }
        inlined = [n for n in nodes if isinstance(n, DILocation) and n.inlined_at is not None]
        assert [(n.line, n.column) for n in inlined] == [(3, 2)]

    def test_other_nodes_keep_their_fields_as_text(self) -> None:
        node = read_node(Module(metadata={0: '!DIBasicType(name: "a, b", size: 32)'}), 0)
        assert node == OtherNode("DIBasicType", {"name": '"a, b"', "size": "32"}, (), False)
        node = read_node(Module(metadata={0: "!DIExpression(DW_OP_plus_uconst, 4)"}), 0)
        assert node == OtherNode("DIExpression", {}, ("DW_OP_plus_uconst", "4"), False)

    def test_no_node(self) -> None:
        assert read_node(Module(), 0) is None

    def test_module_flags(self) -> None:
        module = read_module(printed("module"))
        flags = module_flags(module)
        assert flags["nvvm-reflect-ftz"] == WrappedValue(ConstInt(I32, 1))
        assert flags["words"] == MetadataString("text")
        assert module_flag(module, "nvvm-reflect-ftz") == 1
        assert module_flag(module, "words") is None
        assert module_flag(module, "absent") is None
