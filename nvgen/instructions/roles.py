"""Roles: which threads execute a part of the kernel; thread numbers, waits, turns.

Layer: nvgen.instructions.  PTX ISA, Special Registers; shfl.sync; elect.sync; barrier{.cta};
mbarrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from enum import Enum

from llvmlite import ir

from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.modifiers import AtomicOp, ScalarType, Scope, Shuffle, Vote
from intrinsics.special import special_registers
from intrinsics.targets import Feature
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, refuse, whole
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.instructions.control_flow import ControlFlow
from nvgen.llvm.uniformity import agree
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Barrier, Pointer, pointer_of

WARP = 32
"""Threads of a warp."""

WARPGROUP = WARPGROUP_WARPS * WARP
"""Threads of a warpgroup."""

_TURNS_THREADS = 256
"""Threads of a named barrier: the warpgroup that waits and the one that arrives."""

BARRIERS = 16
"""Named barriers of a CTA, with barrier 0 of all its threads."""


class ExecutionScope(Enum):
    """Which threads execute the code that is being built."""

    CTA = "all threads of the CTA"
    WARPGROUP = "one warpgroup"
    WARP = "one warp"
    THREAD = "a single thread"


_INSIDE = {
    ExecutionScope.CTA: ExecutionScope.CTA.value,
    ExecutionScope.WARPGROUP: "inside `b.if_warpgroup(0, 2)`",
    ExecutionScope.THREAD: "inside `b.elect()` of one warp, or `b.if_thread(…)`",
}
"""Where such threads execute what is built."""


def check_scope(
    b: Roles, what: str, *scopes: ExecutionScope, expected: str = "", rule: str = "value"
) -> None:
    """Whether the threads of one of these scopes execute what is built."""
    if b.scope not in scopes:
        wanted = expected or _INSIDE[scopes[0]]
        raise refuse(what, got=b.scope.value, expected=wanted, rule=rule)


@guarded
class Ring:
    """A position in a ring of buffers: the `stage`, and the `parity` of the current round.

    A consumer waits for the phase of `parity`; a producer, for which every buffer is free in the
    first round, for the phase before: `parity ^ 1`.
    """

    def __init__(self, builder: Roles, stages: int) -> None:
        self.builder = builder
        self.stages = whole(stages, "number of buffers of a ring")
        self._stage = builder.variable(0)
        self._parity = builder.variable(0)

    def __repr__(self) -> str:
        return f"<a place in a ring of {self.stages} buffers, of {self.builder.name}>"

    @property
    def stage(self) -> Int:
        """The number of the buffer."""
        return self._stage.value

    @property
    def parity(self) -> Int:
        """0 in the first round, 1 in the second, and so on."""
        return self._parity.value

    def advance(self, count: IntLike = 1) -> None:
        """Advance to the next buffer, or by `count`; after the last one the next round begins."""
        if not isinstance(count, int) or count != 1:
            behind = self.stage + count
            self._stage.set(behind % self.stages)
            self._parity.set((self.parity + behind // self.stages) & 1)
            return
        following = self.stage + 1
        wraps = following == self.stages
        self._stage.set(self.builder.select(wraps, 0, following))
        self._parity.set(self.parity ^ wraps.zext(32))


class SpecialRegister:
    """A special register as a property."""

    def __init__(self, name: str, words: str) -> None:
        self._name, self.__doc__ = name, words

    @ends_at_caller
    def __get__(self, instance: Roles, owner: type) -> Int:
        return instance.sreg(self._name)


class Roles(ControlFlow):
    """Numbers of threads, warps, blocks and CTAs, and code that some of them execute."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.scope = ExecutionScope.CTA

    @property
    def threads(self) -> int:
        """The number of threads of the CTA."""
        x, y, z = self.block
        return x * y * z

    # ---- numbers -----------------------------------------------------------------------------

    def sreg(self, name: str) -> Int:
        """A special register: `b.sreg("laneid")`; `clock64` and `globaltimer` have 64 bits.

        Raises: InputError for what is no special register, or none that LLVM can read.
        """
        known = special_registers()
        found = known.get(name) or next((r for r in known.values() if r.dotted == name), None)
        if found is None or not found.llvm:
            near = get_close_matches(str(name), known, 3)
            got, expected = described(name), "one that PTX has, without its %"
            hint = f"did you mean {' or '.join(near)}?" if near else ""
            section = "Special Registers"
            raise refuse(
                "no special register", got=got, expected=expected, hint=hint, section=section
            )
        type_ = ir.FunctionType(ir.IntType(found.llvm_bits), [])
        function = self.declare(f"llvm.nvvm.{found.llvm}", type_)
        return Int(self, self.at_caller().call(function, [], name=name))

    tid_x = SpecialRegister("tid.x", "The thread's index in its block.")
    tid_y = SpecialRegister("tid.y", "The thread's index in its block, along y.")
    tid_z = SpecialRegister("tid.z", "The thread's index in its block, along z.")
    ctaid_x = SpecialRegister("ctaid.x", "The block's index in the grid.")
    ctaid_y = SpecialRegister("ctaid.y", "The block's index in the grid, along y.")
    ctaid_z = SpecialRegister("ctaid.z", "The block's index in the grid, along z.")
    nctaid_x = SpecialRegister("nctaid.x", "The number of blocks in the grid.")
    nctaid_y = SpecialRegister("nctaid.y", "The number of blocks in the grid, along y.")
    nctaid_z = SpecialRegister("nctaid.z", "The number of blocks in the grid, along z.")
    lane = SpecialRegister("laneid", "The thread's number in its warp: 0 to 31.")
    cluster_ctarank = SpecialRegister(
        "cluster.ctarank", "The CTA's rank in its cluster; that of the even CTA of a pair is even."
    )

    def uniform(self, value: Int) -> Int:
        """An integer that is the same in all lanes of the warp; ptxas then knows so and may use a
        uniform register.

        It is a shuffle: all threads of the warp execute it.

        Raises: InputError for what is not a number of the kernel.
        """
        return self.shfl_sync(Shuffle.IDX, value, 0)

    @property
    def thread(self) -> Int:
        """The thread's number in its CTA, along x first, then y, then z: 32 in a row are a warp."""
        width, height, depth = self.block
        number = self.tid_x
        if self.threads > width:
            rows = self.tid_y if depth == 1 else self.tid_z * height + self.tid_y
            number = rows * width + number
        return number

    @property
    def warp(self) -> Int:
        """The warp's number in its CTA."""
        return self._of_the_warp(5)

    @property
    def warpgroup(self) -> Int:
        """The warpgroup's number in its CTA."""
        return self._of_the_warp(7)

    def _of_the_warp(self, bits: int) -> Int:
        """A thread's number without its low bits: in a uniform register, where whole warps ask."""
        number = self.thread >> bits
        in_kernel = self.at_caller().function.name == self.name  # callers of others are not known
        whole_warps = in_kernel and all(agree(f.decides) for f in self._frames)
        return self.uniform(number) if whole_warps else number

    # ---- roles -------------------------------------------------------------------------------

    @contextmanager
    def _in_scope(self, scope: ExecutionScope, condition: Int, name: str) -> Iterator[None]:
        before = self.scope
        self.scope = scope
        try:
            with self.if_(condition, name):
                yield
        finally:
            self.scope = before

    def _check_role(self, of: str, number: object, each: int, count: int = 1) -> None:
        """Whether the block has such warpgroups, warps or threads, where that is known."""
        there = -(-self.threads // each)
        if not isinstance(number, Int) and not 0 <= whole(number, "number", 0) <= there - count:
            got = f"{of[:-1]} {number}" if count == 1 else f"{count} from {number} on"
            expected = f"0 to {there - 1}: it has {self.threads} threads"
            raise refuse(f"the block has no such {of}", got=got, expected=expected)

    @contextmanager
    def if_warpgroup(self, number: IntLike, count: int = 1) -> Iterator[None]:
        """A block (`with`) for one warpgroup of the CTA: four warps, 128 threads.

        With `count` for that many warpgroups, from `number` on, each by itself.

        Raises: InputError for a number that is known and that the block does not have.
        """
        self._check_role("warpgroups", number, 128, whole(count, "number of warpgroups"))
        mine = self.thread >> 7
        chosen = mine == number if count == 1 else mine - number < count
        with self._in_scope(ExecutionScope.WARPGROUP, chosen, "warpgroup"):
            yield

    @contextmanager
    def if_warp(self, number: IntLike) -> Iterator[None]:
        """A block (`with`) for one warp of the CTA; numbers are checked as in `if_warpgroup`."""
        self._check_role("warps", number, 32)
        with self._in_scope(ExecutionScope.WARP, (self.thread >> 5) == number, "warp"):
            yield

    @contextmanager
    def if_thread(self, number: IntLike) -> Iterator[None]:
        """A block (`with`) for one thread of the CTA; numbers are checked as in `if_warpgroup`."""
        self._check_role("threads", number, 1)
        with self._in_scope(ExecutionScope.THREAD, self.thread == number, "thread"):
            yield

    @contextmanager
    def elect(self) -> Iterator[None]:
        """A block (`with`) for one thread of the warp, which the hardware elects."""
        with self._in_scope(ExecutionScope.THREAD, self.elect_sync(), "elected"):
            yield

    # ---- waits and turns ---------------------------------------------------------------------

    def wait(self, barrier: Barrier, phase: IntLike, *, scope: Scope = Scope.CTA) -> None:
        """Wait until the phase of parity `phase` of an mbarrier has completed.

        To see what other CTAs of the cluster released with their arrivals, wait at cluster scope.
        On targets before sm_90, which have no `mbarrier.try_wait`, it is a loop of `.test_wait`.

        Raises: InputError for what is not an mbarrier.
        """
        pointer_of(barrier)
        if isinstance(phase, int) and phase not in (0, 1):
            raise refuse("no parity of a phase", got=described(phase), expected="0 or 1")
        spin, done = self._new_blocks(f"wait_{barrier.name}", f"{barrier.name}_done")
        builder = self.at_caller()
        builder.branch(spin)
        builder.position_at_end(spin)
        old = self.target is not None and Feature.HAS_CLUSTERS not in self.target.features
        look = self.mbarrier_test_wait_parity if old else self.mbarrier_try_wait_parity
        ready = look(barrier, phase, scope=scope)
        self.at_caller().cbranch(ready.value, done, spin)
        builder.position_at_end(done)

    def wait_until(self, holds: Callable[[], Int]) -> None:
        """Ask again and again until `holds` in all lanes of a warp, which stay together.

        `b.wait_until(lambda: b.atom_load(flag) != 0)` waits for a flag of another CTA's.  Where a
        lane asks alone (`b.elect()` around `b.while_`) ptxas takes what the loops around it count
        for different in each lane: every use of it in a descriptor then costs an instruction more.

        Raises: InputError for a single thread, and what is not a condition of the kernel.
        """
        several = ExecutionScope.CTA, ExecutionScope.WARPGROUP, ExecutionScope.WARP
        check_scope(self, "whole warps wait", *several)
        with self.while_(lambda: self.vote_sync(Vote.ALL, holds()) ^ 1):
            pass

    @contextmanager
    def items(self, counter: Pointer, total: IntLike) -> Iterator[Int]:
        """A loop over work items 0 to `total` - 1, which the CTAs of a persistent kernel share
        dynamically.

        The first item is the CTA's own index, the others come from `counter`, a word in global
        memory that is zero before a launch of at most `total` CTAs, and zero again after it.  The
        next item is fetched when an iteration begins.  One thread of each CTA executes the loop.

        Raises: InputError for several threads.
        """
        check_scope(self, "one thread takes items", ExecutionScope.THREAD)
        number = self.variable(self.ctaid_x)
        with self.while_(lambda: number.value < total):
            last = total - 1 if isinstance(total, Int) else self.const(total - 1)
            taken = self.atom(AtomicOp.INC, ScalarType.U32, counter, last)
            following = self.nctaid_x + taken
            yield number.value
            number.set(following)

    def ring(self, stages: int) -> Ring:
        """A position in a ring of `stages` buffers, at its start."""
        return Ring(self, stages)

    @contextmanager
    def turns(self, first_barrier: int | None, warpgroups: int = 2) -> Iterator[Turns]:
        """The first warpgroups of the CTA take turns: `with b.turns(3) as turns:`, then
        `turns.mine()`.

        Each has a named barrier, from `first_barrier` on; with None no one waits.  Warpgroup 0
        begins.

        Raises: InputError outside of a role of warpgroups, and for barriers beyond 15.
        """
        made = Turns(self, first_barrier, warpgroups)
        if first_barrier is None:
            yield made
            return
        with self.if_(self.warpgroup == warpgroups - 1):
            made.pass_on()
        yield made
        with self.if_(self.warpgroup == 0):
            made.wait()


@guarded
class Turns:
    """The first `warpgroups` warpgroups of a CTA alternate, by named barriers from `first` on.

    With `first` None no one waits.
    """

    def __init__(self, builder: Roles, first: int | None, warpgroups: int) -> None:
        first = None if first is None else whole(first, "number of a barrier")
        last = (first or 1) + whole(warpgroups, "number of warpgroups")
        if warpgroups < 2 or not 1 < last <= BARRIERS or (first is not None and first < 1):
            got = f"{warpgroups} warpgroups, barriers from {first}"
            expected = "two or more, each with one of the barriers 1 to 15"
            raise refuse("no such turns", got=got, expected=expected)
        check_scope(builder, "warpgroups take turns", ExecutionScope.WARPGROUP)
        self.builder, self.first, self.warpgroups = builder, first, warpgroups

    def __repr__(self) -> str:
        return f"<turns of {self.warpgroups} warpgroups, barriers from {self.first}>"

    @contextmanager
    def mine(self) -> Iterator[None]:
        """A block (`with`) that runs in this warpgroup's turn; then the next one's begins.

        All of the warpgroups execute it equally often.
        """
        self.wait()
        yield
        self.pass_on()

    def wait(self) -> None:
        """Wait for this warpgroup's turn."""
        if self.first is not None:
            mine = self.builder.warpgroup + self.first
            self.builder.barrier_cta_sync_aligned(mine, _TURNS_THREADS)

    def pass_on(self) -> None:
        """End this warpgroup's turn: the next one's begins."""
        if self.first is not None:
            self.builder.barrier_cta_arrive_aligned(self._next(), _TURNS_THREADS)

    def _next(self) -> Int:
        number = self.builder.warpgroup + 1
        if self.warpgroups == 2:
            return (number & 1) + (self.first or 0)
        return number % self.warpgroups + (self.first or 0)
