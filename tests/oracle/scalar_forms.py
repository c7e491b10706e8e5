"""Statements of moves, integers, comparisons and conversions, enumerated from the PTX manual."""

from __future__ import annotations

import itertools

from tests.oracle.statements import (
    LITERALS,
    REGISTERS,
    SOME,
    garble,
    joined,
    pairwise,
    shuffle,
    spoil,
    statement,
    unique,
)

# --- 10. mov and the special registers -----------------------------------------------------------

TYPES: tuple[str, ...] = (
    ".b8", ".b16", ".b32", ".b64", ".b128", ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32",
    ".s64", ".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64", ".pred", ".f32x2", ".u16x2",
    ".s16x2", ".u8x4", ".s8x4", ".tf32",
)  # fmt: skip

OF_TYPE: dict[str, str] = {
    ".b8": "%c", ".b16": "%h", ".b32": "%r", ".b64": "%rd", ".b128": "%q",
    ".u8": "%c", ".u16": "%uh", ".u32": "%u", ".u64": "%ud",
    ".s8": "%c", ".s16": "%sh", ".s32": "%s", ".s64": "%sd",
    ".f16": "%hf", ".f16x2": "%hx", ".bf16": "%h", ".bf16x2": "%r", ".f32": "%f", ".f64": "%fd",
    ".pred": "%p", ".f32x2": "%rd", ".u16x2": "%r", ".s16x2": "%r", ".u8x4": "%r", ".s8x4": "%r",
    ".tf32": "%r",
}  # fmt: skip
"""The registers that hold a value of a type most naturally."""

SPECIALS: tuple[str, ...] = (
    *joined(("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
             "%cluster_nctaid"), (".x", ".y", ".z", ".w", "")),
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%cluster_ctarank",
    "%cluster_nctarank", "%is_explicit_cluster", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
    "%lanemask_ge", "%lanemask_gt", "%lanemask_ne", "%clock", "%clock_hi", "%clock64", "%pm0",
    "%pm7", "%pm8", "%pm0_64", "%envreg0", "%envreg31", "%envreg32", "%globaltimer",
    "%globaltimer_lo", "%globaltimer_hi", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", "%reserved_smem_offset_0",
    "%reserved_smem_offset_1", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
    "%current_graph_exec", "%nosuch", "%laneid.x", "%clock.x", "%cluster_ctarank.x", "%smid.y",
    "WARP_SZ",
)  # fmt: skip


def mov() -> list[str]:
    """mov ("Data Movement and Conversion: mov") and the special registers (chapter 10).

    Type x type of the destination register x same register as source; type x literals; type x
    addresses of symbols; packing and unpacking with right and wrong counts and widths; special
    register x type with a register of that type, and a few wrong ones.
    """
    return unique([*_moves(), *_special_registers(), *_spoilt_moves()])


def _moves() -> list[str]:
    """mov of every type, and of vectors."""
    out: list[str] = []
    main = (".b16", ".b32", ".b64", ".u32", ".s32", ".f32", ".f64", ".pred")
    for kind in TYPES:
        out.append(statement(f"mov{kind}", OF_TYPE[kind] + "1", OF_TYPE[kind] + "2"))
        for register in REGISTERS:
            out.append(statement(f"mov{kind}", register, register[:-1] + "2"))
            if kind in main:
                out.append(statement(f"mov{kind}", OF_TYPE[kind] + "1", register))
        literals = (*LITERALS, "-0x80000000", "0xFFFFFFFFFFFFFFFF", "0b101", "017", "-1.5", "!0")
        if kind not in main:
            literals = ("5", "1.5", "0f3F800000")
        symbols = ("smem", "smem+4", "gmem", "mbar+8", "cmem", "lmem", "kparam", "ktmap", "k", "L0",
                   "nosuch", "[smem]", "gfloat")  # fmt: skip
        if kind not in main and "64" not in kind:
            symbols = ("smem",)  # type: ignore[assignment]
        sources = (*literals, *symbols)
        out += [statement(f"mov{kind}", OF_TYPE[kind] + "1", source) for source in sources]
    vectors = (
        "{%c1, %c2}", "{%c1, %c2, %c3, %c4}", "{%h1, %h2}", "{%h1, %h2, %h3, %h4}", "{%r1, %r2}",
        "{%r1, %r2, %r3, %r4}", "{%rd1, %rd2}", "{%f1, %f2}", "{%fd1, %fd2}", "{%hf1, %hf2}",
        "{%h1, %h2, %h3}", "{%r1}", "{%p1, %p2}", "{%u1, %s1}", "{%r1, %f1}", "{%h1, %r1}",
        "{%hx1, %hx2}", "{_, %r2}", "{%h1, _}", "{1, 2}", "{%h1, 2}", "{%uh1, %sh2}",
    )  # fmt: skip
    for kind, register in (
        (".b16", "%h5"), (".b32", "%r5"), (".b64", "%rd5"), (".b128", "%q1"), (".u32", "%u5"),
        (".f16x2", "%hx5"), (".b32", "%f5"), (".b64", "%fd5"), (".b64", "%r5"),
    ):  # fmt: skip
        out += [statement(f"mov{kind}", register, vector) for vector in vectors]
        out += [statement(f"mov{kind}", vector, register) for vector in vectors]
    out += ["mov.b64 {%r1, %r2}, {%r3, %r4};", "mov.v2.b32 {%r1, %r2}, {%r3, %r4};",
            "mov.v2.u32 {%u1, %u2}, %rd1;", "mov.v4.u32 {%u1, %u2, %u3, %u4}, %tid;",
            "mov.b128 {%rd1, %rd2}, {%rd3, %rd4};", "mov.b64 {%r1, %r2}, 5;"]  # fmt: skip
    return out


def _special_registers() -> list[str]:
    """mov and cvt of special registers."""
    out: list[str] = []
    for special in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "cluster_nctaid", "laneid"):
        out += [f"mov.{kind} %q1, %{special};" for kind in ("b128", "b64")]
        out += [f"mov.u32 %r1, %{special};", f"st.b128 [%rd1], %{special};"]
    for special in SPECIALS:
        for kind in (".u16", ".u32", ".b32", ".s32", ".u64", ".b64", ".f32", ".pred", ".v4.u32"):
            if kind in (".f32", ".v4.u32") and not special.endswith(("id", ".x", "64")):
                continue
            if kind == ".pred" and special not in ("%is_explicit_cluster", "%tid.x", "%laneid"):
                continue
            register = "{%u1, %u2, %u3, %u4}" if "v4" in kind else OF_TYPE[kind] + "1"
            out.append(statement(f"mov{kind}", register, special))
        for kind, register in ((".u32", "%r1"), (".u32", "%rd1"), (".u64", "%rd1")):
            out.append(statement(f"mov{kind}", register, special))
    out += [f"mov.u32 {special}, %r1;" for special in ("%tid.x", "%laneid", "%clock64", "WARP_SZ")]
    out += ["cvt.u32.u32 %r1, %tid.x;", "cvt.u64.u32 %rd1, %tid.x;", "cvt.u16.u32 %h1, %tid.x;",
            "add.u32 %r1, %tid.x, 1;", "st.u32 [%rd1], %tid.x;", "setp.eq.u32 %p1, %laneid, 0;",
            "mov.u32 %r1, %tid.r;", "mov.u32 %r1, %ctaid.x+1;"]  # fmt: skip
    return out


def _spoilt_moves() -> list[str]:
    """mov with operands and modifiers that are wrong."""
    out: list[str] = []
    out += spoil("mov.u32", ("%r1", "%r2"))
    out += spoil("mov.pred", ("%p1", "%p2"), SOME)
    out += spoil("mov.f64", ("%fd1", "1.0"), SOME)
    out += shuffle("mov", [".b32"], "%r1", "%r2")
    out += shuffle("mov", [".u64"], "%rd1", "smem")
    out += [*garble("mov.b32", ("%r1", "%r2")), "mov.b32 _, %r1;", "mov.b32 %r1, {%h1, %h2;"]
    return out


# --- 11. integer arithmetic and logic ------------------------------------------------------------

NUMERIC: tuple[str, ...] = tuple(t for t in TYPES if t != ".tf32")
_BIT_RANGES = (("%r3", "%r4"), ("%s3", "%u4"), ("4", "14"), ("-1", "300"), ("%h3", "8"))
"""First bits and lengths of bit fields, right and wrong."""


DOUBLED = {".u16": "%u", ".s16": "%s", ".u32": "%ud", ".s32": "%sd", ".b16": "%r",
           ".b32": "%rd", ".u64": "%q", ".s64": "%q", ".b64": "%q", ".u8": "%uh",
           ".s8": "%sh"}  # fmt: skip


def integer() -> list[str]:
    """add sub mul mad div rem and or xor not shl shr bfe neg abs min max popc clz brev shf.

    Chapters 9.7.1 and 9.7.8.

    Operation (with .lo, .hi, .wide, .sat, .relu and wrong ones) x every type x register, literal
    and float literal; wide and shift with the right and wrong widths; operand perturbations.
    """
    return unique(
        [*_arithmetic(), *_products_and_shifts(), *_packed_and_fields(), *_spoilt_integers()]
    )


def _arithmetic() -> list[str]:
    """Arithmetic and logic of two operands, and of one."""
    out: list[str] = []
    three = ("add", "sub", "min", "max", "and", "or", "xor", "mul")
    for op, kind in itertools.product(three, NUMERIC):
        reg = OF_TYPE[kind]
        tails = (f"{reg}3", "5", "1.5")
        out += [statement(f"{op}{kind}", f"{reg}1", f"{reg}2", tail) for tail in tails]
        out.append(statement(f"{op}.sat{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("div", "rem"), NUMERIC):
        reg = OF_TYPE[kind]
        for mods in ("", ".sat", ".approx", ".full", ".rn"):
            out.append(statement(f"{op}{mods}{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
        out += [statement(f"{op}{kind}", f"{reg}1", f"{reg}2", tail) for tail in ("5", "0", "1.5")]
        out.append(statement(f"{op}{kind}", f"{reg}1", "7", f"{reg}3"))
    for op, kind in itertools.product(("min", "max"), NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"{op}.relu{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("not", "neg", "abs"), NUMERIC):
        reg = OF_TYPE[kind]
        out += [statement(f"{op}{kind}", f"{reg}1", tail) for tail in (f"{reg}2", "5", "1.5")]
        out.append(statement(f"{op}.sat{kind}", f"{reg}1", f"{reg}2"))
    return out


def _products_and_shifts() -> list[str]:
    """mul, mad and shifts, in every type and width."""
    out: list[str] = []
    for kind, how in itertools.product(NUMERIC, (".lo", ".hi", ".wide", ".nosuch")):
        reg = OF_TYPE[kind]
        wide = DOUBLED.get(kind, reg) if how == ".wide" else reg
        for result in {wide: None, reg: None}:
            out.append(statement(f"mul{how}{kind}", f"{result}1", f"{reg}2", f"{reg}3"))
            out.append(
                statement(f"mad{how}{kind}", f"{result}1", f"{reg}2", f"{reg}3", f"{result}4")
            )
        if how == ".nosuch":
            continue
        out.append(statement(f"mad{how}{kind}", f"{wide}1", f"{reg}2", "5", "7"))
        if kind in DOUBLED:
            out.append(statement(f"mul{how}{kind}", f"{wide}1", f"{reg}2", "5"))
            out.append(
                statement(f"mad{how}.sat{kind}", f"{wide}1", f"{reg}2", f"{reg}3", f"{wide}4")
            )
            out.append(statement(f"mul{kind}{how}", f"{wide}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("shl", "shr"), NUMERIC):
        reg = OF_TYPE[kind]
        amounts = ("%r3", "%s3", "%h3", "%rd3", "%f3", "5", "-1", "64")
        known = amounts if kind in DOUBLED else ("%r3",)
        out += [statement(f"{op}{kind}", f"{reg}1", f"{reg}2", amount) for amount in known]
        out.append(statement(f"{op}{kind}", f"{reg}1", "1", "%r3"))
    return out


def _packed_and_fields() -> list[str]:
    """Packed additions, bit fields, counts of bits and funnel shifts."""
    out: list[str] = []
    for op, kind in itertools.product(("add", "sub"), (".u16x2", ".s16x2", ".u8x4", ".s8x4")):
        for register, place in itertools.product(REGISTERS, range(3)):
            operands = ["%r1", "%r2", "%r3"]
            operands[place] = register
            out.append(statement(op + kind, *operands))
    for kind in NUMERIC:
        reg = OF_TYPE[kind]
        out += [statement(f"bfe{kind}", f"{reg}1", f"{reg}2", *field) for field in _BIT_RANGES]
        out.append(statement(f"bfe{kind}", f"{reg}1", "77", "%r3", "%r4"))
        out.append(statement(f"bfe{kind}", f"{reg}1", f"{reg}2", "%rd3", "1.5"))
    for op, kind in itertools.product(("popc", "clz", "brev"), NUMERIC):
        reg = OF_TYPE[kind]
        for result in {"%u1": None, "%r1": None, f"{reg}1": None}:
            out += [statement(f"{op}{kind}", result, tail) for tail in (f"{reg}2", "5", "1.5")]
        out.append(statement(f"{op}.sat{kind}", "%u1", f"{reg}2"))
    for way, mode, kind in itertools.product(
        (".l", ".r", ""), (".clamp", ".wrap", ".nosuch", ""), (".b32", ".u32", ".b64", ".b16", "")
    ):
        reg = OF_TYPE.get(kind, "%r")
        for amount in ("%r4", "%u4", "40", "-1", "%h4"):
            out.append(statement(f"shf{way}{mode}{kind}", f"{reg}1", f"{reg}2", f"{reg}3", amount))
        out.append(statement(f"shf{way}{mode}{kind}", f"{reg}1", "7", "9", "%r4"))
    for op in ("add", "mul.lo", "and"):
        for kind, register in itertools.product((".u32", ".s32", ".b32", ".u64"), REGISTERS):
            stem = register[:-1]
            out.append(statement(f"{op}{kind}", f"{stem}1", f"{stem}2", f"{stem}3"))
    return out


def _spoilt_integers() -> list[str]:
    """Integer statements with one operand or modifier that is wrong."""
    out: list[str] = []
    out += spoil("add.u32", ("%r1", "%r2", "%r3"))
    out += spoil("and.b32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("and.pred", ("%p1", "%p2", "%p3"), SOME)
    out += spoil("mul.wide.u32", ("%rd1", "%r2", "%r3"))
    out += spoil("mad.lo.s32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += spoil("shl.b32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("div.u32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("rem.s64", ("%rd1", "%rd2", "%rd3"), SOME)
    out += spoil("not.b32", ("%r1", "%r2"), SOME)
    out += spoil("bfe.u32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += spoil("neg.s32", ("%r1", "%r2"), SOME)
    out += spoil("min.s32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("abs.s32", ("%r1", "%r2"), SOME)
    out += spoil("popc.b64", ("%r1", "%rd2"), SOME)
    out += spoil("brev.b32", ("%r1", "%r2"), SOME)
    out += spoil("shf.l.wrap.b32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += shuffle("add", [".sat", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("mul", [".wide", ".u16"], "%r1", "%h2", "%h3")
    out += shuffle("mad", [".hi", ".sat", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("min", [".relu", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("shr", [".u32"], "%r1", "%r2", "%r3")
    out += shuffle("clz", [".b32"], "%r1", "%r2")
    out += shuffle("shf", [".r", ".clamp", ".b32"], "%r1", "%r2", "%r3", "%r4")
    out += garble("add.u32", ("%r1", "%r2", "%r3"))
    out += ["add.u32 %r1, %r2|%p1, %r3;", "add.u32 _, %r2, %r3;"]
    return out


def carries_and_fields() -> list[str]:
    """add.cc addc sub.cc subc mad.cc madc mul24 mad24 sad dp4a dp2a prmt bfi bfind fns cnot szext
    bmsk lop3.

    Chapters 9.7.1, 9.7.2, 9.7.8 and "prmt".

    Operation (with every modifier, left out and wrong) x every type x register and literal; operand
    perturbations of one form of each operation.
    """
    return unique([*_carries(), *_bit_fields(), *_spoilt_fields()])


def _carries() -> list[str]:
    """Additions and products with carries, mul24 and mad24."""
    out: list[str] = []
    for op, mods, kind in itertools.product(("add", "addc", "sub", "subc"), ("", ".cc"), NUMERIC):
        if op in ("add", "sub") and not mods:
            continue
        reg = OF_TYPE[kind]
        tails = (f"{reg}3", "5")
        out += [statement(f"{op}{mods}{kind}", f"{reg}1", f"{reg}2", tail) for tail in tails]
    halves = (".lo", ".hi", ".wide", "")
    for op, half, mods, kind in itertools.product(("mad", "madc"), halves, ("", ".cc"), NUMERIC):
        if op == "mad" and not mods:
            continue
        reg = OF_TYPE[kind]
        operands = (f"{reg}1", f"{reg}2", f"{reg}3")
        out += [statement(f"{op}{half}{mods}{kind}", *operands, tail) for tail in (f"{reg}4", "5")]
    for half, sat, kind in itertools.product(halves, ("", ".sat"), NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"mul24{half}{sat}{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
        out.append(statement(f"mad24{half}{sat}{kind}", f"{reg}1", f"{reg}2", f"{reg}3", "5"))
    return out


def _bit_fields() -> list[str]:
    """sad, bfi, dp4a, prmt, lop3 and their kin."""
    out: list[str] = []
    for op, count in (("sad", 3), ("bfi", 4), ("cnot", 1)):
        for kind in NUMERIC:
            reg = OF_TYPE[kind]
            sources = [f"{reg}{n + 2}" for n in range(count)]
            out.append(statement(f"{op}{kind}", f"{reg}1", *sources))
            out.append(statement(f"{op}{kind}", f"{reg}1", *sources[:-1], "5"))
    for kind in NUMERIC:
        reg = OF_TYPE[kind]
        three = f"{reg}1", f"{reg}2", f"{reg}3"
        out += [statement(f"bfi{kind}", *three, *field) for field in _BIT_RANGES]
        out.append(statement(f"bfi{kind}", f"{reg}1", "7", "77", "%r3", "%r4"))
        for mods in ("", ".shiftamt", ".nosuch"):
            for result in {"%u1": None, "%r1": None, "%s1": None, f"{reg}1": None}:
                out.append(statement(f"bfind{mods}{kind}", result, f"{reg}2"))
                out.append(statement(f"bfind{mods}{kind}", result, "77"))
    signs = (".u32", ".s32", ".b32", ".u64", "")
    for a, b, c in itertools.product(signs, signs, ("%r4", "%u4", "%s4", "%f4", "7")):
        out.append(statement(f"dp4a{a}{b}", "%r1", "%r2", "%r3", c))
        out += [statement(f"dp2a{h}{a}{b}", "%r1", "%r2", "%r3", c) for h in (".lo", ".hi", "")]
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16", ".nosuch"):
        for kind in (".b32", ".u32", ".b64", ""):
            for last in ("%r4", "%u4", "0x3210", "-1", "65536", "%h4"):
                out.append(statement(f"prmt{kind}{mode}", "%r1", "%r2", "%r3", last))
    for op, mode, kind in itertools.product(
        ("szext", "bmsk"), (".clamp", ".wrap", ".nosuch", ""), (".u32", ".s32", ".b32", ".u64", "")
    ):
        reg = OF_TYPE.get(kind, "%r")
        for last in ("%r3", "%u3", "%s3", "%h3", "5", "300", "-1"):
            out.append(statement(f"{op}{mode}{kind}", f"{reg}1", f"{reg}2", last))
    for kind in (".b32", ".u32", ".b64", ""):
        for base, offset in itertools.product(("%r3", "%s3", "%u3", "3"), ("%r4", "%s4", "-1")):
            out.append(statement(f"fns{kind}", "%r1", "%r2", base, offset))
    for kind, lut in itertools.product((".b32", ".u32", ".b64"), ("0", "128", "255", "256", "-1")):
        out.append(statement(f"lop3{kind}", "%r1", "%r2", "%r3", "%r4", lut))
        out += [
            statement(f"lop3{op}{kind}", f"{d}|%p1", "%r2", "%r3", "%r4", lut, q)
            for op in (".or", ".and", ".xor", "")
            for d in ("%r1", "_")
            for q in ("%p2", "!%p2", "1", "%r5")
        ]
    return out


def _spoilt_fields() -> list[str]:
    """The same with one operand or modifier that is wrong."""
    out: list[str] = []
    for op, reg, count in (
        ("add.cc.u32", "%r", 3), ("addc.u64", "%rd", 3), ("subc.cc.s32", "%r", 3),
        ("mad.lo.cc.u32", "%r", 4), ("madc.hi.cc.s64", "%rd", 4), ("mul24.lo.u32", "%r", 3),
        ("mad24.hi.s32", "%r", 4), ("sad.u32", "%r", 4), ("dp4a.u32.s32", "%r", 4),
        ("dp2a.lo.u32.s32", "%r", 4), ("prmt.b32", "%r", 4), ("prmt.b32.f4e", "%r", 4),
        ("bfi.b32", "%r", 5), ("bfind.u32", "%r", 2), ("fns.b32", "%r", 4), ("cnot.b32", "%r", 2),
        ("szext.clamp.s32", "%r", 3), ("bmsk.wrap.b32", "%r", 3),
    ):  # fmt: skip
        out += spoil(op, [f"{reg}{n + 1}" for n in range(count)], SOME)
    out += spoil("lop3.b32", ("%r1", "%r2", "%r3", "%r4", "128"), SOME)
    out += spoil("lop3.and.b32", ("%r1|%p1", "%r2", "%r3", "%r4", "128", "%p2"), SOME)
    out += shuffle("add", [".cc", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("madc", [".hi", ".cc", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("mad24", [".hi", ".sat", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("mul24", [".hi", ".u32"], "%r1", "%r2", "%r3")
    out += shuffle("dp2a", [".lo", ".s32", ".u32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("prmt", [".b32", ".ecl"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("bfind", [".shiftamt", ".s32"], "%r1", "%r2")
    return out


# --- 12. setp, selp, cvt, cvta -------------------------------------------------------------------

COMPARISONS: tuple[str, ...] = (
    ".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs", ".equ", ".neu", ".ltu",
    ".leu", ".gtu", ".geu", ".num", ".nan", ".nosuch",
)  # fmt: skip
SCALARS: tuple[str, ...] = (
    ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32", ".s64", ".f16", ".bf16", ".f32", ".f64",
    ".b32", ".tf32",
)  # fmt: skip
CVT_MODS: tuple[str, ...] = (
    ".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi", ".sat", ".ftz", ".relu",
    ".satfinite", ".rn.sat", ".rn.ftz", ".rn.relu", ".rni.sat", ".rzi.ftz.sat", ".ftz.sat",
    ".rn.satfinite", ".rna.satfinite", ".rs", ".nosuch",
)  # fmt: skip


def compare_convert() -> list[str]:
    """setp, selp ("Comparison and Selection"), cvt and cvta ("Data Movement and Conversion").

    setp: comparison x type; the second destination, the combiner, .ftz and literals in pairs with
    these.  cvt: every ordered pair of scalar types plain and with .rn, .rni and .sat; the other
    rounding and saturation modifiers in pairs with the types; registers wider and narrower than
    the type.  cvta: direction x space x size x operand in full.
    """
    return unique([*_comparisons(), *_conversions(), *_spoilt_conversions()])


def _comparisons() -> list[str]:
    """setp and selp, in every comparison and type."""
    out: list[str] = []
    for compare, kind in itertools.product(COMPARISONS, NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"setp{compare}{kind}", "%p1", f"{reg}1", f"{reg}2"))
    combiners = ("", ".and", ".or", ".xor", ".nand")
    for compare, kind, combiner, ftz, result, last, value in pairwise(
        COMPARISONS[:18],
        (".b16", ".u32", ".s64", ".f32", ".f64", ".f16", ".b64", ".s32"),
        combiners,
        ("", ".ftz"),
        ("%p1", "%p1|%p2", "_|%p2", "%p1|_"),
        ("", "%p3", "!%p3"),
        ("reg", "5", "1.5"),
    ):
        reg = OF_TYPE[kind]
        operand = f"{reg}2" if value == "reg" else value
        op = f"setp{compare}{combiner}{ftz}{kind}"
        out.append(statement(op, result, f"{reg}1", operand, last))
    for kind, combiner, result, last in itertools.product(
        (".u32", ".f32", ".b64"), combiners, ("%p1", "%p1|%p2", "%p1|_", "%r1"), ("", "%p3", "!%p3")
    ):
        reg = OF_TYPE[kind]
        out.append(statement(f"setp.ne{combiner}{kind}", result, f"{reg}1", f"{reg}2", last))
    for kind in TYPES:
        reg = OF_TYPE[kind]
        for a, b, c in ((f"{reg}2", f"{reg}3", "%p1"), ("1", "0", "%p1"), (f"{reg}2", "1.5", "%p1"),
                        (f"{reg}2", f"{reg}3", "!%p1"), (f"{reg}2", f"{reg}3", "%r1")):  # fmt: skip
            out.append(statement(f"selp{kind}", f"{reg}1", a, b, c))
        out.append(statement(f"setp.ne{kind}", "%p1", f"{reg}1", "0"))
        out.append(statement(f"setp.lt{kind}", "%p1", f"{reg}1", "1.5"))
        out.append(statement(f"setp.eq{kind}", "%p1", "1", "2"))
    for kind, register in itertools.product((".u32", ".b32", ".f32", ".b16"), REGISTERS):
        out.append(statement(f"setp.ne{kind}", "%p1", register, register))
        out.append(statement(f"selp{kind}", register, register, register, "%p1"))
    return out


def _conversions() -> list[str]:
    """cvt and cvta, from every type to every type."""
    out: list[str] = []
    for to, source in itertools.product(SCALARS, SCALARS):
        rounds = (".rn", ".rni") if "f" in to + source else ()
        out += [_cvt(mod, to, source) for mod in ("", ".sat", *rounds)]
    for mod, to, source in pairwise(CVT_MODS, SCALARS, SCALARS):
        out.append(_cvt(mod, to, source))
    for mod, (to, source) in itertools.product(
        CVT_MODS,
        ((".f32", ".f64"), (".f64", ".f32"), (".f16", ".f32"), (".f32", ".f16"), (".s32", ".f32"),
         (".f32", ".s32"), (".bf16", ".f32"), (".tf32", ".f32"), (".u8", ".s32"),
         (".f32", ".f32")),
    ):  # fmt: skip
        out.append(_cvt(mod, to, source))
    for to, source in ((".u8", ".u32"), (".s16", ".s32"), (".u32", ".u8"), (".u64", ".s16"),
                       (".s32", ".s32"), (".u16", ".u16")):  # fmt: skip
        for register in REGISTERS:
            out.append(statement(f"cvt{to}{source}", register, OF_TYPE[source] + "2"))
            if to != source:
                out.append(statement(f"cvt{to}{source}", OF_TYPE[to] + "1", register))
    for mod, to, source in itertools.product(
        ("", ".rn", ".rz", ".rn.relu", ".rn.satfinite", ".rn.satfinite.relu"),
        (".f16x2", ".bf16x2", ".e4m3x2", ".e2m1x2", ".ue8m0x2"),
        (".f32", ".f16x2", ".e4m3x2"),
    ):
        result = {".f16x2": "%r1", ".bf16x2": "%r1", ".e2m1x2": "%c1"}.get(to, "%h1")
        values = ("%f1", "%f2") if source == ".f32" else ("%r2" if source == ".f16x2" else "%h2",)
        out.append(statement(f"cvt{mod}{to}{source}", result, *values))
    for direction, space, size, value in itertools.product(
        ("", ".to"),
        ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param",
         ".param::entry", ".reg"),
        (".u64", ".u32", ".b64"),
        ("%rd2", "%r2", "smem", "gmem+4", "5"),
    ):  # fmt: skip
        result = "%r1" if size == ".u32" else "%rd1"
        out.append(statement(f"cvta{direction}{space}{size}", result, value))
    for symbol in ("cmem", "lmem", "kparam", "ktmap", "mbar", "L0", "k", "nosuch", "[gmem]"):
        out += [f"cvta{space}.u64 %rd1, {symbol};" for space in (".global", ".shared", ".const",
                                                                ".local", ".param")]  # fmt: skip
    out += spoil("setp.lt.s32", ("%p1", "%r1", "%r2"))
    out += spoil("setp.eq.and.f32", ("%p1|%p2", "%f1", "%f2", "%p3"), SOME)
    return out


def _spoilt_conversions() -> list[str]:
    """Comparisons and conversions with one operand or modifier that is wrong."""
    out: list[str] = []
    out += spoil("selp.b32", ("%r1", "%r2", "%r3", "%p1"))
    out += spoil("cvt.u64.u32", ("%rd1", "%r1"))
    out += spoil("cvt.rn.f16.f32", ("%h1", "%f1"), SOME)
    out += spoil("cvt.rn.f16x2.f32", ("%r1", "%f1", "%f2"), SOME)
    out += spoil("cvta.to.global.u64", ("%rd1", "%rd2"), SOME)
    out += spoil("cvta.shared.u64", ("%rd1", "smem"), SOME)
    out += shuffle("setp", [".ne", ".and", ".ftz", ".f32"], "%p1|%p2", "%f1", "%f2", "%p3")
    out += shuffle("selp", [".b32"], "%r1", "%r2", "%r3", "%p1")
    out += shuffle("cvt", [".rn", ".ftz", ".sat", ".f16.f32"], "%h1", "%f1")
    out += shuffle("cvt", [".rzi", ".ftz", ".s32", ".f32"], "%r1", "%f1")
    out += shuffle("cvta", [".to", ".shared", ".u64"], "%rd1", "%rd2")
    out += garble("setp.ne.u32", ("%p1", "%r1", "%r2"))
    out += ["setp.ne.u32 _, %r1, %r2;", "cvt.u32.u64 _, %rd1;"]
    return out


def _cvt(mod: str, to: str, source: str) -> str:
    """A cvt between registers that are wide enough for both types."""
    return statement(f"cvt{mod}{to}{source}", OF_TYPE[to] + "1", OF_TYPE[source] + "2")
