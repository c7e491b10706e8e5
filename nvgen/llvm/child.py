"""The process in which LLVM reads and optimises text from outside: this file as a script.

    python -I -S child.py FOLDER

Layer: nvgen.  FOLDER holds llvmlite; but for it and the standard library nothing is imported.
LLVM ends the process over much that it reads, so `nvgen.llvm.process` keeps one of these and starts
another when it ends.

Messages come on standard input and go to standard output.  One is a line with the lengths of its
parts in bytes, then the parts:

    read NAME LIBRARY TEXT          parsed, with what it calls of a library of bitcode if there is
                                    one, verified, printed, called NAME if that is given
    promote LEVEL LIBRARY PROCESSOR TEXT
                                    the same, and through the passes of one of the levels below 1
    optimize LEVEL PROCESSOR TEXT   parsed, through LLVM's passes, verified, printed; levels 1 to 3
                                    are LLVM's own, for the others see PROMOTED and SIMPLIFIED
    disassemble BITCODE             read, verified, printed
    merge TEXT TEXT …               parsed, made one module, verified, printed
    try TEXT                        whether a process survives to read TEXT: in one of its own

and back come `done TEXT`, `refused MESSAGE`, `encoding BYTE`, or `died` and `survived`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import select
import signal
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llvmlite import binding

OPTIONS = (
    "--disable-auto-upgrade-debug-info",
    "--replexitval=never",
    "--switch-to-lookup=false",
    "--disable-loop-idiom-all",
)
"""LLVM's options, which belong to the process and are set once, before the first message.

To upgrade debug info, LLVM verifies every module that has some, and ends the process over one that
is wrong; without, `verify` finds the same and says it.  The others hold for passes only: what these
may make of integers is what nvgen has instructions for, so loops replaced by a formula, which takes
integers of 33 and 65 bits, tables in memory, and calls of memory functions are switched off.
"""

TRIPLE = "nvptx64-nvidia-cuda"
PROMOTED = 0
"""The level of scalar replacement of aggregates alone: variables of the stack become registers."""

SIMPLIFIED = -1
"""The same, and what is made simpler by it: LLVM's InstCombine and SimplifyCFG."""

_LIBRARY = "__nv_"
"""How the names of libdevice's functions begin."""

CANNOT_START = 70
"""The exit status when LLVM cannot be loaded."""

_TRY_SECONDS = 5
_MOST_STACK = 64 << 20


# ---- messages --------------------------------------------------------------------------------


def pack(parts: Sequence[bytes]) -> bytes:
    """A message."""
    return b"%s\n%s" % (b" ".join([b"%d" % len(part) for part in parts]), b"".join(parts))


def split(lengths: bytes, joined: bytes) -> list[bytes]:
    """The parts of a message, from its line and the rest."""
    parts, at = [], 0
    for length in map(int, lengths.split()):
        parts.append(joined[at : at + length])
        at += length
    return parts


def _watch(source: int) -> None:
    """End the process when the parent has exited, whatever LLVM is doing.

    Data does not wake this thread, which would cost as much as a small module.
    """
    poller = select.poll()
    poller.register(source, 0)  # that the other end is closed is always told
    poller.poll()
    os._exit(0)


def _requests(source: BinaryIO) -> Iterator[list[bytes]]:
    """Messages, until there are no more."""
    while line := source.readline():
        yield split(line, source.read(sum(map(int, line.split()))))


# ---- answers ---------------------------------------------------------------------------------


def answer(request: list[bytes]) -> list[bytes]:
    """Handle one request."""
    kind, *fields = request
    if kind == b"try":
        return [_try(fields[0])]
    try:
        if kind == b"disassemble":
            return [b"done", _disassemble(fields[0])]
        if kind == b"merge":
            return [b"done", _merge(fields)]
        if kind == b"read":
            name, library, text = fields
            return [b"done", _read(text, name.decode(), library.decode())]
        if kind == b"promote":
            level, library, processor, text = fields
            done = _promote(text, int(level), library.decode(), processor.decode())
            return [b"done", done]
        level, processor, text = fields
        return [b"done", _optimize(text, int(level), processor.decode())]
    except (RuntimeError, OSError) as error:
        return [b"refused", str(error).encode(errors="replace")]
    except UnicodeDecodeError as error:
        return [b"encoding", b"%d" % error.object[error.start]]


def _read(text: bytes, name: str = "", library: str = "") -> bytes:
    """The text as LLVM prints it, with those functions of a library that it calls.

    In a context of its own: in the shared one LLVM renames struct types that came before.  The
    module is closed before its context, whatever happens; the garbage collector would take them in
    any order.

    Raises: RuntimeError, UnicodeDecodeError, OSError.
    """
    if not name and not library and (printed := _reprinted(text)) is not None:
        return printed
    from llvmlite import binding

    with (
        closing(binding.create_context()) as context,
        closing(binding.parse_assembly(text.decode(), context=context)) as module,
    ):
        if library:
            _link_in(module, library, context)
        module.verify()
        if name:
            module.name = name
        return str(module).encode()


def _reprinted(text: bytes) -> bytes | None:
    """The text as LLVM prints it; None where something is wrong with it, which `_read` will tell.

    By llvmlite's functions in C: what it has around them takes a quarter of a small module's time.
    """
    lib, said, printed = _library(), ctypes.c_char_p(), ctypes.c_char_p()
    _CONTEXT.take(text)
    module = lib.LLVMPY_ParseAssembly(_CONTEXT.context, text, ctypes.byref(said))
    if module and not said and not lib.LLVMPY_VerifyModule(module, ctypes.byref(said)):
        lib.LLVMPY_PrintModuleToString(module, ctypes.byref(printed))
    found = printed.value
    if module:
        lib.LLVMPY_DisposeModule(module)
    for string in (said, printed):
        if string:
            lib.LLVMPY_DisposeString(string)
    if found is None:
        _CONTEXT.drop()
    return found if found is not None and found.isascii() else None


class _Context:
    """LLVM's context for `_reprinted`: types, constants, attributes, made once for many modules.

    A new one takes a fifth of a small module's time.  It also keeps the names of struct types and
    the order in which kinds of metadata came, which show in the text of modules that come behind:
    a text that may have either gets a new context, and the one behind it, too.
    """

    MOST = 1 << 20
    """Bytes of texts: constants stay until their context goes."""

    def __init__(self) -> None:
        self.context: int | None = None
        self._left = 0  # bytes of texts

    def take(self, text: bytes) -> None:
        """Let `context` be one that this text may be read in."""
        leaves_names = b"!" in text or b"type" in text
        if leaves_names or len(text) > self._left:
            self.drop()
            self.context, self._left = _library().LLVMPY_ContextCreate(), self.MOST
        self._left = 0 if leaves_names else self._left - len(text)

    def drop(self) -> None:
        """Free it, once nothing in it is used."""
        if self.context is not None:
            _library().LLVMPY_ContextDispose(self.context)
        self.context, self._left = None, 0


_CONTEXT = _Context()


@functools.cache
def _library() -> ctypes.CDLL:
    """The library of llvmlite, with the types of the functions that `_reprinted` calls."""
    from llvmlite.binding import ffi

    lib = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle)
    pointer, text = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
    lib.LLVMPY_ContextCreate.restype = lib.LLVMPY_ParseAssembly.restype = pointer
    lib.LLVMPY_ParseAssembly.argtypes = pointer, ctypes.c_char_p, text
    lib.LLVMPY_VerifyModule.argtypes = lib.LLVMPY_PrintModuleToString.argtypes = pointer, text
    lib.LLVMPY_VerifyModule.restype = ctypes.c_bool
    lib.LLVMPY_DisposeModule.argtypes = lib.LLVMPY_ContextDispose.argtypes = (pointer,)
    lib.LLVMPY_DisposeString.argtypes = (ctypes.c_char_p,)
    return lib


def _promote(text: bytes, level: int, library: str, processor: str) -> bytes:
    """What `_read` gives, with variables of the stack in registers.

    Raises: RuntimeError, UnicodeDecodeError, OSError.
    """
    from llvmlite import binding

    machine = _machine(processor, 0)
    tuning = binding.create_pipeline_tuning_options(0)
    with (
        closing(binding.create_context()) as context,
        closing(binding.parse_assembly(text.decode(), context=context)) as module,
        closing(binding.create_pass_builder(machine, tuning)) as builder,
        closing(_passes(builder, level)) as passes,
    ):
        if library:
            _link_in(module, library, context)
        module.verify()
        if level == SIMPLIFIED:
            _mark_convergent(module)
        _name_machine(module, machine)
        passes.run(module, builder)
        return str(module).encode()


def _link_in(module: binding.ModuleRef, path: str, context: binding.ContextRef) -> None:
    """Add those functions of a library that a module calls, which nobody else sees.

    Raises: RuntimeError, OSError.
    """
    from llvmlite import binding

    functions = list(module.functions)
    wanted = frozenset(
        f.name for f in functions if f.is_declaration and f.name.startswith(_LIBRARY)
    )
    if not wanted:
        return
    own = {f.name for f in functions if not f.is_declaration}
    library = binding.parse_bitcode(_part_of(path, wanted), context=context)
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)
    for function in module.functions:
        if not function.is_declaration and function.name not in own:
            function.linkage = "internal"


@functools.lru_cache(32)
def _part_of(path: str, wanted: frozenset[str]) -> bytes:
    """The functions of a library, and what they call, as bitcode: most modules call a few.

    Raises: RuntimeError, OSError.
    """
    from llvmlite import binding

    tuning = binding.create_pipeline_tuning_options(0)
    with (
        open(path, "rb") as file,
        closing(binding.create_context()) as context,
        closing(binding.parse_bitcode(file.read(), context=context)) as library,
        closing(binding.create_pass_builder(_machine("sm_90", 0), tuning)) as builder,
        closing(binding.create_new_module_pass_manager()) as passes,
    ):
        seen = [f.name for f in library.functions if f.linkage == binding.Linkage.external]
        for function in library.functions:
            if not function.is_declaration and function.name not in wanted:
                function.linkage = "internal"
        passes.add_global_dead_code_eliminate_pass()
        passes.run(library, builder)
        for function in library.functions:
            if not function.is_declaration and function.name in seen:
                function.linkage = "external"
        found = library.as_bitcode()
        assert isinstance(found, bytes)
        return found


def _disassemble(data: bytes) -> bytes:
    """Bitcode as LLVM prints it.

    Raises: RuntimeError, UnicodeDecodeError.
    """
    from llvmlite import binding

    with (
        closing(binding.create_context()) as context,
        closing(binding.parse_bitcode(data, context=context)) as module,
    ):
        module.verify()
        return str(module).encode()


def _merge(texts: Sequence[bytes]) -> bytes:
    """Several modules as one, which has the triple and the layout of the first that says them.

    Raises: RuntimeError, UnicodeDecodeError.
    """
    from llvmlite import binding

    with closing(binding.create_context()) as context:
        modules = [binding.parse_assembly(text.decode(), context=context) for text in texts]
        first, *others = modules
        with closing(first):
            triple = next((m.triple for m in modules if m.triple), "")
            layout = next((m.data_layout for m in modules if m.data_layout), "")
            for module in modules:
                module.triple, module.data_layout = triple, layout
            for module in others:
                first.link_in(module)
            first.verify()
            return str(first).encode()


def _optimize(text: bytes, level: int, processor: str) -> bytes:
    """Run LLVM's pipeline over a module.

    Raises: RuntimeError when LLVM rejects the module before or after.
    """
    from llvmlite import binding

    machine = _machine(processor, max(level, 0))
    tuning = binding.create_pipeline_tuning_options(max(level, 0))
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    with (
        closing(binding.create_context()) as context,
        closing(binding.parse_assembly(text.decode(), context=context)) as module,
        closing(binding.create_pass_builder(machine, tuning)) as builder,
        closing(_passes(builder, level)) as passes,
    ):
        if level != PROMOTED:
            _mark_convergent(module)
        _name_machine(module, machine)
        passes.run(module, builder)
        module.verify()
        return str(module).encode()


def _passes(builder: binding.PassBuilder, level: int) -> binding.ModulePassManager:
    """LLVM's pipeline of a level from 1 to 3, or the passes of one below."""
    from llvmlite import binding

    if level > 0:
        return builder.getModulePassManager()
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    if level == SIMPLIFIED:
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_sroa_pass()  # of variables whose addresses stood in others
    return passes


@functools.cache
def _machine(processor: str, level: int) -> binding.TargetMachine:
    """What the passes know the machine through: LLVM's NVPTX back end."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, opt=level)


def _mark_convergent(module: binding.ModuleRef) -> None:
    """Let no call move under another condition: what it calls may wait for the threads beside it.

    LLVM's passes take the mark away again from functions in which nothing does.
    """
    for function in module.functions:
        if not function.name.startswith("llvm."):
            function.add_function_attribute("convergent")


def _name_machine(module: binding.ModuleRef, machine: binding.TargetMachine) -> None:
    """Say what a module is for, where it does not: without, LLVM's passes know no machine."""
    if not module.triple or module.triple.startswith("unknown"):
        module.triple = TRIPLE
    module.data_layout = _layout(module.data_layout, str(machine.target_data))


def _layout(given: str, machines: str) -> str:
    """The module's data layout, in which pointers to tensor memory have 32 bits."""
    if not given:
        return machines
    return given if re.search(r"\bp6:", given) else f"{given}-p6:32:32"


def _try(text: bytes) -> bytes:
    """Whether a copy of this process lives on when it has read `text`."""
    copy = os.fork()
    if not copy:
        try:
            signal.alarm(_TRY_SECONDS)
            _read(text)
        except (RuntimeError, UnicodeDecodeError):
            pass  # refused, and alive
        finally:
            os._exit(0)
    _, status = os.waitpid(copy, 0)
    return b"died" if status else b"survived"


# ---- the process -----------------------------------------------------------------------------


def _limit() -> None:
    """No core files, and an end to LLVM's recursion where the stack has none."""
    try:
        import resource
    except ImportError:
        return  # Windows
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_STACK, (_MOST_STACK, hard))


def main() -> None:
    """Answer messages until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    sys.path.append(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not print into an answer
    if hasattr(select, "poll"):  # not on Windows
        threading.Thread(target=_watch, args=(0,), daemon=True).start()
    _limit()
    try:
        from llvmlite import binding

        for option in OPTIONS:
            binding.set_option("nvgen", option)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    for request in _requests(sys.stdin.buffer):
        answers.write(pack(answer(request)))
        answers.flush()


if __name__ == "__main__":
    main()
