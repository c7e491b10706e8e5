"""Control flow as context managers, and which threads execute what is inside.

Layer: nvgen.builder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from llvmlite import ir

from nvgen.builder.intrinsics import IntrinsicCalls
from nvgen.builder.values import Barrier, Int, IntLike, constant


class Scope(Enum):
    """Which threads execute the code that is being built."""

    CTA = "all threads of the CTA"
    WARP = "one warp"
    THREAD = "a single thread"


class ControlFlow(IntrinsicCalls):
    """Branches and loops."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.scope = Scope.CTA
        self._blocks = 0

    def sreg(self, name: str) -> Int:
        """A special register: `b.sreg("tid.x")`."""
        type_ = ir.FunctionType(ir.IntType(32), [])
        function = self.declare("llvm.nvvm.read.ptx.sreg." + name, type_)
        return Int(self, self.at_caller().call(function, [], name=name))

    @property
    def tid_x(self) -> Int:
        """The thread's index in its block."""
        return self.sreg("tid.x")

    @contextmanager
    def if_(self, condition: Int, name: str = "if") -> Iterator[None]:
        """What follows is executed by the threads for which `condition` holds."""
        builder = self.at_caller()
        self._blocks += 1
        then = builder.append_basic_block(f"{name}.{self._blocks}")
        after = builder.append_basic_block(f"after.{self._blocks}")
        builder.cbranch(condition.value, then, after)
        builder.position_at_end(then)
        yield
        self.at_caller().branch(after)
        self._open(after)

    @contextmanager
    def _in_scope(self, scope: Scope, condition: Int, name: str) -> Iterator[None]:
        before = self.scope
        self.scope = scope
        try:
            with self.if_(condition, name):
                yield
        finally:
            self.scope = before

    @contextmanager
    def if_warp(self, number: IntLike) -> Iterator[None]:
        """What follows is executed by one warp of the CTA."""
        with self._in_scope(Scope.WARP, (self.tid_x >> 5) == number, "warp"):
            yield

    @contextmanager
    def if_thread(self, number: IntLike) -> Iterator[None]:
        """What follows is executed by one thread of the CTA."""
        with self._in_scope(Scope.THREAD, self.tid_x == number, "thread"):
            yield

    @contextmanager
    def elect(self) -> Iterator[None]:
        """What follows is executed by one thread of the warp, whichever the hardware elects."""
        with self._in_scope(Scope.THREAD, self.elect_sync(), "elected"):
            yield

    @contextmanager
    def range(self, stop: IntLike, start: IntLike = 0, step: int = 1) -> Iterator[Int]:
        """A loop: what follows is executed with each index below `stop`."""
        builder = self.at_caller()
        self._blocks += 1
        before = builder.block
        body = builder.append_basic_block(f"loop.{self._blocks}")
        after = builder.append_basic_block(f"after.{self._blocks}")
        first, last = self._index(start), self._index(stop)
        builder.cbranch(builder.icmp_unsigned("<", first, last), body, after)
        builder.position_at_end(body)
        index = builder.phi(ir.IntType(32), name=f"i{self._blocks}")
        index.add_incoming(first, before)
        yield Int(self, index)
        builder = self.at_caller()
        following = builder.add(index, ir.Constant(ir.IntType(32), step))
        index.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_unsigned("<", following, last), body, after)
        self._open(after)

    def _open(self, block: ir.Block) -> None:
        """Go on in `block`, behind all the blocks that there are."""
        builder = self.at_caller()
        builder.function.blocks.remove(block)
        builder.function.blocks.append(block)
        builder.position_at_end(block)

    def _index(self, value: IntLike) -> ir.Value:
        return value.value if isinstance(value, Int) else constant(value, 32)

    def wait(self, barrier: Barrier, phase: IntLike) -> None:
        """Wait until the phase of parity `phase` of an mbarrier has completed."""
        builder = self.at_caller()
        self._blocks += 1
        spin = builder.append_basic_block(f"wait_{barrier.name}.{self._blocks}")
        done = builder.append_basic_block(f"{barrier.name}_done.{self._blocks}")
        builder.branch(spin)
        builder.position_at_end(spin)
        ready = self.mbarrier_try_wait_parity(barrier, phase)
        self.at_caller().cbranch(ready.value, done, spin)
        builder.position_at_end(done)
