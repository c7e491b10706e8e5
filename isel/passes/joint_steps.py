"""Values that go through a loop side by side: one is stepped, the others follow at a distance.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  Of
addresses that begin numbers apart and take the same step each round, a front end often leaves one
PHI each, with an addition each; loads and stores add the numbers for nothing.  LLVM's NVPTX back
end does likewise (LoopStrengthReduce).  Integers wrap, so the values are the same whatever
overflows.
"""

from __future__ import annotations

from collections import Counter

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Block, Form, Imm, MachineFunction, MachineInstr, Op, phis_of
from intrinsics.modifiers import ScalarType
from isel.passes.dead_code import remove_dead_code

_PHI = "phi"
_ADD = "add.int"
_TYPES = (ScalarType.S32, ScalarType.U32, ScalarType.S64, ScalarType.U64)

_Key = tuple[Form, Op, Op | None, tuple[Op, ...]]
"""The addition of a round and what it adds, what a value begins as but for a number, the labels."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """A PHI that is stepped: with which others it goes, and the number that it begins with."""

    phi: MachineInstr
    key: _Key
    start: int


def join_steps(function: MachineFunction) -> None:
    """Let PHIs that keep their distance be one."""
    blocks = [block for block in function.blocks if len(phis_of(block)) > 1]
    if not blocks:
        return
    walks = _Walks(function)
    if not any(map(walks.steps_alike, blocks)):
        return
    if any(form.row.pseudo and form.row.id != _PHI for form in function.forms()):
        return
    walks.leave_out_what_is_written_again()
    for block in blocks:
        walks.join(block)
    remove_dead_code(function)  # the steps of those that went


def _wraps(form: Form) -> bool:
    """Whether a form adds one number, modulo its width."""
    return form.attributes["sat"] is None and form.attributes["type"] in _TYPES


class _Walks:
    """What is known of the registers of a function."""

    def __init__(self, function: MachineFunction) -> None:
        self.function = function
        self.additions = {
            mi.ops[0]: mi
            for mi in function.instructions()
            if mi.form.row.id == _ADD
            and mi.guard is None
            and _wraps(mi.form)
            and type(mi.ops[0]) is int
        }

    def leave_out_what_is_written_again(self) -> None:
        """Inline assembly may write a register more than once."""
        written = Counter(reg for mi in self.function.instructions() for reg in mi.defs())
        self.additions = {
            result: mi
            for result, mi in self.additions.items()
            if all(written[reg] == 1 for reg in (*mi.defs(), *mi.uses()))
        }

    def join(self, block: Block) -> None:
        """Of the PHIs of a block, keep the first of those that go together."""
        phis = phis_of(block)
        sums = {id(walk.phi): _sum(leader, walk) for leader, walk in self.together(block)}
        if sums:
            kept = [phi for phi in phis if id(phi) not in sums]
            block.instrs = [*kept, *sums.values(), *block.instrs[len(phis) :]]

    def steps_alike(self, block: Block) -> bool:
        """Whether two PHIs of a block are stepped by the same: without, nothing goes together."""
        found = list(filter(None, map(self._step, phis_of(block))))
        return len(found) > 1 and len({(step.form, by) for _, step, by, _ in found}) < len(found)

    def together(self, block: Block) -> list[tuple[_Walk, _Walk]]:
        """The PHIs of a block that go with one before them, each behind that one."""
        first: dict[_Key, _Walk] = {}
        found: list[tuple[_Walk, _Walk]] = []
        for phi in phis_of(block):
            walk = self._walk(phi)
            if walk is not None and first.setdefault(walk.key, walk) is not walk:
                found.append((first[walk.key], walk))
        return found

    def _step(self, phi: MachineInstr) -> tuple[Op, MachineInstr, Op, tuple[Op, ...]] | None:
        """What a PHI begins as, its step, what that adds, and its labels, the first one's first.

        None if it is not stepped, or has more than two ways in.
        """
        result, values, labels = phi.ops
        assert isinstance(values, tuple)
        assert isinstance(labels, tuple)
        if len(values) != 2:
            return None
        for first, last in ((0, 1), (1, 0)):
            again = values[last]
            step = self.additions.get(again) if type(again) is int else None
            if step is not None and result in step.ops[1:]:
                by = step.ops[2] if step.ops[1] == result else step.ops[1]
                return values[first], step, by, (labels[first], labels[last])
        return None

    def _walk(self, phi: MachineInstr) -> _Walk | None:
        found = self._step(phi)
        if found is None:
            return None
        begin, step, by, labels = found
        root, start = self._start(begin, step.form)
        return _Walk(phi, (step.form, by, root, labels), start)

    def _start(self, value: Op, form: Form) -> tuple[Op | None, int]:
        """A value as a register plus a number, or a number alone."""
        number = 0
        while type(value) is int and (made := self.additions.get(value)) is not None:
            _, base, more = made.ops
            if made.form != form or not isinstance(more, Imm):
                break
            number += more.value
            value = base
        return (None, number + value.value) if isinstance(value, Imm) else (value, number)


def _sum(leader: _Walk, walk: _Walk) -> MachineInstr:
    """A value as the one that is stepped plus a number."""
    form = walk.key[0]
    type_ = form.attributes["type"]
    assert isinstance(type_, ScalarType)
    bits = type_.bits
    apart = (walk.start - leader.start + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return MachineInstr(form, (walk.phi.ops[0], leader.phi.ops[0], Imm(apart)), None, walk.phi.loc)
