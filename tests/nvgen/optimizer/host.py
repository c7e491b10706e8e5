"""Run a kernel of tensor-core calls on the host, every call of an intrinsic being told to a hook.

The text is LLVM IR, optimised or not.  Nothing of nvgen's is used here: the calls are replaced in
the text, and LLVM compiles the rest for the host without optimising.  The hook stands for the units
behind the calls: it sees and changes shared memory, and what it returns depends on all that went
before.  Two texts are the same program if the hook sees the same.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from llvmlite import binding

WORDS = 4
"""Words of `@tile`, the shared memory that the hook sees."""

_CALL = re.compile(
    r"^  (?:(%\S+) = )?(?:tail )?call (\w+) @llvm\.nvvm\.([\w.]+)\((.*)\)(?: #\d+)?(?:, !.*)?$",
    re.MULTILINE,
)
_NOT_THE_HOSTS = re.compile(r"^(target |declare .*@llvm\.nvvm\.).*$", re.MULTILINE)
_PASSED = {"tcgen05.mma.shared": 1, "tcgen05.st.32x32b.x1": 1, "barrier.cta.sync.aligned.all": 0}
"""Which argument of a call the hook is told."""

_HOOK = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p)


@dataclass
class Trace:
    """What the hook saw: the call, its argument, shared memory before it."""

    names: list[str] = field(default_factory=list)
    seen: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)

    def hook(self, number: int, argument: int, address: int) -> int:
        words = (ctypes.c_uint32 * WORDS).from_address(address)
        if not self.seen:
            words[:] = range(1, WORDS + 1)  # nobody has written there yet
        self.seen.append((self.names[number], argument, tuple(words)))
        words[len(self.seen) % WORDS] ^= 0x9E37 * len(self.seen)
        return (len(self.seen) * 0x9E3779B97F4A7C15) >> 7 & 0xFFFF_FFFF_FFFF_FFFF


def run(text: str, inputs: Sequence[int]) -> list[tuple[str, int, tuple[int, ...]]]:
    """Call `@k(i64 output, …)` with `inputs`; gives what the hook saw, then the output's word."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    trace = Trace()
    hook = _HOOK(trace.hook)
    address = ctypes.cast(hook, ctypes.c_void_p).value
    module = binding.parse_assembly(_host_text(text, trace, address), binding.create_context())
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    output = ctypes.c_uint32(0)
    types = [ctypes.c_void_p, *(ctypes.c_uint32 for _ in inputs)]
    kernel = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address("k"))
    kernel(ctypes.addressof(output), *inputs)
    return [*trace.seen, ("output", output.value, ())]


def _host_text(text: str, trace: Trace, address: int | None) -> str:
    """The text with every call of an intrinsic as a call of the hook."""
    count = 0

    def told(match: re.Match[str]) -> str:
        nonlocal count
        result, type_, name, arguments = match.groups()
        count += 1
        if name not in trace.names:
            trace.names.append(name)
        passed, lines = "0", []
        if name in _PASSED:
            given = arguments.split(", ")[_PASSED[name]]
            passed = given.split()[-1]
            if given.startswith("i32"):
                lines.append(f"%told{count} = zext i32 {passed} to i64")
                passed = f"%told{count}"
        call = (
            f"call i64 inttoptr (i64 {address} to ptr)(i32 {trace.names.index(name)}, "
            f"i64 {passed}, ptr addrspace(3) @tile)"
        )
        if type_ == "i64":
            lines.append(f"{result} = {call}")
        else:
            lines.append(f"%back{count} = {call}")
        if type_ in ("i1", "i32"):
            lines.append(f"{result} = trunc i64 %back{count} to {type_}")
        return "\n".join("  " + line for line in lines)

    text = _NOT_THE_HOSTS.sub("", text.replace("ptx_kernel ", ""))
    assert "range(" not in text
    return _CALL.sub(told, text)
