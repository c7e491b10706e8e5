"""Modules that LLVM ends its process over, and the line where the reason stands.

Each was seen to do so in LLVM 22 with assertions on, the build that llvmlite has.  0 says that no
line is told: the whole is nested too deep, or what is wrong cannot be taken out.
"""

from __future__ import annotations

KERNEL = "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, ptr %q) {\n"
END = "  ret void\n}\n"
MANY = 100_000

DEBUGGED = """\
define ptx_kernel void @k(i32 %n) !dbg !3 {
  %x = add i32 %n, 1, !dbg !4
  ret void, !dbg !5
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "a.py", directory: "/")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, unit: !1, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 7, column: 3, scope: !3)
!5 = !DILocation(line: 8, column: 3, scope: !3)
"""


def inside(line: str, after: str = "") -> str:
    """A kernel with one instruction before its end."""
    return f"{KERNEL}  {line}\n{END}{after}"


def called(type_: str, name: str, arguments: str) -> tuple[str, int]:
    """A kernel that calls an intrinsic, which nothing declares, in its second line."""
    result = "" if type_ == "void" else "%x = "
    return inside(f"{result}call {type_} @{name}({arguments})"), 2


def loaded(kind: str, node: str) -> tuple[str, int]:
    """A kernel with a load that has metadata, in its second line."""
    return inside(f"%x = load i32, ptr addrspace(1) %p, !{kind} !0", f"!0 = !{node}\n"), 2


def listed(name: str, node: str) -> tuple[str, int]:
    """A kernel and named metadata of one node, on the sixth line."""
    return f"{KERNEL}  ret void\n}}\n!{name} = !{{!1, !0}}\n{SOUND[name]}\n!0 = !{node}\n", 6


SOUND = {
    "nvvm.annotations": '!1 = !{ptr @k, !"maxntidx", i32 128}',
    "llvm.module.flags": '!1 = !{i32 1, !"wchar_size", i32 4}',
}
ANNOTATIONS, FLAGS = SOUND

DEADLY: dict[str, tuple[str, int]] = {
    # An intrinsic of an older LLVM, with other arguments.
    "abs of two arguments": called("i32", "llvm.nvvm.abs.i", "i64 5, i32 3"),
    "rotate of another width": called("i32", "llvm.nvvm.rotate.b32", "i64 1"),
    "clz of another width": called("i32", "llvm.nvvm.clz.i", "i64 1"),
    "popc of another width": called("i64", "llvm.nvvm.popc.ll", "i64 1"),
    "h2f of nothing": called("float", "llvm.nvvm.h2f", ""),
    "bitcast of nothing": called("i32", "llvm.nvvm.bitcast.f2i", ""),
    "atomic without a pointer": called(
        "float", "llvm.nvvm.atomic.load.add.f32.p0", "float 1.0, float 1.0"
    ),
    "ldg with an alignment that is none": called(
        "float", "llvm.nvvm.ldg.global.f.f32.p1", "ptr addrspace(1) %p, i32 %n"
    ),
    "mapa of an integer": called("i32", "llvm.nvvm.mapa.shared.cluster", "i32 1"),
    "a barrier without its number": called("void", "llvm.nvvm.bar.sync", ""),
    "a bulk copy of an integer": called(
        "void", "llvm.nvvm.cp.async.bulk.shared.cta.to.cluster", "i32 1"
    ),
    "abs.bf16 of nothing": called("i16", "llvm.nvvm.abs.bf16", ""),
    "memset with an alignment that is none": called(
        "void", "llvm.memset.p0.i32", "ptr %q, i8 0, i32 1, i32 %n, i1 0"
    ),
    "a masked load with an alignment that is none": called(
        "<4 x i32>",
        "llvm.masked.load.v4i32.p0",
        "ptr %q, i32 %n, <4 x i1> zeroinitializer, <4 x i32> zeroinitializer",
    ),
    "a reduction of nothing": called("i32", "llvm.experimental.vector.reduce.add.v4i32", ""),
    "a debug label that is a number": called("void", "llvm.dbg.label", "i32 1"),
    "an x86 root of nothing": called("<4 x float>", "llvm.x86.sse.sqrt.ss", ""),
    "an x86 product of a number": called("<2 x i64>", "llvm.x86.sse2.pmulu.dq", "i32 1"),
    "an x86 store of nothing": called("void", "llvm.x86.avx.movnt.dq.256", "i32 1"),
    "an Arm count of nothing": called("<4 x i16>", "llvm.arm.neon.vclz.v4i16", ""),
    "a RISC-V round of one argument": called("i32", "llvm.riscv.aes32dsi", "i32 1"),
    "a power of nothing": called("float", "llvm.amdgcn.ldexp.f32", ""),
    "an intrinsic that is only declared": (
        "declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(i32)\n" + inside("fence seq_cst"),
        1,
    ),
    "a declaration in mid-line": (
        "@g = global i32 0 declare i32 @llvm.nvvm.swap.lo.hi.b64(i32)\n"
        + called("i32", "llvm.nvvm.swap.lo.hi.b64", "i32 0")[0],
        3,
    ),
    "a declaration over two lines": (
        called("i32", "llvm.nvvm.rotate.b32", "i64 1")[0]
        + "declare\n i32\n @llvm.nvvm.rotate.b32\n (i64)\n",
        2,
    ),
    "an escaped name": called("i32", '"\\6clvm.nvvm.rotate.b32"', "i64 1"),
    "after a sound one": (
        inside(
            "%y = call i32 @llvm.umin.i32(i32 %n, i32 1)\n  %x = call i32 @llvm.nvvm.clz.i(i64 1)\n"
            "  %z = call i32 @llvm.umax.i32(i32 %n, i32 1)"
        ),
        3,
    ),
    # Metadata of an instruction.
    "tbaa of null": loaded("tbaa", "{null}"),
    "alias scopes of null": loaded("alias.scope", "{null}"),
    "noalias of null": loaded("noalias", "{null}"),
    "access groups of null": loaded("llvm.access.group", "{null}"),
    "mmra of null": loaded("mmra", "{null}"),
    "an annotation of null": loaded("annotation", "{null}"),
    "branch weights that are strings": (
        f"{KERNEL}  br i1 true, label %l, label %l, !prof !0\nl:\n{END}"
        '!0 = !{!"branch_weights", !"x", !"y"}\n',
        2,
    ),
    "select weights that are strings": (
        inside(
            "%x = select i1 true, i32 1, i32 2, !prof !0",
            '!0 = !{!"branch_weights", !"x", !"y"}\n',
        ),
        2,
    ),
    # Annotations of kernels and flags of modules.
    "an annotation of two parts": listed(ANNOTATIONS, '{ptr @k, !"kernel"}'),
    "an annotation of four parts": listed(ANNOTATIONS, '{ptr @k, !"kernel", i32 1, !"x"}'),
    "an annotation of nothing": listed(ANNOTATIONS, "{}"),
    "a block size that is a string": listed(ANNOTATIONS, '{ptr @k, !"maxntidx", !"x"}'),
    "a block size that is null": listed(ANNOTATIONS, '{ptr @k, !"maxntidx", null}'),
    "a block size that is a fraction": listed(ANNOTATIONS, '{ptr @k, !"reqntidx", float 1.0}'),
    "an alignment that is no power of 2": listed(ANNOTATIONS, '{ptr @k, !"align", i32 99999}'),
    "grid constants that are no list": listed(ANNOTATIONS, '{ptr @k, !"grid_constant", i32 1}'),
    "registers beyond 64 bits": listed(
        ANNOTATIONS, '{ptr @k, !"maxnreg", i128 999999999999999999999999999}'
    ),
    "an escaped list": (
        f'{KERNEL}{END}!nvvm\\2Eannotations = !{{!0}}\n!0 = !{{ptr @k, !"kernel"}}\n',
        5,
    ),
    "a flag that is null": listed(FLAGS, '{i32 1, !"Objective-C Garbage Collection", null}'),
    "a flag that is no list": listed(FLAGS, '{i32 1, !"CG Profile", i32 1}'),
    # Debug info.
    "inlined at a function": (
        DEBUGGED.replace("column: 3, scope: !3)", "column: 3, scope: !3, inlinedAt: !3)", 1),
        2,
    ),
    "a block in a unit": (
        DEBUGGED.replace("line: 7, column: 3, scope: !3", "line: 7, scope: !6")
        + "!6 = distinct !DILexicalBlock(scope: !1, file: !2, line: 1)\n",
        2,
    ),
    "a location as a variable": (
        "@g = addrspace(1) global i32 0, !dbg !0\n"
        + inside("fence seq_cst")
        + "!0 = distinct !DIGlobalVariableExpression(var: !1, expr: !1)\n"
        "!1 = distinct !DILocation(line: 1, scope: !0)\n",
        1,
    ),
    "escaped metadata": (
        inside("%x = load i32, ptr addrspace(1) %p, !\\64bg !0")
        + "!0 = distinct !\\44IGlobalVariableExpression(var: !1, expr: !1)\n"
        "!1 = distinct !\\44ILocation(line: 1, scope: !1)\n",
        2,
    ),
    # Attributes, types, calling conventions.
    "an attribute group with alignment 3": (
        inside("fence seq_cst") + "attributes #0 = { align=3 }\n",
        5,
    ),
    "a tuple of no vectors": (inside('%x = alloca target("riscv.vector.tuple", i32, 99)'), 1),
    "a calling convention beyond the last": ("define cc 1024 void @f() {\n  ret void\n}\n", 0),
    # Nesting.
    "types in types": (f"@g = global {'{' * MANY} i32 {'}' * MANY} zeroinitializer\n", 0),
    "a chain of types": (
        "".join(f"%t{i} = type {{ %t{i + 1} }}\n" for i in range(MANY))
        + f"%t{MANY} = type {{ i32 }}\n@g = global %t0 zeroinitializer\n",
        0,
    ),
    "a chain of metadata": (
        "".join(f"!{i} = !{{!{i + 1}}}\n" for i in range(MANY))
        + f"!{MANY} = !{{}}\n!x = !{{!0}}\n",
        0,
    ),
    "expressions in expressions": (
        f"@h = global i64 {'add (i64 1, i64 ' * MANY}ptrtoint (ptr @h to i64){')' * MANY}\n",
        0,
    ),
}

ENDLESS = {
    "inlined at itself": DEBUGGED.replace(
        "column: 3, scope: !3)", "column: 3, scope: !3, inlinedAt: !4)", 1
    ),
    "a block in itself": DEBUGGED.replace("line: 7, column: 3, scope: !3", "line: 7, scope: !6")
    + "!6 = distinct !DILexicalBlock(scope: !6, file: !2, line: 1)\n",
}
"""Modules that LLVM reads for ever."""
