"""Refusals of the builder: at the call, in words, with the line of Python.

Layer: nvgen.calling.  `Requirement` is a requirement of an operation, as data.  Names that CUDA
C++, Triton and others have for an operation are recognised.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, TypeVar, Unpack

from intrinsics.findings import Details, Finding, InputError, error_of, shown
from intrinsics.lazy_dataclass import dataclass
from nvgen.calling.callers import place_of_caller

Asked = TypeVar("Asked", contravariant=True)


def refuse(message: str, *, rule: str = "value", **details: Unpack[Details]) -> InputError:
    """The error about an invalid argument; `section` is one of the PTX ISA."""
    return InputError([error_of(f"builder/{rule}", message, place_of_caller(), **details)])


MOST = 1 << 63
"""Of the numbers that say how many; all have lower limits."""


def whole(value: object, what: str, least: int = 1) -> int:
    """A whole number that is known while the kernel is built, Python's or numpy's.

    Raises: InputError for anything else, and for less than `least`.
    """
    number = index_of(value)
    if number is None or not least <= number < MOST:
        raise refuse(f"no {what}", got=described(value), expected=f"a whole number from {least}")
    return number


def index_of(value: object) -> int | None:
    """A whole number, Python's or numpy's; None for all else, arrays and the kernel's among it."""
    try:
        return operator.index(value)  # type: ignore[arg-type]  # whatever has none is told so
    except (TypeError, InputError):
        return None


MOST_LETTERS = 1000
"""LLVM shortens longer names of values, so that two may become one."""


def check_name(what: str, name: str, taken: Collection[str] = ()) -> None:
    """Whether a name is one that LLVM keeps as it is, and that nothing else has.

    Raises: InputError.
    """
    if not name or name in taken:
        expected = f"none of {', '.join(taken)}" if taken else "a name"
        raise refuse(f"{what} has a name of its own", got=shown(name), expected=expected)
    if len(name) > MOST_LETTERS:
        expected = f"at most {MOST_LETTERS}"
        raise refuse(f"{what} has too long a name", got=f"{len(name)} letters", expected=expected)


def described(value: object) -> str:
    """The description of a value: of a number of the kernel also its type, as in `Float (f32)`."""
    type_ = type(value)
    if not type_.__module__.startswith("nvgen."):
        return shown(value)
    words = getattr(value, "words", "") if hasattr(type_, "bits") else ""
    return f"{type_.__name__} ({words})" if words else type_.__name__


Function = TypeVar("Function", bound=Callable[..., object])


def function_of(given: Function, *takes: str) -> Function:
    """A function of Python's that is called with `takes`, which are for the error.

    Raises: InputError for what is none, and for a function of other arguments.
    """
    expected = f"a function: lambda {', '.join(takes)}: …" if takes else "a function: lambda: …"
    if not callable(given):
        raise refuse("no function", got=described(given), expected=expected)
    try:
        signature = inspect.signature(given)
    except ValueError:  # one of C's may have none
        return given
    try:
        signature.bind(*takes)
    except TypeError as error:
        name = getattr(given, "__name__", type(given).__name__)
        raise refuse(
            f"a function of other arguments than it is called with: {error}",
            rule="function-arguments",
            got=f"{name}{signature}",
            expected=expected,
            hint="what else it needs has a default, or comes from around it",
        ) from None
    return given


@dataclass(frozen=True, slots=True)
class Requirement(Generic[Asked]):
    """A requirement of an operation: its id, whether it holds, what was given, what is expected.

    `hint` says how to meet it.  All texts may name attributes of the request, `{r.m}`; those that
    depend on more of it are functions of it.
    """

    rule: str
    text: str
    holds: Callable[[Asked], bool]
    got: str | Callable[[Asked], str]
    expected: str | Callable[[Asked], str]
    section: str = "Matrix Shape (Table 39)"
    hint: str | Callable[[Asked], str] = ""


def found_wrong(
    operation: str, rule: str, text: str, *, got: str, expected: str, section: str, hint: str = ""
) -> Finding:
    """The finding about a call of an operation, at the line of Python that calls it."""
    return error_of(
        f"{operation}/{rule}", text, place_of_caller(), op=operation, got=got, expected=expected,
        hint=hint, section=section,
    )  # fmt: skip


def _text(words: str | Callable[[Asked], str], request: Asked) -> str:
    return words.format(r=request) if isinstance(words, str) else words(request)


def unmet(
    operation: str, requirements: Iterable[Requirement[Asked]], request: Asked
) -> list[Finding]:
    """A finding for each requirement that does not hold, at the line of Python that asks."""
    return [
        found_wrong(
            operation,
            one.rule,
            one.text.format(r=request),
            got=_text(one.got, request),
            expected=_text(one.expected, request),
            section=one.section.format(r=request),
            hint=_text(one.hint, request),
        )
        for one in requirements
        if not one.holds(request)
    ]


def check(operation: str, requirements: Iterable[Requirement[Asked]], request: Asked) -> None:
    """Whether a request meets every requirement.

    Raises: InputError with one finding for each that it does not meet.
    """
    if findings := unmet(operation, requirements, request):
        raise InputError(findings)


# ---- names of elsewhere --------------------------------------------------------------------------

_HERE: Mapping[str, str] = {
    "syncthreads debug_barrier barrier sync_threads": "b.barrier_cta_sync_aligned()",
    "syncwarp sync_warp": "b.bar_warp_sync()",
    "threadIdx thread_idx tid thread_id": "b.tid_x; b.thread, its number in a block of any shape",
    "blockIdx block_idx ctaid cta_id program_id": "b.ctaid_x",
    "blockDim block_dim ntid ntid_x": "b.threads, or the block that the kernel was made with",
    "gridDim grid_dim nctaid num_programs": "b.nctaid_x",
    "laneid lane_id": "b.lane",
    "warpid warp_id": "b.warp",
    "where": "b.select(condition, x, y)",
    "shfl_xor_sync shfl_xor": "b.shfl_sync(Shuffle.BFLY, x, mask)",
    "shfl_down_sync shfl_down": "b.shfl_sync(Shuffle.DOWN, x, lanes)",
    "shfl_up_sync shfl_up": "b.shfl_sync(Shuffle.UP, x, lanes)",
    "shfl shfl_idx": "b.shfl_sync(Shuffle.IDX, x, lane)",
    "ballot_sync ballot": "b.vote_sync(Vote.BALLOT, condition)",
    "any_sync all_sync": "b.vote_sync(Vote.ANY, condition), b.vote_sync(Vote.ALL, condition)",
    "reduce sum reduce_sum": "b.warp_reduce(x, operator.add), b.cta_reduce(x, operator.add)",
    "scan cumsum associative_scan": "b.warp_scan(x, operator.add), b.cta_scan(x, operator.add)",
    "argmax argmin": "b.warp_reduce((x, i), larger), where larger makes one pair of two",
    "sort topk": "b.warp_sort((x, i), lambda p, q: p[0] > q[0]), 32 of a warp",
    "rand randint curand randn": "b.philox(counter, key), four words of random bits",
    "zeros full": "b.vector([b.f32(0.0)] * count), of registers; b.shared_array(name, f32, count)",
    "load_acquire ld_acquire atomic_load": "b.atom_load(pointer)",
    "store_release st_release atomic_store": "b.atom_store(pointer, x)",
    "atomicAdd atomic_add": "b.atom(AtomicOp.ADD, f32, pointer, x)",
    "atomicMax atomic_max atomicMin atomic_min": "b.atom(AtomicOp.MAX, u32, pointer, x)",
    "atomicCAS atomic_cas": "b.atom_cas(pointer, expected, new)",
    "threadfence threadfence_block membar_gl": "b.fence(Sem.ACQ_REL, Scope.GPU)",
    "exp log sqrt rsqrt tanh sin cos floor ceil erf abs": "a method of the number: x.{name}()",
    "for_ for_range loop": "with b.range(stop) as i:",
    "while_loop": "with b.while_(lambda: condition):",
    "dot mma": "b.gemm(d, a, b), b.gemm_async(d, a, b), b.mma_sync(…)",
    "wgmma": "b.gemm(d, a, b), b.wgmma_mma_async(…)",
    "tma_load copy": "b.load_tile(tile, args['a'], (k, row), mbarrier)",
    "tma_store": "b.store_tile(tile, args['d'], (column, row))",
    "alloc_shared smem shared": "b.shared_array(name, f32, count), b.shared_tile(…)",
    "ret return_ exit": "b.leave_if(condition) in a role, with b.if_(…): elsewhere",
    "load_words": "b.load(pointer, u32, count, align=16)",
    "mbarriers_in_use": "b.make_mbarriers(…), then b.invalidate_mbarriers(…)",
    "arrive_at_peer": "b.mbarrier_arrive_space_cluster(b.of_peer(barrier))",
    "grid_dependency_wait gdc_wait": "b.griddepcontrol_wait()",
    "grid_dependency_launch gdc_launch_dependents": "b.griddepcontrol_launch_dependents()",
}

OF_NUMBERS: Mapping[str, str] = {
    "clamp clip": "x.max(least).min(greatest)",
    "pow power": "x**3; (x.lg2() * y).ex2() for a y of the kernel",
    "sigmoid": "1 / (1 + (-x).exp())",
    "relu": "x.max(0)",
    "isnan": "x != x",
    "astype cast convert": "x.to(f32)",
    "bitcast view": "x.word, the bits; b.f32(word), the f32 whose bits a word holds",
    "ffs ctz cttz": "x.brev().clz(), how many zeros stand below the lowest bit that is set",
    "log2": "x.lg2()",
    "widened": "x.to(i64), x.to(u64)",
    "exp2": "x.ex2()",
}


OF_POINTERS: Mapping[str, str] = {
    "load ld read": "x[i]; of several numbers b.load(x, f32, 4)",
    "store st write": "x[i] = y; of several numbers b.store(values, x)",
    "offset advance": "x.at(i), in numbers; x + bytes",
    "cast view astype": "x.of(f32)",
}


OF_MATRICES: Mapping[str, str] = {
    **OF_NUMBERS,
    "load ld read": "x.from_memory(address, pitch), x.from_tile(tile)",
    "sum reduce": "x.row_sum(), x.row_reduce(f); x.vector.sum() of a thread's own",
    "scale_columns scale_cols": "x * x.columns(lambda column: scale[column])",
    "T transpose transposed": "x.as_tile(tile.transposed) stores it transposed",
    "mask masked_fill tril triu": "x.where(lambda row, column: column <= row, 0.0)",
    "shape": "x.layout.rows, x.layout.columns",
}

OF_TILES: Mapping[str, str] = {
    "load ld read": "x.at(row, k)[0]; as a matrix in registers sums.from_tile(x)",
    "store st write": "x.at(row, k)[0] = y; of a matrix in registers sums.as_tile(x)",
    "T transpose": "x.transposed",
    "shape": "x.rows, x.k",
    "slice view": "x.part(first, rows), x.part_of_k(first, k)",
}


class Named:
    """What has methods of its own, and knows what other languages call them.

    `elsewhere` are their names, with what to write here; messages speak of `a_thing`, or its type.
    """

    __slots__ = ()

    __array_ufunc__ = None  # beside one of numpy's arrays its own operators are asked
    a_thing: ClassVar[str] = ""
    elsewhere: ClassVar[Mapping[str, str]]

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise self.lacks(name, dir(type(self)))

    def lacks(self, name: str, known: Iterable[str]) -> AttributeError:
        """The error about an attribute that it has not, with the nearest one."""
        what = f"{self.a_thing or type(self).__name__} has no {name!r}"
        return AttributeError(_elsewhere(what, name, self.elsewhere, known, "x."), name=name)


def no_such(name: str, known: Iterable[str]) -> str:
    """The message that the builder has no such name, with the nearest one."""
    return _elsewhere(f"a KernelBuilder has no {name!r}", name, _HERE, known, "b.")


def _elsewhere(
    what: str, name: str, here: Mapping[str, str], known: Iterable[str], prefix: str
) -> str:
    plain = name.strip("_")
    said = next((words for names, words in here.items() if plain in names.split()), "")
    near = get_close_matches(plain, (one for one in known if not one.startswith("_")), 2)
    if said:
        return f"{what}: here it is {said.replace('{name}', plain)}"
    return f"{what}: did you mean {' or '.join(prefix + n for n in near)}?" if near else what
