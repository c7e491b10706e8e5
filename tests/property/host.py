"""Random programs on the host's processor, through LLVM's just-in-time compiler.

The host has no half and no bfloat: LLVM computes in float and rounds after each operation, which
is right for sums, products, quotients and roots, for float has more than twice their digits and
two.  Three things are not right, or not there, and are given to the module as LLVM IR:

* a fused multiply-add of half or bfloat, which LLVM rounds twice: here in double, rounded to odd;
* the rounding of float and double to bfloat, a library call that no library has;
* conversions of wide integers to bfloat, which programs leave out (`writer.converts`).

Everything else comes from libgcc and libm: rounding to half, division of i128, floor and the like.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys

from llvmlite import binding

from tests.oracle.jit import Array, host_text, special_registers

LIBRARIES = ("libgcc_s.so.1", "libm.so.6", "libc.so.6")

RUNTIME = """
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %low = lshr i32 %bits, 16
  %odd = and i32 %low, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %nan = fcmp uno float %x, %x
  %high = lshr i32 %sum, 16
  %found = select i1 %nan, i32 32704, i32 %high
  %narrow = trunc i32 %found to i16
  %result = bitcast i16 %narrow to bfloat
  ret bfloat %result
}
define bfloat @__truncdfbf2(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %exact = fcmp ueq double %back, %x
  %bits = bitcast float %near to i32
  %a = call double @llvm.fabs.f64(double %back)
  %b = call double @llvm.fabs.f64(double %x)
  %above = fcmp ogt double %a, %b
  %one = zext i1 %above to i32
  %down = sub i32 %bits, %one
  %odd = or i32 %down, 1
  %chosen = select i1 %exact, i32 %bits, i32 %odd
  %float = bitcast i32 %chosen to float
  %result = call bfloat @__truncsfbf2(float %float)
  ret bfloat %result
}
define internal double @host.fma(double %a, double %b, double %c) {
  %product = fmul double %a, %b
  %sum = fadd double %product, %c
  %t = fsub double %sum, %product
  %u = fsub double %sum, %t
  %v = fsub double %product, %u
  %w = fsub double %c, %t
  %error = fadd double %v, %w
  %inexact = fcmp one double %error, 0.0
  %bits = bitcast double %sum to i64
  %last = trunc i64 %bits to i1
  %even = xor i1 %last, true
  %change = and i1 %inexact, %even
  %sign = bitcast double %error to i64
  %other = xor i64 %sign, %bits
  %down = icmp slt i64 %other, 0
  %step = select i1 %down, i64 -1, i64 1
  %moved = add i64 %bits, %step
  %odd = select i1 %change, i64 %moved, i64 %bits
  %result = bitcast i64 %odd to double
  ret double %result
}
"""

_FMA = re.compile(r"@llvm\.fma\.(?:v(\d+))?(f16|bf16)\b")
_FUNNEL = re.compile(r"@llvm\.fsh([lr])\.v(\d+)(i8|i16)\b")
_FABS = "declare double @llvm.fabs.f64(double)"


def _by_lanes(count: int, of: str, callee: str, vectors: tuple[str, ...]) -> tuple[list[str], str]:
    """Calls with the elements of vectors, and the vector of what they give."""
    type_, lines, found = f"<{count} x {of}>", [], "poison"
    for lane in range(count):
        elements = [f"%e{lane}.{n}" for n in range(len(vectors))]
        for element, vector in zip(elements, vectors, strict=True):
            lines.append(f"{element} = extractelement {type_} {vector}, i32 {lane}")
        given = ", ".join(f"{of} {element}" for element in elements)
        lines.append(f"%s{lane} = call {of} {callee}({given})")
        lines.append(f"%r{lane} = insertelement {type_} {found}, {of} %s{lane}, i32 {lane}")
        found = f"%r{lane}"
    return lines, found


def _defined(name: str, type_: str, lines: list[str]) -> str:
    """A function of the host's own, of three values of a type."""
    given = ", ".join(f"{type_} %{n}" for n in "abc")
    return f"define internal {type_} @host.{name}({given}) {{\n  " + "\n  ".join(lines) + "\n}\n"


def _fused(count: str, suffix: str) -> str:
    """A fused multiply-add of half or bfloat, rounded once."""
    scalar = {"f16": "half", "bf16": "bfloat"}[suffix]
    type_ = f"<{count} x {scalar}>" if count else scalar
    wide = f"<{count} x double>" if count else "double"
    lines = [f"%w{n} = fpext {type_} %{n} to {wide}" for n in "abc"]
    if count:
        by_lanes, found = _by_lanes(int(count), "double", "@host.fma", ("%wa", "%wb", "%wc"))
        lines += by_lanes
    else:
        lines.append("%r = call double @host.fma(double %wa, double %wb, double %wc)")
        found = "%r"
    lines.append(f"%result = fptrunc {wide} {found} to {type_}")
    lines.append(f"ret {type_} %result")
    return _defined(f"fma.{f'v{count}' if count else ''}{suffix}", type_, lines)


def _funnel_shift(way: str, count: str, of: str) -> str:
    """A funnel shift of a vector, one element after the other."""
    type_ = f"<{count} x {of}>"
    lines, found = _by_lanes(int(count), of, f"@llvm.fsh{way}.{of}", ("%a", "%b", "%c"))
    return _defined(f"fsh{way}.v{count}{of}", type_, [*lines, f"ret {type_} {found}"])


def _by_elements(text: str) -> str:
    """The same without funnel shifts of vectors of 8 or 16 bits.

    LLVM 22 gets them wrong for x86-64 with the instructions that all such processors have: of zeros
    by zero it makes ones.
    """
    used = dict.fromkeys(_FUNNEL.findall(text))
    if not used:
        return text
    text = re.sub(r"^declare .*@llvm\.fsh[lr]\.(v\d+)?i(8|16)\(.*$", "", text, flags=re.MULTILINE)
    text = _FUNNEL.sub(lambda m: m[0].replace("@llvm.", "@host."), text)
    scalars = (
        f"declare {of} @llvm.fsh{way}.{of}({of}, {of}, {of})\n"
        for way in "lr"
        for of in ("i8", "i16")
    )
    return text + "".join([*scalars, *(_funnel_shift(*each) for each in used)])


def complete(text: str) -> str:
    """The host's text of a module, with what the host lacks, and without what it gets wrong."""
    text, used = _by_elements(text), dict.fromkeys(_FMA.findall(text))
    text = re.sub(r"^declare .*@llvm\.fma\.(v\d+)?b?f16\(.*$", "", text, flags=re.MULTILINE)
    text = _FMA.sub(lambda m: m[0].replace("@llvm.", "@host."), host_text(text))
    runtime = RUNTIME.replace(_FABS, "") if _FABS in text else RUNTIME
    return text + runtime + "".join(_fused(count, suffix) for count, suffix in used)


@functools.cache
def prepare() -> None:
    """Make LLVM ready for the host, and its libraries known."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for library in LIBRARIES if sys.platform == "linux" else ():
        binding.load_library_permanently(library)


class HostProgram:
    """The kernel `@k(in, out)` of a module, compiled for the host at a level of optimisation."""

    def __init__(self, text: str, *, opt: int = 0) -> None:
        prepare()
        self._specials = special_registers(text)
        assert self._specials in ([], ["tid.x"])
        module = binding.parse_assembly(complete(text), context=binding.create_context())
        module.verify()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(opt=opt, jit=True)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        if opt:
            options = binding.create_pipeline_tuning_options(speed_level=opt)
            builder = binding.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
        self._engine = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        words = (ctypes.c_uint32 for _ in self._specials)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *words)
        self._call = prototype(self._engine.get_function_address("k"))

    def run(self, source: Array, target: Array, threads: int = 32) -> None:
        """Call the kernel once for each thread of one block; `target` is written in place."""
        for tid in range(threads):
            self._call(source.ctypes.data, target.ctypes.data, *[tid][: len(self._specials)])
