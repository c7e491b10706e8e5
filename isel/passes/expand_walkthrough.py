"""The walkthrough's records become what the machine has: threads, warps, barriers and fences.

Layer: isel.passes.  Input: a function after SSA form was left, with pseudo records in it.  Output:
the same function without them.  What a whole CTA does together is done so:

    entry     one thread makes an mbarrier; fence; barrier; the mbarrier's parity is 0
    alloc     warp 0 allocates into a slot of shared memory; fences and a barrier publish it
    encode    a 64-bit descriptor from the address and constants
    mma       one thread issues it, the same for all of them
    wait      that thread commits; all wait for the mbarrier's phase, and flip the parity; fence
    cp        as the multiply: by one thread, complete with the next wait
    ld        each warp loads from its own lanes, and waits for the registers
    dealloc   fences and a barrier; warp 0 gives the columns back
    relinquish  warp 0

Barriers stand where all threads come by (`isel.passes.uniformity`); two waits in a row need one
between them, or a slow thread could miss a whole phase of the mbarrier, and a load followed by a
multiply needs one, or the multiply could overwrite what is being read.  They are barrier 0, which
a kernel of this spelling keeps for all of its threads.
In a function for CTA pairs every barrier is the cluster's, the thread that issues is the first of
the even CTA, and its commit arrives at the mbarriers of both.
PTX ISA, TensorCore 5th Generation Family Instructions; tcgen05.commit; mbarrier.try_wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from intrinsics import catalog
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.mir import (
    Block,
    Form,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Reg,
    Special,
    Sym,
    Variable,
    form_of,
)
from intrinsics.modifiers import (
    Aligned,
    Compare,
    CopyFormat,
    CtaGroup,
    LdStNum,
    LdStShape,
    Multicast,
    ScalarType,
    Sem,
    Space,
    ThreadSync,
    WaitOp,
)
from intrinsics.row import Fact
from intrinsics.rows.walkthrough import HARDWARE_COLUMNS, SWIZZLE_CODES
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.smem_strides import Strides, right_strides
from intrinsics.umma_layout import check_umma_layout
from isel.passes import walkthrough_facts as facts
from isel.passes.uniformity import reaches
from isel.passes.walkthrough_accumulators import MULTIPLIES
from isel.verifier.record import place_of

_WARP = 32
_LANES_OF_WARPS = 0x60
"""The bits of a thread's number that say which quarter of the lanes is its warp's."""

B32, U32, U64, B64 = ScalarType.B32, ScalarType.U32, ScalarType.U64, ScalarType.B64


def expand_walkthrough(module: Module) -> None:
    """Expand the pseudo records of every function.

    Raises: SelectionError for records that the machine cannot follow: in divergent control flow,
    without a wait, on a handle that no allocation gave.
    """
    found: list[Finding] = []
    for function in module.functions:
        if any(mi.row.pseudo for mi in function.instructions()):
            known = facts.gather(module, function)
            found += known.findings
            module.notes += known.warnings
            if not known.findings:
                _Expansion(module, function, known).run()
    if found:
        raise SelectionError(found)


def _form(row: str, **given: Fact) -> Form:
    return form_of(catalog.row(row), **given)


class _Expansion:
    def __init__(self, module: Module, function: MachineFunction, known: facts.Facts) -> None:
        self.module = module
        self.function = function
        self.known = known
        self.scratch = self._scratch()
        self.after = reaches(function)
        self.blocks: list[Block] = []
        self.names = {block.name for block in function.blocks}
        self.loc = 0
        self.here = (0, 0)  # block and record that is being expanded
        self.slots = 0
        self.group = CtaGroup.TWO if known.pair else CtaGroup.ONE
        self.thread: Reg | None = None  # whether this thread issues the multiplies
        self.mask: Reg | None = None  # the CTAs of this thread's pair
        self.warp: Reg | None = None  # whether this is warp 0
        self.lanes: Reg | None = None  # the first lane of the thread's warp, as an address
        self.parity: Reg | None = None  # of the phase that the next wait is for
        self.steps: dict[str, Callable[[MachineInstr], None]] = {
            facts.ALLOC: self._alloc,
            facts.ENCODE: self._encode,
            **dict.fromkeys(MULTIPLIES, self._mma),
            facts.CP: self._cp,
            facts.WAIT: self._wait,
            facts.LD: self._ld,
            facts.DEALLOC: self._dealloc,
            facts.RELINQUISH: self._relinquish,
        }

    def run(self) -> None:
        old = self.function.blocks
        for i, block in enumerate(old):
            self._start(block.name)
            if i == 0:
                self._prologue()
            for at, mi in enumerate(block.instrs):
                self.loc, self.here = mi.loc, (i, at)
                step = self.steps.get(mi.row.id)
                if step is None:
                    self.blocks[-1].instrs.append(mi)
                else:
                    step(mi)
        size = facts.SLOTS + 4 * self.slots
        self.function.blocks = self.blocks
        self.function.variables.append(Variable(self.scratch, Space.SHARED, size, 8))

    # ---- records -----------------------------------------------------------------------------

    def _start(self, name: str) -> None:
        self.blocks.append(Block(name))

    def _emit(self, form: Form, *ops: Op, guard: Reg | Not | None = None) -> None:
        self.blocks[-1].instrs.append(MachineInstr(form, ops, guard, self.loc))

    def _new(self, cls: ScalarType, form: Form, *ops: Op, name: str = "") -> Reg:
        """A register with what a record computes."""
        reg = self.function.regs.new(cls, name)
        self._emit(form, reg, *ops)
        return reg

    def _scratch(self) -> str:
        """A name for the shared memory that the expansion needs."""
        taken = {v.name for v in (*self.module.variables, *self.function.variables)}
        taken |= {f.name for f in self.module.functions} | {p.name for p in self.function.params}
        name, n = f"{self.function.name}_walkthrough", 1
        while name in taken:
            n += 1
            name = f"{self.function.name}_walkthrough_{n}"
        return name

    def _barrier(self) -> None:
        """All threads meet; what tensor memory saw before, it sees in order."""
        self._fence(ThreadSync.BEFORE)
        self._meet()
        self._fence(ThreadSync.AFTER)

    def _meet(self) -> None:
        """All threads of the CTA meet, or of the cluster."""
        if self.group is CtaGroup.ONE:
            self._emit(_form("bar.sync"), Imm(0))
            return
        self._emit(_form("barrier.cluster.arrive", sem=Sem.RELEASE, aligned=Aligned.ALIGNED))
        self._emit(_form("barrier.cluster.wait", sem=Sem.ACQUIRE, aligned=Aligned.ALIGNED))

    def _fence(self, side: ThreadSync) -> None:
        self._emit(_form("tcgen05.fence", side=side))

    def _note(self, mi: MachineInstr, finding: Finding) -> None:
        place = place_of(self.module.locations[mi.loc], self.function.name)
        self.module.notes.append(finding.at(place))

    # ---- entry -------------------------------------------------------------------------------

    def _prologue(self) -> None:
        """What the expansions of this function share; it stands where the first of them does."""
        self.loc = next(mi.loc for mi in self.function.instructions() if mi.row.pseudo)
        rows = {mi.row.id for mi in self.function.instructions()}
        thread = self._thread_number()
        if rows & {facts.ALLOC, facts.DEALLOC, facts.RELINQUISH}:
            below = _form("setp.int", cmp=Compare.LT, type=U32, p=True)
            self.warp = self._new(ScalarType.PRED, below, thread, Imm(_WARP), name="is_warp_0")
        if facts.LD in rows:
            own = self._new(B32, _form("and", type=B32), thread, Imm(_LANES_OF_WARPS))
            self.lanes = self._new(B32, _form("shl", type=B32), own, Imm(16), name="lanes")
        if rows & {*facts.ISSUED, facts.WAIT}:
            is_first = _form("setp.int", cmp=Compare.EQ, type=U32, p=True)
            first = self._new(ScalarType.PRED, is_first, thread, Imm(0), name="is_first")
            self.thread = self._issuer(first)
        if facts.WAIT in rows:
            init = _form("mbarrier.init", space=Space.SHARED)
            self._emit(init, Mem(Sym(self.scratch)), Imm(1), guard=first)
            self._emit(_form("fence.mbarrier_init"), guard=first)
        if facts.WAIT in rows or self.group is CtaGroup.TWO:
            self._meet()
        if facts.WAIT in rows:
            self.parity = self._new(B32, _form("mov", type=B32), Imm(0), name="parity")

    def _issuer(self, first: Reg) -> Reg:
        """Whether this thread issues: the first of the CTA, and in a pair of the even CTA."""
        if self.group is CtaGroup.ONE:
            return first
        rank = self._special("cluster_ctarank")
        odd = self._new(B32, _form("and", type=B32), rank, Imm(1))
        even = self._new(B32, _form("xor", type=B32), rank, odd)
        both = self._new(B32, _form("shl", type=B32), Imm(3), even)
        narrow = _form("cvt.int", dtype=ScalarType.U16, atype=U32)
        self.mask = self._new(ScalarType.B16, narrow, both, name="pair")
        is_even = _form("setp.int", cmp=Compare.EQ, type=U32, p=True)
        leads = self._new(ScalarType.PRED, is_even, odd, Imm(0))
        both_hold = _form("and", type=ScalarType.PRED)
        return self._new(ScalarType.PRED, both_hold, first, leads, name="is_issuer")

    def _thread_number(self) -> Reg:
        """The thread's number in its CTA, x first."""
        x = self._special("tid.x")
        sizes = self.function.launch.reqntid
        if sizes and all(size == 1 for size in sizes[1:]):
            return x
        multiply_add = _form("mad.lo", type=U32)
        rows = self._new(
            B32, multiply_add, self._special("tid.z"), self._special("ntid.y"),
            self._special("tid.y"),
        )  # fmt: skip
        return self._new(B32, multiply_add, rows, self._special("ntid.x"), x)

    def _special(self, name: str) -> Reg:
        return self._new(B32, _form("mov", type=U32), Special(name), name=name)

    # ---- tensor memory -----------------------------------------------------------------------

    def _alloc(self, mi: MachineInstr) -> None:
        columns = self.known.columns[id(mi)]
        self._say_columns(mi, columns)
        slot = Mem(Sym(self.scratch), facts.SLOTS + 4 * self.slots)
        self.slots += 1
        alloc = _form("tcgen05.alloc", cta_group=self.group, space=Space.SHARED_CTA)
        self._emit(alloc, slot, Imm(columns), guard=self.warp)
        self._barrier()
        load = _form("ld", space=Space.SHARED, type=B32)
        self._emit(load, mi["handle"], slot)

    def _say_columns(self, mi: MachineInstr, columns: int) -> None:
        asked = mi["columns"]
        assert isinstance(asked, Imm)
        pages = asked.value * HARDWARE_COLUMNS
        needed = self.known.needed.get(id(mi), 0)
        why = f"{asked.value} columns of 2 KiB are {pages} of tensor memory's, of 512 bytes"
        if needed > pages:
            why += f"; what it holds needs {needed}"
        elif columns != pages:
            why += "; an allocation is a power of 2 in 32..512"
        self._note(
            mi,
            Finding(
                "walkthrough/columns",
                Severity.NOTE,
                why,
                op=mi.opcode,
                got=f"{asked.value} columns",
                expected=f"{columns} columns are allocated",
                section="PTX ISA, tcgen05.alloc",
                subject="columns",
            ),
        )

    def _dealloc(self, mi: MachineInstr) -> None:
        handle = mi["handle"]
        self._barrier()
        dealloc = _form("tcgen05.dealloc", cta_group=self.group)
        self._emit(dealloc, handle, Imm(self.known.columns[id(mi)]), guard=self.warp)

    def _relinquish(self, mi: MachineInstr) -> None:
        form = _form("tcgen05.relinquish_alloc_permit", cta_group=self.group)
        self._emit(form, guard=self.warp)

    def _ld(self, mi: MachineInstr) -> None:
        """Each warp reads its 32 lanes, in as many loads as the values take.

        Where sixteen lanes hold rows (layouts C and F), both halves of a warp read the same ones:
        the offset between the halves is 0.
        """
        handle, acc = mi["handle"], mi["acc"]
        assert self.lanes is not None
        assert isinstance(acc, tuple)
        held = self.known.loads[id(mi)]
        base = self._new(B32, _form("add.int", type=U32), handle, self.lanes)
        words = tuple(self.function.regs.new(B32) for _ in acc) if held.is_half else acc
        shape = LdStShape.S16X32BX2 if held.sixteens else LdStShape.S32X32B
        for at, num in _pieces(len(acc)):
            load = _form("tcgen05.ld", shape=shape, num=num, half_split=held.sixteens)
            split = (Imm(0),) if held.sixteens else ()
            self._emit(load, words[at : at + num.times], Mem(base, at), *split)
        self._emit(_form("tcgen05.wait", op=WaitOp.LD))
        narrow = _form("cvt.int", dtype=ScalarType.U16, atype=U32)
        for half, word in zip(acc, words, strict=True) if held.is_half else ():
            self._emit(narrow, half, word)
        if self._comes_later(*facts.ISSUED):
            self._barrier()

    # ---- the multiply ------------------------------------------------------------------------

    def _encode(self, mi: MachineInstr) -> None:
        pointer, desc = mi["pointer"], mi["desc"]
        assert isinstance(pointer, int)
        if self.function.regs.classes[pointer].bits == 64:
            pointer = self._new(B32, _form("cvt.int", dtype=U32, atype=U64), pointer)
        low = self._new(B32, _form("and", type=B32), pointer, Imm(0x3FFFF))
        field = self._new(B32, _form("shr", type=U32), low, Imm(4))
        wide = self._new(B64, _form("cvt.int", dtype=U64, atype=U32), field)
        constant = self._descriptor(mi).encode()
        self._emit(_form("or", type=B64), desc, wide, Imm(constant))

    def _descriptor(self, mi: MachineInstr) -> SharedMemoryDescriptor:
        """The descriptor but for its address, with strides that the tile can have."""
        numbers = {slot: op.value for slot in mi.form.slots if isinstance(op := mi[slot], Imm)}
        swizzle = Swizzle(SWIZZLE_CODES[numbers["swizzle"]])
        given = strides = Strides(numbers["lbo"], numbers["sbo"])
        for tile, sparse in self.known.tiles.get(id(mi), ()):
            stored = replace(tile, k=tile.k // 2) if sparse else tile
            strides = right_strides(stored, swizzle, strides)
        if strides != given:
            self._say_strides(mi, given, strides, swizzle)
        return SharedMemoryDescriptor(0, strides.lbo, strides.sbo, swizzle, numbers["base_offset"])

    def _say_strides(
        self, mi: MachineInstr, given: Strides, strides: Strides, swizzle: Swizzle
    ) -> None:
        tiles = self.known.tiles[id(mi)]
        (problem, *_) = (
            problem
            for tile, sparse in tiles
            for problem in check_umma_layout(tile, swizzle, given, sparse=sparse)
        )
        self._note(
            mi,
            Finding(
                "walkthrough/strides",
                Severity.NOTE,
                problem.text,
                op=mi.opcode,
                got=f"sbo {given.sbo}, lbo {given.lbo}",
                expected=f"sbo {strides.sbo}, lbo {strides.lbo} are used",
                hint=f"{problem.hint}; lay the tile out for the strides that are used",
                section="PTX ISA, Canonical Layouts",
                subject="sbo" if strides.sbo != given.sbo else "lbo",
            ),
        )

    def _mma(self, mi: MachineInstr) -> None:
        mi.guard = self.thread
        self.blocks[-1].instrs.append(mi)

    def _cp(self, mi: MachineInstr) -> None:
        said = {axis: mi.form.facts.get(axis) for axis in ("shape", "multicast", "src_fmt")}
        wide = CopyFormat.B8X16 if said["src_fmt"] is not None else None
        form = _form("tcgen05.cp", cta_group=self.group, dst_fmt=wide, **said)
        handle = mi["handle"]
        assert isinstance(handle, int)
        self._emit(form, Mem(handle), mi["desc"], guard=self.thread)

    def _wait(self, mi: MachineInstr) -> None:
        assert self.thread is not None
        assert self.parity is not None
        if self._came_before(facts.WAIT):
            self._meet()
        barrier = Mem(Sym(self.scratch))
        self._commit(barrier)
        loop = self._fresh(f"{self.blocks[-1].name}_wait")
        self._start(loop)
        test = _form("mbarrier.try_wait.parity", space=Space.SHARED)
        done = self._new(ScalarType.PRED, test, barrier, self.parity, name="done")
        self._emit(_form("bra"), Label(loop), guard=Not(done))
        self._start(self._fresh(f"{loop}ed"))
        self._emit(_form("xor", type=B32), self.parity, self.parity, Imm(1))
        self._fence(ThreadSync.AFTER)

    def _commit(self, barrier: Mem) -> None:
        if self.mask is None:
            commit = _form("tcgen05.commit", cta_group=self.group, space=Space.SHARED_CLUSTER)
            self._emit(commit, barrier, guard=self.thread)
            return
        commit = _form(
            "tcgen05.commit", cta_group=self.group, space=Space.SHARED_CLUSTER,
            multicast=Multicast.CLUSTER, cta_mask=True,
        )  # fmt: skip
        self._emit(commit, barrier, self.mask, guard=self.thread)

    def _fresh(self, wanted: str) -> str:
        name, n = wanted, 1
        while name in self.names:
            n += 1
            name = f"{wanted}_{n}"
        self.names.add(name)
        return name

    # ---- order -------------------------------------------------------------------------------

    def _comes_later(self, *rows: str) -> bool:
        """Whether a record of `rows` may come after this one."""
        block, at = self.here
        return any(b in self.after[block] or (b == block and n > at) for b, n in self._places(rows))

    def _came_before(self, *rows: str) -> bool:
        """Whether a record of `rows` may have come before this one."""
        block, at = self.here
        return any(block in self.after[b] or (b == block and n < at) for b, n in self._places(rows))

    def _places(self, rows: tuple[str, ...]) -> list[tuple[int, int]]:
        return [
            (i, n)
            for i, block in enumerate(self.function.blocks)
            for n, mi in enumerate(block.instrs)
            if mi.row.id in rows
        ]


def _pieces(values: int) -> Iterator[tuple[int, LdStNum]]:
    """Loads of powers of two that read so many values: the first of each, and how many."""
    at = 0
    while at < values:
        num = max((n for n in LdStNum if n.times <= values - at), key=lambda n: n.times)
        yield at, num
        at += num.times
