"""Called functions, classified by what the rules need to know of them.

Layer: isel.verifier.function.  Input: a module.  Output: the functions that, with all they call,
execute nothing that a rule is about, and those that write memory which a rule may query.  Calls
that are not analysed are noted: a rule about missing synchronisation reports no error then.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.lazy_dataclass import dataclass
from intrinsics.memo import Memo
from intrinsics.mir import Form, MachineFunction, MachineInstr, Module, Sym
from intrinsics.modifiers import SHARED_SPACES, Scope
from intrinsics.row import Effect
from isel.verifier.function.flow.decisive import SHARED

SUBJECTS = (
    *("tcgen05.", "wgmma.", "mbarrier.", "cp.async.bulk", "barrier.cluster."),
    "setmaxnreg.",
)
"""First words of the instructions that the rules are about."""

_MEETINGS = ("bar.", "barrier.", "mma")
"""First words of barriers, and of multiplies of a warp: a kernel with nothing else is judged only
where that is asked for, and so is one with what needs barriers: shared memory, masks of threads."""

_STRONG = ("ld", "st", "atom", "atom.cas", "red")
"""Accesses whose scope may be too narrow."""

_SYNCHRONISE = Effect.CONVERGENT | Effect.ALIGNED | Effect.ASYNC_PROXY
_FENCES = (
    *("fence", "fence.proxy.async", "fence.mbarrier_init", "opaque"),
    *("fence.sync_restrict", "fence.proxy.async::generic"),
)


def calls(function: MachineFunction) -> Iterator[MachineInstr]:
    """The calls in a function."""
    return (mi for mi in function.instructions() if mi.form.row.id == "call")


def callee(call: MachineInstr) -> str:
    """The name of the function called; "" for one by pointer."""
    target = call["callee"]
    return target.name if isinstance(target, Sym) else ""


def concerns(function: MachineFunction) -> bool:
    """Whether a function itself has instructions that the rules are about, other than barriers."""
    return any(map(_SUBJECT.__getitem__, function.forms()))


def synchronises(function: MachineFunction) -> bool:
    """Whether a function itself has instructions that the rules are about, barriers included."""
    return any(_SUBJECT[form] or _MEETING[form] for form in function.forms())


_SUBJECT: Memo[Form, bool] = Memo(lambda form: form.row.head.startswith(SUBJECTS))
_MEETING: Memo[Form, bool] = Memo(lambda form: _meets(form))


def _meets(form: Form) -> bool:
    """Whether threads meet at an instruction, or need to meet for it."""
    if form.row.head.startswith(_MEETINGS) or form.attributes.get("space") in SHARED_SPACES:
        return True
    if form.row.id in _STRONG and form.attributes.get("scope") in (Scope.CTA, Scope.CLUSTER):
        return True
    return "membermask" in form.index


@dataclass(frozen=True, slots=True)
class Callees:
    """The functions of a module, classified."""

    quiet: frozenset[str]  # without instructions that a rule is about
    writing: frozenset[str]  # of these, those that write to shared or generic memory
    concerned: frozenset[str]  # with such instructions, or callees that have some

    @classmethod
    def of(cls, module: Module) -> Callees:
        """Classify every function of a module."""
        functions = {f.name: f for f in module.functions}
        loud = _spread(functions, {n for n, f in functions.items() if _is_loud(f, functions)})
        writing = _spread(functions, {n for n, f in functions.items() if _writes(f)})
        concerned = _spread(functions, {n for n, f in functions.items() if synchronises(f)})
        quiet = frozenset(functions) - loud
        return cls(quiet, writing & quiet, concerned)

    def unknown(self, function: MachineFunction) -> list[str]:
        """The callees of `function` that may execute what a rule is about."""
        names = (callee(mi) for mi in calls(function))
        return list(dict.fromkeys(name for name in names if name not in self.quiet))


NOTHING_CALLED = Callees(frozenset(), frozenset(), frozenset())


def _is_loud(function: MachineFunction, functions: dict[str, MachineFunction]) -> bool:
    return any(_synchronises(mi, functions) for mi in function.instructions())


def _synchronises(mi: MachineInstr, functions: dict[str, MachineFunction]) -> bool:
    if mi.row.id == "call":
        return callee(mi) not in functions
    if mi.row.head.startswith(SUBJECTS) or mi.row.id in _FENCES:
        return True
    return bool(mi.row.effects.effect & _SYNCHRONISE)


def _writes(function: MachineFunction) -> bool:
    return any(
        mi.row.effects.effect & Effect.WRITES_MEMORY
        and mi.row.id != "call"
        and mi.form.attributes.get("space") in SHARED
        for mi in function.instructions()
    )


def _spread(functions: dict[str, MachineFunction], names: set[str]) -> frozenset[str]:
    """These functions and their transitive callers."""
    found = set(names)
    callers: dict[str, set[str]] = {}
    for name, function in functions.items():
        for mi in calls(function):
            callers.setdefault(callee(mi), set()).add(name)
    work = list(found)
    while work:
        for caller in callers.get(work.pop(), set()) - found:
            found.add(caller)
            work.append(caller)
    return frozenset(found)
