"""LLVM in processes of its own, which are kept: what ends one of them ends nothing else.

Layer: nvgen.  Input: LLVM IR, as text.  Output: what LLVM makes of it, or how it ended.  Threads
may ask at the same time, and a forked process starts children of its own.  The other end is
`nvgen.llvm.child`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import re
import select
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from threading import get_ident
from typing import IO

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen import python_child
from nvgen.llvm.child import CANNOT_START, pack, split

_SCRIPT = Path(__file__).with_name("child.py")
_MOST = 4
"""Processes at a time, and no more than processors."""

_OWN_DEATHS = {"SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"}
"""Signals by which LLVM ends the process; the others come from outside."""

_KEPT_WORDS = 1 << 16
_PIECE = 1 << 16
"""Bytes read at once: what a pipe holds.  More than this would be fresh memory for each answer."""


class LlvmDiedError(Exception):
    """LLVM ended its process; the text is the end of its stderr, or the signal."""


class LlvmTimeoutError(Exception):
    """LLVM did not end; the text says after how long."""


class LlvmRejectedError(Exception):
    """LLVM does not take the text; the text is its message."""


class NotUtf8Error(Exception):
    """A name or string of the module is not UTF-8; the text is the first wrong byte."""


class _KilledError(Exception):
    """Somebody else ended the process; the text is the signal."""


@dataclass(eq=False, slots=True)
class _Child:
    """One process, which answers one question at a time."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    answers: IO[bytes]
    words: IO[bytes]
    poller: select.poll | None
    said: bytes = field(default=b"")

    @classmethod
    def start(cls) -> _Child:
        process = subprocess.Popen(
            python_child.bare_command(_SCRIPT, "llvmlite"),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        poller = None
        if hasattr(select, "poll"):  # not on Windows
            poller = select.poll()
            poller.register(process.stdout, select.POLLIN)
            poller.register(process.stderr, select.POLLIN)
        return cls(process, process.stdin, process.stdout, process.stderr, poller)

    def ask(self, parts: tuple[bytes, ...], seconds: float) -> list[bytes]:
        """The answer to a question; the process is of no use any more after an error.

        Raises: LlvmDiedError, LlvmTimeoutError, _KilledError.
        """
        self.said = b""
        try:
            self._send(pack(parts))
            data = self._receive(seconds)
            while (end := data.find(b"\n")) < 0:
                data += self._receive(seconds)
            lengths, rest = data[:end], data[end + 1 :]
            pieces, missing = [rest], sum(map(int, lengths.split())) - len(rest)
            while missing > 0:
                pieces.append(self._receive(seconds))
                missing -= len(pieces[-1])
        except (BrokenPipeError, EOFError):
            raise self._death() from None
        except OSError as error:  # whoever closes all files has closed these, too
            raise _KilledError(str(error)) from None
        return split(lengths, b"".join(pieces))

    def _send(self, message: bytes) -> None:
        rest = memoryview(message)
        while rest:
            rest = rest[self.requests.write(rest) :]

    def _receive(self, seconds: float) -> bytes:
        """What comes next.

        Raises: EOFError when nothing more does, LlvmTimeoutError when nothing does in time.
        """
        if self.poller is not None:
            self._wait(self.poller, seconds)
        data = os.read(self.answers.fileno(), _PIECE)
        if not data:
            raise EOFError
        return data

    def _wait(self, poller: select.poll, seconds: float) -> None:
        """Wait for an answer, and keep what LLVM says meanwhile.

        Seconds are counted one by one, so that those do not count in which both were stopped.
        """
        answers = self.answers.fileno()
        waited = 0.0
        while True:
            step = min(1.0, seconds)
            ready = [file for file, _ in poller.poll(step * 1000)]
            if answers in ready:
                return
            if ready and not self._hear():
                poller.unregister(self.words)
            waited += 0.0 if ready else step
            if waited >= seconds:
                raise LlvmTimeoutError(f"{seconds:g} s")

    def _hear(self) -> bool:
        """Keep the end of what LLVM says; whether there was something."""
        heard = os.read(self.words.fileno(), _PIECE)
        self.said = (self.said + heard)[-_KEPT_WORDS:]
        return bool(heard)

    def _death(self) -> Exception:
        """How the process ended."""
        while self._hear():
            pass
        status = self.process.wait()
        said = self.said.decode(errors="replace")
        if status == CANNOT_START:
            return input_error(
                "system/llvm",
                "LLVM cannot be loaded",
                got=said.strip()[-400:],
                expected="llvmlite as pip installs it, and 300 MB of addresses (ulimit -v)",
            )
        words = last_words(said)
        if status > 0 or words:
            return LlvmDiedError(words or f"exit status {status}")
        if status == 0:
            # It does not end so: somebody else has waited for it, or SIGCHLD is ignored.
            return _KilledError("nobody knows by what signal")
        name = _signal_name(-status)
        return LlvmDiedError(name) if name in _OWN_DEATHS else _KilledError(name)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        self._close()

    def forget(self) -> None:
        """Let go of a process that belongs to the one that this was forked from."""
        self.process.returncode = 0  # it is not ours to wait for
        self._close()

    def _close(self) -> None:
        for file in (self.requests, self.answers, self.words):
            with contextlib.suppress(OSError):  # closed by number
                file.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _tokens(count: int) -> queue.SimpleQueue[None]:
    """As many tokens as there may be processes: a semaphore's work at a tenth of its time."""
    found: queue.SimpleQueue[None] = queue.SimpleQueue()
    for _ in range(count):
        found.put(None)
    return found


def last_words(said: str) -> str:
    """What LLVM says in its standard error about its end; "" when it says nothing."""
    marked = [line for line in said.splitlines() if "Assertion" in line or "LLVM ERROR" in line]
    if not marked:
        return ""
    quoted = re.search(r'&& "(.*?)"', marked[0])
    return quoted[1] if quoted else marked[0][-200:]


class Llvm:
    """LLVM, in as many processes as there are concurrent calls."""

    def __init__(self, most: int = min(_MOST, os.cpu_count() or 1)) -> None:
        self._most = most
        self._registered = False
        self._begin()

    def _begin(self) -> None:
        self._free = _tokens(self._most)
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._asking: set[int] = set()  # threads

    def read(
        self, text: str, name: str = "", library: str = "", seconds: float | None = None
    ) -> str:
        """The text parsed, verified and printed; the module is called `name`, if that is given.

        `library` is the path of bitcode that brings the functions of libdevice that it calls.

        Raises: LlvmRejectedError, NotUtf8Error, LlvmDiedError, LlvmTimeoutError.
        """
        data = text.encode()
        limit = seconds or _limit(30.0, data)
        return self._done(self._ask((b"read", name.encode(), library.encode(), data), limit))

    def promote(self, text: str, level: int, library: str, processor: str) -> str:
        """As `read`, with stack variables promoted to registers: PROMOTED or SIMPLIFIED.

        Raises: LlvmRejectedError, NotUtf8Error, LlvmDiedError, LlvmTimeoutError.
        """
        data = text.encode()
        parts = (b"promote", b"%d" % level, library.encode(), processor.encode(), data)
        return self._done(self._ask(parts, _limit(60.0, data)))

    def optimize(self, text: str, level: int, processor: str, seconds: float | None = None) -> str:
        """The text through LLVM's pipeline of a level from 1 to 3, PROMOTED or SIMPLIFIED.

        Raises: LlvmRejectedError, NotUtf8Error, LlvmDiedError, LlvmTimeoutError.
        """
        data = text.encode()
        limit = seconds or _limit(300.0, data)
        return self._done(self._ask((b"optimize", b"%d" % level, processor.encode(), data), limit))

    def disassemble(self, data: bytes) -> str:
        """The text of bitcode.

        Raises: LlvmRejectedError, NotUtf8Error, LlvmDiedError, LlvmTimeoutError.
        """
        return self._done(self._ask((b"disassemble", data), _limit(30.0, data)))

    def merge(self, texts: Sequence[str]) -> str:
        """Several modules as one.

        Raises: LlvmRejectedError, NotUtf8Error, LlvmDiedError, LlvmTimeoutError.
        """
        parts = [text.encode() for text in texts]
        return self._done(self._ask((b"merge", *parts), _limit(60.0, b"".join(parts))))

    def survives(self, text: str) -> bool:
        """Whether LLVM reads or rejects the text without crashing.

        Raises: LlvmDiedError, LlvmTimeoutError.
        """
        (said,) = self._ask((b"try", text.encode()), 60.0)
        return said == b"survived"

    def start(self) -> None:
        """Start a process, so that it is there when it is wanted."""
        if not self._idle:
            self._idle.append(self._start())

    def processes(self) -> list[int]:
        """The numbers of the processes that run now."""
        return [child.process.pid for child in self._all]

    def close(self) -> None:
        """End all processes; the next question starts a new one."""
        self._idle.clear()
        for child in list(self._all):
            self._drop(child)

    @staticmethod
    def _done(answer: list[bytes]) -> str:
        kind, said = answer
        if kind == b"refused":
            raise LlvmRejectedError(said.decode())
        if kind == b"encoding":
            raise NotUtf8Error(f"{int(said):#04x}")
        return said.decode()

    def _ask(self, parts: tuple[bytes, ...], seconds: float) -> list[bytes]:
        try:
            return self._ask_once(parts, seconds)
        except _KilledError:
            self._drop_idle()  # ended from outside, not by LLVM: asked once more, of a new one
        try:
            return self._ask_once(parts, seconds)
        except _KilledError as error:
            raise LlvmDiedError(str(error)) from None

    def _ask_once(self, parts: tuple[bytes, ...], seconds: float) -> list[bytes]:
        thread = get_ident()
        if thread in self._asking:  # in a handler of a signal: its own thread would wait for it
            return self._ask_one(parts, seconds)
        self._asking.add(thread)
        try:
            token = self._free.get()
            try:
                return self._ask_one(parts, seconds)
            finally:
                self._free.put(token)
        finally:
            self._asking.discard(thread)

    def _ask_one(self, parts: tuple[bytes, ...], seconds: float) -> list[bytes]:
        child = self._take()
        try:
            answer = child.ask(parts, seconds)
        except BaseException:  # the user's Ctrl-C too: an answer may be under way
            self._drop(child)
            raise
        self._idle.append(child)
        return answer

    def _take(self) -> _Child:
        try:
            return self._idle.pop()
        except IndexError:
            return self._start()

    def _start(self) -> _Child:
        if not self._registered:
            self._registered = True
            atexit.register(self.close)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._forked)
        child = _Child.start()
        self._all.add(child)
        return child

    def _drop(self, child: _Child) -> None:
        self._all.discard(child)
        child.end()

    def _drop_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._drop(self._idle.pop())

    def _forked(self) -> None:
        """In a process that was forked: the children are its parent's."""
        for child in self._all:
            child.forget()
        self._begin()


def _limit(seconds: float, data: bytes) -> float:
    """Seconds that LLVM may take: hundreds of times what it does take, more for more text."""
    return seconds * (1 + len(data) / 1e6)


LLVM = Llvm()
"""The LLVM of this process: no process runs before it is asked."""
