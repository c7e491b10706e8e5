"""Options of a compilation, as one record that `nvgen.compile` hands to all stages.

Layer: nvgen.
"""

from __future__ import annotations

from intrinsics.findings import InputError, input_error, shown
from intrinsics.lazy_dataclass import dataclass
from isel.verifier.launch import UNKNOWN_SHAPE, LaunchShape
from isel.verifier.levels import LEVELS
from nvgen.compilation.extension import PLAIN, Extension


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `nvgen.compile`, which describes them; `target` and `ptx` are as written.

    `shape` is how the kernels will be launched, as far as it is known.  `allow` are patterns of
    rules beyond the level whose errors are warned of, and not raised.
    """

    target: str | None = None
    ptx: str | None = None
    opt: int | None = None
    level: str = "record"
    shape: LaunchShape = UNKNOWN_SHAPE
    extension: Extension = PLAIN
    keep_stages: bool = False
    allow: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that there are such levels of optimisation and of verification, and that what is
        switched on is True.

        Raises: InputError.
        """
        if self.opt is not None and (type(self.opt) is not int or self.opt not in (0, 1, 2, 3)):
            raise input_error(
                "compile/opt",
                "no such optimisation level",
                got=shown(self.opt),
                expected="0, 1, 2 or 3",
            )
        if type(self.level) is not str or self.level not in LEVELS:
            raise input_error(
                "compile/level",
                "no such verification level",
                got=shown(self.level),
                expected=", ".join(LEVELS),
            )
        extension = self.extension
        check_switch("compile", "contract", extension.contract)
        check_switch("compile", "lineinfo", extension.lineinfo)
        check_switch("compile", "cuda_atomics", extension.cuda_atomics)
        check_switch("compile", "keep_stages", self.keep_stages)


def patterns_of(allow: object) -> tuple[str, ...]:
    """The patterns of rules that are allowed to be broken.

    Raises: InputError for what is no list of texts.
    """
    if isinstance(allow, (list, tuple, set, frozenset)) and all(type(p) is str for p in allow):
        return tuple(allow)
    raise input_error(
        "compile/allow",
        "these are no rules",
        got=shown(allow),
        expected="a list of their ids, as findings give them; * stands for anything",
        hint=f"allow=[{allow!r}]" if isinstance(allow, str) and len(allow) < 60 else "",
    )


def check_switch(of: str, name: str, given: object) -> None:
    """Check that an option is on or off: text, "no" among it, would be on."""
    if not isinstance(given, bool):
        raise input_error(
            f"{of}/{name.replace('_', '-')}",
            f"{name} is neither on nor off",
            got=shown(given),
            expected="True or False",
            hint=f"{name}=True",
        )


PLAIN_OPTIONS = Options()
"""Nothing is asked for: a file that says its target itself."""


def no_target(wanted: str = "--target sm_…") -> InputError:
    """The error about LLVM IR without a target to compile it for."""
    return input_error(
        "target/missing",
        "LLVM IR does not say its target",
        expected=wanted,
        hint="`nvgen targets` lists them",
    )
