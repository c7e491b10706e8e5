"""The closed word lists of LLVM IR: every enum's value is LLVM's spelling.

Layer: isel.llvm (standard library only).  Input: nothing.  Output: enums and word sets.
"""

from __future__ import annotations

from enum import Enum


class Word(Enum):
    """Base of every closed list of words."""

    # Members are single objects and equal to nothing else; Enum's own hash is slow Python code.
    __hash__ = object.__hash__


class Opcode(Word):
    """The operation of an instruction or constant expression."""

    # Terminators.
    RET = "ret"
    BR = "br"
    SWITCH = "switch"
    INDIRECTBR = "indirectbr"
    INVOKE = "invoke"
    RESUME = "resume"
    UNREACHABLE = "unreachable"
    CLEANUPRET = "cleanupret"
    CATCHRET = "catchret"
    CATCHSWITCH = "catchswitch"
    CALLBR = "callbr"
    # One operand.
    FNEG = "fneg"
    # Two operands.
    ADD = "add"
    FADD = "fadd"
    SUB = "sub"
    FSUB = "fsub"
    MUL = "mul"
    FMUL = "fmul"
    UDIV = "udiv"
    SDIV = "sdiv"
    FDIV = "fdiv"
    UREM = "urem"
    SREM = "srem"
    FREM = "frem"
    SHL = "shl"
    LSHR = "lshr"
    ASHR = "ashr"
    AND = "and"
    OR = "or"
    XOR = "xor"
    # Memory.
    ALLOCA = "alloca"
    LOAD = "load"
    STORE = "store"
    GETELEMENTPTR = "getelementptr"
    FENCE = "fence"
    CMPXCHG = "cmpxchg"
    ATOMICRMW = "atomicrmw"
    # Casts.
    TRUNC = "trunc"
    ZEXT = "zext"
    SEXT = "sext"
    FPTOUI = "fptoui"
    FPTOSI = "fptosi"
    UITOFP = "uitofp"
    SITOFP = "sitofp"
    FPTRUNC = "fptrunc"
    FPEXT = "fpext"
    PTRTOINT = "ptrtoint"
    PTRTOADDR = "ptrtoaddr"
    INTTOPTR = "inttoptr"
    BITCAST = "bitcast"
    ADDRSPACECAST = "addrspacecast"
    # Exception pads.
    CLEANUPPAD = "cleanuppad"
    CATCHPAD = "catchpad"
    LANDINGPAD = "landingpad"
    # Everything else.
    ICMP = "icmp"
    FCMP = "fcmp"
    PHI = "phi"
    CALL = "call"
    SELECT = "select"
    VA_ARG = "va_arg"
    EXTRACTELEMENT = "extractelement"
    INSERTELEMENT = "insertelement"
    SHUFFLEVECTOR = "shufflevector"
    EXTRACTVALUE = "extractvalue"
    INSERTVALUE = "insertvalue"
    FREEZE = "freeze"


OPCODES = {opcode.value: opcode for opcode in Opcode}
"""By LLVM's word for it."""

BINARY_OPCODES = frozenset(
    {
        *(Opcode.ADD, Opcode.FADD, Opcode.SUB, Opcode.FSUB, Opcode.MUL, Opcode.FMUL),
        *(Opcode.UDIV, Opcode.SDIV, Opcode.FDIV, Opcode.UREM, Opcode.SREM, Opcode.FREM),
        *(Opcode.SHL, Opcode.LSHR, Opcode.ASHR, Opcode.AND, Opcode.OR, Opcode.XOR),
    }
)
QUOTIENTS = (Opcode.UDIV, Opcode.SDIV)
REMAINDERS = (Opcode.UREM, Opcode.SREM)
DIVISIONS = (*QUOTIENTS, *REMAINDERS)
"""Divisions of integers: those that give the quotient, and those that give the rest."""
SIGNED_DIVISIONS = (Opcode.SDIV, Opcode.SREM)

CAST_OPCODES = frozenset(
    {
        *(Opcode.TRUNC, Opcode.ZEXT, Opcode.SEXT, Opcode.FPTOUI, Opcode.FPTOSI),
        *(Opcode.UITOFP, Opcode.SITOFP, Opcode.FPTRUNC, Opcode.FPEXT, Opcode.PTRTOINT),
        *(Opcode.PTRTOADDR, Opcode.INTTOPTR, Opcode.BITCAST, Opcode.ADDRSPACECAST),
    }
)


class Flag(Word):
    """A promise or a permission on an operation.  `fast` is read as the seven it stands for."""

    NUW = "nuw"
    NSW = "nsw"
    EXACT = "exact"
    DISJOINT = "disjoint"
    NNEG = "nneg"
    SAMESIGN = "samesign"
    INBOUNDS = "inbounds"
    NUSW = "nusw"
    REASSOC = "reassoc"
    NNAN = "nnan"
    NINF = "ninf"
    NSZ = "nsz"
    ARCP = "arcp"
    CONTRACT = "contract"
    AFN = "afn"


FAST = frozenset(
    {
        *(Flag.REASSOC, Flag.NNAN, Flag.NINF, Flag.NSZ),
        *(Flag.ARCP, Flag.CONTRACT, Flag.AFN),
    }
)


class IntPredicate(Word):
    """The predicate of `icmp`."""

    EQ = "eq"
    NE = "ne"
    UGT = "ugt"
    UGE = "uge"
    ULT = "ult"
    ULE = "ule"
    SGT = "sgt"
    SGE = "sge"
    SLT = "slt"
    SLE = "sle"


class FloatPredicate(Word):
    """The predicate of `fcmp`; `o` is ordered (false for a NaN), `u` unordered (true for a NaN)."""

    FALSE = "false"
    OEQ = "oeq"
    OGT = "ogt"
    OGE = "oge"
    OLT = "olt"
    OLE = "ole"
    ONE = "one"
    ORD = "ord"
    UEQ = "ueq"
    UGT = "ugt"
    UGE = "uge"
    ULT = "ult"
    ULE = "ule"
    UNE = "une"
    UNO = "uno"
    TRUE = "true"


class Ordering(Word):
    """An atomic operation's ordering; an access that is not atomic has none."""

    UNORDERED = "unordered"
    MONOTONIC = "monotonic"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"


class RMWOperation(Word):
    """The operation of `atomicrmw`."""

    XCHG = "xchg"
    ADD = "add"
    SUB = "sub"
    AND = "and"
    NAND = "nand"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    FADD = "fadd"
    FSUB = "fsub"
    FMAX = "fmax"
    FMIN = "fmin"
    FMAXIMUM = "fmaximum"
    FMINIMUM = "fminimum"
    UINC_WRAP = "uinc_wrap"
    UDEC_WRAP = "udec_wrap"
    USUB_COND = "usub_cond"
    USUB_SAT = "usub_sat"


class TailKind(Word):
    """The tail-call marker of a call; NONE is printed as nothing."""

    NONE = ""
    TAIL = "tail"
    MUSTTAIL = "musttail"
    NOTAIL = "notail"


class AsmFlag(Word):
    """A word between `asm` and the template."""

    SIDEEFFECT = "sideeffect"
    ALIGNSTACK = "alignstack"
    INTELDIALECT = "inteldialect"
    UNWIND = "unwind"


class Linkage(Word):
    """The linkage of a symbol; EXTERNAL is printed as nothing on definitions."""

    EXTERNAL = "external"
    PRIVATE = "private"
    INTERNAL = "internal"
    LINKONCE = "linkonce"
    LINKONCE_ODR = "linkonce_odr"
    WEAK = "weak"
    WEAK_ODR = "weak_odr"
    COMMON = "common"
    APPENDING = "appending"
    EXTERN_WEAK = "extern_weak"
    AVAILABLE_EXTERNALLY = "available_externally"


class Visibility(Word):
    """The visibility of a symbol; DEFAULT is printed as nothing."""

    DEFAULT = "default"
    HIDDEN = "hidden"
    PROTECTED = "protected"


class StorageClass(Word):
    """Windows' import and export; DEFAULT is printed as nothing."""

    DEFAULT = ""
    IMPORT = "dllimport"
    EXPORT = "dllexport"


class UnnamedAddr(Word):
    """Whether the address matters; NONE (it does) is printed as nothing."""

    NONE = ""
    LOCAL = "local_unnamed_addr"
    GLOBAL = "unnamed_addr"


C_CALLING_CONVENTION = "ccc"  # what LLVM prints as nothing

# Calling conventions that LLVM prints by name; any other is `ccN`, and `riscv_vls_cc(N)` has a
# number of its own.
_CALLING_CONVENTIONS = """
    ccc fastcc coldcc ghccc anyregcc preserve_mostcc preserve_allcc preserve_nonecc swiftcc
    cxx_fast_tlscc tailcc cfguard_checkcc swifttailcc graalcc x86_stdcallcc x86_fastcallcc
    x86_thiscallcc x86_vectorcallcc x86_regcallcc x86_intrcc x86_64_sysvcc win64cc arm_apcscc
    arm_aapcscc arm_aapcs_vfpcc msp430_intrcc avr_intrcc avr_signalcc ptx_kernel ptx_device
    spir_func spir_kernel intel_ocl_bicc hhvmcc hhvm_ccc amdgpu_vs amdgpu_gs amdgpu_ps amdgpu_cs
    amdgpu_hs amdgpu_ls amdgpu_es amdgpu_kernel amdgpu_gfx amdgpu_gfx_whole_wave amdgpu_cs_chain
    amdgpu_cs_chain_preserve aarch64_vector_pcs aarch64_sve_vector_pcs
    aarch64_sme_preservemost_from_x0 aarch64_sme_preservemost_from_x1
    aarch64_sme_preservemost_from_x2 m68k_rtdcc riscv_vector_cc riscv_vls_cc
    cheriot_compartmentcallcc cheriot_compartmentcalleecc cheriot_librarycallcc
"""
CALLING_CONVENTIONS = frozenset(_CALLING_CONVENTIONS.split())
