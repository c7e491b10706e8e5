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

Barriers stand where all threads come by (`isel.uniformity`); two waits in a row need one
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

from intrinsics.catalog import form
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_strides import Strides, right_strides
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.layouts.umma_layout import check_umma_layout
from intrinsics.mir import (
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Reg,
    Sym,
    Variable,
)
from intrinsics.modifiers import (
    Compare,
    CopyFormat,
    CtaGroup,
    LdStNum,
    LdStShape,
    Multicast,
    ScalarType,
    Space,
    ThreadSync,
    WaitOp,
)
from intrinsics.rows.walkthrough import HARDWARE_COLUMNS, SWIZZLE_CODES
from isel.passes.walkthrough import allocations, flow
from isel.passes.walkthrough.accumulators import MULTIPLIES
from isel.passes.walkthrough.code import B32, B64, U32, U64, ExpandedBlocks
from isel.uniformity import reaches
from isel.verifier.locations import place_of

_WARP = 32
_LANES_OF_WARPS = 0x60
"""The bits of a thread's number that say which quarter of the lanes is its warp's."""


def expand_walkthrough(module: Module) -> None:
    """Expand the pseudo records of every function.

    Raises: SelectionError for records that the machine cannot follow: in divergent control flow,
    without a wait, on a handle that no allocation gave.
    """
    found: list[Finding] = []
    for function in module.functions:
        if any(mi.row.pseudo for mi in function.instructions()):
            known = allocations.gather(module, function)
            found += known.findings
            module.notes += known.warnings
            if not known.findings:
                _Expansion(module, function, known).run()
    if found:
        raise SelectionError(found)


class _Expansion(ExpandedBlocks):
    def __init__(
        self, module: Module, function: MachineFunction, known: allocations.Allocations
    ) -> None:
        super().__init__(function, pair=known.pair)
        self.module = module
        self.known = known
        self.scratch = self._scratch()
        self.after = reaches(function)
        self.names = {block.name for block in function.blocks}
        self.here = (0, 0)  # block and record that is being expanded
        self.slots = 0
        self.thread: Reg | None = None  # whether this thread issues the multiplies
        self.mask: Reg | None = None  # the CTAs of this thread's pair
        self.warp: Reg | None = None  # whether this is warp 0
        self.lanes: Reg | None = None  # the first lane of the thread's warp, as an address
        self.parity: Reg | None = None  # of the phase that the next wait is for
        self.steps: dict[str, Callable[[MachineInstr], None]] = {
            flow.ALLOC: self._alloc,
            flow.ENCODE: self._encode,
            **dict.fromkeys(MULTIPLIES, self._mma),
            flow.CP: self._cp,
            flow.WAIT: self._wait,
            flow.LD: self._ld,
            flow.DEALLOC: self._dealloc,
            flow.RELINQUISH: self._relinquish,
        }

    def run(self) -> None:
        old = self.function.blocks
        for i, block in enumerate(old):
            self.start(block.name, nounroll=block.nounroll)
            if i == 0:
                self._prologue()
            for at, mi in enumerate(block.instrs):
                self.loc, self.here = mi.loc, (i, at)
                step = self.steps.get(mi.row.id)
                if step is None:
                    self.blocks[-1].instrs.append(mi)
                else:
                    step(mi)
        size = allocations.SLOTS + 4 * self.slots
        self.function.blocks = self.blocks
        self.function.variables.append(Variable(self.scratch, Space.SHARED, size, 8))

    # ---- records -----------------------------------------------------------------------------

    def _scratch(self) -> str:
        """A name for the shared memory that the expansion needs."""
        taken = {v.name for v in (*self.module.variables, *self.function.variables)}
        taken |= {f.name for f in self.module.functions} | {p.name for p in self.function.params}
        name, n = f"{self.function.name}_walkthrough", 1
        while name in taken:
            n += 1
            name = f"{self.function.name}_walkthrough_{n}"
        return name

    def _note(self, mi: MachineInstr, finding: Finding) -> None:
        place = place_of(self.module.locations[mi.loc], self.function.name)
        self.module.notes.append(finding.at(place))

    # ---- entry -------------------------------------------------------------------------------

    def _prologue(self) -> None:
        """What the expansions of this function share; it stands where the first of them does."""
        self.loc = next(mi.loc for mi in self.function.instructions() if mi.row.pseudo)
        rows = {mi.row.id for mi in self.function.instructions()}
        thread = self.thread_number()
        if rows & {flow.ALLOC, flow.DEALLOC, flow.RELINQUISH}:
            below = form("setp.int", cmp=Compare.LT, type=U32, p=True)
            self.warp = self.new(ScalarType.PRED, below, thread, Imm(_WARP), name="is_warp_0")
        if flow.LD in rows:
            own = self.new(B32, form("and", type=B32), thread, Imm(_LANES_OF_WARPS))
            self.lanes = self.new(B32, form("shl", type=B32), own, Imm(16), name="lanes")
        if rows & {*flow.ISSUED, flow.WAIT}:
            is_first = form("setp.int", cmp=Compare.EQ, type=U32, p=True)
            first = self.new(ScalarType.PRED, is_first, thread, Imm(0), name="is_first")
            self.thread = self._issuer(first)
        if flow.WAIT in rows:
            init = form("mbarrier.init", space=Space.SHARED)
            self.emit(init, Mem(Sym(self.scratch)), Imm(1), guard=first)
            self.emit(form("fence.mbarrier_init"), guard=first)
        if flow.WAIT in rows or self.group is CtaGroup.TWO:
            self.meet()
        if flow.WAIT in rows:
            self.parity = self.new(B32, form("mov", type=B32), Imm(0), name="parity")

    def _issuer(self, first: Reg) -> Reg:
        """Whether this thread issues: the first of the CTA, and in a pair of the even CTA."""
        if self.group is CtaGroup.ONE:
            return first
        rank = self.special("cluster_ctarank")
        odd = self.new(B32, form("and", type=B32), rank, Imm(1))
        even = self.new(B32, form("xor", type=B32), rank, odd)
        both = self.new(B32, form("shl", type=B32), Imm(3), even)
        narrow = form("cvt.int", dtype=ScalarType.U16, atype=U32)
        self.mask = self.new(ScalarType.B16, narrow, both, name="pair")
        is_even = form("setp.int", cmp=Compare.EQ, type=U32, p=True)
        leads = self.new(ScalarType.PRED, is_even, odd, Imm(0))
        both_hold = form("and", type=ScalarType.PRED)
        return self.new(ScalarType.PRED, both_hold, first, leads, name="is_issuer")

    # ---- tensor memory -----------------------------------------------------------------------

    def _alloc(self, mi: MachineInstr) -> None:
        columns = self.known.columns[id(mi)]
        self._say_columns(mi, columns)
        slot = Mem(Sym(self.scratch), allocations.SLOTS + 4 * self.slots)
        self.slots += 1
        alloc = form("tcgen05.alloc", cta_group=self.group, space=Space.SHARED_CTA)
        self.emit(alloc, slot, Imm(columns), guard=self.warp)
        self.barrier()
        load = form("ld", space=Space.SHARED, type=B32)
        self.emit(load, mi["handle"], slot)

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
        self.barrier()
        dealloc = form("tcgen05.dealloc", cta_group=self.group)
        self.emit(dealloc, handle, Imm(self.known.columns[id(mi)]), guard=self.warp)

    def _relinquish(self, mi: MachineInstr) -> None:
        give_up = form("tcgen05.relinquish_alloc_permit", cta_group=self.group)
        self.emit(give_up, guard=self.warp)

    def _ld(self, mi: MachineInstr) -> None:
        """Each warp reads its 32 lanes, in as many loads as the values take.

        Where sixteen lanes hold rows (layouts C and F), both halves of a warp read the same ones:
        the offset between the halves is 0.
        """
        handle, acc = mi["handle"], mi["acc"]
        assert self.lanes is not None
        assert isinstance(acc, tuple)
        held = self.known.loads[id(mi)]
        base = self.new(B32, form("add.int", type=U32), handle, self.lanes)
        words = tuple(self.function.regs.new(B32) for _ in acc) if held.is_half else acc
        shape = LdStShape.S16X32BX2 if held.sixteens else LdStShape.S32X32B
        for at, num in _pieces(len(acc)):
            load = form("tcgen05.ld", shape=shape, num=num, half_split=held.sixteens)
            split = (Imm(0),) if held.sixteens else ()
            self.emit(load, words[at : at + num.times], Mem(base, at), *split)
        self.emit(form("tcgen05.wait", op=WaitOp.LD))
        narrow = form("cvt.int", dtype=ScalarType.U16, atype=U32)
        for half, word in zip(acc, words, strict=True) if held.is_half else ():
            self.emit(narrow, half, word)
        if self._is_followed_by(*flow.ISSUED):
            self.barrier()

    # ---- the multiply ------------------------------------------------------------------------

    def _encode(self, mi: MachineInstr) -> None:
        pointer, desc = mi["pointer"], mi["desc"]
        assert isinstance(pointer, int)
        if self.function.regs.classes[pointer].bits == 64:
            pointer = self.new(B32, form("cvt.int", dtype=U32, atype=U64), pointer)
        low = self.new(B32, form("and", type=B32), pointer, Imm(0x3FFFF))
        field = self.new(B32, form("shr", type=U32), low, Imm(4))
        wide = self.new(B64, form("cvt.int", dtype=U64, atype=U32), field)
        constant = self._descriptor(mi).encode()
        self.emit(form("or", type=B64), desc, wide, Imm(constant))

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
        said = {
            qualifier: mi.form.attributes.get(qualifier)
            for qualifier in ("shape", "multicast", "src_fmt")
        }
        wide = CopyFormat.B8X16 if said["src_fmt"] is not None else None
        copy = form("tcgen05.cp", cta_group=self.group, dst_fmt=wide, **said)
        handle = mi["handle"]
        assert isinstance(handle, int)
        self.emit(copy, Mem(handle), mi["desc"], guard=self.thread)

    def _wait(self, mi: MachineInstr) -> None:
        assert self.thread is not None
        assert self.parity is not None
        if self._is_preceded_by(flow.WAIT):
            self.meet()
        barrier = Mem(Sym(self.scratch))
        self._commit(barrier)
        loop = self._fresh(f"{self.blocks[-1].name}_wait")
        self.start(loop)
        test = form("mbarrier.try_wait.parity", space=Space.SHARED)
        done = self.new(ScalarType.PRED, test, barrier, self.parity, name="done")
        self.emit(form("bra"), Label(loop), guard=Not(done))
        self.start(self._fresh(f"{loop}ed"))
        self.emit(form("xor", type=B32), self.parity, self.parity, Imm(1))
        self.fence(ThreadSync.AFTER)

    def _commit(self, barrier: Mem) -> None:
        if self.mask is None:
            commit = form("tcgen05.commit", cta_group=self.group, space=Space.SHARED_CLUSTER)
            self.emit(commit, barrier, guard=self.thread)
            return
        commit = form(
            "tcgen05.commit", cta_group=self.group, space=Space.SHARED_CLUSTER,
            multicast=Multicast.CLUSTER, cta_mask=True,
        )  # fmt: skip
        self.emit(commit, barrier, self.mask, guard=self.thread)

    def _fresh(self, wanted: str) -> str:
        name, n = wanted, 1
        while name in self.names:
            n += 1
            name = f"{wanted}_{n}"
        self.names.add(name)
        return name

    # ---- order -------------------------------------------------------------------------------

    def _is_followed_by(self, *rows: str) -> bool:
        """Whether a record of `rows` may come after this one."""
        block, at = self.here
        return any(b in self.after[block] or (b == block and n > at) for b, n in self._places(rows))

    def _is_preceded_by(self, *rows: str) -> bool:
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
